"""JSON that always comes out."""

from __future__ import annotations

import json

import pytest

from anyact_server.grounding.encoding import DEPTH, TOO_DEEP, compact, dumps, loads, whole_surrogates
from anyact_server.types import Json


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ({"a": [1, None, True]}, '{"a":[1,null,true]}'),
        ({1: "x"}, '{"1":"x"}'),
        (10**30, "1" + "0" * 30),
        (float("nan"), "null"),
        ({"a": float("inf"), "b": 10**30}, '{"a":null,"b":1' + "0" * 30 + "}"),
        ([b"x", 10**30], "[\"b'x'\",1" + "0" * 30 + "]"),
    ],
)
def test_odd_values_become_valid_json(value: Json, text: str) -> None:
    """Keys that are no text, numbers beyond 64 bits, and what JSON does not know."""
    assert compact(value) == text
    json.loads(text)


@pytest.mark.case("E1")
def test_lone_surrogates_become_replacement_characters() -> None:
    """Half an emoji in a key or a value still gives valid UTF-8; a pair becomes the character."""
    assert loads(compact({"\ud83d": "a\ud83d"})) == {"\ufffd": "a\ufffd"}
    assert whole_surrogates("\ud83d\ude00") == "😀"
    assert whole_surrogates("plain") == "plain"


def test_deep_nesting_is_cut_with_a_remark() -> None:
    """A value nested beyond the limit is still written."""
    value: Json = "core"
    for _ in range(DEPTH * 3):
        value = {"a": [value]}
    assert TOO_DEEP.encode() in dumps(value)


def test_long_integers_keep_their_digits() -> None:
    """Identifiers of more than 16 digits are read exactly."""
    assert loads('{"id": 12345678901234567890123}') == {"id": 12345678901234567890123}


@pytest.mark.parametrize(
    "text", ["{", '{"a": NaN, "b": 12345678901234567}', "[" * 5000, "[" * 5000 + "1234567890123456789"]
)
def test_what_is_no_json_is_refused(text: str) -> None:
    """One kind of error for broken, non-standard and too deep documents."""
    with pytest.raises(ValueError):
        loads(text)
