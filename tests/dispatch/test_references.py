"""Values that stand for the results of other calls."""

from __future__ import annotations

from typing import Any

import pytest

from anyact_server.dispatch.references import follow, is_reference, named, resolve, value_of
from anyact_server.errors import InvalidArguments

DATA: dict[str, Any] = {
    "items": [{"name": "a", "n": 1}, {"name": "b", "n": 2}],
    "a key": {"x-y": 5},
    "none": None,
    "text": "words",
}


def lookup(name: str) -> Any:
    """One known source."""
    if name != "first":
        raise InvalidArguments(f"no {name}")
    return DATA


def test_a_reference_is_replaced_wherever_it_stands() -> None:
    """Deep inside, whole or by path."""
    given = {"all": {"$anyact": "first"}, "list": [{"$anyact": "first", "path": "$.items[1].name"}], "plain": 1}
    assert resolve(given, lookup) == {"all": DATA, "list": ["b"], "plain": 1}


def test_only_the_exact_form_is_a_reference() -> None:
    """Other keys beside it, another type, JSON Schema's `$ref`: data."""
    for value in ({"$anyact": "first", "more": 1}, {"$anyact": 5}, {"$ref": "#/x"}, {"$anyact": "first", "path": 5}):
        assert not is_reference(value)
        assert resolve({"v": value}, lookup) == {"v": value}
    assert is_reference({"$anyact": "first", "path": None})


def test_a_literal_is_taken_as_it_is() -> None:
    """Nothing inside is replaced."""
    inner = {"$anyact": "first"}
    assert resolve({"v": {"$anyact_literal": inner}}, lookup) == {"v": inner}
    assert list(named({"v": {"$anyact_literal": inner}})) == []


def test_the_names_that_arguments_refer_to_are_found() -> None:
    """Also in arguments that come as a string, not in strings inside."""
    given = {"a": {"$anyact": "x"}, "b": [{"$anyact": "y", "path": "$.z"}], "c": '{"$anyact": "no"}'}
    assert list(named(given)) == ["x", "y"]
    assert list(named('{"a": {"$anyact": "x"}}')) == ["x"]
    assert list(named("$anyact but no JSON")) == []
    assert list(named({"a": {"$anyact_literal": {"$anyact": "x"}, "more": {"$anyact": "y"}}})) == ["x", "y"]


def test_arguments_that_are_nested_too_deep_name_nothing() -> None:
    """They are refused when the call is made."""
    deep: object = {"$anyact": "x"}
    for _ in range(5000):
        deep = {"a": deep}
    assert list(named(deep)) == []


@pytest.mark.parametrize(
    "path, value",
    [
        (None, DATA),
        ("$", DATA),
        (" . ", DATA),
        ("$.items[0].name", "a"),
        ("items[-1].n", 2),
        ("$['a key']['x-y']", 5),
        ('$["a key"].x-y', 5),
        (".text", "words"),
        ("$.none", None),
        ("$.items[*].n", [1, 2]),
        ("$..name", ["a", "b"]),
        ("$.items[?(@.n > 1)].name", ["b"]),
        ("items[*].name", ["a", "b"]),
    ],
)
def test_paths_find_what_they_name(path: str | None, value: Any) -> None:
    """Plain steps give the one value, wider paths the list of matches."""
    assert follow(DATA, path, "first") == value


@pytest.mark.parametrize(
    "path, said",
    [
        ("$.item", "there are: `items`, `a key`"),
        ("$.items[7]", "the array there has 2 items"),
        ("$.text.more", 'there is string "words"'),
        ("$.items.name", "the array there has 2 items"),
        ("$..nothing", "there are: `items`"),
    ],
)
def test_a_path_that_finds_nothing_says_what_is_there(path: str, said: str) -> None:
    """So that the caller can mend it."""
    with pytest.raises(InvalidArguments) as caught:
        follow(DATA, path, "first")
    assert said in caught.value.message
    with pytest.raises(InvalidArguments, match="empty"):
        follow({}, "$.x", "first")


@pytest.mark.parametrize("path", ["$[", "$.items[?(", "!!", "$.a b c"])
def test_what_is_no_path_is_refused(path: str) -> None:
    """With the path in the message."""
    with pytest.raises(InvalidArguments, match="not a JSONPath"):
        follow(DATA, path, "first")


@pytest.mark.parametrize(
    "result, value",
    [
        ({"structuredContent": {"a": 1}, "content": [{"type": "text", "text": "x"}]}, {"a": 1}),
        ({"structuredContent": {"result": [1, 2]}, "content": []}, [1, 2]),
        ({"structuredContent": {"result": 1, "more": 2}}, {"result": 1, "more": 2}),
        ({"content": [{"type": "text", "text": '{"a": 1}'}]}, {"a": 1}),
        ({"content": [{"type": "text", "text": " [1]"}]}, [1]),
        ({"content": [{"type": "text", "text": "{not json"}]}, "{not json"),
        ({"content": [{"type": "text", "text": "words"}]}, "words"),
        ({"content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]}, "a\nb"),
        ({"content": [{"type": "text", "text": "{}"}, {"type": "text", "text": "[]"}]}, [{}, []]),
        ({"content": [{"type": "image", "data": "x"}]}, [{"type": "image", "data": "x"}]),
        ({"content": []}, None),
        ({"content": None}, None),
        ({"content": "words"}, "words"),
        ({"toolResult": 5}, 5),
        ({}, None),
    ],
)
def test_a_result_stands_for_its_data(result: Any, value: Any) -> None:
    """Structured content first, then JSON in texts, then texts, then blocks; odd shapes never raise."""
    assert value_of(result) == value
