"""What a principal may see of actions and servers: the one gate of the front."""

from __future__ import annotations

from collections.abc import Iterable

from anyact_server.types import Action, Hints, Principal, Snapshot

from .parts import Parts

OFFERS = frozenset({"prompts", "resources", "completions"})
"""What servers may offer beside tools."""


def seen(parts: Parts, action: Action, principal: Principal) -> bool:
    """Whether the principal may see an action."""
    visible = parts.space.visible(principal)
    return visible is None or action.id in visible


def visible_servers(parts: Parts, principal: Principal) -> frozenset[str]:
    """Servers that the principal may know of: those with an action that it sees, and those without actions that no rule
    hides."""
    names = frozenset(spec.name for spec in parts.catalog.specs())
    visible = parts.space.visible(principal)
    if visible is None:
        return names
    peopled = frozenset(action.server for action in parts.catalog.actions())
    open_servers = frozenset(action.server for action in parts.catalog.actions() if action.id in visible)
    empty = frozenset(name for name in names - peopled if may_know(parts, name, principal))
    return empty | (names & open_servers)


def may_know(parts: Parts, server: str, principal: Principal) -> bool:
    """Whether the rules would show a harmless action of this server, for servers of which no action is known."""
    if parts.policy is None:
        return True
    tags = parts.catalog.spec(server).tags
    harmless = Action(parts.name_of(server, "any"), server, "any", hints=Hints(read_only=True), tags=tags)
    return parts.policy.refusal(principal, harmless) is None


class Sight:
    """What follows from the catalog alone, kept until it changes: a catalog may hold thousands of servers."""

    def __init__(self) -> None:
        self._version = -1
        self._unread: tuple[str, ...] = ()
        self._offered: frozenset[str] = frozenset()

    def unread(self, parts: Parts) -> tuple[str, ...]:
        """Servers that can be read and were not yet, in the order of the configuration."""
        self._look(parts)
        return self._unread

    def offered(self, parts: Parts) -> frozenset[str]:
        """Which of prompts, resources and completions any server offers; all while a server was never read."""
        self._look(parts)
        return self._offered

    def _look(self, parts: Parts) -> None:
        if parts.catalog.version == self._version:
            return
        self._version = parts.catalog.version
        specs = [spec for spec in parts.catalog.specs() if not spec.disabled and spec.fault is None]
        known = {spec.name: parts.catalog.snapshot(spec.name) for spec in specs}
        self._unread = tuple(name for name, snapshot in known.items() if snapshot is None)
        self._offered = OFFERS if self._unread else offered(snapshot for snapshot in known.values() if snapshot)


def offered(snapshots: Iterable[Snapshot]) -> frozenset[str]:
    """Which of prompts, resources and completions any server offers or declares."""
    found: set[str] = set()
    for snapshot in snapshots:
        if "prompts" in snapshot.capabilities or snapshot.prompts:
            found.add("prompts")
        if "resources" in snapshot.capabilities or snapshot.resources or snapshot.templates:
            found.add("resources")
        if "completions" in snapshot.capabilities:
            found.add("completions")
    return frozenset(found)
