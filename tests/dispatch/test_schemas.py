"""Checking against the original schema."""

from __future__ import annotations

from typing import Any

import pytest

from anyact_server.dispatch import schemas
from anyact_server.dispatch.schemas import Schemas, compiled

from .world import action


def test_findings_name_rule_place_and_value() -> None:
    """Everything a message is made of."""
    schema = {"type": "object", "properties": {"a": {"properties": {"b": {"type": "integer"}}}}}
    (finding,) = compiled(schema).errors({"a": {"b": "x"}})
    assert (finding.rule, finding.path, finding.value) == ("type", ("a", "b"), "x")
    assert finding.detail["types"] == ["integer"]
    assert compiled(schema).errors({}) == ()


@pytest.mark.case("S3")
@pytest.mark.parametrize(
    "shape, good, bad",
    [
        ({"type": "array"}, [1, "x"], "x"),
        ({"items": [{"type": "integer"}], "additionalItems": False, "type": "array"}, [1], 1),
        ({"prefixItems": [{"type": "integer"}], "items": False}, [1], ["x"]),
        (True, 1, None),
        ({}, 1, None),
        ({"additionalProperties": {"type": "integer"}}, {"x": 1}, {"x": "y"}),
        ({"type": "object", "additionalProperties": False}, {}, {"x": 1}),
    ],
)
def test_odd_but_legal_schemas_check_as_they_mean(shape: Any, good: Any, bad: Any) -> None:
    """Booleans, empty schemas, both forms of tuples, both forms of additionalProperties."""
    check = compiled({"type": "object", "properties": {"a": shape}})
    assert check.fault is None
    assert check.errors({"a": good}) == ()
    if bad is not None:
        assert check.errors({"a": bad}) != ()


@pytest.mark.case("S2")
def test_definitions_with_odd_keys_are_found() -> None:
    """`$defs`, `definitions` with a colon in the key, and an unused one."""
    schema = {
        "type": "object",
        "properties": {"a": {"$ref": "#/$defs/A"}, "b": {"$ref": "#/definitions/ns:B"}},
        "required": ["a"],
        "$defs": {"A": {"type": "integer"}, "Unused": {"type": "null"}},
        "definitions": {"ns:B": {"type": "string"}},
    }
    check = compiled(schema)
    assert check.errors({"a": 1, "b": "x"}) == ()
    assert len(check.errors({"a": "1", "b": 2})) == 2


@pytest.mark.parametrize(
    "schema",
    [
        {"properties": {"a": {"$ref": "http://example.invalid/schema.json"}}},
        {"properties": {"a": {"$ref": "#/$defs/missing"}}},
        {"type": "nonsense"},
        {"properties": {"a": {"pattern": "(?<broken"}}},
    ],
)
def test_a_schema_that_cannot_be_used_checks_nothing_and_says_why(schema: Any) -> None:
    """Nothing is fetched, nothing is refused."""
    check = compiled(schema)
    assert check.fault
    assert check.errors({"anything": 1}) == ()


def test_an_unknown_dialect_is_read_as_the_current_one() -> None:
    """A wrong `$schema` does not cost the checking."""
    check = compiled({"$schema": "http://json-schema.org/draft-03/schema#", "type": "object", "required": ["a"]})
    assert check.fault is None
    assert len(check.errors({})) == 1


def test_findings_are_bounded() -> None:
    """A thousand wrong items make fifty findings."""
    check = compiled({"properties": {"a": {"items": {"type": "integer"}}}})
    assert len(check.errors({"a": ["x"] * 1000})) == schemas.MOST_FINDINGS


def test_compiled_schemas_are_kept_by_action_and_digest() -> None:
    """A changed action is compiled anew; one without digest always is; the least used go."""
    kept = Schemas()
    one = action("read")
    assert kept.of(one) is kept.of(one)
    assert kept.of(one) is not kept.of(action("read", schema={"type": "object"}, server="files2"))
    bare = type(one)(one.id, one.server, one.name, input_schema=one.input_schema)
    assert kept.of(bare) is not kept.of(bare)


def test_kept_schemas_are_bounded() -> None:
    """The least recently used go first."""
    kept = Schemas(most=2)
    first, second, third = (action(name) for name in ("a", "b", "c"))
    known = kept.of(first)
    kept.of(second)
    assert kept.of(first) is known
    kept.of(third)
    assert kept.of(first) is known
