"""Screens: pictures and trees become the same words, lines and elements.

Primitives: `ScreenReader` reads pixels, `decode_picture` makes them of a file, `render_screen` gives the lines that a
model reads; `Screen`, `Line`, `Word` and `Element` are the values. It does not know where a picture came from or who
asked.
"""

from .pictures import decode_picture
from .reader import ScreenReader, engines
from .render import render_screen
from .values import Box, Element, Line, Screen, Word, area, around, centre, holds, overlap, script_of

__all__ = [
    "Box",
    "Element",
    "Line",
    "Screen",
    "ScreenReader",
    "Word",
    "area",
    "around",
    "centre",
    "decode_picture",
    "engines",
    "holds",
    "overlap",
    "render_screen",
    "script_of",
]
