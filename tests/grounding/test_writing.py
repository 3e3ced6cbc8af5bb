"""Values as lines, with words for what is cut."""

from __future__ import annotations

from anyact_server.grounding.pruning import Cut, Gap
from anyact_server.grounding.writing import as_json, encode
from anyact_server.types import Json


def rows(about: str) -> list[Json]:
    """Three like rows, a gap, and the last."""
    gap = Cut(Gap("/r", "items", 96), "… 96 more items (3 to 98): /r", about)
    return [
        *({"id": at, "city": "Oslo", "n": "some words here"} for at in range(3)),
        gap,
        {"id": 99, "city": "Oslo", "n": "x"},
    ]


def test_a_cut_table_tells_its_columns_above_its_rows() -> None:
    """What is the same in every row is known to be so only where it is told of all of them."""
    text = encode(rows("id: 0 to 99, rising; city: always Oslo; n: all different"))
    assert text.split("\n")[:3] == [
        "[100] id|n",
        "columns: id: 0 to 99, rising; city: always Oslo; n: all different",
        "0|some words here",
    ]
    assert text.split("\n")[-2:] == ["… 96 more items (3 to 98): /r", "99|x"]
    assert encode(rows("id: 0 to 99, rising; city: Oslo 99, Rome 1")).startswith("[100] id|city|n\n")


def test_a_cut_table_without_description_speaks_of_the_rows_shown() -> None:
    """And a whole one of every row."""
    assert "\nevery row shown: city=Oslo\n" in encode(rows(""))
    whole: list[Json] = [{"id": at, "city": "Oslo", "more": "some words"} for at in range(9)]
    assert "\nevery row: city=Oslo; more=some words\n" in encode(whole)


def test_gaps_are_written_in_json_as_their_words() -> None:
    """With the description."""
    gap = Cut(Gap("/a", "items", 2), None, "always 1")
    assert as_json([1, gap]) == '[1,"… 2 more items: /a; always 1"]'
