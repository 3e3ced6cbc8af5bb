"""Where schemas stand within a schema."""

from __future__ import annotations

from typing import Any

import pytest

from anyact_server.catalog.repair_places import distinct, inside, mapped, merged


def test_every_place_of_a_schema_is_reached_and_nothing_else() -> None:
    """Values such as defaults and examples are no schemas, whatever they look like."""
    node = {
        "properties": {"a": 1},
        "items": 2,
        "anyOf": [3, 4],
        "additionalProperties": {"x": 5},
        "dependencies": {"a": ["b"], "b": 6},
        "not": 7,
        "default": {"properties": {"no": 0}},
        "enum": [{"items": 0}],
    }
    assert inside(node) == [1, 2, 3, 4, {"x": 5}, 6, 7]


def test_what_stands_in_the_place_of_a_group_and_is_none_goes_away() -> None:
    """Broken keywords do not hold up the rest."""

    def each(part: Any) -> dict[str, Any]:
        return {"was": part}

    node = {"properties": ["x"], "anyOf": {}, "allOf": [], "items": [1], "additionalProperties": True, "if": None}
    assert mapped(node | {"additionalItems": False, "dependencies": 3}, each) == {
        "properties": {},
        "items": [{"was": 1}],
        "additionalProperties": True,
        "if": {"was": None},
        "additionalItems": False,
        "dependencies": {},
    }


@pytest.mark.parametrize(
    ("left", "right", "both"),
    [
        ({}, {"type": "string"}, {"type": "string"}),
        ({"type": "string"}, {}, {"type": "string"}),
        ({"type": "string", "title": "a"}, {"title": "b"}, {"type": "string", "title": "b"}),
        ({"type": "string"}, {"type": "string", "minLength": 1}, {"type": "string", "minLength": 1}),
        ({"minLength": 1}, {"minLength": 2}, {"allOf": [{"minLength": 1}, {"minLength": 2}]}),
        (
            {"properties": {"a": {}}, "description": "x"},
            {"additionalProperties": False},
            {"description": "x", "allOf": [{"properties": {"a": {}}}, {"additionalProperties": False}]},
        ),
    ],
)
def test_two_schemas_become_one_that_wants_both(left: Any, right: Any, both: Any) -> None:
    """Side by side where that means the same, else under `allOf`."""
    assert merged(left, right) == both


def test_repeats_go_and_order_stays() -> None:
    """Also for values that cannot be hashed."""
    assert distinct([{"a": 1}, [], {"a": 1}, [], 1]) == [{"a": 1}, [], 1]
