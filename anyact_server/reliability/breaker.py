"""The breaker of a server: a pure state machine.

    closed ──hard fault──▶ open ──pause over──▶ half open ──any answer──▶ closed
                            ▲                       │
                            └───── hard fault ──────┘   (longer pause)

A hard fault is the transport's own: connection refused, process dead. It opens the breaker at once. The pause after the
first crash of a server that worked is 0, so that the very next call is the trial; it grows with every failed trial, up
to 60 s. A server that relapses within `CALM_S` of a trial that went well waits 1 or 2 s: one action that crashes it
must not shut out the others. While half open, one call is under way as the trial and the others wait.
What the caller or the environment did wrong, a rate limit, and even a time-out of one action leave the breaker closed;
any answer shows that the server lives and closes it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

from anyact_server.types import SUCCESSES, Admission, Kind, Outcome

PAUSES_S = (0.0, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 60.0)
"""The pause by level."""

CALM_S = 60.0
"""A server that worked for so long after a trouble starts at the first level again."""

RELAPSE_LEVEL = 2
"""The highest level of a relapse after a trial that went well."""

TRIAL_S = 60.0
"""A trial that has not ended after so long no longer holds the others back."""

WAIT_S = 0.1
"""How soon to ask again while a trial is under way."""

HARD = frozenset({Kind.UNAVAILABLE, Kind.CRASHED})


@dataclass(frozen=True, slots=True)
class Breaker:
    """The state of one server's breaker; times in seconds since the epoch.

    `since` is when the phase began, `until` when an open breaker admits a trial, `level` the step of the pause.
    """

    phase: Literal["closed", "open", "half_open"] = "closed"
    level: int = -1
    since: float = 0.0
    until: float = 0.0
    reason: str = ""


CLOSED = Breaker()


def is_hard(outcome: Outcome) -> bool:
    """Whether the connection itself failed; a tool that merely says "unavailable" did not."""
    verdict = outcome.verdict
    return verdict.kind in HARD and verdict.detected_by in ("transport", "http_status")


def shows_life(outcome: Outcome) -> bool:
    """Whether the server answered, whatever it said."""
    verdict = outcome.verdict
    if verdict.detected_by == "local":
        return verdict.kind in SUCCESSES
    return not is_hard(outcome) and verdict.kind not in (Kind.TIMEOUT, Kind.CANCELLED, Kind.PROTOCOL)


def after(breaker: Breaker, outcome: Outcome) -> Breaker:
    """The breaker after an outcome. Faults of calls that began before the present phase are old news."""
    now = outcome.at
    if is_hard(outcome):
        stale = breaker.phase == "half_open" and now - outcome.seconds < breaker.since
        return breaker if breaker.phase == "open" or stale else opened(breaker, outcome)
    if breaker.phase == "closed":
        return breaker
    if shows_life(outcome):
        return replace(breaker, phase="closed", since=now, until=0.0)
    if breaker.phase == "half_open" and outcome.kind in (Kind.CANCELLED, Kind.TIMEOUT, Kind.PROTOCOL):
        pause = 0.0 if outcome.kind is Kind.CANCELLED else PAUSES_S[max(breaker.level, 1)]
        return replace(breaker, phase="open", since=now, until=now + pause)
    return breaker


def opened(breaker: Breaker, outcome: Outcome) -> Breaker:
    """The breaker after a hard fault of a call that counts."""
    least = 0 if outcome.kind is Kind.CRASHED else 1
    if breaker.phase == "half_open":
        level = min(breaker.level + 1, len(PAUSES_S) - 1)
    elif outcome.at - breaker.since > CALM_S:
        level = least
    else:
        level = min(max(breaker.level + 1, least), RELAPSE_LEVEL)
    return Breaker("open", level, outcome.at, outcome.at + PAUSES_S[level], outcome.verdict.message[:200])


def admitted(breaker: Breaker, now: float) -> tuple[Breaker, Admission]:
    """Whether a call may start at the second `now`, and the breaker thereafter."""
    if breaker.phase == "closed":
        return breaker, Admission(True)
    if breaker.phase == "open" and now < breaker.until:
        return breaker, Admission(False, retry_after_s=breaker.until - now)
    if breaker.phase == "half_open" and now - breaker.since < TRIAL_S:
        return breaker, Admission(False, retry_after_s=WAIT_S)
    return replace(breaker, phase="half_open", since=now), Admission(True, trial=True)


def revived(breaker: Breaker, now: float) -> Breaker:
    """The breaker of a server that is said to be well again: its next call is the trial, at once."""
    return breaker if breaker.phase == "closed" else replace(breaker, phase="open", since=now, until=now)
