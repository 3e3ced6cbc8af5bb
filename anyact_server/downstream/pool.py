"""All connections: started on first use, shared, stopped when idle, restarted with growing pauses."""

from __future__ import annotations

import difflib
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace

import anyio
from anyio.abc import TaskGroup

from anyact_server.errors import DownstreamError, RemoteError, UnknownServer
from anyact_server.interfaces import Caller, Clock, ServerEvent
from anyact_server.settings import Settings
from anyact_server.telemetry import MASK, SystemClock, logger
from anyact_server.types import EMPTY, Era, JsonObject, Kind, Limits, ServerSpec, ServerStatus, Snapshot

from . import frames
from .http import HttpWire
from .http_client import Clients
from .in_memory import MemoryWire, Target
from .listing import read_everything
from .owner import Connection, MakeWire
from .peer import Bounds
from .place import SILENT, Place, close_all
from .sse import SseWire
from .stdio import StdioWire
from .wire import SessionLost, Unreachable

LOG = logger("downstream")
CLOSE_S = 8.0
LINK_FAULTS = frozenset({Kind.UNAVAILABLE, Kind.CRASHED})
LISTS = frozenset({"tools/list", "prompts/list", "resources/list", "resources/templates/list"})


class Pool:
    """All connections to servers.

    Args:
        specs: every configured server.
        settings: limits, the number of parallel starts, the largest line.
        clock: time for pauses and status.
        memory: targets of servers whose transport is `memory`, by name.
        eras: the era that a server was seen to speak earlier, by name; saves a round trip at its next start.
    """

    def __init__(
        self,
        specs: Sequence[ServerSpec],
        settings: Settings,
        *,
        clock: Clock | None = None,
        memory: Mapping[str, Target] = EMPTY,
        eras: Mapping[str, Era] = EMPTY,
    ) -> None:
        self._settings = settings
        self._clock: Clock = clock or SystemClock()
        self._eras = eras
        self._places: dict[str, Place] = {}
        self._listeners: list[Callable[[ServerEvent], None]] = []
        self._clients = Clients()
        self._group: TaskGroup | None = None
        self._starts = anyio.CapacityLimiter(settings.parallel_starts)
        self._wires: Mapping[str, MakeWire] = {
            "stdio": lambda spec: StdioWire(spec, line_bytes=settings.line_bytes),
            "http": lambda spec: HttpWire(spec, self._clients, event_bytes=settings.line_bytes),
            "sse": lambda spec: SseWire(spec, self._clients, event_bytes=settings.line_bytes),
            "memory": lambda spec: MemoryWire(spec, memory.get(spec.name)),
        }
        for spec in specs:
            self._places[spec.name] = self._place(spec)

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Serve while the block runs, then stop every server in order."""
        try:
            async with self._clients.running(), anyio.create_task_group() as group:
                self._group = group
                try:
                    yield
                finally:
                    self._group = None
                    with anyio.move_on_after(CLOSE_S, shield=True):
                        await close_all((place, "AnyAct is stopping") for place in self._places.values())
                    group.cancel_scope.cancel()
        except BaseExceptionGroup as failures:
            if len(failures.exceptions) > 1:
                raise
            raise failures.exceptions[0] from None  # what the block itself raised, as it was

    async def request(
        self,
        server: str,
        method: str,
        params: JsonObject,
        *,
        caller: Caller,
        limits: Limits | None = None,
        repeatable: bool = False,
    ) -> JsonObject:
        bounds = bounds_of(method, limits or self._limits(self._known(server).spec))
        for last in (False, True):
            place = self._known(server)  # the configuration may have changed since the first attempt
            connection = await place.connection(caller)
            began = anyio.current_time()
            try:
                result = await connection.request(method, params, caller, bounds)
            except DownstreamError as error:
                place.failed(connection, error)
                if last or not may_resend(error, repeatable=repeatable):
                    raise
                if error.may_have_run:
                    bounds = shortened(bounds, anyio.current_time() - began)
                continue
            except RemoteError:
                place.answered()
                raise
            place.answered()
            return result
        raise AssertionError("the second attempt returns or raises")

    async def notify(self, server: str, method: str, params: JsonObject) -> None:
        place = self._places.get(server)
        for connection in place.ready if place is not None else []:
            try:
                await connection.tell(method, params)
            except DownstreamError as error:
                LOG.debug("%s: %s was not taken: %s", server, method, error)

    async def take_snapshot(self, server: str) -> Snapshot:
        place = self._known(server)
        connection = await place.connection(SILENT)

        async def fetch(method: str, params: JsonObject) -> JsonObject:
            return await self.request(server, method, params, caller=SILENT, repeatable=True)

        first, connection.listed = not connection.listed, True
        snapshot, fault = await read_everything(
            server, connection.agreement, fetch, taken_at=self._clock.now(), first=first
        )
        standing = place.standing
        standing.list_fault = f"its tools could not be listed: {fault.message}" if fault is not None else None
        if fault is not None:
            connection.listed = False
            self._emit(ServerEvent(server, "state"))
            raise fault
        standing.actions = len(snapshot.tools)
        for name, why in snapshot.partial.items():
            standing.warn(f"{name}: {MASK.mask(why)}")
        self._emit(ServerEvent(server, "state"))
        return snapshot

    def status(self, server: str) -> ServerStatus:
        return self._known(server).status()

    def statuses(self) -> Sequence[ServerStatus]:
        return [place.status() for place in self._places.values()]

    async def restart(self, server: str) -> None:
        place = self._known(server)
        await close_all([(place, f"server {server!r} was restarted")])
        place.standing.forgive()
        await place.connection(SILENT)

    async def stop(self, server: str) -> None:
        await close_all([(self._known(server), f"server {server!r} was stopped")])

    async def apply(self, specs: Sequence[ServerSpec]) -> None:
        old = self._places
        self._places = {}
        closing: list[tuple[Place, str]] = []
        for spec in specs:
            place = old.pop(spec.name, None)
            if place is not None and wiring(place.spec) == wiring(spec):
                place.take(spec)
            else:
                if place is not None:
                    closing.append((place, f"the configuration of server {spec.name!r} changed"))
                place = self._place(spec)
            self._places[spec.name] = place
        closing += [(place, f"server {name!r} was removed from the configuration") for name, place in old.items()]
        await close_all(closing)

    def listen(self, listener: Callable[[ServerEvent], None]) -> Callable[[], None]:
        self._listeners.append(listener)

        def end() -> None:
            if listener in self._listeners:
                self._listeners.remove(listener)

        return end

    def connected(self, server: str) -> bool:
        place = self._places.get(server)
        return bool(place and place.ready)

    def _known(self, server: str) -> Place:
        place = self._places.get(server)
        if place is None:
            near = difflib.get_close_matches(server, self._places, n=1)
            hint = f"Did you mean {near[0]!r}?" if near else None
            raise UnknownServer(f"there is no server {frames.shorten(server)!r}", hint=hint)
        return place

    def _place(self, spec: ServerSpec) -> Place:
        MASK.protect(spec.secrets)
        return Place(
            spec,
            self._limits(spec),
            self._clock,
            make_wire=lambda wanted: self._wires[wanted.transport](wanted),
            own=self._own,
            emit=self._emit,
            era=self._eras.get(spec.name),
        )

    def _limits(self, spec: ServerSpec) -> Limits:
        """A server's own limits where its entry sets any, else the settings'."""
        return self._settings.limits() if spec.limits == Limits() else spec.limits

    def _own(self, connection: Connection) -> None:
        """Start the task that owns a connection."""
        if self._group is None:
            name = connection.spec.name
            raise Unreachable(f"server {name!r} cannot be started: AnyAct is not running", server=name)
        starts = self._starts if connection.spec.transport == "stdio" else None
        self._group.start_soon(connection.run, starts)

    def _emit(self, event: ServerEvent) -> None:
        for listener in tuple(self._listeners):
            listener(event)


def bounds_of(method: str, limits: Limits) -> Bounds:
    """The time limits of a request."""
    limit_s, what = (limits.list_s, "list limit") if method in LISTS else (limits.call_s, "call limit")
    return Bounds(limit_s, max(limits.ceiling_s, limit_s), limits.question_s, what)


def shortened(bounds: Bounds, spent_s: float) -> Bounds:
    """What is left of the limits after a first attempt."""
    left = max(bounds.limit_s - spent_s, 0.001)
    return replace(bounds, limit_s=left, ceiling_s=max(bounds.ceiling_s - spent_s, left))


def may_resend(error: DownstreamError, *, repeatable: bool) -> bool:
    """Whether a request may be sent once more (decision 10): it surely did not run, or running twice does no harm."""
    if isinstance(error, SessionLost):
        return True
    return error.kind in LINK_FAULTS and (repeatable or not error.may_have_run)


def wiring(spec: ServerSpec) -> tuple[object, ...]:
    """Everything about a server that a connection depends on; a change of anything else leaves it alone."""
    return (
        spec.transport,
        spec.command,
        spec.args,
        dict(spec.env),
        spec.cwd,
        spec.url,
        dict(spec.headers),
        spec.serial,
        spec.per_client,
        spec.disabled,
        spec.trust,
        spec.era,
        spec.forward_headers,
        spec.ca_file,
        spec.verify_tls,
        spec.limits,
        spec.fault,
    )
