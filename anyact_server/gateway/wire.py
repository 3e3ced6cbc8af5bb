"""JSON lines between a client and AnyAct: cut, parsed, built.

Pure. Whatever a client sends ends in messages or in an error to send back, never in an exception; whatever is sent is
valid UTF-8 and JSON.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import mcp_types as types
import orjson
from pydantic import ValidationError

from anyact_server.types import Json

BOM = b"\xef\xbb\xbf"


@dataclass(slots=True)
class Lines:
    """Cuts a byte stream into lines of at most `most` bytes; a longer one comes out as None, once."""

    most: int
    _rest: bytearray = field(default_factory=bytearray)
    _skipping: bool = False

    def feed(self, chunk: bytes) -> list[bytes | None]:
        """The lines that end in this chunk, without their ends and without blank ones."""
        found: list[bytes | None] = []
        *ended, rest = chunk.split(b"\n")
        for part in ended:
            found += self._end(part)
        found += self._keep(rest)
        return found

    def end(self) -> list[bytes | None]:
        """What stands after the last line end, when the stream closes."""
        return self._end(b"")

    def _end(self, part: bytes) -> list[bytes | None]:
        found = self._keep(part)
        line = bytes(self._rest).strip()
        self._rest.clear()
        self._skipping = False
        return [*found, line] if line else found

    def _keep(self, part: bytes) -> list[bytes | None]:
        if self._skipping:
            return []
        if len(self._rest) + len(part) > self.most:
            self._rest.clear()
            self._skipping = True
            return [None]
        self._rest += part
        return []


@dataclass(frozen=True, slots=True)
class Received:
    """What a line holds: messages, and errors to send back for what is no message."""

    messages: tuple[types.JSONRPCMessage, ...] = ()
    errors: tuple[types.JSONRPCError, ...] = ()


def parse(line: bytes | None, *, most: int = 0) -> Received:
    """Read one line; None is a line that was too long (longer than `most` bytes).

    A list is taken as its items, for the 2025-03-26 revision has batches.
    """
    if line is None:
        return Received(errors=(refusal(types.INVALID_REQUEST, f"The message is longer than {most:,} bytes."),))
    try:
        value = loads(line)
    except ValueError:
        shown = line[:80].decode("utf-8", "replace")
        return Received(errors=(refusal(types.PARSE_ERROR, f"Parse error: this line is no JSON: {shown!r}"),))
    items = value if isinstance(value, list) and value else [value]
    messages, errors = [], []
    for item in items:
        if isinstance(item, Mapping) and "method" in item and item.get("id", "") is None:
            # The models take it for a notification, and whoever sent it would wait for an answer.
            errors.append(refusal(types.INVALID_REQUEST, "The id of a request must not be null."))
            continue
        try:
            messages.append(types.jsonrpc_message_adapter.validate_python(item, by_name=False))
        except ValidationError:
            errors.append(refusal(types.INVALID_REQUEST, "This is no JSON-RPC 2.0 message.", _id_of(item)))
    return Received(tuple(messages), tuple(errors))


def loads(data: bytes) -> Json:
    """JSON from bytes that a stranger sent: bad UTF-8 and lone surrogates are replaced.

    Raises:
        ValueError: no JSON, or nested too deeply.
    """
    if data.startswith(BOM):
        data = data[len(BOM) :]
    try:
        return orjson.loads(data)
    except orjson.JSONDecodeError:
        text = data.decode("utf-8", "replace")
    try:
        value = json.loads(text)
        return orjson.loads(json.dumps(value, ensure_ascii=False).encode("utf-8", "replace"))
    except RecursionError:
        raise ValueError("nested too deeply") from None


def dumps(message: types.JSONRPCMessage) -> bytes:
    """A message as one line of JSON, with its line end."""
    if isinstance(message, types.JSONRPCResponse):
        return clean_dumps({"jsonrpc": "2.0", "id": message.id, "result": message.result}) + b"\n"
    value = message.model_dump(by_alias=True, exclude_unset=True, mode="json")
    if isinstance(message, types.JSONRPCError) and message.id is None:
        value["id"] = None
    return clean_dumps(value) + b"\n"


def clean_dumps(value: Json) -> bytes:
    """JSON bytes; what UTF-8 cannot carry is replaced by question marks."""
    try:
        return orjson.dumps(value)
    except TypeError:
        return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace")


def sendable(value: dict[str, Any]) -> dict[str, Any]:
    """The value itself when it is valid JSON, else a copy in which lone surrogates are replaced."""
    try:
        orjson.dumps(value)
        return value
    except TypeError:
        return dict(json.loads(json.dumps(value, ensure_ascii=False).encode("utf-8", "replace")))


def refusal(code: int, message: str, request_id: types.RequestId | None = None) -> types.JSONRPCError:
    """A JSON-RPC error to send back."""
    return types.JSONRPCError(jsonrpc="2.0", id=request_id, error=types.ErrorData(code=code, message=message))


def _id_of(item: Json) -> types.RequestId | None:
    found = item.get("id") if isinstance(item, Mapping) else None
    return found if isinstance(found, str | int) and not isinstance(found, bool) and len(str(found)) <= 200 else None
