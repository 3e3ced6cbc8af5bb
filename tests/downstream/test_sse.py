"""The transport of 2024-11-05: one stream brings everything, messages go by POST."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from dataclasses import dataclass, field

import anyio
import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

from anyact_server.errors import DownstreamError, NeedsLogin, RemoteError
from anyact_server.types import Kind, ServerSpec, ServerState
from tests.servers import plain

from .kit import Recorder, web, world

pytestmark = pytest.mark.anyio


@dataclass
class RawSse:
    """An event-stream server whose stream and whose answers to POST a test can spoil."""

    first: str = "event: endpoint\ndata: /post?session=1\n\n"
    stream_status: int = 200
    post_status: int = 202
    ends: bool = False
    inbox: list[dict[str, object]] = field(default_factory=list)
    _news: anyio.Event = field(default_factory=anyio.Event)

    @property
    def app(self) -> Starlette:
        """The server as a web application."""
        return Starlette(routes=[Route("/sse", self.stream), Route("/post", self.post, methods=["POST"])])

    async def stream(self, request: Request) -> Response:
        if self.stream_status != 200:
            return Response("no stream", self.stream_status, {"www-authenticate": "Bearer"})
        return StreamingResponse(self.events(), media_type="text/event-stream")

    async def events(self) -> AsyncIterator[str]:
        """The endpoint, then an answer to every message that is a request."""
        yield self.first
        done = 0
        while not self.ends:
            while done < len(self.inbox):
                yield self.reply(self.inbox[done])
                done += 1
            self._news = anyio.Event()
            await self._news.wait()

    def reply(self, frame: dict[str, object]) -> str:
        """The events that answer a message."""
        if "id" not in frame:
            return ": noted\n\n"
        if frame["method"] == "initialize":
            result: dict[str, object] = {"protocolVersion": "2024-11-05", "capabilities": {"tools": {}}}
            return self.event({"jsonrpc": "2.0", "id": frame["id"], "result": result})
        if frame["method"] == "tools/call":
            answer = {"jsonrpc": "2.0", "id": frame["id"], "result": {"content": [{"type": "text", "text": "ok"}]}}
            return "event: message\ndata: noise\n\nevent: other\ndata: x\n\n" + self.event(answer)
        error = {"code": -32601, "message": "Method not found"}
        return self.event({"jsonrpc": "2.0", "id": frame["id"], "error": error})

    @staticmethod
    def event(frame: dict[str, object]) -> str:
        return f"event: message\ndata: {json.dumps(frame)}\n\n"

    async def post(self, request: Request) -> Response:
        if self.post_status == 202:
            self.inbox.append(json.loads(await request.body()))
        self._news.set()
        return Response("refused" if self.post_status != 202 else "", self.post_status)


def sse(port: int, path: str = "/sse") -> ServerSpec:
    """An event-stream server on a loopback port."""
    return ServerSpec("sse", "sse", url=f"http://127.0.0.1:{port}{path}")


async def test_a_real_server_is_used_over_it() -> None:
    """Lists, calls, progress, questions: everything that the old era has."""
    server = plain.build()
    async with plain.listening(plain.web(server, "legacy")) as port, world(sse(port)) as w:
        assert len((await w.pool.take_snapshot("sse")).tools) == len(plain.TOOLS)
        assert await w.text("sse", "progress", steps=2) == "done"
        assert [report[0] for report in w.caller.reports] == [1, 2]
        caller = Recorder(abilities={"elicitation": {}})
        assert await w.text("sse", "ask", caller=caller) == 'accept: {"name": "Ada"}'
        assert w.pool.status("sse").protocol_version == "2025-11-25"


async def test_an_address_that_takes_no_post_is_tried_as_an_event_stream() -> None:
    """Configured as HTTP, found to be of the old transport."""
    server = plain.build()
    async with plain.listening(plain.web(server, "legacy")) as port, world(web(port, "/sse")) as w:
        assert await w.text("web", "echo", text="x") == "x"


async def test_an_address_that_is_neither_is_reported_as_what_was_configured() -> None:
    """The first error counts, not that of the second try."""
    server = plain.build()
    async with plain.listening(plain.web(server)) as port, world(web(port, "/nothing")) as w:
        with pytest.raises(DownstreamError, match="does not speak MCP there"):
            await w.call("web", "echo")


async def test_noise_in_the_stream_is_skipped() -> None:
    """Events of other kinds and events that are no JSON-RPC, the latter with a warning."""
    server = RawSse()
    async with plain.listening(server.app) as port, world(sse(port)) as w:
        assert await w.text("sse", "anything") == "ok"
        assert any("noise" in warning for warning in w.pool.status("sse").warnings)


@pytest.mark.case("L1")
async def test_the_end_of_the_stream_is_the_end_of_the_connection() -> None:
    """Calls in flight end with an error; the next call opens another stream."""
    server = RawSse()
    async with plain.listening(server.app) as port, world(sse(port)) as w:
        await w.call("sse", "anything")
        server.ends = True
        with anyio.fail_after(3), pytest.raises(DownstreamError) as caught:
            await w.call("sse", "anything")
        assert caught.value.kind is Kind.CRASHED and caught.value.may_have_run
        await w.until_state("sse", ServerState.DOWN)
        server.ends = False
        server.inbox.clear()
        assert await w.text("sse", "anything") == "ok"


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"stream_status": 500}, "HTTP 500"),
        ({"first": "event: endpoint\ndata: http://elsewhere.example/post\n\n"}, "another origin"),
        ({"first": "event: endpoint\ndata: http://h:port/\n\n"}, "another origin"),
        ({"first": "data: " + "x" * 5000 + "\n\n"}, "more than 2048 bytes"),
        ({"first": ": nothing\n\n", "ends": True}, "ended its event stream"),
    ],
)
async def test_streams_that_cannot_be_used_are_named(fields: dict[str, object], words: str) -> None:
    """Whatever keeps the endpoint from being known."""
    server = RawSse(**fields)  # type: ignore[arg-type]
    async with plain.listening(server.app) as port, world(sse(port), line_bytes=2048) as w:
        with anyio.fail_after(5), pytest.raises(DownstreamError, match=words):
            await w.call("sse", "anything")


async def test_refusals_keep_their_meaning() -> None:
    """A login for the stream, a refusal of one message."""
    async with plain.listening(RawSse(stream_status=401).app) as port, world(sse(port)) as w:
        with pytest.raises(NeedsLogin):
            await w.call("sse", "anything")
    server = RawSse()
    async with plain.listening(server.app) as port, world(sse(port)) as w:
        await w.call("sse", "anything")
        server.post_status = 403
        with pytest.raises(DownstreamError) as caught:
            await w.call("sse", "anything")
        assert caught.value.kind is Kind.PERMISSION
        server.post_status = 202
        with pytest.raises(RemoteError):
            await w.pool.request("sse", "prompts/list", {}, caller=w.caller)


async def test_a_page_that_is_no_stream_is_named() -> None:
    """Nothing there speaks the old transport."""
    app = Starlette(routes=[Route("/sse", lambda request: Response("<html>", media_type="text/html"))])
    async with plain.listening(app) as port, world(sse(port)) as w:
        with pytest.raises(DownstreamError, match="a web page"):
            await w.call("sse", "anything")


async def test_a_server_that_cannot_be_reached_is_named() -> None:
    """Nobody listens there."""
    async with plain.listening(RawSse().app) as port:
        pass
    async with world(sse(port)) as w:
        with pytest.raises(DownstreamError, match="cannot be reached"):
            await w.call("sse", "anything")
