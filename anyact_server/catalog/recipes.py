"""How a server can be started: recipes, the variables they need, and the configuration entry made of both.

Pure values and functions. A recipe names facts (package, command, arguments, address); which program runs it on this
machine is decided in `runners`. `${NAME}` in `args`, `url` and `headers` stands for a variable; a variable that stands
nowhere there is handed over in the server's environment. Two names are ours: `${serverData}`, a folder of the server's
own under the home folder, and `${userHome}`, which the configuration expands itself.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from anyact_server.types import EMPTY, Transport

Registry = Literal["npm", "pypi", "oci"]

_PLACE = re.compile(r"\$\{(\w+)\}")


@dataclass(frozen=True, slots=True)
class Variable:
    """Something a server needs to be told.

    `several` marks a list: an argument that is exactly `${NAME}` becomes one argument per value. A value holds them
    separated like a search path of the platform.
    """

    name: str
    description: str = ""
    required: bool = False
    secret: bool = False
    default: str | None = None
    several: bool = False


@dataclass(frozen=True, slots=True)
class Recipe:
    """One way to reach a server: a package with its command, a bare command, or an address.

    `version` pins the package; None takes the newest. `also_install` are requirements beside the package, `python` the
    versions of Python that it runs on, `env` fixed values of the server's environment, `install_env` fixed values for
    installing. `runner_args` go to the program that runs the package.
    """

    transport: Transport = "stdio"
    registry: Registry | None = None
    package: str | None = None
    version: str | None = None
    command: str | None = None
    args: tuple[str, ...] = ()
    env: Mapping[str, str] = EMPTY
    also_install: tuple[str, ...] = ()
    python: str | None = None
    install_env: Mapping[str, str] = EMPTY
    runner_args: tuple[str, ...] = ()
    url: str | None = None
    headers: Mapping[str, str] = EMPTY

    @property
    def remote(self) -> bool:
        """Whether nothing has to be started on this machine."""
        return self.url is not None

    def requirement(self) -> str:
        """The package with its version, as its registry writes it."""
        package = self.package or ""
        if self.version is None:
            return package
        return package + {"npm": "@", "pypi": "==", "oci": ":"}[self.registry or "npm"] + self.version


@dataclass(frozen=True, slots=True)
class Manifest:
    """A known server: what it is for, the ways to start it (best first), and the variables it needs."""

    name: str
    title: str = ""
    description: str = ""
    tags: tuple[str, ...] = ()
    start: tuple[Recipe, ...] = ()
    variables: tuple[Variable, ...] = ()
    origin: str = ""


@dataclass(frozen=True, slots=True)
class Filled:
    """A recipe with its variables put in.

    `unset` are required variables that nobody gave: the recipe refers to them by `${NAME}`, so that the environment
    supplies them at start. `given` are the literal values of secret variables, which must never be printed.
    """

    recipe: Recipe
    unset: tuple[Variable, ...] = ()
    given: frozenset[str] = frozenset()


def literal(text: str) -> str:
    """The text written so that the configuration takes it as it is: `${` is escaped."""
    return text.replace("${", "$${")


def fill(recipe: Recipe, variables: Sequence[Variable], values: Mapping[str, str | None], *, data: str) -> Filled:
    """Put values into a recipe.

    Args:
        recipe: the recipe.
        variables: what the recipe is known to need.
        values: by name; None refers to the environment at start. Names beyond `variables` go to the environment of the
            server (a remote server has none and ignores them).
        data: absolute path of the server's own data folder, for `${serverData}`.
    """
    known = {variable.name: variable for variable in variables}
    extra = [Variable(name) for name in values if name not in known]
    texts: dict[str, str] = {}
    unset: list[Variable] = []
    for variable in (*variables, *extra):
        text = _value(variable, values, data)
        if text is not None:
            texts[variable.name] = text
        if variable.required and values.get(variable.name) is None and variable.default is None:
            unset.append(variable)
    filled = _placed(recipe, texts, known, data)
    secrets = {values[name] for name, variable in known.items() if variable.secret and values.get(name)}
    return Filled(filled, tuple(unset), frozenset(secret for secret in secrets if secret))


def _value(variable: Variable, values: Mapping[str, str | None], data: str) -> str | None:
    given = values.get(variable.name)
    if given is not None:
        return literal(given)
    if variable.name in values:
        return "${" + variable.name + "}"
    if variable.default is not None:
        return variable.default.replace("${serverData}", data)
    return "${" + variable.name + "}" if variable.required else None


def _placed(recipe: Recipe, texts: Mapping[str, str], known: Mapping[str, Variable], data: str) -> Recipe:
    """The recipe with texts in their places; whatever needs an optional variable that has no text is left out."""
    used: set[str] = set()

    def put(text: str) -> str | None:
        names = set(_PLACE.findall(text))
        used.update(names)
        if any(name in known and name not in texts for name in names):
            return None
        return _PLACE.sub(lambda match: data if match[1] == "serverData" else texts.get(match[1], match[0]), text)

    def put_all(pairs: Mapping[str, str]) -> dict[str, str]:
        return {name: text for name, raw in pairs.items() if (text := put(raw)) is not None}

    args = [part for arg in recipe.args for part in _several(arg, texts, known) or (put(arg),) if part is not None]
    used.update(name for arg in recipe.args for name in _PLACE.findall(arg))
    url = put(recipe.url) if recipe.url else None
    headers = put_all(recipe.headers)
    env = put_all(recipe.env)
    env.update({name: text for name, text in texts.items() if name not in used})
    return replace(recipe, args=tuple(args), url=url, headers=headers, env=EMPTY if recipe.remote else env)


def _several(arg: str, texts: Mapping[str, str], known: Mapping[str, Variable]) -> Sequence[str]:
    """The values of a list that `arg` stands for; none when it is something else, or not known before the start."""
    whole = _PLACE.fullmatch(arg)
    variable = known.get(whole[1]) if whole else None
    if variable is None or not variable.several or variable.name not in texts:
        return ()
    text = texts[variable.name]
    return () if text.startswith("${") else [part for part in text.split(os.pathsep) if part]


def entry(recipe: Recipe, manifest: Manifest | None = None) -> dict[str, Any]:
    """The recipe as an entry of `mcpServers`; `command` and `args` must already be what this machine runs."""
    made: dict[str, Any] = {}
    if recipe.url is not None:
        made["type"] = recipe.transport
        made["url"] = recipe.url
        if recipe.headers:
            made["headers"] = dict(recipe.headers)
    else:
        made["command"] = recipe.command
        made["args"] = list(recipe.args)
        if recipe.env:
            made["env"] = dict(recipe.env)
    if manifest is not None:
        about = {"title": manifest.title, "description": manifest.description, "tags": list(manifest.tags)}
        made.update({name: value for name, value in about.items() if value})
    return made
