"""How many tokens a text costs, estimated without a vocabulary.

The text is cut into pieces the way cl100k does it (a word with one sign before it, up to three digits, a run of signs,
a run of blanks); every piece costs what pieces of its shape cost on average. The weights are a least-squares fit to
exact cl100k counts of 1,400 tool results, source files, documents and logs: median error 2 %, nineteen in twenty within
8 %. Texts over 20 KB are estimated from evenly spaced samples.
"""

from __future__ import annotations

import re
from collections import Counter
from functools import lru_cache
from math import ceil

SAMPLE_ABOVE = 20_000
_WINDOWS = 8
_WINDOW = 2_000
_ROUGH_ABOVE = 6_000
_ROUGH_WINDOW = 400


def _shape(code: int) -> str:
    char = chr(code)
    if char in "\r\n":
        return "\n"
    if char.isspace():
        return " "
    if char.isdigit():
        return "0"
    return "a" if char.islower() else "A" if char.isupper() else "."


_SHAPES = "".join(_shape(code) for code in range(128))
_PIECE = re.compile(r"[^\nAa0]?[Aa]+|0{1,3}| ?\.+\n*| *\n+| +(?![^ ])| +(?= )| +")
_HUMP = re.compile(r"aA|A{2,}a")

_FOREIGN = tuple(
    (re.compile(pattern), cost)
    for pattern, cost in (
        ("[\u0400-\u04ff]", 0.45),
        ("[\u00c0-\u024f]", 0.95),
        ("[\u0600-\u06ff]", 0.80),
        ("[\u3040-\u30ff]", 0.85),
        ("[\u4e00-\u9fff]", 0.95),
        ("[\u0590-\u05ff\u0370-\u03ff]", 1.05),
        ("[\uac00-\ud7af\u0900-\u0dff]", 1.10),
        ("[\U00010000-\U0010ffff]", 2.40),
    )
)
"""Tokens per character of the scripts outside ASCII, measured with cl100k on running text; other signs cost 1.2."""
_OTHER = 1.2
_NOT_ASCII = re.compile("[^\x00-\x7f]+")


def estimate(text: str) -> int:
    """Estimated cl100k tokens of a text; 0 for an empty one."""
    if len(text) <= SAMPLE_ABOVE:
        return ceil(_cost(text))
    step = (len(text) - _WINDOW) // (_WINDOWS - 1)
    sample = sum(_cost(text[start : start + _WINDOW]) for start in range(0, step * _WINDOWS, step))
    return ceil(sample * len(text) / (_WINDOW * _WINDOWS))


def rough(text: str) -> int:
    """A quicker estimate for texts of some length, from less of it; within some per cent of `estimate`."""
    if len(text) <= _ROUGH_ABOVE:
        return estimate(text)
    step = (len(text) - _ROUGH_WINDOW) // (_WINDOWS - 1)
    sample = sum(_cost(text[start : start + _ROUGH_WINDOW]) for start in range(0, step * _WINDOWS, step))
    return ceil(sample * len(text) / (_ROUGH_WINDOW * _WINDOWS))


def of_picture(width: int, height: int) -> int:
    """Tokens of a picture: one for every patch of 28 by 28 pixels, as vision models of 2026 bill it."""
    return ceil(width / 28) * ceil(height / 28)


def _cost(text: str) -> float:
    total = 0.0
    if not text.isascii():
        total, text = _foreign(text)
    shapes = Counter(_PIECE.findall(text.translate(_SHAPES)))
    return total + sum(_piece(shape) * count for shape, count in shapes.items())


def _foreign(text: str) -> tuple[float, str]:
    """The cost of what is not ASCII, and the rest of the text."""
    plain = text.encode("ascii", "ignore").decode("ascii")
    left = len(text) - len(plain)
    text = "".join(_NOT_ASCII.findall(text))
    total = 0.0
    for script, cost in _FOREIGN:
        if left <= 0:
            break
        count = len(script.findall(text))
        total += count * cost
        left -= count
    return total + max(left, 0) * _OTHER, plain


@lru_cache(maxsize=8192)
def _piece(shape: str) -> float:
    core = shape.lstrip(" .")
    if core.startswith(("a", "A")):
        before = 0.0 if shape[0] == " " else 0.41 if shape[0] == "." else 0.045
        return before + _word(core)
    if shape[0] == "0":
        return 0.96
    signs = shape.count(".")
    return 1.03 + 0.14 * max(0, signs - 2) if signs else 0.985


def _word(core: str) -> float:
    length = len(core)
    if core[1:].islower() or core.islower() or length == 1:
        for longest, cost in ((4, 0.95), (6, 0.99), (8, 1.04), (10, 1.44), (13, 1.43)):
            if length <= longest:
                return cost
        return 0.73 + 1.3 * (length - 13)
    if "a" not in core:
        return 0.85 + 0.24 * max(0, length - 3)
    return 0.95 + 0.96 * len(_HUMP.findall(core)) + 0.028 * length
