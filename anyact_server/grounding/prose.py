"""Long running text: its headings with line numbers as a table of contents, its beginning and its end."""

from __future__ import annotations

import re
from collections.abc import Callable

from .lines import clip, taken
from .text import cut

_MARK = re.compile(r"^(?:(#{1,6}) (\S.*)|(?:```|~~~).*)$", re.MULTILINE)
_READ = 4_000_000


def prose_outline(text: str, where: str) -> Callable[[int], tuple[str, int]] | None:
    """How to show a text with headings in a given room; None where it has none."""
    headings = _headings(text[:_READ])
    if len(headings) < 3:
        return None

    def make(room: int) -> tuple[str, int]:
        contents = taken(headings, int(room * 0.4))
        rest = f"\n[… {len(headings) - len(contents):,} more headings]" if len(contents) < len(headings) else ""
        outline = f"[headings, by line number]\n{chr(10).join(contents)}{rest}"
        shown = cut(text, max(40, room - len(outline)), where)
        return f"{shown.text}\n{outline}", len(text) - shown.characters

    return make


def _headings(text: str) -> list[str]:
    """The headings outside fenced code, indented by level, with their line numbers."""
    found: list[str] = []
    number, at, fenced = 1, 0, False
    for match in _MARK.finditer(text):
        if match[1] is None:
            fenced = not fenced
        elif not fenced:
            number += text.count("\n", at, match.start())
            at = match.start()
            found.append(f"{number}: {'  ' * (len(match[1]) - 1)}{clip(match[2], 100)}")
    return found
