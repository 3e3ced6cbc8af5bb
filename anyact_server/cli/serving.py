"""What `serve` runs once this process is the one that serves: loaded only then.

A client is answered while the app is still being loaded: the wiring and the rooms behind it (the heavy half of the
imports) are brought in by one loader, in a thread, after the front stands.
"""

from __future__ import annotations

import importlib
import json
import os
import time
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any

import anyio
import anyio.to_thread

from anyact_server.access import Rules, Tokens
from anyact_server.catalog import HomeLock, Site
from anyact_server.errors import HomeLocked
from anyact_server.gateway import (
    FrontServer,
    Gate,
    Guard,
    HomeSocket,
    Parts,
    RelayServer,
    Remembered,
    TransparentEndpoints,
    http_app,
    listen_check,
    listening,
    rest_routes,
    serve_http,
    serve_stdio,
    wide,
)
from anyact_server.telemetry import MASK, logger

from .options import Options
from .output import note
from .serve import INSTANCE, SOCKET
from .start import find_site, run_until_terminated

if TYPE_CHECKING:
    from anyact_server.app import App

LOG = logger("serve")
OFFERS = "offers.json"
LINGER_S = 60.0
"""How long an instance without a client of its own stays for the home's other clients."""
ENDING_S = 15.0
"""How long a home is waited for whose holder takes no clients, for that one is starting or ending. Shorter than a
bridge waits for its next holder."""
Listens = Callable[[], bool]
"""Whether somebody takes clients for the home."""
TOKEN_VARIABLE = "ANYACT_TOKEN"


def load_app() -> Any:
    """The module with the wiring: the loader of everything that a greeting can do without."""
    return importlib.import_module("anyact_server.app")


class Instance:
    """The app of this process, opened while clients are already greeted."""

    def __init__(self, site: Site) -> None:
        self.site = site
        self.rules = Rules(site.settings.allow, site.settings.deny)
        self._app: App | None = None
        self._stands = anyio.Event()

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Open the app in the background and keep it for as long as the block lasts. Raises StorageError."""
        leave, left = anyio.Event(), anyio.Event()
        async with anyio.create_task_group() as group:
            group.start_soon(self._live, leave, left)
            try:
                yield
            finally:
                leave.set()
                with anyio.CancelScope(shield=True):
                    await left.wait()
                group.cancel_scope.cancel()

    async def _live(self, leave: anyio.Event, left: anyio.Event) -> None:
        try:
            module = await anyio.to_thread.run_sync(load_app)
            app: App = module.App(self.site, watching=True)
            async with app.running():
                self._app = app
                self._stands.set()
                await leave.wait()
        finally:
            left.set()

    async def ready(self) -> Parts:
        """The rooms, once they stand."""
        await self._stands.wait()
        assert self._app is not None
        return await self._app.ready()

    def front(self) -> FrontServer:
        """The eight tools."""
        remembered = Remembered(self.site.home / OFFERS)
        return FrontServer(self.ready, remembered=remembered, question_s=self.site.settings.question_s)

    async def endpoint(self, name: str | None) -> FrontServer | RelayServer:
        """The front, or one server as it is. Raises UnknownServer."""
        if name is None:
            return self.front()
        parts = await self.ready()
        parts.catalog.spec(name)
        return RelayServer(name, parts.downstreams, parts.catalog, policy=self.rules)


def acquired(lock: HomeLock, listens: Listens) -> HomeLock:
    """The lock, taken now or when a holder that takes no clients has ended. Raises HomeLocked."""
    end = time.monotonic() + ENDING_S
    while True:
        try:
            lock.acquire()
        except HomeLocked:
            if listens() or time.monotonic() > end:
                raise
            time.sleep(0.05)
        else:
            return lock


@contextmanager
def holding(site: Site, address: str | None, listens: Listens = lambda: True) -> Iterator[None]:
    """Hold the home, and tell later processes who does and with which files. Raises HomeLocked."""
    with acquired(HomeLock(site.home), listens) as lock:
        lock.announce(address)
        path = site.home / INSTANCE
        files = [str(file) for file in site.files] if site.named else []
        path.write_text(json.dumps({"pid": os.getpid(), "files": files}), encoding="utf-8")
        try:
            yield
        finally:
            path.unlink(missing_ok=True)


def over_stdio(options: Options, server: str | None, listens: Listens = lambda: True) -> None:
    """Serve the client at standard input and output, and the home's socket beside it. Raises HomeLocked."""
    site = find_site(options)
    tell_problems(site)
    with holding(site, str(site.home / SOCKET), listens):
        run_until_terminated(partial(_stdio, site, server))


def over_socket(options: Options, listens: Listens = lambda: True) -> None:
    """Serve the home's socket alone until nobody needs it. Raises HomeLocked."""
    site = find_site(options)
    with holding(site, str(site.home / SOCKET), listens):
        run_until_terminated(partial(_socket, site))


def over_http(options: Options, host: str, port: int, allow_hosts: Sequence[str], allow_origins: Sequence[str]) -> None:
    """Serve HTTP until the process is asked to stop.

    Raises:
        HomeLocked: another instance holds the home.
        UsageError: the address cannot be listened on, or is wider than loopback while there is no token.
    """
    site = find_site(options)
    tell_problems(site)
    given = os.environ.get(TOKEN_VARIABLE)
    if given:
        MASK.protect([given])
    # Where other machines can come in, a token stays required, also when the last one is revoked meanwhile.
    required = True if wide(host) else None
    tokens = Tokens(site.home, required=required, given={"environment": given} if given else {})
    listen_check(host, tokens_exist=tokens.exist())
    with holding(site, f"http://{host}:{port}/mcp"):
        run_until_terminated(partial(_http, site, tokens, host, port, allow_hosts, allow_origins))


def home_socket(instance: Instance) -> HomeSocket:
    """What takes the other clients of an instance's home."""
    site = instance.site
    return HomeSocket(site.home / SOCKET, instance.endpoint, line_bytes=site.settings.line_bytes)


@asynccontextmanager
async def _socket_instance(site: Site) -> AsyncIterator[tuple[Instance, HomeSocket]]:
    instance = Instance(site)
    socket = home_socket(instance)
    async with instance.running(), socket.serving():
        yield instance, socket


async def _stdio(site: Site, name: str | None) -> None:
    async with _socket_instance(site) as (instance, socket):
        # Signals end the instance with all its clients, and not this one alone.
        await serve_stdio(await instance.endpoint(name), line_bytes=site.settings.line_bytes, signals=False)
        await socket.unused(0.0)


async def _socket(site: Site) -> None:
    async with _socket_instance(site) as (_, socket):
        await socket.unused(LINGER_S)


async def _http(
    site: Site, tokens: Tokens, host: str, port: int, allow_hosts: Sequence[str], allow_origins: Sequence[str]
) -> None:
    sock = listening(host, port)
    bound = sock.getsockname()[1]
    web = web_face(Instance(site), tokens, Gate(host, allow_hosts, allow_origins))
    note(f"serving MCP at http://{_shown(host)}:{bound}/mcp, REST at http://{_shown(host)}:{bound}/v1")
    await serve_http(web, sock)


def web_face(instance: Instance, tokens: Tokens, gate: Gate) -> Guard:
    """An instance as one web application, which keeps it running: MCP, the servers as they are, REST, and the gate."""
    settings = instance.site.settings
    endpoints = TransparentEndpoints(instance.ready, settings, policy=instance.rules)
    server = instance.front()
    web = http_app(
        server,
        tokens,
        settings,
        health=server.health,
        extra_routes=[*endpoints.routes(), *rest_routes(instance.ready, settings, server.health)],
        running=[instance.running, home_socket(instance).serving, endpoints.running],
    )
    return Guard(web, gate)


def _shown(host: str) -> str:
    return f"[{host}]" if ":" in host else host


def tell_problems(site: Site) -> None:
    """Log what is wrong or odd in the configuration."""
    for problem in site.problems():
        LOG.warning("%s", problem)
