"""Runs: many calls with dependencies, each task in its own state, one failure never taking the others with it.

A run belongs to the principal that started it and lives in the task group of `Runs`, not in the request that started
it. So:

- while `start` waits, cancelling it cancels the run: nobody has its id yet;
- once `start` has returned, the client may disconnect; the run goes on until it is done, or until `cancel` is called;
- log lines and questions of its calls reach the client only while `start` waits.
"""

from __future__ import annotations

import secrets
from collections import OrderedDict
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Protocol

import anyio
from anyio.abc import TaskGroup

from anyact_server.errors import UnknownAction, UnknownHandle, UsageError
from anyact_server.interfaces import Caller, Clock
from anyact_server.settings import Settings
from anyact_server.types import Action, Call, Json, Kind, Observation, Principal, RunReport, Task, TaskReport, TaskState

from .callers import Attached
from .calling import Acted
from .plan import Board, Plan, lay_out
from .references import value_of

KEPT = 256
"""Finished runs that can still be read."""

LIVE = 64
"""Runs that may be under way at once; a principal may have a quarter of them."""


class Space(Protocol):
    """What a run needs to act. Implemented by `Dispatcher`."""

    async def act(self, call: Call, caller: Caller, values: Mapping[str, Json] = ...) -> Acted: ...

    def locate(self, name: str, principal: Principal) -> Action: ...

    def expected_s(self, action: Action) -> float: ...

    def width(self, server: str) -> int: ...


class _Run:
    """One run under way or finished."""

    def __init__(
        self, tasks: Sequence[Task], plan: Plan, board: Board, actions: Sequence[str], caller: Attached, started: float
    ) -> None:
        self.id = f"run_{secrets.token_hex(16)}"
        self.tasks = tasks
        self.plan = plan
        self.board = board
        self.actions = actions
        self.caller = caller
        self.owner = caller.principal
        self.started = started
        self.ended: float | None = None
        self.scope = anyio.CancelScope()
        self.changed = anyio.Event()
        self.done = anyio.Event()
        self.values: dict[str, Json] = {}
        self.referenced = frozenset().union(*plan.sources)
        self.observations: list[Observation | None] = [None] * len(tasks)
        self.times: list[list[float]] = [[] for _ in tasks]

    def report(self, now: float) -> RunReport:
        """The state of the run at the monotonic second `now`."""
        tasks = tuple(self._task(position) for position in range(len(self.tasks)))
        seconds = (now if self.ended is None else self.ended) - self.started
        return RunReport(self.id, self.done.is_set(), tasks, self.board.cancelled, seconds)

    def _task(self, position: int) -> TaskReport:
        started, ended = (*self.times[position], None, None)[:2]
        return TaskReport(
            self.tasks[position].id,
            self.actions[position],
            self.board.states[position],
            self.observations[position],
            started,
            ended,
            self.board.reasons[position],
        )

    def stop(self, reason: str) -> None:
        """Cancel the run; its tasks end soon after."""
        if not self.done.is_set():
            self.board.cancel(reason)
            self.scope.cancel()


class Runs:
    """Starts runs, keeps them, and shows them to their owners. Enter `running()` before use.

    Args:
        space: does the calls.
        settings: limits of a run.
        clock: time.
    """

    def __init__(self, space: Space, settings: Settings, clock: Clock) -> None:
        self._space = space
        self._settings = settings
        self._clock = clock
        self._group: TaskGroup | None = None
        self._runs: OrderedDict[str, _Run] = OrderedDict()

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Hold the task group of all runs; leaving cancels those that are still under way."""
        async with anyio.create_task_group() as group:
            self._group = group
            try:
                yield
            finally:
                self._group = None
                for run in self._runs.values():
                    run.stop("AnyAct is shutting down")
                group.cancel_scope.cancel()

    async def start(
        self, tasks: Sequence[Task], caller: Caller, *, max_parallel: int | None = None, wait_s: float | None = None
    ) -> RunReport:
        """Start a run and wait for its end.

        Args:
            tasks: in any order; the report keeps it.
            caller: who waits; the run is bound to its principal.
            max_parallel: tasks at the same time, at most what the settings allow.
            wait_s: seconds to wait for the end; None waits until it is there. The run goes on afterwards.

        Raises:
            UsageError: too many runs are under way, or AnyAct is shutting down.
        """
        group = self._admit(caller.principal)
        run = self._make(tasks, caller, max_parallel)
        self._runs[run.id] = run
        group.start_soon(self._conduct, run)
        try:
            with anyio.move_on_after(wait_s):
                await run.done.wait()
        except anyio.get_cancelled_exc_class():
            run.stop("the request that started the run was cancelled")
            raise
        run.caller.detach()
        return run.report(self._clock.monotonic())

    async def read(self, run_id: str, principal: Principal, *, wait_s: float = 0.0) -> RunReport:
        """The state of a run, after waiting up to `wait_s` seconds for its end.

        Raises:
            UnknownHandle: the principal has no such run.
        """
        run = self._owned(run_id, principal)
        with anyio.move_on_after(max(wait_s, 0.0)):
            await run.done.wait()
        return run.report(self._clock.monotonic())

    async def cancel(self, run_id: str, principal: Principal) -> RunReport:
        """Cancel a run and give its final state; a finished run stays as it is.

        Raises:
            UnknownHandle: the principal has no such run.
        """
        run = self._owned(run_id, principal)
        run.stop("the run was cancelled")
        await run.done.wait()
        return run.report(self._clock.monotonic())

    def _admit(self, principal: Principal) -> TaskGroup:
        if self._group is None:
            raise UsageError("runs cannot be started now", hint="AnyAct is starting or shutting down; try again.")
        live = [run for run in self._runs.values() if not run.done.is_set()]
        own = sum(run.owner.name == principal.name for run in live)
        if len(live) >= LIVE or own >= LIVE // 4:
            busy = UsageError(
                f"{own} runs of {principal.name} are under way, {len(live)} in all, and no more can be started",
                hint="Wait for one with `read_run`, or cancel it.",
            )
            busy.kind = Kind.RATE_LIMITED
            raise busy
        return self._group

    def _make(self, tasks: Sequence[Task], caller: Caller, max_parallel: int | None) -> _Run:
        given = tuple(tasks)
        plan = lay_out(given, self._settings.run_tasks)
        found = [self._found(task, caller.principal) for task in given]
        most = min(max(max_parallel or self._settings.run_parallel, 1), self._settings.run_parallel)
        board = Board(
            given,
            plan,
            [action.server if action else "" for action in found],
            [self._space.expected_s(action) if action else 0.0 for action in found],
            most=most,
            width=self._space.width,
        )
        names = [action.id if action else task.call.action for action, task in zip(found, given, strict=True)]
        return _Run(given, plan, board, names, Attached(caller), self._clock.monotonic())

    def _found(self, task: Task, principal: Principal) -> Action | None:
        try:
            return self._space.locate(task.call.action, principal)
        except UnknownAction:
            return None

    def _owned(self, run_id: str, principal: Principal) -> _Run:
        run = self._runs.get(run_id)
        if run is None or (run.owner.name, run.owner.origin) != (principal.name, principal.origin):
            raise UnknownHandle(
                f"no run is called {run_id[:60]!r}", hint="The id of a run is in the answer that started it."
            )
        return run

    async def _conduct(self, run: _Run) -> None:
        try:
            with run.scope:
                async with anyio.create_task_group() as group:
                    while not run.board.done:
                        run.changed = anyio.Event()
                        for position in run.board.start():
                            group.start_soon(self._perform, run, position)
                        if not run.board.done:
                            await run.changed.wait()
        finally:
            for position in range(len(run.tasks)):
                run.board.finish(position, "cancelled", "the run was cancelled")
            run.ended = self._clock.monotonic()
            run.caller.detach()
            run.values.clear()
            run.done.set()
            self._forget()

    async def _perform(self, run: _Run, position: int) -> None:
        task = run.tasks[position]
        lost = sorted(name for name in run.plan.sources[position] if name not in run.values)
        if lost:
            self._end(run, position, "skipped", f"it uses the result of {lost[0]!r}, which has none")
            return
        run.times[position].append(self._clock.monotonic() - run.started)
        try:
            acted = await self._space.act(task.call, run.caller, run.values)
        except anyio.get_cancelled_exc_class():
            run.times[position].append(self._clock.monotonic() - run.started)
            raise
        run.times[position].append(self._clock.monotonic() - run.started)
        run.observations[position] = acted.observation
        if acted.result is not None and not acted.failed and task.id in run.referenced:
            run.values[task.id] = value_of(acted.result)
        failed = acted.observation.summary if acted.failed else None
        self._end(run, position, "failed" if acted.failed else "done", failed)
        await run.caller.finished(run.board.finished, len(run.tasks))

    def _end(self, run: _Run, position: int, state: TaskState, reason: str | None) -> None:
        run.board.finish(position, state, reason)
        if run.board.cancelled:
            run.scope.cancel()
        run.changed.set()

    def _forget(self) -> None:
        finished = [run_id for run_id, run in self._runs.items() if run.done.is_set()]
        for run_id in finished[: max(len(finished) - KEPT, 0)]:
            del self._runs[run_id]
