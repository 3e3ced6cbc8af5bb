"""What `serve` runs once this process is the one that serves: loaded only then."""

from __future__ import annotations

import json
import os
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from functools import partial
from typing import Any

from anyact_server.access import Tokens
from anyact_server.app import App, Place, problems
from anyact_server.catalog import HomeLock
from anyact_server.gateway import (
    FrontServer,
    HomeSocket,
    RelayServer,
    Remembered,
    TransparentEndpoints,
    http_app,
    listening,
    serve_http,
    serve_stdio,
)
from anyact_server.telemetry import MASK, logger

from .common import find_place, run_async
from .options import Options
from .output import note

LOG = logger("serve")
SOCKET = "anyact.sock"
INSTANCE = "instance.json"
OFFERS = "offers.json"
LINGER_S = 60.0
"""How long an instance without a client of its own stays for the home's other clients."""
TOKEN_VARIABLE = "ANYACT_TOKEN"


@contextmanager
def holding(place: Place, address: str | None) -> Iterator[None]:
    """Hold the home, and tell later processes who does and with which files. Raises HomeLocked."""
    with HomeLock(place.home) as lock:
        lock.announce(address)
        path = place.home / INSTANCE
        files = [str(file) for file in place.files] if place.named else []
        path.write_text(json.dumps({"pid": os.getpid(), "files": files}), encoding="utf-8")
        try:
            yield
        finally:
            path.unlink(missing_ok=True)


def over_stdio(options: Options, server: str | None) -> None:
    """Serve the client at standard input and output, and the home's socket beside it. Raises HomeLocked."""
    place = find_place(options)
    _tell_problems(place)
    with holding(place, str(place.home / SOCKET)):
        run_async(partial(_stdio, place, server))


def over_socket(options: Options) -> None:
    """Serve the home's socket alone until nobody needs it. Raises HomeLocked."""
    place = find_place(options)
    with holding(place, str(place.home / SOCKET)):
        run_async(partial(_socket, place))


def over_http(options: Options, host: str, port: int, allow_hosts: Sequence[str], allow_origins: Sequence[str]) -> None:
    """Serve HTTP until the process is asked to stop.

    Raises:
        HomeLocked: another instance holds the home.
        UsageError: the address cannot be listened on, or is wider than loopback while there is no token.
    """
    place = find_place(options)
    _tell_problems(place)
    given = os.environ.get(TOKEN_VARIABLE)
    if given:
        MASK.protect([given])
    tokens = Tokens(place.home, given={"environment": given} if given else {})
    with holding(place, f"http://{host}:{port}/mcp"):
        run_async(partial(_http, place, tokens, host, port, allow_hosts, allow_origins))


@asynccontextmanager
async def _instance(place: Place) -> AsyncIterator[tuple[App, HomeSocket]]:
    app = App(place, watching=True)

    def server(endpoint: str | None) -> Any:
        if endpoint is None:
            return front(app)
        return RelayServer(endpoint, app.downstreams, app.catalog, policy=app.rules)

    socket = HomeSocket(place.home / SOCKET, server, line_bytes=place.settings.line_bytes)
    async with app.running(), socket.serving():
        yield app, socket


def front(app: App) -> FrontServer:
    """The eight tools over an app that may still be opening."""
    return FrontServer(app.ready, remembered=Remembered(app.home / OFFERS), question_s=app.settings.question_s)


async def _stdio(place: Place, name: str | None) -> None:
    async with _instance(place) as (app, socket):
        if name is None:
            await serve_stdio(front(app), line_bytes=place.settings.line_bytes)
        else:
            parts = await app.ready()
            relay = RelayServer(name, parts.downstreams, parts.catalog, policy=app.rules)
            await serve_stdio(relay, line_bytes=place.settings.line_bytes)
        await socket.unused(0.0)


async def _socket(place: Place) -> None:
    async with _instance(place) as (_, socket):
        await socket.unused(LINGER_S)


async def _http(
    place: Place, tokens: Tokens, host: str, port: int, allow_hosts: Sequence[str], allow_origins: Sequence[str]
) -> None:
    sock = listening(host, port)
    bound = sock.getsockname()[1]
    app = App(place, watching=True)
    endpoints = TransparentEndpoints(app.ready, place.settings, policy=app.rules)
    server = front(app)
    web = http_app(
        server,
        tokens,
        place.settings,
        health=server.health,
        extra_routes=endpoints.routes(),
        running=[app.running, endpoints.running],
    )
    note(f"serving MCP at http://{_shown(host)}:{bound}/mcp, REST at http://{_shown(host)}:{bound}/v1")
    await serve_http(web, sock)


def _shown(host: str) -> str:
    return f"[{host}]" if ":" in host else host


def _tell_problems(place: Place) -> None:
    for problem in problems(place):
        LOG.warning("%s", problem)
