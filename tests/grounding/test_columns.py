"""What the columns of many rows hold."""

from __future__ import annotations

from typing import Any

import pytest

from anyact_server.grounding.columns import Column, column, columns_of, standing_out, text_column, told


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ([3, 1, 2, 9, 4, 8, 0, 7], "0 (row 6) to 9 (row 3), sum 34, mean 4.25"),
        ([0.5, 0.25, 4.0, 1.5, 2.0, 3.0, 9.125], "0.25 (row 1) to 9.125 (row 6), sum 20.375, mean 2.9107"),
        ([1, 2, 3, 4, 5, 6, 7], "1 to 7, rising"),
        ([5, 5, 5], "always 5"),
        ([1, 0, 1, 0, 1, 0, 1], "1 4, 0 3"),
        (["a", "b", "a", "a"], "a 3, b 1"),
        (["x"] * 5, "always x"),
        ([f"v{at}" for at in range(20)], "all different"),
        ([f"v{at % 15}" for at in range(31)], "15 different, most often v0 (3)"),
        (["2026-02-01", "2026-01-01", "2026-03-01"], "2026-01-01 to 2026-03-01"),
        (["2026-02-01", "2026-01-01", "later", "later"], "3 different"),
        ([None, None], "always empty"),
        ([1, None, 3, 2, 7, 5, 4, 9], "1 (row 0) to 9 (row 7), sum 31, mean 4.4286, 1 missing"),
        ([[1], [1, 2, 3]], "lists of 1 to 3"),
        ([{"a": 1}, {"b": 2}], ""),
        ([{"a": 1}, None], "1 missing"),
        ([True, False, True, True], "true 3, false 1"),
    ],
)
def test_a_column_is_told_in_a_few_words(values: list[Any], words: str) -> None:
    """Range and sum of numbers, counts of recurring values, spans of time, what lacks."""
    assert column("c", values).words == words


def test_numbers_that_name_things_are_not_summed() -> None:
    """An id has a range; a sum of ids says nothing."""
    ids = [7, 3, 9, 1, 5, 8, 2]
    assert column("user_id", ids).words == "1 (row 3) to 9 (row 2), all different"
    assert "sum" in column("price", ids).words


def test_rare_values_and_extremes_point_at_their_rows() -> None:
    """The one failed row among many, and the largest and smallest number."""
    states = ["ok"] * 90
    states[41] = "failed"
    assert column("status", states).rare == (41,)
    amounts = [float(at * 7 % 50) for at in range(90)]
    found = [column("status", states), column("amount", amounts)]
    assert standing_out(found, range(0), 5) == sorted({41, amounts.index(49.0), 0})
    assert standing_out(found, range(0, 50), 5) == []


def test_a_column_of_texts_is_read_as_numbers_where_all_are() -> None:
    """One word among them makes it a column of texts."""
    assert text_column("n", ["3", "1", "2", "", "12", "7", "9", "8"]).words.startswith("1 (row 1) to 12 (row 4)")
    assert text_column("n", [*(str(at) for at in range(80)), "none"]).words == "all different"
    assert text_column("n", ["1.5", "0.5", "2.5", "7.5", "3.5", "9.5", "8"]).words.startswith("0.5 (row 1)")


def test_columns_are_told_within_a_room() -> None:
    """Whole parts only; columns of which nothing can be said are passed over."""
    columns = columns_of([{"a": 1, "b": "x", "c": {}}, {"a": 2, "b": "x", "c": {}}])
    assert told(columns, 200) == "a: 1 to 2, rising; b: always x"
    assert told(columns, 20) == "a: 1 to 2, rising"
    assert told([Column("z")], 99) == ""


def test_long_values_are_shortened() -> None:
    """A column of long texts takes no more room than one of short ones."""
    assert column("c", ["long " * 40] * 3).words == f"always {('long ' * 40)[:39]}…"
