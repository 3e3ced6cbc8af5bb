"""Arguments as models really send them."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anyact_server.dispatch.arguments import (
    Accepted,
    accept,
    as_object,
    has_null,
    unwrapped,
    whole_text,
    without_nulls,
)
from anyact_server.dispatch.schemas import compiled
from anyact_server.errors import InvalidArguments
from anyact_server.types import Action

from .world import ONE_TEXT, action

READ = action("read")
OPTIONAL = {"type": "object", "properties": {"text": {"type": "string"}, "limit": {"type": "integer"}}}


def taken(value: Any, target: Action = READ) -> dict[str, Any]:
    """What the server would receive."""
    return accept(target, value, compiled(target.input_schema), lambda given: given).value


def refused(value: Any, target: Action = READ) -> InvalidArguments:
    """The refusal of arguments."""
    with pytest.raises(InvalidArguments) as caught:
        taken(value, target)
    return caught.value


@pytest.mark.case("S4")
@pytest.mark.parametrize("value", [None, {}, "", "  ", "{}", "null"])
def test_nothing_is_the_empty_object(value: Any) -> None:
    """Omitted, null, an empty object, and each of them as a string."""
    assert taken(value, action("list", schema=OPTIONAL)) == {}


@pytest.mark.case("S4")
def test_a_string_that_holds_an_object_is_that_object() -> None:
    """Unwrapped, on every route."""
    assert taken('{"text": "a"}') == {"text": "a"}


@pytest.mark.case("S4")
@pytest.mark.parametrize("value", ["[1]", [1], 3, True, 2.5, "3", "words", '"text"', "[" * 100_000])
def test_what_is_no_object_is_refused(value: Any) -> None:
    """Lists, numbers, other strings: invalid arguments, with what is wanted."""
    error = refused(value)
    assert error.message.startswith("arguments must be a JSON object")
    assert error.hint == 'Wanted: {text: string}. Example: {"text": "..."}'
    assert len(error.message) < 300


@pytest.mark.case("S4")
def test_an_explicit_null_for_an_optional_argument_is_passed_on() -> None:
    """Untouched, also where its type does not name null, at any depth."""
    target = action("list", schema=OPTIONAL)
    assert taken({"text": "a", "limit": None}, target) == {"text": "a", "limit": None}
    deep = {"type": "object", "properties": {"a": {"type": "array", "items": OPTIONAL}}}
    assert taken({"a": [{"limit": None}]}, action("deep", schema=deep)) == {"a": [{"limit": None}]}


def test_null_for_a_required_argument_is_refused() -> None:
    """It is not there, and the message says that null was given."""
    assert refused({"text": None}).problems == ("`text`: given null, wanted string",)


def test_a_null_that_the_schema_allows_needs_no_forgiving() -> None:
    """It is simply valid."""
    target = action("x", schema={"properties": {"a": {"type": "null"}}, "required": ["a"]})
    assert taken({"a": None}, target) == {"a": None}


@pytest.mark.parametrize(
    "value",
    [
        {"arguments": {"text": "a"}},
        {"args": '{"text": "a"}'},
        {"name": "read", "arguments": {"text": "a"}},
        {"tool_name": "files__read", "parameters": {"text": "a"}},
        {"action": "files__read", "text": "a"},
        {"read": {"text": "a"}},
        {"files__read": {"text": "a"}},
        {"tool": "read", "args": {"text": "a"}},
        {"tool": "read", "input": {"name": "read", "text": "a"}},
    ],
)
def test_a_repeated_envelope_is_taken_off(value: Any) -> None:
    """However models nest the call once more."""
    assert taken(value) == {"text": "a"}


def test_an_empty_envelope_is_no_arguments() -> None:
    """For an action that takes none."""
    target = action("list", schema={"type": "object", "properties": {}, "additionalProperties": False})
    assert taken({"arguments": {}}, target) == {}
    assert taken({"arguments": None}, target) == {}
    assert refused({"x": 1}, target).hint == "This action takes no arguments: send {}."


def test_what_the_schema_declares_is_never_taken_off() -> None:
    """An action that really takes `arguments`, or `name`."""
    takes = {"type": "object", "properties": {"arguments": {"type": "object"}, "name": {"type": "string"}}}
    target = action("read", schema=takes)
    assert taken({"arguments": {"name": "x"}}, target) == {"arguments": {"name": "x"}}
    assert taken({"name": "read", "arguments": {}}, target) == {"name": "read", "arguments": {}}


def test_an_open_action_receives_what_was_sent() -> None:
    """Without declared properties nobody can know better."""
    target = action("any", schema={"type": "object"})
    assert taken({"arguments": {"x": 1}}, target) == {"arguments": {"x": 1}}


def test_an_envelope_whose_content_is_not_declared_stays() -> None:
    """Where the whole fits the schema, and the content has strangers."""
    target = action("list", schema=OPTIONAL)
    assert taken({"args": {"text": "a"}}, target) == {"text": "a"}
    assert taken({"args": {"color": "red"}}, target) == {"args": {"color": "red"}}


def test_things_that_only_look_like_envelopes_stay() -> None:
    """Another name, or a content that is no object."""
    assert unwrapped({"name": "write", "text": "a"}, READ) is None
    assert unwrapped({"arguments": [1]}, READ) is None
    assert unwrapped({}, READ) is None


def test_wrong_content_of_an_envelope_is_what_the_message_is_about() -> None:
    """Not the envelope."""
    assert refused({"arguments": {"text": 5}}).problems == ("`text`: given 5 (integer), wanted string",)


def test_the_refusal_tells_what_is_wanted_with_an_example() -> None:
    """The example is only shown when it fits."""
    error = refused({"txt": "a"})
    assert error.message == "arguments do not fit files__read: `text` is missing (string); you gave `txt`, rename it"
    assert error.hint == 'Wanted: {text: string}. Example: {"text": "..."}'
    strict = {"type": "object", "properties": {"id": {"type": "string", "pattern": "^[0-9]+$"}}, "required": ["id"]}
    assert refused({}, action("x", schema=strict)).hint == "Wanted: {id: string}."


def test_arguments_pass_byte_for_byte() -> None:
    """Order, numbers, text: nothing is made over."""
    value = {"text": "ä\u2028 \\ ", "z": 1, "a": [1.0, {"b": -0.0}], "big": 10**30}
    assert json.dumps(taken(value)) == json.dumps(value)


def test_an_argument_beside_the_schema_is_noted_when_a_near_one_exists() -> None:
    """It is sent, since the schema allows it, and said."""
    target = action("list", schema=OPTIONAL)
    accepted = accept(target, {"limits": 3}, compiled(OPTIONAL), lambda given: given)
    assert accepted.value == {"limits": 3}
    assert accepted.notes == ("`limits` is not in the schema; perhaps `limit` was meant",)
    assert accept(target, {"color": 3}, compiled(OPTIONAL), lambda given: given).notes == ()


def test_unchecked_arguments_are_said_quietly() -> None:
    """A schema that cannot be used lets everything through."""
    broken = {"type": "nonsense"}
    accepted = accept(action("x", schema=broken), {"a": 1}, compiled(broken), lambda given: given)
    assert accepted.value == {"a": 1}
    assert "not checked" in accepted.quiet[0]


def test_arguments_that_are_nested_too_deep_are_refused() -> None:
    """Without a crash, however deep."""
    value: Any = {}
    for _ in range(5000):
        value = {"text": value}
    assert "deeper than" in refused(value).message
    inner = json.dumps({"text": "x"}).replace('"x"', '{"a":' * 400 + "1" + "}" * 400)
    assert "deeper than" in refused({"arguments": inner}).message


def test_what_is_not_json_is_refused() -> None:
    """A key that is no string cannot be sent."""
    assert "not plain JSON" in refused({1: "x"}).message


@pytest.mark.case("E1")
def test_lone_surrogates_are_replaced_and_noted() -> None:
    """What is sent is valid Unicode; whole pairs and everything else stay."""
    mended = whole_text(Accepted({"a\ud800": ["x\udc00y", {"b": "😀"}], "n": 10**30}))
    assert mended.value == {"a\ufffd": ["x\ufffdy", {"b": "😀"}], "n": 10**30}
    assert "surrogates" in mended.notes[0]
    fine = Accepted({"n": 10**30, "t": "😀"})
    assert whole_text(fine) is fine


def test_nulls_are_found_and_left_out_at_any_depth() -> None:
    """In objects only: a null in a list is a value."""
    assert has_null({"a": [{"b": None}]})
    assert not has_null({"a": [None]})
    assert without_nulls({"a": [None, {"b": None, "c": 1}], "d": None}) == {"a": [None, {"c": 1}]}


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
        max_leaves=10,
    )
)
def test_any_json_is_either_an_object_or_refused(value: Any) -> None:
    """Nothing else can happen, whether it comes as a value or as text."""
    for form in (value, json.dumps(value)):
        try:
            assert isinstance(as_object(form), dict)
        except InvalidArguments as error:
            assert error.problems


def test_references_are_resolved_before_checking() -> None:
    """The data is checked, not the reference."""
    accepted = accept(READ, {"text": {"$x": 1}}, compiled(ONE_TEXT), lambda _: {"text": "from elsewhere"})
    assert accepted.value == {"text": "from elsewhere"}
