"""Reading the servers out of the clients' files, so that AnyAct can take them over.

An entry keeps its own fields, which the configuration understands in every dialect; what would mean something else
outside its file is rewritten: variables, the project's folder, and the odd forms of Codex and opencode. Entries that
are the same server are merged, other servers of the same name get the client's name behind theirs.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path, PurePath
from typing import Any

from anyact_server.errors import AnyActError, ConfigError
from anyact_server.types import EMPTY, Json, JsonObject, Origin

from .clients import Client, Format, Grammar, Place
from .config_text import parse
from .dialects import ROOTS
from .edits import read_json, read_text
from .edits_toml import header
from .recipes import literal

_NAME = r"[A-Za-z_][A-Za-z0-9_]*"
PLACED_BYTES = 300_000
"""Files up to this size are read with the lines of their parts, which takes ten times as long: under 0.2 s."""


@dataclass(frozen=True, slots=True)
class Found:
    """One entry of a client: as it stands there (`raw`), and as AnyAct takes it over (`entry`)."""

    name: str
    entry: JsonObject
    raw: Json
    place: Place
    origin: Origin
    own: bool = False
    """It is AnyAct itself."""


@dataclass(frozen=True, slots=True)
class Reading:
    """What one file holds: entries, VS Code's inputs, and what was wrong."""

    found: tuple[Found, ...] = ()
    inputs: tuple[JsonObject, ...] = ()
    problems: tuple[AnyActError, ...] = ()


@dataclass(frozen=True, slots=True)
class Imported:
    """One server after merging: its name for AnyAct, its entry, and every place that has it."""

    name: str
    entry: JsonObject
    sources: tuple[Found, ...] = ()
    known: bool = False
    """AnyAct's own configuration has it already."""


@dataclass(frozen=True, slots=True)
class Imports:
    """What all files together hold."""

    servers: tuple[Imported, ...] = ()
    inputs: tuple[JsonObject, ...] = ()
    problems: tuple[AnyActError, ...] = ()
    files: tuple[Path, ...] = ()


def import_clients(places: Iterable[Place], taken: Mapping[str, Json] = EMPTY) -> Imports:
    """Read every file that is there and merge what they hold.

    Args:
        places: the files.
        taken: the entries of AnyAct's own configuration.
    """
    there = [place for place in places if place.file.is_file()]
    readings = [read_place(place) for place in there]
    found = [one for reading in readings for one in reading.found if not one.own]
    inputs = {str(item.get("id")): item for reading in readings for item in reading.inputs}
    problems = [problem for reading in readings for problem in reading.problems]
    files = dict.fromkeys(place.file for place in there)
    return Imports(merge(found, taken), tuple(inputs.values()), tuple(problems), tuple(files))


def file_places(file: Path) -> tuple[Place, ...]:
    """A file of any client, or of none that is known, by the roots that it holds; its texts are taken as ours are."""
    form: Format = "toml" if file.suffix.lower() == ".toml" else "json"
    one = Client("file", file.name, format=form, grammar="editor")
    return tuple(Place(one, "user", file, root, written=False) for root in ROOTS)


def read_place(place: Place) -> Reading:
    """Read one file; a file or an entry that cannot be read costs only itself."""
    try:
        text = read_text(place.file) or ""
        value = parse_text(text, place)
    except AnyActError as error:
        return Reading(problems=(error,))
    servers: Json = value
    for key in place.root:
        servers = servers.get(key) if isinstance(servers, dict) else None
    if servers is None:
        return Reading()
    if not isinstance(servers, dict):
        where = ".".join(place.root)
        return Reading(problems=(ConfigError(f"{place.file}: {where} is no object", origin=Origin(str(place.file))),))
    found: list[Found] = []
    problems: list[AnyActError] = []
    lines = _lines(text, place, servers)
    for name, raw in servers.items():
        origin = Origin(str(place.file), lines[name])
        if isinstance(raw, dict):
            found.append(Found(name, taken_over(raw, place), raw, place, origin, is_own(raw)))
        else:
            problems.append(ConfigError(f"{origin}: {name!r} is no object", origin=origin, entry=name))
    listed = value.get("inputs") if isinstance(value, dict) else None
    inputs = [item for item in listed if isinstance(item, dict)] if isinstance(listed, list) else []
    return Reading(tuple(found), tuple(inputs), tuple(problems))


def parse_text(text: str, place: Place) -> Json:
    """The value of a client's file; an empty one is an empty object.

    Raises:
        ConfigError: with line and column.
    """
    if not text.strip():
        return {}
    if place.client.format == "json":
        return read_json(text, str(place.file))
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(f"{place.file} is not TOML: {error}", origin=Origin(str(place.file))) from error


def _lines(text: str, place: Place, names: Iterable[str]) -> dict[str, int]:
    """The line on which each entry stands; 0 in a file so large that looking would take long."""
    if place.client.format == "json" and len(text) <= PLACED_BYTES:
        document = parse(text, str(place.file))
        return {name: document.line(*place.root, name) for name in names}
    heads = {
        tuple(keys): number
        for number, line in enumerate(text.split("\n"), 1)
        if place.client.format == "toml" and (keys := header(line)) is not None
    }
    return {name: heads.get((*place.root, name), 0) for name in names}


def is_own(raw: JsonObject) -> bool:
    """Whether an entry starts AnyAct itself, which must never stand behind itself."""
    command = raw.get("command")
    listed = command if isinstance(command, list) else [command, *_list(raw.get("args"))]
    words = [str(word) for word in listed if isinstance(word, str)]
    if not words:
        return False
    program = PurePath(words[0].replace("\\", "/")).stem
    return program in ("anyact", "anyact-server") or any(
        re.fullmatch(r"anyact|anyact[-_]server(?:[\[=@<>~!].*)?", word) for word in words[1:]
    )


def taken_over(raw: JsonObject, place: Place) -> dict[str, Any]:
    """The entry as it means the same in AnyAct's configuration."""
    entry = {key: _rewritten(value, place) for key, value in raw.items()}
    if place.client.name == "codex":
        entry = _from_codex(entry)
    if place.client.name == "opencode" and entry.get("type") in ("local", "remote"):
        del entry["type"]
    entry.pop("source", None)
    if place.folder is not None and "command" in entry and "cwd" not in entry:
        entry["cwd"] = str(place.folder)
    return entry


def _rewritten(value: Json, place: Place) -> Json:
    if isinstance(value, dict):
        return {key: _rewritten(part, place) for key, part in value.items()}
    if isinstance(value, list):
        return [_rewritten(part, place) for part in value]
    if not isinstance(value, str):
        return value
    if place.folder is not None and place.client.grammar == "editor":
        for name in ("${workspaceFolder}", "${workspaceRoot}"):
            value = value.replace(name, str(place.folder))
        value = value.replace("${workspaceFolderBasename}", place.folder.name)
    return translated(value, place.client.grammar)


def translated(text: str, grammar: Grammar) -> str:
    """A text with its variables in AnyAct's spelling; what a client takes literally is escaped."""
    if grammar == "none":
        return literal(text)
    if grammar == "dollar":
        return re.sub(rf"\$({_NAME})", r"${\1}", text)
    if grammar == "opencode":
        return re.sub(rf"\{{env:({_NAME})\}}", r"${\1}", literal(text))
    return text


def _from_codex(entry: dict[str, Any]) -> dict[str, Any]:
    """Codex's own fields for headers, forwarded variables and time limits."""
    made = dict(entry)
    seconds = {key: made.pop(f"{word}_timeout_sec", None) for key, word in (("start", "startup"), ("call", "tool"))}
    limits = {key: value for key, value in seconds.items() if value is not None}
    headers = {**_map(made.pop("http_headers", None))}
    headers.update({key: "${" + str(name) + "}" for key, name in _map(made.pop("env_http_headers", None)).items()})
    if isinstance(token := made.pop("bearer_token_env_var", None), str):
        headers["Authorization"] = "Bearer ${" + token + "}"
    forwarded = {name: "${" + name + "}" for name in _list(made.pop("env_vars", None)) if isinstance(name, str)}
    if limits:
        made["timeouts"] = limits
    if headers:
        made["headers"] = headers
    if forwarded:
        made["env"] = {**forwarded, **_map(made.get("env"))}
    return made


def identity(entry: JsonObject) -> str:
    """What makes two entries the same server: program, arguments, environment, folder, address, headers."""
    command: Json = entry.get("command")
    args = _list(entry.get("args"))
    if isinstance(command, list):
        command, args = next(iter(command), None), command[1:]
    if isinstance(command, dict):
        command, args = command.get("path"), _list(command.get("args"))
    if isinstance(command, str) and PurePath(command).stem in ("npx", "uvx"):
        command = PurePath(command).stem
        args = [arg for arg in args if arg not in ("-y", "--yes")]
    url = next((entry[key] for key in ("url", "serverUrl", "httpUrl") if entry.get(key)), None)
    env = entry.get("env") or entry.get("environment") or {}
    return json.dumps([command, args, env, entry.get("cwd"), url, entry.get("headers") or {}], sort_keys=True)


def merge(found: Sequence[Found], taken: Mapping[str, Json] = EMPTY) -> tuple[Imported, ...]:
    """Every server once: equal ones merged, others of a name that is taken renamed after their client."""
    known = {identity(entry): name for name, entry in taken.items() if isinstance(entry, dict)}
    used = set(taken)
    merged: dict[str, Imported] = {}
    for one in found:
        key = identity(one.entry)
        if key in merged:
            merged[key] = replace(merged[key], sources=(*merged[key].sources, one))
        elif key in known:
            merged[key] = Imported(known[key], one.entry, (one,), True)
        else:
            name = _free(one, used)
            used.add(name)
            merged[key] = Imported(name, one.entry, (one,))
    return tuple(merged.values())


def _free(one: Found, used: set[str]) -> str:
    wanted = [one.name, f"{one.name}-{one.place.client.name}"]
    wanted += [f"{one.name}-{one.place.client.name}-{number}" for number in range(2, len(used) + 3)]
    return next(name for name in wanted if name not in used)


def _list(value: Json) -> list[Any]:
    return value if isinstance(value, list) else []


def _map(value: Json) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}
