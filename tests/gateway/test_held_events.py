"""Holding what was sent for clients that come back."""

from __future__ import annotations

import gc
from typing import Any

import anyio
import httpx2
import mcp_types as types
import pytest
from starlette.types import Message, Scope

from anyact_server.gateway import http_app, listening, serve_http
from anyact_server.gateway.held_events import MOST_BYTES, MOST_EVENTS, Held, HeldEvents, too_large, weight
from anyact_server.settings import Settings
from tests.servers import everything

from .clients import Tokens

pytestmark = pytest.mark.anyio


def note(number: int) -> types.JSONRPCNotification:
    """A notification that can be told from others."""
    return types.JSONRPCNotification(jsonrpc="2.0", method="n", params={"number": number})


def answer(text: str) -> types.JSONRPCResponse:
    """An answer of some size."""
    return types.JSONRPCResponse(jsonrpc="2.0", id=7, result={"text": [text]})


async def test_what_followed_an_event_on_its_stream_is_given() -> None:
    """Other streams and priming events are left out."""
    held = Held()
    first = held.add("1", None)
    held.add("2", note(2))
    second = held.add("1", note(1))
    held.add("1", None)
    found = held.after(first)
    assert found is not None
    assert (found[0], [event.message for event in found[1]]) == ("1", [note(1)])
    assert held.after(second) == ("1", [])
    assert held.after("odd") is None


async def test_the_oldest_events_are_forgotten() -> None:
    """By number and by size."""
    held = Held()
    ids = [held.add("1", note(number)) for number in range(MOST_EVENTS + 1)]
    assert held.after(ids[0]) is None
    assert held.after(ids[1]) is not None
    large = held.add("1", answer("x" * (MOST_BYTES - 1000)))
    assert held.after(large) == ("1", [])
    assert held.after(ids[100]) is None


async def test_a_message_that_is_too_large_leaves_an_error_behind() -> None:
    """A client that comes back for it is told, and does not wait for ever."""
    held = Held()
    first = held.add("1", None)
    held.add("1", answer("x" * MOST_BYTES))
    found = held.after(first)
    assert found is not None
    [event] = found[1]
    assert isinstance(event.message, types.JSONRPCError)
    assert event.message.id == 7
    assert too_large(note(1)) is None


async def test_sizes_are_counted_through_every_kind_of_value() -> None:
    """And not beyond what matters."""
    assert weight({"a": ["xx", 1, None]}, 1000) == 16 + 1 + 16 + 16 + 2 + 16 + 16
    assert weight(["x" * 100, "y" * 100], 10) < 200
    assert weight(note(1), 1000) > weight(None, 1000)


async def test_each_session_has_a_store_of_its_own() -> None:
    """Requests of a session reach what the session stored; another session's ids lead nowhere."""
    events = HeldEvents()
    seen: list[Any] = []

    async def app(scope: Scope, receive: Any, send: Any) -> None:
        seen.append(await events.store_event("1", note(1)))
        sent: list[Any] = []

        async def take(event: Any) -> None:
            sent.append(event.message)

        seen.append((await events.replay_events_after("1", take), sent))
        session = scope["opens"]
        await send(
            {"type": "http.response.start", "status": 200, "headers": [(b"mcp-session-id", session)] if session else []}
        )

    async def send(message: Message) -> None:
        held.append(message)

    held: list[Any] = []
    around = events.around(app)
    opening: dict[str, Any] = {"type": "http", "headers": [], "opens": b"one"}

    async def session() -> None:
        await around(opening, None, send)  # type: ignore[arg-type]
        seen.append(events._sessions.get("one") is None)

    await session()
    assert seen[:2] == ["1", ("1", [])]
    gc.collect()
    await around({"type": "http", "headers": [(b"mcp-session-id", b"one")], "opens": b""}, None, send)  # type: ignore[arg-type]
    assert seen[3:] == ["0", (None, [])]


async def test_a_client_that_lost_its_stream_comes_back_for_the_result() -> None:
    """Over a real socket: the stream is closed in mid-call, and the answer waits under the last event's id."""
    server = everything.build()
    app = http_app(server, Tokens(), Settings(), health=dict)
    sock = listening("127.0.0.1", 0)
    url = f"http://127.0.0.1:{sock.getsockname()[1]}/mcp"
    greeting = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}
    headers = {"accept": "application/json, text/event-stream", "mcp-protocol-version": "2025-11-25"}
    with anyio.fail_after(10):
        async with anyio.create_task_group() as group, httpx2.AsyncClient(headers=headers) as http:
            await group.start(lambda *, task_status: serve_http(app, sock, signals=False, task_status=task_status))
            opened = await http.post(url, json=request(1, "initialize", greeting))
            http.headers["mcp-session-id"] = opened.headers["mcp-session-id"]
            await http.post(url, json={"jsonrpc": "2.0", "method": "notifications/initialized"})
            call = request(2, "tools/call", {"name": "test_reconnection"})
            lost = await http.post(url, json=call)
            [last] = [line.removeprefix("id: ") for line in lost.text.splitlines() if line.startswith("id:")]
            assert "result" not in lost.text
            async with http.stream("GET", url, headers={"last-event-id": last}) as stream:
                async for line in stream.aiter_lines():
                    if "Reconnection test completed" in line:
                        break
            group.cancel_scope.cancel()


def request(ident: int, method: str, params: dict[str, Any]) -> dict[str, Any]:
    """A JSON-RPC request."""
    return {"jsonrpc": "2.0", "id": ident, "method": method, "params": params}
