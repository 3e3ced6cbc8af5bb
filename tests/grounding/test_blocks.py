"""Results of every shape become blocks and notes."""

from __future__ import annotations

import pytest

from anyact_server.grounding.blocks import read_content
from anyact_server.types import Json

from .conftest import text_result


def test_a_text_block_keeps_its_text_and_place() -> None:
    """The pointer leads to the string in the result."""
    block = read_content(text_result("hello")).blocks[0]
    assert (block.kind, block.text, block.pointer) == ("text", "hello", "/content/0/text")


@pytest.mark.case("O4")
@pytest.mark.parametrize(
    ("result", "fault"),
    [
        ({}, "the result has no content"),
        ({"content": None}, "content is null, not a list"),
        ({"content": "x"}, "content is a string, not a list"),
        ({"content": {"type": "text", "text": "x"}}, "content is an object, not a list"),
        ({"content": 5}, "content is a number, not a list"),
        ({"content": True}, "content is a boolean, not a list"),
        ({"content": ["x"]}, "a content block is a bare string"),
        ({"content": [7, 8]}, "a content block is a number, not an object (2 times)"),
        ({"content": [None]}, "a content block is null, not an object"),
        ({"content": [{"text": "x"}]}, "a content block has no type"),
        ({"content": [{"type": "video", "text": "x"}]}, "a content block has the unknown type 'video'"),
        ({"content": [{"type": ["text"]}]}, "a content block has the unknown type ['text']"),
        ({"content": [{"type": "text"}]}, "a text block has no text"),
        ({"content": [{"type": "text", "text": [1]}]}, "the text of a text block is a list"),
        ({"content": [{"type": "image"}]}, "an image block has no data"),
        ({"content": [{"type": "resource"}]}, "a resource block has no resource"),
        ({"content": [{"type": "resource", "resource": {"uri": "a:b"}}]}, "a resource has neither text nor blob"),
        ({"content": [{"type": "resource_link", "name": "x"}]}, "a resource link has no uri"),
        ({"content": [], "isError": "yes"}, "isError is a string, not a boolean"),
        ([{"type": "text", "text": "x"}], "the result is not an object"),
        ("x", "the result is not an object"),
        ({"toolResult": "x"}, "the result has the form of 2024 (`toolResult`)"),
    ],
)
def test_a_malformed_result_is_read_and_noted(result: Json, fault: str) -> None:
    """No shape raises; each is named."""
    assert fault in read_content(result).faults


def test_the_old_form_gives_its_value() -> None:
    """`toolResult` of the first protocol is text or structured content."""
    assert read_content({"toolResult": "x"}).texts == ("x",)
    content = read_content({"toolResult": {"a": 1}})
    assert content.has_structured and content.structured == {"a": 1}


def test_a_value_that_is_no_result_is_the_content_itself() -> None:
    """A bare list of data is shown as data, a bare text as text."""
    assert read_content([1, 2]).blocks[0].raw == [1, 2]
    assert read_content("x").texts == ("x",)


def test_embedded_resources_become_what_they_hold() -> None:
    """Text, picture, sound or binary, with their address and title."""
    inner: list[Json] = [
        {"uri": "a:1", "text": "t", "title": "T", "mimeType": "text/plain"},
        {"uri": "a:2", "blob": "AA==", "mimeType": "image/png"},
        {"uri": "a:3", "blob": "AA==", "mimeType": "audio/wav"},
        {"uri": "a:4", "blob": "AA==", "mimeType": 5, "name": "N"},
    ]
    content = read_content({"content": [{"type": "resource", "resource": one} for one in inner]})
    assert [block.kind for block in content.blocks] == ["text", "image", "audio", "blob"]
    assert [block.title for block in content.blocks] == ["T", "", "", "N"]
    assert content.blocks[1].pointer == "/content/1/resource/blob"


def test_a_data_uri_in_an_image_block_is_unwrapped() -> None:
    """Some servers put the whole data URI where base64 belongs."""
    block = read_content({"content": [{"type": "image", "data": "data:image/png;base64,AAAA"}]}).blocks[0]
    assert (block.text, block.mime) == ("AAAA", "image/png")


def test_links_keep_their_facts() -> None:
    """Address, title, type, size and description."""
    link = {"type": "resource_link", "uri": "f:///a", "name": "a", "mimeType": "x/y", "size": 9, "description": "d"}
    block = read_content({"content": [link]}).blocks[0]
    assert (block.kind, block.uri, block.title, block.mime, block.size, block.text) == (
        "link",
        "f:///a",
        "a",
        "x/y",
        9,
        "d",
    )


def test_annotations_are_read_where_they_are_well_formed() -> None:
    """Audience and priority; anything else is ignored."""
    notes: list[Json] = [{"audience": ["user"], "priority": 0.9}, {"audience": "user", "priority": True}, 5]
    content = read_content({"content": [{"type": "text", "text": "x", "annotations": one} for one in notes]})
    assert [(block.audience_user, block.priority) for block in content.blocks] == [
        (True, 0.9),
        (False, None),
        (False, None),
    ]


def test_flags_and_pending_results_are_seen() -> None:
    """A true flag, the word for it, and the 2026 results that are not finished."""
    assert read_content({"content": [], "isError": True}).is_error
    assert read_content({"content": [], "isError": "true"}).is_error
    assert read_content({"resultType": "task"}).pending
    assert not read_content({"resultType": "task"}).faults
