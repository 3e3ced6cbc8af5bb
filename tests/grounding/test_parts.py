"""What a handle means: main values, parts, pointers and paths."""

from __future__ import annotations

import pytest

from anyact_server.errors import UsageError
from anyact_server.grounding.blocks import read_content
from anyact_server.grounding.parts import (
    at_pointer,
    main_value,
    mirrored,
    parse_json,
    part_value,
    select,
    without_codes,
)
from anyact_server.types import Json

from .conftest import text_result

VALUE: Json = {"items": [{"id": 1, "a/b": "x"}, {"id": 2}, {"id": 3}], "name": "n", "~": 0}


@pytest.mark.parametrize(
    ("text", "value"),
    [
        (' {"a": 1}\n', {"a": 1}),
        ("[]", []),
        ('{"a": 1}\n{"a": 2}', [{"a": 1}, {"a": 2}]),
        ('{"a": 1}\n{"a": 2', None),
        ("[1]\n[2]", None),
        ("{x}", None),
        ("12", None),
        ('"x"', None),
        ("", None),
    ],
)
def test_json_and_lines_of_json_are_recognised(text: str, value: Json) -> None:
    """Objects and lists only; a number may be just a text."""
    assert parse_json(text) == value


@pytest.mark.parametrize(
    ("result", "value"),
    [
        ({"structuredContent": {"a": 1}, "content": []}, {"a": 1}),
        ({"structuredContent": {"result": [1]}}, [1]),
        (text_result("plain"), "plain"),
        (text_result("[1, 2]"), [1, 2]),
        ({"content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]}, "a\nb"),
        ({"content": [{"type": "image", "data": "AAAA"}]}, "AAAA"),
        ({"content": []}, {"content": []}),
    ],
)
def test_the_main_value_is_the_result_without_its_wrapping(result: Json, value: Json) -> None:
    """Structured content first, then texts, then the only binary."""
    assert main_value(result) == value


@pytest.mark.parametrize(
    ("texts", "structured", "same"),
    [
        (['{"a": 1}'], {"a": 1}, True),
        (["plain"], {"result": "plain"}, True),
        (["[1]"], {"result": [1]}, True),
        (['{"a": 1}', "x"], {"result": [{"a": 1}, "x"]}, True),
        (['{"a": 1}', "y"], {"result": [{"a": 1}, "x"]}, False),
        (["the output of the command"], {"output": "the output of the command", "exit": 0}, True),
        (["a summary in words"], {"a": 1}, False),
        (['{"a": 2}'], {"a": 1}, False),
        ([], {"a": 1}, False),
        (["x", "y"], {"a": 1}, False),
    ],
)
def test_texts_that_repeat_the_structured_part_are_known(texts: list[str], structured: Json, same: bool) -> None:
    """By value, in all the ways in which servers mirror it."""
    content = [{"type": "text", "text": text} for text in texts]
    assert mirrored(read_content({"content": content, "structuredContent": structured})) is same


def test_values_too_deep_to_compare_count_as_different() -> None:
    """Instead of ending in a recursion error."""
    deep: Json = "core"
    other: Json = "core"
    for _ in range(5000):
        deep, other = [deep], [other]
    result = {"content": [{"type": "text", "text": "x"}], "structuredContent": {"result": deep}}
    assert not mirrored(read_content(result))


@pytest.mark.parametrize(
    ("query", "value"),
    [
        ("$", VALUE),
        ("/", VALUE),
        ("/items/1/id", 2),
        ("/items/0/a~1b", "x"),
        ("/~0", 0),
        ("$.items[0].id", 1),
        ("items[2].id", 3),
        ("$.items[*].id", [1, 2, 3]),
        ("$.items[1:].id", [2, 3]),
        ("$.items[?(@.id > 2)].id", [3]),
        ("$..id", [1, 2, 3]),
        ("$.name", "n"),
    ],
)
def test_pointers_and_paths_select(query: str, value: Json) -> None:
    """One find is itself, several come as a list."""
    assert select(VALUE, query) == value


@pytest.mark.parametrize(
    "query", ["/items/9", "/nothing", "/name/x", "$.nothing", "$.items[?", "$[", "$." + "a" * 2000]
)
def test_a_query_that_finds_nothing_says_what_is_there(query: str) -> None:
    """A message and a hint that help to mend it."""
    with pytest.raises(UsageError) as caught:
        select(VALUE, query)
    assert caught.value.hint or "longer than" in str(caught.value)


def test_a_missing_pointer_names_the_last_step_that_exists() -> None:
    """With the keys that are there, at most twenty."""
    with pytest.raises(UsageError, match="nothing is at /items/0/zz") as caught:
        at_pointer(VALUE, "/items/0/zz")
    assert caught.value.hint == "There: an object with the keys id, a/b."
    with pytest.raises(UsageError) as wide:
        at_pointer({str(i): i for i in range(30)}, "/zz")
    assert wide.value.hint is not None and wide.value.hint.endswith("19, ….")


def test_parts_are_texts_spans_and_bytes() -> None:
    """A span of a text, a binary, a binary inside JSON inside a text, all texts joined."""
    result = {"content": [{"type": "text", "text": "ab AAEC cd"}, {"type": "text", "text": '{"x": {"y": "AAEC"}}'}]}
    assert part_value(result, {"pointer": "/content/0/text"}) == "ab AAEC cd"
    assert part_value(result, {"pointer": "/content/0/text", "start": 3, "end": 7, "binary": True}) == b"\x00\x01\x02"
    inner = {"pointer": "/content/1/text", "inner": "/x/y", "binary": True}
    assert part_value(result, inner) == b"\x00\x01\x02"
    assert part_value(result, {"pointer": "/content/0", "binary": True}) == '{"type":"text","text":"ab AAEC cd"}'
    assert part_value(result, {"pointer": "/content/0"}) == result["content"][0]
    assert part_value(result, {"pointer": "/content/1/text", "mime": "application/json"}) == {"x": {"y": "AAEC"}}
    assert part_value(result, {"pointer": "/content/*"}) == 'ab AAEC cd\n{"x": {"y": "AAEC"}}'
    uri = {"content": [{"type": "text", "text": "data:a/b;base64,AAEC"}]}
    assert part_value(uri, {"pointer": "/content/0/text", "start": 0, "end": 20, "binary": True}) == b"\x00\x01\x02"


def test_codes_are_taken_out_of_a_value() -> None:
    """Everything else is equal; what is nested too deeply is cut."""
    code = "Zm9vQmFyMTIz" * 30
    value = {"a": [code, {"b/c": f"x {code}"}], "n": 1}
    assert without_codes(value, lambda pointer, found: f"<{pointer}>") == {
        "a": ["</a/0>", {"b/c": "x </a/1/b~1c>"}],
        "n": 1,
    }
    deep: Json = 1
    for _ in range(300):
        deep = [deep]
    assert "nested too deeply" in str(without_codes(deep, lambda pointer, found: ""))
