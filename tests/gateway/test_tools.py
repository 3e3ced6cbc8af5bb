"""The definitions of the eight tools."""

from __future__ import annotations

import json
from typing import Any

import pytest

from anyact_server.gateway.render import compact, description
from anyact_server.gateway.tools import (
    CEILING_BYTES,
    NAMES,
    SUMMARY_BYTES,
    definitions,
    shown_as_tool,
    summarize,
    tool_names,
)
from anyact_server.types import Action, Hints, ServerSpec

from .twins import action


def _crowd() -> list[Action]:
    return [
        action(f"server-with-a-long-name-{server}", f"tool_{number}", description="x" * 20_000)
        for server in range(40)
        for number in range(75)
    ]


def _walk(schema: Any) -> list[dict[str, Any]]:
    found = []
    if isinstance(schema, dict):
        found.append(schema)
        for value in schema.values():
            found += _walk(value)
    if isinstance(schema, list):
        for value in schema:
            found += _walk(value)
    return found


@pytest.mark.case("F1")
def test_the_tools_stay_few_and_small_whatever_lies_behind() -> None:
    """40 servers with 3,000 actions and huge descriptions: under ten tools, under 8 KB."""
    specs = [ServerSpec(f"server-with-a-long-name-{number}", "memory", description="y" * 5000) for number in range(40)]
    tools = definitions(summarize(_crowd(), specs))
    assert len(tools) == 8
    assert len(json.dumps(tools).encode()) < CEILING_BYTES


@pytest.mark.case("F1")
@pytest.mark.case("S3")
def test_the_schemas_are_flat_objects_that_every_provider_takes() -> None:
    """No references, no unions, no booleans as schemas; every array says what it holds; required names exist."""
    for tool in definitions("nothing"):
        schema = tool["inputSchema"]
        assert schema["type"] == "object"
        assert set(schema["required"]) <= set(schema["properties"])
        for part in _walk(schema):
            assert not {"$ref", "anyOf", "oneOf", "allOf", "not", "$defs"} & set(part)
            assert not isinstance(part.get("type"), list)
            if part.get("type") == "array":
                assert part["items"]["type"] in ("string", "object")


def test_the_definitions_are_the_same_bytes_for_the_same_catalog() -> None:
    """Prompt caches depend on it."""
    actions = _crowd()
    assert definitions(summarize(actions, [])) == definitions(summarize(list(reversed(actions)), []))


def test_only_the_tools_that_act_say_that_they_do() -> None:
    """A client may allow the read-only ones always."""
    acting = [tool["name"] for tool in definitions("") if not tool["annotations"]["readOnlyHint"]]
    assert acting == ["call_action", "run_actions"]
    assert all(tool["annotations"]["destructiveHint"] for tool in definitions("") if tool["name"] in acting)
    assert tool_names(definitions("")) == list(NAMES)
    assert not any("outputSchema" in tool for tool in definitions(""))


def test_the_summary_names_servers_with_the_most_actions_first() -> None:
    """Models search only what they know to be there."""
    actions = [action("git", "log"), action("git", "diff"), action("time", "now", server_description="Clock   work")]
    text = summarize(
        actions, [ServerSpec("git", "memory", description="Version control"), ServerSpec("time", "memory")]
    )
    assert text == "Behind it now: 3 actions of 2 servers: git (2: Version control); time (1: Clock work)."


def test_a_summary_of_many_servers_is_cut_and_counts_the_rest() -> None:
    """It stays within its ceiling and hides nothing silently."""
    text = summarize(_crowd(), [])
    assert len(text.encode()) <= SUMMARY_BYTES
    assert text.endswith("more servers.")


def test_an_empty_catalog_says_so() -> None:
    """A model then knows whether searching later is of use."""
    assert summarize([], []) == "Nothing is behind it: no server with actions is configured."
    text = summarize([], [], unread=["a", "b", "c", "d", "e"])
    assert text == "Nothing is known to be behind it yet. Not read yet: a, b, c and 2 more. Search again in a moment."
    some = summarize([action("git", "log")], [], unread=["web"])
    assert some == "Behind it now: 1 action of 1 server: git (1). Not read yet: web."


def test_long_descriptions_of_servers_are_cut_in_the_summary() -> None:
    """One talkative server must not use up the paragraph."""
    text = summarize([action("talk", "a")], [ServerSpec("talk", "memory", tags=("word " * 40,))])
    assert text.endswith("…).")
    assert len(text) < 140


def test_an_action_as_a_tool_keeps_its_annotations_and_extras() -> None:
    """The name is the id; the schema is the shown one; nothing is invented."""
    shown = shown_as_tool(
        action(
            "a",
            "b",
            title="The B",
            hints=Hints(read_only=True, destructive=False),
            extra={"icons": [{"src": "i.png"}], "_meta": {"x": 1}, "execution": {}},
        )
    )
    assert shown["name"] == "a__b"
    assert shown["title"] == "The B"
    assert shown["annotations"] == {"title": "The B", "readOnlyHint": True, "destructiveHint": False}
    assert shown["icons"] == [{"src": "i.png"}]
    assert shown["_meta"] == {"x": 1}
    assert "execution" not in shown
    assert "annotations" not in shown_as_tool(action("a", "c"))


@pytest.mark.case("S2")
def test_the_shown_schema_is_passed_whole() -> None:
    """Definitions, their references and every root keyword stay together, in lists and in descriptions."""
    schema = {
        "type": "object",
        "properties": {"a": {"$ref": "#/$defs/A", "description": "which"}},
        "required": ["a"],
        "$defs": {"A": {"type": "string"}, "unused": {"type": "null"}},
        "additionalProperties": False,
    }
    shown = action("s", "a", schema=schema)
    assert shown_as_tool(shown)["inputSchema"] == schema
    assert compact(schema) in description(shown, None)
