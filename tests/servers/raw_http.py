"""An HTTP MCP server whose every answer a test can spoil, as a web application; and bare sockets that are none at all.

The called tool's name spoils the answer, fields of `RawHttp` spoil the rest. `plain.listening(server.app)` serves it.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any

import anyio
from anyio.abc import SocketAttribute, SocketStream
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, RedirectResponse, Response, StreamingResponse
from starlette.routing import Route

Frame = dict[str, Any]
EVENTS = "text/event-stream"


@dataclass
class RawHttp:
    """A server of one era.

    Attributes:
        modern: speak the era of 2026-07-28; else the old one, with sessions.
        standing: what GET gives: `none` (405), `ended` (a stream that ends at once), `text`, or `open`.
        lost_status, lost_body: how a forgotten session is refused.
        amnesia: refuse every session, fresh ones too.
        required: a bearer token that every request must carry.
        refusal: status, headers and body of every answer to a POST, instead of any other.
        redirect: where `/moved` redirects to, and with which status.
        capabilities: declared.
        tools: the list of tools.
        paged: give an empty first page of tools, with a cursor.
    """

    modern: bool = False
    standing: str = "none"
    lost_status: int = 404
    lost_body: str = '{"jsonrpc":"2.0","id":"server-error","error":{"code":-32600,"message":"Session not found"}}'
    amnesia: bool = False
    required: str | None = None
    refusal: tuple[int, dict[str, str], str] | None = None
    redirect: tuple[str, int] = ("/mcp", 307)
    capabilities: Frame = field(default_factory=lambda: {"tools": {}})
    tools: list[Frame] = field(default_factory=lambda: [{"name": "echo", "inputSchema": {"type": "object"}}])
    paged: bool = False
    sessions: set[str] = field(default_factory=set)
    opened: int = 0
    frames: list[Frame] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)
    gets: list[dict[str, str]] = field(default_factory=list)
    deletes: int = 0
    calls: int = 0
    dropped: list[anyio.Event] = field(default_factory=list)
    release: anyio.Event = field(default_factory=anyio.Event)

    @property
    def app(self) -> Starlette:
        """The server as a web application."""
        return Starlette(
            routes=[
                Route("/mcp", self.post, methods=["POST"]),
                Route("/mcp", self.get, methods=["GET"]),
                Route("/mcp", self.delete, methods=["DELETE"]),
                Route("/moved", self.moved, methods=["POST", "GET", "DELETE"]),
            ]
        )

    def methods(self) -> list[str]:
        """The methods received, in order."""
        return [str(frame.get("method")) for frame in self.frames]

    async def moved(self, request: Request) -> Response:
        return RedirectResponse(*self.redirect)

    async def delete(self, request: Request) -> Response:
        self.deletes += 1
        return Response(status_code=204)

    async def get(self, request: Request) -> Response:
        self.gets.append(dict(request.headers))
        last = request.headers.get("last-event-id")
        if last is not None and last.startswith("resume-"):
            return Response(event(answer(int(last.removeprefix("resume-")), "resumed")), media_type=EVENTS)
        if self.standing == "ended":
            return Response(": nothing\n\n", media_type=EVENTS)
        if self.standing == "text":
            return Response("hello", media_type="text/plain")
        if self.standing == "open":
            return StreamingResponse(self.stand(), media_type=EVENTS)
        return Response(status_code=405)

    async def stand(self) -> AsyncIterator[str]:
        """A standing stream that tells of a changed list once it is told to."""
        yield ": open\n\n"
        await self.release.wait()
        yield event({"jsonrpc": "2.0", "method": "notifications/tools/list_changed"})
        await anyio.sleep_forever()

    async def post(self, request: Request) -> Response:
        frame = json.loads(await request.body())
        self.frames.append(frame)
        self.headers.append(dict(request.headers))
        refused = self.refused(request, frame)
        if refused is not None:
            return refused
        if "id" not in frame or "method" not in frame:
            return Response(status_code=202)
        if frame["method"] == "tools/call":
            self.calls += 1
            return await TOOLS[frame["params"]["name"]](self, frame)
        return self.introduce(frame)

    def refused(self, request: Request, frame: Frame) -> Response | None:
        """The refusal of a request that may not pass; None for all others."""
        if self.refusal is not None:
            status, headers, body = self.refusal
            return Response(body, status, headers)
        if self.required is not None and request.headers.get("authorization") != f"Bearer {self.required}":
            challenge = 'Bearer resource_metadata="https://login.example/meta"'
            return Response('{"error":"invalid_token"}', 401, {"www-authenticate": challenge})
        if self.modern or frame.get("method") in ("initialize", "server/discover"):
            return None
        if self.amnesia or request.headers.get("mcp-session-id") not in self.sessions:
            return Response(self.lost_body, self.lost_status, {"content-type": "application/json"})
        return None

    def introduce(self, frame: Frame) -> Response:
        """Answer everything that is no call."""
        method, ident = frame["method"], frame["id"]
        info = {"capabilities": self.capabilities, "serverInfo": {"name": "raw-http", "version": "1"}}
        if method == "initialize" and not self.modern:
            self.opened += 1
            session = f"session-{self.opened}"
            self.sessions.add(session)
            hello = {"jsonrpc": "2.0", "id": ident, "result": {"protocolVersion": "2025-06-18", **info}}
            return JSONResponse(hello, headers={"mcp-session-id": session, "set-cookie": f"node={session}"})
        if method == "server/discover" and self.modern:
            result = {"supportedVersions": ["2026-07-28"], "resultType": "complete", **info}
            return JSONResponse({"jsonrpc": "2.0", "id": ident, "result": result})
        if method == "tools/list":
            first = self.paged and "cursor" not in frame["params"]
            listed: Frame = {"tools": [], "nextCursor": "2"} if first else {"tools": self.tools}
            return JSONResponse({"jsonrpc": "2.0", "id": ident, "result": listed})
        error = {"code": -32601, "message": "Method not found"}
        return JSONResponse({"jsonrpc": "2.0", "id": ident, "error": error}, 404 if self.modern else 200)


Script = Callable[[RawHttp, Frame], Awaitable[Response]]
TOOLS: dict[str, Script] = {}


def tool(script: Script) -> Script:
    """Register a tool under its function's name."""
    TOOLS[script.__name__.replace("_", "-")] = script
    return script


def event(frame: Frame, ident: str | None = None) -> str:
    """A frame as an event."""
    head = f"id: {ident}\n" if ident else ""
    return f"{head}event: message\ndata: {json.dumps(frame)}\n\n"


def answer(ident: Any, text: str) -> Frame:
    """An answer of one block of text."""
    return {"jsonrpc": "2.0", "id": ident, "result": {"content": [{"type": "text", "text": text}]}}


@tool
async def echo(server: RawHttp, frame: Frame) -> Response:
    return JSONResponse(answer(frame["id"], json.dumps(frame["params"].get("arguments"))))


@tool
async def drop(server: RawHttp, frame: Frame) -> Response:
    """End the stream before the answer."""
    return Response(": nothing\n\n", media_type=EVENTS)


@tool
async def drop_numbered(server: RawHttp, frame: Frame) -> Response:
    """End the stream before the answer, after an event that names where to go on."""
    return Response(f"id: resume-{frame['id']}\nretry: 10\ndata:\n\n", media_type=EVENTS)


@tool
async def drop_for_good(server: RawHttp, frame: Frame) -> Response:
    """End the stream before the answer, after an event from which nothing can be resumed."""
    return Response("id: gone\nretry: 10\ndata:\n\n", media_type=EVENTS)


@tool
async def break_off(server: RawHttp, frame: Frame) -> Response:
    """Break the connection in the middle of the stream, after an event with or without a number."""
    numbered = frame["params"]["arguments"]["numbered"]

    async def stream() -> AsyncIterator[str]:
        yield f"id: resume-{frame['id']}\ndata:\n\n" if numbered else ": nothing\n\n"
        raise ConnectionAbortedError("on purpose")

    return StreamingResponse(stream(), media_type=EVENTS)


@tool
async def page(server: RawHttp, frame: Frame) -> Response:
    return Response("<html><body>Sign in</body></html>", media_type="text/html")


@tool
async def accepted(server: RawHttp, frame: Frame) -> Response:
    return Response(status_code=202)


@tool
async def other_answer(server: RawHttp, frame: Frame) -> Response:
    return JSONResponse(answer(12_345, "for another"))


@tool
async def refused(server: RawHttp, frame: Frame) -> Response:
    """Refuse with the status that was given as an argument."""
    given = frame["params"]["arguments"]
    return Response(given.get("body", "busy"), given["status"], given.get("headers", {}))


@tool
async def mismatch(server: RawHttp, frame: Frame) -> Response:
    """Refuse unless the header that mirrors the argument is there."""
    if server.headers[-1].get("mcp-param-region") == "eu":
        return JSONResponse(answer(frame["id"], "mirrored"))
    error = {"code": -32020, "message": "Header mismatch"}
    return JSONResponse({"jsonrpc": "2.0", "id": frame["id"], "error": error}, 400)


@tool
async def noise(server: RawHttp, frame: Frame) -> Response:
    """Put an event that is no JSON-RPC and one of another kind before the answer."""
    return Response(
        f"data: not json\n\nevent: ping\ndata: x\n\n{event(answer(frame['id'], 'heard'))}", media_type=EVENTS
    )


@tool
async def ask(server: RawHttp, frame: Frame) -> Response:
    """Put a question on the call's own stream and answer with the reply."""

    async def stream() -> AsyncIterator[str]:
        question = {"jsonrpc": "2.0", "id": "q", "method": "elicitation/create", "params": {"message": "?"}}
        yield event(question)
        with anyio.fail_after(5):
            while not any(seen.get("id") == "q" for seen in server.frames):
                await anyio.lowlevel.checkpoint()
        reply = next(seen for seen in server.frames if seen.get("id") == "q")
        yield event(answer(frame["id"], json.dumps(reply)))

    return StreamingResponse(stream(), media_type=EVENTS)


@tool
async def hang(server: RawHttp, frame: Frame) -> Response:
    """Answer nothing until the client leaves or the server is released."""
    left = anyio.Event()
    server.dropped.append(left)

    async def stream() -> AsyncIterator[str]:
        try:
            yield ": waiting\n\n"
            await server.release.wait()
            yield event(answer(frame["id"], "released"))
        finally:
            left.set()

    return StreamingResponse(stream(), media_type=EVENTS)


@tool
async def large(server: RawHttp, frame: Frame) -> Response:
    size = int(frame["params"]["arguments"]["bytes"])
    made = answer(frame["id"], "x" * size)
    if frame["params"]["arguments"].get("events"):
        return Response(event(made), media_type=EVENTS)
    return JSONResponse(made)


@contextlib.asynccontextmanager
async def sockets(script: Callable[[SocketStream], Awaitable[None]]) -> AsyncIterator[int]:
    """Listen on a loopback port and do with every connection what a test wants; gives the port."""
    listener = await anyio.create_tcp_listener(local_host="127.0.0.1", local_port=0)

    async def handle(stream: SocketStream) -> None:
        async with stream:
            with contextlib.suppress(anyio.BrokenResourceError, anyio.ClosedResourceError, anyio.EndOfStream):
                await script(stream)

    async with listener, anyio.create_task_group() as group:
        group.start_soon(listener.serve, handle)
        yield int(listener.extra(SocketAttribute.local_port))
        group.cancel_scope.cancel()


async def silent(stream: SocketStream) -> None:
    """Accept and say nothing."""
    await anyio.sleep_forever()


async def hang_up(stream: SocketStream) -> None:
    """Take a request and close the connection."""
    await stream.receive()
