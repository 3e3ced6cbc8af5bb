"""Counting of identical calls that fail again and again, per principal.

Nothing is refused: the observation says how often the very same call has failed, since models often do not notice.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass
from hashlib import blake2b

import orjson

from anyact_server.types import Json, Kind, Principal, Verdict

from .shapes import shortened

KEPT = 2048
"""Failing calls that are remembered, over all principals."""

FORGET_S = 3600.0
"""Seconds without a repeat after which a failing call is forgotten."""

TRANSIENT = frozenset({Kind.TIMEOUT, Kind.UNAVAILABLE, Kind.CRASHED, Kind.RATE_LIMITED, Kind.UPSTREAM_5XX})
"""Failures after which one identical retry is sensible."""


@dataclass(slots=True)
class _Streak:
    kind: Kind
    count: int
    last: float


class Repeats:
    """Failing calls by principal, action and arguments."""

    def __init__(self, most: int = KEPT) -> None:
        self._most = most
        self._streaks: OrderedDict[tuple[str, str, bytes], _Streak] = OrderedDict()

    def count(
        self, principal: Principal, action: str, arguments: Json, verdict: Verdict, failed: bool, now: float
    ) -> int:
        """Note how a call ended and give how many times in a row it has failed this way; 0 when it did not fail.

        Args:
            principal: who called.
            action: the action's id.
            arguments: as the caller gave them; any JSON, key order plays no role.
            verdict: how it ended; a suspected failure counts as one.
            failed: whether it ended in a reported failure.
            now: seconds of a clock that never goes back.
        """
        key = (principal.name, action, fingerprint(arguments))
        kind = verdict.kind if failed else verdict.suspected
        if kind is None:
            self._streaks.pop(key, None)
            return 0
        known = self._streaks.pop(key, None)
        if known is None or known.kind is not kind or now - known.last > FORGET_S:
            known = _Streak(kind, 0, now)
        known.count += 1
        known.last = now
        self._streaks[key] = known
        if len(self._streaks) > self._most:
            self._streaks.popitem(last=False)
        return known.count


def fingerprint(arguments: Json) -> bytes:
    """A fingerprint of arguments; what is not plain JSON goes by its printed form, cut short."""
    try:
        text = orjson.dumps(arguments, option=orjson.OPT_SORT_KEYS)
    except TypeError:
        text = shortened(arguments, 4096).encode("utf-8", "replace")
    return blake2b(text, digest_size=16).digest()


def note(count: int, verdict: Verdict) -> str | None:
    """What to tell the caller after `count` identical failures; None while one more try is sensible."""
    kind = verdict.suspected or verdict.kind
    if count < (3 if kind in TRANSIENT else 2):
        return None
    return (
        f"This very call has now ended the same way {count} times in a row ({kind}). Repeating it unchanged will not"
        " help: change the arguments, or use another action."
    )
