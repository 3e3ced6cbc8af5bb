"""Manifest files: one JSON file per known server that says how to start it.

`parse_manifest` is pure; the others read folders. A folder later in the list wins over an earlier one, so that a user's
own file replaces a shipped one of the same name.
"""

from __future__ import annotations

import difflib
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast, get_args

from anyact_server.errors import ConfigError, UnknownServer
from anyact_server.types import Origin, Transport

from .recipes import Manifest, Recipe, Registry, Variable

NAME = re.compile(r"[a-z0-9][a-z0-9._-]{0,63}")
"""Names that make good file names and ids."""
SCHEMA_FILE = "schema.json"
_TEXTS = ("registry", "package", "version", "command", "python", "transport", "url")
_LISTS = ("args", "also_install", "runner_args")
_MAPS = ("env", "install_env", "headers")


@dataclass(frozen=True, slots=True)
class ManifestSet:
    """Manifests by name, and what was wrong with the files that could not be taken."""

    manifests: Mapping[str, Manifest] = field(default_factory=dict)
    problems: tuple[ConfigError, ...] = ()


def shipped_manifests() -> Path:
    """The folder of the manifests that come with the package, in a wheel as in a checkout."""
    package = Path(__file__).resolve().parent.parent
    inside = package / "manifests"
    return inside if inside.is_dir() else package.parent / "manifests"


def manifest_folders(more: Iterable[Path] = ()) -> tuple[Path, ...]:
    """The shipped folder and the user's own, the later wins.

    Raises:
        ConfigError: a folder that the user named is not there.
    """
    own = tuple(more)
    for folder in own:
        if not folder.is_dir():
            raise ConfigError(f"{folder} is no folder of manifests", hint="Name a folder that exists.")
    return (shipped_manifests(), *own)


def read_manifests(folders: Sequence[Path]) -> ManifestSet:
    """Every manifest in the folders; a file that cannot be taken costs only itself."""
    found: dict[str, Manifest] = {}
    problems: list[ConfigError] = []
    for folder in folders:
        for path in sorted(folder.glob("*.json")):
            if path.name == SCHEMA_FILE:
                continue
            try:
                manifest = read_manifest(path)
            except ConfigError as error:
                problems.append(error)
            else:
                found[manifest.name] = manifest
    return ManifestSet(dict(sorted(found.items())), tuple(problems))


def find_manifest(name: str, folders: Sequence[Path]) -> Manifest:
    """The manifest of this name, reading no other file.

    Raises:
        UnknownServer: there is none; with near names.
        ConfigError: its file is wrong.
    """
    if NAME.fullmatch(name):
        for folder in reversed(folders):
            path = folder / f"{name}.json"
            if path.is_file() and path.name != SCHEMA_FILE:
                return read_manifest(path)
    known = {path.stem for folder in folders for path in folder.glob("*.json")} - {"schema"}
    near = difflib.get_close_matches(name.lower(), sorted(known), 5, 0.5)
    near += sorted(stem for stem in known if name.lower() in stem and stem not in near)[:5]
    hint = f"Near names: {', '.join(near)}." if near else "anyact manifest list shows all names."
    raise UnknownServer(f"no manifest is named {name!r}", hint=hint)


def read_manifest(path: Path) -> Manifest:
    """Read one file.

    Raises:
        ConfigError: it is not JSON (with line and column), or something in it is wrong.
    """
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
    except json.JSONDecodeError as error:
        message = f"{path.name} is not JSON: {error.msg} (line {error.lineno}, column {error.colno})"
        raise ConfigError(message, origin=Origin(str(path), error.lineno), column=error.colno) from error
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path.name} cannot be read: {error}", origin=Origin(str(path))) from error
    manifest = parse_manifest(value, str(path))
    if manifest.name != path.stem:
        raise _wrong(str(path), "name", f"is {manifest.name!r}, the file is named {path.stem!r}", "Make them equal.")
    return manifest


def parse_manifest(value: Any, origin: str) -> Manifest:
    """Understand a manifest.

    Args:
        value: the parsed file.
        origin: where it comes from, for messages.

    Raises:
        ConfigError: names the field that is wrong, and the cure.
    """
    body = _object(value, origin, "the file", ("$schema", "name", "title", "description", "tags", "start", "variables"))
    name = _text(body.get("name"), origin, "name")
    if not NAME.fullmatch(name):
        raise _wrong(origin, "name", f"is {name!r}", "Use lower-case letters, digits, `.`, `_` and `-`, at most 64.")
    start = body.get("start")
    if not isinstance(start, list) or not start:
        raise _wrong(origin, "start", "must be a list of at least one recipe", "See manifests/schema.json.")
    variables = _object(body.get("variables", {}), origin, "variables")
    return Manifest(
        name,
        _text(body.get("title", name), origin, "title"),
        _text(body.get("description", ""), origin, "description"),
        _texts(body.get("tags", []), origin, "tags"),
        tuple(_recipe(item, origin, f"start[{number}]") for number, item in enumerate(start)),
        tuple(_variable(key, item, origin) for key, item in variables.items()),
        origin,
    )


def _recipe(value: Any, origin: str, where: str) -> Recipe:
    body = _object(value, origin, where, (*_TEXTS, *_LISTS, *_MAPS))
    texts = {key: _text(body[key], origin, f"{where}.{key}") for key in _TEXTS if key in body}
    lists = {key: _texts(body[key], origin, f"{where}.{key}") for key in _LISTS if key in body}
    maps = {key: _map(body[key], origin, f"{where}.{key}") for key in _MAPS if key in body}
    _one_of(texts.get("registry"), get_args(Registry), origin, f"{where}.registry")
    _one_of(texts.get("transport"), ("stdio", "http", "sse"), origin, f"{where}.transport")
    ways = {"package", "url"} & texts.keys() or {"command"} & texts.keys()
    if len(ways) != 1:
        raise _wrong(origin, where, "must have one of `package`, `url` and `command`", "Name one way to start it.")
    if "package" in texts and "registry" not in texts:
        raise _wrong(origin, where, "has a package without a registry", "Add `registry`: npm, pypi or oci.")
    transport = cast(Transport, texts.pop("transport", "http" if "url" in texts else "stdio"))
    if ("url" in texts) == (transport == "stdio"):
        raise _wrong(origin, f"{where}.transport", f"is {transport}", "Use http or sse with a url, stdio without.")
    known = cast(dict[str, Any], {**texts, **lists, **maps})
    return Recipe(transport=transport, **known)


def _variable(name: str, value: Any, origin: str) -> Variable:
    where = f"variables.{name}"
    if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name):
        raise _wrong(origin, where, "is no name of a variable", "Use letters, digits and `_`.")
    body = _object(value, origin, where, ("description", "required", "secret", "default", "list"))
    flags = {key: body.get(key, False) for key in ("required", "secret", "list")}
    for key, flag in flags.items():
        if not isinstance(flag, bool):
            raise _wrong(origin, f"{where}.{key}", "must be true or false", None)
    default = _text(body["default"], origin, f"{where}.default") if "default" in body else None
    description = _text(body.get("description", ""), origin, f"{where}.description")
    return Variable(name, description, flags["required"], flags["secret"], default, flags["list"])


def _wrong(origin: str, entry: str, what: str, hint: str | None) -> ConfigError:
    return ConfigError(f"{Path(origin).name}: {entry} {what}", origin=Origin(origin), entry=entry, hint=hint)


def _object(value: Any, origin: str, where: str, known: Sequence[str] | None = None) -> Mapping[str, Any]:
    if not isinstance(value, dict):
        raise _wrong(origin, where, "must be an object", None)
    strange = [key for key in value if known is not None and key not in known]
    if known is not None and strange:
        raise _wrong(origin, where, f"has the unknown field {strange[0]!r}", f"Known: {', '.join(known)}.")
    return value


def _text(value: Any, origin: str, where: str) -> str:
    if not isinstance(value, str):
        raise _wrong(origin, where, "must be a text", None)
    return value


def _texts(value: Any, origin: str, where: str) -> tuple[str, ...]:
    if not isinstance(value, list):
        raise _wrong(origin, where, "must be a list of texts", None)
    return tuple(_text(item, origin, f"{where}[{number}]") for number, item in enumerate(value))


def _map(value: Any, origin: str, where: str) -> Mapping[str, str]:
    return {key: _text(item, origin, f"{where}.{key}") for key, item in _object(value, origin, where).items()}


def _one_of(value: str | None, allowed: Sequence[str], origin: str, where: str) -> None:
    if value is not None and value not in allowed:
        raise _wrong(origin, where, f"is {value!r}", f"Allowed: {', '.join(allowed)}.")
