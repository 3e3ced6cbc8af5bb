"""Ways for a test to reach a front: in memory, over a real socket, in a chosen era."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any, Literal

import anyio
import httpx2
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from mcp.server.runner import serve_dual_era_loop
from mcp.shared.memory import create_client_server_memory_streams
from starlette.middleware import Middleware
from starlette.routing import BaseRoute

from anyact_server.gateway import FrontServer, http_app, listening, ready, serve_http
from anyact_server.types import Principal

from .twins import World

Mode = Literal["legacy", "auto"]
MODES: tuple[Mode, ...] = ("legacy", "auto")


@asynccontextmanager
async def in_memory(world: World, mode: Mode = "auto", **more: Any) -> AsyncIterator[Client]:
    """A client of this era, connected to a front over streams in this process."""
    server = FrontServer(ready(world.parts))

    @asynccontextmanager
    async def transport() -> AsyncIterator[Any]:
        async with (
            create_client_server_memory_streams() as (client, (reader, writer)),
            anyio.create_task_group() as group,
        ):
            async with server.lifespan(server) as state:
                await anyio.lowlevel.checkpoint()

                async def serve() -> None:
                    await serve_dual_era_loop(server, reader, writer, lifespan_state=state)

                group.start_soon(serve)
                yield client
            group.cancel_scope.cancel()

    async with Client(transport(), mode=mode, cache=None, **more) as client:
        yield client


class Tokens:
    """Knows the tokens that it is given; without any, everybody is the anonymous local principal."""

    def __init__(self, **names: str) -> None:
        self.names = names

    def identify(self, bearer: str | None) -> Principal | None:
        if bearer is None:
            return None if self.names else Principal("local")
        found = self.names.get(bearer)
        return Principal(found, "token") if found else None


@asynccontextmanager
async def over_http(
    world: World,
    *,
    tokens: Tokens | None = None,
    extra_routes: Sequence[BaseRoute] = (),
    middleware: Sequence[Middleware] = (),
    running: Sequence[Callable[[], Any]] = (),
) -> AsyncIterator[str]:
    """The base URL of a front on a real loopback socket."""
    server = FrontServer(ready(world.parts))
    app = http_app(
        server,
        tokens or Tokens(),
        world.settings.model_copy(update={"body_bytes": 200_000}),
        health=server.health,
        extra_routes=extra_routes,
        middleware=middleware,
        running=running,
    )
    sock = listening("127.0.0.1", 0)
    port = sock.getsockname()[1]
    async with anyio.create_task_group() as group:
        await group.start(lambda *, task_status: serve_http(app, sock, signals=False, task_status=task_status))
        try:
            yield f"http://127.0.0.1:{port}"
        finally:
            group.cancel_scope.cancel()


@asynccontextmanager
async def client_at(url: str, mode: Mode, headers: Mapping[str, str] | None = None) -> AsyncIterator[Client]:
    """A client of this era at a URL, with its own headers."""
    async with (
        httpx2.AsyncClient(headers=dict(headers or {}), timeout=10) as http,
        Client(streamable_http_client(url, http_client=http), mode=mode, cache=None) as client,
    ):
        yield client
