"""The conversation over one wire: numbers, limits, notes, questions, and whatever servers send instead."""

from __future__ import annotations

import math
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import anyio
import pytest
from hypothesis import given
from hypothesis import strategies as st

from anyact_server.downstream.frames import RequestId
from anyact_server.downstream.peer import MOST_NOTES, UNBOUNDED, Bounds, Peer
from anyact_server.downstream.wire import Sink, Wire
from anyact_server.errors import DownstreamError, RemoteError
from anyact_server.types import JsonObject, Kind

from .kit import Recorder, raw, world

pytestmark = pytest.mark.anyio
FORM: JsonObject = {"elicitation": {}}


@dataclass
class Tape:
    """A wire that keeps what is sent; a test plays the server by feeding the peer."""

    by_http: bool = False
    pid: int | None = None
    sent: list[JsonObject] = field(default_factory=list)
    withdrawn: list[RequestId] = field(default_factory=list)
    quiet_withdrawal: bool = False
    stuck: bool = False
    broken: DownstreamError | None = None

    @asynccontextmanager
    async def connected(self, sink: Sink) -> AsyncIterator[None]:
        yield

    async def send(self, frame: JsonObject, headers: Mapping[str, str]) -> None:
        if self.stuck:
            await anyio.sleep_forever()
        if self.broken is not None:
            raise self.broken
        self.sent.append(frame)

    def withdraw(self, request: RequestId) -> bool:
        self.withdrawn.append(request)
        return self.quiet_withdrawal

    def established(self, version: str, *, modern: bool) -> None:
        return None


@dataclass
class Talk:
    """A peer over a tape, and the outcome of one call."""

    peer: Peer
    tape: Tape
    notices: list[tuple[str, JsonObject]]
    outcomes: list[JsonObject | Exception] = field(default_factory=list)

    async def call(
        self, bounds: Bounds = UNBOUNDED, caller: Recorder | None = None, method: str = "tools/call"
    ) -> None:
        try:
            self.outcomes.append(
                await self.peer.call(method, {"_meta": {"mine": 1}}, headers={}, bounds=bounds, caller=caller)
            )
        except (DownstreamError, RemoteError) as error:
            self.outcomes.append(error)

    async def until(self, count: int) -> JsonObject:
        """Wait until so many frames were sent; gives the last."""
        with anyio.fail_after(5):
            while len(self.tape.sent) < count:
                await anyio.lowlevel.checkpoint()
        return self.tape.sent[count - 1]


@asynccontextmanager
async def talk(tape: Tape | None = None) -> AsyncIterator[Talk]:
    """A conversation whose tasks end with the block."""
    wire: Wire = tape or Tape()
    notices: list[tuple[str, JsonObject]] = []
    peer = Peer("s", wire, lambda method, params: notices.append((method, params)))
    async with anyio.create_task_group() as group:
        peer.attend(group)
        assert isinstance(wire, Tape)
        yield Talk(peer, wire, notices)
        group.cancel_scope.cancel()


def result(ident: Any, value: Any = None) -> JsonObject:
    """An answer."""
    return {"jsonrpc": "2.0", "id": ident, "result": {} if value is None else value}


def note(method: str, **params: Any) -> JsonObject:
    """A notification."""
    return {"jsonrpc": "2.0", "method": method, "params": params}


@pytest.mark.case("T2")
async def test_a_progress_token_is_always_sent() -> None:
    """The client's own `_meta` stays beside it."""
    async with talk() as t, anyio.create_task_group() as group:
        group.start_soon(t.call)
        frame = await t.until(1)
        assert frame["params"]["_meta"] == {"mine": 1, "progressToken": frame["id"]}
        t.peer.receive(result(frame["id"], {"ok": True}))
    assert t.outcomes == [{"ok": True}]


async def test_progress_that_nobody_takes_does_not_grow_without_bound() -> None:
    """Only the latest of a flood is kept."""
    caller = Recorder()
    async with talk() as t, anyio.create_task_group() as group:
        group.start_soon(t.call, UNBOUNDED, caller)
        frame = await t.until(1)
        for step in range(10_000):
            t.peer.receive(note("notifications/progress", progressToken=frame["id"], progress=step))
        t.peer.receive(result(frame["id"]))
    assert len(caller.reports) == MOST_NOTES and caller.reports[-1][0] == 9_999


@pytest.mark.parametrize(
    "params",
    [
        {},
        {"progressToken": 1},
        {"progressToken": 1, "progress": "x"},
        {"progressToken": True, "progress": 1},
        {"progressToken": [], "progress": 1},
        {"progressToken": 99, "progress": 1},
    ],
)
async def test_progress_of_the_wrong_shape_is_ignored(params: dict[str, Any]) -> None:
    """And so is that of requests that are not there."""
    caller = Recorder()
    async with talk() as t, anyio.create_task_group() as group:
        group.start_soon(t.call, UNBOUNDED, caller)
        frame = await t.until(1)
        t.peer.receive(note("notifications/progress", **params))
        odd = {"progressToken": str(frame["id"]), "progress": 1, "total": "many", "message": 7}
        t.peer.receive(note("notifications/progress", **odd))
        t.peer.receive(result(frame["id"]))
    assert caller.reports == [(1, None, None)]


@pytest.mark.parametrize(
    ("error", "code", "message"),
    [
        ({"code": -5, "message": "no", "data": 1}, -5, "no"),
        ({"code": "x"}, -32603, "the server gave no reason"),
        ("just text", -32603, "just text"),
        (None, -32603, "None"),
    ],
)
async def test_errors_of_any_shape_are_errors(error: Any, code: int, message: str) -> None:
    """Code, words and data as far as they go."""
    async with talk() as t, anyio.create_task_group() as group:
        group.start_soon(t.call)
        frame = await t.until(1)
        t.peer.receive({"jsonrpc": "2.0", "id": frame["id"], "error": error})
    assert isinstance(t.outcomes[0], RemoteError)
    assert (t.outcomes[0].code, t.outcomes[0].message) == (code, message)


async def test_an_error_without_an_id_belongs_to_the_only_request() -> None:
    """With two in flight it belongs to neither."""
    nameless = {"jsonrpc": "2.0", "id": None, "error": {"code": -32700, "message": "parse error"}}
    async with talk() as t, anyio.create_task_group() as group:
        group.start_soon(t.call)
        group.start_soon(t.call)
        await t.until(2)
        t.peer.receive(nameless)
        assert not t.outcomes
        t.peer.receive(result(1))
        await anyio.wait_all_tasks_blocked()
        t.peer.receive(nameless)
    assert isinstance(t.outcomes[1], RemoteError)


async def test_a_result_that_is_no_object_names_what_it_is() -> None:
    """A list is no result of any method."""
    async with talk() as t, anyio.create_task_group() as group:
        group.start_soon(t.call)
        t.peer.receive(result((await t.until(1))["id"], [1]))
    assert isinstance(t.outcomes[0], DownstreamError) and "with a list instead of an object" in t.outcomes[0].message


async def test_the_first_answer_counts_and_unknown_ones_are_dropped() -> None:
    """Doubles, strangers and ids of odd types disturb nothing."""
    async with talk() as t, anyio.create_task_group() as group:
        group.start_soon(t.call)
        frame = await t.until(1)
        strangers: list[Any] = [99, "x", [], {}, True]
        for ident in strangers:
            t.peer.receive(result(ident))
        t.peer.receive(result(float(frame["id"]), {"n": 1}))
        t.peer.receive(result(frame["id"], {"n": 2}))
    assert t.outcomes == [{"n": 1}]


@pytest.mark.case("P1")
async def test_a_damaged_answer_has_a_moment_left() -> None:
    """Named by id, or the only one; among several nobody is blamed. If the answer still comes, it counts."""
    async with talk() as t, anyio.create_task_group() as group:
        group.start_soon(t.call)
        group.start_soon(t.call)
        await t.until(2)
        t.peer.damaged(None, "glue")
        t.peer.damaged(77, "glue")
        t.peer.damaged(1, "glue")
        t.peer.damaged(2, "glue")
        t.peer.receive(result(2, {"late": True}))
        with anyio.fail_after(3):
            while len(t.outcomes) < 2:
                await anyio.wait_all_tasks_blocked()
                await anyio.sleep(0.05)
    assert t.outcomes[0] == {"late": True}
    assert isinstance(t.outcomes[1], DownstreamError) and t.outcomes[1].kind is Kind.PROTOCOL


async def test_a_wire_that_takes_nothing_is_given_up_at_the_limit() -> None:
    """A server that does not read its input does not hold its callers for ever."""
    async with talk(Tape(stuck=True)) as t:
        with anyio.fail_after(3):
            await t.call(Bounds(0.1))
    assert isinstance(t.outcomes[0], DownstreamError) and t.outcomes[0].kind is Kind.TIMEOUT


async def test_a_lost_wire_ends_every_call_and_refuses_the_next() -> None:
    """Those in flight may have run, the next one surely did not; each has an error of its own."""
    async with talk() as t, anyio.create_task_group() as group:
        group.start_soon(t.call)
        group.start_soon(t.call)
        await t.until(2)
        t.peer.close(DownstreamError("gone", server="s", kind=Kind.CRASHED))
        t.peer.close(DownstreamError("again", server="s", kind=Kind.CRASHED))
        await anyio.wait_all_tasks_blocked()
        await t.call()
    errors = [outcome for outcome in t.outcomes if isinstance(outcome, DownstreamError)]
    assert [error.message for error in errors] == ["gone"] * 3
    assert [error.may_have_run for error in errors] == [True, True, False]
    assert len(set(map(id, errors))) == 3 and t.peer.ended.is_set()


async def test_a_request_that_was_not_taken_is_not_cancelled() -> None:
    """The wire said that it was not handed over; there is nothing to take back."""
    broken = DownstreamError("closed", server="s", kind=Kind.UNAVAILABLE, may_have_run=False)
    async with talk(Tape(broken=broken)) as t:
        await t.call()
        with pytest.raises(DownstreamError):
            await t.peer.tell("notifications/x", {}, {})
    assert isinstance(t.outcomes[0], DownstreamError)


@pytest.mark.parametrize(
    ("method", "quiet", "told"),
    [("tools/call", False, True), ("tools/call", True, False), ("initialize", False, False)],
)
async def test_giving_up_is_told_unless_the_wire_or_the_protocol_forbids(method: str, quiet: bool, told: bool) -> None:
    """A closed stream says it by itself; the handshake must not be cancelled."""
    async with talk(Tape(quiet_withdrawal=quiet)) as t:
        with anyio.move_on_after(0.05):
            await t.call(method=method)
        await anyio.wait_all_tasks_blocked()
        cancelled = [frame["params"] for frame in t.tape.sent if frame["method"] == "notifications/cancelled"]
        assert cancelled == ([{"requestId": 1, "reason": "the caller cancelled"}] if told else [])


async def test_the_limit_is_given_as_the_reason() -> None:
    """A server that logs cancellations learns why."""
    async with talk() as t:
        await t.call(Bounds(0.05))
        await anyio.wait_all_tasks_blocked()
        assert t.tape.sent[-1]["params"]["reason"] == "the limit was reached"


async def test_pings_are_answered_and_unknown_requests_refused() -> None:
    """Also with ids of odd types."""
    async with talk() as t:
        t.peer.receive({"jsonrpc": "2.0", "id": "a", "method": "ping"})
        t.peer.receive({"jsonrpc": "2.0", "id": 2, "method": "no/such"})
        t.peer.receive({"jsonrpc": "2.0", "id": [], "method": "roots/list"})
        await t.until(3)
        assert t.tape.sent[0] == {"jsonrpc": "2.0", "id": "a", "result": {}}
        assert [frame["error"]["code"] for frame in t.tape.sent[1:]] == [-32601, -32601]


async def test_requests_before_anybody_attends_are_dropped() -> None:
    """There is no task to answer them yet."""
    peer = Peer("s", Tape(), lambda method, params: None)
    peer.receive({"jsonrpc": "2.0", "id": 1, "method": "ping"})
    peer.receive(note("notifications/x"))


@pytest.mark.case("Q1")
async def test_an_open_question_stops_the_clock_of_its_call() -> None:
    """It runs again, from the start, once the question is answered."""
    caller = Recorder(abilities=FORM, silent=True)
    async with talk() as t, anyio.create_task_group() as group:
        group.start_soon(t.call, Bounds(0.2, math.inf, 0.5), caller)
        await t.until(1)
        t.peer.receive({"jsonrpc": "2.0", "id": "q", "method": "elicitation/create", "params": {}})
        reply = await t.until(2)
        assert reply == {"jsonrpc": "2.0", "id": "q", "result": {"action": "cancel"}}
        assert not t.outcomes
    assert isinstance(t.outcomes[0], DownstreamError) and "0.2 s" in t.outcomes[0].message


@pytest.mark.case("Q1")
@pytest.mark.parametrize("by", ["server", "end"])
async def test_a_question_dies_with_its_call_or_by_its_server(by: str) -> None:
    """The client's part is cancelled and the server gets a refusal."""
    caller = Recorder(abilities=FORM, silent=True)
    async with talk() as t, anyio.create_task_group() as group:
        group.start_soon(t.call, UNBOUNDED, caller)
        frame = await t.until(1)
        t.peer.receive({"jsonrpc": "2.0", "id": 5, "method": "elicitation/create", "params": "odd"})
        with anyio.fail_after(5):
            await caller.heard.wait()
        if by == "server":
            t.peer.receive(note("notifications/cancelled", requestId="5"))
        else:
            t.peer.receive(result(frame["id"]))
        reply = await t.until(2)
        assert reply["error"]["code"] == -32001
        with anyio.fail_after(5):
            await caller.dropped.wait()
        t.peer.receive(result(frame["id"]))


@pytest.mark.case("Q1")
async def test_a_refusal_of_the_client_reaches_the_server_as_it_is() -> None:
    """Code and words are the client's."""
    caller = Recorder(abilities={"roots": {}}, reply={"refuse": True})
    async with talk() as t, anyio.create_task_group() as group:
        group.start_soon(t.call, UNBOUNDED, caller)
        frame = await t.until(1)
        t.peer.receive({"jsonrpc": "2.0", "id": "q", "method": "roots/list"})
        reply = await t.until(2)
        assert reply["error"] == {"code": -1, "message": "the user said no"}
        t.peer.receive(result(frame["id"]))


async def test_log_lines_find_the_client_they_belong_to() -> None:
    """By the stream, else the only client; with two clients, or none, they are news."""
    one, two = Recorder(session="1"), Recorder(session="2")
    async with talk() as t, anyio.create_task_group() as group:
        t.peer.receive(note("notifications/message", data="none"))
        group.start_soon(t.call, UNBOUNDED, one)
        await t.until(1)
        t.peer.receive(note("notifications/message", data="only"))
        group.start_soon(t.call, UNBOUNDED, two)
        await t.until(2)
        t.peer.receive(note("notifications/message", data="both"))
        t.peer.receive(note("notifications/message", data="second"), 2)
        t.peer.receive(result(1))
        t.peer.receive(result(2))
    assert [params["data"] for _, params in t.notices] == ["none", "both"]
    assert one.logs == [{"data": "only"}] and two.logs == [{"data": "second"}]


async def test_a_server_may_end_a_stream_of_news_by_cancelling_it() -> None:
    """That is how one tells that a subscription is over; other requests cannot be ended so."""
    async with talk() as t, anyio.create_task_group() as group:
        group.start_soon(t.call, UNBOUNDED, None, "subscriptions/listen")
        group.start_soon(t.call)
        await t.until(2)
        t.peer.receive(note("notifications/cancelled", requestId=1))
        t.peer.receive(note("notifications/cancelled", requestId=2))
        t.peer.receive(note("notifications/cancelled", requestId=3))
        await anyio.wait_all_tasks_blocked()
        assert t.outcomes == [{}]
        t.peer.receive(result(2))


def test_warnings_are_kept_once_and_not_without_end() -> None:
    """Twenty different ones are enough."""
    peer = Peer("s", Tape(), lambda method, params: None)
    for n in range(100):
        peer.warn("same")
        peer.warn(f"other {n}")
    assert len(peer.warnings) == 20


async def test_real_odd_answers_over_a_pipe() -> None:
    """A batch, an error of odd shape, an error without an id, unknown questions: all from a process."""
    async with world(raw()) as w:
        assert await w.call("raw", "batch") == {"content": []}
        assert w.caller.logs == [{"level": "info", "data": "in a batch"}]
        for arguments in ({"error": "text"}, {"error": {"code": 1.5}}):
            with pytest.raises(RemoteError):
                await w.call("raw", "odd-error", **arguments)
        with pytest.raises(RemoteError, match="parse error"):
            await w.call("raw", "nameless-error")
        with pytest.raises(DownstreamError, match="a list"):
            await w.call("raw", "no-object")
        replies = await w.data("raw", "many-questions")
        assert {reply["id"]: "error" in reply for reply in replies} == {"q1": True, "q2": False}


frames = st.fixed_dictionaries(
    {},
    optional={
        "jsonrpc": st.just("2.0"),
        "id": st.none() | st.integers(0, 3) | st.text(max_size=3) | st.lists(st.integers(), max_size=1) | st.floats(),
        "method": st.sampled_from(
            ["ping", "roots/list", "notifications/progress", "notifications/message", "notifications/cancelled", "x"]
        ),
        "params": st.none()
        | st.text(max_size=2)
        | st.dictionaries(
            st.sampled_from(["progressToken", "progress", "requestId", "_meta", "total"]),
            st.none() | st.integers(0, 3) | st.text(max_size=2) | st.lists(st.integers(), max_size=1),
        ),
        "result": st.none() | st.integers() | st.dictionaries(st.text(max_size=2), st.integers()),
        "error": st.none() | st.integers() | st.dictionaries(st.sampled_from(["code", "message"]), st.integers()),
    },
).filter(lambda frame: "method" in frame or ("id" in frame and ("result" in frame or "error" in frame)))


@given(st.lists(frames, max_size=10))
def test_no_frame_is_too_odd_to_take(given_frames: list[dict[str, Any]]) -> None:
    """Whatever a server sends, taking it never raises."""

    async def run() -> None:
        async with talk() as t, anyio.create_task_group() as group:
            group.start_soon(t.call, Bounds(5), Recorder(abilities=FORM))
            await t.until(1)
            for frame in given_frames:
                t.peer.receive(frame)
            t.peer.receive(result(1))

    anyio.run(run)
