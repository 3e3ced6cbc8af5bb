"""Runs: many calls, each in its own state."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import anyio
import pytest

from anyact_server.dispatch import Runs
from anyact_server.dispatch import runs as module
from anyact_server.errors import DownstreamError, RemoteError, UnknownHandle, UsageError
from anyact_server.interfaces import Caller
from anyact_server.settings import load
from anyact_server.types import Call, Estimate, JsonObject, Kind, Principal, RunReport, ServerSpec, Task

from .world import Listener, Wall, World, action, said

pytestmark = pytest.mark.anyio
ANN = Principal("ann")


def task(name: str, action_name: str = "read", *needs: str, text: Any = "a", on_error: Any = "stop_dependents") -> Task:
    """A task that calls an action of the server `files`."""
    return Task(name, Call(f"files__{action_name}", {"text": text}), needs, on_error)


def world(*servers: str, **settings: Any) -> World:
    """A world with actions read, write, fail and hang on every server, under the event loop's time."""
    actions = [action(name, server) for server in servers or ("files",) for name in ("read", "write", "fail", "hang")]
    made = World(*actions, clock=Wall(), settings=load([(settings, "test")]))
    made.downstreams.answer("fail", said("boom", is_error=True))

    async def hang(_: JsonObject, __: Caller) -> JsonObject:
        await anyio.sleep_forever()
        raise AssertionError

    made.downstreams.answers["hang"] = hang
    return made


async def within(made: World, use: Callable[[Runs], Awaitable[None]]) -> None:
    """Use runs over a world, within five seconds."""
    runs = Runs(made.space, made.settings, made.clock)
    with anyio.fail_after(5):
        async with runs.running():
            await use(runs)


async def done(made: World, *tasks: Task, caller: Caller | None = None, **more: Any) -> RunReport:
    """Do a run to its end and give its report."""
    found: list[RunReport] = []

    async def use(runs: Runs) -> None:
        found.append(await runs.start(tasks, caller or Listener(), **more))

    await within(made, use)
    return found[0]


def states(report: RunReport) -> list[str]:
    """The states of the tasks, in order."""
    return [one.state for one in report.tasks]


async def test_a_run_does_its_tasks_and_reports_them_in_order() -> None:
    """With timing, action id and observation."""
    report = await done(world(), task("b"), Task("a", Call("files__write", {"text": "x"}), ("b",)))
    assert (report.done, report.cancelled, states(report)) == (True, False, ["done", "done"])
    first, second = report.tasks
    assert (first.id, second.id, second.action) == ("b", "a", "files__write")
    assert first.observation is not None
    assert first.observation.text == "read done"
    assert first.ended_s is not None
    assert second.started_s is not None
    assert 0 <= first.ended_s <= second.started_s <= report.seconds
    assert report.id.startswith("run_")
    assert len(report.id) == 4 + 32


async def test_an_empty_run_is_done() -> None:
    """There was nothing to do."""
    report = await done(world())
    assert (report.done, report.tasks) == (True, ())


@pytest.mark.case("I2")
async def test_one_failure_never_takes_the_others_with_it() -> None:
    """Four successes beside isError, a time-out, an unknown action and a crash, in the order given."""
    made = world("files", "other", "third", "fourth")
    made.downstreams.answer("hang", DownstreamError("no answer within 1 s", server="third", kind=Kind.TIMEOUT))
    made.downstreams.answer("write", DownstreamError("exited", server="fourth", kind=Kind.CRASHED))
    report = await done(
        made,
        task("1"),
        task("2", "fail"),
        task("3"),
        Task("4", Call("third__hang", {"text": "x"})),
        task("5"),
        Task("6", Call("files__nothing")),
        task("7"),
        Task("8", Call("fourth__write", {"text": "x"})),
    )
    assert [one.id for one in report.tasks] == list("12345678")
    assert states(report) == ["done", "failed"] * 4
    kinds = [one.observation.error.kind for one in report.tasks if one.observation and one.observation.error]
    assert kinds == [Kind.UPSTREAM_5XX, Kind.TIMEOUT, Kind.UNKNOWN_ACTION, Kind.CRASHED]


@pytest.mark.case("I2")
async def test_five_hundred_tasks_are_done_and_the_rest_is_refused_visibly() -> None:
    """One by one."""
    report = await done(world(), *(task(str(number)) for number in range(503)))
    assert states(report) == ["done"] * 500 + ["refused"] * 3
    assert report.tasks[502].reason == "a run takes at most 500 tasks, this is number 503"


async def test_references_carry_results_from_task_to_task() -> None:
    """Structured data by path; the dependency follows from the reference."""
    made = world()
    made.downstreams.answer("write", said("x", data={"rows": [{"name": "deep"}]}))
    report = await done(made, task("use", text={"$anyact": "make", "path": "$.rows[0].name"}), task("make", "write"))
    assert states(report) == ["done", "done"]
    assert [sent.arguments["text"] for sent in made.downstreams.sent] == ["a", "deep"]


async def test_a_reference_into_a_failed_task_skips_the_task_that_needs_it() -> None:
    """Even where the failure was to be ignored; a task that merely follows still runs."""
    report = await done(
        world(),
        task("make", "fail", on_error="continue"),
        task("use", text={"$anyact": "make"}),
        task("after", "read", "make"),
    )
    assert states(report) == ["failed", "skipped", "done"]
    assert report.tasks[1].reason == "it uses the result of 'make', which has none"
    assert report.tasks[1].started_s is None


async def test_a_failure_stops_its_dependents_with_a_reason() -> None:
    """By default."""
    report = await done(world(), task("a", "fail"), task("b", "read", "a"), task("c"))
    assert states(report) == ["failed", "skipped", "done"]
    assert report.tasks[0].reason == "boom"
    assert "depends on 'a'" in (report.tasks[1].reason or "")


async def test_cancel_run_cancels_what_runs_and_what_waits() -> None:
    """The calls under way end as cancelled, with their times."""
    made = world()
    report = await done(made, task("slow", "hang"), task("a", "fail", on_error="cancel_run"), task("b", "read", "slow"))
    assert report.cancelled
    assert states(report) == ["cancelled", "failed", "cancelled"]
    assert report.tasks[0].ended_s is not None
    assert Kind.CANCELLED in [outcome.kind for outcome in made.reliability.outcomes]


class Gate:
    """Counts calls under way, and lets them through together when enough have come."""

    def __init__(self, wanted: int) -> None:
        self.most = self.now = 0
        self._wanted = wanted
        self._open = anyio.Event()

    async def __call__(self, _: JsonObject, __: Caller) -> JsonObject:
        self.now += 1
        self.most = max(self.most, self.now)
        if self.now == self._wanted:
            self._open.set()
        await self._open.wait()
        await anyio.lowlevel.checkpoint()
        self.now -= 1
        return said("through")


@pytest.mark.parametrize(
    "servers, more, most",
    [
        (["a"], {}, 4),
        (["a", "b"], {}, 8),
        (["a", "b", "c", "d", "e"], {}, 16),
        (["a", "b", "c"], {"max_parallel": 5}, 5),
        (["a", "b", "c", "d", "e"], {"max_parallel": 100}, 16),
    ],
)
async def test_limits_of_parallel_calls_hold_and_are_used(servers: list[str], more: dict[str, Any], most: int) -> None:
    """Four per server, sixteen in all, fewer where the caller wants so, never more."""
    made = world(*servers)
    gate = Gate(most)
    made.downstreams.answers["read"] = gate
    tasks = [Task(str(number), Call(f"{servers[number % len(servers)]}__read", {"text": "x"})) for number in range(40)]
    report = await done(made, *tasks, **more)
    assert states(report) == ["done"] * 40
    assert gate.most == most


@pytest.mark.case("I1")
async def test_a_serial_server_takes_one_call_at_a_time_without_holding_up_others() -> None:
    """Its queue is its own."""
    one = World(
        action("read", "one"),
        action("read", "many"),
        specs=[ServerSpec("one", "memory", serial=True)],
        clock=Wall(),
    )
    gate = Gate(5)
    one.downstreams.answers["read"] = gate
    tasks = [
        Task(f"{server}{number}", Call(f"{server}__read", {"text": "x"}))
        for number in range(4)
        for server in ("one", "many")
    ]
    report = await done(one, *tasks)
    assert states(report) == ["done"] * 8
    assert gate.most == 5


async def test_urgent_tasks_go_first() -> None:
    """The long chain is started before the short tasks that stand before it in the list."""
    made = world(run_parallel=1)
    made.reliability.beliefs["files__write"] = Estimate("files__write", 0.9, 0.5, 1.0, p50_s=9.0)
    await done(made, task("quick"), task("slow", "write"))
    assert [sent.name for sent in made.downstreams.sent] == ["write", "read"]


async def test_a_run_outlives_the_wait_and_can_be_read() -> None:
    """Only by its owner; waiting again gives the end."""
    made = world()
    release = anyio.Event()

    async def wait(_: JsonObject, __: Caller) -> JsonObject:
        await release.wait()
        return said("late")

    made.downstreams.answers["read"] = wait

    async def use(runs: Runs) -> None:
        report = await runs.start([task("a")], Listener(), wait_s=0)
        assert not report.done
        assert states(await runs.read(report.id, ANN)) == ["running"]
        for stranger in (Principal("bob"), Principal("ann", "token")):
            with pytest.raises(UnknownHandle):
                await runs.read(report.id, stranger)
            with pytest.raises(UnknownHandle):
                await runs.cancel(report.id, stranger)
        release.set()
        assert states(await runs.read(report.id, ANN, wait_s=5.0)) == ["done"]
        with pytest.raises(UnknownHandle, match="run_nothing"):
            await runs.read("run_nothing", ANN)

    await within(made, use)


async def test_a_run_is_cancelled_by_its_id() -> None:
    """What is done stays done; cancelling a finished run changes nothing."""

    async def use(runs: Runs) -> None:
        report = await runs.start([task("a"), task("b", "hang"), task("c", "read", "b")], Listener(), wait_s=0.05)
        assert states(report) == ["done", "running", "waiting"]
        ended = await runs.cancel(report.id, ANN)
        assert (ended.done, ended.cancelled, states(ended)) == (True, True, ["done", "cancelled", "cancelled"])
        finished = await runs.start([task("a")], Listener())
        assert not (await runs.cancel(finished.id, ANN)).cancelled

    await within(world(), use)


async def test_cancelling_the_request_that_waits_cancels_the_run() -> None:
    """Its client never learnt the id."""
    made = world()

    async def use(runs: Runs) -> None:
        async with anyio.create_task_group() as group:
            group.start_soon(runs.start, [task("a", "hang")], Listener())
            while not made.downstreams.sent:
                await anyio.lowlevel.checkpoint()
            group.cancel_scope.cancel()
        while not made.reliability.outcomes:
            await anyio.lowlevel.checkpoint()

    await within(made, use)
    assert [outcome.kind for outcome in made.reliability.outcomes] == [Kind.CANCELLED]


async def test_cancelling_a_reader_leaves_the_run_alone() -> None:
    """Reading is only looking."""

    async def use(runs: Runs) -> None:
        report = await runs.start([task("a", "hang")], Listener(), wait_s=0)
        with anyio.move_on_after(0.01):
            await runs.read(report.id, ANN, wait_s=60.0)
        assert states(await runs.read(report.id, ANN)) == ["running"]

    await within(world(), use)


async def test_progress_and_questions_reach_the_client_only_while_it_waits() -> None:
    """Finished tasks are counted; afterwards a server's question is refused instead of left hanging."""
    made = world()
    heard: list[str] = []
    release = anyio.Event()

    async def ask(_: JsonObject, caller: Caller) -> JsonObject:
        await caller.progress(0.5, 1.0, "half")
        heard.append(str((await caller.ask("elicitation/create", {}))["action"]))
        await release.wait()
        try:
            await caller.ask("elicitation/create", {})
        except RemoteError as error:
            heard.append(error.message)
        return said("fine")

    made.downstreams.answers["write"] = ask
    ann = Listener()

    async def use(runs: Runs) -> None:
        report = await runs.start([task("a"), task("b", "write")], ann, wait_s=0.05)
        assert heard == ["accept"]
        assert ann.heard == [(1, 2, "1 of 2 tasks")]
        release.set()
        await runs.read(report.id, ANN, wait_s=5.0)
        assert "no longer waits" in heard[1]
        assert len(ann.heard) == 1

    await within(made, use)


async def test_too_many_runs_at_once_are_refused() -> None:
    """Per principal and in all; when one ends there is room again."""

    async def use(runs: Runs) -> None:
        reports = [await runs.start([task("a", "hang")], Listener(), wait_s=0) for _ in range(module.LIVE // 4)]
        with pytest.raises(UsageError, match="no more can be started") as refused:
            await runs.start([task("a")], Listener())
        assert refused.value.kind is Kind.RATE_LIMITED
        assert (await runs.start([task("a")], Listener(Principal("bob")))).done
        await runs.cancel(reports[0].id, ANN)
        assert (await runs.start([task("a")], Listener())).done

    await within(world(), use)


async def test_finished_runs_are_kept_within_bounds() -> None:
    """The oldest are forgotten."""

    async def use(runs: Runs) -> None:
        first = await runs.start([], Listener())
        for _ in range(module.KEPT):
            last = await runs.start([], Listener())
        with pytest.raises(UnknownHandle):
            await runs.read(first.id, ANN)
        assert (await runs.read(last.id, ANN)).done

    await within(world(), use)


async def test_leaving_cancels_what_is_under_way_and_refuses_new_runs() -> None:
    """Orderly: every task ends in a final state."""
    made = world()
    runs = Runs(made.space, made.settings, made.clock)
    with anyio.fail_after(5):
        async with runs.running():
            report = await runs.start([task("a", "hang"), task("b", "read", "a")], Listener(), wait_s=0)
    ended = await runs.read(report.id, ANN)
    assert (ended.done, states(ended)) == (True, ["cancelled", "cancelled"])
    with pytest.raises(UsageError, match="cannot be started now"):
        await runs.start([task("a")], Listener())


@pytest.mark.parametrize("width", [4, 8, 16])
async def test_a_wide_run_takes_little_more_than_it_must(width: int) -> None:
    """Three layers of calls of 100 ms: at least 0.75 of the ideal even on a busy machine; the bench asks for 0.9."""
    servers = [f"s{number}" for number in range(width)]
    made = world(*servers)

    async def wait(_: JsonObject, __: Caller) -> JsonObject:
        await anyio.sleep(0.1)
        return said("done")

    made.downstreams.answers["read"] = wait
    tasks = [
        Task(
            f"{layer}.{place}",
            Call(f"s{place}__read", {"text": "x"}),
            (f"{layer - 1}.{place}",) if layer else (),
        )
        for layer in range(3)
        for place in range(width)
    ]
    report = await done(made, *tasks)
    assert states(report) == ["done"] * len(tasks)
    assert 0.3 / report.seconds >= 0.75
