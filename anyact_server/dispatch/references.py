"""References in arguments: values that stand for the result of a task or for what a handle keeps.

A value that is exactly `{"$anyact": "<task id or handle>"}` or `{"$anyact": ..., "path": "<JSONPath>"}` is replaced by
that data before the call. `{"$anyact_literal": x}` stands for `x` as it is, nothing inside replaced. JSON Schema's
`$ref` means nothing here. A path of plain steps (`$.items[0].name`, `$['a b'][-1]`) gives the one value; any other
JSONPath gives the list of all matches.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache
from typing import Any

from anyact_server.errors import InvalidArguments
from anyact_server.grounding import unwrapped
from anyact_server.types import Json, JsonObject

from .libraries import paths_library
from .shapes import NESTING, nested_within, shortened, type_name

REFERENCE = "$anyact"
LITERAL = "$anyact_literal"
PATH = "path"

_STEP = re.compile(r"""\.?(?:(?P<name>[^\W\d][\w-]*)|\[(?P<index>-?\d+)\]|\[(?P<quote>['"])(?P<key>.*?)(?P=quote)\])""")


def resolve(value: Json, lookup: Callable[[str], Json]) -> Json:
    """The value with every reference replaced; the very same object where there is none.

    Args:
        value: arguments, any JSON.
        lookup: gives the whole value behind a task id or a handle.

    Raises:
        InvalidArguments: a reference to nothing, or a path that matches nothing.
    """
    if isinstance(value, Mapping):
        if LITERAL in value and len(value) == 1:
            return value[LITERAL]
        if is_reference(value):
            return follow(lookup(value[REFERENCE]), value.get(PATH), value[REFERENCE])
        return {key: resolve(part, lookup) for key, part in value.items()}
    return [resolve(part, lookup) for part in value] if isinstance(value, list) else value


def is_reference(value: Json) -> bool:
    """Whether a value is exactly a reference."""
    if not isinstance(value, Mapping) or not isinstance(value.get(REFERENCE), str):
        return False
    return len(value) == 1 or (len(value) == 2 and isinstance(value.get(PATH), str | None) and PATH in value)


def named(value: Json) -> Iterator[str]:
    """The task ids and handles that arguments refer to, also where they come as a string."""
    if isinstance(value, str) and REFERENCE in value:
        value = _parsed(value)
    return _named(value) if nested_within(value, NESTING) else iter(())


def _named(value: Json) -> Iterator[str]:
    if is_reference(value):
        yield value[REFERENCE]
    elif isinstance(value, Mapping):
        if LITERAL not in value or len(value) > 1:
            for part in value.values():
                yield from _named(part)
    elif isinstance(value, list):
        for part in value:
            yield from _named(part)


def _parsed(text: str) -> Json:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def follow(value: Json, path: str | None, source: str) -> Json:
    """What a JSONPath finds in a value; the whole value without a path.

    Raises:
        InvalidArguments: the path cannot be read, or matches nothing.
    """
    text = (path or "").strip()
    if text in ("", "$", "."):
        return value
    steps = _steps(text)
    if steps is None:
        return _matches(value, text, source)
    here = value
    for position, step in enumerate(steps):
        if not _has(here, step):
            raise _nothing(here, text, source, steps[: position + 1])
        here = here[step]
    return here


def _has(value: Json, step: str | int) -> bool:
    if isinstance(step, int):
        return isinstance(value, list) and -len(value) <= step < len(value)
    return isinstance(value, Mapping) and step in value


@lru_cache(maxsize=1024)
def _steps(text: str) -> tuple[str | int, ...] | None:
    """The steps of a path that names exactly one place, None for any other path."""
    rest = text.removeprefix("$")
    steps: list[str | int] = []
    while rest:
        match = _STEP.match(rest)
        if match is None:
            return None
        index, name, key = match["index"], match["name"], match["key"]
        steps.append(int(index) if index is not None else name if name is not None else key)
        rest = rest[match.end() :]
    return tuple(steps)


@lru_cache(maxsize=256)
def _compiled(text: str) -> Any:
    paths = paths_library()
    full = text if text.startswith("$") else f"$.{text.removeprefix('.')}"
    try:
        return paths.parse(full)
    except paths.error as error:
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise InvalidArguments(f"path {shortened(text)} is not a JSONPath: {reason[:120]}") from error


def _matches(value: Json, text: str, source: str) -> list[Json]:
    found = [match.value for match in _compiled(text).find(value)]
    if not found:
        raise _nothing(value, text, source, ())
    return found


def _nothing(value: Json, text: str, source: str, steps: tuple[str | int, ...]) -> InvalidArguments:
    if isinstance(value, Mapping):
        there = "there are: " + ", ".join(f"`{key}`" for key in list(value)[:12]) if value else "the object is empty"
    elif isinstance(value, list):
        there = f"the array there has {len(value)} items"
    else:
        there = f"there is {type_name(value)} {shortened(value)}"
    at = f" at step {shortened(steps[-1])}" if steps else ""
    return InvalidArguments(f"path {shortened(text)} finds nothing in the result of {source!r}{at}; {there}")


def value_of(result: JsonObject) -> Json:
    """What a raw `tools/call` result stands for when another call refers to it.

    Its structured content if there is any (what SDKs wrap as `{"result": value}` is the value, as an observation shows
    it); else its texts, as JSON where they are JSON; else its content blocks.
    """
    structured = result.get("structuredContent")
    if structured is not None:
        return unwrapped(structured)
    if "content" not in result and "toolResult" in result:
        return result["toolResult"]
    content = result.get("content")
    blocks = content if isinstance(content, list) else []
    texts = [block["text"] for block in blocks if isinstance(block, Mapping) and isinstance(block.get("text"), str)]
    if not texts:
        return content if content else None
    values = [_as_json(text) for text in texts]
    if len(values) == 1:
        return values[0]
    return values if all(not isinstance(one, str) for one in values) else "\n".join(texts)


def _as_json(text: str) -> Json:
    """The object or array that a text holds, else the text itself."""
    if text.lstrip()[:1] not in ("{", "["):
        return text
    parsed = _parsed(text)
    return text if parsed is None else parsed
