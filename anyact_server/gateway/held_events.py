"""What was sent to clients of the handshake era over HTTP, held for those that lose their stream and come back for it.

The SDK keeps one store for all sessions and names streams by request ids, which every session counts alike. Here each
session has a store of its own, found by the context in which the session runs; it is gone with the session.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from contextvars import ContextVar
from weakref import WeakValueDictionary

import mcp_types as types
from mcp.server.streamable_http import EventCallback, EventId, EventMessage, EventStore, StreamId
from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from anyact_server.types import Json

MOST_EVENTS = 256
"""Events held for one session."""
MOST_BYTES = 4 * 1024 * 1024
"""Size of all that is held for one session, about."""
NODE_BYTES = 16
"""What a value counts for beside its text."""
RETRY_MS = 1000
"""How long a client that lost its stream should wait before it comes back."""
SESSION = "mcp-session-id"
GONE = -32000


class Held:
    """The events of one session, the oldest forgotten first."""

    def __init__(self) -> None:
        self._events: deque[tuple[int, StreamId, types.JSONRPCMessage | None, int]] = deque()
        self._count = 0
        self._size = 0

    def add(self, stream: StreamId, message: types.JSONRPCMessage | None) -> EventId:
        """Hold an event; gives its id."""
        size = weight(message, MOST_BYTES)
        if size > MOST_BYTES:
            message, size = too_large(message), NODE_BYTES
        self._count += 1
        self._events.append((self._count, stream, message, size))
        self._size += size
        while len(self._events) > MOST_EVENTS or self._size > MOST_BYTES:
            self._size -= self._events.popleft()[3]
        return str(self._count)

    def after(self, event: EventId) -> tuple[StreamId, list[EventMessage]] | None:
        """The stream of an event and what followed on it; None when the event is not held."""
        owner = next((stream for number, stream, _, _ in self._events if str(number) == event), None)
        if owner is None:
            return None
        found = [
            EventMessage(message, str(number))
            for number, stream, message, _ in self._events
            if stream == owner and number > int(event) and message is not None
        ]
        return owner, found


_CURRENT: ContextVar[Held | None] = ContextVar("anyact.held_events", default=None)


class HeldEvents(EventStore):
    """The event store of a session manager, each session apart."""

    def __init__(self) -> None:
        self._sessions: WeakValueDictionary[str, Held] = WeakValueDictionary()

    async def store_event(self, stream_id: StreamId, message: types.JSONRPCMessage | None) -> EventId:
        """Hold an event of the session in whose context this is called."""
        held = _CURRENT.get()
        return "0" if held is None else held.add(stream_id, message)

    async def replay_events_after(self, last_event_id: EventId, send_callback: EventCallback) -> StreamId | None:
        """Send what followed an event of the same session, on the same stream."""
        held = _CURRENT.get()
        found = None if held is None else held.after(last_event_id)
        if found is None:
            return None
        stream, events = found
        for event in events:
            await send_callback(event)
        return stream

    def around(self, app: ASGIApp) -> ASGIApp:
        """The application, each request in the context of its session.

        The task of a session is started by the request that opens it and so keeps its context; later requests are led
        to the same store by the session's id.
        """

        async def serve(scope: Scope, receive: Receive, send: Send) -> None:
            session = Headers(scope=scope).get(SESSION)
            held = Held() if session is None else self._sessions.get(session)

            async def told(message: Message) -> None:
                if session is None and message["type"] == "http.response.start":
                    opened = Headers(raw=message["headers"]).get(SESSION)
                    if opened is not None and held is not None:
                        self._sessions[opened] = held
                await send(message)

            token = _CURRENT.set(held)
            try:
                await app(scope, receive, told)
            finally:
                _CURRENT.reset(token)

        return serve


def weight(value: Json, most: int) -> int:
    """About how many bytes a message takes; stops counting beyond `most`."""
    stack, size = [value], 0
    while stack and size <= most:
        item = stack.pop()
        size += NODE_BYTES
        if isinstance(item, str):
            size += len(item)
        elif isinstance(item, Mapping):
            size += sum(len(name) for name in item)
            stack += item.values()
        elif isinstance(item, list | tuple):
            stack += item
        elif isinstance(item, types.JSONRPCResponse):
            stack.append(item.result)
        elif isinstance(item, types.JSONRPCNotification | types.JSONRPCRequest):
            stack.append(item.params)
    return size


def too_large(message: types.JSONRPCMessage | None) -> types.JSONRPCMessage | None:
    """What is held in place of a message that is too large: an error for an answer, nothing for the rest."""
    if not isinstance(message, types.JSONRPCResponse):
        return None
    error = types.ErrorData(code=GONE, message="The answer was too large to be held while the client was away.")
    return types.JSONRPCError(jsonrpc="2.0", id=message.id, error=error)
