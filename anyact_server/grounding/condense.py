"""A long text within a budget, each form in its own way: what a reader would ask of it comes first.

A table keeps its head, what its columns hold and the rows that stand out; a log its counts, its troubles and its two
ends; a difference the files it touches; a stack trace its errors; prose its headings. Whatever is left out is counted
and can be read by the handle.
"""

from __future__ import annotations

from collections.abc import Callable

from .binaries import Code, replace_codes
from .diffs import diff_outline
from .forms import Form, form_of
from .grids import grid_outline
from .logs import log_outline, trace_outline
from .prose import prose_outline
from .text import Shortened, clean, shorten
from .tokens import estimate

Outline = Callable[[int], tuple[str, int]]
"""Writes a text in about so many characters; gives (what is shown, characters of the original in it)."""

_OUTLINES: dict[Form, Callable[[str, str], Outline | None]] = {
    "table": grid_outline,
    "log": log_outline,
    "trace": trace_outline,
    "diff": diff_outline,
    "markdown": prose_outline,
    "text": prose_outline,
}
_ROOMS = (0.98, 0.9, 0.8, 0.7, 0.58, 0.45, 0.32, 0.2, 0.1)


def condense(text: str, budget: int, where: str, mime: str, polish: Callable[[str], str]) -> Shortened:
    """Fit a text into a budget by its form.

    Args:
        text: the text.
        budget: tokens.
        where: how the rest can be read, said at the gap.
        mime: the media type as far as declared.
        polish: makes a text that fits whole fit to be shown.
    """
    if len(text) > budget * 8 or estimate(text) > budget:
        make = _OUTLINES.get(form_of(text, mime), prose_outline)(text, where)
        if make is not None:
            found = _within(make, len(text), budget, where)
            if found is not None:
                return found
    return shorten(text, budget, where, polish)


def _within(make: Outline, length: int, budget: int, where: str) -> Shortened | None:
    """The longest outline within the budget; None where even the shortest is too long."""
    per_token = 3.4
    for room in _ROOMS:
        shown, kept = make(max(60, int(budget * per_token * room)))
        shown = clean(replace_codes(shown, lambda code: _named(code, where))).text
        cost = estimate(shown)
        if cost <= budget:
            return Shortened(shown, max(1, length - kept))
        per_token = min(per_token, len(shown) / cost)
    return None


def _named(code: Code, where: str) -> str:
    return f"[{code.mime or 'encoded data'}, {code.size:,} characters; {where}]"
