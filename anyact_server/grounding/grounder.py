"""The grounder: judges results, turns them into observations, and reads back what an observation did not show."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from anyact_server.errors import StorageError
from anyact_server.interfaces import Clock
from anyact_server.settings import Settings
from anyact_server.telemetry import MASK, logger
from anyact_server.types import (
    KINDS,
    SUCCESSES,
    Action,
    ErrorInfo,
    Json,
    JsonObject,
    Kind,
    Observation,
    Principal,
    ReadRequest,
    TokenCount,
    Verdict,
)

from .artifacts import ArtifactStore, new_handle, observation_id
from .blocks import Content, is_flagged, read_content
from .compose import Body, compose
from .dialects import Dialect, json_document
from .encoding import dumps, loads
from .judging import judge_content, judge_exception
from .parts import forget_parsed, main_value, part_value
from .reading import View, difference, read_view
from .render import HINTS, failure, footer, suspicion
from .schemas import OutputSchemas
from .text import shorten
from .tokens import estimate

_LOG = logger("grounding")
_HEAD_TOKENS = 160
"""Kept back from the budget for what stands before and after the content."""
_LEAST = 100


def open_store(home: Path, settings: Settings, clock: Clock) -> ArtifactStore:
    """The store of kept results of a home folder; nothing is touched before its first use."""
    return ArtifactStore(home / "results", limit_bytes=settings.artifact_bytes, keep_s=settings.artifact_s, clock=clock)


class Grounder:
    """Raw content to observation.

    Args:
        store: where results that are not shown whole are kept.
        settings: the budget of an observation.
        clock: time.
    """

    def __init__(self, store: ArtifactStore, settings: Settings, clock: Clock) -> None:
        self._store = store
        self._budget = settings.budget_tokens
        self._clock = clock
        self._schemas = OutputSchemas()

    def judge(self, result: JsonObject, action: Action | None) -> Verdict:
        """Understand a `tools/call` result: its flag, its values and words, its output schema.

        Declared successes stay successes; what they seem to be is set beside (`suspected`), and a result that does not
        fit the output schema is `schema_mismatch`.
        """
        content = read_content(result)
        verdict = judge_content(content, action)
        if action is None or verdict.suspected is not None or verdict.kind not in (Kind.OK, Kind.OK_EMPTY):
            return verdict
        problem = self._schemas.problem(content, action)
        if problem is None:
            return verdict
        return Verdict(Kind.SCHEMA_MISMATCH, problem, detected_by="schema", evidence="/structuredContent")

    def judge_error(self, error: Exception) -> Verdict:
        """Understand an exception: one of `errors.py` by its kind, a JSON-RPC error by its code and words."""
        return judge_exception(error)

    def observe(
        self,
        result: JsonObject,
        verdict: Verdict,
        *,
        action: Action | None,
        principal: Principal,
        budget: int | None = None,
        seconds: float = 0.0,
        dialect: Dialect = "lines",
    ) -> Observation:
        """Ground a result: repair it, render it within the budget, keep the original where anything was not shown.

        Args:
            result: the raw result, of whatever shape.
            verdict: what `judge` said of it.
            action: what was called.
            principal: who may read the rest.
            budget: tokens; the setting when None, at least 100.
            seconds: how long the call took.
            dialect: how the text is written.
        """
        try:
            return self._observed(result, verdict, action, principal, budget, seconds, dialect)
        finally:
            forget_parsed()

    def _observed(
        self,
        result: JsonObject,
        verdict: Verdict,
        action: Action | None,
        principal: Principal,
        budget: int | None,
        seconds: float,
        dialect: Dialect,
    ) -> Observation:
        budget = max(_LEAST, budget if budget is not None else self._budget)
        content = read_content(result)
        handle = new_handle()
        body = compose(content, max(_LEAST // 2, budget - min(_HEAD_TOKENS, budget // 3)), handle, dialect)
        self._add_notes(body, content, verdict, action)
        kept = self._keep(body, handle, result, principal, action)
        failed = verdict.kind not in SUCCESSES
        error = error_info(verdict, action.server if action else None) if failed or content.is_error else None
        suspected = None
        if verdict.suspected is not None and error is None:
            suspected = error_info(verdict, action.server if action else None, verdict.suspected)
        status = "error" if error is not None else "partial" if verdict.kind is Kind.PARTIAL else "ok"
        observation = Observation(
            id=observation_id(handle),
            status="pending" if content.pending else status,  # type: ignore[arg-type]  # a literal, chosen above
            summary=summarise(body, verdict, error, suspected),
            blocks=tuple(body.blocks),
            data=_masked(body.data) if error is not None else body.data,
            is_error=content.is_error,
            error=error,
            suspected=suspected,
            handle=handle if kept else None,
            artifacts=tuple(body.artifacts[:50]),
            elided=tuple(body.elided[:200]),
            action=action.id if action else None,
            server=action.server if action else None,
            seconds=seconds,
            notes=tuple(MASK.mask(note) for note in body.notes),
        )
        # What a server sent as a success is the user's own data: it is shown as it came, and our words are masked.
        shown = body.text if error is None else MASK.mask(body.text)
        text = json_document(observation, shown) if dialect == "json" else written(observation, shown)
        tokens = TokenCount(estimate(text) + body.media_tokens, max(body.raw, 1), budget)
        return replace(observation, text=text, tokens=tokens)

    def observe_error(
        self,
        verdict: Verdict,
        *,
        action_id: str | None,
        server: str | None,
        principal: Principal,
        alternatives: Sequence[str] = (),
        seconds: float = 0.0,
    ) -> Observation:
        """Ground a failure that came without a result."""
        del principal  # nothing is kept
        error = error_info(verdict, server, alternatives=tuple(alternatives))
        text = "\n".join(failure(error))
        return Observation(
            id=observation_id(new_handle()),
            status="error",
            summary=_clip(f"error ({error.kind}): {error.message}"),
            text=text,
            is_error=True,
            error=error,
            tokens=TokenCount(estimate(text), estimate(verdict.message), self._budget),
            action=action_id,
            server=server,
            seconds=seconds,
            untrusted=verdict.detected_by != "local",
        )

    def read(self, request: ReadRequest, principal: Principal) -> Observation:
        """Show what was not shown.

        Raises:
            UnknownHandle: unknown, expired, or somebody else's.
            UsageError: the view does not fit what the handle means, or the query finds nothing.
        """
        stored, part = self._store.get(request.handle, principal)
        budget = max(_LEAST, request.budget)
        if part is None:
            view = read_view(main_value(stored.result), request, budget, whole=stored.result)
        else:
            facts = stored.parts[part]
            view = read_view(part_value(stored.result, facts), request, budget, mime=facts.get("mime", ""))
        if request.view == "diff" and request.query:
            view = self._difference(stored.result, request, principal, budget)
        failed = is_flagged(stored.result)
        text = shorten(view.text, budget, "ask for less").text
        text = MASK.mask(text) if failed else text
        return Observation(
            id=observation_id(request.handle),
            status="ok",
            summary=_clip(MASK.mask(view.summary) if failed else view.summary),
            text=text,
            blocks=view.blocks,
            data=_masked(view.data) if failed else view.data,
            handle=request.handle,
            elided=view.elided,
            tokens=TokenCount(estimate(text), view.raw, budget),
        )

    def value(self, handle: str, principal: Principal) -> Json:
        """The whole value behind a handle: a JSON value, or text; a binary as base64.

        Raises:
            UnknownHandle: unknown, expired, or somebody else's.
        """
        stored, part = self._store.get(handle, principal)
        if part is None:
            return main_value(stored.result)
        facts = {**stored.parts[part], "binary": False}
        return part_value(stored.result, facts)

    def _difference(self, result: Json, request: ReadRequest, principal: Principal, budget: int) -> View:
        other, _ = self._store.get(request.query or "", principal)
        return difference(main_value(other.result), main_value(result), request, budget)

    def _add_notes(self, body: Body, content: Content, verdict: Verdict, action: Action | None) -> None:
        if action is not None and content.faults:
            body.notes[:] = [
                f"server {action.server!r}: {note}" if note in content.faults else note for note in body.notes
            ]
        if verdict.kind is Kind.SCHEMA_MISMATCH:
            body.notes.append(verdict.message)
        if action is not None:
            fault = self._schemas.fault(action)
            if fault:
                body.notes.append(f"{fault}; the result was not checked")

    def _keep(self, body: Body, handle: str, result: Json, principal: Principal, action: Action | None) -> bool:
        """Keep the original where it is needed; a store that fails costs the rest, never the answer."""
        if not body.altered:
            return False
        try:
            kept = self._store.put(
                handle, result, principal, parts=body.parts, title=action.id if action is not None else ""
            )
        except StorageError as error:
            _LOG.warning("%s", error)
            kept = None
        if kept is None:
            body.notes.append("what is not shown could not be kept and cannot be read later")
            body.elided[:] = [replace(gap, handle=None) for gap in body.elided]
            body.artifacts[:] = [artifact for artifact in body.artifacts if artifact.note == "link"]
            return False
        expires_at, _ = kept
        body.artifacts[:] = [
            artifact if artifact.note == "link" else replace(artifact, expires_at=expires_at)
            for artifact in body.artifacts
        ]
        return True


def _masked(value: Json) -> Json:
    """The structured part of a failure without secrets: servers echo tokens in their errors."""
    if value is None:
        return None
    packed = dumps(value).decode()
    plain = MASK.mask(packed)
    return value if plain == packed else loads(plain)


def error_info(
    verdict: Verdict, server: str | None, kind: Kind | None = None, alternatives: tuple[str, ...] = ()
) -> ErrorInfo:
    """A verdict as the caller sees it; `kind` replaces the verdict's own where a suspicion is meant."""
    kind = kind or verdict.kind
    facts = KINDS[kind]
    return ErrorInfo(
        kind=kind,
        message=MASK.mask(verdict.message),
        fault=verdict.fault or facts.fault,
        retryable=facts.retry in ("after_pause", "if_safe"),
        retry=facts.retry,
        retry_after_s=verdict.retry_after_s,
        hint=MASK.mask(verdict.hint) if verdict.hint else HINTS.get(kind),
        server=server,
        detected_by=verdict.detected_by,
        confidence=verdict.confidence,
        evidence=verdict.evidence,
        alternatives=alternatives,
    )


def summarise(body: Body, verdict: Verdict, error: ErrorInfo | None, suspected: ErrorInfo | None) -> str:
    """What happened, in at most 200 characters."""
    if error is not None:
        return _clip(f"error ({error.kind}): {error.message}")
    if suspected is not None and verdict.kind is Kind.PARTIAL:
        return _clip(f"partly failed, {verdict.share_failed:.0%} ({suspected.kind}): {suspected.message}")
    if suspected is not None:
        return _clip(f"reported as success, looks like {suspected.kind}: {suspected.message}")
    if body.empty:
        return "ok: done, and the result is empty"
    if verdict.kind is Kind.OK_EMPTY:
        return "ok: done, nothing was found"
    parts = [_shape(body.data)] if body.data is not None else []
    if body.blocks:
        parts.append(_media_words(body.blocks))
    if body.elided:
        parts.append("shown in part")
    return _clip(f"ok: {', '.join(parts)}" if parts else "ok")


def _media_words(blocks: Sequence[JsonObject]) -> str:
    counts = [(sum(block["type"] == kind for block in blocks), word) for kind, word in _MEDIA]
    return ", ".join(f"{count} {word}{'s' if count > 1 else ''}" for count, word in counts if count)


_MEDIA = (("image", "picture"), ("audio", "sound"))


def _shape(value: Json) -> str:
    if isinstance(value, list):
        return f"a list of {len(value):,}"
    if isinstance(value, dict):
        lists = [f"{key} [{len(part):,}]" for key, part in value.items() if isinstance(part, list)]
        return f"an object with {', '.join(lists[:3])}" if lists else f"an object of {len(value):,} keys"
    return "a value"


def written(observation: Observation, body: str) -> str:
    """The text of an observation from its parts and its body."""
    lines: list[str] = []
    error = observation.error
    if error is not None:
        plain = " ".join(body[:4000].split())
        if len(body) < 4000 and plain in error.message:
            body = ""
        brief = replace(error, message=_clip(error.message)) if body else error
        lines += failure(brief, told=bool(body) and plain.startswith(error.message[:200].rstrip("…")))
    elif observation.suspected is not None:
        partial = observation.status == "partial"
        lines.append(f"[{observation.summary[:100]}]" if partial else suspicion(observation.suspected))
    elif not body.strip() or observation.status == "pending":
        lines.append(observation.summary)
    if body.strip():
        lines.append(body)
    lines += [f"note: {note}" for note in observation.notes]
    if observation.handle is not None:
        gaps = [gap for gap in observation.elided if not gap.pointer.startswith("/content")]
        if gaps or observation.handle not in body:
            lines.append(footer(observation.handle, gaps or observation.elided))
    return "\n".join(lines)


def _clip(text: str) -> str:
    text = " ".join(text.split())
    return text if len(text) <= 200 else f"{text[:199]}…"
