"""One connection and its owner: it opens, is used, retires, closes."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import anyio
import pytest

from anyact_server.downstream import Handlers, SdkTarget
from anyact_server.downstream.in_memory import MemoryWire, Target
from anyact_server.downstream.owner import Connection, only_fault
from anyact_server.downstream.peer import UNBOUNDED
from anyact_server.errors import DownstreamError
from anyact_server.interfaces import ServerEvent
from anyact_server.types import JsonObject, Kind, Limits, ServerSpec
from tests.servers import plain

from .kit import Recorder, limits

pytestmark = pytest.mark.anyio
CALLER = Recorder()


def make(target: Target, spec: ServerSpec | None = None, given: Limits | None = None) -> tuple[Connection, list[str]]:
    """A connection to a server in memory, and what it said of itself."""
    said: list[str] = []
    events: list[ServerEvent] = []
    connection = Connection(
        spec or ServerSpec("s", "memory"),
        lambda wanted: MemoryWire(wanted, target),
        limits=given or limits(),
        era="auto",
        abilities=None,
        emit=events.append,
        watched=set(),
        changed=lambda c: said.append("ready" if c.ready else "closed" if c.closed.is_set() else "lost"),
    )
    return connection, said


@asynccontextmanager
async def owned(connection: Connection) -> AsyncIterator[None]:
    """Own a connection while the block runs."""
    with anyio.fail_after(10):
        async with anyio.create_task_group() as group:
            group.start_soon(connection.run)
            yield
            connection.close()


async def echo(params: JsonObject) -> JsonObject:
    """A tool that answers at once."""
    return {"content": []}


async def test_a_connection_opens_serves_and_closes() -> None:
    """It says so each time, and is not usable afterwards."""
    connection, said = make(SdkTarget(plain.build()))
    async with owned(connection):
        await connection.opened()
        assert (connection.usable, connection.agreement.modern, connection.learned) == (True, True, "modern")
        await connection.request("ping", {}, CALLER, UNBOUNDED)
    assert said == ["ready", "closed"]
    assert (connection.on_purpose, connection.usable) == (True, False)
    with pytest.raises(DownstreamError, match="was stopped") as caught:
        await connection.request("ping", {}, CALLER, UNBOUNDED)
    assert not caught.value.may_have_run
    await connection.tell("notifications/x", {})


async def test_closing_for_a_reason_ends_the_calls_with_it() -> None:
    """Also while it is still opening."""
    reason = DownstreamError("changed", server="s", kind=Kind.UNAVAILABLE)
    held = anyio.Event()

    async def hold(params: JsonObject) -> JsonObject:
        held.set()
        await anyio.sleep_forever()
        return {}

    connection, _ = make(Handlers({"tools/call": hold}))
    async with owned(connection), anyio.create_task_group() as group:
        ends: list[str] = []

        async def call() -> None:
            with pytest.raises(DownstreamError) as caught:
                await connection.request("tools/call", {}, CALLER, UNBOUNDED)
            ends.append(caught.value.message)

        await connection.opened()
        group.start_soon(call)
        await held.wait()
        connection.close(reason)
    assert ends == ["changed"]

    opening, said = make(Handlers({"server/discover": hold, "initialize": hold}))
    async with owned(opening):
        await anyio.wait_all_tasks_blocked()
        opening.close(reason)
        with pytest.raises(DownstreamError, match="changed"):
            await opening.opened()
    assert said == ["closed"] and not opening.was_ready


async def test_a_connection_closed_before_it_began_never_opens() -> None:
    """Nothing is started for it."""
    connection, said = make(Handlers({}))
    connection.close()
    await connection.run()
    assert said == ["closed"]


async def test_a_retired_connection_closes_when_its_last_call_has_ended() -> None:
    """Those in flight are not disturbed; without any it closes at once."""
    released = anyio.Event()

    async def wait(params: JsonObject) -> JsonObject:
        await released.wait()
        return {"content": ["late"]}

    connection, _ = make(Handlers({"tools/call": wait}))
    async with owned(connection), anyio.create_task_group() as group:
        results: list[JsonObject] = []

        async def call() -> None:
            results.append(await connection.request("tools/call", {}, CALLER, UNBOUNDED))

        await connection.opened()
        group.start_soon(call)
        await anyio.wait_all_tasks_blocked()
        connection.retire()
        assert not connection.usable and not connection.closed.is_set()
        released.set()
        await connection.closed.wait()
        assert results == [{"content": ["late"]}]
    quiet, _ = make(Handlers({}))
    async with owned(quiet):
        await quiet.opened()
        quiet.retire()
        await quiet.closed.wait()


async def test_a_start_over_its_limit_is_given_up() -> None:
    """The fault names the limit."""

    async def never(params: JsonObject) -> JsonObject:
        await anyio.sleep_forever()
        return {}

    connection, _ = make(Handlers({"server/discover": never, "initialize": never}), given=limits(start_s=0.1))
    async with owned(connection):
        with pytest.raises(DownstreamError, match=r"0\.1 s \(start limit\)"):
            await connection.opened()
    assert connection.fault is not None and connection.fault.kind is Kind.TIMEOUT


async def test_an_idle_connection_closes_by_itself_unless_something_is_watched() -> None:
    """A watched resource keeps it open: its news would be lost."""
    connection, said = make(Handlers({"tools/call": echo}), given=limits(idle_s=0.1))
    async with owned(connection):
        await connection.opened()
        await connection.closed.wait()
    assert said == ["ready", "closed"] and connection.on_purpose
    watching, _ = make(Handlers({"resources/subscribe": echo}), given=limits(idle_s=0.1))
    async with owned(watching):
        await watching.opened()
        await watching.request("resources/subscribe", {"uri": "a:"}, CALLER, UNBOUNDED)
        with anyio.move_on_after(0.4):
            await watching.closed.wait()
        assert not watching.closed.is_set()


async def test_a_cancelled_owner_closes_all_the_same() -> None:
    """As when the pool's scope is cancelled."""
    connection, said = make(Handlers({}))
    async with anyio.create_task_group() as group:
        group.start_soon(connection.run)
        await connection.opened()
        group.cancel_scope.cancel()
    assert said[-1] == "closed" and connection.closed.is_set()


def test_only_faults_of_the_connection_are_taken_for_one() -> None:
    """Anything else in the group is a mistake of ours and must be seen."""
    fault = DownstreamError("x", server="s", kind=Kind.CRASHED)
    assert only_fault(BaseExceptionGroup("g", [BaseExceptionGroup("h", [fault])])) is fault
    with pytest.raises(BaseExceptionGroup):
        only_fault(BaseExceptionGroup("g", [fault, ValueError("bug")]))
    with pytest.raises(BaseExceptionGroup):
        only_fault(BaseExceptionGroup("g", [ValueError("bug")]))
