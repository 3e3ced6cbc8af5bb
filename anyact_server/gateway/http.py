"""One web application: MCP over streamable HTTP and the older SSE transport, beside whatever routes are added.

`/mcp` and `/mcp/` are both served, without a redirect. Every request but the health check is given a principal, or 401;
a session belongs to the principal that opened it. What comes before (Host and Origin checks) is wrapped around from
outside.
"""

from __future__ import annotations

import signal
import socket
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager, contextmanager
from typing import Any

import anyio
import uvicorn
from mcp.server import Server
from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser
from mcp.server.auth.provider import AccessToken
from mcp.server.runner import serve_dual_era_loop
from mcp.server.sse import SseServerTransport
from mcp.server.streamable_http_manager import StreamableHTTPASGIApp, StreamableHTTPSessionManager
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import HTTPConnection, Request
from starlette.responses import JSONResponse, Response
from starlette.routing import BaseRoute, Route
from starlette.types import ASGIApp, Receive, Scope, Send

from anyact_server.errors import AnyActError, StorageError, UsageError
from anyact_server.interfaces import Authenticator
from anyact_server.settings import Settings
from anyact_server.telemetry import logger
from anyact_server.types import JsonObject, Kind, Principal

from .callers import PRINCIPAL_KEY
from .held_events import RETRY_MS, HeldEvents
from .rest_answers import answer, error_body

LOG = logger("gateway")
OPEN_PATHS = frozenset({"/healthz"})
"""Paths that need no token: a health check tells nothing but counts."""
BACKLOG = 2048
"""Connections that may wait to be taken."""
CLOSE_S = 2.0
"""How long open streams may go on after the process was asked to stop."""
STOP_S = 15.0
"""How long the application's lifespan may take to end after a cancellation: stubborn servers are given some seconds."""
Health = Callable[[], JsonObject]
Running = Callable[[], AbstractAsyncContextManager[object]]


class Identified:
    """ASGI middleware that finds out who asks.

    The principal is left in the scope, and as the scope's user, by which the SDK keeps sessions apart.
    """

    def __init__(self, app: ASGIApp, authenticator: Authenticator) -> None:
        self.app = app
        self._authenticator = authenticator

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["path"] in OPEN_PATHS:
            await self.app(scope, receive, send)
            return
        try:
            principal = self._authenticator.identify(bearer(HTTPConnection(scope).headers.get("authorization")))
        except StorageError as error:
            LOG.error("nobody can be recognised: %s", error)
            principal = None
        if principal is None:
            await unauthorized()(scope, receive, send)
            return
        await self.app(identified(scope, principal), receive, send)


def bearer(header: str | None) -> str | None:
    """The token of an Authorization header; None when there is none, an empty one for another scheme."""
    if header is None:
        return None
    scheme, _, token = header.strip().partition(" ")
    return token.strip() if scheme.lower() == "bearer" else ""


def identified(scope: Scope, principal: Principal) -> Scope:
    """The scope with its principal."""
    told = {**scope, PRINCIPAL_KEY: principal}
    if principal.origin == "token":
        told["user"] = AuthenticatedUser(AccessToken(token="", client_id=principal.name, scopes=[]))
    return told


def unauthorized() -> Response:
    """The answer to a request without a valid token."""
    body = error_body(Kind.AUTH, "A valid bearer token is needed.", "anyact token create NAME")
    return answer(body, 401, {"WWW-Authenticate": 'Bearer realm="anyact"'})


class McpEndpoint:
    """One MCP server over streamable HTTP, both eras; an ASGI application that must be `running`."""

    def __init__(self, server: Server[Any], settings: Settings) -> None:
        events = HeldEvents()
        self._manager = StreamableHTTPSessionManager(
            server, event_store=events, retry_interval=RETRY_MS, max_request_body_size=settings.body_bytes
        )
        self._app = events.around(StreamableHTTPASGIApp(self._manager))

    def running(self) -> AbstractAsyncContextManager[None]:
        """Enter before the first request, once; enters the server's lifespan."""
        return self._manager.run()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self._app(scope, receive, send)


class SseEndpoint:
    """One MCP server over the older SSE transport: a stream to read from, a path to post to.

    The server's lifespan is entered by whoever serves it over streamable HTTP.
    """

    def __init__(self, server: Server[Any], settings: Settings, path: str) -> None:
        self._server = server
        self._transport = SseServerTransport(path, max_request_body_size=settings.body_bytes)
        self.messages: ASGIApp = self._transport.handle_post_message

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["method"] != "GET":
            await Response(status_code=405, headers={"Allow": "GET"})(scope, receive, send)
            return
        async with self._transport.connect_sse(scope, receive, send) as (reader, writer):
            await serve_dual_era_loop(self._server, reader, writer, lifespan_state=None)


class _Plain:
    """An ASGI application as a route's endpoint: Starlette takes objects as they are, functions as handlers."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self._app(scope, receive, send)


def both(path: str, app: ASGIApp) -> list[BaseRoute]:
    """Routes for a path with and without a slash at its end, for every method, without a redirect."""
    endpoint = _Plain(app)
    return [Route(path, endpoint=endpoint), Route(f"{path}/", endpoint=endpoint)]


def http_app(
    server: Server[Any],
    authenticator: Authenticator,
    settings: Settings,
    *,
    health: Health,
    extra_routes: Sequence[BaseRoute] = (),
    middleware: Sequence[Middleware] = (),
    running: Sequence[Running] = (),
) -> Starlette:
    """The application.

    Args:
        server: the front.
        authenticator: tells who asks.
        settings: body limit.
        health: what `/healthz` answers.
        extra_routes: REST, transparent endpoints and the like; they see the principal in the scope too.
        middleware: wrapped around everything, outermost first.
        running: entered with the application and left after it, in this order.
    """
    endpoint = McpEndpoint(server, settings)
    sse = SseEndpoint(server, settings, "/messages/")

    async def healthz(_: Request) -> Response:
        return JSONResponse(dict(health()))

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        async with AsyncExitStack() as stack:
            for enter in running:
                await stack.enter_async_context(enter())
            await stack.enter_async_context(endpoint.running())
            yield

    routes: list[BaseRoute] = [
        *both("/mcp", endpoint),
        *both("/sse", sse),
        *both("/messages", sse.messages),
        Route("/healthz", healthz, methods=["GET"]),
        *extra_routes,
    ]
    around = [*middleware, Middleware(Identified, authenticator=authenticator)]
    app = Starlette(routes=routes, middleware=around, lifespan=lifespan)
    app.router.redirect_slashes = False
    return app


# --- running it


def listening(host: str, port: int) -> socket.socket:
    """A socket that listens.

    Raises:
        UsageError: the address cannot be used; names it and the cause.
    """
    # asyncio turns Nagle's delay off only for sockets that say TCP; with it an answer may wait 40 ms.
    sock = socket.socket(family_of(host), socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        sock.bind((host, port))
        sock.listen(BACKLOG)
    except OSError as error:
        sock.close()
        raise UsageError(
            f"cannot listen on {host}:{port}: {error.strerror or error}", hint="Choose another host or port."
        ) from error
    return sock


def family_of(host: str) -> socket.AddressFamily:
    """The address family of a host as it is written."""
    return socket.AF_INET6 if ":" in host else socket.AF_INET


class _Served(uvicorn.Server):
    """A uvicorn server that leaves signals to `serve_http`.

    Uvicorn raises a signal anew once it is done, which would end the process before its servers are stopped.
    """

    def __init__(self, config: uvicorn.Config, when_started: Callable[[], None]) -> None:
        super().__init__(config)
        self._when_started = when_started

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        try:
            await super().startup(sockets)
        except SystemExit:
            # Uvicorn leaves the process when the application does not start; here the caller decides.
            self.should_exit = True
        if self.started:
            self._when_started()


async def serve_http(
    app: ASGIApp,
    sock: socket.socket,
    *,
    signals: bool = True,
    task_status: anyio.abc.TaskStatus[None] = anyio.TASK_STATUS_IGNORED,
) -> None:
    """Serve an application on a listening socket until the process is asked to stop, or the scope is cancelled.

    Args:
        app: the application.
        sock: from `listening`; closed at the end.
        signals: end orderly on SIGTERM and SIGINT; a second one ends at once.
        task_status: told when requests are taken.

    Raises:
        AnyActError: the application did not start; the log says why.
    """
    config = uvicorn.Config(
        app,
        log_config=None,
        access_log=False,
        server_header=False,
        lifespan="on",
        ws="none",
        timeout_graceful_shutdown=int(CLOSE_S),
    )
    served = _Served(config, task_status.started)
    async with anyio.create_task_group() as group:
        if signals:
            await group.start(_stop_on_signal, served)
        try:
            await served.serve(sockets=[sock])
        finally:
            if served.started and not served.should_exit:
                # Cancelled in the middle: open streams and the application's lifespan still end in order.
                served.should_exit = True
                with anyio.move_on_after(CLOSE_S + STOP_S, shield=True):
                    await served.shutdown(sockets=[sock])
            sock.close()
        group.cancel_scope.cancel()
    if not served.started:
        raise AnyActError("AnyAct's web application did not start.", hint="The log says why.")


async def _stop_on_signal(
    served: uvicorn.Server, *, task_status: anyio.abc.TaskStatus[None] = anyio.TASK_STATUS_IGNORED
) -> None:
    with anyio.open_signal_receiver(signal.SIGTERM, signal.SIGINT) as received:
        task_status.started()
        async for number in received:
            LOG.info("stopped by %s", signal.Signals(number).name)
            served.force_exit = served.should_exit
            served.should_exit = True
