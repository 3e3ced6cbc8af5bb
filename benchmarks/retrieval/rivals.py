"""Other ways to search the same actions, as `interfaces.Searcher` so that they are measured by the same code."""

from __future__ import annotations

import math
import re
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from anyact_server.interfaces import Encoder
from anyact_server.retrieval.documents import encoded_text, parameter_text
from anyact_server.types import Action, CatalogChange, Estimate, Hit, Query, SearchAnswer

Floats = NDArray[np.float64]
_WORD = re.compile(r"[a-z0-9]+")


class Plain:
    """BM25 over one text per action: k1 1.5, b 0.75, every word as it stands."""

    def __init__(self, text: Callable[[Action], str]) -> None:
        self._text = text
        self._actions: Sequence[Action] = ()
        self._postings: dict[str, tuple[NDArray[np.int64], Floats]] = {}

    def rebuild(self, actions: Sequence[Action]) -> None:
        """Index exactly these actions."""
        self._actions = actions
        counts = [Counter(words(self._text(action))) for action in actions]
        average = sum(count.total() for count in counts) / max(len(actions), 1)
        found: dict[str, list[tuple[int, float]]] = {}
        for row, count in enumerate(counts):
            slope = 1.5 * (0.25 + 0.75 * count.total() / average)
            for word, times in count.items():
                found.setdefault(word, []).append((row, times * 2.5 / (times + slope)))
        for word, pairs in found.items():
            rarity = math.log(1 + (len(actions) - len(pairs) + 0.5) / (len(pairs) + 0.5))
            rows, impacts = zip(*pairs, strict=True)
            self._postings[word] = np.array(rows), rarity * np.array(impacts)

    def update(self, changes: Iterable[CatalogChange], actions: Callable[[str], Action | None]) -> None:
        """Nothing changes in a bench."""

    def scores(self, text: str) -> Floats:
        """The score of every action."""
        found = np.zeros(len(self._actions))
        for word in words(text):
            if word in self._postings:
                rows, impacts = self._postings[word]
                found[rows] += impacts
        return found

    def search(self, query: Query, *, estimates: Mapping[str, Estimate] | None = None) -> SearchAnswer:
        """Rank the actions for the first intent."""
        return answer(self._actions, lambda: self.scores(query.intents[0]), query.limit)


class Dense:
    """Every action compared by the cosine of one vector."""

    def __init__(self, encoder: Encoder, vectors: NDArray[np.float32]) -> None:
        self._encoder = encoder
        self._vectors = vectors
        self._actions: Sequence[Action] = ()

    def rebuild(self, actions: Sequence[Action]) -> None:
        """Index exactly these actions, whose vectors were given."""
        self._actions = actions

    def update(self, changes: Iterable[CatalogChange], actions: Callable[[str], Action | None]) -> None:
        """Nothing changes in a bench."""

    def scores(self, text: str) -> Floats:
        """The score of every action."""
        return np.asarray(self._vectors @ self._encoder.encode([text], query=True)[0], np.float64)

    def search(self, query: Query, *, estimates: Mapping[str, Estimate] | None = None) -> SearchAnswer:
        """Rank the actions for the first intent."""
        return answer(self._actions, lambda: self.scores(query.intents[0]), query.limit)


class Reciprocal:
    """The usual hybrid: reciprocal rank fusion (k 60) of the two above."""

    def __init__(self, sparse: Plain, dense: Dense) -> None:
        self._parts = (sparse, dense)
        self._actions: Sequence[Action] = ()

    def rebuild(self, actions: Sequence[Action]) -> None:
        """Index exactly these actions."""
        self._actions = actions

    def update(self, changes: Iterable[CatalogChange], actions: Callable[[str], Action | None]) -> None:
        """Nothing changes in a bench."""

    def scores(self, text: str) -> Floats:
        """The score of every action."""
        fused = np.zeros(len(self._actions))
        for part in self._parts:
            order = np.argsort(-part.scores(text), kind="stable")
            fused[order] += 1.0 / (60.0 + np.arange(1, len(order) + 1))
        return fused

    def search(self, query: Query, *, estimates: Mapping[str, Estimate] | None = None) -> SearchAnswer:
        """Rank the actions for the first intent."""
        return answer(self._actions, lambda: self.scores(query.intents[0]), query.limit)


def words(text: str) -> list[str]:
    """Runs of letters and digits, lower case, of two letters or more."""
    return [word for word in _WORD.findall(text.lower()) if len(word) > 1]


def name_and_description(action: Action) -> str:
    """The least that is searched anywhere."""
    return f"{action.name} {action.description}"


def everything(action: Action) -> str:
    """All that the product searches, without its weights: server, split name, description, parameters."""
    return f"{encoded_text(action)} {parameter_text(action.input_schema)}"


def as_fastmcp(action: Action) -> str:
    """What FastMCP's BM25 search looks at, by its documentation: name, description, parameters with descriptions."""
    properties = action.input_schema.get("properties")
    told = properties.items() if isinstance(properties, dict) else ()
    parameters = [f"{name} {value.get('description', '')}" for name, value in told if isinstance(value, dict)]
    return " ".join([action.name, action.description, *parameters])


def answer(actions: Sequence[Action], scores: Callable[[], Floats], limit: int) -> SearchAnswer:
    """The best of scored actions, with the CPU time that scoring took."""
    started = time.thread_time()
    found = scores()
    rows = np.argsort(-found, kind="stable")[:limit]
    hits = tuple(Hit(actions[int(row)], float(found[row])) for row in rows)
    return SearchAnswer(hits, len(actions), cpu_ms=1000 * (time.thread_time() - started))
