"""How often an action comes first when it is asked for by its name, in every spelling and with one slip."""

from __future__ import annotations

import random
import string
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from anyact_server.retrieval import Index
from anyact_server.retrieval.documents import document
from anyact_server.retrieval.names import one_slip
from anyact_server.retrieval.short_words import SHORT_WORDS
from anyact_server.retrieval.words import compact, split_name
from anyact_server.types import Action, Query

SEED = 20261204


def camel(name: str) -> str:
    """A name with humps."""
    first, *rest = split_name(name).split()
    return first + "".join(word.capitalize() for word in rest)


SPELLINGS: Mapping[str, Callable[[Action], str]] = {
    "as it is": lambda action: action.name,
    "spaced": lambda action: split_name(action.name),
    "camel case": lambda action: camel(action.name),
    "kebab case": lambda action: split_name(action.name).replace(" ", "-"),
    "upper snake case": lambda action: split_name(action.name).replace(" ", "_").upper(),
    "full id": lambda action: action.id,
    "server and name": lambda action: f"{action.server} {split_name(action.name)}",
}
SLIPPED = ("as it is", "spaced", "camel case", "full id", "server and name")


def slip(text: str, chance: random.Random) -> str:
    """The text with one letter left out, added, mistaken, or swapped with the next."""
    at, letter = chance.randrange(len(text)), chance.choice(string.ascii_lowercase)
    return chance.choice(
        (
            text[:at] + text[at + 1 :],
            text[:at] + letter + text[at:],
            text[:at] + letter + text[at + 1 :],
            text[:at] + text[at : at + 2][::-1] + text[at + 2 :],
        )
    )


def measure(actions: Sequence[Action]) -> dict[str, dict[str, Any]]:
    """For each spelling: how many were asked, how many came first, and up to ten that did not.

    First means that the first hit has the spelling that was typed or, after a slip, one that is a slip away. A slip
    that gives the name of another action, or a word that people use, asks for that.
    """
    named = [replace(action, id=f"{action.server}__{action.name}") for action in actions]
    meant: dict[str, set[str]] = {}
    for action in named:
        for spelling in document(action).names:
            meant.setdefault(spelling, set()).add(action.id)
    index = Index(None)
    index.rebuild(named)
    chance = random.Random(SEED)
    found: dict[str, dict[str, Any]] = {}
    for label, write in SPELLINGS.items():
        for slipped in (False, True) if label in SLIPPED else (False,):
            asked = [(slip(write(action), chance) if slipped else write(action), action) for action in named]
            found[f"{label}, one slip" if slipped else label] = _asked(index, asked, meant)
    return found


def _asked(index: Index, asked: Sequence[tuple[str, Action]], meant: Mapping[str, set[str]]) -> dict[str, Any]:
    missed = []
    for text, action in asked:
        letters = compact(text)
        answer = index.search(Query((text,), limit=1))
        wanted = meant.get(letters)
        if wanted is None:
            near = {name for spelling, names in meant.items() if one_slip(spelling, letters) for name in names}
            wanted = near if letters not in SHORT_WORDS else set()
        if wanted and not (answer.hits and answer.hits[0].action.id in wanted):
            missed.append([text, action.id])
    return {"asked": len(asked), "first": len(asked) - len(missed), "missed": missed[:10]}


def table(figures: Mapping[str, Mapping[str, Any]]) -> str:
    """The figures for a terminal."""
    lines = [f"  {label:28}{one['first']:>6} of {one['asked']}" for label, one in figures.items()]
    return "\n".join(["names: the action that is meant comes first", *lines])
