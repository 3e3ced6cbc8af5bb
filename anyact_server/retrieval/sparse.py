"""Keyword search: BM25F over a compressed table of postings, in numpy.

BM25F after Robertson, Zaragoza and Taylor, "Simple BM25 extension to multiple weighted fields" (CIKM 2004): the
frequencies of a term in the fields of a document are normalised by the field's length, weighted and summed, and the
sum is saturated once.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .words import terms

Floats = NDArray[np.float32]
Ints = NDArray[np.int32]

SATURATION = 1.5
"""k1 of BM25: how soon repeats of a term stop to count."""
WEIGHTS = (2.0, 1.0, 1.0, 0.4, 0.2)
"""Weights of the fields in the order of `documents.FIELDS`; found on the development sets, see docs/retrieval.md."""
LENGTH = (0.4, 0.3, 0.75, 0.75, 0.75)
"""b of BM25 per field: how far a long field is held against its terms."""
BLOCK = 4096
"""Documents whose postings are counted at a time."""


@dataclass(frozen=True, slots=True)
class Postings:
    """Which documents hold which term, and how strongly.

    `terms` maps a term to its position `t`; its postings are `rows[starts[t]:starts[t+1]]` with the saturated
    frequencies `impacts` of the same slice. `averages` are the mean field lengths that the impacts were normalised by.
    """

    count: int
    terms: Mapping[str, int]
    starts: NDArray[np.int64]
    rows: Ints
    impacts: Floats
    averages: tuple[float, ...]

    def frequency(self, term: str) -> int:
        """In how many documents the term occurs."""
        at = self.terms.get(term)
        return 0 if at is None else int(self.starts[at + 1] - self.starts[at])

    def add_scores(self, weights: Mapping[str, float], scores: Floats) -> None:
        """Add each term's weight times its impact to `scores`, one entry per document."""
        for term, weight in weights.items():
            at = self.terms.get(term)
            if at is not None:
                part = slice(self.starts[at], self.starts[at + 1])
                scores[self.rows[part]] += self.impacts[part] * np.float32(weight)


@dataclass(frozen=True, slots=True)
class _Column:
    """One field of all documents: the term numbers end to end, and where each document's begin."""

    numbers: Ints
    ends: NDArray[np.int64]

    def block(self, first: int, last: int) -> tuple[Ints, NDArray[np.int64]]:
        """The term numbers of documents `first` to `last`, and how many each has."""
        return self.numbers[self.ends[first] : self.ends[last]], np.diff(self.ends[first : last + 1])


def _column(vocabulary: dict[str, int], texts: Iterable[str]) -> _Column:
    numbers, ends = array("i"), array("q", [0])
    for text in texts:
        numbers.extend([vocabulary.setdefault(term, len(vocabulary)) for term in terms(text)])
        ends.append(len(numbers))
    return _Column(np.frombuffer(numbers, np.int32), np.frombuffer(ends, np.int64))


def build(documents: Sequence[Sequence[str]], averages: tuple[float, ...] | None = None) -> Postings:
    """Index documents given as one text per field.

    Args:
        documents: texts in the order of `documents.FIELDS`.
        averages: mean field lengths to normalise by, so that a small later part scores as the whole does; measured
            here when not given.
    """
    vocabulary: dict[str, int] = {}
    columns = [_column(vocabulary, (document[field] for document in documents)) for field in range(len(WEIGHTS))]
    means = averages or tuple(
        len(column.numbers) / max(int(np.count_nonzero(np.diff(column.ends))), 1) for column in columns
    )
    blocks = [
        _block(columns, means, first, min(first + BLOCK, len(documents))) for first in range(0, len(documents), BLOCK)
    ]
    numbers = np.concatenate([block[0] for block in blocks]) if blocks else np.zeros(0, np.int32)
    order = np.argsort(numbers, kind="stable")
    starts = np.zeros(len(vocabulary) + 1, np.int64)
    np.cumsum(np.bincount(numbers, minlength=len(vocabulary)), out=starts[1:])
    return Postings(
        count=len(documents),
        terms=vocabulary,
        starts=starts,
        rows=np.concatenate([block[1] for block in blocks])[order] if blocks else np.zeros(0, np.int32),
        impacts=np.concatenate([block[2] for block in blocks])[order] if blocks else np.zeros(0, np.float32),
        averages=means,
    )


def _block(columns: Sequence[_Column], means: Sequence[float], first: int, last: int) -> tuple[Ints, Ints, Floats]:
    """Term, row and impact of every posting of some documents; a block at a time keeps the memory of building low."""
    cells: list[NDArray[np.int64]] = []
    weights: list[NDArray[np.float64]] = []
    for column, mean, weight, slope in zip(columns, means, WEIGHTS, LENGTH, strict=True):
        numbers, lengths = column.block(first, last)
        rows = np.repeat(np.arange(first, last, dtype=np.int64), lengths)
        cells.append((numbers.astype(np.int64) << 32) | rows)
        weights.append(np.repeat(weight / (1.0 - slope + slope * lengths / max(mean, 1e-9)), lengths))
    held, inverse = np.unique(np.concatenate(cells), return_inverse=True)
    frequency = np.bincount(inverse, weights=np.concatenate(weights), minlength=len(held))
    impacts = frequency * (SATURATION + 1.0) / (SATURATION + frequency)
    return (held >> 32).astype(np.int32), (held & 0xFFFFFFFF).astype(np.int32), impacts.astype(np.float32)


def rarity(documents: int, frequency: int) -> float:
    """The weight of a term by how few documents hold it (the idf of BM25, never negative)."""
    return float(np.log1p((documents - frequency + 0.5) / (frequency + 0.5)))


def term_weights(parts: Sequence[Postings], query: Iterable[str]) -> dict[str, float]:
    """The weight of each known term of a query over several tables; a term said twice counts once and a half."""
    total = sum(part.count for part in parts)
    repeats: dict[str, int] = {}
    for term in query:
        repeats[term] = repeats.get(term, 0) + 1
    weights: dict[str, float] = {}
    for term, times in repeats.items():
        frequency = sum(part.frequency(term) for part in parts)
        if frequency:
            weights[term] = rarity(total, frequency) * (1.0 if times == 1 else 1.5)
    return weights
