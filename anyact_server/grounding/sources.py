"""Any file as a raw result: what would have come had a server sent it."""

from __future__ import annotations

import base64
import mimetypes
from pathlib import PurePath

from anyact_server.types import Json, JsonObject

from .documents import plain_text
from .encoding import loads
from .media import sniff

_TYPES = {
    ".csv": "text/csv",
    ".tsv": "text/tab-separated-values",
    ".md": "text/markdown",
    ".html": "text/html",
    ".htm": "text/html",
}
"""Media types that help to tell the form of a text, by the ending of its name."""


def read_source(data: bytes, name: str = "") -> JsonObject:
    """The bytes of a file as a raw `tools/call` result.

    A saved result (an object with `content` or `structuredContent`, also inside a JSON-RPC answer) is that result; a
    JSON-RPC error stays one, under `error`. Text becomes a text block, a picture or a sound its block, and any other
    binary a resource.

    Args:
        data: what the file holds.
        name: its name, empty for a stream.
    """
    mime = sniff(data[:300])
    text = plain_text(data) if mime is None or mime == "image/svg+xml" else None
    if text is not None:
        return saved_result(text) or _of_text(text, name)
    if not data:
        return {"content": []}
    mime = mime or mimetypes.guess_type(name)[0] or "application/octet-stream"
    encoded = base64.b64encode(data).decode()
    family = mime.partition("/")[0]
    if family in ("image", "audio"):
        return {"content": [{"type": family, "data": encoded, "mimeType": mime}]}
    return {"content": [{"type": "resource", "resource": {"uri": name, "mimeType": mime, "blob": encoded}}]}


def saved_result(text: str) -> JsonObject | None:
    """The tool result, or the JSON-RPC error, that a text of JSON is; None for any other text."""
    if not text.lstrip().startswith("{"):
        return None
    try:
        value: Json = loads(text)
    except ValueError:
        return None
    if not isinstance(value, dict):
        return None
    if "jsonrpc" in value and isinstance(value.get("error"), dict):
        return {"error": value["error"]}
    if "jsonrpc" in value and isinstance(value.get("result"), dict):
        value = value["result"]
    content = value.get("content")
    blocks = isinstance(content, list) and all(isinstance(block, dict) and "type" in block for block in content)
    return value if blocks or "structuredContent" in value else None


def _of_text(text: str, name: str) -> JsonObject:
    mime = _TYPES.get(PurePath(name).suffix.lower(), "")
    if not mime:
        return {"content": [{"type": "text", "text": text}]}
    return {"content": [{"type": "resource", "resource": {"uri": name, "mimeType": mime, "text": text}}]}
