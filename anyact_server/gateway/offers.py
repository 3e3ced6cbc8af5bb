"""Prompts, resources and templates of all servers, as one list each under names that tell their server.

Pure functions over snapshots, and `Offers`, which keeps their lists per version of the catalog. A prompt's name is made
like an action's id. A resource's address holds the server and the original address, byte for byte:
`anyact://SERVER/ORIGINAL`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote, unquote

from anyact_server.errors import UsageError
from anyact_server.types import Json, JsonObject, Principal, Snapshot

from .listing import KEPT, pages
from .parts import Parts
from .sight import visible_servers

SCHEME = "anyact://"
Pages = list[list[dict[str, Any]]]


def wrapped(server: str, uri: str) -> str:
    """The address under which clients see a server's resource (or template)."""
    return f"{SCHEME}{quote(server, safe='')}/{uri}"


def unwrapped(uri: str) -> tuple[str, str] | None:
    """Server and original address; None when the address is not of this form."""
    if not uri.startswith(SCHEME):
        return None
    server, slash, original = uri[len(SCHEME) :].partition("/")
    return (unquote(server), original) if slash and server and original else None


@dataclass(frozen=True, slots=True)
class Offered:
    """What one principal sees: the pages of each list, and where each prompt leads."""

    prompts: Pages
    resources: Pages
    templates: Pages
    prompt_table: Mapping[str, tuple[str, str]]
    resource_table: Mapping[str, str]
    """Server of each original address that only one server has; empty where several do."""


def gathered(snapshots: Iterable[Snapshot], name_of: Callable[[str, str], str]) -> Offered:
    """The lists of several servers as one list each; entries without a name or address are left out."""
    prompts, resources, templates = [], [], []
    table: dict[str, tuple[str, str]] = {}
    owners: dict[str, str] = {}
    for snapshot in snapshots:
        server = snapshot.server
        for item, name in _with(snapshot.prompts, "name"):
            shown = name_of(server, name)
            table[shown] = (server, name)
            prompts.append({**item, "name": shown})
        for item, uri in _with(snapshot.resources, "uri"):
            owners[uri] = "" if uri in owners else server
            resources.append(_addressed(item, "uri", server, uri))
        for item, uri in _with(snapshot.templates, "uriTemplate"):
            templates.append(_addressed(item, "uriTemplate", server, uri))
    return Offered(pages(prompts), pages(resources), pages(templates), table, owners)


def _with(items: Iterable[Json], key: str) -> Iterable[tuple[JsonObject, str]]:
    for item in items:
        value = item.get(key) if isinstance(item, Mapping) else None
        if isinstance(value, str) and value:
            yield item, value


def _addressed(item: JsonObject, key: str, server: str, uri: str) -> dict[str, Any]:
    name = item.get("name")
    shown = f"{server}__{name if isinstance(name, str) and name else uri}"
    return {**item, key: wrapped(server, uri), "name": shown}


class Offers:
    """The gathered lists, by version of the catalog and visible servers."""

    def __init__(self) -> None:
        self._version = -1
        self._kept: dict[frozenset[str], Offered] = {}

    def of(self, parts: Parts, principal: Principal) -> Offered:
        """What this principal sees."""
        if parts.catalog.version != self._version:
            self._version = parts.catalog.version
            self._kept.clear()
        servers = visible_servers(parts, principal)
        found = self._kept.get(servers)
        if found is None:
            found = gathered(snapshots(parts, servers), parts.name_of)
            if len(self._kept) >= KEPT:
                self._kept.pop(next(iter(self._kept)))
            self._kept[servers] = found
        return found

    def prompt(self, parts: Parts, principal: Principal, name: str) -> tuple[str, str]:
        """Server and original name of a prompt.

        Raises:
            UsageError: no visible server offers it, or a bare name is offered by several.
        """
        table = self.of(parts, principal).prompt_table
        if name in table:
            return table[name]
        bare = [shown for shown, (_, original) in table.items() if original == name]
        if len(bare) == 1:
            return table[bare[0]]
        hint = f"It is offered as: {', '.join(bare)}." if bare else "prompts/list names every prompt."
        raise UsageError(f"Unknown prompt: {name[:200]}", hint=hint)

    def resource(self, parts: Parts, principal: Principal, uri: str) -> tuple[str, str]:
        """Server and original address of a resource or template; a bare original address works where it is unique.

        Raises:
            UsageError: no visible server has it.
        """
        found = unwrapped(uri)
        if found is None:
            found = (self.of(parts, principal).resource_table.get(uri, ""), uri)
        if found[0] not in visible_servers(parts, principal):
            raise UsageError(f"Unknown resource: {uri[:200]}", hint="resources/list names every resource.")
        return found


def snapshots(parts: Parts, servers: frozenset[str]) -> Iterable[Snapshot]:
    """The last known snapshots of the enabled servers among these, in the order of the configuration."""
    for spec in parts.catalog.specs():
        if spec.name in servers and not spec.disabled and (found := parts.catalog.snapshot(spec.name)) is not None:
            yield found
