"""Structured content against declared output schemas."""

from __future__ import annotations

import pytest

from anyact_server.grounding.blocks import read_content
from anyact_server.grounding.schemas import OutputSchemas
from anyact_server.types import Action, Json

from .conftest import text_result

SCHEMA = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}


def problem(result: Json, schema: Json = SCHEMA) -> str | None:
    return OutputSchemas().problem(read_content(result), Action("s__a", "s", "a", output_schema=schema))


@pytest.mark.case("O3")
@pytest.mark.parametrize(
    "result",
    [
        {"content": [], "structuredContent": {"n": 1}},
        text_result('{"n": 1}'),
        {"content": [], "structuredContent": {"n": "x"}, "isError": True},
        {"content": [], "isError": True},
        {"resultType": "task"},
    ],
)
def test_conforming_and_failed_results_pass(result: Json) -> None:
    """Errors are exempt; a text that is conforming JSON counts."""
    assert problem(result) is None


@pytest.mark.case("O3")
def test_a_mismatch_is_named_with_its_place() -> None:
    """The message fits in one line whatever the value."""
    wrong = problem({"content": [], "structuredContent": {"n": "x"}})
    assert wrong is not None and "does not fit the output schema at /n" in wrong
    wrapped = problem({"structuredContent": {"result": "y" * 5000}})
    assert wrapped is not None and len(wrapped) < 400
    absent = problem({"content": []})
    assert absent is not None and "no structured content" in absent
    assert problem(text_result("words")) == absent


@pytest.mark.case("O3")
@pytest.mark.parametrize(
    "schema",
    [
        {"type": "nonsense"},
        {"$ref": "https://example.invalid/schema.json"},
        {"properties": {"a": {"pattern": "("}}},
        {"$ref": "#/$defs/none"},
    ],
)
def test_a_schema_that_cannot_be_used_checks_nothing(schema: Json) -> None:
    """The reason is told apart; nothing is fetched."""
    schemas = OutputSchemas()
    action = Action("s__a", "s", "a", output_schema=schema)
    assert schemas.problem(read_content({"structuredContent": {"a": 1}}), action) is None
    assert "cannot be used" in (schemas.fault(action) or "")


def test_without_a_schema_there_is_nothing_to_check() -> None:
    """None and the empty schema alike; a sound schema has no fault."""
    assert problem({"structuredContent": {"n": "x"}}, None) is None
    assert problem({"structuredContent": {"n": "x"}}, {}) is None
    assert OutputSchemas().fault(Action("s__a", "s", "a")) is None
    assert OutputSchemas().fault(Action("s__a", "s", "a", output_schema=SCHEMA)) is None


def test_compiled_schemas_are_kept_but_not_without_end() -> None:
    """A thousand different schemas leave 512."""
    schemas = OutputSchemas()
    content = read_content({"structuredContent": {"n": 1}})
    for number in [*range(600), 599]:
        schemas.problem(content, Action("a", "s", "a", output_schema={"title": str(number)}))
    assert len(schemas._compiled) == 512


def test_very_large_content_is_not_checked() -> None:
    """A check never costs more than the call."""
    assert problem({"structuredContent": {"n": "x" * 5_000_000}}) is None
