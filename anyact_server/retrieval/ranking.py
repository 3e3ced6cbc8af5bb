"""From the candidates of one intent to an order, and from the orders of all intents to hits."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from anyact_server.types import Action, Estimate, Hit

from . import fusion
from .names import SHORTEST_SLIP, spellings_of
from .state import Mask, State
from .words import compact, query_terms, terms

Floats = NDArray[np.float32]

DEPTH = 150
"""Candidates that each way of searching gives for one intent."""
DENSE_WEIGHT = 1.0
SPARSE_WEIGHT = 1.0
COPIES = 2
"""How many copies of one action on several servers are shown as hits of their own; further ones are named."""
DISTRUST = 0.4
"""How much of its score an action loses that never succeeds."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """A row that may become a hit, for one intent.

    `named` is 2 when the query is the action's name, 1 when it is with one slip or holds the name, else 0.
    """

    row: int
    score: float
    cosine: float | None = None
    keyword: float = 0.0
    named: int = 0


def candidates(state: State, intent: str, vector: Floats | None, mask: Mask) -> list[Candidate]:
    """The candidates for one intent, best first; actions that it names come before all others."""
    keyword = state.keyword_scores(query_terms(intent))
    found = [best(np.where(mask, keyword, 0.0), DEPTH)]
    if vector is not None:
        found.append(state.nearest(vector, DEPTH, mask))
    named = named_rows(state, intent, mask)
    rows = np.unique(np.concatenate([*found, np.fromiter(named, np.int64, len(named))]))
    lists = [(SPARSE_WEIGHT, keyword[rows])]
    cosines = None if vector is None else state.cosines(vector, rows)
    if cosines is not None:
        lists.append((DENSE_WEIGHT, cosines))
    scores = fusion.reciprocal(lists)
    listed = [
        Candidate(
            int(row),
            float(scores[at]),
            None if cosines is None or np.isnan(cosines[at]) else float(cosines[at]),
            float(keyword[row]),
            named.get(int(row), 0),
        )
        for at, row in enumerate(rows)
    ]
    return sorted(listed, key=lambda one: (-one.named, -one.score, one.row))


def best(scores: Floats, limit: int) -> NDArray[np.int64]:
    """The positions of the greatest positive scores, in no order."""
    if len(scores) > limit:
        top = np.argpartition(scores, len(scores) - limit)[len(scores) - limit :]
        return top[scores[top] > 0].astype(np.int64)
    return np.flatnonzero(scores > 0).astype(np.int64)


def named_rows(state: State, intent: str, mask: Mask) -> dict[int, int]:
    """The rows that an intent names: 2 by its whole text, 1 with one slip or inside a sentence."""
    whole, mentions = spellings_of(intent)
    found: dict[int, int] = {}
    for mention in mentions:
        found.update(dict.fromkeys(state.named(mention, mask), 1))
    if whole:
        exact = state.named(whole, mask)
        if not exact and len(whole) >= SHORTEST_SLIP:
            found.update(dict.fromkeys(state.slipped(whole, mask), 1))
        found.update(dict.fromkeys(exact, 2))
    return found


def trusted(candidate: Candidate, estimate: Estimate | None) -> float:
    """A candidate's score with the action's reliability as a factor."""
    if estimate is None:
        return candidate.score
    return candidate.score * (1.0 - DISTRUST * (1.0 - min(max(estimate.success, 0.0), 1.0)))


def twin_key(action: Action) -> tuple[str, str]:
    """Equal for actions that are the same thing on several servers: name and first words of the description."""
    return compact(action.name), " ".join(terms(action.description)[:24])


@dataclass(frozen=True, slots=True)
class Placed:
    """A row in the final order; `twins` are ids of its copies that are not shown as hits of their own."""

    candidate: Candidate
    intents: tuple[int, ...]
    score: float
    twins: tuple[str, ...] = ()


def arrange(
    state: State, ranked: Sequence[Sequence[Candidate]], estimates: Mapping[str, Estimate], shown: int
) -> list[Placed]:
    """One order over the candidates of all intents.

    Args:
        state: what the rows stand for.
        ranked: candidates of each intent.
        estimates: reliability by action id; pruned actions go unless they are named.
        shown: how many hits a page has; a hit serves an intent when it is among its first `shown`.
    """
    sorted_lists: list[list[Candidate]] = []
    for listed in ranked:
        kept = [one for one in listed if one.named or not _pruned(state, one, estimates)]
        kept.sort(key=lambda one: (-one.named, -trusted(one, _estimate(state, one, estimates)), one.row))
        sorted_lists.append(kept)
    serves: dict[int, list[int]] = {}
    strongest: dict[int, Candidate] = {}
    for intent, kept in enumerate(sorted_lists):
        for place, one in enumerate(kept):
            if place < shown:
                serves.setdefault(one.row, []).append(intent)
            if one.row not in strongest or one.score > strongest[one.row].score:
                strongest[one.row] = one
    order = fusion.covering([[one.row for one in kept] for kept in sorted_lists])
    placed = [
        Placed(
            strongest[row],
            tuple(serves.get(row, ())),
            trusted(strongest[row], _estimate(state, strongest[row], estimates)),
        )
        for row in order
    ]
    return _folded(state, placed)


def _folded(state: State, placed: Sequence[Placed]) -> list[Placed]:
    """The order with copies of one action beyond `COPIES` folded into the first of them."""
    first: dict[tuple[str, str], int] = {}
    counts: dict[tuple[str, str], int] = {}
    kept: list[Placed] = []
    for one in placed:
        action = state.actions[one.candidate.row]
        if action is None:
            continue
        key = twin_key(action)
        counts[key] = counts.get(key, 0) + 1
        if counts[key] <= COPIES or one.candidate.named == 2 or not key[1]:
            first.setdefault(key, len(kept))
            kept.append(one)
            continue
        head = kept[first[key]]
        kept[first[key]] = Placed(head.candidate, head.intents, head.score, (*head.twins, action.id))
    return kept


def hit(state: State, placed: Placed, intents: Sequence[str], estimate: Estimate | None) -> Hit:
    """The hit for a placed row, with short reasons why it is there."""
    action = state.actions[placed.candidate.row]
    assert action is not None
    return Hit(
        action=action,
        score=round(placed.score, 4),
        why=_why(action, placed, intents, estimate),
        intents=placed.intents,
        estimate=estimate,
    )


def _why(action: Action, placed: Placed, intents: Sequence[str], estimate: Estimate | None) -> tuple[str, ...]:
    reasons: list[str] = []
    one = placed.candidate
    if one.named:
        reasons.append("named exactly" if one.named == 2 else "named")
    wanted = [intents[at] for at in placed.intents] or intents
    said = {term for intent in wanted for term in query_terms(intent)}
    for label, text in (("name", f"{action.name} {action.title or ''}"), ("text", action.description[:2000])):
        shared = [term for term in dict.fromkeys(terms(text)) if term in said]
        if shared:
            reasons.append(f"{label} has {', '.join(shared[:4])}")
    if one.cosine is not None:
        reasons.append(f"meaning {one.cosine:.2f}")
    if placed.twins:
        reasons.append(f"also as {', '.join(placed.twins[:3])}" + (" and more" if len(placed.twins) > 3 else ""))
    if estimate is not None and (estimate.needs_login or estimate.calls):
        reasons.append("needs login" if estimate.needs_login else estimate.words)
    return tuple(reasons)


def _estimate(state: State, one: Candidate, estimates: Mapping[str, Estimate]) -> Estimate | None:
    action = state.actions[one.row]
    return estimates.get(action.id) if action is not None else None


def _pruned(state: State, one: Candidate, estimates: Mapping[str, Estimate]) -> bool:
    estimate = _estimate(state, one, estimates)
    return estimate is not None and estimate.pruned
