"""Keyword search: BM25F over a compressed table of postings, in numpy.

BM25F after Robertson, Zaragoza and Taylor, "Simple BM25 extension to multiple weighted fields" (CIKM 2004): the
frequencies of a term in the fields of a document are normalised by the field's length, weighted and summed, and the
sum is saturated once.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain

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


def _counted(vocabulary: dict[str, int], column: Sequence[str]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The term numbers of one field of all documents end to end, and the length of each document's field."""
    lists = [terms(text) for text in column]
    lengths = np.fromiter(map(len, lists), np.int64, len(lists))
    numbers = np.fromiter(
        (vocabulary.setdefault(term, len(vocabulary)) for term in chain.from_iterable(lists)),
        np.int64,
        int(lengths.sum()),
    )
    return numbers, lengths


def build(documents: Sequence[Sequence[str]], averages: tuple[float, ...] | None = None) -> Postings:
    """Index documents given as one text per field.

    Args:
        documents: texts in the order of `documents.FIELDS`.
        averages: mean field lengths to normalise by, so that a small later part scores as the whole does; measured
            here when not given.
    """
    vocabulary: dict[str, int] = {}
    count = len(documents)
    rows_of: list[NDArray[np.int64]] = []
    terms_of: list[NDArray[np.int64]] = []
    weights_of: list[NDArray[np.float64]] = []
    measured: list[float] = []
    for field, (weight, slope) in enumerate(zip(WEIGHTS, LENGTH, strict=True)):
        numbers, lengths = _counted(vocabulary, [document[field] for document in documents])
        filled = int(np.count_nonzero(lengths))
        average = averages[field] if averages else float(lengths.sum() / filled if filled else 1.0)
        measured.append(average)
        share = weight / (1.0 - slope + slope * lengths / max(average, 1e-9))
        rows_of.append(np.repeat(np.arange(count, dtype=np.int64), lengths))
        terms_of.append(numbers)
        weights_of.append(np.repeat(share, lengths))
    return _assemble(
        count, vocabulary, np.concatenate(rows_of), np.concatenate(terms_of), np.concatenate(weights_of), measured
    )


def _assemble(
    count: int,
    vocabulary: dict[str, int],
    rows: NDArray[np.int64],
    numbers: NDArray[np.int64],
    weights: NDArray[np.float64],
    averages: Iterable[float],
) -> Postings:
    cells, inverse = np.unique(numbers * max(count, 1) + rows, return_inverse=True)
    frequency = np.bincount(inverse, weights=weights, minlength=len(cells))
    held = cells // max(count, 1)
    starts = np.zeros(len(vocabulary) + 1, np.int64)
    np.cumsum(np.bincount(held, minlength=len(vocabulary)), out=starts[1:])
    impacts = frequency * (SATURATION + 1.0) / (SATURATION + frequency)
    return Postings(
        count, vocabulary, starts, (cells % max(count, 1)).astype(np.int32), impacts.astype(np.float32), tuple(averages)
    )


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
