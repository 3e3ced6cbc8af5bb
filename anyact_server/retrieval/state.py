"""What an index holds at one moment: segments, which rows still count, and the actions behind them. Never changed."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from anyact_server.types import Action, Query

from .names import SHORTEST_SLIP, SHORTEST_SURE
from .segments import Segment
from .short_words import SHORT_WORDS
from .sparse import term_weights
from .words import stem

Floats = NDArray[np.float32]
Longs = NDArray[np.int64]
Mask = NDArray[np.bool_]

_CACHED_MASKS = 64


@dataclass(frozen=True)
class State:
    """One moment of an index.

    Rows are numbered through all segments: row `offsets[s] + i` is row `i` of segment `s`.

    Attributes:
        alive: rows that are searched; the others belong to actions that changed or went.
        actions: the action of each row, None where the row is not alive.
        rows: the row of each action's id.
        server_order: rows ordered by their server; server `s` begins at `server_starts[s]`.
        server_of: the number of each row's server.
    """

    segments: tuple[Segment, ...] = ()
    alive: Mask = field(default_factory=lambda: np.zeros(0, np.bool_))
    actions: tuple[Action | None, ...] = ()
    rows: Mapping[str, int] = field(default_factory=dict)
    offsets: tuple[int, ...] = ()
    server_order: Longs = field(default_factory=lambda: np.zeros(0, np.int64))
    server_starts: Longs = field(default_factory=lambda: np.zeros(0, np.int64))
    server_of: Longs = field(default_factory=lambda: np.zeros(0, np.int64))
    _masks: dict[tuple[object, ...], Mask] = field(default_factory=dict, repr=False, compare=False)

    @property
    def waiting(self) -> int:
        """How many rows that count have no vector yet."""
        return sum(
            int(self.alive[offset + part.encoded : offset + len(part.ids)].sum()) for offset, part in self._parts()
        )

    @property
    def dead(self) -> int:
        """How many rows no longer count."""
        return len(self.alive) - int(self.alive.sum())

    def key(self, row: int) -> bytes:
        """The document key of a row."""
        offset, part = self._part(row)
        return part.keys[row - offset]

    def action(self, row: int) -> Action:
        """The action of a row that counts."""
        action = self.actions[row]
        assert action is not None, "a row that does not count was ranked"
        return action

    def id(self, row: int) -> str:
        """The id of a row's action."""
        offset, part = self._part(row)
        return part.ids[row - offset]

    def mask(self, query: Query) -> Mask:
        """The rows that a query's filters let through."""
        if not (query.servers or query.tags or query.visible is not None or query.read_only is not None):
            return self.alive
        wanted = (query.servers, query.tags, query.visible, query.read_only)
        known = self._masks.get(wanted)
        if known is None:
            if len(self._masks) >= _CACHED_MASKS:
                self._masks.clear()
            known = self._masks[wanted] = self.alive & np.fromiter(
                (action is not None and _passes(action, query) for action in self.actions), np.bool_, len(self.alive)
            )
        return known

    def keyword_scores(self, terms: Iterable[str]) -> Floats:
        """The BM25 score of every row, 0 where no term occurs."""
        scores = np.zeros(len(self.alive), np.float32)
        weights = term_weights([part.postings for part in self.segments], terms)
        for offset, part in self._parts():
            part.postings.add_scores(weights, scores[offset : offset + len(part.ids)])
        return scores

    def server_scores(self, scores: Floats) -> Floats:
        """For every row the best score among the rows of its server."""
        if not len(scores):
            return scores
        return np.asarray(np.maximum.reduceat(scores[self.server_order], self.server_starts)[self.server_of])

    @property
    def spread(self) -> float:
        """The spread of cosines in the largest segment that has vectors."""
        held = [part.dense for part in self.segments if part.dense is not None]
        return max(held, key=lambda dense: dense.count).spread if held else 1.0

    def siblings(self, row: int) -> list[int]:
        """The rows of a row's server, itself among them; also those that no longer count."""
        server = self.server_of[row]
        last = self.server_starts[server + 1] if server + 1 < len(self.server_starts) else len(self.server_order)
        rows: list[int] = self.server_order[self.server_starts[server] : last].tolist()
        return rows

    def nearest(self, vector: Floats, limit: int, mask: Mask) -> Longs:
        """Rows of the vectors nearest to a query's, in no order."""
        whole = bool(mask.all())
        found: list[Longs] = []
        for offset, part in self._parts():
            own = None if whole else mask[offset : offset + len(part.ids)]
            if own is None or own.any():
                found.append(part.nearest(vector, limit, own)[0] + offset)
        return np.concatenate(found) if found else np.zeros(0, np.int64)

    def cosines(self, vectors: Floats, rows: Longs) -> Floats:
        """The cosine of each row with each vector, of shape (vectors, rows); not a number where a row has none."""
        found = np.full((len(vectors), len(rows)), np.nan, np.float32)
        for offset, part in self._parts():
            own = (rows >= offset) & (rows < offset + len(part.ids))
            if own.any():
                found[:, own] = part.cosines(vectors, rows[own] - offset)
        return found

    def named(self, name: str, mask: Mask) -> list[int]:
        """Rows of the actions that have exactly this compact spelling."""
        return [offset + row for offset, part in self._parts() for row in part.names.exact(name) if mask[offset + row]]

    def slipped(self, name: str, mask: Mask) -> list[int]:
        """Rows of the actions that have a compact spelling one slip away; a short one only for what is no word."""
        shortest = SHORTEST_SURE if len(name) > SHORTEST_SURE or self._is_word(name) else SHORTEST_SLIP
        return [
            offset + row
            for offset, part in self._parts()
            for row in part.names.slipped(name, shortest)
            if mask[offset + row]
        ]

    def _is_word(self, name: str) -> bool:
        """Whether a short text is a word that people use, or that some action does."""
        if name in SHORT_WORDS:
            return True
        if f"{name}e" in SHORT_WORDS:  # `fil` among the terms is what is left of `file`
            return False
        return any(term in part.postings.terms for part in self.segments for term in (name, stem(name)))

    def with_segment(self, segment: Segment, actions: Sequence[Action], removed: Iterable[str] = ()) -> State:
        """The state after adding a segment: its actions replace those with the same ids, `removed` ids go."""
        alive = np.concatenate([self.alive, np.ones(len(segment.ids), np.bool_)])
        held: list[Action | None] = [*self.actions, *actions]
        rows = dict(self.rows)
        for name in (*removed, *segment.ids):
            row = rows.pop(name, None)
            if row is not None:
                alive[row] = False
                held[row] = None
        start = len(self.alive)
        rows.update((name, start + at) for at, name in enumerate(segment.ids))
        segments = (*self.segments, segment) if segment.ids else self.segments
        return assemble(segments, alive, held, rows)

    def with_segments(self, segments: Sequence[Segment]) -> State:
        """The state with each segment replaced by one of the same rows (that has more vectors)."""
        return replace(self, segments=tuple(segments))

    def holding(self, actions: Mapping[str, Action]) -> State:
        """The state with the actions of its rows taken from `actions`; rows without one there die."""
        held = [
            actions.get(name) if self.alive[offset + at] else None
            for offset, part in self._parts()
            for at, name in enumerate(part.ids)
        ]
        alive = np.fromiter((action is not None for action in held), np.bool_, len(held))
        rows = {action.id: row for row, action in enumerate(held) if action is not None}
        return assemble(self.segments, alive, held, rows)

    def vectors(self, rows: Longs) -> dict[int, Floats]:
        """The vectors of rows, by their place in `rows`; those without one are absent."""
        found: dict[int, Floats] = {}
        for offset, part in self._parts():
            if part.dense is not None:
                own = np.flatnonzero((rows >= offset) & (rows < offset + part.encoded))
                found.update(zip(own.tolist(), part.dense.rows(rows[own] - offset), strict=True))
        return found

    def first_waiting(self) -> tuple[int, Segment] | None:
        """The first segment with rows that count and have no vector, after its offset; None when there is none."""
        for offset, part in self._parts():
            if self.alive[offset + part.encoded : offset + len(part.ids)].any():
                return offset, part
        return None

    def only(self, segment: int) -> State:
        """The state with one segment alone."""
        part = slice(self.offsets[segment], self.offsets[segment] + len(self.segments[segment].ids))
        held = self.actions[part]
        rows = {action.id: at for at, action in enumerate(held) if action is not None}
        return assemble([self.segments[segment]], self.alive[part], held, rows)

    def _parts(self) -> Iterable[tuple[int, Segment]]:
        return zip(self.offsets, self.segments, strict=True)

    def _part(self, row: int) -> tuple[int, Segment]:
        at = bisect_right(self.offsets, row) - 1
        return self.offsets[at], self.segments[at]


def assemble(
    segments: Sequence[Segment], alive: Mask, actions: Sequence[Action | None], rows: Mapping[str, int]
) -> State:
    """A state over these segments."""
    sizes = [len(segment.ids) for segment in segments]
    offsets = tuple(sum(sizes[:at]) for at in range(len(sizes)))
    numbers: dict[str, int] = {}
    server_of = np.fromiter(
        (numbers.setdefault(server, len(numbers)) for segment in segments for server in segment.servers),
        np.int64,
        sum(sizes),
    )
    order = np.argsort(server_of, kind="stable")
    starts = np.searchsorted(server_of[order], np.arange(len(numbers)))
    return State(tuple(segments), alive, tuple(actions), rows, offsets, order, starts, server_of)


def _passes(action: Action, query: Query) -> bool:
    return (
        (not query.servers or action.server in query.servers)
        and (not query.tags or not set(query.tags).isdisjoint(action.tags))
        and (query.visible is None or action.id in query.visible)
        and (query.read_only is None or (action.hints.read_only is True) == query.read_only)
    )
