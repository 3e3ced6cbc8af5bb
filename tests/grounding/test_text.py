"""Cleaning and shortening of text."""

from __future__ import annotations

import pytest

from anyact_server.grounding import estimate
from anyact_server.grounding.text import clean, shorten


@pytest.mark.case("E1")
@pytest.mark.parametrize(
    ("text", "cleaned", "removed"),
    [
        ("plain", "plain", ()),
        ("two\nlines\t", "two\nlines\t", ()),
        ("\x1b[1;31mred\x1b[0m and \x1b]0;title\x07rest", "red and rest", ("terminal colours removed",)),
        ("a\u200bb\x00c\ufeff", "abc", ("invisible characters removed",)),
        ("\u202edesrever\u202c", "desrever", ("invisible characters removed",)),
        ("half \ud83d emoji", "half \ufffd emoji", ("bad characters replaced",)),
        ("a\r\nb\rc", "a\nb\nc", ()),
        ("e\u0301", "é", ()),
        ("family 👨\u200d👩\u200d👧", "family 👨\u200d👩\u200d👧", ()),
        ("line\u2028end", "line\u2028end", ()),
    ],
)
def test_what_no_reader_sees_is_removed_and_named(text: str, cleaned: str, removed: tuple[str, ...]) -> None:
    """Terminal codes, controls, zero-width and direction marks go; joined emoji and separators stay."""
    result = clean(text)
    assert (result.text, result.removed) == (cleaned, removed)


def test_a_text_within_the_budget_stays_whole() -> None:
    """Nothing is cut and nothing said."""
    assert shorten("a b c " * 50, 400, "rest").text == "a b c " * 50


@pytest.mark.case("B1")
def test_a_long_text_keeps_head_and_tail_and_says_what_is_missing() -> None:
    """The gap names characters, lines and where the rest is."""
    text = "\n".join(f"line {number} of the log" for number in range(200_000))
    shown = shorten(text, 500, "rest: obs_x")
    assert shown.text.startswith("line 0 of the log\n")
    assert shown.text.endswith("line 199999 of the log")
    assert f"of {len(text):,} characters left out" in shown.text
    assert "of 200,000; rest: obs_x]" in shown.text
    assert estimate(shown.text) <= 500
    assert shown.characters > len(text) * 0.99


def test_lines_that_sound_like_trouble_are_noticed_between() -> None:
    """One of each sort, with its line number; repeats are folded."""
    lines = [f"step {number} went well" for number in range(5000)]
    lines[1000] = "ERROR 17: disk is full"
    lines[1200] = "ERROR 18: disk is full"
    lines[4800] = "Traceback (most recent call last):"
    shown = shorten("\n".join(lines), 600, "rest").text
    assert "1001: ERROR 17: disk is full" in shown
    assert "ERROR 18" not in shown
    assert "4801: Traceback" in shown


def test_one_endless_line_is_cut_within_the_budget() -> None:
    """No line ends anywhere, and still head, tail and size."""
    shown = shorten("x" * 1_000_000, 300, "rest")
    assert estimate(shown.text) <= 300
    assert shown.text.startswith("xxx") and shown.text.endswith("xxx")
    assert "of 1,000,000 characters" in shown.text


def test_only_what_is_shown_is_polished() -> None:
    """Of a long text the two ends go through the polish, cut between words."""
    seen: list[str] = []

    def polish(part: str) -> str:
        seen.append(part)
        return part.upper()

    shown = shorten("some words\n" * 100_000, 200, "rest", polish)
    assert len(seen) == 2 and sum(map(len, seen)) < 200_000
    assert shown.text.startswith("SOME WORDS") and shown.text.endswith("SOME WORDS\n")


def test_a_polish_that_makes_a_long_text_short_leaves_it_whole() -> None:
    """A text that was all one code needs no gap."""
    shown = shorten("x" * 500_000, 100, "rest", lambda part: "[code]" if part else "")
    assert (shown.text, shown.characters) == ("[code]", 0)


def test_a_tiny_budget_still_gives_something() -> None:
    """Even where the gap itself is larger than the budget."""
    shown = shorten("word " * 10_000, 10, "rest")
    assert shown.text and len(shown.text) < 400
