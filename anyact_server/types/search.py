"""Searches and their answers."""

from __future__ import annotations

from dataclasses import dataclass

from .calls import Estimate
from .servers import Action


@dataclass(frozen=True, slots=True)
class Query:
    """One search: an intent per need, filters, and how many hits to give."""

    intents: tuple[str, ...]
    limit: int = 10
    offset: int = 0
    servers: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    read_only: bool | None = None
    visible: frozenset[str] | None = None
    """Ids the principal may see; None means all."""


@dataclass(frozen=True, slots=True)
class Helper:
    """The action that gives the id which another action requires as `parameter`."""

    parameter: str
    action: str


@dataclass(frozen=True, slots=True)
class Hit:
    """An action with its score; `why` are short reasons, `intents` the positions of the intents that it serves,
    `helper` the action to call first for an id that this one requires."""

    action: Action
    score: float
    why: tuple[str, ...] = ()
    intents: tuple[int, ...] = ()
    estimate: Estimate | None = None
    helper: Helper | None = None


@dataclass(frozen=True, slots=True)
class SearchAnswer:
    """Hits, best first; `degraded` says why part of the search was unavailable; `neighbours` are ids that nearly made
    it; `unmet` are the positions of the intents for which nothing here seems right."""

    hits: tuple[Hit, ...]
    total: int = 0
    degraded: str | None = None
    neighbours: tuple[str, ...] = ()
    cpu_ms: float = 0.0
    unmet: tuple[int, ...] = ()
