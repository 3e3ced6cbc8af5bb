"""Servers in this very process: for embedding, and for tests that need no process and no port.

A target is either handlers by method name, or a server object of the official SDK.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Any, Protocol

import anyio
from anyio.abc import ObjectReceiveStream, ObjectSendStream
from mcp.shared.message import SessionMessage
from mcp_types.jsonrpc import jsonrpc_message_adapter

from anyact_server.errors import DownstreamError, RemoteError
from anyact_server.types import JsonObject, Kind, ServerSpec

from . import frames
from .wire import Sink, Unreachable

METHOD_NOT_FOUND = -32601
Handler = Callable[[JsonObject], Awaitable[JsonObject]]


class Target(Protocol):
    """A server in memory: takes frames and sends frames until its input ends."""

    async def serve(self, inbox: ObjectReceiveStream[JsonObject], outbox: ObjectSendStream[JsonObject]) -> None: ...


class Handlers:
    """A server made of handlers: method name to `async (params) -> result`.

    A handler raises RemoteError to answer with an error. `initialize` is answered from `capabilities` unless there is a
    handler for it.
    """

    def __init__(
        self, handlers: Mapping[str, Handler], *, name: str = "memory", capabilities: JsonObject | None = None
    ) -> None:
        self._handlers = dict(handlers)
        self._hello: JsonObject = {
            "capabilities": capabilities if capabilities is not None else {"tools": {}},
            "serverInfo": {"name": name, "version": "1"},
        }

    async def serve(self, inbox: ObjectReceiveStream[JsonObject], outbox: ObjectSendStream[JsonObject]) -> None:
        scopes: dict[Any, anyio.CancelScope] = {}

        async def answer(frame: JsonObject) -> None:
            ident = frame["id"]
            with anyio.CancelScope() as scope:
                scopes[ident] = scope
                await outbox.send(await self._reply(ident, frame["method"], frame.get("params") or {}))
            scopes.pop(ident, None)

        async with anyio.create_task_group() as group:
            async for frame in inbox:
                if "method" in frame and "id" in frame:
                    group.start_soon(answer, frame)
                elif frame.get("method") == "notifications/cancelled":
                    scope = scopes.get((frame.get("params") or {}).get("requestId"))
                    if scope is not None:
                        scope.cancel()
            group.cancel_scope.cancel()

    async def _reply(self, ident: Any, method: str, params: JsonObject) -> JsonObject:
        handler = self._handlers.get(method)
        if handler is None and method == "initialize":
            return frames.answer(ident, {"protocolVersion": params.get("protocolVersion"), **self._hello})
        if handler is None:
            return frames.refusal(ident, METHOD_NOT_FOUND, "Method not found")
        try:
            return frames.answer(ident, await handler(params))
        except RemoteError as error:
            return frames.refusal(ident, error.code, error.message, error.data)


class SdkServer(Protocol):
    """What is needed of a low-level server of the official SDK."""

    def create_initialization_options(self) -> Any: ...

    async def run(self, read_stream: Any, write_stream: Any, initialization_options: Any) -> None: ...


class SdkTarget:
    """A server object of the official SDK (its low-level `Server`)."""

    def __init__(self, server: SdkServer) -> None:
        self._server = server

    async def serve(self, inbox: ObjectReceiveStream[JsonObject], outbox: ObjectSendStream[JsonObject]) -> None:
        to_server, from_client = anyio.create_memory_object_stream[SessionMessage | Exception](0)
        to_client, from_server = anyio.create_memory_object_stream[SessionMessage](0)

        async def inward() -> None:
            async with to_server:
                async for frame in inbox:
                    await to_server.send(SessionMessage(jsonrpc_message_adapter.validate_python(frame)))

        async def outward() -> None:
            async with from_server:
                async for item in from_server:
                    await outbox.send(item.message.model_dump(by_alias=True, mode="json", exclude_unset=True))

        async with anyio.create_task_group() as group, from_client, to_client:
            group.start_soon(inward)
            group.start_soon(outward)
            await self._server.run(from_client, to_client, self._server.create_initialization_options())
            group.cancel_scope.cancel()


class MemoryWire:
    """The wire to a server in memory; frames are passed as objects."""

    by_http = False
    pid = None

    def __init__(self, spec: ServerSpec, target: Target | None) -> None:
        self._server = spec.name
        self._target = target
        self._outbox: ObjectSendStream[JsonObject] | None = None

    @asynccontextmanager
    async def connected(self, sink: Sink) -> AsyncIterator[None]:
        target = self._target
        if target is None:
            raise Unreachable(f"server {self._server!r}: there is no such server in memory", server=self._server)
        outbox, inbox = anyio.create_memory_object_stream[JsonObject](16)
        answers, arriving = anyio.create_memory_object_stream[JsonObject](16)

        async def serve() -> None:
            async with inbox, answers:
                await target.serve(inbox, answers)

        async def listen() -> None:
            async with arriving:
                async for frame in arriving:
                    sink.receive(frame)
            sink.close(DownstreamError(f"server {self._server!r} has ended", server=self._server, kind=Kind.CRASHED))

        async with anyio.create_task_group() as group, outbox:
            self._outbox = outbox
            group.start_soon(serve)
            group.start_soon(listen)
            try:
                yield
            finally:
                group.cancel_scope.cancel()

    async def send(self, frame: JsonObject, headers: Mapping[str, str]) -> None:
        assert self._outbox is not None
        try:
            await self._outbox.send(frame)
        except (anyio.BrokenResourceError, anyio.ClosedResourceError):
            raise Unreachable(f"server {self._server!r} has ended", server=self._server) from None

    def withdraw(self, request: frames.RequestId) -> bool:
        return False

    def established(self, version: str, *, modern: bool) -> None:
        return None
