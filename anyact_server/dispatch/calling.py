"""One call, step by step: resolve, check, admit, request, judge, ground, record.

Each step either gives what the next one needs or raises an error of `errors.py`; `Calling.act` turns every such error
into an observation. Only cancellation leaves it as an exception.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TypeVar

import anyio
import anyio.to_thread

from anyact_server.errors import (
    AnyActError,
    DownstreamError,
    InvalidArguments,
    NeedsLogin,
    RemoteError,
    UnknownAction,
    UnknownHandle,
    UnknownServer,
)
from anyact_server.interfaces import Caller, Catalog, Clock, Downstreams, Grounder, Policy, Reliability, Searcher
from anyact_server.settings import Settings
from anyact_server.telemetry import logger
from anyact_server.types import (
    EMPTY,
    KINDS,
    Action,
    Call,
    ErrorInfo,
    Json,
    JsonObject,
    Kind,
    Limits,
    Observation,
    Outcome,
    Principal,
    ServerState,
    Verdict,
)

from . import alternatives
from .arguments import accept, whole_text
from .callers import without_rounds
from .limits import limits_for, own_fault
from .references import resolve as resolve_references
from .repeats import Repeats, note
from .resolve import check_allowed, resolve
from .schemas import Schemas
from .weight import heavy

T = TypeVar("T")

LOG = logger("dispatch")

PATIENCE_S = 3.0
"""How long a call waits for a server on trial, and once more for one that is about to be started again."""

LEAST_PAUSE_S = 0.05
"""The shortest such wait."""

UNUSABLE = frozenset({ServerState.FAILED, ServerState.DOWN, ServerState.NEEDS_LOGIN, ServerState.DISABLED})


@dataclass(frozen=True, slots=True)
class Acted:
    """How a call ended: what the caller sees, and the raw result when there was one."""

    observation: Observation
    result: JsonObject | None = None

    @property
    def failed(self) -> bool:
        return self.observation.status == "error" or self.observation.is_error


@dataclass(frozen=True, slots=True)
class Prepared:
    """A call that is ready to be sent."""

    action: Action
    arguments: dict[str, Json]
    limits: Limits
    usual_s: float
    """The call limit that would hold had the caller set none."""
    notes: tuple[str, ...] = ()
    quiet: tuple[str, ...] = ()


async def beside(result: JsonObject, work: Callable[[], T]) -> T:
    """Do work on a result: beside the event loop where it may take long, so that no other call waits for it."""
    return await anyio.to_thread.run_sync(work) if heavy(result) else work()


def local_verdict(error: AnyActError) -> Verdict:
    """The verdict of a call that was refused here and never sent."""
    hint = error.hint
    if isinstance(error, UnknownAction) and error.suggestions and hint is None:
        hint = "Did you mean " + ", ".join(f"`{one}`" for one in error.suggestions[:5]) + "? Or search again."
    return Verdict(error.kind, error.message, detected_by="local", hint=hint)


@dataclass(frozen=True, slots=True)
class Calling:
    """The parts that a call passes through."""

    catalog: Catalog
    downstreams: Downstreams
    searcher: Searcher
    reliability: Reliability
    grounder: Grounder
    policy: Policy
    settings: Settings
    clock: Clock
    schemas: Schemas
    repeats: Repeats

    async def act(self, call: Call, caller: Caller, values: Mapping[str, Json] = EMPTY) -> Acted:
        """Do one call.

        Args:
            call: what is wanted.
            caller: who waits for it.
            values: what references to task ids stand for.

        Returns:
            Acted: always; every failure is an observation. Only cancellation is raised.
        """
        principal = caller.principal
        try:
            action = await self._found(call.action, principal)
        except (DownstreamError, RemoteError) as error:
            return Acted(self._failure(self.grounder.judge_error(error), None, call, principal, ()))
        except AnyActError as error:
            suggestions = error.suggestions if isinstance(error, UnknownAction) else ()
            return Acted(self._failure(local_verdict(error), None, call, principal, suggestions))
        try:
            prepared = self.prepare(action, call, principal, values)
            await self._admit(action)
        except AnyActError as error:
            return await self._refused(error, action, call, principal)
        return await self._send(prepared, call, caller)

    async def _found(self, name: str, principal: Principal) -> Action:
        """The action that is meant; a server that was never read is read first when the id names it.

        Raises:
            UnknownAction: none, several, or one that is hidden.
            DownstreamError, RemoteError: the server that the id names cannot be read.
        """
        try:
            return resolve(name, self.catalog, self.policy, principal)
        except UnknownAction:
            server = self._unread(name, principal)
            if server is None:
                raise
        self.catalog.record_snapshot(await self.downstreams.take_snapshot(server))
        return resolve(name, self.catalog, self.policy, principal)

    def _unread(self, name: str, principal: Principal) -> str | None:
        """The server without a snapshot that an id begins with; None under rules, which tell nobody of servers."""
        if self.policy.visible(principal, self.catalog.actions(), self.catalog.version) is not None:
            return None
        for spec in self.catalog.specs():
            readable = not spec.disabled and spec.fault is None
            if readable and name.startswith(f"{spec.name}__") and self.catalog.snapshot(spec.name) is None:
                return spec.name
        return None

    def prepare(self, action: Action, call: Call, principal: Principal, values: Mapping[str, Json]) -> Prepared:
        """Check everything that can be checked before sending.

        Raises:
            PolicyRefused, UsageError, InvalidArguments, UnknownServer: the call must not be sent.
        """
        check_allowed(action, self.policy, principal, read_only=call.read_only)
        server = self.catalog.spec(action.server).limits
        limits, cut = limits_for(call, action, server)

        def lookup(name: str) -> Json:
            return values[name] if name in values else self._kept(name, principal)

        accepted = whole_text(
            accept(action, call.arguments, self.schemas.of(action), lambda value: resolve_references(value, lookup))
        )
        usual_s = action.call_s or server.call_s
        notes = (*accepted.notes, *([cut] if cut else []))
        return Prepared(action, accepted.value, limits, usual_s, notes, accepted.quiet)

    def _kept(self, handle: str, principal: Principal) -> Json:
        try:
            return self.grounder.value(handle, principal)
        except UnknownHandle as error:
            raise InvalidArguments(
                f"the reference to {handle[:100]!r} names neither a task of this run nor a handle of yours",
                hint='Write {"$anyact_literal": ...} around a value that is meant literally.',
            ) from error

    async def _admit(self, action: Action) -> None:
        """Wait for a server on trial: shortly, but for as long as its start may take while the trial starts it.

        Raises:
            DownstreamError: the call must not start now.
        """
        waited = 0.0
        while True:
            admission = self.reliability.admit(action.id, action.server)
            if admission.allowed:
                return
            pause = admission.retry_after_s
            if pause is None or waited + pause > self._patience(action.server):
                raise _Barred(
                    admission.reason or f"server {action.server!r} is not available now",
                    server=action.server,
                    kind=Kind.UNAVAILABLE,
                    may_have_run=False,
                    retry_after_s=pause,
                )
            waited += max(pause, LEAST_PAUSE_S)
            await anyio.sleep(max(pause, LEAST_PAUSE_S))

    def _patience(self, server: str) -> float:
        """Seconds that a call waits for a server on trial."""
        state = next((one.state for one in self.downstreams.statuses() if one.server == server), None)
        if state is not ServerState.STARTING:
            return PATIENCE_S
        return max(PATIENCE_S, self.catalog.spec(server).limits.start_s)

    async def _send(self, prepared: Prepared, call: Call, caller: Caller) -> Acted:
        action, principal = prepared.action, caller.principal
        caller = without_rounds(caller)
        params = {"name": action.name, "arguments": prepared.arguments}
        warm = self.downstreams.connected(action.server)
        started = self.clock.monotonic()
        result: JsonObject | None = None
        sent = True
        try:
            result = await self._request(prepared, params, caller)
            verdict = await beside(result, partial(self.grounder.judge, result, action))
        except (DownstreamError, RemoteError, UnknownServer) as error:
            verdict = self._judged(error, action)
            sent = not isinstance(error, DownstreamError) or error.may_have_run
        except anyio.get_cancelled_exc_class():
            seconds = self.clock.monotonic() - started
            self._record(Verdict(Kind.CANCELLED, "cancelled by the caller"), action, principal, seconds)
            raise
        seconds = self.clock.monotonic() - started
        if result is None:
            self._record(self._counted(verdict, call, prepared, seconds), action, principal, seconds, sent=sent)
            others = await self._alternatives(action, verdict.kind, principal)
            observation = self._failure(verdict, action, call, principal, others, seconds)
            return Acted(_noted(observation, prepared.notes, prepared.quiet))
        observation = await self._observed(result, verdict, action, call, principal, seconds)
        self._record(verdict, action, principal, seconds if warm else 0.0, observation.tokens.raw)
        observation = await self._with_way_out(observation, action, principal)
        return Acted(_noted(observation, prepared.notes, prepared.quiet), result)

    async def _request(self, prepared: Prepared, params: JsonObject, caller: Caller) -> JsonObject:
        """Send the request; again where it surely was not sent and the connection says that a pause will soon do.

        Raises:
            UnknownServer, DownstreamError, RemoteError: as the connection says.
        """
        patience = min(PATIENCE_S, prepared.limits.call_s)
        while True:
            try:
                return await self.downstreams.request(
                    prepared.action.server,
                    "tools/call",
                    params,
                    caller=caller,
                    limits=prepared.limits,
                    repeatable=prepared.action.hints.safe_to_repeat,
                )
            except DownstreamError as error:
                pause = error.retry_after_s
                if error.may_have_run or pause is None or pause > patience:
                    raise
            patience -= max(pause, LEAST_PAUSE_S)
            await anyio.sleep(max(pause, LEAST_PAUSE_S))

    def _judged(self, error: DownstreamError | RemoteError | UnknownServer, action: Action) -> Verdict:
        verdict = self.grounder.judge_error(error)
        if isinstance(error, NeedsLogin) or not isinstance(error, DownstreamError) or not error.may_have_run:
            return verdict
        if action.hints.safe_to_repeat or verdict.kind is Kind.CANCELLED:
            return verdict
        unknown = "Outcome unknown: the action may have run. Check its effect before calling it again."
        if verdict.hint and "unknown" in verdict.hint.lower():
            return verdict
        return replace(verdict, hint=f"{unknown} {verdict.hint}" if verdict.hint else unknown)

    async def _observed(
        self, result: JsonObject, verdict: Verdict, action: Action, call: Call, principal: Principal, seconds: float
    ) -> Observation:
        observe = partial(
            self.grounder.observe,
            result,
            verdict,
            action=action,
            principal=principal,
            budget=call.budget_tokens,
            seconds=seconds,
        )
        observation = await beside(result, observe)
        if verdict.kind is Kind.SCHEMA_MISMATCH and self.settings.strict_output and not observation.is_error:
            observation = _strict(observation, verdict)
        return self._repeated(observation, verdict, action.id, call, principal)

    async def _with_way_out(self, observation: Observation, action: Action, principal: Principal) -> Observation:
        if observation.error is None or observation.error.alternatives:
            return observation
        others = await self._alternatives(action, observation.error.kind, principal)
        if not others:
            return observation
        text = f"{observation.text or observation.summary}\ninstead: {', '.join(others)}"
        return replace(observation, text=text, error=replace(observation.error, alternatives=others))

    async def _refused(self, error: AnyActError, action: Action, call: Call, principal: Principal) -> Acted:
        verdict = self.grounder.judge_error(error) if isinstance(error, DownstreamError) else local_verdict(error)
        others = await self._alternatives(action, verdict.kind, principal)
        if isinstance(error, InvalidArguments):
            self._record(verdict, action, principal, 0.0)
        return Acted(self._failure(verdict, action, call, principal, others))

    def _failure(
        self,
        verdict: Verdict,
        action: Action | None,
        call: Call,
        principal: Principal,
        others: Sequence[str] = (),
        seconds: float = 0.0,
    ) -> Observation:
        name = action.id if action else call.action[:200]
        observation = self.grounder.observe_error(
            verdict,
            action_id=name,
            server=action.server if action else None,
            principal=principal,
            alternatives=others,
            seconds=seconds,
        )
        return self._repeated(observation, verdict, name, call, principal)

    def _repeated(
        self, observation: Observation, verdict: Verdict, name: str, call: Call, principal: Principal
    ) -> Observation:
        failed = observation.is_error or observation.status == "error"
        count = self.repeats.count(principal, name, call.arguments, verdict, failed, self.clock.monotonic())
        told = note(count, verdict) if count else None
        return _noted(observation, (told,) if told else ())

    async def _alternatives(self, action: Action, kind: Kind, principal: Principal) -> tuple[str, ...]:
        """Equivalent actions that can be expected to work now."""
        if kind not in alternatives.OFFERED_AFTER:
            return ()
        visible = self.policy.visible(principal, self.catalog.actions(), self.catalog.version)
        try:
            answer = await anyio.to_thread.run_sync(self.searcher.search, alternatives.query(action, visible))
            return alternatives.choose(action, answer.hits, kind, self._works)
        except AnyActError as error:  # a damaged catalog or index must not hide the failure that is being told
            LOG.warning("no alternatives to %s: %s", action.id, error)
            return ()

    def _works(self, action: Action) -> bool:
        estimate = self.reliability.estimate(action.id, action.server)
        if estimate.pruned or estimate.needs_login:
            return False
        try:
            return self.downstreams.status(action.server).state not in UNUSABLE
        except UnknownServer:
            return False

    def _counted(self, verdict: Verdict, call: Call, prepared: Prepared, seconds: float) -> Verdict:
        """The verdict as the ledger is to count it."""
        p95_s = self.reliability.estimate(prepared.action.id, prepared.action.server).p95_s
        if own_fault(verdict, call, prepared.limits, prepared.usual_s, seconds, p95_s):
            return replace(verdict, kind=Kind.CANCELLED, message="the caller's own limit was too short")
        return verdict

    def _record(
        self,
        verdict: Verdict,
        action: Action,
        principal: Principal,
        seconds: float,
        tokens: int = 0,
        *,
        sent: bool = True,
    ) -> None:
        now = self.clock.now()
        self.reliability.record(
            Outcome(action.id, action.server, verdict, now, seconds, principal.name, tokens, action.digest, sent)
        )


class _Barred(DownstreamError):
    """The breaker of a server, or a rate limit, holds a call back."""


def _noted(observation: Observation, notes: Sequence[str], quiet: Sequence[str] = ()) -> Observation:
    """The observation with notes; a caller also reads them at the end of the text, but for the quiet ones."""
    if not notes and not quiet:
        return observation
    text = observation.text
    if notes:
        text = "\n".join([text or observation.summary, *(f"note: {one}" for one in notes)])
    return replace(observation, notes=(*observation.notes, *notes, *quiet), text=text)


def _strict(observation: Observation, verdict: Verdict) -> Observation:
    """The observation of a result that does not fit its output schema, where the settings make that a failure."""
    facts = KINDS[verdict.kind]
    error = ErrorInfo(
        verdict.kind,
        verdict.message or "the result does not fit the action's output schema",
        facts.fault,
        retryable=False,
        retry=facts.retry,
        hint=verdict.hint or "Set `strict_output` to false to accept such results with a warning.",
        server=observation.server,
        detected_by=verdict.detected_by,
        evidence=verdict.evidence,
    )
    summary = f"failed: {error.message}"
    return replace(observation, status="error", is_error=True, error=error, summary=summary[:200])
