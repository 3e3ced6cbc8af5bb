"""The words of other programs' files."""

from __future__ import annotations

import pytest

from anyact_server.catalog import dialects


def test_every_field_has_a_shape_and_vital_ones_are_fields() -> None:
    """The tables speak of the same fields."""
    names = set(dialects.FIELDS.values()) - {"anyact"}
    assert names == set(dialects.SHAPES)
    assert names >= dialects.VITAL
    assert not dialects.FOREIGN & set(dialects.FIELDS)
    assert all(dialects.comparable(name) == name for name in (*dialects.FIELDS, *dialects.FOREIGN))


@pytest.mark.case("C1")
@pytest.mark.parametrize(
    ("word", "transport"),
    [
        ("stdio", "stdio"),
        ("http", "http"),
        ("streamable-http", "http"),
        ("streamable_http", "http"),
        ("streamableHttp", "http"),
        ("StreamableHTTP", "http"),
        ("sse", "sse"),
        ("SSE", "sse"),
        ("bogus", None),
        ("", None),
        ("websocket", None),
    ],
)
def test_transports_in_every_spelling(word: str, transport: str | None) -> None:
    """Case and separators do not matter."""
    assert dialects.transport_of(word) == transport


def test_every_spelling_in_the_message_is_understood() -> None:
    """What a message recommends works."""
    assert all(dialects.transport_of(word) for word in dialects.SPELLINGS.split(", "))


def test_entries_are_told_from_other_objects() -> None:
    """A command or a URL makes an entry."""
    assert dialects.looks_like_server({"command": "x"})
    assert dialects.looks_like_server({"serverUrl": "x"})
    assert not dialects.looks_like_server({"theme": "x"})
    assert not dialects.looks_like_server("command")
