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
class Hit:
    """An action with its score; `why` are short reasons, `intents` the positions of the intents that it serves."""

    action: Action
    score: float
    why: tuple[str, ...] = ()
    intents: tuple[int, ...] = ()
    estimate: Estimate | None = None


@dataclass(frozen=True, slots=True)
class SearchAnswer:
    """Hits, best first; `degraded` says why part of the search was unavailable; `neighbours` are ids that nearly made
    it."""

    hits: tuple[Hit, ...]
    total: int = 0
    degraded: str | None = None
    neighbours: tuple[str, ...] = ()
    cpu_ms: float = 0.0
