"""JSON lines: cut, parsed, built."""

from __future__ import annotations

import json

import mcp_types as types
import pytest
from hypothesis import given
from hypothesis import strategies as st

from anyact_server.gateway.wire import Lines, clean_dumps, dumps, loads, parse, sendable

PING = {"jsonrpc": "2.0", "id": 1, "method": "ping"}


@given(st.lists(st.binary(max_size=30)), st.integers(1, 9))
def test_lines_are_the_same_however_the_stream_is_cut(parts: list[bytes], step: int) -> None:
    """Chunks end anywhere, also inside a character."""
    data = b"\n".join(parts)
    whole, pieces = Lines(10_000), Lines(10_000)
    expected = whole.feed(data) + whole.end()
    found: list[bytes | None] = []
    for start in range(0, len(data), step):
        found += pieces.feed(data[start : start + step])
    assert found + pieces.end() == expected


def test_blank_lines_and_carriage_returns_are_dropped() -> None:
    """Both line ends are taken."""
    assert Lines(100).feed(b"\n \r\n{}\r\n\n") == [b"{}"]


@pytest.mark.case("E2")
def test_a_line_that_is_too_long_is_told_once_and_skipped() -> None:
    """However long it goes on; the next line is read."""
    lines = Lines(10)
    assert lines.feed(b"x" * 11) == [None]
    assert lines.feed(b"y" * 1000) == []
    assert lines.feed(b"z\nok\n") == [b"ok"]
    assert lines.feed(b"1234567890\n") == [b"1234567890"]


def test_a_message_is_read() -> None:
    """Requests, notifications and answers alike."""
    found = parse(json.dumps(PING).encode())
    assert isinstance(found.messages[0], types.JSONRPCRequest)
    assert not found.errors


def test_a_batch_is_taken_as_its_messages() -> None:
    """The 2025-03-26 revision has them; what is no message in it costs only itself."""
    found = parse(json.dumps([PING, {"id": 7}, {**PING, "id": 2}]).encode())
    assert [getattr(message, "id", None) for message in found.messages] == [1, 2]
    assert [error.id for error in found.errors] == [7]


@pytest.mark.parametrize("line", [b"hello", b"{", b"\xff\xfe", b"[" * 100_000, b'{"a": NaN}', b"1" * 5000 + b"x"])
def test_what_is_no_json_gets_a_parse_error(line: bytes) -> None:
    """Never an exception; the line is quoted short."""
    (error,) = parse(line).errors
    assert error.error.code == types.PARSE_ERROR
    assert len(error.error.message) < 500
    assert json.loads(dumps(error))["id"] is None


@pytest.mark.parametrize("line", [b"[]", b"{}", b"1", b'{"jsonrpc":"2.0","id":null,"method":"ping"}', b'{"id":true}'])
def test_json_that_is_no_message_is_an_invalid_request(line: bytes) -> None:
    """With no id, for it has none that could be used."""
    (error,) = parse(line).errors
    assert (error.error.code, error.id) == (types.INVALID_REQUEST, None)


@pytest.mark.case("X2")
def test_a_huge_id_is_not_echoed() -> None:
    """The error names no id then."""
    (error,) = parse(json.dumps({"id": "x" * 5_000_000}).encode()).errors
    assert error.id is None


def test_a_line_that_was_too_long_says_the_limit() -> None:
    """So that its sender can mend it."""
    (error,) = parse(None, most=1000).errors
    assert "1,000 bytes" in error.error.message


@pytest.mark.case("E1")
def test_bad_bytes_and_lone_surrogates_are_replaced() -> None:
    """The message is read all the same, and what comes out is valid."""
    assert loads(b'\xef\xbb\xbf{"a": "x\xbdy"}') == {"a": "x\ufffdy"}
    assert loads(b'{"a": "\\ud83d"}') == {"a": "?"}
    assert loads('{"a": "\u2028"}'.encode()) == {"a": "\u2028"}


@pytest.mark.case("E1")
def test_what_is_sent_is_valid_utf8_and_json() -> None:
    """Lone surrogates become question marks, huge integers stay."""
    value = {"a": "\ud800", "n": 2**70}
    assert json.loads(clean_dumps(value)) == {"a": "?", "n": 2**70}
    assert sendable(value) == {"a": "?", "n": 2**70}
    assert sendable(sound := {"a": "b"}) is sound


def test_every_kind_of_message_is_one_line() -> None:
    """With its line end, and without fields that were never set."""
    response = types.JSONRPCResponse(jsonrpc="2.0", id=1, result={"text": "a\nb"})
    assert dumps(response) == b'{"jsonrpc":"2.0","id":1,"result":{"text":"a\\nb"}}\n'
    note = types.JSONRPCNotification(jsonrpc="2.0", method="notifications/x")
    assert dumps(note) == b'{"jsonrpc":"2.0","method":"notifications/x"}\n'
