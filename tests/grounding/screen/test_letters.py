"""From strips to words."""

from __future__ import annotations

import numpy as np
import pytest

from anyact_server.grounding.screen import ScreenReader, overlap
from anyact_server.grounding.screen.letters import Reading, decode, words_of
from anyact_server.grounding.screen.regions import Strip

from .kit import settings_page


def test_repeated_steps_are_one_letter_and_blanks_divide() -> None:
    """As CTC has it."""
    steps = np.zeros((7, 4), np.float32)
    for at, letter in enumerate([1, 1, 0, 1, 2, 0, 3]):
        steps[at, letter] = 0.9
    reading = decode(steps, ("", "a", "b", " "), 1.0, 0)
    assert reading.letters == "aab "
    assert reading.places == (8.0, 28.0, 36.0, 52.0)
    assert reading.confidence == pytest.approx(0.9)


def strip(*columns: tuple[int, int]) -> Strip:
    """Ink in these columns, ten rows high."""
    ink = np.zeros((10, columns[-1][1]), np.bool_)
    for start, end in columns:
        ink[:, start:end] = True
    return Strip(100, 50, 100 + columns[-1][1], 60, columns, ink)


def test_a_space_that_was_read_cuts_the_widest_gap_near_it() -> None:
    """Though another gap is nearer to its place."""
    line = words_of(strip((0, 5), (6, 10), (14, 20)), Reading("ab c", (2, 8, 10, 17), (0.9,) * 4))
    assert line is not None
    assert [(word.text, word.box) for word in line.words] == [("ab", (100, 50, 110, 60)), ("c", (114, 50, 120, 60))]


def test_a_wide_gap_cuts_though_no_space_was_read() -> None:
    """But not between ideographs."""
    columns = ((0, 6), (11, 16))
    line = words_of(strip(*columns), Reading("ab", (3, 13), (0.9, 0.9)))
    assert line is not None and line.text == "a b"
    line = words_of(strip(*columns), Reading("中文", (3, 13), (0.9, 0.9)))
    assert line is not None and line.text == "中文"


@pytest.mark.parametrize(
    "reading", [Reading("", (), ()), Reading("ab", (3, 13), (0.2, 0.2)), Reading(" ", (3,), (0.9,))]
)
def test_what_was_not_read_is_no_line(reading: Reading) -> None:
    """Neither blank nor unsure."""
    assert words_of(strip((0, 6), (11, 16)), reading) is None


@pytest.mark.parametrize(("ground", "ink"), [("#ffffff", "#202124"), ("#1e1e1e", "#d4d4d4")])
def test_a_page_is_read_word_for_word(reader: ScreenReader, ground: str, ink: str) -> None:
    """With the place of every word."""
    page = settings_page(ground, ink)
    words = reader.read(page.pixels).words
    assert [word.text for word in words] == [text for text, _ in page.words]
    for word, (_, box) in zip(words, page.words, strict=True):
        assert overlap(word.box, box) > 0.6
