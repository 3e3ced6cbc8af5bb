"""Adding a server to the user's configuration: what was meant, what it needs, and the entry that is written.

`understand` reads but changes nothing, so that a dry run shows exactly what would happen; `carry_out` and `remove`
write. An entry is plain `mcpServers`, which any client reads too. Variables that were not given stay references to the
environment, and an entry of the same name is never replaced unasked.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from anyact_server.errors import ConfigError, UnknownServer, UsageError
from anyact_server.types import EMPTY, JsonObject, Origin, Transport

from .edits import Written, drop, put, read_json, read_text, save, section
from .environments import Progress, prepare
from .manifests import find_manifest, parse_manifest
from .mcpb import SUFFIXES, Bundle, bundle_manifest, read_bundle, unpack
from .recipes import Manifest, Recipe, Registry, Variable, entry, fill
from .registry import is_server_json, read_server_json
from .runners import Launch, Machine, choose

PREFIXES: Mapping[str, Registry] = {"npm": "npm", "pypi": "pypi", "docker": "oci", "oci": "oci"}
_SPACED = re.compile(r"\s")
_NOISE = re.compile(r"^(?:mcp[-_.]server[-_.]|mcp[-_.]|server[-_.])|(?:[-_.]mcp[-_.]server|[-_.]mcp|[-_.]server)$")


@dataclass(frozen=True, slots=True)
class Wish:
    """What somebody asks to add.

    Attributes:
        what: a manifest's name, `npm:PACKAGE`, `pypi:PACKAGE`, `docker:IMAGE`, a URL, a file (server.json, manifest,
            .mcpb), or a command line; None when `words` is the command.
        words: words after `--`: further arguments of what is known, or the whole command.
        name: the name in the configuration; derived when None.
        values: variables; None refers to the environment.
        headers: HTTP headers of a remote server.
        runner: insist on one of npx, uvx, pipx, docker, private, remote.
        program: the program of the package, where it brings several.
        transport: http or sse, where the URL does not tell.
    """

    what: str | None = None
    words: tuple[str, ...] = ()
    name: str | None = None
    values: Mapping[str, str | None] = EMPTY
    headers: Mapping[str, str] = EMPTY
    runner: str | None = None
    program: str | None = None
    transport: Transport | None = None


@dataclass(frozen=True, slots=True)
class Surroundings:
    """Where a wish is understood: folders of manifests, the machine, our home folder, the user's, the current one."""

    folders: tuple[Path, ...]
    machine: Machine
    home: Path
    user: Path
    here: Path
    environment: Mapping[str, str] = field(default_factory=lambda: EMPTY)


@dataclass(frozen=True, slots=True)
class Addition:
    """What will be written and done.

    `unset` are required variables that nothing supplies yet, `open` the optional ones that were not given, `secrets`
    values never to print. `folders` are made for the server's data.
    """

    name: str
    entry: JsonObject
    launch: Launch
    unset: tuple[Variable, ...] = ()
    open: tuple[Variable, ...] = ()
    notes: tuple[str, ...] = ()
    secrets: frozenset[str] = frozenset()
    bundle: tuple[Bundle, Path] | None = None
    folders: tuple[Path, ...] = ()


def understand(wish: Wish, around: Surroundings) -> Addition:
    """Find out what a wish means on this machine; changes nothing.

    Raises:
        UsageError: it means nothing, or nothing here can run it; names the cure.
        UnknownServer: no manifest of that name; with near names.
        ConfigError: a file it names is wrong.
    """
    manifest, bundle = _manifest(wish, around)
    name = _checked_name(wish.name or name_of(manifest.name))
    variables = tuple(one for one in manifest.variables if not _by_words(one, wish))
    start = tuple(_asked(recipe, wish, manifest, around) for recipe in manifest.start)
    launch = choose(start, around.machine, wish.runner)
    data = around.home / "data" / name
    filled = fill(launch.recipe, variables, wish.values, data=str(data))
    for variable in filled.unset:
        if variable.several:
            hint = f"Give them after --: anyact add {wish.what} -- FIRST SECOND"
            raise UsageError(f"{name} needs {variable.name}: {variable.description}", hint=hint)
    launch = replace(launch, recipe=filled.recipe)
    made = entry(filled.recipe, manifest if manifest.title else None)
    unset = tuple(variable for variable in filled.unset if variable.name not in around.environment)
    left = tuple(
        variable
        for variable in variables
        if not variable.required and variable.default is None and variable.name not in wish.values
    )
    folders = (data,) if str(data) in str(made) else ()
    notes = tuple(_notes(launch, around, bundle is not None))
    secrets = filled.given | _given(wish, variables)
    return Addition(name, made, launch, unset, left, notes, secrets, bundle, folders)


def carry_out(
    addition: Addition,
    config: Path,
    *,
    backups: Path,
    overwrite: bool = False,
    tell: Callable[[Progress], None] = lambda progress: None,
) -> Written:
    """Make what the server needs and write its entry.

    Args:
        addition: what `understand` gave.
        config: the user's configuration file; made when it is not there.
        backups: the folder for a copy of what was there.
        overwrite: replace another entry of the same name.
        tell: is told of every step of making a private environment.

    Raises:
        UsageError: another entry has the name and `overwrite` is not set.
        ConfigError: the file cannot be read.
        StorageError: something could not be made or written.
    """
    _existing(config, addition, overwrite)
    made = dict(addition.entry)
    if addition.launch.environment is not None:
        made["command"] = prepare(addition.launch.environment, tell)
    if addition.bundle is not None:
        unpack(*addition.bundle)
    for folder in addition.folders:
        folder.mkdir(parents=True, exist_ok=True)
    text = read_text(config) or ""
    value = read_json(text, str(config)) if text.strip() else {}
    changed = put(text, (section(value), addition.name), made, str(config))
    if changed == text:
        return Written(config, False)
    return Written(config, True, save(config, changed, backups=backups, private=bool(addition.secrets)))


def remove(name: str, config: Path, *, backups: Path) -> Written:
    """Take an entry out of the configuration; its data and private environment stay.

    Raises:
        UnknownServer: the file has no such entry.
        ConfigError: the file cannot be read.
        StorageError: the file cannot be written.
    """
    text = read_text(config) or ""
    value = read_json(text, str(config)) if text.strip() else {}
    known = value.get(section(value)) if isinstance(value, dict) else None
    if not isinstance(known, dict) or name not in known:
        names = ", ".join(known) if isinstance(known, dict) and known else "none"
        raise UnknownServer(f"{config} has no server named {name!r}", hint=f"It has: {names}.")
    return Written(config, True, save(config, drop(text, (section(value), name), str(config)), backups=backups))


def _existing(config: Path, addition: Addition, overwrite: bool) -> None:
    text = read_text(config) or ""
    value = read_json(text, str(config)) if text.strip() else {}
    if not isinstance(value, dict):
        raise ConfigError(f"{config} is no JSON object", origin=Origin(str(config)), hint='Write {"mcpServers": {}}.')
    servers = value.get(section(value))
    there = servers.get(addition.name) if isinstance(servers, dict) else None
    same = isinstance(there, dict) and {**there, "command": None} == {**addition.entry, "command": None}
    if addition.launch.environment is None:
        same = there == addition.entry
    if there is not None and not same and not overwrite:
        raise UsageError(
            f"{config} already has another server named {addition.name!r}",
            hint="Add --replace to replace it, or --name for another name.",
        )


# --- what was meant


def _manifest(wish: Wish, around: Surroundings) -> tuple[Manifest, tuple[Bundle, Path] | None]:
    what = wish.what
    if what is None:
        return _command(wish.words, around), None
    if re.match(r"https?://", what, re.IGNORECASE):
        return _address(what, wish), None
    prefix, _, rest = what.partition(":")
    if prefix in PREFIXES and rest:
        return _package(PREFIXES[prefix], rest, wish), None
    if re.fullmatch(r"@[\w.-]+/[\w.-]+(?:@[\w.-]+)?", what):
        return _package("npm", what, wish), None
    file = (around.here / Path(what).expanduser()).resolve()
    if what.lower().endswith((*SUFFIXES, ".json")) or (os.sep in what and file.suffix in (*SUFFIXES, ".json")):
        return _file(what, file, around)
    if _SPACED.search(what.strip()):
        return _command((*split(what, windows=around.machine.windows), *wish.words), around), None
    try:
        return find_manifest(what, around.folders), None
    except UnknownServer as error:
        if file.is_file() and os.access(file, os.X_OK) and os.sep in what:
            return _command((what,), around), None
        raise UnknownServer(
            f"nothing known is named {what!r}",
            hint=f"{error.hint or ''} For a package write npm:{what} or pypi:{what}, for a program: -- {what} ARGS.",
        ) from error


def split(line: str, *, windows: bool) -> tuple[str, ...]:
    """The words of a command line; a backslash is an ordinary letter on Windows.

    Raises:
        UsageError: a quote is not closed.
    """
    try:
        if windows:
            return tuple(word.strip('"') for word in shlex.split(line, posix=False))
        return tuple(shlex.split(line))
    except ValueError as error:
        raise UsageError(f"the command line cannot be split: {error}", hint="Close the quote.") from error


def _command(words: Sequence[str], around: Surroundings) -> Manifest:
    if not words:
        raise UsageError("nothing to add", hint="Name a server, a package, a URL, a file, or a command after --.")
    program = words[0]
    if os.sep in program and not os.path.isabs(program):
        # Never resolved: the link in a virtual environment is what makes its Python the right one.
        program = os.path.abspath(around.here / program)
    return Manifest(_command_name(words), start=(Recipe(command=program, args=tuple(words[1:])),))


def _command_name(words: Sequence[str]) -> str:
    """The word of a command that says what it runs: the first after the runner that is no option, or the program."""
    runner = Path(words[0]).stem.lower()
    if runner in ("npx", "uvx", "pipx", "bunx", "node", "python", "python3", "docker", "uv", "deno"):
        rest = [word for word in words[1:] if not word.startswith("-") and word not in ("run", "tool", "exec", "x")]
        if "-m" in words[:-1]:
            rest.insert(0, words[words.index("-m") + 1])
        if rest:
            return rest[-1] if runner == "docker" else rest[0]
    return words[0]


def _address(url: str, wish: Wish) -> Manifest:
    try:
        parts = urlsplit(url)
        host, port = parts.hostname, parts.port
    except ValueError as error:
        raise UsageError(f"{url} is no URL: {error}", hint="Write http://HOST:PORT/PATH.") from error
    if not host:
        raise UsageError(f"{url} names no host", hint="Write http://HOST:PORT/PATH.")
    transport: Transport = wish.transport or ("sse" if re.search(r"/sse(?:/|$)", parts.path) else "http")
    labels = [label for label in host.split(".") if label not in ("mcp", "www", "api", "com")]
    name = labels[0] if labels and not host.replace(".", "").isdigit() and ":" not in host else host
    name = f"{name}-{port}" if port else name
    return Manifest(name, start=(Recipe(transport, url=url, headers=wish.headers),))


def _package(registry: Registry, text: str, wish: Wish) -> Manifest:
    package, version = text, None
    if registry == "npm" and "@" in text[1:]:
        package, version = text[0] + text[1:].rsplit("@", 1)[0], text.rsplit("@", 1)[1]
    elif registry == "pypi" and re.fullmatch(r"[^=<>~!]+==[\w.!+-]+", text):
        package, version = text.split("==", 1)
    recipe = Recipe(registry=registry, package=package, version=version, command=wish.program)
    return Manifest(package, start=(recipe,))


def _file(what: str, file: Path, around: Surroundings) -> tuple[Manifest, tuple[Bundle, Path] | None]:
    if not file.is_file():
        raise UsageError(f"there is no file {what}", hint="Check the path.")
    if file.suffix.lower() in SUFFIXES:
        bundle = read_bundle(file)
        folder = around.home / "bundles" / f"{name_of(bundle.name)}-{bundle.digest[:8]}"
        return bundle_manifest(bundle, folder, around.user), (bundle, folder)
    value = read_json(read_text(file) or "", str(file))
    if isinstance(value, dict) and "start" in value:
        return parse_manifest(value, str(file)), None
    if isinstance(value, dict) and ({"mcpServers", "servers"} & set(value)):
        raise UsageError(f"{what} is a configuration of several servers", hint=f"Use: anyact import --file {what}")
    if is_server_json(value) or (isinstance(value, dict) and is_server_json(value.get("server"))):
        return read_server_json(value, str(file)), None
    raise UsageError(f"{what} is neither a server.json nor a manifest", hint="See manifests/schema.json.")


def _by_words(variable: Variable, wish: Wish) -> bool:
    """Whether the words after `--` are the values of this list."""
    return variable.several and bool(wish.words) and variable.name not in wish.values


def _asked(recipe: Recipe, wish: Wish, manifest: Manifest, around: Surroundings) -> Recipe:
    """The recipe with what the wish adds."""
    if recipe.remote:
        return replace(recipe, headers={**recipe.headers, **wish.headers})
    if wish.what is None or _SPACED.search(wish.what.strip()):
        return recipe
    program = wish.program if wish.program and recipe.package else recipe.command
    if program == "python" and program not in around.machine.programs and around.machine.pythons:
        program = around.machine.pythons[0][0]
    lists = {"${" + one.name + "}" for one in manifest.variables if _by_words(one, wish)}
    args = (*(arg for arg in recipe.args if arg not in lists), *wish.words)
    return replace(recipe, command=program, args=args)


def name_of(text: str) -> str:
    """A short name out of a package, a path or a reverse-DNS name."""
    stem = re.split(r"[/\\]", re.split(r"[\[<>=~!;]", text)[0].rstrip("/\\"))[-1]
    stem = re.sub(r"\.(?:py|js|mjs|ts|sh|exe|cmd|mcpb|json)$", "", stem.split("@")[0])
    stem = re.sub(r":[\w.-]+$", "", stem)
    short = stem
    while (cut := _NOISE.sub("", short)) != short and cut:
        short = cut
    return re.sub(r"[^A-Za-z0-9_.-]+", "-", short).strip("-.") or "server"


def _checked_name(name: str) -> str:
    if not name.strip() or len(name) > 64 or re.search(r"[\x00-\x1f/\\]", name):
        raise UsageError(f"{name!r} cannot name a server", hint="Use 1 to 64 characters without slashes.")
    return name


def _given(wish: Wish, variables: Sequence[Variable]) -> frozenset[str]:
    """Values that came with the wish and may be secret: all but those of variables known to be none."""
    harmless = {one.name for one in variables if not one.secret}
    values = [value for name, value in wish.values.items() if name not in harmless]
    return frozenset(value for value in (*values, *wish.headers.values()) if value and "${" not in value)


def _notes(launch: Launch, around: Surroundings, unpacked: bool) -> Sequence[str]:
    found: list[str] = []
    recipe = launch.recipe
    if launch.environment is not None:
        found.append(f"runs from a private environment: {launch.environment.folder}")
    elif launch.runner in ("npx", "uvx", "pipx", "docker"):
        found.append(f"runs by {launch.runner}, which downloads the package at the first start")
    if launch.runner == "direct" and recipe.command and not unpacked and not _there(recipe.command, around):
        found.append(f"{recipe.command} is not on this machine")
    if any(re.search(r"[\x00-\x1f]", arg) for arg in recipe.args):
        found.append("an argument holds a control character: a backslash may have been taken for an escape")
    return found


def _there(command: str, around: Surroundings) -> bool:
    search = around.environment.get("PATH", os.environ.get("PATH", ""))
    return shutil.which(command, path=search) is not None


def shown(addition: Addition) -> dict[str, Any]:
    """The entry as it may be printed: secrets as `***`."""

    def mask(value: Any) -> Any:
        if isinstance(value, str):
            for secret in sorted(addition.secrets, key=len, reverse=True):
                value = value.replace(secret, "***")
            return value
        if isinstance(value, Mapping):
            return {key: mask(part) for key, part in value.items()}
        return [mask(part) for part in value] if isinstance(value, list) else value

    masked = mask(addition.entry)
    return dict(masked)
