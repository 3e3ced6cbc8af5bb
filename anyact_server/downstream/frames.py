"""JSON-RPC frames as bytes and as objects: pure functions without I/O.

Real servers print banners, colours and log lines between their frames, glue half a line to the next one, send bad UTF-8
and lone surrogates. `read_line` takes whatever came between two newlines and gives the frames in it, what was noise,
and which answers were damaged beyond repair.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import orjson

from anyact_server.types import Json, JsonObject

RequestId = int | str
BOM = b"\xef\xbb\xbf"
FRAME_START = re.compile(r'\{\s*"(?:jsonrpc|id|result|error|method|params)"\s*:')
"""Where a frame can begin inside a damaged line: any of the members a frame may have, first in an object."""
ANSWER_ID = re.compile(r'"id"\s*:\s*"?(\d+)')
MOST_STARTS = 32
"""Places in one damaged line at which a frame is looked for."""
SHOWN_CHARACTERS = 200


@dataclass(frozen=True, slots=True)
class Reading:
    """What one line held.

    `frames` are JSON-RPC objects in order. `noise` is the line as text when any of it was none. `damaged` are the ids
    of answers that seem to have been lost in it; None among them stands for an answer whose id was lost too.
    """

    frames: tuple[JsonObject, ...] = ()
    noise: str | None = None
    damaged: tuple[int | None, ...] = ()


def read_line(line: bytes) -> Reading:
    """Read one line, without its newline."""
    text = line.strip(b" \t\r\n\x00")
    if not text:
        return Reading()
    try:
        value = orjson.loads(text)
    except orjson.JSONDecodeError:
        return _read_damaged(text.removeprefix(BOM))
    frames = tuple(item for item in (value if isinstance(value, list) else [value]) if is_frame(item))
    return Reading(frames) if frames else Reading(noise=text.decode("utf-8", "replace"))


def read_body(body: bytes | str) -> tuple[JsonObject, ...]:
    """The frames of an HTTP body or of one event; empty when it holds none."""
    return read_line(body.encode("utf-8", "replace") if isinstance(body, str) else body).frames


def is_frame(value: Json) -> bool:
    """Whether a value is a JSON-RPC message: an answer (the version member may be missing), a request or a
    notification."""
    if not isinstance(value, dict):
        return False
    if "id" in value and ("result" in value or "error" in value) and "method" not in value:
        return bool(value.get("jsonrpc", "2.0") == "2.0")
    return value.get("jsonrpc") == "2.0" and isinstance(value.get("method"), str)


def write(frame: JsonObject) -> bytes:
    """A frame as UTF-8 JSON without a newline; lone surrogates become U+FFFD, numbers that JSON lacks become null.

    Raises:
        ValueError: it is nested too deeply to be written.
        TypeError: it holds something that is not JSON.
    """
    try:
        return orjson.dumps(frame)
    except TypeError:
        pass
    try:
        return json.dumps(_clean(frame), ensure_ascii=False, separators=(",", ":")).encode("utf-8")
    except RecursionError:
        raise ValueError("nested too deeply") from None


def request(ident: RequestId, method: str, params: JsonObject | None) -> JsonObject:
    """A request."""
    frame: dict[str, Any] = {"jsonrpc": "2.0", "id": ident, "method": method}
    if params is not None:
        frame["params"] = params
    return frame


def notification(method: str, params: JsonObject | None) -> JsonObject:
    """A notification."""
    frame: dict[str, Any] = {"jsonrpc": "2.0", "method": method}
    if params:
        frame["params"] = params
    return frame


def answer(ident: Json, result: JsonObject) -> JsonObject:
    """An answer to a request of the server."""
    return {"jsonrpc": "2.0", "id": ident, "result": result}


def refusal(ident: Json, code: int, message: str, data: Json = None) -> JsonObject:
    """An error answer to a request of the server."""
    error: dict[str, Any] = {"code": code, "message": message}
    if data is not None:
        error["data"] = data
    return {"jsonrpc": "2.0", "id": ident, "error": error}


def known_id(value: Json) -> RequestId | None:
    """An id as this side made it: numbers that came back as text are numbers again, anything else is None."""
    if isinstance(value, str):
        return int(value) if value.isascii() and value.isdigit() and len(value) < 19 else value
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def shorten(text: str, size: int = SHOWN_CHARACTERS) -> str:
    """Text on one line, without control characters, cut to `size` characters."""
    plain = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", text[: size * 4])
    plain = "".join(letter if letter.isprintable() else " " for letter in plain).strip()
    return plain if len(plain) <= size else plain[: size - 1] + "…"


def _read_damaged(line: bytes) -> Reading:
    """Read a line that is not JSON as it stands: repair its letters, or find the frames inside it."""
    text = line.decode("utf-8", "replace")
    try:
        value = _lenient(text)
    except (ValueError, RecursionError):
        return _search(text)
    frames = tuple(item for item in (value if isinstance(value, list) else [value]) if is_frame(item))
    return Reading(frames) if frames else Reading(noise=text)


def _lenient(text: str) -> Json:
    return _clean(json.loads(text, strict=False, parse_constant=lambda _: None))


def _search(text: str) -> Reading:
    """Find whole frames inside a damaged line; what lies between them and looks like an answer was lost."""
    decoder = json.JSONDecoder(strict=False, parse_constant=lambda _: None)
    frames: list[JsonObject] = []
    rest: list[str] = []
    position = 0
    for count, match in enumerate(FRAME_START.finditer(text)):
        if count >= MOST_STARTS:
            break
        if match.start() < position:
            continue
        try:
            value, end = decoder.raw_decode(text, match.start())
            value = _clean(value)
        except (ValueError, RecursionError):
            continue
        if is_frame(value):
            frames.append(value)
            rest.append(text[position : match.start()])
            position = end
    rest.append(text[position:])
    lost = [ident for part in rest for ident in _lost(part)]
    return Reading(tuple(frames), text if "".join(rest).strip() else None, tuple(lost))


def _lost(fragment: str) -> list[int | None]:
    if '"jsonrpc"' not in fragment or '"method"' in fragment:
        return []
    ids = [int(found) for found in ANSWER_ID.findall(fragment) if len(found) < 19]
    return [*ids] if ids else [None]


def _clean(value: Json) -> Json:
    """The same value with only what UTF-8 and JSON can carry."""
    if isinstance(value, str):
        return value if value.isascii() else value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    if isinstance(value, Mapping):
        return {_clean(str(name)): _clean(part) for name, part in value.items()}
    if isinstance(value, list | tuple):
        return [_clean(part) for part in value]
    if isinstance(value, float) and (value != value or value in (float("inf"), float("-inf"))):
        return None
    return value
