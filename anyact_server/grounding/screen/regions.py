"""Where text is: strips of ink that belong to one line, found with a text detector and then set to the ink.

The detector (PP-OCR's DB network) marks the middle of each line; everything exact comes from the pixels themselves.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .pixels import Mask, Pixels, background, components, contrast, spans

LEAST = 0.3
"""Least probability of a text pixel, as in the DB paper (Liao et al., 2020)."""
SURE = 0.5
"""Least mean probability of a line."""
UNCLIP = 1.7
"""How far a marked middle is grown: area x this / perimeter (DB paper, section 3.5)."""
INK = 0.28
"""Share of a line's strongest contrast from which a pixel counts as ink."""
FAINT = 16
"""Contrast below this (of 255) is no ink."""
APART = 1.15
"""A gap wider than this, in heights of the ink, divides pieces of text."""

Detector = Callable[[NDArray[np.float32]], NDArray[np.float32]]


@dataclass(frozen=True, slots=True)
class Strip:
    """A piece of a line.

    Attributes:
        left, top, right, bottom: of the ink, in pixels of the screen.
        columns: start and end of every run of columns with ink, counted from `left`.
        ink: the mask of the ink.
    """

    left: int
    top: int
    right: int
    bottom: int
    columns: tuple[tuple[int, int], ...]
    ink: Mask

    @property
    def height(self) -> int:
        return self.bottom - self.top


def find_strips(pixels: Pixels, detector: Detector) -> list[Strip]:
    """Every piece of text on a screen, unread, in no order."""
    chance = _chance(pixels, detector)
    boxes, sizes = components(chance > LEAST)
    strips: list[Strip] = []
    for (left, top, right, bottom), size in zip(boxes.tolist(), sizes.tolist(), strict=True):
        width, height = right - left, bottom - top
        if height < 2 or width < 2 or float(chance[top:bottom, left:right].mean()) < SURE * size / (width * height):
            continue
        grow = size * UNCLIP / (2 * (width + height))
        strips += _strips(pixels, (left, top, right, bottom), grow)
    return _distinct(strips)


def _chance(pixels: Pixels, detector: Detector) -> NDArray[np.float32]:
    """The probability that each pixel is in the middle of a line."""
    height, width = pixels.shape[:2]
    tall, wide = -(-height // 32) * 32, -(-width // 32) * 32
    values = np.full((1, 3, tall, wide), 0.0, np.float32)
    values[0, :, :height, :width] = pixels[..., ::-1].transpose(2, 0, 1)
    values[0, :, :height, :width] /= 127.5
    values[0, :, :height, :width] -= 1.0
    return detector(values)[0, 0, :height, :width]


def _strips(pixels: Pixels, middle: tuple[int, int, int, int], grow: float) -> list[Strip]:
    """The pieces of one marked line, set to their ink."""
    left, top, right, bottom = middle
    tall, wide = pixels.shape[:2]
    side, above = int(grow + 2), int(grow * 1.6 + 2)
    x0, x1 = max(0, left - side), min(wide, right + side)
    y0, y1 = max(0, top - above), min(tall, bottom + above)
    part = pixels[y0:y1, x0:x1]
    inner = part[max(0, int(above - grow)) : (bottom - y0) + int(grow)]
    far = contrast(part, background(inner))
    core = far[max(0, top - y0 - int(grow)) : bottom - y0 + int(grow)]
    strongest = float(np.percentile(core, 99)) if core.size else 0.0
    ink = far > max(FAINT, INK * strongest)
    ink &= ~_rules(ink, (bottom - top) + 2 * grow)
    first, last = _rows(ink, top - y0, bottom - y0)
    if last - first < 3:
        return []
    ink = ink[first:last]
    columns = spans(np.any(ink, axis=0))
    pieces = _pieces(columns, APART * (last - first))
    strips = []
    for piece in pieces:
        start, end = piece[0][0], piece[-1][1]
        mask = ink[:, start:end]
        rows = np.flatnonzero(mask.any(axis=1))
        mask = mask[rows[0] : rows[-1] + 1]
        place = (x0 + start, y0 + first + int(rows[0]), x0 + end, y0 + first + int(rows[-1]) + 1)
        if place[3] - place[1] >= 4 or place[2] - place[0] >= 4:
            strips.append(Strip(*place, tuple((a - start, b - start) for a, b in piece), mask))
    return strips


def _rules(ink: Mask, height: float) -> Mask:
    """Lines that are drawn, not written: rows of ink far longer than a letter."""
    found = np.zeros_like(ink)
    longest = max(24, int(2.2 * height))
    for row in np.flatnonzero(ink.sum(axis=1) >= longest):
        for start, end in spans(ink[row]):
            if end - start >= longest:
                found[row, start:end] = True
    return found


def _rows(ink: Mask, top: int, bottom: int) -> tuple[int, int]:
    """First and last row of the ink around a marked middle, up to the nearest empty rows."""
    filled: NDArray[np.bool_] = np.any(ink, axis=1)
    first, last = top, bottom
    while first > 0 and filled[first - 1]:
        first -= 1
    while last < len(filled) and filled[last]:
        last += 1
    first = _dots(filled, first)
    while first < last and not filled[first]:
        first += 1
    while last > first and not filled[last - 1]:
        last -= 1
    return first, last


def _dots(filled: NDArray[np.bool_], first: int) -> int:
    """The first row with marks that float above letters: dots, accents."""
    for gap in (1, 2):
        at = first - gap - 1
        if at >= 0 and filled[at] and not filled[at + 1 : first].any():
            start = at
            while start > 0 and filled[start - 1]:
                start -= 1
            if at - start < 4 and start > 0:
                return start
    return first


def _pieces(columns: list[tuple[int, int]], apart: float) -> list[list[tuple[int, int]]]:
    pieces: list[list[tuple[int, int]]] = []
    for span in columns:
        if pieces and span[0] - pieces[-1][-1][1] <= apart:
            pieces[-1].append(span)
        else:
            pieces.append([span])
    return pieces


def _distinct(strips: list[Strip]) -> list[Strip]:
    """Strips without those that lie in another."""
    kept: list[Strip] = []
    for strip in sorted(strips, key=lambda one: -(one.right - one.left) * one.height):
        inside = any(
            min(strip.right, other.right) - max(strip.left, other.left) > 0.6 * (strip.right - strip.left)
            and min(strip.bottom, other.bottom) - max(strip.top, other.top) > 0.6 * strip.height
            for other in kept
        )
        if not inside:
            kept.append(strip)
    return kept
