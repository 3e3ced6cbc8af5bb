"""Any file as a raw result."""

from __future__ import annotations

import base64
import json

import pytest

from anyact_server.grounding import read_source
from anyact_server.grounding.sources import saved_result

RESULT = {"content": [{"type": "text", "text": "hello"}], "isError": True}


@pytest.mark.parametrize(
    ("value", "result"),
    [
        (RESULT, RESULT),
        ({"jsonrpc": "2.0", "id": 1, "result": RESULT}, RESULT),
        ({"structuredContent": {"a": 1}}, {"structuredContent": {"a": 1}}),
        ({"jsonrpc": "2.0", "id": 1, "error": {"code": 1, "message": "x"}}, {"error": {"code": 1, "message": "x"}}),
        ({"content": "an article"}, None),
        ({"content": [1, 2]}, None),
        ({"error": "x"}, None),
    ],
)
def test_a_saved_result_is_recognised(value: object, result: object) -> None:
    """Also inside a JSON-RPC answer; other objects with a `content` are data."""
    assert saved_result(json.dumps(value)) == result


def test_text_is_a_text_block() -> None:
    """A name that tells its type makes it a resource of that type."""
    assert read_source(b"hello") == {"content": [{"type": "text", "text": "hello"}]}
    made = read_source(b"a,b\n1,2\n", "x.csv")["content"][0]["resource"]
    assert (made["uri"], made["mimeType"], made["text"]) == ("x.csv", "text/csv", "a,b\n1,2\n")
    assert saved_result("{broken") is None
    assert saved_result("[1]") is None


def test_binaries_keep_their_kind() -> None:
    """By what their bytes prove, else by the name."""
    png = b"\x89PNG\r\n\x1a\n" + bytes(20)
    assert read_source(png)["content"][0]["type"] == "image"
    assert read_source(b"ID3" + bytes(30))["content"][0]["type"] == "audio"
    other = read_source(b"\x00\x01\x02", "x.wasm")["content"][0]["resource"]
    assert other["mimeType"] == "application/wasm"
    assert base64.b64decode(other["blob"]) == b"\x00\x01\x02"
    assert read_source(b"\x00\x01", "")["content"][0]["resource"]["mimeType"] == "application/octet-stream"
    assert read_source(b"") == {"content": []}
    assert read_source(b"<svg xmlns='x'></svg>")["content"][0]["type"] == "text"
