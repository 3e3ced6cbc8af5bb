"""A transparent endpoint for every server over HTTP: `/mcp/servers/NAME`.

An endpoint is made when it is first asked for and lives as long as its server is configured.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Protocol

import anyio
import anyio.abc
from starlette.responses import JSONResponse
from starlette.routing import BaseRoute, Route
from starlette.types import Receive, Scope, Send

from anyact_server.errors import UnknownServer
from anyact_server.interfaces import Catalog, Downstreams, Policy
from anyact_server.settings import Settings
from anyact_server.telemetry import logger
from anyact_server.types import LOCAL, Principal

from .callers import PRINCIPAL_KEY
from .http import McpEndpoint
from .relay import RelayServer
from .relay_rules import Rules

LOG = logger("gateway")
PATH = "/mcp/servers/{name:path}"


class Behind(Protocol):
    """What a transparent endpoint needs of the parts behind the gateway; `Parts` has it."""

    @property
    def catalog(self) -> Catalog: ...

    @property
    def downstreams(self) -> Downstreams: ...


@dataclass(slots=True)
class _Endpoint:
    """An endpoint that runs, and the scope that ends it."""

    app: McpEndpoint
    rules: Rules
    scope: anyio.CancelScope = field(default_factory=anyio.CancelScope)


class TransparentEndpoints:
    """The transparent endpoints of all servers over HTTP; an ASGI application that must be `running`.

    Args:
        ready: yields what stands behind; waits while it is being made.
        settings: body limit.
        policy: hides and refuses tools; a server of which a principal sees nothing does not exist for it.
    """

    def __init__(
        self, ready: Callable[[], Awaitable[Behind]], settings: Settings, *, policy: Policy | None = None
    ) -> None:
        self._ready = ready
        self._settings = settings
        self._policy = policy
        self._endpoints: dict[str, _Endpoint] = {}
        self._making = anyio.Lock()
        self._tasks: anyio.abc.TaskGroup | None = None

    def routes(self) -> list[BaseRoute]:
        """The routes of all endpoints, with and without a slash at the end."""
        return [Route(PATH, endpoint=self)]

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Serves while entered; every session ends with it."""
        async with anyio.create_task_group() as tasks:
            self._tasks = tasks
            try:
                yield
            finally:
                self._tasks = None
                tasks.cancel_scope.cancel()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        name = scope["path_params"]["name"].rstrip("/")
        principal = scope.get(PRINCIPAL_KEY, LOCAL)
        try:
            endpoint = await self._endpoint(name, principal)
        except UnknownServer:
            # One text for unknown and hidden servers, so that nobody learns which are there.
            body = {"jsonrpc": "2.0", "id": None, "error": {"code": -32600, "message": f"there is no server {name!r}"}}
            await JSONResponse(body, status_code=404)(scope, receive, send)
            return
        await endpoint.app(scope, receive, send)

    async def _endpoint(self, name: str, principal: Principal) -> _Endpoint:
        """The endpoint of a server that this principal may know of.

        Raises:
            UnknownServer: there is none.
        """
        behind = await self._ready()
        async with self._making:
            try:
                behind.catalog.spec(name)
            except UnknownServer:
                self._end(name)
                raise
            endpoint = self._endpoints.get(name) or await self._make(name, behind)
        if endpoint.rules.closed(principal):
            raise UnknownServer(f"there is no server {name!r}")
        return endpoint

    async def _make(self, name: str, behind: Behind) -> _Endpoint:
        if self._tasks is None:
            raise RuntimeError("TransparentEndpoints serves only while it is running")
        server = RelayServer(name, behind.downstreams, behind.catalog, policy=self._policy)
        endpoint = _Endpoint(McpEndpoint(server, self._settings), Rules(name, behind.catalog, self._policy))
        await self._tasks.start(self._keep, endpoint)
        self._endpoints[name] = endpoint
        return endpoint

    async def _keep(
        self, endpoint: _Endpoint, *, task_status: anyio.abc.TaskStatus[None] = anyio.TASK_STATUS_IGNORED
    ) -> None:
        """Own an endpoint: what is entered here is left here."""
        with endpoint.scope:
            async with endpoint.app.running():
                task_status.started()
                await anyio.sleep_forever()

    def _end(self, name: str) -> None:
        endpoint = self._endpoints.pop(name, None)
        if endpoint is not None:
            LOG.info("the endpoint of %s ends: the server is configured no more", name)
            endpoint.scope.cancel()
