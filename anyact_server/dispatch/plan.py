"""The order of a run: what may start now, what can no longer run, and why. No I/O, no clock.

Tasks are known by their position in the list that was given. A `Board` holds the state of every task; `Runs` asks it
what to start and tells it what ended.

The order is list scheduling by the longest expected path still ahead (Graham 1969, "Bounds on multiprocessing timing
anomalies"; upward rank as in HEFT, Topcuoglu et al. 2002): of the tasks that may start, the one with the most work
behind it goes first.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import get_args

from anyact_server.types import OnError, Task, TaskState

from .references import named

FINAL: frozenset[TaskState] = frozenset({"done", "failed", "skipped", "cancelled", "refused"})
"""States that never change again."""


@dataclass(frozen=True, slots=True)
class Plan:
    """What is known of a run before it starts.

    Attributes:
        needs: per task, the positions it waits for.
        sources: per task, the ids of those tasks whose results its arguments refer to.
        refused: reasons, by the position of tasks that cannot be part of the run.
    """

    needs: tuple[frozenset[int], ...]
    sources: tuple[frozenset[str], ...]
    refused: Mapping[int, str] = field(default_factory=dict)


def lay_out(tasks: Sequence[Task], most: int) -> Plan:
    """Read the dependencies of tasks, those by reference included, and refuse what cannot work, task by task.

    Refused are: tasks beyond `most`, an id used before, a dependency that does not exist, a circle, an unknown
    `on_error`. A task that only depends on a refused one is not refused itself.
    """
    first = {task.id: position for position, task in reversed(list(enumerate(tasks)))}
    refused = {
        position: reason
        for position, task in enumerate(tasks)
        if (reason := _refusal(position, task, first, most)) is not None
    }
    sources = tuple(frozenset(name for name in named(task.call.arguments) if name in first) for task in tasks)
    needs = tuple(
        frozenset(first[name] for name in (*task.depends_on, *sources[position]) if name in first)
        for position, task in enumerate(tasks)
    )
    for position in circular(needs):
        others = ", ".join(sorted(tasks[other].id for other in needs[position]))
        refused.setdefault(position, f"it depends on itself in a circle (through {others[:200]})")
    return Plan(needs, sources, refused)


def _refusal(position: int, task: Task, first: Mapping[str, int], most: int) -> str | None:
    if position >= most:
        return f"a run takes at most {most} tasks, this is number {position + 1}"
    if first[task.id] != position:
        return f"the id {task.id!r} is used by an earlier task"
    unknown = [name for name in task.depends_on if name not in first]
    if unknown:
        return f"it depends on {', '.join(repr(name) for name in unknown[:5])}, and no task of this run has that id"
    if task.on_error not in get_args(OnError):
        return f"on_error must be one of {', '.join(get_args(OnError))}, not {task.on_error!r}"
    return None


def circular(needs: Sequence[frozenset[int]]) -> frozenset[int]:
    """Positions that lie on a circle of dependencies, or on a path between two circles."""
    left = set(range(len(needs)))
    while True:
        wanted = {need for position in left for need in needs[position]}
        free = {position for position in left if not needs[position] & left or position not in wanted}
        if not free:
            return frozenset(left)
        left -= free


def ranks(needs: Sequence[frozenset[int]], seconds: Sequence[float]) -> list[float]:
    """Seconds of the longest path from the start of each task to the end of the run; tasks on circles count alone."""
    result = list(seconds)
    dependents: list[list[int]] = [[] for _ in needs]
    for position, wanted in enumerate(needs):
        for need in wanted:
            dependents[need].append(position)
    open_ends = [len(followers) for followers in dependents]
    ready = [position for position, count in enumerate(open_ends) if count == 0]
    while ready:
        position = ready.pop()
        result[position] = seconds[position] + max((result[after] for after in dependents[position]), default=0.0)
        for need in needs[position]:
            open_ends[need] -= 1
            if open_ends[need] == 0:
                ready.append(need)
    return result


class Board:
    """The state of every task of a run.

    Args:
        tasks: as given.
        plan: their dependencies and refusals.
        servers: the server of each task, empty where it is unknown.
        seconds: how long each task is expected to take.
        most: tasks that may run at once.
        width: tasks that may run at once on one server.
    """

    def __init__(
        self,
        tasks: Sequence[Task],
        plan: Plan,
        servers: Sequence[str],
        seconds: Sequence[float],
        *,
        most: int,
        width: Callable[[str], int],
    ) -> None:
        self.states: list[TaskState] = ["waiting"] * len(tasks)
        self.reasons: list[str | None] = [None] * len(tasks)
        self.cancelled = False
        self._tasks = tasks
        self._needs = plan.needs
        self._servers = servers
        self._most = most
        self._width = width
        ranked = ranks(plan.needs, seconds)
        self._order = sorted(range(len(tasks)), key=lambda position: (-ranked[position], position))
        for position, reason in plan.refused.items():
            self.states[position], self.reasons[position] = "refused", reason
        for position in sorted(plan.refused):
            self._follow(position, "refused")

    @property
    def done(self) -> bool:
        """Whether every task is in a final state."""
        return all(state in FINAL for state in self.states)

    @property
    def finished(self) -> int:
        """Tasks in a final state."""
        return sum(state in FINAL for state in self.states)

    def start(self) -> list[int]:
        """The tasks to start now, most urgent first; they count as running from here on."""
        running = [position for position, state in enumerate(self.states) if state == "running"]
        busy: dict[str, int] = {}
        for position in running:
            busy[self._servers[position]] = busy.get(self._servers[position], 0) + 1
        free = self._most - len(running)
        started = []
        for position in self._order:
            server = self._servers[position]
            if free <= 0:
                break
            if self._may_start(position) and (not server or busy.get(server, 0) < self._width(server)):
                started.append(position)
                self.states[position] = "running"
                busy[server] = busy.get(server, 0) + 1
                free -= 1
        return started

    def _may_start(self, position: int) -> bool:
        return self.states[position] == "waiting" and all(self.states[need] in FINAL for need in self._needs[position])

    def finish(self, position: int, state: TaskState, reason: str | None = None) -> None:
        """A task reached a final state; what follows for the others by its `on_error` is done here."""
        if self.states[position] in FINAL:
            return
        self.states[position] = state
        self.reasons[position] = reason
        self._follow(position, state)

    def _follow(self, position: int, state: TaskState) -> None:
        task = self._tasks[position]
        if state in ("done", "cancelled") or task.on_error == "continue":
            return
        if task.on_error == "cancel_run" and state != "skipped":
            self.cancel(f"task {task.id!r} {state} and was to cancel the run")
            return
        for follower, needs in enumerate(self._needs):
            if position in needs and self.states[follower] == "waiting":
                self.finish(follower, "skipped", f"it depends on {task.id!r}, which was not done ({state})")

    def cancel(self, reason: str) -> None:
        """Cancel the run: what waits is cancelled at once; what runs is cancelled by its owner."""
        self.cancelled = True
        for position, state in enumerate(self.states):
            if state == "waiting":
                self.finish(position, "cancelled", reason)
