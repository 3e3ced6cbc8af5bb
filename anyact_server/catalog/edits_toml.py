"""Adding a table to a TOML file and taking one out, while every other line stays.

The standard library reads TOML but does not write it. Only tables under headers of their own are changed; after every
change the file must mean exactly what was asked for, else it is left alone.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from anyact_server.errors import ConfigError
from anyact_server.types import Json, Origin

_BARE = re.compile(r"[A-Za-z0-9_-]+")
_HEAD = re.compile(r"^\s*\[{1,2}\s*(.+?)\s*\]{1,2}\s*(?:#.*)?$")
_KEY = re.compile(r"""\s*("(?:[^"\\]|\\.)*"|'[^']*'|[A-Za-z0-9_-]+)\s*(?:\.|$)""")


def put_table(text: str, path: Sequence[str], value: Mapping[str, Any], file: str) -> str:
    """The text with the table at `path` set to `value`, at the end of the file when it is new.

    Raises:
        ConfigError: the text is no TOML, or has a form that cannot be changed safely.
    """
    without = drop_table(text, path, file)
    block = "\n".join(_tables(path, value))
    gap = "" if not without.strip() else "\n" if without.endswith("\n") else "\n\n"
    return _checked(without + gap + block + "\n", _with(_read(without, file), path, value), file)


def drop_table(text: str, path: Sequence[str], file: str) -> str:
    """The text without the table at `path` and the tables inside it; unchanged when there is none.

    Raises:
        ConfigError: the text is no TOML, or the table has no header of its own.
    """
    before = _read(text, file)
    place: Json = before
    for key in path:
        if not isinstance(place, dict) or key not in place:
            return text
        place = place[key]
    kept: list[str] = []
    inside = False
    for line in re.split(r"(?<=\n)", text):
        keys = header(line)
        if keys is not None:
            inside = keys[: len(path)] == list(path)
        if not inside:
            kept.append(line)
    return _checked("".join(kept).rstrip("\n") + "\n" if kept else "", _without(before, path), file)


def header(line: str) -> list[str] | None:
    """The keys of a table's header, None when the line is something else."""
    found = _HEAD.match(line.rstrip("\r\n"))
    return _keys(found[1]) if found is not None else None


def _keys(head: str) -> list[str] | None:
    keys: list[str] = []
    at = 0
    while at < len(head):
        found = _KEY.match(head, at)
        if found is None:
            return None
        word = found[1]
        keys.append(json.loads(word) if word[0] == '"' else word.strip("'"))
        at = found.end()
    return keys


def _read(text: str, file: str) -> dict[str, Any]:
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(f"{file} is not TOML: {error}", origin=Origin(file)) from error


def _checked(text: str, wanted: Mapping[str, Any], file: str) -> str:
    try:
        same = _full(tomllib.loads(text)) == _full(wanted)
    except tomllib.TOMLDecodeError:
        same = False
    if not same:
        hint = "Give every server a header of its own, such as [mcp_servers.NAME], or edit it by hand."
        raise ConfigError(f"{file} has a form that cannot be changed safely", origin=Origin(file), hint=hint)
    return text


def _full(value: Json) -> Json:
    """The value without empty tables, which come and go with their last member."""
    if isinstance(value, Mapping):
        parts = {key: _full(part) for key, part in value.items()}
        return {key: part for key, part in parts.items() if part != {}}
    return value


def _with(value: Mapping[str, Any], path: Sequence[str], new: Json) -> Json:
    if not path:
        return new
    inner = value.get(path[0], {})
    return {**value, path[0]: _with(inner if isinstance(inner, Mapping) else {}, path[1:], new)}


def _without(value: Mapping[str, Any], path: Sequence[str]) -> dict[str, Any]:
    if len(path) == 1:
        return {key: part for key, part in value.items() if key != path[0]}
    return {**value, path[0]: _without(value[path[0]], path[1:])}


def _tables(path: Sequence[str], value: Mapping[str, Any]) -> Iterator[str]:
    yield "[" + ".".join(_key(key) for key in path) + "]"
    for key, part in value.items():
        if not isinstance(part, Mapping):
            yield f"{_key(key)} = {_value(part)}"
    for key, part in value.items():
        if isinstance(part, Mapping) and part:
            yield ""
            yield from _tables((*path, key), part)


def _key(key: str) -> str:
    return key if _BARE.fullmatch(key) else _value(key)


def _value(value: Json) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list):
        return "[" + ", ".join(_value(part) for part in value) + "]"
    if isinstance(value, str):
        # JSON's escapes are TOML's too; only the character that JSON leaves as it is has to be written out.
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{_key(key)} = {_value(part)}" for key, part in value.items()) + "}"
    return str(value)
