"""Helper actions, which a request never mentions: those that give an id that another action cannot do without.

Read off schemas and names alone: an action that requires `channel_id` needs a channel, and one on the same server that
lists, finds or searches channels without needing one itself gives it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache

from anyact_server.types import Action, Helper

from .words import split_name, terms

GIVING = frozenset({"search", "list", "find", "lookup", "query", "get", "browse", "resolve", "suggest", "autocomplete"})
"""First or other words of names of actions that tell ids."""
LISTING = GIVING - {"get"}
"""Of those the ones that tell several, and need none to do so."""
KEYS = frozenset({"id", "ids", "key", "slug", "uuid", "guid", "iri", "urn", "ref", "handle"})
"""Last words of parameters that no person would know by heart."""
SEEN = 400
"""Actions of one server that are looked through for helpers."""
_LOWER_ID = re.compile(r"([a-z]{3,})(ids?|uuid|guid)$")


@dataclass(frozen=True, slots=True)
class _Need:
    parameter: str
    thing: frozenset[str]


@lru_cache(maxsize=20_000)
def _words(name: str) -> tuple[str, ...]:
    return tuple(split_name(name).lower().split())


@lru_cache(maxsize=20_000)
def _things(name: str) -> frozenset[str]:
    """The terms of a name without its verbs and keys."""
    return frozenset(terms(" ".join(word for word in _words(name) if word not in GIVING and word not in KEYS)))


def needs(action: Action) -> list[_Need]:
    """The parameters that an action requires and that hold an id, each with the terms of what it identifies."""
    required = action.input_schema.get("required")
    if not isinstance(required, (list, tuple)):
        return []
    found = []
    for parameter in required:
        if not isinstance(parameter, str):
            continue
        words = _words(parameter)
        if words and words[-1] in KEYS:
            thing = frozenset(terms(" ".join(words[:-1]))) or _things(action.name)
        elif len(words) == 1 and (glued := _LOWER_ID.match(words[0])):
            thing = frozenset(terms(glued[1]))
        else:
            continue
        if thing:
            found.append(_Need(parameter, thing))
    return found


def helper(action: Action, siblings: Iterable[Action]) -> Helper | None:
    """The sibling that most plainly gives an id that an action requires; None when it needs none, or none does.

    Args:
        action: what may need a helper.
        siblings: actions of its server; only the first `SEEN` are looked at.
    """
    wanted = needs(action)
    if not wanted:
        return None
    best: tuple[tuple[int, int, int, str], Helper] | None = None
    for _, sibling in zip(range(SEEN), siblings, strict=False):
        words = set(_words(sibling.name))
        if sibling.id == action.id or sibling.fault or words.isdisjoint(GIVING) or sibling.hints.destructive:
            continue
        things = _things(sibling.name)
        for place, need in enumerate(wanted):
            if not need.thing <= things or any(need.thing & other.thing for other in needs(sibling)):
                continue
            rank = (place, int(words.isdisjoint(LISTING)), len(things - need.thing), sibling.id)
            if best is None or rank < best[0]:
                best = (rank, Helper(need.parameter, sibling.id))
    return best[1] if best else None
