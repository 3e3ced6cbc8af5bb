"""Reading `server.json`, the MCP registry's description of a server (schema 2025-12-11 and its forerunners).

Pure. Packages become recipes, `{name}` in values becomes a variable. What cannot be run here is skipped with a reason.
Source: https://github.com/modelcontextprotocol/registry, `docs/reference/server-json`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from anyact_server.errors import ConfigError
from anyact_server.types import Origin, Transport

from .recipes import Manifest, Recipe, Registry, Variable, literal

_REGISTRIES: Mapping[str, Registry] = {"npm": "npm", "pypi": "pypi", "oci": "oci", "docker": "oci"}
_TRANSPORTS: Mapping[str, Transport] = {"streamable-http": "http", "http": "http", "sse": "sse"}
_PLACE = re.compile(r"\{(\w+)\}")


@dataclass(slots=True)
class _Notes:
    """What one reading gathers beside the recipes."""

    variables: dict[str, Variable] = field(default_factory=dict)
    skipped: list[str] = field(default_factory=list)

    def variable(self, name: str, about: Mapping[str, Any]) -> str:
        """Note a variable and give its place in a text."""
        key = re.sub(r"\W+", "_", name).strip("_") or "VALUE"
        default = about.get("default")
        choices = about.get("choices")
        described = [str(about.get("description", "")).strip()]
        if isinstance(choices, list) and choices:
            described.append("One of: " + ", ".join(map(str, choices)) + ".")
        self.variables[key] = Variable(
            key,
            " ".join(part for part in described if part),
            about.get("isRequired") is True,
            about.get("isSecret") is True,
            None if default is None else _word(default),
        )
        return "${" + key + "}"


def is_server_json(value: Any) -> bool:
    """Whether a parsed file is a `server.json`."""
    return isinstance(value, dict) and isinstance(value.get("name"), str) and bool({"packages", "remotes"} & set(value))


def read_server_json(value: Any, origin: str) -> Manifest:
    """Understand a `server.json`.

    Args:
        value: the parsed file.
        origin: where it comes from, for messages.

    Raises:
        ConfigError: it is none, or nothing in it can be run here, with the reasons.
    """
    if isinstance(value, dict) and isinstance(value.get("server"), dict):
        value = value["server"]
    if not is_server_json(value):
        raise ConfigError(
            f"{origin} is no server.json: it needs a name, and packages or remotes", origin=Origin(origin)
        )
    notes = _Notes()
    recipes = [*_packages(_items(value.get("packages")), notes), *_remotes(_items(value.get("remotes")), notes)]
    if not recipes:
        reasons = "; ".join(notes.skipped) or "it lists no packages and no remotes"
        raise ConfigError(f"{origin}: nothing in it can be run here: {reasons}", origin=Origin(origin))
    title = str(value.get("title") or value["name"])
    description = str(value.get("description") or "")
    variables = tuple(notes.variables.values())
    return Manifest(str(value["name"]), title, description, (), tuple(recipes), variables, origin)


def _packages(packages: Sequence[Mapping[str, Any]], notes: _Notes) -> Iterator[Recipe]:
    for package in packages:
        kind = str(package.get("registryType", package.get("registry_type", package.get("registry_name", ""))))
        name = str(package.get("identifier", package.get("name", "")))
        transport = package.get("transport")
        spoken = str(transport.get("type", "stdio")) if isinstance(transport, Mapping) else "stdio"
        if kind not in _REGISTRIES:
            cure = "download the bundle and add the file" if kind == "mcpb" else "no program here runs these"
            notes.skipped.append(f"{kind or 'a nameless'} package {name}: {cure}")
        elif not name:
            notes.skipped.append(f"a {kind} package without identifier")
        elif spoken != "stdio":
            notes.skipped.append(f"{kind} package {name} serves {spoken}: start it yourself and add its URL")
        else:
            yield _package(package, _REGISTRIES[kind], name, notes)


def _package(package: Mapping[str, Any], registry: Registry, name: str, notes: _Notes) -> Recipe:
    def arguments(camel: str, snake: str) -> tuple[str, ...]:
        items = _items(package.get(camel, package.get(snake)))
        return tuple(word for item in items for word in _argument(item, notes))

    env: dict[str, str] = {}
    for item in _items(package.get("environmentVariables", package.get("environment_variables"))):
        key = str(item.get("name", ""))
        if key and item.get("value") is not None:
            env[key] = _template(item, notes)
        elif key:
            text = notes.variable(key, item)
            if text != "${" + key + "}":
                env[key] = text
    version = package.get("version")
    pinned = str(version) if version and registry != "oci" else None
    if registry == "oci" and version and ":" not in name.rsplit("/", 1)[-1] and "@" not in name:
        pinned = str(version)
    return Recipe(
        registry=registry,
        package=name,
        version=pinned,
        args=arguments("packageArguments", "package_arguments"),
        runner_args=tuple(
            word for word in arguments("runtimeArguments", "runtime_arguments") if word not in ("-y", "--yes")
        ),
        env=env,
    )


def _remotes(remotes: Sequence[Mapping[str, Any]], notes: _Notes) -> Iterator[Recipe]:
    for remote in remotes:
        spoken = str(remote.get("type", remote.get("transport_type", "")))
        url = str(remote.get("url", ""))
        if spoken not in _TRANSPORTS or not url:
            notes.skipped.append(f"remote {url or '?'} of the unknown type {spoken!r}")
            continue
        headers: dict[str, str] = {}
        for item in _items(remote.get("headers")):
            name = str(item.get("name", ""))
            if name:
                fixed = item.get("value") is not None
                headers[name] = _template(item, notes) if fixed else notes.variable(name, item)
        yield Recipe(_TRANSPORTS[spoken], url=_template({**remote, "value": url}, notes), headers=headers)


def _argument(item: Mapping[str, Any], notes: _Notes) -> Iterator[str]:
    """The words of one argument; none for an optional one that says no value."""
    named = str(item.get("name", "")) if item.get("type") == "named" else ""
    fixed = item.get("value", item.get("default"))
    hint = str(item.get("valueHint") or item.get("value_hint") or named.lstrip("-") or "argument")
    if fixed is not None:
        word: str | None = _template({**item, "value": fixed}, notes)
    elif item.get("isRequired") is True:
        word = notes.variable(hint, item)
    elif named and not {"isRequired", "format", "valueHint", "value_hint", "choices"} & set(item):
        word = None
    else:
        return
    if named:
        yield named
    if word is not None:
        yield word


def _template(item: Mapping[str, Any], notes: _Notes) -> str:
    """A value whose `{name}` are variables where the item describes them, and stay as they are elsewhere."""
    about = item.get("variables")
    described = about if isinstance(about, Mapping) else {}

    def one(match: re.Match[str]) -> str:
        found = described.get(match[1])
        return notes.variable(match[1], found) if isinstance(found, Mapping) else match[0]

    return _PLACE.sub(one, literal(_word(item["value"])))


def _word(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _items(value: Any) -> Sequence[Mapping[str, Any]]:
    return [item for item in value if isinstance(item, Mapping)] if isinstance(value, list) else []
