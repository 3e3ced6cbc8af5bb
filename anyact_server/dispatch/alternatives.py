"""Actions that could do the same: which of the hits of a search are near enough to be offered after a failure.

Pure. A wrong offer does harm, so the gate is narrow: two actions count as alike when their names say the same verb and
the same things, and their descriptions and argument names agree somewhat. Words of the server's name and words that
say nothing play no role.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence

from anyact_server.types import Action, Hit, Kind, Query

from .shapes import properties, required

MOST = 3
"""Alternatives that are offered."""

LIKENESS = 0.45
"""Least likeness (0 to 1) of an alternative. Over the tools of 62 public servers it lets pass hardly anything but true
equivalents: the same operation of another file server, forge or search."""

BARE = 0.65
"""How far equal verbs without any thing (`search`, `fetch`) count as the same name; the rest must then agree more."""

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

_VERBS = {
    word: words[0]
    for words in (
        ("get", "read", "fetch", "retrieve", "show", "view", "describe", "load"),
        ("list", "ls", "enumerate"),
        ("search", "find", "lookup"),
        ("create", "add", "new", "make", "insert"),
        ("delete", "remove", "drop", "erase", "rm"),
        ("update", "edit", "modify", "set", "change", "patch", "write", "put"),
        ("send", "post", "publish", "reply"),
        ("run", "execute", "exec", "invoke", "trigger"),
        ("move", "rename"),
        ("open", "navigate", "goto"),
        ("copy",),
        ("download",),
        ("upload",),
        ("start",),
        ("stop", "cancel", "kill"),
    )
    for word in words
}
"""Verbs of action names, each with the verb that stands for it."""

_IDLE = frozenset(
    word
    for words in (
        ("a", "an", "and", "by", "for", "from", "in", "into", "is", "it", "of", "on", "or", "the", "to", "with"),
        ("advanced", "all", "api", "browser", "complete", "content", "data", "full", "mcp", "text", "tool", "v1", "v2"),
    )
    for word in words
)
"""Words that say nothing about what an action does."""

_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")


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
    """How alike two actions are, 0 to 1: half by the names, the rest by descriptions (0.3) and argument names (0.2)."""
    verb, things = _name(one)
    other_verb, other_things = _name(other)
    same = things & other_things
    if not same or (verb and other_verb and verb != other_verb):
        return 0.0
    texts = _overlap(_words(one.description[:400]), _words(other.description[:400]))
    asked = _overlap(set(properties(one.input_schema)), set(properties(other.input_schema)))
    unmet = set(required(other.input_schema)) - set(properties(one.input_schema))
    names = 1.0 if any(same) else BARE
    return max(0.5 * names + 0.3 * texts + 0.2 * asked - 0.05 * min(len(unmet), 3), 0.0)


def _name(action: Action) -> tuple[str, frozenset[frozenset[str]]]:
    """The verb of an action's name, and the things it names: with and without the words of its server's name."""
    words = [word.lower() for word in _WORD.findall(action.name)]
    verb = next((_VERBS[word] for word in words if word in _VERBS), "")
    things = frozenset(word for word in _words(action.name) if word not in _VERBS)
    return verb, frozenset({things, things - _words(action.server)})


def _words(text: str) -> set[str]:
    return {_stem(word) for word in map(str.lower, _WORD.findall(text)) if _stem(word) not in _IDLE}


def _stem(word: str) -> str:
    if len(word) > 4 and word.endswith("ies"):
        return word[:-3] + "y"
    return word[:-1] if len(word) > 3 and word.endswith("s") and not word.endswith("ss") else word


def _overlap(one: set[str], other: set[str]) -> float:
    """The Dice coefficient of two sets (Dice 1945, "Measures of the amount of ecologic association"); 0 if empty."""
    total = len(one) + len(other)
    return 2.0 * len(one & other) / total if total else 0.0
