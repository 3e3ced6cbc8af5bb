"""From a strip of ink to words: a line recogniser (PP-OCR, CTC) for the letters, the ink itself for the places."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from .pictures import resized
from .pixels import Pixels
from .regions import Strip
from .values import Line, Word, script_of

HEIGHT = 48
"""Rows of the recogniser's input."""
MARGIN = 0.14
"""Of the height of the ink, above and below it in what the recogniser sees."""
STRIDE = 8
"""Columns of the input per step of the output."""
LEAST = 0.45
"""Mean probability below which a reading is thrown away."""
SPACE = 0.38
"""A gap of this many heights of the ink is a space even where the recogniser saw none."""

Recogniser = Callable[[NDArray[np.float32]], NDArray[np.float32]]


@dataclass(frozen=True, slots=True)
class Reading:
    """The letters of a strip, where the middle of each is (pixels from the left of the strip), and how sure."""

    letters: str
    places: tuple[float, ...]
    chances: tuple[float, ...]

    @property
    def confidence(self) -> float:
        return float(np.mean(self.chances)) if self.chances else 0.0


def prepare(pixels: Pixels, strip: Strip) -> tuple[NDArray[np.float32], float, int]:
    """What the recogniser sees of a strip, its scale, and the pixels added on the left."""
    tall, wide = pixels.shape[:2]
    margin = max(1, round(MARGIN * strip.height))
    side = max(2, round(0.25 * strip.height))
    top, bottom = max(0, strip.top - margin), min(tall, strip.bottom + margin)
    left, right = max(0, strip.left - side), min(wide, strip.right + side)
    scale = HEIGHT / (bottom - top)
    width = max(HEIGHT // 2, round((right - left) * scale))
    part = resized(pixels[top:bottom, left:right], width, HEIGHT)
    full = -(-width // STRIDE) * STRIDE
    values = np.empty((1, 3, HEIGHT, full), np.float32)
    values[0, :, :, :width] = part[..., ::-1].transpose(2, 0, 1)
    values[0, :, :, width:] = values[0, :, :, width - 1 : width]
    values /= 127.5
    values -= 1.0
    return values, scale, strip.left - left


def decode(steps: NDArray[np.float32], letters: Sequence[str], scale: float, added: int) -> Reading:
    """Collapse the steps of a CTC output (steps x letters, the first letter is the blank)."""
    best = steps.argmax(axis=1)
    chance = steps[np.arange(len(best)), best]
    text, places, chances = [], [], []
    start = 0
    while start < len(best):
        end = start
        while end < len(best) and best[end] == best[start]:
            end += 1
        if best[start]:
            text.append(letters[best[start]])
            places.append(((start + end) / 2) * STRIDE / scale - added)
            chances.append(float(chance[start:end].max()))
        start = end
    return Reading("".join(text), tuple(places), tuple(chances)) if all(map(len, text)) else Reading("", (), ())


def read_strip(pixels: Pixels, strip: Strip, recogniser: Recogniser, letters: Sequence[str]) -> Reading:
    """Recognise the letters of one strip."""
    values, scale, added = prepare(pixels, strip)
    return decode(recogniser(values)[0], letters, scale, added)


def words_of(strip: Strip, reading: Reading) -> Line | None:
    """Put the letters of a strip into words with the box of their ink; None where nothing was read."""
    if reading.confidence < LEAST or not reading.letters.strip():
        return None
    cuts = _cuts(strip, reading)
    words = []
    edges = [-1e9, *cuts, 1e9]
    for first, last in pairwise(edges):
        inside = [at for at, place in enumerate(reading.places) if first <= place < last]
        text = "".join(reading.letters[at] for at in inside).strip().replace(" ", "")
        spans = [span for span in strip.columns if first <= (span[0] + span[1]) / 2 < last]
        if not text or not spans:
            continue
        start, end = spans[0][0], spans[-1][1]
        rows = np.flatnonzero(strip.ink[:, start:end].any(axis=1))
        box = (
            float(strip.left + start),
            float(strip.top + int(rows[0])),
            float(strip.left + end),
            float(strip.top + int(rows[-1]) + 1),
        )
        words.append(Word(text, box, round(float(np.mean([reading.chances[at] for at in inside])), 3)))
    return Line(tuple(words)) if words else None


def _cuts(strip: Strip, reading: Reading) -> list[float]:
    """Where words end: the widest gap of the ink around every space that was read, and every wide gap."""
    gaps = [(one[1], other[0]) for one, other in pairwise(strip.columns)]
    chosen: set[tuple[int, int]] = set()
    slack = 0.3 * strip.height
    for at, letter in enumerate(reading.letters):
        if letter != " ":
            continue
        before = max((reading.places[i] for i in range(at) if reading.letters[i] != " "), default=None)
        after = min(
            (reading.places[i] for i in range(at + 1, len(reading.letters)) if reading.letters[i] != " "), default=None
        )
        if before is None or after is None:
            continue
        near = [gap for gap in gaps if before - slack <= (gap[0] + gap[1]) / 2 <= after + slack]
        if near:
            chosen.add(max(near, key=lambda gap: (gap[1] - gap[0], -abs((gap[0] + gap[1]) - before - after))))
    wide = SPACE if script_of(reading.letters) != "cjk" else 0.8
    chosen.update(gap for gap in gaps if gap[1] - gap[0] >= wide * strip.height)
    return sorted((gap[0] + gap[1]) / 2 for gap in chosen)
