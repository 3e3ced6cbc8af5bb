"""Hits and descriptions as text."""

from __future__ import annotations

import json
from types import MappingProxyType
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anyact_server.gateway.render import (
    BYTES_PER_TOKEN,
    card,
    compact,
    description,
    descriptions,
    example,
    one_line,
    reliability,
    search_text,
    signature,
    size,
    type_word,
)
from anyact_server.types import EMPTY, Action, Estimate, Hints, Hit, SearchAnswer

from .twins import READ_ONLY, action

SCHEMA = {
    "type": "object",
    "properties": {
        "title": {"type": "string"},
        "labels": {"type": "array", "items": {"type": "string"}},
        "order": {"enum": ["asc", "desc"]},
        "owner": {"type": "string"},
    },
    "required": ["owner", "title"],
}


def _hits(count: int, **more: Any) -> tuple[Hit, ...]:
    return tuple(Hit(action("s", f"a{number}", **more), 1.0) for number in range(count))


def test_a_signature_has_required_parameters_first() -> None:
    """In the order in which they are required; optional ones are marked."""
    assert signature(action("s", "make", schema=SCHEMA)) == (
        'make(owner: string, title: string, labels?: string[], order?: "asc"|"desc")'
    )


def test_a_signature_survives_odd_schemas() -> None:
    """No properties, required names that do not exist, booleans as schemas."""
    assert signature(action("s", "a", schema={})) == "a()"
    assert signature(action("s", "a", schema={"properties": {"x": True}, "required": ["y"]})) == "a(x?: any)"
    assert signature(action("s", "a", schema={"properties": {"x": {}}, "required": None})) == "a(x?: any)"


def test_a_long_signature_counts_what_it_leaves_out() -> None:
    """Required parameters are never left out."""
    wide = {"properties": {f"parameter_{n}": {"type": "string"} for n in range(40)}, "required": ["parameter_39"]}
    text = signature(action("s", "a", schema=wide))
    assert text.startswith("a(parameter_39: string, parameter_0?: string")
    assert text.endswith(" more)")
    assert len(text) < 300


@pytest.mark.parametrize(
    ("schema", "word"),
    [
        ({"type": "string"}, "string"),
        ({"type": ["string", "null"]}, "string"),
        ({"type": ["null"]}, "null"),
        ({"type": "array"}, "array"),
        ({"type": "array", "items": {"type": "array", "items": {"type": "number"}}}, "number[][]"),
        ({"type": "array", "items": [{"type": "string"}]}, "array"),
        ({"anyOf": [{"type": "string"}, {"type": "integer"}, {"type": "null"}]}, "string|integer"),
        ({"oneOf": [{"type": "null"}]}, "any"),
        ({"enum": [1, 2]}, "1|2"),
        ({"enum": ["x" * 80], "type": "string"}, "string"),
        ({"enum": list(range(9)), "type": "integer"}, "integer"),
        (True, "any"),
        ({}, "any"),
    ],
)
def test_types_are_told_in_a_word(schema: Any, word: str) -> None:
    """Whatever stands in the schema."""
    assert type_word(schema) == word


def test_a_card_says_what_is_needed_to_choose() -> None:
    """Id, one line, signature, server, effects, reliability, reason, and what is odd."""
    hit = Hit(
        action(
            "git", "log", hints=READ_ONLY, state="stale", fault="its schema is null", description="Shows\n the log."
        ),
        1.0,
        ("exact name", "text"),
        estimate=Estimate("git__log", 0.97, 0.9, 1.0, calls=12, p50_s=0.42),
    )
    assert card(1, hit) == (
        "1. git__log: Shows the log.\n"
        "   log(text: string)\n"
        "   server git · read-only · reliability 0.97 (12 calls), usually 0.4 s · could not be checked lately"
        " · cannot be called: its schema is null · why: exact name; text"
    )


def test_reliability_is_silent_while_nothing_is_known() -> None:
    """And names a needed login and suspicions."""
    assert reliability(None) == ""
    assert reliability(Estimate("a", 0.5, 0.1, 0.9)) == ""
    assert reliability(Estimate("a", 0.5, 0.1, 0.9, needs_login=True)) == "needs login"
    assert reliability(Estimate("a", 0.5, 0.1, 0.9, calls=4, suspected=2.0)) == (
        "reliability 0.50 (4 calls), 2 suspected failures"
    )


def test_effects_are_told_as_declared() -> None:
    """Silence stays silence."""
    told = [Hints(read_only=True), Hints(destructive=False), Hints(destructive=True), Hints()]
    words = [card(1, Hit(action("s", "a", hints=hints), 1.0)).splitlines()[2] for hints in told]
    assert [word.removeprefix("   server s").removeprefix(" · ") for word in words] == [
        "read-only",
        "not destructive",
        "destructive",
        "",
    ]


@pytest.mark.case("F1")
@pytest.mark.parametrize("detail", ["cards", "schemas", "full"])
def test_a_search_answer_never_exceeds_its_ceiling(detail: str) -> None:
    """50 hits with descriptions of 20 KB and schemas of 50 KB; what is left out is named with the way to get it."""
    big = {"type": "object", "properties": {f"p{n}": {"type": "string", "description": "d" * 500} for n in range(100)}}
    answer = SearchAnswer(_hits(50, description="word " * 4000, schema=big), 3000, None, ("s__n1", "s__n2"))
    text, shown = search_text(answer, detail=detail, tokens=6000, notes=["odd"])
    assert size(text) <= 6000 * BYTES_PER_TOKEN
    assert 10 < shown <= 50
    assert "describe_actions" in text
    assert "s__n1" in text
    assert "odd" in text


def test_a_small_ceiling_leaves_out_cards_by_name() -> None:
    """They are still found by their ids."""
    text, shown = search_text(SearchAnswer(_hits(30, description="x" * 150), 30), detail="cards", tokens=700)
    assert 0 < shown < 30
    assert f"Not shown for size: s__a{shown}" in text
    assert size(text) <= 700 * BYTES_PER_TOKEN


def test_the_best_hit_comes_with_its_whole_schema() -> None:
    """So that the first call needs no second look."""
    text, _ = search_text(SearchAnswer(_hits(2, schema=SCHEMA), 2), detail="cards", tokens=6000)
    assert f"Schema of s__a0: {compact(SCHEMA)}" in text
    assert "Schema of s__a1" not in text


def test_the_detail_decides_how_much_of_each_hit_is_shown() -> None:
    """Schemas of all, or everything."""
    answer = SearchAnswer(_hits(2, schema=SCHEMA), 2)
    schemas, _ = search_text(answer, detail="schemas", tokens=6000)
    full, _ = search_text(answer, detail="full", tokens=6000)
    assert "Schema of s__a1" in schemas
    assert "effects: nothing declared" in full
    assert "input schema" in full


def test_a_degraded_search_says_why_and_hits_say_which_intent_they_serve() -> None:
    """Several intents are told apart."""
    hits = (Hit(action("s", "a"), 1.0, intents=(0, 2)), Hit(action("s", "b"), 0.5))
    text, _ = search_text(SearchAnswer(hits, 2, "the encoder is off"), detail="cards", tokens=6000, intents=3)
    assert "Search is degraded: the encoder is off" in text
    assert "for intent 1, 3" in text


def test_an_empty_answer_says_what_to_try() -> None:
    """No list of near misses is shown as if it fitted."""
    text, shown = search_text(SearchAnswer(()), detail="cards", tokens=6000)
    assert shown == 0
    assert text.startswith("No action fits. Try other words")


def test_a_description_is_whole() -> None:
    """Schema, declared effects, reliability with its reasons, an example."""
    text = description(
        action(
            "git",
            "log",
            title="Log",
            schema=SCHEMA,
            hints=Hints(destructive=False, idempotent=True),
            output_schema={"type": "object"},
            server_title="Git",
            state="vanished",
            fault="broken",
        ),
        Estimate("git__log", 0.9, 0.8, 1.0, calls=3, words="2 of 3 calls succeeded"),
    )
    for part in (
        "git__log: Log",
        "server: git (Git)",
        "effects: destructive no, idempotent yes",
        "reliability: reliability 0.90 (3 calls); 2 of 3 calls succeeded",
        "state: no longer offered",
        "cannot be called: broken",
        f"input schema: {compact(SCHEMA)}",
        'output schema: {"type":"object"}',
        'example: {"action":"git__log","arguments":{"owner":"…","title":"…"}}',
    ):
        assert part in text
    assert "reliability: not called yet" in description(action("s", "a", description=""), None)
    assert "reliability: fine" in description(action("s", "a"), Estimate("a", 0.9, 0.8, 1.0, words="fine"))


@pytest.mark.case("F1")
def test_one_description_is_whole_however_large() -> None:
    """This is the way to the full form that a search leaves out; of several the later ones are named."""
    big = {"type": "object", "properties": {f"p{n}": {"type": "string", "description": "d" * 500} for n in range(100)}}
    pairs = [(action("s", f"a{n}", schema=big), Estimate(f"a{n}", 1, 1, 1)) for n in range(3)]
    alone = descriptions(pairs[:1], tokens=6000)
    assert compact(big) in alone
    several = descriptions(pairs, tokens=6000, notes=["odd"])
    assert "Not shown for size, ask for them one at a time: s__a1 (5" in several
    assert several.endswith("odd")


@pytest.mark.parametrize(
    ("schema", "shown"),
    [
        ({"const": 3}, 3),
        ({"default": "x", "type": "string"}, "x"),
        ({"examples": ["e"]}, "e"),
        ({"enum": ["a", "b"]}, "a"),
        ({"type": "integer"}, 1),
        ({"type": "number"}, 1.5),
        ({"type": "boolean"}, True),
        ({"type": "array", "items": {"type": "integer"}}, [1]),
        ({"type": "array"}, []),
        ({"type": "object", "properties": {"y": {"type": "string"}}, "required": ["y"]}, {"y": "…"}),
        ({"type": ["integer", "string"]}, 1),
        (True, "…"),
        ({}, "…"),
    ],
)
def test_examples_show_the_shape(schema: Any, shown: Any) -> None:
    """Defaults and first choices before words for types."""
    assert example({"properties": {"x": schema}, "required": ["x"]}) == {"x": shown}


def test_an_example_of_a_nested_schema_ends() -> None:
    """However deep it is."""
    schema: dict[str, Any] = {"type": "object", "properties": {}, "required": ["x"]}
    schema["properties"]["x"] = schema
    assert compact(example(schema)).count("{") < 8
    assert example(EMPTY) == {}


def test_one_line_is_one_line() -> None:
    """Blanks are folded, length is bounded, the cut is shown."""
    assert one_line(" a\n\tb ") == "a b"
    assert one_line("word " * 100, 20) == "word word word word…"


def test_compact_json_takes_frozen_values() -> None:
    """Tuples and mappings of the catalog are JSON too; other objects are not."""
    frozen = {"a": (1, 2), "b": EMPTY, "c": frozenset({3}), "d": MappingProxyType({"e": 1})}
    assert json.loads(compact(frozen)) == {"a": [1, 2], "b": {}, "c": [3], "d": {"e": 1}}
    with pytest.raises(TypeError):
        compact({"a": object()})


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers(-9, 9) | st.text(max_size=5),
        lambda part: (
            st.lists(part, max_size=4)
            | st.dictionaries(
                st.sampled_from(["type", "items", "anyOf", "enum", "properties", "required", "x"]), part, max_size=4
            )
        ),
    )
)
def test_any_schema_can_be_rendered(schema: Any) -> None:
    """Servers send everything."""
    odd = Action(
        "s__a",
        "s",
        "a",
        shown_schema=schema if isinstance(schema, dict) else {"properties": {"x": schema}, "required": ["x"]},
    )
    assert description(odd, None)
    assert card(1, Hit(odd, 1.0))
