"""JSON as people write it: what is tolerated, and what every mistake is told."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anyact_server.catalog.config_text import decode, parse, place
from anyact_server.errors import ConfigError

JSON_VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(10**20), 10**20)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=20,
)


def broken(text: str) -> tuple[ConfigError, str]:
    """The error that a text ends in, with its whole message."""
    with pytest.raises(ConfigError) as caught:
        parse(text, "f.json")
    return caught.value, f"{caught.value.message} {caught.value.hint or ''}"


@given(JSON_VALUES)
def test_whatever_json_writes_is_read_as_json_reads_it(value: Any) -> None:
    """The reader agrees with the standard library on every document, indented or not, escaped or not."""
    for text in (json.dumps(value), json.dumps(value, indent=3), json.dumps(value, ensure_ascii=False)):
        assert parse(text, "f").value == value


@given(st.text(max_size=60))
def test_any_text_is_a_document_or_a_config_error_with_a_place(text: str) -> None:
    """No text ends in any other error, and every error has a line and column within the text."""
    try:
        parse(text, "f")
    except ConfigError as error:
        assert error.origin is not None and error.column is not None
        assert 1 <= error.origin.line <= text.count("\n") + 1
        assert re.match(r"f:\d+:\d+: ", error.message)


@pytest.mark.case("C1")
def test_comments_and_trailing_commas_are_passed_over_and_urls_are_not_cut() -> None:
    """Both comment styles and trailing commas are fine; `//` inside a text is text."""
    text = """\ufeff// head
    { /* a
         block */ "url": "https://h//x", // tail
      "list": [1, 2,],
    }
    // end"""
    assert parse(text, "f").value == {"url": "https://h//x", "list": [1, 2]}


def test_lines_of_parts_are_known_down_to_the_part_of_an_entry() -> None:
    """Each key and item has the line on which it begins; unknown parts have that of what is around them."""
    document = parse('{\n "a": {\n  "b": [\n   1,\n   {"c": 2}\n  ]\n }\n}', "f")
    assert document.line("a") == 2
    assert document.line("a", "b") == 3
    assert document.line("a", "b", 1) == 5
    assert document.line("a", "nothing") == 2
    assert document.line() == 1
    assert parse("[]", "f").line("x") == 1


def test_a_key_that_stands_twice_is_noted_and_the_later_one_wins() -> None:
    """Repeated keys are legal JSON and usually a mistake."""
    document = parse('{"a": 1,\n"b": 2,\n"a": 3}', "f")
    assert document.value == {"a": 3, "b": 2}
    assert document.repeated == ((("a",), 3),)


@pytest.mark.case("C1")
@pytest.mark.parametrize(
    ("text", "line", "column", "words"),
    [
        ("", 1, 1, "empty"),
        ("  // only a comment", 1, 20, "empty"),
        ('{\n  "a": 1\n  "b": 2\n}', 2, 9, "comma is missing"),
        ('{"a" 1}', 1, 6, "colon is missing"),
        ("{'a': 1}", 1, 2, "double quotes"),
        ("{\"a\": 'x'}", 1, 7, "double quotes"),
        ("{a: 1}", 1, 2, "double quotes"),
        ('{"a": True}', 1, 7, "Write true"),
        ('{"a": None}', 1, 7, "Write null"),
        ('{"a": nope}', 1, 7, "'nope' is no JSON value"),
        ('{"a": }', 1, 7, "value is missing"),
        ('{"a": ', 1, 7, "ends in the middle"),
        ('{"a": 1', 1, 8, "line 1, column 1 is not closed"),
        ('{\n"a": [1', 2, 8, "line 2, column 6 is not closed"),
        ("{", 1, 2, "not closed"),
        ("[1,,2]", 1, 4, "comma too many"),
        ('{"a":1,,}', 1, 8, "comma too many"),
        ('{"a":1;}', 1, 7, "';' is not expected"),
        ('{"a":1} x', 1, 9, "more text"),
        ('{"a": "x\ny"}', 1, 7, "not closed on its line"),
        ('{"p": "c:\\users"}', 1, 10, "written twice"),
        ('{"p": "c:\\Data"}', 1, 10, "written twice"),
        ("/* open", 1, 1, "comment is not closed"),
        ("[" * 200, 1, 102, "nested"),
        ("01", 1, 1, "no JSON value"),
        ("1.5.2", 1, 1, "no JSON value"),
        ("<<<<<<< HEAD", 1, 1, "no JSON value"),
    ],
)
def test_a_broken_text_gives_line_column_and_the_cure(text: str, line: int, column: int, words: str) -> None:
    """Each usual mistake is named where it stands."""
    error, message = broken(text)
    assert error.origin is not None
    assert (error.origin.line, error.column) == (line, column)
    assert words in message


@pytest.mark.case("C3")
def test_an_escape_that_json_knows_is_taken_as_json_takes_it() -> None:
    """`\\t` is a tab, also where a path was meant: whoever reads the value warns of it."""
    assert parse(r'"c:\temp"', "f").value == "c:\temp"
    assert parse(r'"\ud83d\ude00 \u00e9 \/ \" \\ \b\f\n\r"', "f").value == '😀 é / " \\ \b\f\n\r'


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
def test_files_saved_with_a_byte_order_mark_are_read(encoding: str) -> None:
    """Editors and shells on Windows write these."""
    assert decode('{"ä": 1}'.encode(encoding), "f") == '{"ä": 1}'


def test_bytes_that_are_no_text_are_named_with_their_place() -> None:
    """The place of the first bad byte is given."""
    with pytest.raises(ConfigError, match=r"f:2:3: the file is no UTF-8 text"):
        decode(b"{\nab\xbd}", "f")


def test_places_count_from_one() -> None:
    """Line and column as editors show them."""
    assert place("ab\ncd", 0) == (1, 1)
    assert place("ab\ncd", 4) == (2, 2)


def test_half_a_character_is_replaced() -> None:
    """A lone surrogate can be handed to no program and written to no file."""
    assert parse(r'"a\ud800b"', "f").value == "a\ufffdb"
