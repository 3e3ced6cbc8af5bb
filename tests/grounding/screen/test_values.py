"""Boxes, scripts and the order of lines."""

from __future__ import annotations

import pytest

from anyact_server.grounding.screen import Line, Screen, Word, around, centre, holds, overlap, script_of
from anyact_server.grounding.screen.values import in_reading_order


def line(text: str, left: float, top: float, height: float = 10) -> Line:
    return Line(
        tuple(
            Word(word, (left + 40 * at, top, left + 40 * at + 30, top + height)) for at, word in enumerate(text.split())
        )
    )


def test_boxes_are_measured() -> None:
    """Around, in the middle, overlapping."""
    assert around([(0, 5, 10, 10), (3, 1, 12, 6)]) == (0, 1, 12, 10)
    assert centre((0, 0, 10, 20)) == (5, 10)
    assert holds((0, 0, 10, 10), (0, 9.5)) and not holds((0, 0, 10, 10), (10, 5))
    assert overlap((0, 0, 10, 10), (0, 0, 10, 5)) == pytest.approx(0.5)
    assert overlap((0, 0, 10, 10), (20, 0, 30, 10)) == 0 == overlap((0, 0, 0, 0), (0, 0, 0, 0))
    with pytest.raises(ValueError):
        around([])


@pytest.mark.parametrize(
    ("text", "script"),
    [
        ("Grüße, 12", "latin"),
        ("Доставка", "cyrillic"),
        ("東京カナかな", "cjk"),
        ("مرحبا", "arabic"),
        ("Ωμέγα", "greek"),
        ("12 %", "none"),
        ("ﬁ", "latin"),
        ("ꠀ", "other"),
    ],
)
def test_the_script_of_a_text_is_that_of_most_letters(text: str, script: str) -> None:
    """What has no letters has no script."""
    assert script_of(text) == script


def test_lines_are_read_from_top_to_bottom_and_along_a_row() -> None:
    """A row is what stands at one height, though a pixel or two apart."""
    lines = [line("right", 300, 11), line("below", 0, 40), line("left side", 0, 10)]
    ordered = in_reading_order(lines)
    assert [one.text for one in ordered] == ["left side", "right", "below"]
    assert [word.text for word in Screen((640, 320), tuple(ordered)).words] == ["left", "side", "right", "below"]
