"""Streamable HTTP: sessions lost and found, streams that break off, redirects, refusals, both eras."""

from __future__ import annotations

import logging
from typing import Any

import anyio
import httpx2
import pytest

from anyact_server.errors import DownstreamError, NeedsLogin, RemoteError
from anyact_server.types import Kind, ServerSpec, ServerState
from tests.servers import plain
from tests.servers.raw_http import RawHttp, hang_up, silent, sockets

from .kit import Recorder, limits, web, world

pytestmark = pytest.mark.anyio


@pytest.mark.case("R1")
@pytest.mark.parametrize(
    ("status", "body"),
    [
        (404, '{"jsonrpc":"2.0","id":"server-error","error":{"code":-32600,"message":"Session not found"}}'),
        (404, ""),
        (400, "Bad Request: No valid session ID provided"),
        (401, '{"error":"session expired"}'),
    ],
)
async def test_a_forgotten_session_is_made_anew_once_for_all(
    status: int, body: str, caplog: pytest.LogCaptureFixture
) -> None:
    """Twenty calls meet a server that forgot the session: one new handshake, every call succeeds, one log line."""
    server = RawHttp(lost_status=status, lost_body=body)
    async with plain.listening(server.app) as port, world(web(port)) as w:
        assert await w.data("web", "echo", n=0) == {"n": 0}
        server.sessions.clear()
        caplog.clear()
        found: list[int] = []

        async def call(n: int) -> None:
            found.append((await w.data("web", "echo", n=n))["n"])

        with caplog.at_level(logging.WARNING):
            async with anyio.create_task_group() as group:
                for n in range(20):
                    group.start_soon(call, n)
        assert sorted(found) == list(range(20))
        assert server.opened == 2
        greeting = next(
            h
            for f, h in zip(reversed(server.frames), reversed(server.headers), strict=True)
            if f["method"] == "initialize"
        )
        assert "mcp-session-id" not in greeting
        assert len([r for r in caplog.records if "forgotten the session" in r.getMessage()]) == 1
        assert server.calls == 21


@pytest.mark.case("R1")
async def test_a_server_without_memory_is_not_asked_for_ever() -> None:
    """If the fresh session is refused too, the call ends in an error."""
    server = RawHttp(amnesia=True)
    async with plain.listening(server.app) as port, world(web(port)) as w:
        with anyio.fail_after(5), pytest.raises(DownstreamError, match="forgotten the session"):
            await w.call("web", "echo")
        assert server.opened <= 3


@pytest.mark.case("R2")
@pytest.mark.parametrize("standing", ["none", "text"])
async def test_a_server_without_a_standing_stream_is_left_in_peace(standing: str) -> None:
    """405 and plain text mean that there is no stream: asked once, no fault."""
    server = RawHttp(standing=standing)
    async with plain.listening(server.app) as port, world(web(port)) as w:
        await w.call("web", "echo")
        while not server.gets:
            await w.call("web", "echo")
        for _ in range(5):
            await w.call("web", "echo")
        assert len(server.gets) == 1
        assert w.pool.status("web").state is ServerState.READY


@pytest.mark.case("R2")
async def test_a_standing_stream_that_ends_at_once_is_opened_again_with_pauses() -> None:
    """In the first second there are at most two tries."""
    server = RawHttp(standing="ended")
    async with plain.listening(server.app) as port, world(web(port)) as w:
        await w.call("web", "echo")
        with anyio.move_on_after(1.2):
            while True:
                await w.call("web", "echo")
                await anyio.sleep(0.05)
        assert 1 <= len(server.gets) <= 2


async def test_news_on_the_standing_stream_become_events() -> None:
    """A changed list is told on the stream that belongs to no request."""
    server = RawHttp(standing="open")
    async with plain.listening(server.app) as port, world(web(port)) as w:
        await w.call("web", "echo")
        server.release.set()
        event = await w.events.until(lambda event: event.what == "tools")
        assert event.server == "web"


@pytest.mark.case("R2")
async def test_a_stream_dropped_before_its_answer_ends_in_an_error() -> None:
    """The call may have run, so it is not sent again; the session goes on."""
    server = RawHttp()
    async with plain.listening(server.app) as port, world(web(port)) as w:
        with anyio.fail_after(2), pytest.raises(DownstreamError, match="ended the stream") as caught:
            await w.call("web", "drop")
        assert caught.value.may_have_run and server.calls == 1
        assert w.pool.status("web").state is ServerState.DOWN
        assert await w.data("web", "echo", n=1) == {"n": 1}
        assert w.pool.status("web").state is ServerState.READY and server.opened == 1


async def test_a_dropped_stream_with_numbered_events_is_taken_up_again() -> None:
    """The answer comes over a GET that names the last event."""
    server = RawHttp()
    async with plain.listening(server.app) as port, world(web(port)) as w:
        assert await w.text("web", "drop-numbered") == "resumed"
        resumed = [get for get in server.gets if "last-event-id" in get]
        assert len(resumed) == 1 and resumed[0]["mcp-session-id"] == "session-1"


@pytest.mark.case("L1")
async def test_a_connection_that_breaks_in_mid_stream_is_taken_up_again_or_ends_the_call() -> None:
    """With numbered events the answer still comes; without, the caller has an error at once."""
    server = RawHttp()
    async with plain.listening(server.app) as port, world(web(port)) as w:
        assert await w.text("web", "break-off", numbered=True) == "resumed"
        with anyio.fail_after(2), pytest.raises(DownstreamError, match="dropped the connection") as caught:
            await w.call("web", "break-off", numbered=False)
        assert caught.value.kind is Kind.CRASHED and caught.value.may_have_run


@pytest.mark.case("R2")
async def test_a_stream_that_cannot_be_resumed_ends_in_an_error() -> None:
    """A server that numbers events but has no GET gets one try; the call may have run."""
    server = RawHttp()
    async with plain.listening(server.app) as port, world(web(port)) as w:
        with anyio.fail_after(3), pytest.raises(DownstreamError, match="ended the stream") as caught:
            await w.call("web", "drop-for-good")
        assert caught.value.may_have_run and server.calls == 1


@pytest.mark.case("L1")
async def test_a_closed_socket_ends_the_call_at_once() -> None:
    """A server that hangs up on every request: error within two seconds, with the server's name."""
    async with sockets(hang_up) as port, world(web(port)) as w:
        with anyio.fail_after(2), pytest.raises(DownstreamError, match="'web'") as caught:
            await w.call("web", "echo")
        assert caught.value.kind is Kind.CRASHED


@pytest.mark.case("D1")
async def test_a_port_that_accepts_and_stays_silent_fails_at_the_start_limit() -> None:
    """Nothing waits longer than the server's own limit."""
    async with sockets(silent) as port, world(web(port, limits=limits(start_s=0.6))) as w:
        with anyio.fail_after(3), pytest.raises(DownstreamError, match="start limit") as caught:
            await w.call("web", "echo")
        assert caught.value.kind is Kind.TIMEOUT


@pytest.mark.case("D1")
async def test_refused_ports_and_unknown_hosts_are_named_as_such() -> None:
    """Both say that the server cannot be reached, and the request surely did not run."""
    async with sockets(silent) as port:
        pass
    nowhere = ServerSpec("nowhere", "http", url="http://no-such-host.invalid/mcp")
    async with world(web(port), nowhere) as w:
        for name in ("web", "nowhere"):
            with pytest.raises(DownstreamError, match="cannot be reached") as caught:
                await w.call(name, "echo")
            assert caught.value.kind is Kind.UNAVAILABLE and not caught.value.may_have_run


@pytest.mark.case("D1")
async def test_a_web_page_instead_of_mcp_is_named_as_such() -> None:
    """A 200 with HTML is no MCP server: the message says so and shows its beginning."""
    page = "<!doctype html><html><title>Sign in</title></html>"
    server = RawHttp(refusal=(200, {"content-type": "text/html"}, page))
    async with plain.listening(server.app) as port, world(web(port)) as w:
        with pytest.raises(DownstreamError, match="a web page instead of MCP") as caught:
            await w.call("web", "echo")
        assert caught.value.kind is Kind.PROTOCOL and "Sign in" in caught.value.message


async def test_answers_that_are_none_end_their_call() -> None:
    """A page, a 202 and another request's answer end the call with what came."""
    server = RawHttp()
    async with plain.listening(server.app) as port, world(web(port)) as w:
        for tool, words in (("page", "a web page"), ("accepted", "202 Accepted"), ("other-answer", "another request")):
            with anyio.fail_after(2), pytest.raises(DownstreamError, match=words):
                await w.call("web", tool)
        assert await w.text("web", "noise") == "heard"
        assert any("not json" in warning for warning in w.pool.status("web").warnings)


@pytest.mark.case("A3")
async def test_a_missing_login_is_no_broken_server() -> None:
    """401 on twenty calls: state `needs login` with the step to take, no loop, and it heals when the token is valid."""
    server = RawHttp()
    async with plain.listening(server.app) as port, world(web(port)) as w:
        await w.call("web", "echo")
        server.required, before = "right", len(server.frames)
        faults: list[NeedsLogin] = []

        async def call() -> None:
            with pytest.raises(NeedsLogin) as caught:
                await w.call("web", "echo")
            faults.append(caught.value)

        async with anyio.create_task_group() as group:
            for _ in range(20):
                group.start_soon(call)
        assert len(server.frames) - before == 20
        assert w.pool.status("web").state is ServerState.NEEDS_LOGIN
        assert w.pool.status("web").next_try is None
        assert faults[0].hint is not None and "https://login.example/meta" in faults[0].hint
        assert not faults[0].may_have_run
        server.required = None
        assert await w.data("web", "echo", n=1) == {"n": 1}
        assert w.pool.status("web").state is ServerState.READY


@pytest.mark.case("A3")
async def test_a_login_missing_from_the_start_is_named() -> None:
    """The server never opens, and each request tries it once."""
    server = RawHttp(required="right")
    async with plain.listening(server.app) as port, world(web(port, headers={"Authorization": "Bearer wrong"})) as w:
        for tries in (1, 2):
            with pytest.raises(NeedsLogin):
                await w.pool.take_snapshot("web")
            assert len(server.frames) == tries
        assert w.pool.status("web").state is ServerState.NEEDS_LOGIN
    async with plain.listening(server.app) as port, world(web(port, headers={"Authorization": "Bearer right"})) as w:
        await w.pool.take_snapshot("web")


@pytest.mark.parametrize(
    ("given", "kind", "pause", "may_have_run"),
    [
        ({"status": 403}, Kind.PERMISSION, None, False),
        ({"status": 429, "headers": {"retry-after": "7"}}, Kind.RATE_LIMITED, 7.0, False),
        ({"status": 503, "headers": {"retry-after": "3"}}, Kind.RATE_LIMITED, 3.0, False),
        ({"status": 503}, Kind.UPSTREAM_5XX, None, True),
        ({"status": 500}, Kind.UPSTREAM_5XX, None, True),
        ({"status": 413}, Kind.UPSTREAM_4XX, None, False),
        ({"status": 400}, Kind.UPSTREAM_4XX, None, False),
    ],
)
async def test_refusals_keep_what_their_status_says(
    given: dict[str, Any], kind: Kind, pause: float | None, may_have_run: bool
) -> None:
    """Whose fault it was, when to come back, and whether it may have run."""
    async with plain.listening(RawHttp().app) as port, world(web(port)) as w:
        with pytest.raises(DownstreamError) as caught:
            await w.call("web", "refused", **given)
        error = caught.value
        assert (error.kind, error.retry_after_s, error.may_have_run) == (kind, pause, may_have_run)
        assert error.status == given["status"] and "busy" in error.message


async def test_an_error_in_the_body_says_more_than_the_status() -> None:
    """A JSON-RPC error under a 400 is the server's answer."""
    body = '{"jsonrpc":"2.0","id":null,"error":{"code":-32602,"message":"bad cursor","data":{"x":1}}}'
    async with plain.listening(RawHttp(modern=True).app) as port, world(web(port)) as w:
        with pytest.raises(RemoteError) as caught:
            await w.call("web", "refused", status=400, body=body)
        assert (caught.value.code, caught.value.message, caught.value.data) == (-32602, "bad cursor", {"x": 1})


@pytest.mark.case("H2")
@pytest.mark.parametrize("status", [307, 308])
async def test_a_redirect_on_the_same_host_keeps_method_and_body(status: int) -> None:
    """The configured address is used as written, and a 307 leads on with everything."""
    server = RawHttp(redirect=("/mcp", status))
    async with plain.listening(server.app) as port, world(web(port, "/moved?key=1", headers={"x-own": "y"})) as w:
        assert await w.data("web", "echo", n=1) == {"n": 1}
        assert all(headers["x-own"] == "y" for headers in server.headers)


@pytest.mark.case("H2")
async def test_a_redirect_to_another_host_never_carries_credentials() -> None:
    """It is not followed; the message names where it leads."""
    other = RawHttp()
    async with plain.listening(other.app) as elsewhere:
        server = RawHttp(redirect=(f"http://127.0.0.1:{elsewhere}/mcp", 307))
        async with plain.listening(server.app) as port, world(web(port, "/moved", headers={"authorization": "x"})) as w:
            with pytest.raises(DownstreamError, match=f"redirects to http://127.0.0.1:{elsewhere}/mcp"):
                await w.call("web", "echo")
    assert other.frames == []


async def test_a_redirect_that_changes_the_method_is_not_followed() -> None:
    """A 301 would turn the message into a GET."""
    server = RawHttp(redirect=("/mcp", 301))
    async with plain.listening(server.app) as port, world(web(port, "/moved")) as w:
        with pytest.raises(DownstreamError, match="not followed"):
            await w.call("web", "echo")


@pytest.mark.case("A2")
async def test_of_a_callers_headers_only_named_ones_pass() -> None:
    """Authorization, cookies and the rest stay here unless the server's entry names them."""
    server = RawHttp()
    sent = {"authorization": "Bearer client", "cookie": "a=b", "x-test": "yes", "host": "evil"}
    caller = Recorder(headers=sent)
    async with plain.listening(server.app) as port:
        specs = (web(port, name="closed"), web(port, name="open", forward_headers=("X-Test", "Host")))
        async with world(*specs) as w:
            await w.call("closed", "echo", caller=caller)
            got = server.headers[-1]
            assert "authorization" not in got and "x-test" not in got and "a=b" not in got.get("cookie", "")
            await w.call("open", "echo", caller=caller)
            got = server.headers[-1]
            assert got["x-test"] == "yes" and "authorization" not in got and got["host"] == f"127.0.0.1:{port}"


async def test_cookies_belong_to_one_connection() -> None:
    """A balancer's cookie comes back on the same connection, and on no other."""
    server = RawHttp()
    async with plain.listening(server.app) as port, world(web(port, name="a"), web(port, name="b")) as w:
        await w.call("a", "echo")
        assert server.headers[-1]["cookie"] == "node=session-1"
        await w.call("b", "echo")
        assert server.headers[-1]["cookie"] == "node=session-2"


async def test_a_closed_session_is_ended_at_the_server() -> None:
    """Stopping a server over HTTP deletes its session."""
    server = RawHttp()
    async with plain.listening(server.app) as port, world(web(port)) as w:
        await w.call("web", "echo")
        await w.pool.stop("web")
        assert server.deletes == 1


async def test_cancelling_closes_the_stream_in_the_new_era() -> None:
    """There is no notification for it: the end of the stream is the signal."""
    server = RawHttp(modern=True)
    async with plain.listening(server.app) as port, world(web(port)) as w:
        await w.pool.take_snapshot("web")
        with anyio.move_on_after(0.3):
            await w.call("web", "hang")
        with anyio.fail_after(5):
            await server.dropped[0].wait()
        assert "notifications/cancelled" not in server.methods()


async def test_cancelling_is_told_in_the_old_era() -> None:
    """There the end of a stream says nothing, so a notification does."""
    server = RawHttp()
    async with plain.listening(server.app) as port, world(web(port)) as w:
        await w.call("web", "echo")
        with anyio.move_on_after(0.3):
            await w.call("web", "hang")
        with anyio.fail_after(5):
            while "notifications/cancelled" not in server.methods():
                await w.call("web", "echo")
        told = next(frame for frame in server.frames if frame["method"] == "notifications/cancelled")
        called = next(frame for frame in server.frames if frame.get("params", {}).get("name") == "hang")
        assert told["params"]["requestId"] == called["id"]
        server.release.set()


async def test_the_new_era_stamps_every_request() -> None:
    """Version, method and name are in the headers; version, client and abilities in `_meta`."""
    server = RawHttp(modern=True)
    caller = Recorder(abilities={"roots": {}, "tasks": {}})
    async with plain.listening(server.app) as port, world(web(port)) as w:
        await w.call("web", "echo", caller=caller)
        headers, meta = server.headers[-1], server.frames[-1]["params"]["_meta"]
        assert headers["mcp-protocol-version"] == meta["io.modelcontextprotocol/protocolVersion"] == "2026-07-28"
        assert (headers["mcp-method"], headers["mcp-name"]) == ("tools/call", "echo")
        assert meta["io.modelcontextprotocol/clientCapabilities"] == {"roots": {}}
        assert meta["io.modelcontextprotocol/clientInfo"]["name"] == "anyact"
        assert "initialize" not in server.methods()


async def test_arguments_are_mirrored_into_headers_as_the_schema_says() -> None:
    """Refused for want of a header, the schemas are read and the call is sent once more."""
    schema = {"type": "object", "properties": {"region": {"type": "string", "x-mcp-header": "Region"}}}
    bad = {"type": "object", "properties": {"o": {"type": "object", "x-mcp-header": "O"}}}
    tools = [{"name": "mismatch", "inputSchema": schema}, {"name": "bad", "inputSchema": bad}]
    server = RawHttp(modern=True, tools=tools)
    async with plain.listening(server.app) as port, world(web(port)) as w:
        assert await w.text("web", "mismatch", region="eu") == "mirrored"
        assert server.methods().count("tools/list") == 1
        assert await w.text("web", "mismatch", region="eu") == "mirrored"
        assert server.methods().count("tools/list") == 1
        with pytest.raises(DownstreamError, match="cannot be called") as caught:
            await w.call("web", "bad")
        assert not caught.value.may_have_run
        with pytest.raises(RemoteError, match="Header mismatch"):
            await w.call("web", "mismatch", region="us")


@pytest.mark.case("E2")
@pytest.mark.parametrize("events", [False, True])
async def test_large_answers_arrive_and_larger_ones_are_cut(events: bool) -> None:
    """Five megabytes pass as a body and as one event; over the limit the call fails and the connection lives."""
    async with plain.listening(RawHttp().app) as port, world(web(port), line_bytes=6_000_000) as w:
        assert len(await w.text("web", "large", bytes=5_000_000, events=events)) == 5_000_000
        with pytest.raises(DownstreamError, match="6000000 bytes"):
            await w.call("web", "large", bytes=7_000_000, events=events)
        assert await w.data("web", "echo", n=1) == {"n": 1}


@pytest.mark.case("Q1")
async def test_a_question_on_a_calls_stream_goes_to_its_caller() -> None:
    """Among several callers the one is asked on whose stream the question came."""
    server = RawHttp()
    asked, other = Recorder(abilities={"elicitation": {}}), Recorder(abilities={"elicitation": {}}, session="s2")
    async with plain.listening(server.app) as port, world(web(port)) as w, anyio.create_task_group() as group:
        await w.call("web", "echo")
        reply = await w.data("web", "ask", caller=asked)
        assert reply["result"] == {"action": "accept", "content": {"name": "Ada"}}
        assert len(asked.asked) == 1 and not other.asked
        group.cancel_scope.cancel()


@pytest.mark.parametrize("url", ["http://host:port/", "ftp://host/x", "nothing", "http://"])
async def test_an_address_that_is_none_is_named(url: str) -> None:
    """The server fails with its reason; nothing else is touched."""
    async with world(ServerSpec("odd", "http", url=url)) as w:
        with pytest.raises(DownstreamError, match="url"):
            await w.call("odd", "echo")


async def test_headers_that_http_cannot_carry_are_named() -> None:
    """A header outside Latin-1 fails the server with the header's name, not the process."""
    async with world(web(1, headers={"x-name": "Ω"})) as w:
        with pytest.raises(DownstreamError, match="'x-name'"):
            await w.call("web", "echo")


async def test_the_raw_server_is_reachable_by_a_plain_client() -> None:
    """The fixture itself answers as a server does, so that the tests above prove something."""
    server = RawHttp()
    async with plain.listening(server.app) as port, httpx2.AsyncClient() as client:
        hello = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {}}
        answer = await client.post(f"http://127.0.0.1:{port}/mcp", json=hello)
        assert answer.json()["result"]["serverInfo"]["name"] == "raw-http"
