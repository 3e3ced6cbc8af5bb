"""The order of a run, decided without running anything."""

from __future__ import annotations

from collections.abc import Sequence
from heapq import heappop, heappush
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anyact_server.dispatch.plan import FINAL, Board, circular, lay_out, ranks
from anyact_server.types import Call, Task


def task(name: str, *needs: str, on_error: Any = "stop_dependents", arguments: Any = None) -> Task:
    """A task of an action called like the task."""
    return Task(name, Call(name, arguments), needs, on_error)


def board(*tasks: Task, most: int = 16, seconds: Sequence[float] = (), servers: Sequence[str] = ()) -> Board:
    """A board over tasks that may all run at once unless servers are given (then two per server)."""
    names = servers or [""] * len(tasks)
    return Board(tasks, lay_out(tasks, 500), names, seconds or [1.0] * len(tasks), most=most, width=lambda _: 2)


def test_independent_tasks_start_together() -> None:
    """In the order given."""
    assert board(task("a"), task("b"), task("c")).start() == [0, 1, 2]


def test_a_task_waits_for_what_it_depends_on() -> None:
    """By name or by reference."""
    made = board(task("a"), task("b", "a"), task("c", arguments={"x": {"$anyact": "b"}}))
    assert made.start() == [0]
    assert made.start() == []
    made.finish(0, "done")
    assert made.start() == [1]
    made.finish(1, "done")
    assert made.start() == [2]
    made.finish(2, "done")
    assert made.done


def test_references_to_handles_are_no_dependencies() -> None:
    """Only ids of the run's own tasks are."""
    plan = lay_out([task("a", arguments={"x": {"$anyact": "obs_1234"}})], 500)
    assert plan.needs == (frozenset(),)
    assert plan.sources == (frozenset(),)


@pytest.mark.case("I2")
def test_refusals_come_one_by_one() -> None:
    """Each with its reason; the sound tasks beside them run."""
    made = board(
        task("a"),
        task("a"),
        task("b", "zzz"),
        task("c", "c"),
        task("d", "e"),
        task("e", "d"),
        task("f", on_error="explode"),
        task("g", "b"),
        task("h", "a"),
    )
    assert made.states[:7] == ["waiting", *["refused"] * 6]
    assert made.states[7:] == ["skipped", "waiting"]
    told = [reason or "" for reason in made.reasons]
    assert "used by an earlier task" in told[1]
    assert "'zzz', and no task of this run has that id" in told[2]
    assert "circle (through c)" in told[3]
    assert "circle" in told[4]
    assert "circle" in told[5]
    assert "on_error must be one of stop_dependents, continue, cancel_run" in told[6]
    assert "depends on 'b', which was not done (refused)" in told[7]
    assert made.start() == [0]


@pytest.mark.case("I2")
def test_tasks_over_the_limit_are_refused_and_the_others_are_not() -> None:
    """Visibly, one by one."""
    plan = lay_out([task(str(number)) for number in range(7)], 5)
    assert sorted(plan.refused) == [5, 6]
    assert plan.refused[6] == "a run takes at most 5 tasks, this is number 7"


def test_a_task_behind_a_circle_is_skipped_not_refused() -> None:
    """It is not itself wrong."""
    assert circular([frozenset({1}), frozenset({0}), frozenset({1}), frozenset()]) == {0, 1}
    made = board(task("a", "b"), task("b", "a"), task("c", "b"))
    assert made.states == ["refused", "refused", "skipped"]


def test_a_failure_stops_what_depends_on_it_only() -> None:
    """Directly or not; the others go on."""
    made = board(task("a"), task("b", "a"), task("c", "b"), task("d"))
    made.start()
    made.finish(0, "failed", "it broke")
    assert made.states == ["failed", "skipped", "skipped", "running"]
    assert made.reasons[0] == "it broke"
    made.finish(3, "done")
    assert made.done
    assert not made.cancelled


def test_continue_lets_dependents_run() -> None:
    """For a step whose failure does not matter."""
    made = board(task("a", on_error="continue"), task("b", "a"))
    made.start()
    made.finish(0, "failed")
    assert made.start() == [1]


def test_cancel_run_ends_everything_that_waits() -> None:
    """What runs is left to its owner."""
    made = board(task("a", on_error="cancel_run"), task("b"), task("c", "b"))
    assert sorted(made.start()) == [0, 1]
    made.finish(0, "failed")
    assert made.cancelled
    assert made.states == ["failed", "running", "cancelled"]
    assert "was to cancel the run" in (made.reasons[2] or "")


def test_a_final_state_stays() -> None:
    """Whatever is reported later."""
    made = board(task("a"))
    made.start()
    made.finish(0, "done")
    made.finish(0, "failed")
    assert made.states == ["done"]
    assert made.finished == 1


def test_limits_hold_over_all_and_per_server() -> None:
    """Two per server here; tasks without a server are only held by the whole."""
    many = [task(str(number)) for number in range(8)]
    made = board(*many, servers=["x", "x", "x", "x", "y", "", "", ""], most=6)
    assert made.start() == [0, 1, 4, 5, 6, 7]
    made.finish(0, "done")
    assert made.start() == [2]


def test_the_task_with_the_most_work_behind_it_goes_first() -> None:
    """The long chain before the short ones."""
    made = board(task("s"), task("a"), task("b", "a"), task("c", "b"), most=1)
    assert made.start() == [1]
    slow = board(task("quick"), task("slow"), most=1, seconds=[1.0, 9.0])
    assert slow.start() == [1]


def test_ranks_are_the_longest_paths_to_the_end() -> None:
    """A circle counts its own seconds only."""
    assert ranks([frozenset(), frozenset({0}), frozenset({0})], [1.0, 2.0, 5.0]) == [6.0, 2.0, 5.0]
    assert ranks([frozenset({1}), frozenset({0})], [1.0, 2.0]) == [1.0, 2.0]


def simulated(made: Board, seconds: Sequence[float]) -> float:
    """How long a run takes when every task takes its seconds; no clock, no waiting."""
    now = 0.0
    running: list[tuple[float, int]] = []
    while not made.done:
        for position in made.start():
            heappush(running, (now + seconds[position], position))
        now, position = heappop(running)
        made.finish(position, "done")
    return now


def bound(needs: Sequence[frozenset[int]], seconds: Sequence[float], most: int) -> float:
    """No run can be shorter: the longest path, and the work spread over all places."""
    return max(max(ranks(needs, seconds)), sum(seconds) / most)


@pytest.mark.parametrize("layers, width", [(1, 64), (4, 16), (8, 4), (3, 40)])
def test_layered_runs_come_near_the_shortest_possible(layers: int, width: int) -> None:
    """At least 0.9 of max(critical path, work / limit)."""
    tasks = [
        task(f"{layer}.{place}", *([f"{layer - 1}.{place}"] if layer else []))
        for layer in range(layers)
        for place in range(width)
    ]
    seconds = [0.1 + 0.01 * (position * 7 % 11) for position in range(len(tasks))]
    made = board(*tasks, seconds=seconds)
    best = bound(lay_out(tasks, 500).needs, seconds, 16)
    assert best / simulated(made, seconds) >= 0.9


GRAPHS = st.lists(
    st.tuples(st.sets(st.integers(0, 30), max_size=4), st.sampled_from(["done", "failed"]), st.integers(0, 2)),
    max_size=24,
)


@given(GRAPHS, st.integers(1, 5))
def test_every_run_ends_and_keeps_its_limits(graph: list[tuple[set[int], Any, int]], most: int) -> None:
    """Whatever the dependencies, the outcomes and the modes; each task in a final state, never too many at once."""
    modes = ("stop_dependents", "continue", "cancel_run")
    tasks = [task(str(place), *map(str, needs), on_error=modes[mode]) for place, (needs, _, mode) in enumerate(graph)]
    made = board(*tasks, most=most, servers=[str(place % 3) for place in range(len(tasks))])
    for _ in range(len(tasks) + 1):
        made.start()
        running = [place for place, state in enumerate(made.states) if state == "running"]
        assert len(running) <= most
        for place in running:
            assert all(made.states[need] in FINAL for need in lay_out(tasks, 500).needs[place])
            made.finish(place, graph[place][1])
    assert made.done
