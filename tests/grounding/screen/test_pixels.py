"""Connected parts, runs, backgrounds."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from anyact_server.grounding.screen.pixels import Mask, background, components, contrast, spans


def flooded(mask: Mask) -> list[tuple[tuple[int, ...], int]]:
    """Connected parts the slow way."""
    left = {(int(y), int(x)) for y, x in zip(*np.nonzero(mask), strict=True)}
    found = []
    while left:
        todo, part = [left.pop()], []
        while todo:
            y, x = todo.pop()
            part.append((y, x))
            near = {(y + a, x + b) for a in (-1, 0, 1) for b in (-1, 0, 1)} & left
            left -= near
            todo += near
        rows, columns = [y for y, _ in part], [x for _, x in part]
        found.append(((min(columns), min(rows), max(columns) + 1, max(rows) + 1), len(part)))
    return sorted(found)


@given(st.integers(0, 2**32 - 1), st.integers(1, 12), st.integers(1, 12), st.floats(0.1, 0.8))
def test_connected_parts_are_those_of_a_flood(seed: int, height: int, width: int, share: float) -> None:
    """Boxes and sizes, pixels that touch at a corner included."""
    mask = np.random.default_rng(seed).random((height, width)) < share
    boxes, sizes = components(mask)
    got = sorted((tuple(box), size) for box, size in zip(boxes.tolist(), sizes.tolist(), strict=True))
    assert got == flooded(mask)


def test_nothing_has_no_parts() -> None:
    """An empty mask."""
    boxes, sizes = components(np.zeros((4, 4), np.bool_))
    assert boxes.shape == (0, 4) and sizes.shape == (0,)


def test_runs_of_a_line_are_found() -> None:
    """At both ends too."""
    assert spans(np.array([True, True, False, True])) == [(0, 2), (3, 4)]
    assert spans(np.zeros(3, np.bool_)) == []


def test_the_background_is_the_commonest_colour() -> None:
    """And everything else stands out against it."""
    pixels = np.full((10, 10, 3), (250, 240, 230), np.uint8)
    pixels[2:4, 2:4] = (10, 20, 30)
    ground = background(pixels)
    assert ground.tolist() == [250, 240, 230]
    far = contrast(pixels, ground)
    assert far[0, 0] == 0 and far[2, 2] == 240
