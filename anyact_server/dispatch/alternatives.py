"""Actions that could do the same: which of the hits of a search are near enough to be offered after a failure.

Pure. Two actions count as alike by the words of their names, their descriptions and their argument names; the server's
name plays no role.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence

from anyact_server.types import Action, Hit, Kind, Query

from .shapes import properties, required

MOST = 3
"""Alternatives that are offered."""

LIKENESS = 0.34
"""Least likeness (0 to 1) of an alternative: about half of the words of the names and a third of the others agree."""

OFFERED_AFTER = frozenset(
    {
        Kind.TIMEOUT,
        Kind.UNAVAILABLE,
        Kind.CRASHED,
        Kind.PROTOCOL,
        Kind.UPSTREAM_5XX,
        Kind.INTERNAL,
        Kind.RATE_LIMITED,
        Kind.AUTH,
        Kind.PERMISSION,
        Kind.NOT_SUPPORTED,
    }
)
"""Failures that another action might not share; the caller's own mistakes would go with it."""

WHOLE_SERVER = frozenset({Kind.UNAVAILABLE, Kind.CRASHED, Kind.AUTH})
"""Failures that the server's other actions share."""

_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
_SMALL = frozenset(("a", "an", "and", "by", "for", "from", "in", "is", "it", "of", "on", "or", "the", "to", "with"))


def query(action: Action, visible: frozenset[str] | None) -> Query:
    """The search for actions like this one."""
    words = " ".join(_WORD.findall(action.name))
    first = action.description.strip().split("\n", 1)[0][:300]
    read_only = True if action.hints.read_only is True else None
    return Query((f"{words}: {first}" if first else words,), limit=15, read_only=read_only, visible=visible)


def choose(action: Action, hits: Sequence[Hit], kind: Kind, works: Callable[[Action], bool]) -> tuple[str, ...]:
    """Ids of the hits that may stand in for `action`, the likest first, at most `MOST`.

    Args:
        action: the one that failed.
        hits: what the search for its like gave.
        kind: how it failed.
        works: whether an action can be expected to work now.
    """
    others = [
        hit.action
        for hit in hits
        if hit.action.id != action.id
        and hit.action.fault is None
        and not (kind in WHOLE_SERVER and hit.action.server == action.server)
        and not (action.hints.read_only is True and hit.action.hints.read_only is not True)
        and not (hit.estimate is not None and (hit.estimate.pruned or hit.estimate.needs_login))
    ]
    alike = sorted(((likeness(action, other), other.id, other) for other in others), key=lambda one: (-one[0], one[1]))
    near = (other for score, _, other in alike if score >= LIKENESS)
    return tuple(_first(MOST, (other.id for other in near if works(other))))


def _first(most: int, ids: Iterable[str]) -> Iterable[str]:
    for _, one in zip(range(most), ids, strict=False):
        yield one


def likeness(one: Action, other: Action) -> float:
    """How alike two actions are, 0 to 1: half by the words of their names, the rest by descriptions and arguments."""
    names = _overlap(_words(one.name), _words(other.name))
    texts = _overlap(_words(one.description[:400]), _words(other.description[:400]))
    asked = _overlap(set(properties(one.input_schema)), set(properties(other.input_schema)))
    unmet = set(required(other.input_schema)) - set(properties(one.input_schema))
    return 0.5 * names + 0.3 * texts + 0.2 * asked - 0.05 * min(len(unmet), 3)


def _words(text: str) -> set[str]:
    return {_stem(word) for word in map(str.lower, _WORD.findall(text)) if word not in _SMALL}


def _stem(word: str) -> str:
    return word[:-1] if len(word) > 3 and word.endswith("s") and not word.endswith("ss") else word


def _overlap(one: set[str], other: set[str]) -> float:
    """The Dice coefficient of two sets (Dice 1945, "Measures of the amount of ecologic association"); 0 if empty."""
    total = len(one) + len(other)
    return 2.0 * len(one & other) / total if total else 0.0
