"""Tables of texts."""

from __future__ import annotations

from anyact_server.grounding.grids import grid_outline, records, rows_of

TABLE = "name;note;n\n" + "\n".join(f'p{at};"a ""quoted"" note";{at * 7 % 100}' for at in range(200)) + "\n"


def test_rows_become_objects() -> None:
    """Under the names of the head; a text that is no table becomes nothing."""
    assert rows_of("a,b\n1,x\n2,y\n3,z\n") == [{"a": "1", "b": "x"}, {"a": "2", "b": "y"}, {"a": "3", "b": "z"}]
    assert rows_of("just words") is None


def test_a_table_shows_head_columns_first_rows_and_the_last() -> None:
    """The signs between and around its cells are kept."""
    make = grid_outline(TABLE, "rest: H")
    assert make is not None
    shown, kept = make(900)
    assert shown.startswith("[table, 200 rows, 3 columns; rows count from 0; rest: H]\n[columns: name: all different;")
    assert 'p0;"a ""quoted"" note";0' in shown
    assert shown.rstrip().endswith('p199;"a ""quoted"" note";93')
    assert "sum " in shown
    assert 0 < kept < len(TABLE)


def test_a_table_with_a_broken_quote_falls_back() -> None:
    """To a plain text, without an exception."""
    assert grid_outline("a,b\n" + "1,2\n" * 5 + '"' + "x" * 1_100_000, "rest") is None
    assert rows_of("a,b\n" + "1,2\n" * 6000 + '"' + "x" * 1_100_000) is None
    assert grid_outline("a,b\n", "rest") is None


def test_a_very_long_table_says_how_much_was_counted() -> None:
    """Only its first part is read for the columns."""
    make = grid_outline("a,b\n" + "12345678,abcdefgh\n" * 900_000, "rest")
    assert make is not None
    assert "rows are counted here" in make(600)[0]


def test_blank_rows_are_no_rows() -> None:
    """Nor do they end a table."""
    assert list(records("a,b\n\n1,2\n\n", ",")) == [["a", "b"], ["1", "2"]]
