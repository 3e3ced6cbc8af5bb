"""Frames: what a line holds, however damaged, and what is written."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anyact_server.downstream.frames import (
    answer,
    is_frame,
    known_id,
    notification,
    read_body,
    read_line,
    refusal,
    request,
    shorten,
    write,
)

ANSWER = {"jsonrpc": "2.0", "id": 3, "result": {"x": 1}}
LINE = json.dumps(ANSWER).encode()


def test_whole_frames_are_read_with_any_line_end() -> None:
    """CRLF, blanks, a byte order mark and a batch are all fine; a blank line is nothing."""
    for line in (LINE, LINE + b"\r", b"  " + LINE, b"\xef\xbb\xbf" + LINE):
        assert read_line(line).frames == (ANSWER,)
    assert read_line(b" \r").frames == () and read_line(b"").noise is None
    assert read_line(b"[" + LINE + b"," + LINE + b"]").frames == (ANSWER, ANSWER)
    assert read_body(LINE.decode()) == (ANSWER,)


@pytest.mark.parametrize(
    "line",
    [b"Server ready", b"42", b'"text"', b"[1,2]", b'{"level":"info","message":"x"}', b'{"method":"GET","id":1}', b"{"],
)
def test_what_is_no_frame_is_noise(line: bytes) -> None:
    """Nothing is taken for JSON-RPC that is none."""
    reading = read_line(line)
    assert reading.frames == () and reading.noise is not None and reading.damaged == ()


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ({"id": 1, "result": {}}, True),
        ({"jsonrpc": "2.0", "id": 1, "error": {}}, True),
        ({"jsonrpc": "1.0", "id": 1, "result": {}}, False),
        ({"jsonrpc": "2.0", "method": "x"}, True),
        ({"jsonrpc": "2.0", "method": 7}, False),
        ({"method": "x"}, False),
        ([], False),
    ],
)
def test_answers_may_lack_their_version_but_requests_may_not(value: Any, expected: bool) -> None:
    """Log lines as JSON often have a method; answers of sloppy servers often lack the version."""
    assert is_frame(value) is expected


@pytest.mark.case("P1")
def test_frames_inside_a_damaged_line_are_found() -> None:
    """Text before and after, two frames without a newline between, colours."""
    for line in (b"ready " + LINE, b"\x1b[0m" + LINE + b"\x1b[0m", b"\xbd" + LINE):
        reading = read_line(line)
        assert reading.frames == (ANSWER,) and reading.noise is not None and reading.damaged == ()
    assert read_line(LINE + LINE).frames == (ANSWER, ANSWER)
    assert read_line(LINE + LINE).noise is None


@pytest.mark.case("P1")
def test_answers_lost_in_a_damaged_line_are_named() -> None:
    """By id where it can be read, else as one that is not known; requests are no answers."""
    half = b'{"jsonrpc": "2.0", "id": 4, "result": {"con'
    assert read_line(half + LINE).damaged == (4,)
    assert read_line(half + LINE).frames == (ANSWER,)
    assert read_line(b'{"jsonrpc": "2.0", "resu').damaged == (None,)
    assert read_line(b'DEBUG got {"jsonrpc":"2.0","id":9,"method":"ping').damaged == ()


@pytest.mark.case("E1")
def test_bad_bytes_and_lone_surrogates_become_replacement_characters() -> None:
    """Whole letters stay as they are, also as pairs of escapes; JSON without numbers for infinity gives null."""
    assert read_line(b'{"id":1,"result":{"t":"a\xbdb"}}').frames[0]["result"] == {"t": "a\ufffdb"}
    assert read_line(b'{"id":1,"result":{"t":"\\ud83d!"}}').frames[0]["result"] == {"t": "\ufffd!"}
    assert read_line(b'{"id":1,"result":{"t":"\\ud83d\\ude00","n":NaN}}').frames[0]["result"] == {"t": "😀", "n": None}


def test_nesting_beyond_measure_is_noise() -> None:
    """A hundred thousand lists inside each other neither crash nor answer anything."""
    bomb = b'{"id":1,"result":{"t":' + b"[" * 100_000 + b"]" * 100_000 + b"}}"
    assert read_line(bomb).frames == ()
    assert read_line(b"x" + bomb).frames == ()


@pytest.mark.case("E1")
def test_what_is_written_is_valid_utf_8_and_json() -> None:
    """Lone surrogates, huge numbers, numbers that JSON lacks, keys that are no text."""
    assert json.loads(write({"t": "\ud83d!", "n": 2**80, "i": float("inf")})) == {"t": "\ufffd!", "n": 2**80, "i": None}
    assert json.loads(write({"t": "\ud800", "d": {1: (1, 2)}})) == {"t": "\ufffd", "d": {"1": [1, 2]}}
    assert write({"a": "ü"}) == '{"a":"ü"}'.encode()


def test_what_cannot_be_written_is_an_error() -> None:
    """Foreign objects and nesting beyond measure."""
    with pytest.raises(TypeError):
        write({"x": object()})
    deep: Any = []
    for _ in range(100_000):
        deep = [deep]
    with pytest.raises(ValueError, match="nested too deeply"):
        write({"x": deep})
    while deep:
        deep = deep.pop()


def test_frames_are_built_as_the_protocol_says() -> None:
    """Params are left out when there are none."""
    assert request(1, "ping", None) == {"jsonrpc": "2.0", "id": 1, "method": "ping"}
    assert request(1, "x", {})["params"] == {}
    assert notification("n", {}) == {"jsonrpc": "2.0", "method": "n"}
    assert notification("n", {"a": 1})["params"] == {"a": 1}
    assert answer("q", {"a": 1}) == {"jsonrpc": "2.0", "id": "q", "result": {"a": 1}}
    assert refusal(1, -1, "no") == {"jsonrpc": "2.0", "id": 1, "error": {"code": -1, "message": "no"}}
    assert refusal(1, -1, "no", 5)["error"]["data"] == 5


@pytest.mark.parametrize(
    ("value", "expected"),
    [(7, 7), ("7", 7), (7.0, 7), (7.5, None), (True, None), (None, None), ("a", "a"), ("9" * 30, "9" * 30), ([], None)],
)
def test_ids_come_back_as_they_were_made(value: Any, expected: Any) -> None:
    """Some servers turn numbers into text or into floats."""
    assert known_id(value) == expected


def test_text_is_shortened_to_one_clean_line() -> None:
    """Colours, control characters and length go."""
    assert shorten("\x1b[31mred\x1b[0m\tline\n") == "red line"
    assert shorten("x" * 300) == "x" * 199 + "…"
    assert shorten("abc", 2) == "a…"


@given(st.binary(max_size=300))
def test_no_line_is_too_odd_to_read(line: bytes) -> None:
    """Whatever bytes come, reading gives a value."""
    reading = read_line(line)
    assert all(is_frame(frame) for frame in reading.frames)


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
        lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
        max_leaves=20,
    )
)
def test_what_is_written_can_be_read_again(value: Any) -> None:
    """Every JSON value survives as the result of an answer."""
    frames = read_line(write({"jsonrpc": "2.0", "id": 1, "result": {"v": value}})).frames
    assert len(frames) == 1
