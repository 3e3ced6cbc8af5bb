"""What a handle means inside a kept result: the main value, a named part, a place by JSON pointer or JSONPath."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any

from anyact_server.errors import UsageError
from anyact_server.types import Json, JsonObject

from .binaries import Code, replace_codes
from .blocks import Content, read_content
from .encoding import DEPTH, TOO_DEEP, compact, loads
from .media import decode

ALL_TEXTS = "/content/*"
"""In place of a pointer: all text blocks, joined by line ends."""


def parse_json(text: str) -> Json | None:
    """The object or list that a text is, None when it is something else; lines of JSON objects become a list."""
    if len(text) < _REMEMBERED:
        return _parsed(text)
    if getattr(_LAST, "text", None) is not text:
        _LAST.value = _parsed(text)
        _LAST.text = text
    value: Json = _LAST.value
    return value


_REMEMBERED = 20_000
"""Characters from which on the last text parsed is remembered by its thread: judging and composing both ask for it."""
_LAST = threading.local()


def forget_parsed() -> None:
    """Let go of the text that this thread parsed last."""
    _LAST.text = _LAST.value = None


def _parsed(text: str) -> Json | None:
    bare = text.strip()
    if len(bare) < 2 or bare[0] + bare[-1] not in ("{}", "[]"):
        return None
    try:
        value = loads(bare)
    except ValueError:
        return _json_lines(bare)
    return value


def _json_lines(text: str) -> Json | None:
    lines = text.split("\n")
    if len(lines) < 2 or lines[0].rstrip()[-1:] != "}":
        return None
    try:
        rows = [loads(line) for line in lines if line.strip()]
    except ValueError:
        return None
    return rows if all(isinstance(row, dict) for row in rows) else None


def main_value(result: Json) -> Json:
    """What a result is worth without its wrapping: its structured part, the value of its text, its joined texts, the
    base64 of its only binary, else the result itself."""
    content = read_content(result)
    if content.has_structured:
        return unwrapped(content.structured)
    texts = content.texts
    if len(texts) == 1:
        value = parse_json(texts[0])
        return texts[0] if value is None else value
    if texts:
        return "\n".join(texts)
    binaries = [block.text for block in content.blocks if block.kind in ("image", "audio", "blob")]
    return binaries[0] if len(binaries) == 1 else result


def unwrapped(structured: Json) -> Json:
    """The value inside `{"result": value}`, the form in which SDKs wrap what is no object; else the value itself."""
    if isinstance(structured, Mapping) and structured.keys() == {"result"}:
        return structured["result"]
    return structured


def mirrored(content: Content) -> bool:
    """Whether the texts only repeat the structured part."""
    try:
        return _mirrored(content)
    except RecursionError:  # values nested about as deeply as Python compares
        return False


def _mirrored(content: Content) -> bool:
    texts = content.texts
    if not content.has_structured or not texts:
        return False
    whole, inner = content.structured, unwrapped(content.structured)
    if len(texts) == 1:
        if texts[0] == inner:
            return True
        value = parse_json(texts[0])
        if value is not None:
            return bool(value in (whole, inner))
        return isinstance(whole, Mapping) and len(texts[0]) > 20 and texts[0] in [*whole.values()]
    if isinstance(inner, Sequence) and not isinstance(inner, str) and len(inner) == len(texts):
        return all(text == item or parse_json(text) == item for text, item in zip(texts, inner, strict=True))
    return False


def without_codes(value: Json, name: Callable[[str, Code], str], pointer: str = "", depth: int = 0) -> Json:
    """A copy of a value with the long codes in its strings replaced by what `name` says of them."""
    if isinstance(value, str):
        return replace_codes(value, lambda code: name(pointer, code))
    if depth > DEPTH and isinstance(value, Mapping | list):
        return TOO_DEEP
    if isinstance(value, Mapping):
        return {
            key: without_codes(part, name, f"{pointer}/{escape(str(key))}", depth + 1) for key, part in value.items()
        }
    if isinstance(value, list):
        return [without_codes(part, name, f"{pointer}/{index}", depth + 1) for index, part in enumerate(value)]
    return value


def escape(key: str) -> str:
    """A key as one step of a JSON pointer."""
    return key.replace("~", "~0").replace("/", "~1")


def part_value(result: Json, part: JsonObject) -> Json | bytes:
    """The value, the text or the bytes of a named part."""
    if part["pointer"] == ALL_TEXTS:
        whole: Json = "\n".join(read_content(result).texts)
    else:
        whole = at_pointer(result, part["pointer"])
    if "inner" in part:
        whole = at_pointer(parse_json(whole), part["inner"])
    if not part.get("binary") and "start" not in part:
        value = parse_json(whole) if isinstance(whole, str) and part.get("mime") == "application/json" else None
        return whole if value is None else value
    text = whole if isinstance(whole, str) else compact(whole)
    if "start" in part:
        text = text[part["start"] : part["end"]]
        if text.startswith("data:"):
            text = text.partition(",")[2]
    if part.get("binary"):
        data = decode(text)
        return text if data is None else data
    return text


def at_pointer(value: Json, pointer: str) -> Json:
    """The value at a JSON pointer (RFC 6901; `/` alone means the root).

    Raises:
        UsageError: nothing is there; the message names the last step that exists.
    """
    if pointer in ("", "/"):
        return value
    here = value
    walked = ""
    for step in pointer.lstrip("/").split("/"):
        key = step.replace("~1", "/").replace("~0", "~")
        if isinstance(here, Mapping) and key in here:
            here = here[key]
        elif isinstance(here, Sequence) and not isinstance(here, str) and key.isdecimal() and int(key) < len(here):
            here = here[int(key)]
        else:
            raise UsageError(f"nothing is at {walked}/{step[:60]}", hint=f"There: {_inventory(here)}.")
        walked += f"/{step}"
    return here


def _inventory(value: Json) -> str:
    if isinstance(value, Mapping):
        names = ", ".join(map(str, list(value)[:20]))
        return f"an object with the keys {names}{', …' if len(value) > 20 else ''}"
    if isinstance(value, Sequence) and not isinstance(value, str):
        return f"a list of {len(value)} items"
    return "a single value"


def select(value: Json, query: str) -> Json:
    """What a JSON pointer (`/a/0`) or a JSONPath (`$.a[0]`, filters too) selects; several finds come as a list.

    Raises:
        UsageError: the query cannot be read, or finds nothing.
    """
    query = query.strip()
    if query in ("", "$", "/"):
        return value
    if query.startswith("/"):
        return at_pointer(value, query)
    if len(query) > 1000:
        raise UsageError("the JSONPath is longer than 1,000 characters")
    parse, errors = _jsonpath()
    try:
        found = parse(query if query.startswith("$") else f"$.{query}").find(value)
    except errors as error:
        raise UsageError(
            f"the JSONPath {query[:80]!r} cannot be read: {str(error)[:120]}",
            hint="Write it as $.items[0].name, $.items[*].id or $.items[?(@.price > 3)].",
        ) from error
    if not found:
        raise UsageError(f"{query[:80]!r} finds nothing", hint=f"The value is {_inventory(value)}.")
    several = "*" in query or ".." in query or "?" in query or ":" in query or "," in query
    return [match.value for match in found] if several else found[0].value


@cache
def _jsonpath() -> Any:
    """The JSONPath parser and its errors; imported here and nowhere else, for it is slow to load."""
    from jsonpath_ng.exceptions import JSONPathError
    from jsonpath_ng.ext.parser import parse

    return parse, (JSONPathError, ValueError, TypeError, KeyError, AttributeError)
