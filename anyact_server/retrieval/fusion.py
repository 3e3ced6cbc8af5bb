"""Several rankings made one. Pure functions over arrays; nothing here knows what is ranked."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float32]

DAMPING = 60.0
"""k of reciprocal rank fusion (Cormack, Clarke and Buettcher, SIGIR 2009)."""


def ranks(scores: Floats) -> Floats:
    """The rank of each score, 1 for the greatest; infinite where the score is missing (not a number) or not positive.

    Equal scores share the better rank, so that the order of the input decides nothing.
    """
    usable = np.isfinite(scores) & (scores > 0)
    found = np.full(len(scores), np.inf, np.float32)
    held = scores[usable]
    ascending = np.sort(held)
    found[usable] = len(held) - np.searchsorted(ascending, held, "right") + 1
    return found


def reciprocal(lists: Sequence[tuple[float, Floats]]) -> Floats:
    """Reciprocal rank fusion of weighted score lists over the same candidates, scaled so that first in all gives 1."""
    total = sum(weight for weight, _ in lists) / (DAMPING + 1.0)
    fused = sum((weight / (DAMPING + ranks(scores)) for weight, scores in lists), np.zeros(len(lists[0][1])))
    return np.asarray(fused / total, np.float32)


def covering(rankings: Sequence[Sequence[int]]) -> list[int]:
    """Several rankings, one per intent, dealt out in turn: every intent's best come before any intent's second."""
    order: dict[int, None] = {}
    for place in range(max(map(len, rankings), default=0)):
        for ranking in rankings:
            if place < len(ranking):
                order.setdefault(ranking[place])
    return list(order)
