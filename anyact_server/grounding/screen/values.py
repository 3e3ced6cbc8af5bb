"""What a screen holds: words, lines and elements, in pixels of the picture that was looked at."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

Box = tuple[float, float, float, float]
"""Left, top, right and bottom in pixels; right and bottom are outside."""

SCRIPTS = ("latin", "cjk", "cyrillic", "greek", "arabic", "hebrew", "devanagari", "thai", "hangul")
"""Scripts that are told apart; every other one is `other`, and what has no letters is `none`."""
_NAMES = {"HIRAGANA": "cjk", "KATAKANA": "cjk", "CJK": "cjk"}


@dataclass(frozen=True, slots=True)
class Word:
    """One word. `confidence` 0 to 1."""

    text: str
    box: Box
    confidence: float = 1.0


@dataclass(frozen=True, slots=True)
class Line:
    """Words that stand side by side, in the order they are read."""

    words: tuple[Word, ...]

    @property
    def text(self) -> str:
        return " ".join(word.text for word in self.words)

    @property
    def box(self) -> Box:
        return around(word.box for word in self.words)


@dataclass(frozen=True, slots=True)
class Element:
    """Something that can be acted on.

    Attributes:
        id: stable from one observation to the next while the element stays.
        role: button, link, textbox, checkbox, radio, switch, slider, tab, menuitem, combobox, row, ...
        text: what it says, or its accessible name; empty where nothing is known.
        value: what it holds (fields), None where it holds nothing.
        box: where it is, None where only a tree without places told of it.
        point: where to click, None without a box.
        states: checked, disabled, focused, expanded, selected.
        source: `pixels`, `tree`, or `both`.
        ref: the address that the source of a tree uses for it.
    """

    role: str
    text: str = ""
    box: Box | None = None
    id: str = ""
    value: str | None = None
    point: tuple[int, int] | None = None
    states: tuple[str, ...] = ()
    confidence: float = 1.0
    source: str = "pixels"
    ref: str | None = None


@dataclass(frozen=True, slots=True)
class Screen:
    """Everything that was read off one picture or tree.

    Attributes:
        size: width and height in pixels; (0, 0) where only a tree is known.
        lines: in reading order.
        elements: in reading order.
        engine: what read the text, empty when nothing could.
        notes: what the reader should know, in words.
    """

    size: tuple[int, int]
    lines: tuple[Line, ...] = ()
    elements: tuple[Element, ...] = ()
    engine: str = ""
    notes: tuple[str, ...] = field(default=())

    @property
    def words(self) -> tuple[Word, ...]:
        return tuple(word for line in self.lines for word in line.words)


def around(boxes: Iterable[Box]) -> Box:
    """The smallest box around others.

    Raises:
        ValueError: there are none.
    """
    listed = list(boxes)
    return (
        min(box[0] for box in listed),
        min(box[1] for box in listed),
        max(box[2] for box in listed),
        max(box[3] for box in listed),
    )


def area(box: Box) -> float:
    """Square pixels; 0 for a box inside out."""
    return max(0.0, box[2] - box[0]) * max(0.0, box[3] - box[1])


def shared(one: Box, other: Box) -> float:
    """Square pixels that two boxes have in common."""
    return area((max(one[0], other[0]), max(one[1], other[1]), min(one[2], other[2]), min(one[3], other[3])))


def overlap(one: Box, other: Box) -> float:
    """Intersection over union, 0 to 1."""
    both = shared(one, other)
    whole = area(one) + area(other) - both
    return both / whole if whole > 0 else 0.0


def centre(box: Box) -> tuple[int, int]:
    """The pixel in the middle."""
    return int((box[0] + box[2]) / 2), int((box[1] + box[3]) / 2)


def holds(box: Box, point: tuple[float, float]) -> bool:
    """Whether a point lies inside."""
    return box[0] <= point[0] < box[2] and box[1] <= point[1] < box[3]


def script_of(text: str) -> str:
    """The script that most letters of a text belong to, `none` where it has no letters."""
    counts: dict[str, int] = {}
    for letter in text:
        if letter.isalpha():
            script = _script(letter)
            counts[script] = counts.get(script, 0) + 1
    return max(counts, key=lambda name: counts[name]) if counts else "none"


def _script(letter: str) -> str:
    if letter.isascii():
        return "latin"
    first = unicodedata.name(letter, "").split(" ")[0].split("-")[0]
    name = _NAMES.get(first, first.lower())
    return name if name in SCRIPTS else ("latin" if first in ("FULLWIDTH", "ORDINAL", "FEMININE") else "other")


def in_reading_order(lines: Sequence[Line]) -> list[Line]:
    """Lines from top to bottom, those of one height from left to right."""
    rest = sorted(lines, key=lambda line: (line.box[1] + line.box[3]) / 2)
    rows: list[list[Line]] = []
    for line in rest:
        _, top, _, bottom = line.box
        if rows:
            first = rows[-1][0].box
            if (top + bottom) / 2 < first[3] and abs((top + bottom) - (first[1] + first[3])) < (bottom - top):
                rows[-1].append(line)
                continue
        rows.append([line])
    return [line for row in rows for line in sorted(row, key=lambda one: one.box[0])]
