"""What is read from an input schema without checking anything."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anyact_server.dispatch.shapes import (
    example,
    nested_within,
    properties,
    required,
    resolved,
    shortened,
    signature,
    type_name,
    type_words,
)

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                ["type", "properties", "items", "$ref", "anyOf", "allOf", "enum", "required", "x", "minimum"]
            ),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)

NESTED: dict[str, Any] = {
    "type": "object",
    "properties": {
        "path": {"$ref": "#/$defs/a~1path"},
        "mode": {"enum": ["read", "write"]},
        "sizes": {"type": "array", "items": {"type": "integer"}, "minItems": 1},
        "who": {"anyOf": [{"type": "string"}, {"type": "null"}]},
    },
    "required": ["path", "sizes"],
    "$defs": {"a/path": {"type": "string", "examples": ["notes.txt"]}},
}


def test_local_references_are_followed_and_siblings_kept() -> None:
    """Also with a slash in the name of the definition."""
    assert resolved(NESTED["properties"]["path"], NESTED)["examples"] == ["notes.txt"]
    assert resolved({"$ref": "#/$defs/a~1path", "title": "T"}, NESTED)["title"] == "T"
    assert resolved({"$ref": "#/nowhere"}, NESTED) == {}
    assert resolved({"$ref": "http://elsewhere/x"}, NESTED) == {"$ref": "http://elsewhere/x"}
    assert resolved(True, NESTED) == {}


def test_a_reference_to_itself_ends() -> None:
    """Recursion is cut, not followed for ever."""
    loop = {"$ref": "#/$defs/x", "$defs": {"x": {"$ref": "#/$defs/x"}}}
    assert isinstance(resolved(loop, loop), dict)


def test_properties_of_all_branches_are_found() -> None:
    """Those inside allOf, anyOf and oneOf too."""
    schema = {
        "allOf": [{"properties": {"a": {}}, "required": ["a"]}, {"$ref": "#/$defs/b"}],
        "oneOf": [{"properties": {"c": {}}}],
        "properties": {"d": {}},
        "required": ["d"],
        "$defs": {"b": {"properties": {"b": {}}}},
    }
    assert sorted(properties(schema)) == ["a", "b", "c", "d"]
    assert required(schema) == ("d", "a")
    assert properties({"properties": []}) == {}
    assert required({"required": "a"}) == ()


def test_the_signature_puts_required_arguments_first() -> None:
    """One line, types in words."""
    assert signature(NESTED) == (
        'path: string, sizes: array of integer, mode?: "read" or "write", who?: string or null'
    )
    many: dict[str, Any] = {"properties": {f"p{number}": {} for number in range(25)}}
    assert signature(many).endswith("and 5 more")


@pytest.mark.parametrize(
    "schema, words",
    [
        ({}, "any"),
        ({"type": ["string", "null"]}, "string or null"),
        ({"type": "array"}, "array"),
        ({"const": 3}, "3"),
        ({"properties": {}}, "object"),
        ({"enum": [*range(14)]}, " or ".join(map(str, range(12))) + " or 2 more"),
    ],
)
def test_types_are_told_in_words(schema: dict[str, Any], words: str) -> None:
    """As a model reads them."""
    assert type_words(schema, schema) == words


def test_the_example_takes_what_the_schema_suggests() -> None:
    """Examples, defaults, constants, choices; else the least value of the type."""
    assert example(NESTED) == {"path": "notes.txt", "sizes": [1]}
    schema = {
        "type": "object",
        "required": ["a", "b", "c", "d", "e", "f", "g"],
        "properties": {
            "a": {"const": 7},
            "b": {"default": "x"},
            "c": {"enum": ["y"]},
            "d": {"type": "number", "minimum": 5},
            "e": {"type": ["boolean", "null"]},
            "f": {"anyOf": [{"type": "null"}, {"type": "string"}]},
            "g": {"type": "array"},
        },
    }
    assert example(schema) == {"a": 7, "b": "x", "c": "y", "d": 6, "e": True, "f": None, "g": []}


@given(JSON)
def test_any_json_may_stand_for_a_schema(schema: Any) -> None:
    """Nothing raises, however odd the schema."""
    properties(schema)
    required(schema)
    signature(schema)
    example(schema)
    type_words(schema, schema)


def test_values_are_shown_short() -> None:
    """Compact JSON, cut in width and depth."""
    assert shortened('a "b"\n') == '"a \\"b\\"\\n"'
    assert shortened({"a": [1, None, True, 2.5, "x", 6]}) == '{"a": [1, null, true, 2.5, "x", …]}'
    assert shortened({str(number): number for number in range(9)}).endswith(", …}")
    assert len(shortened("x" * 5000)) == 80


def test_nesting_is_measured_without_recursion() -> None:
    """However deep."""
    deep: Any = []
    for _ in range(100_000):
        deep = [deep]
    assert not nested_within(deep, 100)
    assert nested_within({"a": [1]}, 2)
    assert not nested_within({"a": [1]}, 1)
    assert shortened(deep) == "[[[[…]]]]"


def test_schemas_that_refer_to_themselves_many_times_cost_little() -> None:
    """Each definition is looked at once, and examples stay shallow."""
    schema = {"anyOf": [{"$ref": "#"}] * 30, "properties": {"a": {}}}
    assert list(properties(schema)) == ["a"]
    names = [f"p{number}" for number in range(10)]
    wide = {"type": "object", "properties": {name: {"$ref": "#"} for name in names}, "required": names}
    assert len(str(example(wide))) < 50_000


def test_types_have_their_json_names() -> None:
    """A boolean is no integer."""
    values: list[Any] = [None, True, 1, 1.5, "x", {}, [], b""]
    names = ["null", "boolean", "integer", "number", "string", "object", "array", "bytes"]
    assert [type_name(value) for value in values] == names
