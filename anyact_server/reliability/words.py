"""Beliefs and breakers in words a person reads."""

from __future__ import annotations

from .breaker import Breaker
from .estimates import Belief, Numbers, trial_due


def explain(belief: Belief, found: Numbers, now: float) -> str:
    """Why an action is believed to be as good as it is, with its numbers.

    For example: `works 93 % of the time (79-99 %) over 41 calls; usually 0.2 s, at worst 1.1 s; last failure 3 min ago:
    timeout`.
    """
    if belief.calls == 0:
        return "not called yet"
    count = "1 call" if belief.calls == 1 else f"{belief.calls} calls"
    parts = [f"works {percent(found.mean)} of the time ({span(found.low, found.high)}) over {count}"]
    usual, worst = belief.latency.quantile(0.5), belief.latency.quantile(0.95)
    if usual is not None and worst is not None:
        parts.append(f"usually {duration(usual)}, at worst {duration(worst)}")
    if belief.needs_login:
        parts.append("needs login")
    if belief.held_until > now:
        parts.append(f"rate limited for another {duration(belief.held_until - now)}")
    if belief.suspected > 0.5:
        parts.append(f"{percent(belief.suspected / max(belief.answered, 1.0))} of its answers look like failures")
    if belief.last_failure is not None and belief.failures > 0.2:
        kind, _, at = belief.last_failure
        parts.append(f"last failure {duration(now - at)} ago: {kind}")
    if found.poor:
        due = trial_due(belief) - now
        parts.append(f"hidden from search for {duration(due)}" if due > 0 else "may be tried again")
    return "; ".join(parts)


def percent(share: float) -> str:
    """A share as a whole percentage; never a bare 0 or 100 for what is only near it."""
    value = round(share * 100)
    if value == 100 and share < 1.0:
        return "over 99 %"
    return "under 1 %" if value == 0 and share > 0.0 else f"{value} %"


def span(low: float, high: float) -> str:
    """An interval of shares."""
    return f"{round(low * 100)}-{round(high * 100)} %" if round(low * 100) < 99 else "almost surely"


def duration(seconds: float) -> str:
    """Seconds in the unit a person would use: `4 ms`, `0.2 s`, `12 s`, `3 min`, `5 h`, `2 d`."""
    if seconds < 0.1:
        return f"{max(round(seconds * 1000), 0)} ms"
    if seconds < 10:
        return f"{seconds:.1f} s"
    if seconds < 120:
        return f"{round(seconds)} s"
    if seconds < 7200:
        return f"{round(seconds / 60)} min"
    return f"{round(seconds / 3600)} h" if seconds < 172800 else f"{round(seconds / 86400)} d"


def barred(server: str, breaker: Breaker, now: float) -> str:
    """Why a call to a server may not start now."""
    why = f": {breaker.reason}" if breaker.reason else ""
    if breaker.phase == "half_open":
        return f"server {server!r} failed and one call is trying it again{why}"
    if breaker.until <= now:
        return f"server {server!r} failed and may be tried again{why}"
    return f"server {server!r} failed and is tried again in {duration(breaker.until - now)}{why}"
