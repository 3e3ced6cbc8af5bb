"""Pictures to pixels and back. Only this file loads Pillow for screens, on first use."""

from __future__ import annotations

import io
from functools import cache
from typing import Any

import numpy as np

from anyact_server.errors import ScreenError

from .pixels import Pixels

MOST_PIXELS = 64_000_000
"""Larger pictures (200 MB decoded) are not opened."""


@cache
def _pillow() -> Any:
    from PIL import Image

    Image.MAX_IMAGE_PIXELS = None  # Pillow's own check warns or raises at other sizes; ours comes before any decoding
    return Image


def decode_picture(data: bytes) -> Pixels:
    """The pixels of a picture file.

    Raises:
        ScreenError: it is no picture that can be read, or has too many pixels.
    """
    try:
        with _pillow().open(io.BytesIO(data)) as image:
            if image.size[0] * image.size[1] > MOST_PIXELS:
                raise ScreenError(f"the picture has {image.size[0]:,} x {image.size[1]:,} pixels, too many to be read")
            return np.array(image.convert("RGB"))
    except (OSError, ValueError, SyntaxError) as error:
        raise ScreenError(f"the picture cannot be read: {error}") from error


def resized(pixels: Pixels, width: int, height: int) -> Pixels:
    """The pixels at another size, by cubic interpolation."""
    pillow = _pillow()
    return np.array(pillow.fromarray(pixels).resize((width, height), pillow.Resampling.BICUBIC))


def encode_bmp(pixels: Pixels) -> bytes:
    """A picture file of grey levels that costs nothing to write or read."""
    buffer = io.BytesIO()
    _pillow().fromarray(pixels).convert("L").save(buffer, "BMP")
    return buffer.getvalue()
