"""Outcomes and a clock for the tests of this room."""

from __future__ import annotations

from typing import Any

from anyact_server.types import Kind, Outcome, Verdict

START = 1_700_000_000.0


class Clock:
    """Time that moves only when a test moves it."""

    def __init__(self) -> None:
        self.seconds = START

    def now(self) -> float:
        return self.seconds

    def monotonic(self) -> float:
        return self.seconds


def outcome(
    kind: Kind = Kind.OK,
    *,
    at: float = START,
    action: str = "git__log",
    server: str = "git",
    by: Any = "isError",
    who: str = "ann",
    seconds: float = 0.1,
    digest: str = "one",
    message: str = "it said so",
    **verdict: Any,
) -> Outcome:
    """One outcome; everything not named is ordinary."""
    return Outcome(
        action, server, Verdict(kind, message, detected_by=by, **verdict), at, seconds, who, tokens=10, digest=digest
    )
