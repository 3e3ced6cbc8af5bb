"""Flat roots."""

from __future__ import annotations

from typing import Any

import pytest

from anyact_server.catalog.repair_root import MOST_WORDS, flat_root


def test_all_of_at_the_root_is_put_together() -> None:
    """Properties and required names of all parts; a part that shuts out the others' properties is opened."""
    schema = {
        "properties": {"a": {"type": "string"}},
        "required": ["a"],
        "allOf": [
            {"properties": {"b": {"type": "integer"}}, "required": ["b"], "additionalProperties": False},
            {"properties": {"a": {"minLength": 1}, "b": {"type": "integer"}, "c": {}}},
        ],
    }
    assert flat_root(schema) == {
        "type": "object",
        "properties": {
            "a": {"allOf": [{"type": "string"}, {"minLength": 1}]},
            "b": {"type": "integer"},
            "c": {},
        },
        "required": ["a", "b"],
    }


def test_a_single_part_keeps_what_it_shuts_out() -> None:
    """Nothing stands beside it."""
    flat = flat_root({"allOf": [{"properties": {"a": {}}, "additionalProperties": False}], "title": "T"})
    assert flat == {"type": "object", "title": "T", "properties": {"a": {}}, "additionalProperties": False}


def test_branches_share_what_they_share() -> None:
    """Required by all is required; shut by all is shut; a name with two meanings has either."""
    schema = {
        "anyOf": [
            {
                "properties": {"k": {"const": "x"}, "v": {"type": "string"}},
                "required": ["k"],
                "additionalProperties": False,
            },
            {"properties": {"k": {"const": "y"}, "v": {}}, "required": ["k", "v"], "additionalProperties": False},
        ]
    }
    assert flat_root(schema) == {
        "type": "object",
        "properties": {"k": {"anyOf": [{"const": "x"}, {"const": "y"}]}, "v": {}},
        "required": ["k"],
        "additionalProperties": False,
    }


@pytest.mark.parametrize(
    ("branches", "sentence"),
    [
        ([{"required": ["a"]}, {"required": ["b", "c"]}], "Give a, or b and c."),
        ([{"required": ["a"]}, {"required": ["a"]}], None),
        ([{}, {}], None),
        ([{"required": ["a"]}, {}], None),
    ],
)
def test_the_description_says_what_goes_together(branches: list[Any], sentence: str | None) -> None:
    """Only where the branches want different things."""
    assert flat_root({"oneOf": branches}).get("description") == sentence


def test_a_long_sentence_is_cut() -> None:
    """Hundreds of branches do not fill the description."""
    flat = flat_root({"anyOf": [{"required": [f"name{n}"]} for n in range(200)]})
    assert len(flat["description"]) == MOST_WORDS


def test_a_reference_at_the_root_is_opened_once_and_one_to_the_root_itself_goes() -> None:
    """Also inside parts; a definition that comes round again adds nothing."""
    node = {"properties": {"next": {"$ref": "#/$defs/node"}}, "required": ["next"], "allOf": [{"$ref": "#/$defs/node"}]}
    flat = flat_root({"allOf": [{"$ref": "#/$defs/node"}, {"$ref": "#"}], "$defs": {"node": node}})
    assert flat == {
        "type": "object",
        "properties": {"next": {"$ref": "#/$defs/node"}},
        "required": ["next"],
        "$defs": {"node": node},
    }
