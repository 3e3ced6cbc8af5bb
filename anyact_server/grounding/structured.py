"""JSON as the fewest tokens that lose nothing, and, over a budget, as a preview that names everything it leaves out.

Every node takes the cheapest form: a list of like objects becomes a table (one line per row, columns that never change
on one line above, nested objects as `a.b` columns), an object that holds such a table becomes lines of `key: value`,
and everything else compact JSON. What does not fit is left out by JSON pointer, never in the middle of a value.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from anyact_server.types import Json

from .dialects import Dialect, markdown_value
from .pruning import Cut, Facts, Gap, Name, Pruner, TooMuch
from .tokens import estimate, rough
from .writing import as_json, encode


@dataclass(frozen=True, slots=True)
class Preview:
    """A value as text; `gaps` is empty when nothing was left out."""

    text: str
    gaps: tuple[Gap, ...] = ()


def fit(value: Json, budget: int, size: int, name: Name, dialect: Dialect = "lines") -> Preview:
    """The value within a budget.

    Args:
        value: any JSON value.
        budget: tokens.
        size: bytes of the value as compact JSON; saves encoding what cannot fit.
        name: names the long codes in its strings, which are never shown.
        dialect: how it is written; in `json` a gap is a string or a key that begins with `…`.
    """
    limit = budget * 8
    facts = Facts()
    if size <= limit or size < 2000:
        whole = _try(value, _WHOLE, name, max(limit, 2000) * 2, dialect, facts)
        if whole is not None and (len(whole.text) <= budget or estimate(whole.text) <= budget):
            return whole
    best, low, high, step = None, 0, len(_STEPS), min(_FIRST, _step_for(max(3.0, budget / 100)))
    before = (0, 0)
    while low < high:
        preview = _try(value, _STEPS[step], name, limit, dialect, facts)
        tokens = rough(preview.text) if preview is not None else budget + 1
        if preview is None or tokens > budget:
            high = step
            step = (low + high) // 2
            continue
        best, low = preview, step + 1
        if not preview.gaps or tokens >= budget * _GOOD:
            return preview
        here = (_STEPS[step][0], tokens)
        step = min(high - 1, max(low, _step_for(_guessed(before, here, budget * 0.95))))
        before = here
    if best is None:
        return _shallow(value, budget, name, dialect, facts)
    if low < len(_STEPS):
        for mixed in ((_STEPS[low][0], _STEPS[low - 1][1]), (_STEPS[low - 1][0], _STEPS[low][1])):
            preview = _try(value, mixed, name, limit, dialect, facts)
            if preview is not None and len(preview.text) > len(best.text) and estimate(preview.text) <= budget:
                best = preview
    return best


def _shallow(value: Json, budget: int, name: Name, dialect: Dialect, facts: Facts) -> Preview:
    """A value that is too wide and deep for any step: as many levels of it as fit, at least the first."""
    preview = Preview("")
    for deepest in (8, 6, 5, 4, 3, 2, 1):
        found = _try(value, _STEPS[0], name, 1 << 60, dialect, facts, deepest)
        preview = found or preview
        if found is not None and len(found.text) <= budget * 8 and estimate(found.text) <= budget:
            break
    return preview


def _guessed(before: tuple[int, int], here: tuple[int, int], wanted: float) -> float:
    """How many items would cost so many tokens, from what two numbers of items cost, as (items, tokens)."""
    per_item = max(0.5, (here[1] - before[1]) / max(1, here[0] - before[0]))
    return here[0] + (wanted - here[1]) / per_item


def _step_for(items: float) -> int:
    """The last step that shows at most so many items."""
    return max(0, bisect_right(_STEPS, (items, 1 << 40)) - 1)


_FIRST = 14
"""The step that is tried first with a large budget; the next is guessed from what it cost."""
_GOOD = 0.85
"""A preview that uses so much of the budget is good enough."""
_WHOLE = (1 << 40, 1 << 40)
_STEPS = tuple(
    (items, chars)
    for items, chars in (
        (1, 24),
        (1, 40),
        (2, 60),
        (3, 80),
        (4, 110),
        (6, 140),
        (8, 180),
        (11, 240),
        (15, 320),
        (20, 420),
        (28, 560),
        (38, 750),
        (50, 1000),
        (70, 1400),
        (95, 2000),
        (110, 2400),
        (130, 2800),
        (150, 3400),
        (180, 4000),
        (250, 5600),
        (350, 8000),
        (500, 12000),
        (1000, 20000),
        (2000, 40000),
        (5000, 80000),
    )
)
"""Steps of what is shown: items of a list (keys of an object: at least 12, twice as many), characters of a string."""


def _try(
    value: Json, step: tuple[int, int], name: Name, limit: int, dialect: Dialect, facts: Facts, deepest: int = 40
) -> Preview | None:
    """A preview at a step; None where it would have more than `limit` characters."""
    pruner = Pruner(step[0], step[1], name, limit, deepest, facts)
    try:
        pruned = pruner.prune(value, "", 0)
    except TooMuch:
        return None
    text = _WRITERS[dialect](str(pruned) if isinstance(pruned, Cut) else pruned)
    return Preview(text, tuple(pruner.gaps)) if len(text) <= limit or step is _WHOLE else None


_WRITERS: Mapping[Dialect, Callable[[Json], str]] = {"lines": encode, "json": as_json, "markdown": markdown_value}
