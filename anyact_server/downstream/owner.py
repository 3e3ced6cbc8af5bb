"""One connection and the task that owns it: it opens, waits while callers use it, and closes.

Callers only send over a connection; nobody but the owner enters or leaves its scopes, so connections close in any order
and from any task.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

import anyio
from anyio.abc import TaskGroup

from anyact_server.errors import DownstreamError
from anyact_server.interfaces import Caller, ServerEvent
from anyact_server.telemetry import logger
from anyact_server.types import Era, JsonObject, Kind, Limits, ServerSpec

from .eras import Agreement, remembered
from .peer import Bounds
from .session import Session
from .wire import Wire, WrongTransport, fresh

LOG = logger("downstream")
START_TURN_S = 5.0
"""A start that takes longer no longer counts among the parallel ones."""
MakeWire = Callable[[ServerSpec], Wire]


class Connection:
    """A connection to one server, for one client or for all.

    Args:
        spec: how to reach the server.
        make_wire: builds the wire; it does not connect.
        limits: start and idle limits.
        era: the era to begin with.
        abilities: those of the only client; None where several share the connection.
        emit: told of events.
        watched: resources that are watched over this connection and the next.
        changed: told when the connection is ready, when it was lost, and when it is closed.
    """

    def __init__(
        self,
        spec: ServerSpec,
        make_wire: MakeWire,
        *,
        limits: Limits,
        era: Era,
        abilities: JsonObject | None,
        emit: Callable[[ServerEvent], None],
        watched: set[str],
        changed: Callable[[Connection], None],
    ) -> None:
        self.spec = spec
        self._make_wire = make_wire
        self._limits = limits
        self._era: Era = era
        self._abilities = abilities
        self._emit = emit
        self._watched = watched
        self._changed = changed
        self._session: Session | None = None
        self._wire: Wire | None = None
        self._opened = anyio.Event()
        self._stop = anyio.Event()
        self._turn = anyio.Lock() if spec.serial else None
        self._users = 0
        self._used_at = 0.0
        self._opening: anyio.CancelScope | None = None
        self._transport = spec.transport
        self._retired = False
        self.listed = False
        self.ready = False
        self.learned: Era | None = None
        self._fault: DownstreamError | None = None
        self.closed = anyio.Event()
        self.warnings: list[str] = []

    @property
    def usable(self) -> bool:
        """Whether a request may be given to it: it is opening or open, and not about to close."""
        return self.fault is None and not self._stop.is_set() and not self._retired

    @property
    def fault(self) -> DownstreamError | None:
        """What ended it, or keeps it from being used; None while nothing is wrong."""
        lost = self._session.peer.lost if self._session is not None and self.ready else None
        return self._fault or lost

    @property
    def was_ready(self) -> bool:
        """Whether it has ever been open."""
        return self.ready or (self._opened.is_set() and self._session is not None and self._used_at > 0)

    @property
    def on_purpose(self) -> bool:
        """Whether it ends because somebody wanted it to, or because it was idle."""
        return self._stop.is_set()

    @property
    def pid(self) -> int | None:
        """The process behind it."""
        return self._wire.pid if self._wire is not None and self.ready else None

    @property
    def agreement(self) -> Agreement:
        """What was agreed with the server; there is one once it is ready."""
        assert self._session is not None
        return self._session.agreement

    async def opened(self) -> None:
        """Wait until it is open.

        Raises:
            DownstreamError: it could not be opened.
        """
        await self._opened.wait()
        if not self.ready and self.fault is not None:
            raise fresh(self.fault, may_have_run=False)

    async def request(self, method: str, params: JsonObject, caller: Caller, bounds: Bounds) -> JsonObject:
        """Send a request; where the server is serial, after those that came before.

        Raises:
            RemoteError, DownstreamError: as `Session.request`.
        """
        self._users += 1
        try:
            if self._turn is None:
                return await self._request(method, params, caller, bounds)
            async with self._turn:
                return await self._request(method, params, caller, bounds)
        finally:
            self._users -= 1
            self._used_at = anyio.current_time()
            if self._retired and self._users == 0:
                self._stop.set()

    async def _request(self, method: str, params: JsonObject, caller: Caller, bounds: Bounds) -> JsonObject:
        if self._session is None or not self.ready or self._stop.is_set():
            fault = self.fault or DownstreamError(
                f"server {self.spec.name!r} was stopped", server=self.spec.name, kind=Kind.UNAVAILABLE
            )
            raise fresh(fault, may_have_run=False)
        return await self._session.request(method, params, caller, bounds)

    async def tell(self, method: str, params: JsonObject) -> None:
        """Send a notification.

        Raises:
            DownstreamError: it was not taken.
        """
        if self._session is not None and self.ready:
            await self._session.tell(method, params)

    def retire(self) -> None:
        """Take no more requests and close once those in flight have ended."""
        self._retired = True
        if self._users == 0:
            self._stop.set()

    def close(self, reason: DownstreamError | None = None) -> None:
        """Close now; requests in flight end with the reason, and so does waiting for it to open."""
        self._stop.set()
        if reason is not None:
            self._fault = reason
            if self._session is not None:
                self._session.peer.close(reason)
        if self._opening is not None:
            self._opening.cancel()

    async def run(self, starts: anyio.CapacityLimiter | None = None) -> None:
        """Own the connection until it ends; how it ended stands in `fault`, None when it was closed on purpose.

        Args:
            starts: where to wait for a place among the parallel starts.
        """
        try:
            async with anyio.create_task_group() as group:
                if starts is not None:
                    await self._await_turn(starts, group)
                if not self._stop.is_set():
                    fault = await self._try()
                    self._fault = self._fault or fault
                self._finish()
        finally:
            self._finish()

    def _finish(self) -> None:
        """Say that it is over, before anybody who waits for it goes on."""
        if not self.closed.is_set():
            self.ready = False
            self.closed.set()
            self._changed(self)
            self._opened.set()

    async def _await_turn(self, starts: anyio.CapacityLimiter, group: TaskGroup) -> None:
        """Wait for a place among the parallel starts, unless the connection is closed meanwhile."""
        with anyio.CancelScope() as self._opening:
            await starts.acquire_on_behalf_of(self)
            group.start_soon(self._leave_starts, starts)
        self._opening = None

    async def _leave_starts(self, starts: anyio.CapacityLimiter) -> None:
        """Give the place up once open or failed, or after a while: servers that hang must not keep others out."""
        try:
            with anyio.move_on_after(START_TURN_S):
                await self._opened.wait()
        finally:
            starts.release_on_behalf_of(self)

    async def _try(self) -> DownstreamError | None:
        fault = await self._live(self._era)
        if fault is None or self._opened.is_set() or self._stop.is_set():
            return fault
        if fault.kind is Kind.CRASHED and fault.may_have_run and self._era == "auto":
            self.learned = "legacy"  # it may have died of a request that it did not know
            return await self._live("legacy")
        if fault.kind is Kind.PROTOCOL and self._era != self.spec.era:
            return await self._live(self.spec.era)  # it does not speak any more what it spoke before
        if isinstance(fault, WrongTransport) and self.spec.transport == "http" and self._era != "modern":
            self._transport = "sse"
            second = await self._live("legacy")
            return second if self._opened.is_set() else fault
        return fault

    async def _live(self, era: Era) -> DownstreamError | None:
        """Open, wait for the end, close; gives what ended it, None when it was closed on purpose."""
        try:
            session = self._session = self._prepare()
            with anyio.CancelScope(deadline=anyio.current_time() + self._limits.start_s) as opening:
                self._opening = opening
                async with session.open(era, self._abilities):
                    self._opening = None
                    opening.deadline = math.inf
                    self.learned = remembered(session.agreement)
                    self.ready = True
                    self._used_at = anyio.current_time()
                    self._opened.set()
                    self._changed(self)
                    await self._until_done(session)
        except DownstreamError as error:
            return error
        except BaseExceptionGroup as group:
            return only_fault(group)
        finally:
            self._opening = None
        if opening.cancelled_caught and not self._stop.is_set():
            return self._too_slow()
        return None if self._stop.is_set() else session.peer.lost

    def _prepare(self) -> Session:
        wire = self._wire = self._make_wire(replace(self.spec, transport=self._transport))
        session = Session(
            self.spec.name,
            wire,
            emit=self._emit,
            limits=self._limits,
            watched=self._watched,
            forward=self.spec.forward_headers,
        )
        session.peer.warnings = self.warnings
        return session

    def _too_slow(self) -> DownstreamError:
        return DownstreamError(
            f"server {self.spec.name!r} did not finish starting within {self._limits.start_s:g} s (start limit)",
            server=self.spec.name,
            kind=Kind.TIMEOUT,
            may_have_run=False,
            hint="Raise `start_s` for a server that downloads much at its first start.",
        )

    async def _until_done(self, session: Session) -> None:
        """Wait for the end: asked for, idle for too long, or lost."""
        lost = session.peer.ended
        while not self._stop.is_set() and not lost.is_set():
            async with anyio.create_task_group() as group:
                group.start_soon(_then_cancel, self._stop, group.cancel_scope)
                group.start_soon(_then_cancel, lost, group.cancel_scope)
                await anyio.sleep(self._idle_left())
                group.cancel_scope.cancel()
            if self._idle_left() <= 0 and not lost.is_set():
                LOG.debug("%s: idle, stopped", self.spec.name)
                self._stop.set()
        if not self._stop.is_set():
            self._fault = session.peer.lost
        self.ready = False
        if self._fault is not None:
            self._changed(self)

    def _idle_left(self) -> float:
        """Seconds until it has been idle for too long."""
        if self._users or self._watched:
            return self._limits.idle_s
        return max(0.0, self._used_at + self._limits.idle_s - anyio.current_time())


def only_fault(group: BaseExceptionGroup[BaseException]) -> DownstreamError:
    """The fault inside a group of tasks that ended together.

    Raises:
        BaseExceptionGroup: there was something else in it.
    """
    faults, rest = group.split(DownstreamError)
    if rest is not None or faults is None:
        raise group
    leaf: BaseException = faults
    while isinstance(leaf, BaseExceptionGroup):
        leaf = leaf.exceptions[0]
    assert isinstance(leaf, DownstreamError)
    return leaf


async def _then_cancel(event: anyio.Event, scope: anyio.CancelScope) -> None:
    await event.wait()
    scope.cancel()
