"""MCP over the web."""

from __future__ import annotations

import json
import signal
import socket
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import anyio
import anyio.to_thread
import httpx2
import pytest
from anyio.streams.buffered import BufferedByteReceiveStream
from mcp import Client
from mcp.client.sse import sse_client
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from anyact_server import __version__
from anyact_server.errors import AnyActError, StorageError, UsageError
from anyact_server.gateway import listening, serve_http
from anyact_server.gateway.callers import PRINCIPAL_KEY
from anyact_server.gateway.http import bearer, family_of
from anyact_server.types import Principal

from .clients import MODES, Mode, Tokens, client_at, over_http
from .twins import World, action, world

pytestmark = pytest.mark.anyio

HEADERS = {"Accept": "application/json, text/event-stream", "Content-Type": "application/json"}
HELLO = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}},
}


def _world() -> World:
    return world([action("demo", "echo")])


@pytest.mark.case("H2")
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("path", ["/mcp", "/mcp/"])
async def test_both_forms_of_the_address_are_served_without_a_redirect(mode: Mode, path: str) -> None:
    """To clients of both eras."""
    async with over_http(_world()) as url, client_at(url + path, mode) as client:
        answer = await client.call_tool("call_action", {"action": "demo__echo", "arguments": {"text": "x"}})
        assert not answer.is_error


@pytest.mark.case("H2")
async def test_no_path_is_ever_redirected() -> None:
    """A POST must not be lost on the way."""
    async with over_http(_world()) as url, httpx2.AsyncClient(follow_redirects=False) as http:
        for path in ("/mcp", "/mcp/"):
            assert (await http.post(url + path, json=HELLO, headers=HEADERS)).status_code == 200
        for path in ("/healthz/", "/nope", "/nope/"):
            assert (await http.get(url + path)).status_code == 404


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("path", ["/sse", "/sse/"])
async def test_the_older_transport_is_served_too(mode: Mode, path: str) -> None:
    """For clients that know no other."""
    async with over_http(_world()) as url, Client(sse_client(url + path), mode=mode, cache=None) as client:
        assert len((await client.list_tools()).tools) == 8
        assert not (await client.call_tool("call_action", {"action": "demo__echo"})).is_error


async def test_the_older_transport_takes_only_what_it_knows() -> None:
    """A probe by POST is told to use GET, so that clients fall back the right way."""
    async with over_http(_world()) as url, httpx2.AsyncClient() as http:
        assert (await http.post(f"{url}/sse", json=HELLO)).status_code == 405
        assert (await http.get(f"{url}/messages/")).status_code == 405
        assert (await http.post(f"{url}/messages?session_id=nope", json=HELLO)).status_code == 400


async def test_the_health_check_needs_no_token_and_tells_only_counts() -> None:
    """It is for machines that watch."""
    async with over_http(_world(), tokens=Tokens(secret="ada")) as url, httpx2.AsyncClient() as http:
        health = await http.get(f"{url}/healthz")
        assert health.json() == {"status": "ok", "version": __version__, "servers": 1, "in_trouble": 0, "actions": 1}


@pytest.mark.parametrize("header", [None, "Bearer wrong", "Basic secret", "secret", "Bearer", ""])
@pytest.mark.parametrize("path", ["/mcp", "/sse", "/messages/", "/extra"])
async def test_without_a_valid_token_nothing_is_served(header: str | None, path: str) -> None:
    """On any route, and the answer says what to do."""
    headers = HEADERS if header is None else {**HEADERS, "Authorization": header}
    async with over_http(_world(), tokens=Tokens(secret="ada")) as url, httpx2.AsyncClient() as http:
        refused = await http.post(url + path, json=HELLO, headers=headers)
    assert refused.status_code == 401
    assert refused.headers["www-authenticate"].startswith("Bearer")
    assert refused.json()["error"]["hint"] == "anyact token create NAME"


class Unreadable(Tokens):
    """Tokens whose file is broken."""

    def identify(self, bearer: str | None) -> Principal | None:
        """Cannot tell. Raises StorageError."""
        raise StorageError("tokens.json cannot be read as a list of tokens")


async def test_when_tokens_cannot_be_read_nobody_is_let_in() -> None:
    """A corrupt store is no trust, and no bare 500 either."""
    async with over_http(_world(), tokens=Unreadable()) as url, httpx2.AsyncClient() as http:
        refused = await http.get(f"{url}/extra", headers={"Authorization": "Bearer secret"})
    assert refused.status_code == 401


def test_the_token_of_a_header_is_read_in_any_case() -> None:
    """Another scheme is not the absence of one."""
    assert bearer("bearer  abc ") == "abc"
    assert bearer("Basic abc") == ""
    assert bearer(None) is None


@pytest.mark.case("A2")
async def test_a_session_belongs_to_who_opened_it() -> None:
    """To anybody else it does not exist."""
    tokens = Tokens(one="ada", two="bob")
    async with over_http(_world(), tokens=tokens) as url, httpx2.AsyncClient(headers=HEADERS) as http:
        opened = await http.post(f"{url}/mcp", json=HELLO, headers={"Authorization": "Bearer one"})
        session = {"Mcp-Session-Id": opened.headers["mcp-session-id"]}
        ping = {"jsonrpc": "2.0", "id": 2, "method": "ping"}
        own = await http.post(f"{url}/mcp", json=ping, headers={**session, "Authorization": "Bearer one"})
        foreign = await http.post(f"{url}/mcp", json=ping, headers={**session, "Authorization": "Bearer two"})
    assert (own.status_code, foreign.status_code) == (200, 404)


async def _bytes(count: int) -> AsyncIterator[bytes]:
    for _ in range(count):
        yield b"x" * 10_000


@pytest.mark.case("X2")
@pytest.mark.parametrize("path", ["/mcp", "/messages/?session_id=0"])
async def test_large_bodies_are_refused_before_they_are_read(path: str) -> None:
    """With a length header and without."""
    async with over_http(_world()) as url, httpx2.AsyncClient(headers=HEADERS) as http:
        stated = await http.post(url + path, content=b"x" * 300_000)
        streamed = await http.post(url + path, content=_bytes(30))
    assert (stated.status_code, streamed.status_code) == (413, 413)


@pytest.mark.case("X2")
@pytest.mark.parametrize("extra", [{}, {"MCP-Protocol-Version": "2026-07-28", "Mcp-Method": "ping"}])
async def test_deep_nesting_and_junk_are_refused_and_the_process_lives_on(extra: dict[str, str]) -> None:
    """In both eras."""
    async with over_http(_world()) as url, httpx2.AsyncClient(headers={**HEADERS, **extra}) as http:
        for body in (b"[" * 90_000 + b"]" * 90_000, b"{", b"\xff", b"[]", b"1"):
            refused = await http.post(f"{url}/mcp", content=body)
            assert refused.status_code == 400, body[:10]
        assert (await http.get(f"{url}/healthz")).json()["status"] == "ok"


async def test_added_routes_see_who_asks_and_what_is_wrapped_around_sees_everything() -> None:
    """In the same application; what runs beside it is entered and left with it."""
    order: list[str] = []

    @asynccontextmanager
    async def beside() -> AsyncIterator[None]:
        order.append("in")
        yield
        order.append("out")

    async def extra(request: Request) -> Response:
        return JSONResponse({"name": request.scope[PRINCIPAL_KEY].name})

    class Seen:
        def __init__(self, app: ASGIApp) -> None:
            self.app = app

        async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
            order.append(scope.get("path", scope["type"]))
            await self.app(scope, receive, send)

    routes = [Route("/extra", extra)]
    async with (
        over_http(
            _world(), tokens=Tokens(secret="ada"), extra_routes=routes, middleware=[Middleware(Seen)], running=[beside]
        ) as url,
        httpx2.AsyncClient(headers={"Authorization": "Bearer secret"}) as http,
    ):
        assert (await http.get(f"{url}/extra")).json() == {"name": "ada"}
    assert order == ["lifespan", "in", "/extra", "out"]


async def test_two_clients_at_once_do_not_hold_each_other_up() -> None:
    """Each gets its own answers."""
    async with over_http(_world()) as url:
        texts: list[Any] = []

        async def one(mode: Mode, word: str) -> None:
            async with client_at(f"{url}/mcp", mode) as client:
                for _ in range(5):
                    answer = await client.call_tool(
                        "call_action", {"action": "demo__echo", "arguments": {"text": word}}
                    )
                    texts.append((word, json.dumps(answer.model_dump(mode="json"))))

        async with anyio.create_task_group() as group:
            for mode in MODES:
                for word in ("left", "right"):
                    group.start_soon(one, mode, word)
    assert len(texts) == 20
    assert all(word in text for word, text in texts)


def test_a_listening_socket_says_that_it_speaks_tcp() -> None:
    """Only then does the event loop turn Nagle's delay off for accepted connections."""
    with listening("127.0.0.1", 0) as sock:
        assert sock.proto == socket.IPPROTO_TCP


def test_an_address_that_is_taken_or_wrong_is_named() -> None:
    """With the cause."""
    with listening("127.0.0.1", 0) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(UsageError, match=rf"cannot listen on 127\.0\.0\.1:{port}: Address already in use"):
            listening("127.0.0.1", port)
    with pytest.raises(UsageError, match=r"cannot listen on no\.such\.host\.invalid:1"):
        listening("no.such.host.invalid", 1)


def test_the_address_family_follows_from_how_the_host_is_written() -> None:
    """Names are looked up in the older one."""
    families = [family_of(host) for host in ("::1", "127.0.0.1", "localhost")]
    assert families == [socket.AF_INET6, socket.AF_INET, socket.AF_INET]


def _no_database() -> None:
    raise RuntimeError("no database")


async def test_an_application_that_does_not_start_is_an_error() -> None:
    """Not a silent end."""

    @asynccontextmanager
    async def broken(_: Starlette) -> AsyncIterator[None]:
        await anyio.to_thread.run_sync(_no_database)
        yield

    with anyio.fail_after(10), pytest.raises(AnyActError, match="did not start"):
        await serve_http(Starlette(lifespan=broken), listening("127.0.0.1", 0), signals=False)


async def test_a_cancelled_server_lets_what_runs_around_it_end() -> None:
    """However long that takes, within a bound: servers behind it may need seconds to be stopped."""
    order: list[str] = []

    @asynccontextmanager
    async def slow_to_end(_: Starlette) -> AsyncIterator[None]:
        yield
        for _turn in range(50):
            await anyio.lowlevel.checkpoint()
        order.append("ended")

    sock = listening("127.0.0.1", 0)
    with anyio.fail_after(10):
        async with anyio.create_task_group() as group:
            web = Starlette(lifespan=slow_to_end)
            await group.start(lambda *, task_status: serve_http(web, sock, signals=False, task_status=task_status))
            group.cancel_scope.cancel()
    assert order == ["ended"]


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
async def test_a_signal_ends_the_process_in_order_also_with_open_streams(number: signal.Signals) -> None:
    """What runs around the serving is still left properly, within a few seconds."""
    command = [sys.executable, "-m", "tests.gateway.serving", "--http"]
    async with await anyio.open_process(command, stderr=None) as process:
        try:
            assert process.stdout is not None
            lines = BufferedByteReceiveStream(process.stdout)
            with anyio.fail_after(40):
                port = int(await lines.receive_until(b"\n", 100))
                async with httpx2.AsyncClient() as http, http.stream("GET", f"http://127.0.0.1:{port}/sse") as stream:
                    await anext(aiter(stream.aiter_lines()))
                    process.send_signal(number)
                    assert await lines.receive_until(b"\n", 100) == b"ended in order"
                assert await process.wait() == 0
        finally:
            if process.returncode is None:
                process.kill()
