"""Transparent endpoints over the real parts: a pool, a catalog, a loopback port, the SDK's own client."""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import anyio
import httpx2
import mcp_types as types
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from starlette.applications import Starlette
from starlette.types import Receive, Scope, Send

from anyact_server.catalog import Catalog, Store
from anyact_server.downstream import Pool, SdkTarget
from anyact_server.gateway import listening, serve_http
from anyact_server.gateway.callers import PRINCIPAL_KEY
from anyact_server.gateway.transparent import TransparentEndpoints
from anyact_server.interfaces import Policy
from anyact_server.settings import Settings
from anyact_server.types import Principal, ServerSpec
from tests.servers import everything

ROOT = Path(__file__).resolve().parent.parent.parent
SETTINGS = Settings()
Mode = Literal["legacy", "auto"]


@dataclass
class Behind:
    """What stands behind the endpoints."""

    catalog: Catalog
    downstreams: Pool
    url: str = ""

    def at(self, name: str) -> str:
        """The address of a server's endpoint."""
        return f"{self.url}/mcp/servers/{name}"


def plain(name: str = "plain", **more: Any) -> ServerSpec:
    """The plain fixture server in a process of its own."""
    command = ("-m", "tests.servers.plain", "--stdio")
    return ServerSpec(name, "stdio", command=sys.executable, args=command, cwd=str(ROOT), **more)


def in_memory(name: str = "everything", **more: Any) -> ServerSpec:
    """The fixture server with everything, in this process."""
    return ServerSpec(name, "memory", **more)


@asynccontextmanager
async def standing(home: Path, specs: Iterable[ServerSpec]) -> AsyncIterator[Behind]:
    """A catalog and a pool over servers; those in memory are the fixture with everything."""
    found = list(specs)
    targets = {spec.name: SdkTarget(everything.build()) for spec in found if spec.transport == "memory"}
    catalog = Catalog(Store(home), found)
    pool = Pool(found, SETTINGS, memory=targets)
    async with pool.running():
        yield Behind(catalog, pool)
    catalog.close()


@asynccontextmanager
async def endpoints(home: Path, specs: Iterable[ServerSpec], *, policy: Policy | None = None) -> AsyncIterator[Behind]:
    """Endpoints on a loopback port; the header `x-user` names the principal."""
    with anyio.fail_after(30):
        async with standing(home, specs) as behind:

            async def ready() -> Behind:
                return behind

            ends = TransparentEndpoints(ready, SETTINGS, policy=policy)
            inner = Starlette(routes=ends.routes(), lifespan=lambda _: ends.running())

            async def app(scope: Scope, receive: Receive, send: Send) -> None:
                user = dict(scope.get("headers", ())).get(b"x-user")
                named = {PRINCIPAL_KEY: Principal(user.decode(), "token")} if user else {}
                await inner({**scope, **named}, receive, send)

            sock = listening("127.0.0.1", 0)
            behind.url = f"http://127.0.0.1:{sock.getsockname()[1]}"
            async with anyio.create_task_group() as group:
                await group.start(lambda *, task_status: serve_http(app, sock, signals=False, task_status=task_status))
                yield behind
                group.cancel_scope.cancel()


@dataclass
class Person:
    """The user and the model behind a client; answers every question and keeps what it is told."""

    heard: list[Any] = field(default_factory=list)
    logged: list[Any] = field(default_factory=list)
    news: anyio.Event = field(default_factory=anyio.Event)

    async def elicit(self, context: Any, params: types.ElicitRequestParams) -> types.ElicitResult:
        return types.ElicitResult(action="accept", content={"name": "Ann", "username": "ann", "color": "red"})

    async def sample(self, context: Any, params: types.CreateMessageRequestParams) -> types.CreateMessageResult:
        told = types.TextContent(type="text", text="Paris")
        return types.CreateMessageResult(role="assistant", content=told, model="test", stop_reason="endTurn")

    async def roots(self, context: Any) -> types.ListRootsResult:
        return types.ListRootsResult(roots=[types.Root.model_validate({"uri": "file:///home/ann", "name": "ann"})])

    async def log(self, params: types.LoggingMessageNotificationParams) -> None:
        self.logged.append(params.data)

    async def hear(self, message: Any) -> None:
        self.heard.append(message)
        self.news.set()

    async def hears(self, kind: type[Any]) -> Any:
        """Wait for a message of a kind."""
        while not (found := [message for message in self.heard if isinstance(message, kind)]):
            self.news = anyio.Event()
            await self.news.wait()
        return found[0]


@asynccontextmanager
async def person_at(
    url: str, mode: Mode, person: Person | None = None, headers: Mapping[str, str] | None = None
) -> AsyncIterator[Client]:
    """The SDK's client of an era at an endpoint, with somebody who answers questions."""
    person = person or Person()
    async with (
        httpx2.AsyncClient(headers=dict(headers or {}), timeout=20) as http,
        Client(
            streamable_http_client(url, http_client=http),
            mode=mode,
            cache=None,
            elicitation_callback=person.elicit,
            sampling_callback=person.sample,
            list_roots_callback=person.roots,
            logging_callback=person.log,
            message_handler=person.hear,
        ) as client,
    ):
        yield client
