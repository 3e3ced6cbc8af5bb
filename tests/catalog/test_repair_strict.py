"""Single repairs, one by one."""

from __future__ import annotations

from typing import Any

import pytest

from anyact_server.catalog.repair_strict import strict


@pytest.mark.case("S3")
@pytest.mark.parametrize(
    ("node", "shown"),
    [
        (True, {}),
        (False, {"not": {}}),
        (None, {}),
        ("string", {}),
        ([], {}),
        ({"type": "str"}, {"type": "string"}),
        ({"type": "INT"}, {"type": "integer"}),
        ({"type": "Array"}, {"type": "array", "items": {}}),
        ({"type": ["string", "string"]}, {"type": "string"}),
        ({"type": ["string", None]}, {"type": ["string", "null"]}),
        ({"type": ["string", "thing"]}, {}),
        ({"type": "any"}, {}),
        ({"type": 3}, {}),
        ({"type": []}, {}),
        ({"enum": ["a", "b"]}, {"enum": ["a", "b"], "type": "string"}),
        ({"enum": ["a", 1]}, {"enum": ["a", 1]}),
        ({"enum": [1, 1.5]}, {"enum": [1, 1.5], "type": "number"}),
        ({"const": True}, {"const": True, "type": "boolean"}),
        ({"const": None}, {"const": None, "type": "null"}),
        ({"const": []}, {"const": [], "type": "array", "items": {}}),
        ({"enum": "a"}, {"enum": "a"}),
        ({"required": True, "type": "string"}, {"type": "string"}),
        ({"required": ["a", "a", 3]}, {"required": ["a"]}),
        ({"required": []}, {}),
        ({"type": "object", "required": ["a"]}, {"type": "object", "required": ["a"], "properties": {"a": {}}}),
        (
            {"type": "object", "required": ["a"], "additionalProperties": False},
            {"type": "object", "required": ["a"], "additionalProperties": False},
        ),
        (
            {"type": "object", "required": ["a"], "additionalProperties": {"type": "string"}},
            {"type": "object", "required": ["a"], "additionalProperties": {"type": "string"}},
        ),
        (
            {"type": "object", "required": ["a"], "patternProperties": {"a": True}},
            {"type": "object", "required": ["a"], "patternProperties": {"a": {}}},
        ),
        ({"items": [True], "additionalItems": False}, {"prefixItems": [{}], "items": {}, "maxItems": 1}),
        ({"items": [], "type": "array"}, {"type": "array", "items": {}}),
        ({"items": {"type": "string"}, "additionalItems": False}, {"items": {"type": "string"}}),
        (
            {"items": [{"type": "null"}], "additionalItems": False, "maxItems": 0},
            {"prefixItems": [{"type": "null"}], "items": {"type": "null"}, "maxItems": 0},
        ),
        ({"exclusiveMinimum": True}, {}),
        ({"dependencies": {"a": False}}, {"dependentSchemas": {"a": {"not": {}}}}),
    ],
)
def test_each_oddity_has_its_strict_form(node: Any, shown: Any) -> None:
    """One case a line: what is sent, what is shown."""
    assert strict(node) == shown
