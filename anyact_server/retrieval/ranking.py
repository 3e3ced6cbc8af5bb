"""From the candidates of one intent to an order, and from the orders of all intents to hits."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from anyact_server.types import Action, Estimate, Hit

from . import fusion
from .links import helper
from .names import SHORTEST_SLIP, spellings_of
from .state import Mask, State
from .words import compact, query_terms, terms

Floats = NDArray[np.float32]

DEPTH = 150
"""Candidates that each way of searching gives for one intent."""
KEPT = 100
"""Candidates of one intent that are ranked, and how far its pages reach."""
COPIES = 2
"""How many copies of one action on several servers are shown as hits of their own; further ones are named."""
TWIN_CHARACTERS = 160
"""Characters of a description by which copies are known."""
WHY_CHARACTERS = 400
"""Characters of a description that are looked through for a hit's reasons."""
STATES = {"stale": "its server could not be asked lately", "changed": "changed since it was accepted"}
"""What a hit's reasons say of an action whose state is not the ordinary one."""
AHEAD = 5
"""Places behind a page that are also cleared of copies, for the neighbours named below it."""
DOUBTFUL = 0.1
"""Score below which an action is more likely not meant at all; docs/retrieval.md says how often that errs."""
DISTRUST = 0.4
"""How much of its score an action loses that never succeeds."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """A row that may become a hit, for one intent.

    `named` is 2 when the query is the action's name, 1 when it is with one slip or holds the name, else 0.
    """

    row: int
    score: float
    meaning: float | None = None
    named: int = 0


def candidates(state: State, intent: str, vectors: Floats | None, mask: Mask) -> list[Candidate]:
    """The candidates for one intent, best first; actions that it names come before all others.

    Args:
        state: what is searched.
        intent: what is wanted, in words.
        vectors: one per clause of the intent; None for keyword and name search alone.
        mask: the rows that may be found.
    """
    keyword = np.where(mask, state.keyword_scores(query_terms(intent)), np.float32(0.0))
    found = [best(keyword, DEPTH)]
    found += [state.nearest(vector, DEPTH, mask) for vector in (() if vectors is None else vectors)]
    named = named_rows(state, intent, mask)
    rows = np.unique(np.concatenate([*found, np.fromiter(named, np.int64, len(named))]))
    likeness = None
    if vectors is not None and len(rows):
        likeness = fusion.meaning(state.cosines(vectors, rows))
    scores = fusion.confidence(fusion.blend(keyword[rows], state.server_scores(keyword)[rows], likeness, state.spread))
    names = np.zeros(len(rows), np.int64)
    for row, how in named.items():
        names[np.searchsorted(rows, row)] = how
    return [
        Candidate(
            row=int(rows[at]),
            score=float(scores[at]),
            meaning=None if likeness is None else float(likeness[at]),
            named=int(names[at]),
        )
        for at in np.lexsort((rows, -scores, -names))[:KEPT].tolist()
    ]


def fits(listed: Sequence[Candidate]) -> bool:
    """Whether any candidate of an intent seems right: one is named, or its score is not `DOUBTFUL`.

    Without search by meaning scores say too little, and any candidate counts.
    """
    return any(one.named or one.meaning is None or one.score >= DOUBTFUL for one in listed)


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


def twin_text(action: Action) -> str:
    """Equal, and not empty, for actions of one name that do the same on several servers."""
    return " ".join(terms(action.description[:TWIN_CHARACTERS]))


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
        ranked: candidates of each intent, best first.
        estimates: reliability by action id; pruned actions go unless they are named.
        shown: how many hits the page and those before it have; a hit serves an intent when it is among its first
            `shown`, and copies are looked for up to there.
    """
    lists = [_trusted(state, listed, estimates) for listed in ranked]
    serves: dict[int, list[int]] = {}
    strongest: dict[int, tuple[float, Candidate]] = {}
    for intent, listed in enumerate(lists):
        for place, (score, one) in enumerate(listed):
            if place < shown:
                serves.setdefault(one.row, []).append(intent)
            if one.row not in strongest or score > strongest[one.row][0]:
                strongest[one.row] = (score, one)
    order = fusion.covering([[one.row for _, one in listed] for listed in lists])
    placed = [Placed(strongest[row][1], tuple(serves.get(row, ())), strongest[row][0]) for row in order]
    return _folded(state, placed, shown + AHEAD)


def _trusted(
    state: State, listed: Sequence[Candidate], estimates: Mapping[str, Estimate]
) -> list[tuple[float, Candidate]]:
    """The candidates that can be called and are not pruned, or are named, with their scores after reliability."""
    kept: list[tuple[float, Candidate]] = []
    for one in listed:
        action = state.action(one.row)
        belief = estimates.get(action.id)
        if one.named or not (action.fault or (belief is not None and belief.pruned)):
            kept.append((trusted(one, belief), one))
    if not estimates:
        return kept
    return sorted(kept, key=lambda pair: (-pair[1].named, -pair[0], pair[1].row))


def _folded(state: State, placed: Sequence[Placed], wanted: int) -> list[Placed]:
    """The order with copies of one action beyond `COPIES` folded into the first of them, over the first `wanted`."""
    names = [compact(state.action(one.candidate.row).name) for one in placed[: 2 * wanted]]
    often = {name for name, count in Counter(names).items() if count > COPIES}
    groups: dict[tuple[str, str], list[int]] = {}
    kept: list[Placed] = []
    for at, one in enumerate(placed):
        if at >= len(names) or len(kept) >= wanted:
            return [*kept, *placed[at:]]
        if names[at] in often and one.candidate.named < 2:
            action = state.action(one.candidate.row)
            text = twin_text(action)
            group = groups.setdefault((names[at], text), [])
            group.append(len(kept))
            if text and len(group) > COPIES:
                head = kept[group[0]]
                kept[group[0]] = replace(head, twins=(*head.twins, action.id))
                continue
        kept.append(one)
    return kept


def hit(state: State, placed: Placed, intents: Sequence[str], estimate: Estimate | None, mask: Mask) -> Hit:
    """The hit for a placed row, with short reasons why it is there, and its helper among the rows of the mask."""
    action = state.action(placed.candidate.row)
    return Hit(
        action=action,
        score=round(placed.score, 4),
        why=_why(action, placed, intents, estimate),
        intents=placed.intents,
        estimate=estimate,
        helper=helper(action, (state.action(row) for row in state.siblings(placed.candidate.row) if mask[row])),
    )


def _why(action: Action, placed: Placed, intents: Sequence[str], estimate: Estimate | None) -> tuple[str, ...]:
    reasons: list[str] = []
    one = placed.candidate
    if one.named:
        reasons.append("named exactly" if one.named == 2 else "named")
    wanted = [intents[at] for at in placed.intents] or intents
    said = {term for intent in wanted for term in query_terms(intent)}
    for label, text in (("name", f"{action.name} {action.title or ''}"), ("text", action.description[:WHY_CHARACTERS])):
        shared = [term for term in dict.fromkeys(terms(text)) if term in said]
        if shared:
            reasons.append(f"{label} has {', '.join(shared[:4])}")
    if one.meaning is not None:
        reasons.append(f"meaning {one.meaning:.2f}")
    if action.fault:
        reasons.append(f"cannot be called: {action.fault}")
    if action.state in STATES:
        reasons.append(STATES[action.state])
    if placed.twins:
        reasons.append(f"also as {', '.join(placed.twins[:3])}" + (" and more" if len(placed.twins) > 3 else ""))
    if estimate is not None and (estimate.needs_login or estimate.calls):
        reasons.append("needs login" if estimate.needs_login else estimate.words)
    return tuple(reasons)
