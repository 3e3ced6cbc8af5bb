"""Ways for a test to reach REST: in this process, or over a real loopback port; before twins or before real rooms."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import httpx2
from starlette.types import ASGIApp

from anyact_server.catalog import action_id
from anyact_server.gateway import FrontServer, Gate, Guard, Parts, http_app, listening, ready, rest_routes, serve_http
from anyact_server.interfaces import Policy
from anyact_server.settings import Settings
from anyact_server.types import ServerSpec
from tests.dispatch import whole

from .clients import Tokens
from .twins import World

BASE = "http://127.0.0.1:8484"


def web_app(parts: Parts, *, tokens: Tokens | None = None, gate: Gate | None = None, **settings: Any) -> ASGIApp:
    """The whole web application over parts, as `serve --http` makes it."""
    server = FrontServer(ready(parts))
    known = parts.settings.model_copy(update=settings)
    routes = rest_routes(ready(parts), known, server.health)
    app = http_app(server, tokens or Tokens(), known, health=server.health, extra_routes=routes)
    return Guard(app, gate or Gate("127.0.0.1"))


@asynccontextmanager
async def asking(app: ASGIApp, **headers: str) -> AsyncIterator[httpx2.AsyncClient]:
    """A client of an application in this process."""
    transport = httpx2.ASGITransport(app=app)
    async with httpx2.AsyncClient(transport=transport, base_url=BASE, headers=headers) as client:
        yield client


@asynccontextmanager
async def asking_world(world: World, **more: Any) -> AsyncIterator[httpx2.AsyncClient]:
    """A client of the application over twins, in this process."""
    async with asking(web_app(world.parts, **more)) as client:
        yield client


@asynccontextmanager
async def served(app: ASGIApp) -> AsyncIterator[str]:
    """The base URL of an application on a real loopback port."""
    sock = listening("127.0.0.1", 0)
    port = sock.getsockname()[1]
    async with anyio.create_task_group() as group:
        await group.start(lambda *, task_status: serve_http(app, sock, signals=False, task_status=task_status))
        try:
            yield f"http://127.0.0.1:{port}"
        finally:
            group.cancel_scope.cancel()


@asynccontextmanager
async def rooms(home: Path, *specs: ServerSpec, policy: Policy | None = None) -> AsyncIterator[Parts]:
    """The real rooms over these servers, as the front is given them."""
    found = whole.Whole(home, specs, policy)
    async with found.running():
        for spec in specs:
            found.catalog.record_snapshot(await found.pool.take_snapshot(spec.name))
        yield Parts(
            found.space,
            found.catalog,
            found.pool,
            found.grounder,
            found.ledger,
            found.runs,
            Settings(),
            action_id,
            policy,
        )
