"""The lines that a model reads: what happened, the content, how to see the rest. Pure and byte-stable."""

from __future__ import annotations

from collections.abc import Sequence

from anyact_server.types import Elision, ErrorInfo, Kind, Observation

_GAPS = 6
"""Gaps that are named one by one; the others are counted."""


def render(observation: Observation) -> str:
    """An observation as text.

    It is the observation's own text, or its summary where it has none, with whatever was noted after it was made: notes
    and equivalent actions.
    """
    text = observation.text or observation.summary
    lines = [f"note: {note}" for note in observation.notes if note not in text]
    error = observation.error or observation.suspected
    if error is not None and error.alternatives and not all(name in text for name in error.alternatives):
        lines.append(instead(error))
    return "\n".join([text, *lines]) if lines else text


def failure(error: ErrorInfo, *, told: bool = False) -> list[str]:
    """A failure in at most three lines: what happened, what to do, what else would do.

    `told` says that the message follows as content and need not be repeated.
    """
    lines = [f"error ({error.kind}):" if told else f"error ({error.kind}): {error.message}"]
    advice = _advice(error)
    if advice:
        lines.append(advice)
    if error.alternatives:
        lines.append(instead(error))
    return lines


def suspicion(error: ErrorInfo) -> str:
    """The mark on a declared success that looks like a failure, with its ground."""
    ground = {"structured": "by its fields", "text_rule": "by its first line"}.get(error.detected_by, error.detected_by)
    where = f" at {error.evidence}" if error.evidence else ""
    return (
        f"[looks like a failure ({error.kind}, {error.confidence:.0%} sure, {ground}{where}), "
        "though the server reports success]"
    )


def instead(error: ErrorInfo) -> str:
    """Equivalent actions, as one line."""
    return f"instead: {', '.join(error.alternatives)}"


def footer(handle: str, elided: Sequence[Elision]) -> str:
    """How what was left out can be read, in one line."""
    named = [_gap(gap, handle) for gap in elided[:_GAPS]]
    if len(elided) > _GAPS:
        named.append(f"{len(elided) - _GAPS:,} more places")
    what = f"left out: {'; '.join(named)}; " if named else ""
    return f"[{what}read_observation {handle}{'(.part)' if ' in part ' in what else ''}]"


def _gap(gap: Elision, handle: str) -> str:
    part = f" in part {gap.handle.removeprefix(handle)}" if gap.handle and gap.handle != handle else ""
    where = "" if gap.pointer.startswith("/content") else f" at {gap.pointer or '/'}"
    return f"{gap.count:,} {gap.what}{where}{part}"


def _advice(error: ErrorInfo) -> str:
    parts = []
    if error.hint:
        parts.append(error.hint)
    if error.retry == "after_pause" or error.retry_after_s is not None:
        pause = f"in {error.retry_after_s:g} s" if error.retry_after_s is not None else "later"
        parts.append(f"Try again {pause}.")
    return " ".join(parts)


HINTS = {
    Kind.INVALID_ARGS: "Change the arguments: describe_actions shows what is wanted.",
    Kind.UNKNOWN_ACTION: "Search for the action and use the id that the search gives.",
    Kind.NOT_FOUND: "Check the name or id; list or search first.",
    Kind.CONFLICT: "Look at the present state first; the change may already be made.",
    Kind.NOT_SUPPORTED: "Use another action, or other arguments.",
    Kind.UPSTREAM_4XX: "The service behind the server refused the request: change the arguments.",
    Kind.AUTH: "Somebody has to log in or set a valid credential for this server; repeating the call does not help.",
    Kind.PERMISSION: "The server may not do this; use something it is allowed to reach, or ask for the right.",
    Kind.TIMEOUT: "It may still have run: check before repeating, or allow more time with timeout_s.",
    Kind.UNAVAILABLE: "The server or what it needs cannot be reached now.",
    Kind.CRASHED: "The server died during the call; it is started again on the next one.",
    Kind.PROTOCOL: "The server broke the protocol; see `servers` for details.",
    Kind.UPSTREAM_5XX: "The service behind the server failed; try later or use another action.",
    Kind.INTERNAL: "The server failed by itself; the same call will likely fail again.",
}
"""What to do after a failure of each kind, where nothing better is known."""
