"""Reads screens: text from whatever is installed, and nothing twice that did not change."""

from __future__ import annotations

import hashlib
from collections import OrderedDict
from dataclasses import dataclass

import numpy as np

from anyact_server.errors import ScreenError

from . import models, tesseract
from .letters import Reading, read_strip, words_of
from .pixels import Pixels
from .regions import Strip, find_strips
from .values import Line, Screen, in_reading_order

KEPT_SCREENS = 8
"""Sequences of screens of which the last one is kept."""
KEPT_READINGS = 20_000
"""Strips whose reading is kept; about 1 KB each."""
NOTHING = "no text was read: install the extra anyact-server[screen], or the program tesseract"


def engines() -> tuple[str, ...]:
    """What can read text here, the best first."""
    found = ("ppocr",) if models.installed() else ()
    return (*found, "tesseract") if tesseract.languages() else found


@dataclass(frozen=True, slots=True)
class _Seen:
    """The last screen of a sequence."""

    pixels: Pixels
    screen: Screen


class ScreenReader:
    """Reads screens one after the other; what did not change is not read again. Not for several threads at once.

    Args:
        engine: `ppocr`, `tesseract`, `none`, or empty for the best that is there.

    Raises:
        ScreenError: the engine is not installed.
    """

    def __init__(self, engine: str = "") -> None:
        there = engines()
        if engine and engine != "none" and engine not in there:
            raise ScreenError(f"{engine} is not installed", hint=f"There is: {', '.join((*there, 'none'))}.")
        self.engine = engine or next(iter(there), "none")
        self._seen: OrderedDict[str, _Seen] = OrderedDict()
        self._readings: OrderedDict[bytes, Reading] = OrderedDict()
        self._networks: tuple[models.Network, models.Network, tuple[str, ...]] | None = None

    def read(self, pixels: Pixels, sequence: str = "") -> Screen:
        """Read one screen.

        Args:
            pixels: height x width x 3.
            sequence: screens that follow one another share this name.

        Raises:
            ScreenError: the engine fails.
        """
        last = self._seen.get(sequence)
        if last is not None and np.array_equal(last.pixels, pixels):
            self._seen.move_to_end(sequence)
            return last.screen
        lines = self._lines(pixels)
        notes = () if self.engine != "none" else (NOTHING,)
        screen = Screen((pixels.shape[1], pixels.shape[0]), tuple(in_reading_order(lines)), (), self.engine, notes)
        self._seen[sequence] = _Seen(pixels, screen)
        if len(self._seen) > KEPT_SCREENS:
            self._seen.popitem(last=False)
        return screen

    def warm_up(self) -> None:
        """Load the models now."""
        if self.engine == "ppocr":
            self._loaded()

    def _lines(self, pixels: Pixels) -> list[Line]:
        if self.engine == "none":
            return []
        if self.engine == "tesseract":
            return tesseract.read_text(pixels)
        detector, _, _ = self._loaded()
        lines = [words_of(strip, self._read(pixels, strip)) for strip in find_strips(pixels, detector)]
        return [line for line in lines if line is not None]

    def _loaded(self) -> tuple[models.Network, models.Network, tuple[str, ...]]:
        if self._networks is None:
            files = models.load_files()
            self._networks = (models.Network(files.detector), models.Network(files.recogniser), files.letters)
        return self._networks

    def _read(self, pixels: Pixels, strip: Strip) -> Reading:
        """The reading of a strip, from memory where the same pixels were read before."""
        _, recogniser, letters = self._loaded()
        part = pixels[strip.top : strip.bottom, strip.left : strip.right]
        key = hashlib.blake2b(part.tobytes() + bytes(str(part.shape), "ascii"), digest_size=16).digest()
        found = self._readings.get(key)
        if found is not None:
            self._readings.move_to_end(key)
            return found
        reading = read_strip(pixels, strip, recogniser, letters)
        self._readings[key] = reading
        if len(self._readings) > KEPT_READINGS:
            self._readings.popitem(last=False)
        return reading
