"""Arithmetic on pixels: connected parts, long runs, backgrounds. Pure functions of numpy arrays."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Pixels = NDArray[np.uint8]
"""Height x width x 3, red, green, blue."""
Mask = NDArray[np.bool_]
Boxes = NDArray[np.int32]
"""One row per box: left, top, right, bottom; right and bottom are outside."""


def components(mask: Mask) -> tuple[Boxes, NDArray[np.int32]]:
    """The connected parts of a mask (pixels that touch, also at a corner).

    Returns:
        The box of each part, and its number of pixels.
    """
    starts, ends, rows = _runs(mask)
    count = len(starts)
    if not count:
        return np.zeros((0, 4), np.int32), np.zeros(0, np.int32)
    stride = mask.shape[1] + 2
    first, last = starts + rows * stride, ends + rows * stride
    low = np.searchsorted(last - stride, first, "left")
    high = np.searchsorted(first - stride, last, "right")
    fan = np.maximum(high - low, 0)
    above = np.repeat(np.arange(count), fan)
    below = np.arange(len(above)) - np.repeat(np.cumsum(fan) - fan, fan) + np.repeat(low, fan)
    labels = _joined(count, above, below)
    _, numbers = np.unique(labels, return_inverse=True)
    boxes = np.empty((int(numbers.max()) + 1, 4), np.int32)
    boxes[:, :2], boxes[:, 2:] = 2**30, 0
    np.minimum.at(boxes[:, 0], numbers, starts)
    np.minimum.at(boxes[:, 1], numbers, rows)
    np.maximum.at(boxes[:, 2], numbers, ends)
    np.maximum.at(boxes[:, 3], numbers, rows + 1)
    sizes = np.bincount(numbers, ends - starts, len(boxes))
    return boxes, sizes.astype(np.int32)


def _runs(mask: Mask) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Start, end and row of every run of set pixels, row by row."""
    height, width = mask.shape
    padded = np.zeros((height, width + 2), np.int8)
    padded[:, 1:-1] = mask
    change = np.diff(padded, axis=1)
    rows, starts = np.nonzero(change == 1)
    _, ends = np.nonzero(change == -1)
    return starts, ends, rows


def _joined(count: int, one: NDArray[np.int64], other: NDArray[np.int64]) -> NDArray[np.int64]:
    """The least member of the connected part of each of `count` things, given pairs that touch."""
    labels = np.arange(count)
    while True:
        least = np.minimum(labels[one], labels[other])
        fresh = labels.copy()
        np.minimum.at(fresh, labels[one], least)
        np.minimum.at(fresh, labels[other], least)
        fresh = fresh[fresh]
        fresh = fresh[fresh]
        if np.array_equal(fresh, labels):
            return labels
        labels = fresh


def spans(line: NDArray[np.bool_]) -> list[tuple[int, int]]:
    """Start and end of every run of true values."""
    change = np.flatnonzero(np.diff(np.concatenate(([0], line.astype(np.int8), [0]))))
    return [(int(a), int(b)) for a, b in zip(change[::2], change[1::2], strict=True)]


def background(pixels: Pixels) -> NDArray[np.int16]:
    """The commonest colour, to the nearest 8 steps of each channel and then its mean."""
    flat = pixels.reshape(-1, 3)
    keys = (flat[:, 0].astype(np.int32) >> 3 << 10) | (flat[:, 1].astype(np.int32) >> 3 << 5) | flat[:, 2] >> 3
    common = np.bincount(keys).argmax()
    colour: NDArray[np.int16] = flat[keys == common].mean(axis=0).astype(np.int16)
    return colour


def contrast(pixels: Pixels, colour: NDArray[np.int16]) -> NDArray[np.int16]:
    """How far each pixel is from a colour, the largest difference of a channel."""
    far: NDArray[np.int16] = np.abs(pixels.astype(np.int16) - colour).max(axis=2)
    return far
