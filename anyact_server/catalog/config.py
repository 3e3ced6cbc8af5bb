"""Configuration files: reads them, merges them, and says for every mistake where it is and how to mend it."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from anyact_server.errors import ConfigError
from anyact_server.types import EMPTY, Json, JsonObject, Limits, Origin, ServerSpec

from . import dialects
from .config_entry import Place, Problem, Severity, read_entry
from .config_text import Document, decode, parse
from .variables import Scope, input_variable, parse_env_file

Layer = tuple[JsonObject, str]
"""Settings of one file, and where they stand."""
USUAL = Limits()
"""Limits where neither an entry nor the settings name any."""
LARGEST = 32 * 1024 * 1024
"""Bytes of a configuration file."""


@dataclass(frozen=True, slots=True)
class ConfigSet:
    """What the configuration files say together.

    Attributes:
        specs: every server, in the order in which it was first named; faulty ones carry their `fault`.
        settings: the `anyact` objects, file by file; the later wins.
        problems: everything that is wrong or odd.
        files: every file that was read or looked for, env files too.
    """

    specs: tuple[ServerSpec, ...] = ()
    settings: tuple[Layer, ...] = ()
    problems: tuple[Problem, ...] = ()
    files: tuple[Path, ...] = ()


def read_configs(
    files: Iterable[str | os.PathLike[str]],
    environment: Mapping[str, str],
    *,
    inputs: Mapping[str, str] | None = None,
    defaults: Limits | Callable[[Sequence[Layer]], Limits] = USUAL,
) -> ConfigSet:
    """Read configuration files; a server named again in a later file replaces the earlier one.

    Args:
        files: paths of the files.
        environment: values of variables.
        inputs: answers to VS Code's `inputs`, by id; without one, `ANYACT_INPUT_<ID>` and the input's default serve.
        defaults: limits where an entry names none, or a function that makes them of the files' settings.

    Raises:
        ConfigError: a file cannot be read or is no JSON; the message has line and column.
    """
    paths = [Path(file) for file in files]
    documents = [(path, read_document(path)) for path in paths]
    problems: list[Problem] = []
    settings = [layer for path, document in documents for layer in _settings(path, document, problems)]
    limits = defaults(settings) if callable(defaults) else defaults
    specs: dict[str, ServerSpec] = {}
    env_files: dict[Path, Mapping[str, str] | str] = {}
    for path, document in documents:
        reading = _File(path, document, environment, inputs or EMPTY, env_files, problems)
        for spec in reading.specs(limits):
            _add(specs, spec, problems)
    watched = dict.fromkeys([*paths, *env_files])
    return ConfigSet(tuple(specs.values()), tuple(settings), tuple(problems), tuple(watched))


def read_document(path: Path) -> Document:
    """Read one file.

    Raises:
        ConfigError: it is missing, unreadable, too large or no JSON object.
    """
    file = str(path)
    try:
        if path.stat().st_size > LARGEST:
            raise ConfigError(f"{file}: the file is larger than {LARGEST >> 20} MiB", origin=Origin(file))
        raw = path.read_bytes()
    except FileNotFoundError as error:
        raise ConfigError(
            f"{file}: there is no such file", origin=Origin(file), hint="Check the path, or create the file."
        ) from error
    except OSError as error:
        raise ConfigError(f"{file}: the file cannot be read: {error.strerror}", origin=Origin(file)) from error
    document = parse(decode(raw, file), file)
    if not isinstance(document.value, dict):
        line = document.line()
        raise ConfigError(
            f"{file}:{line}:1: the document is no object",
            origin=Origin(file, line),
            column=1,
            hint='Write {"mcpServers": {...}}.',
        )
    return document


def workspace_of(path: Path) -> Path:
    """The folder that `${workspaceFolder}` and relative paths mean: that of the file, or the one above where the file
    stands in an editor's own folder (`.vscode`, `.cursor`)."""
    folder = path.absolute().parent
    return folder.parent if folder.name.startswith(".") and folder.parent != folder else folder


def _settings(path: Path, document: Document, problems: list[Problem]) -> Iterable[Layer]:
    value = document.value.get("anyact")
    if value is None:
        return
    origin = Origin(str(path), document.line("anyact"))
    if not isinstance(value, dict):
        problems.append(Problem("`anyact` must be an object; it is left out", origin, hint='Write {"call_s": 60}.'))
        return
    yield {key: item for key, item in value.items() if not dialects.is_remark(key)}, str(origin)


def _add(specs: dict[str, ServerSpec], spec: ServerSpec, problems: list[Problem]) -> None:
    before = specs.get(spec.name)
    if before is not None and spec.origin is not None:
        message = f"replaces the entry of the same name at {before.origin}"
        problems.append(Problem(message, spec.origin, spec.name, "Rename one of them to keep both.", "warning"))
    specs[spec.name] = spec


class _File:
    """One parsed file."""

    def __init__(
        self,
        path: Path,
        document: Document,
        environment: Mapping[str, str],
        inputs: Mapping[str, str],
        env_files: dict[Path, Mapping[str, str] | str],
        problems: list[Problem],
    ) -> None:
        self._file = str(path)
        self._document = document
        self._problems = problems
        self._env_files = env_files
        home = environment.get("HOME") or environment.get("USERPROFILE") or os.path.expanduser("~")
        self._scope = Scope(environment, EMPTY, home, str(workspace_of(path)))
        self._scope = replace(self._scope, inputs=self._inputs(inputs))

    def specs(self, limits: Limits) -> Iterable[ServerSpec]:
        for route, line in self._document.repeated:
            self._problem(f"{route[-1]!r} stands twice; the later one is used", line, severity="warning")
        for route in self._roots():
            entries = self._at(route)
            if entries is None:
                continue
            if not isinstance(entries, dict):
                line = self._document.line(*route)
                self._problem(f"{'.'.join(route)} must be an object", line, 'Write {"NAME": {"command": ...}}.')
                continue
            for name, body in entries.items():
                if not route and not dialects.looks_like_server(body):
                    continue
                if not name.strip():
                    self._problem("an entry has no name", self._document.line(*route, name), 'Write "NAME": {...}.')
                elif not (dialects.is_remark(name) and not isinstance(body, dict)):
                    yield self._spec(route, name, body, limits)

    def _spec(self, route: tuple[str, ...], name: str, body: Json, limits: Limits) -> ServerSpec:
        def line(*inner: str | int) -> int:
            return self._document.line(*route, name, *inner)

        place = Place(name, self._file, line, self._scope, self._read_env_file)
        spec, problems = read_entry(body, place, limits)
        self._problems.extend(problems)
        return spec

    def _roots(self) -> Sequence[tuple[str, ...]]:
        found = [route for route in dialects.ROOTS if self._at(route, absent=True)]
        if found:
            return found
        value: JsonObject = self._document.value
        if any(dialects.looks_like_server(item) for item in value.values()) and "anyact" not in value:
            return [()]
        if "anyact" not in value:
            hint = 'Write {"mcpServers": {"NAME": {"command": "..."}}}.'
            self._problem("no servers are configured in this file", 1, hint, severity="warning")
        return []

    def _at(self, route: tuple[str, ...], *, absent: bool = False) -> Json:
        """The value at a route; with `absent`, whether it is there at all."""
        value: Json = self._document.value
        for key in route:
            if not isinstance(value, dict) or key not in value:
                return False if absent else None
            value = value[key]
        return True if absent else value

    def _inputs(self, given: Mapping[str, str]) -> Mapping[str, str]:
        """Answers to the file's inputs: those given, then the environment, then the inputs' own defaults."""
        found: dict[str, str] = {}
        listed = self._document.value.get("inputs")
        if listed is not None and not isinstance(listed, list):
            self._problem("inputs must be a list", self._document.line("inputs"), 'Write [{"id": "..."}].')
        for item in listed if isinstance(listed, list) else ():
            if isinstance(item, dict) and isinstance(item.get("id"), str) and isinstance(item.get("default"), str):
                answer = self._scope.environment.get(input_variable(item["id"]))
                found[item["id"]] = item["default"] if answer is None else answer
        return found | dict(given)

    def _read_env_file(self, path: str) -> Mapping[str, str] | str:
        known = self._env_files.get(Path(path))
        if known is None:
            known = self._env_files[Path(path)] = read_env_file(Path(path))
        return known

    def _problem(self, message: str, line: int, hint: str | None = None, *, severity: Severity = "error") -> None:
        self._problems.append(Problem(message, Origin(self._file, line), None, hint, severity))


def read_env_file(path: Path) -> Mapping[str, str] | str:
    """The values of an env file, or why it cannot be used."""
    try:
        text = decode(path.read_bytes(), str(path))
    except OSError as error:
        return f"the env file {path} cannot be read: {error.strerror}"
    except ConfigError as error:
        return error.message
    values, bad = parse_env_file(text)
    return f"the env file {path} has no NAME=VALUE in line {bad[0]}" if bad else values
