"""Tool lists as servers really send them."""

from __future__ import annotations

import copy
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anyact_server.catalog.snapshots import (
    About,
    Entry,
    Item,
    about,
    changed_fields,
    completed,
    decode,
    difference,
    digest_of,
    encode,
    is_json,
    matches,
    reach_of,
    read_tools,
    storable,
)
from anyact_server.types import Action, Hints, Json, ServerSpec, Snapshot

GOOD: dict[str, Json] = {"name": "good", "inputSchema": {"type": "object", "properties": {}}}


def deep(levels: int) -> Json:
    """A list nested so deep."""
    value: Json = []
    for _ in range(levels):
        value = [value]
    return value


@pytest.mark.case("S1")
def test_bad_items_are_named_and_cost_no_other() -> None:
    """Five schemas of which three are faulty: all are listed, the faulty with their reason, and status can tell."""
    schemas: dict[str, Json] = {
        "texts": {"type": "string"},
        "null": None,
        "untyped": {"type": "object", "properties": {"a": {}}},
        "sound": {"type": "object", "properties": {"a": {"type": "string"}}},
    }
    tools = [{"name": name, "inputSchema": schema} for name, schema in schemas.items()]
    reading = read_tools("s", [*tools, {"name": "absent"}])
    faults = {entry.name: entry.fault for entry in reading.entries}
    assert [name for name, fault in faults.items() if fault is None] == ["untyped", "sound"]
    assert "type string" in str(faults["texts"])
    assert faults["null"] == faults["absent"] == "its input schema is missing"
    assert sum("cannot be called" in warning for warning in reading.warnings) == 3
    assert "tool 'null' cannot be called: its input schema is missing" in reading.warnings


@pytest.mark.parametrize(
    ("tool", "words"),
    [
        (None, "tool number 1 is left out: it is no object"),
        ([], "number 1"),
        ({}, "it has no name"),
        ({"name": ""}, "it has no name"),
        ({"name": 3}, "number 1 is left out: it has no name"),
        ({"name": "n" * 513}, "longer than 512"),
        ({"name": "\ud800"}, "its name is no valid text"),
        ({"name": "x", "_meta": deep(2000)}, "tool 'x' is left out: it is nested too deep"),
    ],
)
def test_an_item_that_cannot_be_used_is_left_out_with_its_reason(tool: Json, words: str) -> None:
    """The next one is there."""
    reading = read_tools("s", [tool, GOOD])
    assert [entry.name for entry in reading.entries] == ["good"]
    assert reading.positions == (1,)
    assert words in reading.warnings[0]


@pytest.mark.case("G1")
def test_a_tool_that_is_listed_twice_is_there_once() -> None:
    """The first wins; it is told."""
    reading = read_tools("s", [GOOD, {**GOOD, "description": "again"}])
    assert [entry.description for entry in reading.entries] == [""]
    assert reading.warnings == ("tool 'good' is listed twice; the first is used",)


def test_odd_fields_are_left_out_and_told() -> None:
    """A description that is a number costs the description alone."""
    tool = {**GOOD, "description": 5, "title": [], "outputSchema": True, "annotations": "x", "_meta": {"k": 1}}
    reading = read_tools("s", [tool])
    entry, item = reading.entries[0], reading.items[0]
    assert (entry.description, entry.title, entry.hints, item.output_schema) == ("", None, Hints(), None)
    assert item.extra == {"_meta": {"k": 1}}
    assert len(reading.warnings) == 4


def test_everything_a_server_says_is_read() -> None:
    """Title from either place, hints only where they are truth values."""
    tool = {
        **GOOD,
        "description": "Does \ud800 it",
        "annotations": {"title": "T", "readOnlyHint": True, "idempotentHint": "yes", "destructiveHint": False},
        "outputSchema": {"type": "object"},
    }
    reading = read_tools("s", [tool])
    entry, item = reading.entries[0], reading.items[0]
    assert entry.title == "T"
    assert entry.description == "Does ? it"
    assert entry.hints == Hints(read_only=True, destructive=False)
    assert (item.output_schema, item.input_schema) == ({"type": "object"}, GOOD["inputSchema"])
    assert Item().input_schema == {} and Item().shown == {}


@pytest.mark.case("Z1")
def test_a_digest_shows_any_change_of_meaning_and_none_of_key_order() -> None:
    """Description, a default deep in the schema, the name: each changes it. The order of keys does not."""
    properties = {"a": {"type": "string", "default": "x"}, "b": {"type": "number"}}
    tool: dict[str, Any] = {
        "name": "t",
        "description": "d",
        "inputSchema": {"type": "object", "properties": properties},
    }
    schema = {"properties": dict(reversed(properties.items())), "type": "object"}
    turned = {"inputSchema": schema, "description": "d", "name": "t"}
    assert digest_of(tool) == digest_of(turned)
    other = copy.deepcopy(tool)
    other["inputSchema"]["properties"]["a"]["default"] = "y"
    digests = {digest_of(each) for each in (tool, other, {**tool, "description": "e"}, {**tool, "name": "u"})}
    assert len(digests) == 4


JSON_VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters()),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=4),
    max_leaves=15,
)


@given(JSON_VALUES)
def test_any_value_survives_being_stored(value: Any) -> None:
    """Also lone surrogates and numbers of any size; the digest is that of what comes back."""
    assert decode(encode(value)) == value
    assert digest_of(decode(encode(value))) == digest_of(value)
    assert is_json(value)


@given(
    st.lists(
        st.dictionaries(st.sampled_from(["name", "inputSchema", "annotations", "title"]), JSON_VALUES) | JSON_VALUES,
        max_size=4,
    )
)
def test_any_list_is_read_without_an_error(tools: list[Any]) -> None:
    """Every item is either an entry or has a warning."""
    reading = read_tools("s", tools)
    assert len(reading.entries) <= len(tools)
    assert len(reading.entries) + len(reading.warnings) >= len(tools)
    assert [tools[place]["name"] for place in reading.positions] == [entry.name for entry in reading.entries]


def test_values_that_are_no_json_are_told() -> None:
    """Nesting without end, and numbers that are none."""
    assert not is_json(deep(100_000))
    assert not is_json(float("nan")) or encode(float("nan")) == b"null"
    with pytest.raises(ValueError, match="too deep"):
        encode({1: object()})


def test_items_are_taken_out_of_a_reading_with_a_reason() -> None:
    """The places of the others stay what they were."""
    reading = read_tools("s", [GOOD, {**GOOD, "name": "b"}]).without({"good": "why not"})
    assert [entry.name for entry in reading.entries] == ["b"]
    assert (reading.positions, reading.warnings) == ((1,), ("why not",))
    assert read_tools("s", []).entries == ()


@pytest.mark.case("G1")
def test_what_could_not_be_read_is_filled_in_from_before() -> None:
    """Items that were read replace their namesakes; lists that were read whole are taken as they are."""
    mixed: Any = ({"name": "a", "v": 1}, {"name": "b"}, "odd")
    before = Snapshot("s", tools=mixed, prompts=({"name": "p"},))
    read = Snapshot("s", tools=({"name": "a", "v": 2}, {"name": "c"}), partial={"tools": "page 2 failed"})
    whole = completed(read, before)
    assert list(whole.tools) == [{"name": "a", "v": 2}, {"name": "c"}, {"name": "b"}, "odd"]
    assert whole.prompts == ()
    assert completed(read, None) is read
    assert completed(before, read) is before


def test_items_that_cannot_be_written_down_are_dropped_from_a_snapshot() -> None:
    """In every list."""
    snapshot = storable(Snapshot("s", tools=(GOOD, {"x": deep(5000)}), prompts=({"y": deep(5000)},)))
    assert (snapshot.tools, snapshot.prompts) == ((GOOD,), ())


def test_what_a_server_says_of_itself() -> None:
    """Title before name, description before instructions."""
    assert about(Snapshot("s")) == About()
    assert about(Snapshot("s", info={"name": "n"}, instructions="i")) == About("n", "i")
    full = Snapshot("s", info={"name": "n", "title": "t", "description": "d"}, instructions="i")
    assert about(full) == About("t", "d")


def test_a_reach_changes_with_the_place_and_not_with_its_words() -> None:
    """Another command or URL is another server; a token in the query or a tag is not."""
    spec = ServerSpec("s", "http", url="https://h/mcp?token=1")
    assert reach_of(spec) == reach_of(ServerSpec("other", "http", url="https://h/mcp?token=2", tags=("x",)))
    assert (
        len(
            {
                reach_of(each)
                for each in (
                    spec,
                    ServerSpec("s", "sse", url="https://h/mcp"),
                    ServerSpec("s", "stdio", command="x"),
                    ServerSpec("s", "stdio", command="x", args=("y",)),
                )
            }
        )
        == 4
    )


@pytest.mark.parametrize(
    ("patterns", "chosen"),
    [
        ((), False),
        (("get_*",), True),
        (("s__get_x",), True),
        (("*", "!get_x"), False),
        (("*", "!get_*", "get_x"), True),
    ],
)
def test_patterns_choose_by_name_or_id_and_the_last_decides(patterns: tuple[str, ...], chosen: bool) -> None:
    """With `!` for not."""
    assert matches(patterns, Entry("s__get_x", "get_x", "")) == chosen


@pytest.mark.case("G2")
def test_differences_name_the_fields() -> None:
    """Added, removed, changed with what changed; fields without an attribute under their own names."""
    schema = {"type": "object", "properties": {"a": {"type": "string"}}}
    old = {
        "a": Action("a", "s", "a", description="x", digest="1"),
        "b": Action("b", "s", "b"),
        "c": Action("c", "s", "c", digest="1", input_schema=schema, extra={"icons": 1, "_meta": 2}),
        "e": Action("e", "s", "e", tags=("x",)),
    }
    new = {
        "a": Action("a", "s", "a", description="y", digest="2", hints=Hints(read_only=True)),
        "c": Action("c", "s", "c", digest="2", output_schema=schema, extra={"_meta": 3}),
        "d": Action("d", "s", "d"),
        "e": Action("e", "s", "e", tags=("y",)),
    }
    change = difference("s", old, new)
    assert (change.server, change.added, change.removed) == ("s", ("d",), ("b",))
    assert change.changed == {
        "a": ("description", "hints"),
        "c": ("input_schema", "output_schema", "icons", "_meta"),
        "e": ("tags",),
    }
    assert not difference("s", new, new)
    assert changed_fields(new["a"], new["a"]) == ()
    json.dumps(change.changed)
