"""One configured server with its connections."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import anyio
import pytest

from anyact_server.downstream import Handlers, Silent
from anyact_server.downstream.in_memory import MemoryWire
from anyact_server.downstream.owner import Connection
from anyact_server.downstream.peer import UNBOUNDED
from anyact_server.downstream.place import Place, client_key, close_all
from anyact_server.downstream.wire import SessionLost, Unreachable
from anyact_server.errors import DownstreamError, NeedsLogin
from anyact_server.interfaces import Caller, ServerEvent
from anyact_server.types import JsonObject, Kind, Principal, ServerSpec, ServerState

from .kit import Clock, Recorder, limits

pytestmark = pytest.mark.anyio
CALLER: Caller = Recorder()


async def echo(params: JsonObject) -> JsonObject:
    """A tool that answers at once."""
    return {"content": []}


@asynccontextmanager
async def place(**fields: object) -> AsyncIterator[tuple[Place, list[str]]]:
    """A place whose connections are owned while the block runs."""
    spec = ServerSpec("s", "memory", **fields)  # type: ignore[arg-type]
    target = Handlers({"tools/call": echo})
    events: list[ServerEvent] = []
    async with anyio.create_task_group() as group:

        def own(connection: Connection) -> None:
            group.start_soon(connection.run)

        made = Place(
            spec,
            limits(),
            Clock(),
            make_wire=lambda wanted: MemoryWire(wanted, target),
            own=own,
            emit=events.append,
            era="legacy",
        )
        yield made, [event.what for event in events]
        await close_all([(made, "the test is over")])


def test_clients_are_told_apart_by_session_else_by_principal() -> None:
    """A session of the same name is no principal."""
    assert client_key(Recorder(session="a")) != client_key(Recorder(session=None, principal=Principal("a")))
    assert client_key(Recorder(session="a", principal=Principal("x"))) == client_key(Recorder(session="a"))
    assert client_key(Silent()) == "principal:local"


@pytest.mark.case("R1")
async def test_a_connection_whose_session_was_lost_is_replaced_once() -> None:
    """The first to notice retires it; the others find the new one."""
    async with place() as (s, _):
        first = await s.connection(CALLER)
        for _n in range(3):
            s.failed(first, SessionLost("gone", server="s"))
        second = await s.connection(CALLER)
        assert second is not first and s.ready == [second]
        s.failed(first, SessionLost("gone", server="s"))
        assert await s.connection(CALLER) is second
        with anyio.fail_after(5):
            await first.closed.wait()
        assert s.status().state is ServerState.READY


async def test_failures_of_requests_show_in_the_state() -> None:
    """A missing login, a dropped call, a server out of reach: each in its own way; an answer heals."""
    async with place() as (s, _):
        connection = await s.connection(CALLER)
        s.failed(connection, NeedsLogin("login", server="s"))
        assert s.status().state is ServerState.NEEDS_LOGIN
        s.answered()
        s.failed(connection, DownstreamError("dropped", server="s", kind=Kind.CRASHED))
        assert s.status().state is ServerState.DOWN
        assert await s.connection(CALLER) is connection
        s.answered()
        s.failed(connection, DownstreamError("slow", server="s", kind=Kind.TIMEOUT))
        assert s.status().state is ServerState.READY
        s.failed(connection, Unreachable("refused", server="s"))
        assert await s.connection(CALLER) is not connection


async def test_each_client_may_have_a_connection_of_its_own() -> None:
    """One goes, the others stay."""
    other = Recorder(session="other")
    async with place(per_client=True) as (s, _):
        mine, theirs = await s.connection(CALLER), await s.connection(other)
        assert mine is not theirs and len(s.ready) == 2
        mine.close()
        with anyio.fail_after(5):
            await mine.closed.wait()
        assert s.status().state is ServerState.READY and s.ready == [theirs]
        assert await theirs.request("tools/call", {}, CALLER, UNBOUNDED) == {"content": []}


async def test_a_new_spec_of_the_same_wiring_is_taken_over() -> None:
    """The connection does not notice."""
    async with place() as (s, _):
        connection = await s.connection(CALLER)
        s.take(ServerSpec("s", "memory", description="new"))
        assert s.spec.description == "new" and await s.connection(CALLER) is connection
