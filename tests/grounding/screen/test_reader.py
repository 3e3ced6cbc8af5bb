"""Reading screens one after the other."""

from __future__ import annotations

import time

import numpy as np
import pytest

from anyact_server.grounding.screen import ScreenReader, models, tesseract
from anyact_server.grounding.screen import reader as reading

from .kit import settings_page


def test_the_same_screen_is_not_read_twice(reader: ScreenReader) -> None:
    """Another one is."""
    page = settings_page()
    first = reader.read(page.pixels, "one")
    before = time.process_time()
    assert reader.read(page.pixels, "one") is first
    assert time.process_time() - before < 0.02
    page.write(300, 280, "Saved", 15)
    second = reader.read(page.pixels, "one")
    assert second.words[-1].text == "Saved" and len(second.words) == len(first.words) + 1


def test_few_sequences_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    """The oldest goes."""
    monkeypatch.setattr(reading, "KEPT_SCREENS", 1)
    reader = ScreenReader("none")
    page = settings_page().pixels
    first = reader.read(page, "a")
    reader.read(page, "b")
    assert reader.read(page, "a") is not first


def test_without_anything_installed_the_screen_says_so(monkeypatch: pytest.MonkeyPatch, tmp_path: object) -> None:
    """No text, and a note with what to install."""
    monkeypatch.setattr(models, "CARRIER", "no_such_package")
    monkeypatch.setenv("PATH", str(tmp_path))
    tesseract.languages.cache_clear()
    try:
        reader = ScreenReader()
        assert reader.engine == "none"
        reader.warm_up()
        screen = reader.read(np.full((64, 64, 3), 255, np.uint8))
        assert screen.words == () and "anyact-server[screen]" in screen.notes[0]
    finally:
        tesseract.languages.cache_clear()


def test_readings_are_kept_within_a_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    """The oldest go."""
    monkeypatch.setattr(reading, "KEPT_READINGS", 2)
    reader = ScreenReader("ppocr")
    page = settings_page()
    reader.read(page.pixels)
    assert len(reader._readings) == 2
