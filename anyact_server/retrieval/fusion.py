"""Several scores made one, and several orders made one. Pure functions over arrays; nothing here knows what is ranked.

Reciprocal rank fusion, the usual choice, throws away how far apart scores are: a request that shares five rare words
with an action should not be outvoted by a vague likeness. So the scores themselves are added, each on its own scale:
BM25 as it is, which grows with the number of words that match, and the cosine in units of its spread over unrelated
texts. The weights come from the development sets; docs/retrieval.md has the figures.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float32]

KEYWORD = 0.2
"""Weight of the BM25 score of an action."""
SERVER = 0.04
"""Weight of the best BM25 score among the actions of its server: the soft hierarchy, which lifts and never cuts."""
MIDDLE = 8.5
"""The blended score at which the best hit is right half of the time, over 800 requests of the development sets."""
STEEPNESS = 0.28
"""How fast that share grows with the blended score."""


def meaning(cosines: Floats) -> Floats:
    """One likeness per candidate from those of each part of the request, of shape (parts, candidates).

    Half the mean and half the best: an action may serve the whole request, or one of its needs. Candidates without a
    vector (not a number) get the mean of the others.
    """
    likeness = 0.5 * cosines.mean(axis=0) + 0.5 * cosines.max(axis=0)
    missing = np.isnan(likeness)
    if missing.any():
        likeness = np.where(missing, 0.0 if missing.all() else np.nanmean(likeness), likeness)
    return np.asarray(likeness, np.float32)


def blend(keyword: Floats, server: Floats, likeness: Floats | None, spread: float) -> Floats:
    """The blended score of each candidate.

    Args:
        keyword: BM25 scores.
        server: the best BM25 score on each candidate's server.
        likeness: from `meaning`; None when there are no vectors.
        spread: standard deviation of the cosines of unrelated texts under the encoder.
    """
    score = KEYWORD * keyword + SERVER * server
    return np.asarray(score if likeness is None else score + likeness / max(spread, 1e-3), np.float32)


def confidence(scores: Floats) -> Floats:
    """Blended scores as a share between 0 and 1: how often an action that scores so is right."""
    return np.asarray(1.0 / (1.0 + np.exp(-STEEPNESS * (scores - MIDDLE))), np.float32)


def covering(rankings: Sequence[Sequence[int]]) -> list[int]:
    """Several rankings, one per intent, dealt out in turn: every intent's best come before any intent's second."""
    order: dict[int, None] = {}
    for place in range(max(map(len, rankings), default=0)):
        for ranking in rankings:
            if place < len(ranking):
                order.setdefault(ranking[place])
    return list(order)
