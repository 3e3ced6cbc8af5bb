"""Which tools of one server a client of its transparent endpoint may see and call: pure decisions over the catalog."""

from __future__ import annotations

from collections.abc import Mapping
from fnmatch import fnmatchcase
from typing import Any

from anyact_server.interfaces import Catalog, Policy
from anyact_server.types import Action, Principal


class Rules:
    """The visibility gate, by the server's own tool names."""

    def __init__(self, server: str, catalog: Catalog, policy: Policy | None) -> None:
        self._server = server
        self._catalog = catalog
        self._policy = policy
        self._version: int | None = None
        self._actions: dict[str, Action] = {}
        self._withheld: frozenset[str] = frozenset()
        self._off: tuple[str, ...] = ()

    def schema(self, name: str) -> Mapping[str, Any] | None:
        """The original input schema of a tool that the catalog knows."""
        action = self._known().get(name)
        return None if action is None else action.input_schema

    def repeatable(self, name: object) -> bool:
        """Whether the server says that calling a tool twice does no harm."""
        action = self._known().get(name) if isinstance(name, str) else None
        return action is not None and action.hints.safe_to_repeat

    def restrict(self, principal: Principal) -> bool:
        """Whether there are tools that this principal does not see."""
        return self._visible(principal) is not None

    def shown(self, principal: Principal, name: str) -> bool:
        """Whether a principal sees a tool.

        One that the catalog does not know yet is seen only by who sees everything.
        """
        action = self._known().get(name)
        visible = self._visible(principal)
        if self._switched_off(name):
            return False
        return visible is None or (action is not None and action.id in visible)

    def closed(self, principal: Principal) -> bool:
        """Whether a principal sees none of the tools that the server has: for it there is no such server."""
        visible = self._visible(principal)
        known = self._known().values()
        return visible is not None and bool(known) and not any(action.id in visible for action in known)

    def refusal(self, principal: Principal, name: str) -> str | None:
        """Why a principal may not call a tool that it sees; None means that it may."""
        action = self._known().get(name)
        return None if action is None or self._policy is None else self._policy.refusal(principal, action)

    def _visible(self, principal: Principal) -> frozenset[str] | None:
        if self._policy is None:
            return None
        return self._policy.visible(principal, self._catalog.actions(), self._catalog.version)

    def _known(self) -> Mapping[str, Action]:
        """The server's actions by name, read anew when the catalog has changed."""
        version = self._catalog.version
        if version != self._version:
            self._actions = {action.name: action for action in self._catalog.of_server(self._server)}
            snapshot = self._catalog.snapshot(self._server)
            names = {tool.get("name") for tool in snapshot.tools} if snapshot is not None else set()
            self._withheld = frozenset(name for name in names - self._actions.keys() if isinstance(name, str))
            self._off = self._catalog.spec(self._server).disabled_actions
            self._version = version
        return self._actions

    def _switched_off(self, name: str) -> bool:
        """Whether the user switched a tool off.

        Of what the catalog has seen, it does not offer that; a tool that is new is measured by the patterns themselves.
        """
        known = self._known()
        return name in self._withheld or (name not in known and _chosen(self._off, name))


def _chosen(patterns: tuple[str, ...], name: str) -> bool:
    """Whether patterns choose a name: the last one that fits decides, `!` in front means no."""
    fitting = [pattern for pattern in patterns if fnmatchcase(name, pattern.removeprefix("!"))]
    return bool(fitting) and not fitting[-1].startswith("!")
