"""JSON in the cheapest lossless form, and previews that name everything they leave out."""

from __future__ import annotations

import json
import re

import pytest

from anyact_server.grounding import estimate
from anyact_server.grounding.binaries import Code
from anyact_server.grounding.encoding import dumps
from anyact_server.grounding.structured import Preview, fit
from anyact_server.grounding.writing import encode
from anyact_server.types import Json

ROWS: list[Json] = [
    {"id": i, "name": f"item {i}", "price": i * 1.5, "user": {"login": "bob", "id": i}, "state": "open"}
    for i in range(100)
]


def named(pointer: str, code: Code) -> str:
    return f"[{code.mime or 'data'} at {pointer}]"


def preview(value: Json, budget: int) -> Preview:
    return fit(value, budget, len(dumps(value)), named)


def test_like_objects_become_a_table() -> None:
    """Keys once, constants on one line, nested objects as columns; less than half of the tokens of JSON."""
    text = encode(ROWS)
    lines = text.split("\n")
    assert lines[0] == "[100] id|name|price|user.id"
    assert lines[1] == "every row: user.login=bob; state=open"
    assert lines[2] == "0|item 0|0.0|0"
    assert lines[-1] == "99|item 99|148.5|99"
    assert estimate(text) < 0.5 * estimate(json.dumps(ROWS, separators=(",", ":")))


@pytest.mark.parametrize(
    ("cell", "shown"),
    [
        ("plain words", "plain words"),
        ("", '""'),
        (None, "null"),
        (True, "true"),
        ("true", '"true"'),
        ("12", '"12"'),
        ("-1x", '"-1x"'),
        ("a|b", '"a|b"'),
        (" edge", '" edge"'),
        ('say "x"', '"say \\"x\\""'),
        ("two\nlines", '"two\\nlines"'),
        ([1, 2], "[1,2]"),
        ({}, "{}"),
        ("[x", '"[x"'),
    ],
)
def test_a_cell_reads_back_as_itself(cell: Json, shown: str) -> None:
    """Text stays bare only where it cannot be taken for anything else."""
    rows = [{"number": i, "thing": cell if i else "other words here"} for i in range(4)]
    assert encode(rows).split("\n")[-1] == f"3|{shown}"


def test_a_missing_cell_is_blank() -> None:
    """Blank means the key is not there, unlike null and the empty text."""
    rows: list[Json] = [
        {"alpha": 1, "beta": "word"},
        {"alpha": 2},
        {"alpha": 3, "beta": None},
        {"alpha": 4, "beta": "x"},
    ]
    assert encode(rows).split("\n")[1:] == ["1|word", "2|", "3|null", "4|x"]


@pytest.mark.parametrize(
    "value",
    [
        {"a": 1, "b": {"c": [1, 2, 3]}},
        [{"a": 1}, {"b": 2}, {"c": 3}, {"d": 4, "e": 5, "f": 6, "g": 7, "h": 8, "i": 9}],
        [1, "two", None, {"three": 3}] * 5,
        "plain text",
        [[1, 2], [3, 4]] * 20,
        [{"a.b": i, "a": {"b": i, "c": "long enough to matter here"}} for i in range(3)],
        [{"a|b": i, "words of a key": "long enough to matter here"} for i in range(3)],
        {"a:b": [{"id": i, "word": f"word {i}"} for i in range(9)]},
    ],
)
def test_what_is_no_table_stays_json(value: Json) -> None:
    """Small, mixed and oddly keyed values are compact JSON."""
    text = encode(value)
    assert text == value or (json.loads(text) == value if not text.startswith("[3]") else "a.b" in text)


def test_a_table_inside_an_object_stands_under_its_key() -> None:
    """The other keys become lines."""
    text = encode({"total": 100, "note": "yes", "rows": ROWS, "deep": {"inner": {"rows": ROWS[:5]}}})
    assert text.startswith("total: 100\nnote: yes\nrows: [100] id|name|price|user.id\n  every row:")
    assert "inner: " in text or "inner:\n" in text


def test_a_list_of_tables_becomes_items() -> None:
    """Each item its own lines."""
    text = encode([{"group": name, "rows": ROWS[:20]} for name in ("first", "second")])
    assert text.startswith("[2]:\n- group: first")
    assert text.count("id|name|price|user.id") == 2


@pytest.mark.case("B1")
@pytest.mark.parametrize("budget", [120, 400, 1000, 4000])
def test_a_preview_keeps_its_budget_and_names_its_gaps(budget: int) -> None:
    """First and last rows, the number of the others, and the pointer to them."""
    value = {"rows": ROWS * 50, "note": "some words " * 3000, "total": 5000}
    shown = preview(value, budget)
    assert estimate(shown.text) <= budget
    assert {gap.pointer for gap in shown.gaps} >= {"/rows", "/note"}
    assert "more items" in shown.text and ": /rows" in shown.text
    assert "total: 5000" in shown.text or '"total":5000' in shown.text
    items = next(gap for gap in shown.gaps if gap.pointer == "/rows")
    assert items.what == "items" and items.count >= 4800


def test_most_of_the_budget_is_used() -> None:
    """A preview is not needlessly small."""
    shown = preview({"rows": ROWS * 50}, 2000)
    assert estimate(shown.text) >= 1400


def test_nothing_is_cut_in_the_middle_of_json() -> None:
    """A preview in JSON form is valid JSON, gaps and all."""
    value = [[i, "word " * 30] for i in range(300)]
    shown = preview(value, 300)
    assert shown.gaps
    assert len(json.loads(shown.text)) < 300


def test_many_keys_are_cut_like_items() -> None:
    """An object as wide as a table keeps its first keys."""
    shown = preview({f"key_{i}": {"number": i} for i in range(5000)}, 400)
    assert re.search(r"more keys: /", shown.text)
    assert shown.gaps[-1].what == "keys"


def test_deep_values_are_cut_by_depth() -> None:
    """Forty levels down, the rest is a gap."""
    value: Json = {"core": 1}
    for _ in range(80):
        value = {"a": value}
    assert "more keys" in preview(value, 4000).text
    nest: Json = [1]
    for _ in range(80):
        nest = [nest]
    assert "more items" in preview(nest, 4000).text


@pytest.mark.case("B2")
def test_codes_in_strings_are_named() -> None:
    """No base64 in the text, wherever it stands in the value."""
    code = "iVBORw0KGgoAAAANSUhEUgAA" + "Zm9vQmFyMTIz" * 50
    shown = preview({"image": code, "caption": f"see {code} there", "n": 1}, 4000)
    assert shown.text.count("image/png at /image") == 1
    assert "see [" in shown.text and code[:40] not in shown.text


def test_a_lone_text_or_number_is_itself() -> None:
    """No wrapping around single values."""
    assert preview("plain", 100).text == "plain"
    assert preview(7, 100).text == "7"
    assert preview("word " * 9000, 100).gaps[0].what == "characters"


def test_the_same_value_gives_the_same_bytes() -> None:
    """Prompt caches depend on it."""
    assert preview({"rows": ROWS * 9}, 700) == preview({"rows": ROWS * 9}, 700)
