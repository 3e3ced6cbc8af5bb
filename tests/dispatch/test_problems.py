"""Findings in words that a model can act on."""

from __future__ import annotations

from typing import Any

from anyact_server.dispatch.problems import MOST, near, place, sentences, subschema
from anyact_server.dispatch.schemas import compiled

SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "path": {"type": "string"},
        "limit": {"type": "integer", "minimum": 1},
        "mode": {"enum": ["read", "write", "append"]},
        "items": {"type": "array", "items": {"$ref": "#/$defs/item"}},
        "target": {"anyOf": [{"type": "string"}, {"type": "integer"}]},
    },
    "required": ["path"],
    "additionalProperties": False,
    "$defs": {"item": {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}},
}


def told(arguments: Any, schema: Any = None) -> tuple[str, ...]:
    """The sentences about arguments."""
    used = schema or SCHEMA
    return sentences(compiled(used).errors(arguments), used, arguments)


def test_a_missing_argument_is_named_with_its_type() -> None:
    """And what was probably meant by a stranger."""
    assert told({}) == ("`path` is missing (string)",)
    open_schema = {**SCHEMA, "additionalProperties": True}
    assert told({"pth": "x"}, open_schema) == ("`path` is missing (string); you gave `pth`, rename it",)


def test_null_for_a_required_argument_is_told_as_null() -> None:
    """The caller did give it."""
    assert sentences(compiled(SCHEMA).errors({}), SCHEMA, {"path": None}) == ("`path`: given null, wanted string",)


def test_an_unknown_argument_gets_the_nearest_name_or_all_names() -> None:
    """Spelling aside."""
    assert told({"path": "x", "Limits": 3}) == ("`Limits` is not a property; did you mean `limit`?",)
    (text,) = told({"path": "x", "zzz": 3})
    assert text == "`zzz` is not a property; known: `path`, `limit`, `mode`, `items`, `target`"
    (text,) = told({"zzz": 3}, {"type": "object", "additionalProperties": False})
    assert text == "`zzz` is not a property; none is taken here"


def test_a_property_that_may_never_be_there_is_named() -> None:
    """A property whose schema is false."""
    assert told({"gone": 1}, {"properties": {"gone": False, "here": {}}}) == ("`gone` must not be given",)


def test_a_wrong_type_tells_what_was_given_and_what_is_wanted() -> None:
    """At its place, also deep inside."""
    assert told({"path": 5}) == ("`path`: given 5 (integer), wanted string",)
    assert told({"path": "x", "items": [{"name": []}]}) == ("`items[0].name`: given [] (array), wanted string",)
    assert told({"path": "x", "items": [{}]}) == ("`items[0].name` is missing (string)",)
    assert told({"path": "x", "target": []}) == ("`target`: given [] (array), wanted string or integer",)


def test_a_wrong_choice_lists_the_choices() -> None:
    """With the one that was probably meant."""
    (text,) = told({"path": "x", "mode": "appends"})
    assert text == '`mode`: given "appends", wanted "read" or "write" or "append"; did you mean "append"?'
    (text,) = told({"path": "x", "mode": 7})
    assert "did you mean" not in text


def test_other_rules_use_the_checkers_words_kept_short() -> None:
    """A minimum, and a message of a thousand characters."""
    (text,) = told({"path": "x", "limit": 0})
    assert text.startswith("`limit`: 0 is less than the minimum")
    (text,) = told({"path": "x" * 1000}, {"properties": {"path": {"maxLength": 5}}})
    assert len(text) < 230


def test_many_problems_are_told_in_part() -> None:
    """The first eight, then how many more."""
    texts = told({"path": "x", **{f"z{number}": 1 for number in range(12)}})
    assert len(texts) == MOST + 1
    assert texts[-1] == "and 4 more"


def test_the_whole_value_may_be_the_problem() -> None:
    """No path to show."""
    (text,) = told({}, {"minProperties": 1})
    assert text.startswith("the arguments: ")


def test_near_names_ignore_case_and_separators() -> None:
    """`filePath` is near `file_path`, and nothing is near a stranger."""
    assert near("filePath", ["file_path", "mode"]) == "file_path"
    assert near("zzz", ["file_path"]) is None


def test_places_are_written_as_people_write_them() -> None:
    """Keys with dots, positions in brackets."""
    assert place(("a", 0, "b", 1)) == "a[0].b[1]"
    assert place((0, "a")) == "[0].a"


def test_the_schema_of_a_place_is_found_through_items_and_tuples() -> None:
    """An empty schema where nothing is known."""
    assert subschema(SCHEMA, ("items", 3, "name")) == {"type": "string"}
    pair = {"properties": {"a": {"items": [{"type": "null"}]}}}
    assert subschema(pair, ("a", 0)) == {"type": "null"}
    assert subschema(pair, ("a", 1)) == {}
    assert subschema(SCHEMA, ("nowhere",)) == {}
