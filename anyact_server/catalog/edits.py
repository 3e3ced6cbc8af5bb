"""Changing one member of a JSON file with comments while every other byte stays, and writing files safely.

`put` and `drop` change the text where a member stands and check that the result means exactly what was asked for;
`save` replaces a file in one step and keeps a copy of what was there.
"""

from __future__ import annotations

import json
import os
import re
import secrets
import tempfile
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from anyact_server.errors import ConfigError, StorageError
from anyact_server.types import Json, Origin

from .config_text import decode, parse

_TOKEN = re.compile(r"""[\s\ufeff]+|//[^\n]*|/\*.*?\*/|("(?:[^"\\]|\\.)*"|[{}\[\],:]|[^\s{}\[\],:"/]+)""", re.DOTALL)

_SPACES = re.compile(r"[ \t]*")
_REMARK = re.compile(r"[ \t]*//[^\r\n]*(?=\r?\n)")
"""A comment behind a member on its line speaks of it and goes with it."""


@dataclass(slots=True)
class _Member:
    """Where a member of an object stands: key, value, and the comma after it, if any."""

    start: int
    value: int = -1
    end: int = -1
    comma: int | None = None


@dataclass(slots=True)
class _Object:
    """Where an object ends, and its members in order."""

    end: int
    members: dict[str, _Member]


def read_json(text: str, file: str = "the text") -> Json:
    """JSON with comments and trailing commas, the plain kind fast.

    Raises:
        ConfigError: with line and column.
    """
    try:
        return json.loads(text.removeprefix("\ufeff"))
    except (ValueError, RecursionError):
        return parse(text, file).value


def _object(text: str, at: int) -> _Object:
    """The object that begins at or after `at`, in a text that is known to be sound."""
    members: dict[str, _Member] = {}
    member: _Member | None = None
    depth, end = 0, at
    for found in _TOKEN.finditer(text, at):
        token = found[1]
        if token is None:
            continue
        if depth == 1:
            if token in ",}":
                if member is not None:
                    member.end, member.comma = end, found.start() if token == "," else None
                member = None
            elif member is None:
                member = members.setdefault(json.loads(token, strict=False), _Member(found.start()))
            elif member.value < 0 and token != ":":
                member.value = found.start()
        depth += (token in "{[") - (token in "}]")
        end = found.end()
        if depth == 0:
            break
    return _Object(end, members)


def put(text: str, path: Sequence[str], value: Json, file: str = "the text") -> str:
    """The text with the member at `path` set to `value`; parents that are missing are made.

    Raises:
        ConfigError: the text cannot be read, or a parent is no object.
    """
    text = text if text.strip("\ufeff \t\r\n") else "{}\n"
    before = read_json(text, file)
    wanted = _with(before, path, value, file)
    at, depth = 0, 0
    found = _object(text, 0)
    unit = _unit(text, found)
    while depth < len(path) - 1 and path[depth] in found.members:
        at = found.members[path[depth]].value
        found = _object(text, at)
        depth += 1
    for key in reversed(path[depth + 1 :]):
        value = {key: value}
    new = _dump(value, unit, depth + 1)
    member = found.members.get(path[depth])
    changed = _insert(text, found, path[depth], new, unit, depth)
    if member is not None:
        changed = text[: member.value] + new + text[member.end :]
    return _checked(changed, wanted, file)


def drop(text: str, path: Sequence[str], file: str = "the text") -> str:
    """The text without the member at `path` and the comment behind it; unchanged when there is none.

    Raises:
        ConfigError: the text cannot be read.
    """
    value = read_json(text, file)
    place = value
    for key in path:
        if not isinstance(place, dict) or key not in place:
            return text
        place = place[key]
    parent = _object(text, 0)
    for key in path[:-1]:
        parent = _object(text, parent.members[key].value)
    member = parent.members[path[-1]]
    line = text.rfind("\n", 0, member.start)
    alone = line >= 0 and not text[line : member.start].strip()
    start = line - text.endswith("\r", 0, line) if alone else member.start
    end = member.end if member.comma is None else member.comma + 1
    rest = _REMARK.match(text, end) if alone else _SPACES.match(text, end)
    end = rest.end() if rest is not None else end
    changed = text[:start] + text[end:]
    before = [other for other in parent.members.values() if other.start < member.start]
    if member.comma is None and before and (comma := before[-1].comma) is not None:
        changed = changed[:comma] + changed[comma + 1 :]
    return _checked(changed, _without(value, path), file)


def _unit(text: str, root: _Object) -> str:
    """One step of indentation, as the first member shows it."""
    for member in root.members.values():
        lead = text[text.rfind("\n", 0, member.start) + 1 : member.start]
        return lead if lead and not lead.strip() else "  "
    return "  "


def _dump(value: Json, unit: str, depth: int) -> str:
    return json.dumps(value, ensure_ascii=False, indent=unit).replace("\n", "\n" + unit * depth)


def _insert(text: str, parent: _Object, key: str, value: str, unit: str, depth: int) -> str:
    """Put a member at the end of an object, after whatever comments stand there."""
    close = parent.end - 1
    body = text[:close].rstrip(" \t\r\n")
    last = max(parent.members.values(), key=lambda member: member.start, default=None)
    if last is not None and last.comma is None:
        body = body[: last.end] + "," + body[last.end :]
    new = "\r\n" if "\r\n" in text else "\n"
    member = f"{new}{unit * (depth + 1)}{json.dumps(key, ensure_ascii=False)}: {value}"
    return body + member + new + unit * depth + text[close:]


def _with(value: Json, path: Sequence[str], new: Json, file: str) -> Json:
    if not path:
        return new
    if not isinstance(value, dict):
        message = f"{file} holds something else than an object around {path[0]!r}"
        raise ConfigError(message, origin=Origin(file), entry=path[0])
    return {**value, path[0]: _with(value.get(path[0], {}), path[1:], new, file)}


def _without(value: Json, path: Sequence[str]) -> Json:
    if len(path) == 1:
        return {key: part for key, part in value.items() if key != path[0]}
    return {**value, path[0]: _without(value[path[0]], path[1:])}


def _checked(text: str, wanted: Json, file: str) -> str:
    """The text, known to mean what is wanted: an odd form (a key that stands twice, say) is never changed by guess."""
    if read_json(text, file) != wanted:
        raise ConfigError(
            f"{file} has a form that cannot be changed safely", origin=Origin(file), hint="Edit it by hand."
        )
    return text


# --- files


@dataclass(frozen=True, slots=True)
class Written:
    """What became of a file: whether it changed, and the copy of what was there."""

    file: Path
    changed: bool
    backup: Path | None = None


def read_text(path: Path) -> str | None:
    """The text of a file, None when there is none.

    Raises:
        StorageError: it is there but cannot be read.
        ConfigError: its bytes are no text.
    """
    try:
        return decode(path.read_bytes(), str(path))
    except FileNotFoundError:
        return None
    except OSError as error:
        raise StorageError(f"{path} cannot be read: {error}", hint="Check the file and its rights.") from error


def save(path: Path, text: str, *, backups: Path | None, private: bool = False) -> Path | None:
    """Replace a file in one step, so that no reader ever sees half of it.

    A symbolic link stays one: its target is replaced. The mode is kept; a new file, or one with `private`, is for its
    owner alone.

    Args:
        path: the file.
        text: its new text, written with the line ends it holds.
        backups: the folder for a copy of what was there; None keeps none.
        private: the text holds secrets.

    Returns:
        The copy of what was there, if any.

    Raises:
        StorageError: the folder or the file cannot be written; then the file is as it was.
    """
    path = path.resolve()
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        kept = _keep(path, backups) if backups is not None else None
        mode = path.stat().st_mode & 0o777 if path.exists() else 0o600
        number, name = tempfile.mkstemp(prefix=f".{path.name}.", suffix=".new", dir=path.parent)
        try:
            with os.fdopen(number, "w", encoding="utf-8", newline="") as file:
                file.write(text)
                file.flush()
                os.fsync(file.fileno())
            os.chmod(name, mode & 0o600 if private else mode)
            os.replace(name, path)
        except OSError:
            with suppress(OSError):
                os.unlink(name)
            raise
    except OSError as error:
        raise StorageError(f"{path} cannot be written: {error}", hint="Check the rights of its folder.") from error
    return kept


def _keep(path: Path, backups: Path) -> Path | None:
    if not path.exists():
        return None
    backups.mkdir(parents=True, exist_ok=True, mode=0o700)
    stamp = time.strftime("%Y%m%d-%H%M%S")
    copy = backups / f"{stamp}-{secrets.token_hex(2)}-{path.name}"
    with os.fdopen(os.open(copy, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
        file.write(path.read_bytes())
    return copy


def section(value: Mapping[str, Any]) -> str:
    """The key under which a configuration of ours keeps its servers: `mcpServers`, unless only `servers` is there."""
    return "servers" if "servers" in value and "mcpServers" not in value else "mcpServers"
