"""Pictures to pixels."""

from __future__ import annotations

import pytest

from anyact_server.errors import ScreenError
from anyact_server.grounding.screen import decode_picture, pictures

from .kit import Page


def test_a_picture_becomes_pixels() -> None:
    """Height, width and three channels; at another size too."""
    pixels = decode_picture(Page(40, 20, "#ff0000").png)
    assert pixels.shape == (20, 40, 3) and pixels[3, 3].tolist() == [255, 0, 0]
    assert pictures.resized(pixels, 80, 10).shape == (10, 80, 3)
    assert pictures.encode_bmp(pixels)[:2] == b"BM"


def test_what_is_no_picture_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """And what is too large."""
    with pytest.raises(ScreenError, match="cannot be read"):
        decode_picture(b"hello")
    monkeypatch.setattr(pictures, "MOST_PIXELS", 100)
    with pytest.raises(ScreenError, match="too many"):
        decode_picture(Page(40, 20).png)
