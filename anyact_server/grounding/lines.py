"""Lines of a text as parts of an outline: clipped, numbered, within a room of characters."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from .binaries import replace_codes

LONGEST_LINE = 240
"""Characters of one line in an outline."""
_LOOKED_AT = 4_000


def clip(line: str, most: int = LONGEST_LINE) -> str:
    """A line without the codes in it, cut where it is long."""
    if len(line) <= most:
        return line.rstrip()
    line = replace_codes(line[:_LOOKED_AT], lambda code: f"[{code.mime or 'encoded data'}, {code.size:,} characters]")
    return line.rstrip() if len(line) <= most else f"{line[: most - 1].rstrip()}…"


def taken(lines: Iterable[str], room: int, most: int = LONGEST_LINE) -> list[str]:
    """As many lines from the start as fit into `room` characters, clipped; the first alone may be cut to fit."""
    shown: list[str] = []
    for line in lines:
        part = clip(line, most)
        room -= len(part) + 1
        if room < 0:
            if not shown and room + len(part) > 20:
                shown.append(clip(part, room + len(part)))
            break
        shown.append(part)
    return shown


def last_taken(lines: Sequence[str], room: int) -> list[str]:
    """As many lines from the end as fit into `room` characters, clipped, in their order."""
    return taken(reversed(lines), room)[::-1]
