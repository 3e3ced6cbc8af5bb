"""One side of a JSON-RPC conversation with a server, in raw objects.

A peer numbers requests, matches answers, keeps their time limits, relays what a server says in between and answers what
it asks. It knows callers and limits; it does not know eras, processes or HTTP.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import anyio
from anyio.abc import TaskGroup

from anyact_server.errors import DownstreamError, RemoteError
from anyact_server.interfaces import Caller
from anyact_server.telemetry import logger
from anyact_server.types import JsonObject, Kind

from . import frames
from .frames import RequestId, known_id
from .questions import ABILITY, CANCELLED, ask, choose
from .wire import Wire, fresh

LOG = logger("downstream")
METHOD_NOT_FOUND = -32601
INVALID_PARAMS = -32602
UNCANCELLABLE = frozenset({"initialize", "server/discover"})
"""Requests that the protocol forbids to cancel."""
COURTESY_S = 5.0
"""How long a cancellation or an answer may take to be written."""
DAMAGE_GRACE_S = 1.0
"""How long an answer that seems lost may still come: the damaged line may have been a log of it."""
MOST_NOTES = 256
"""Progress that its caller has not taken yet; beyond it only the latest is kept."""
MOST_WARNINGS = 20


@dataclass(frozen=True, slots=True)
class Bounds:
    """How long one request may take, in seconds: `limit_s` restarted by progress, `ceiling_s` in all; `what` names the
    limit; `question_s` is how long a question of the server is held."""

    limit_s: float
    ceiling_s: float = math.inf
    question_s: float = 300.0
    what: str = "call limit"


UNBOUNDED = Bounds(math.inf)


@dataclass(slots=True, eq=False)
class Flight:
    """A request in flight. Times are those of the event loop's clock."""

    id: int
    method: str
    caller: Caller | None
    bounds: Bounds
    deadline: float
    ceiling: float
    wake: anyio.Event = field(default_factory=anyio.Event)
    scope: anyio.CancelScope | None = None
    notes: deque[tuple[str, JsonObject]] = field(default_factory=deque)
    outcome: JsonObject | DownstreamError | RemoteError | None = None
    questions: set[anyio.CancelScope] = field(default_factory=set)
    damage: str | None = None
    sent: bool = False

    def restart_clock(self) -> None:
        """Give it its whole limit again, within the ceiling; while a question is open only the ceiling counts."""
        limit_s = math.inf if self.questions else self.bounds.limit_s
        self._set_deadline(min(anyio.current_time() + limit_s, self.ceiling))

    def hurry(self, seconds: float) -> None:
        """Leave it no more than so many seconds."""
        self._set_deadline(min(self.deadline, anyio.current_time() + seconds))

    def note(self, kind: str, params: JsonObject) -> None:
        """Queue something for the caller, in order."""
        if len(self.notes) >= MOST_NOTES and self.notes[-1][0] == kind:
            self.notes.pop()
        self.notes.append((kind, params))
        self.wake.set()

    def settle(self, outcome: JsonObject | DownstreamError | RemoteError) -> None:
        """End it; only the first outcome counts."""
        if self.outcome is None:
            self.outcome = outcome
            self.wake.set()

    def _set_deadline(self, deadline: float) -> None:
        self.deadline = deadline
        if self.scope is not None:
            self.scope.deadline = deadline


class Peer:
    """The conversation with one server, over one wire."""

    def __init__(self, server: str, wire: Wire, on_notice: Callable[[str, JsonObject], None]) -> None:
        self._server = server
        self._wire = wire
        self._on_notice = on_notice
        self._group: TaskGroup | None = None
        self._flights: dict[int, Flight] = {}
        self._asked: dict[RequestId, anyio.CancelScope] = {}
        self._last_id = 0
        self.lost: DownstreamError | None = None
        self.ended = anyio.Event()
        self.warnings: list[str] = []

    def attend(self, group: TaskGroup) -> None:
        """Let answers to the server's questions run in this group."""
        self._group = group

    @property
    def flights(self) -> Sequence[Flight]:
        """The requests in flight, oldest first."""
        return tuple(self._flights.values())

    async def call(
        self,
        method: str,
        params: JsonObject | None,
        *,
        headers: Mapping[str, str],
        bounds: Bounds,
        caller: Caller | None = None,
        token: bool = True,
        on_sent: Callable[[int], None] | None = None,
    ) -> JsonObject:
        """Send a request and give the result, whatever object it is.

        Args:
            method: of the request.
            params: sent as they are, but for the progress token.
            headers: for transports that have any.
            bounds: time limits.
            caller: where progress, log lines and questions go.
            token: whether to ask for progress.
            on_sent: told the id once it is known.

        Raises:
            RemoteError: the server answered with an error.
            DownstreamError: no usable answer came.
        """
        if self.lost is not None:
            raise fresh(self.lost, may_have_run=False)
        flight = self._open(method, bounds, caller)
        if token:
            meta = {**((params or {}).get("_meta") or {}), "progressToken": flight.id}
            params = {**(params or {}), "_meta": meta}
        if on_sent is not None:
            on_sent(flight.id)
        try:
            await self._send(flight, frames.request(flight.id, method, params), headers)
            return await self._outcome(flight)
        except BaseException:
            if flight.outcome is None and flight.sent and method not in UNCANCELLABLE:
                self._withdraw(flight)
            raise
        finally:
            del self._flights[flight.id]
            for scope in flight.questions:
                scope.cancel()

    async def tell(self, method: str, params: JsonObject | None, headers: Mapping[str, str]) -> None:
        """Send a notification.

        Raises:
            DownstreamError: it was not taken.
        """
        await self._wire.send(frames.notification(method, params), headers)

    # --- what the wire says

    def receive(self, frame: JsonObject, related: RequestId | None = None) -> None:
        if "method" not in frame:
            self._take_answer(frame)
        elif "id" in frame:
            self._take_request(frame, related)
        else:
            self._take_notification(frame, related)

    def fail(self, request: RequestId, error: DownstreamError) -> None:
        flight = self._flights.get(request) if isinstance(request, int) else None
        if flight is not None:
            flight.settle(error)

    def damaged(self, request: int | None, reason: str) -> None:
        flights = [self._flights[request]] if request in self._flights else []
        if request is None and len(self._flights) == 1:
            flights = list(self._flights.values())
        for flight in flights:
            flight.damage = reason
            flight.hurry(DAMAGE_GRACE_S)

    def warn(self, text: str) -> None:
        if text not in self.warnings and len(self.warnings) < MOST_WARNINGS:
            self.warnings.append(text)
            LOG.warning("server %r %s", self._server, text)

    def close(self, error: DownstreamError) -> None:
        if self.lost is None:
            self.lost = error
            for flight in self._flights.values():
                flight.settle(error)
            self.ended.set()

    # --- requests of this side

    def _open(self, method: str, bounds: Bounds, caller: Caller | None) -> Flight:
        self._last_id += 1
        now = anyio.current_time()
        ceiling = now + bounds.ceiling_s
        flight = Flight(self._last_id, method, caller, bounds, min(now + bounds.limit_s, ceiling), ceiling)
        self._flights[flight.id] = flight
        return flight

    async def _send(self, flight: Flight, frame: JsonObject, headers: Mapping[str, str]) -> None:
        with anyio.CancelScope(deadline=flight.deadline) as scope:
            flight.scope = scope
            try:
                flight.sent = True
                await self._wire.send(frame, headers)
            except (ValueError, TypeError) as error:
                flight.sent = False
                raise RemoteError(INVALID_PARAMS, f"the arguments are no JSON: {error}", server=self._server) from error
            finally:
                flight.scope = None

    async def _outcome(self, flight: Flight) -> JsonObject:
        while True:
            with anyio.CancelScope(deadline=flight.deadline) as scope:
                flight.scope = scope
                await flight.wake.wait()
            flight.scope = None
            flight.wake = anyio.Event()
            while flight.notes:
                await self._pass_on(flight, *flight.notes.popleft())
            outcome = flight.outcome
            if isinstance(outcome, Exception):
                raise fresh(outcome)
            if outcome is not None:
                return outcome
            if scope.cancelled_caught and flight.deadline <= anyio.current_time():
                raise self._late(flight)

    async def _pass_on(self, flight: Flight, kind: str, params: JsonObject) -> None:
        caller = flight.caller
        if caller is None:
            return
        if kind == "log":
            await caller.log(params)
        else:
            total, message = params.get("total"), params.get("message")
            await caller.progress(
                params["progress"], total if _number(total) else None, message if isinstance(message, str) else None
            )

    def _late(self, flight: Flight) -> DownstreamError:
        if flight.damage is not None:
            text = f"server {self._server!r}: the answer to {flight.method} was lost: {flight.damage}"
            return DownstreamError(text, server=self._server, kind=Kind.PROTOCOL)
        bounds = flight.bounds
        reached = flight.deadline >= flight.ceiling and bounds.ceiling_s > bounds.limit_s
        limit = f"{bounds.ceiling_s:g} s (ceiling)" if reached else f"{bounds.limit_s:g} s ({bounds.what})"
        return DownstreamError(
            f"server {self._server!r} did not answer {flight.method} within {limit}",
            server=self._server,
            kind=Kind.TIMEOUT,
            hint="Give the call more time, or check first whether it took effect.",
        )

    def _withdraw(self, flight: Flight) -> None:
        if not self._wire.withdraw(flight.id) and self._group is not None and self.lost is None:
            reason = "the limit was reached" if flight.deadline <= anyio.current_time() else "the caller cancelled"
            params = {"requestId": flight.id, "reason": reason}
            self._group.start_soon(self._write, frames.notification("notifications/cancelled", params))

    async def _write(self, frame: JsonObject) -> None:
        """Write something whose loss matters to nobody here."""
        with anyio.move_on_after(COURTESY_S):
            try:
                await self._wire.send(frame, {})
            except (DownstreamError, ValueError, TypeError) as error:
                LOG.debug("%s: not sent: %s", self._server, error)

    # --- what the server sends

    def _take_answer(self, frame: JsonObject) -> None:
        ident = known_id(frame.get("id"))
        flight = self._flights.get(ident) if isinstance(ident, int) else None
        if flight is None and frame.get("id") is None and len(self._flights) == 1:
            flight = next(iter(self._flights.values()))
        if flight is None:
            LOG.debug("%s: dropped a late or unknown answer %r", self._server, ident)
        elif "error" in frame:
            flight.settle(self._remote_error(frame["error"]))
        elif isinstance(frame["result"], dict):
            flight.settle(frame["result"])
        else:
            kind = type(frame["result"]).__name__
            text = f"server {self._server!r} answered {flight.method} with a {kind} instead of an object"
            flight.settle(DownstreamError(text, server=self._server, kind=Kind.PROTOCOL))

    def _remote_error(self, error: Any) -> RemoteError:
        if not isinstance(error, dict):
            return RemoteError(-32603, frames.shorten(str(error)), server=self._server)
        code = error.get("code")
        message = error.get("message")
        return RemoteError(
            code if isinstance(code, int) and not isinstance(code, bool) else -32603,
            message if isinstance(message, str) else "the server gave no reason",
            error.get("data"),
            server=self._server,
        )

    def _take_request(self, frame: JsonObject, related: RequestId | None) -> None:
        if self._group is None:
            return
        ident, method = frame["id"], frame["method"]
        if method == "ping":
            self._group.start_soon(self._write, frames.answer(ident, {}))
        elif method in ABILITY and isinstance(ident, int | str):
            self._group.start_soon(self._answer, ident, method, _params(frame), related)
        else:
            self._group.start_soon(self._write, frames.refusal(ident, METHOD_NOT_FOUND, "Method not found"))

    async def _answer(self, ident: RequestId, method: str, params: JsonObject, related: RequestId | None) -> None:
        """Put a question of the server to the client whose call it is."""
        flight = choose(self.flights, related, method, params)
        if flight is None or flight.caller is None:
            await self._write(frames.refusal(ident, METHOD_NOT_FOUND, f"no client can answer {method} now"))
            return
        scope = self._asked[ident] = anyio.CancelScope()
        flight.questions.add(scope)
        flight.restart_clock()
        reply = frames.refusal(ident, -32001, "the call that this question belongs to has ended")
        try:
            with scope:
                result = await ask(
                    flight.caller, method, params, server=self._server, question_s=flight.bounds.question_s
                )
                reply = frames.answer(ident, result)
        except RemoteError as error:
            reply = frames.refusal(ident, error.code, error.message, error.data)
            if method == "elicitation/create" and error.code == -32001:
                reply = frames.answer(ident, CANCELLED)
        finally:
            del self._asked[ident]
            flight.questions.discard(scope)
        flight.restart_clock()
        await self._write(reply)

    def _take_notification(self, frame: JsonObject, related: RequestId | None) -> None:
        method, params = frame["method"], _params(frame)
        if method == "notifications/progress":
            self._take_progress(params)
        elif method == "notifications/message":
            self._take_log(params, related)
        elif method == "notifications/cancelled":
            self._take_cancellation(params)
        else:
            self._on_notice(method, params)

    def _take_progress(self, params: JsonObject) -> None:
        token = known_id(params.get("progressToken"))
        flight = self._flights.get(token) if isinstance(token, int) else None
        if flight is not None and flight.outcome is None and _number(params.get("progress")):
            flight.restart_clock()
            flight.note("progress", params)

    def _take_log(self, params: JsonObject, related: RequestId | None) -> None:
        """A log line belongs to the call on whose stream it came, else to the client whose calls are the only ones."""
        asked = [flight for flight in self._flights.values() if flight.caller is not None]
        own = [flight for flight in asked if flight.id == related]
        clients = {flight.caller.session for flight in asked if flight.caller is not None}
        if own:
            own[0].note("log", params)
        elif len(clients) == 1:
            asked[-1].note("log", params)
        else:
            self._on_notice("notifications/message", params)

    def _take_cancellation(self, params: JsonObject) -> None:
        ident = known_id(params.get("requestId"))
        for asked, scope in self._asked.items():
            if known_id(asked) == ident:
                scope.cancel()
        flight = self._flights.get(ident) if isinstance(ident, int) else None
        if flight is not None and flight.method == "subscriptions/listen":
            flight.settle({})


def _params(frame: JsonObject) -> JsonObject:
    params = frame.get("params")
    return params if isinstance(params, dict) else {}


def _number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
