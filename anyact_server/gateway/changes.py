"""Tells clients what changed, in both eras.

A client of the handshake era is told over its live connection; one of the modern era over the subscription bus, whose
streams the SDK serves. Notices of the same moment become one.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from functools import partial

import anyio
import anyio.from_thread
from anyio.lowlevel import EventLoopToken, current_token
from mcp.server.connection import Connection
from mcp.server.subscriptions import (
    InMemorySubscriptionBus,
    PromptsListChanged,
    ResourcesListChanged,
    ResourceUpdated,
    ToolsListChanged,
)
from mcp.server.subscriptions import ServerEvent as BusEvent

from anyact_server.interfaces import ServerEvent
from anyact_server.telemetry import logger
from anyact_server.types import CatalogChange, JsonObject

from .callers import LEVEL_STATE, LEVELS
from .offers import wrapped
from .parts import Parts
from .subscriptions import SUBSCRIBED_STATE

LOG = logger("gateway")
SEND_S = 5.0
"""A client that does not take a notice within so many seconds loses it."""
_EVENTS: Mapping[str, BusEvent] = {
    "tools": ToolsListChanged(),
    "prompts": PromptsListChanged(),
    "resources": ResourcesListChanged(),
}
Notice = tuple[str, JsonObject | None]


class Changes:
    """Live connections, the bus, and the one task that sends notices."""

    def __init__(self, *, send_s: float = SEND_S) -> None:
        self._send_s = send_s
        self.bus = InMemorySubscriptionBus()
        self._live: set[Connection] = set()
        self._due: dict[str, None] = {}
        self._notices: list[tuple[ServerEvent, str]] = []
        self._wake = anyio.Event()
        self._home: tuple[int, EventLoopToken] | None = None

    def join(self, connection: Connection) -> None:
        """Keep a connection of the handshake era until it closes; joining twice changes nothing."""
        if connection not in self._live:
            self._live.add(connection)
            connection.exit_stack.callback(self._live.discard, connection)

    async def run(self, parts: Parts, after: Callable[[], None] = lambda: None) -> None:
        """Watch the catalog and the servers, and send notices until cancelled.

        Args:
            parts: what is watched.
            after: called after each round of notices.
        """
        self._home = (threading.get_ident(), current_token())
        stops = (parts.catalog.listen(self._catalog_changed), parts.downstreams.listen(self._server_said))
        try:
            while True:
                await self._wake.wait()
                self._wake = anyio.Event()
                await self._send()
                after()
        finally:
            for stop in stops:
                stop()

    # --- what happened; these may be called from any thread

    def _catalog_changed(self, change: CatalogChange) -> None:
        self._soon(partial(self._due.update, dict.fromkeys(lists_of(change))))

    def _server_said(self, event: ServerEvent) -> None:
        if event.what == "resource" and event.detail:
            self._soon(partial(self._notices.append, (event, wrapped(event.server, event.detail))))
        elif event.what == "log" and event.params is not None:
            self._soon(partial(self._notices.append, (event, "")))

    def _soon(self, note: Callable[[], object]) -> None:
        if self._home is None or self._home[0] == threading.get_ident():
            note()
            self._wake.set()
        else:
            anyio.from_thread.run_sync(self._soon, note, token=self._home[1])

    # --- telling

    async def _send(self) -> None:
        due, notices = list(self._due), list(self._notices)
        self._due.clear()
        self._notices.clear()
        async with anyio.create_task_group() as group:
            for what in due:
                await self.bus.publish(_EVENTS[what])
            for address in [address for _, address in notices if address]:
                await self.bus.publish(ResourceUpdated(address))
            for connection in list(self._live):
                group.start_soon(self._tell, connection, due, notices)

    async def _tell(self, connection: Connection, due: list[str], notices: list[tuple[ServerEvent, str]]) -> None:
        if not connection.initialized.is_set():
            return
        with anyio.move_on_after(self._send_s) as scope:
            for what in due:
                await connection.notify(f"notifications/{what}/list_changed", None)
            for event, uri in notices:
                if uri and uri in connection.state.get(SUBSCRIBED_STATE, ()):
                    await connection.notify("notifications/resources/updated", {"uri": uri})
                elif event.what == "log" and wants(connection, event.params):
                    await connection.notify("notifications/message", {"logger": event.server, **(event.params or {})})
        if scope.cancelled_caught:
            LOG.info("a client did not take a notice within %s s", self._send_s)


def lists_of(change: CatalogChange) -> tuple[str, ...]:
    """The lists that clients see otherwise after a change.

    A server whose actions came all at once, or went, may have brought or taken its prompts and resources too.
    """
    others = ("prompts", "resources") if change.added or change.removed else ()
    named = ["resources" if name == "templates" else name for name in change.lists]
    actions = ("tools",) if change.added or change.removed or change.changed else ()
    return tuple(dict.fromkeys([*actions, *named, *others]))


def wants(connection: Connection, params: JsonObject | None) -> bool:
    """Whether a client of the handshake era wants log messages of this level; `info` and above until it says."""
    level = (params or {}).get("level")
    return level in LEVELS and LEVELS.index(level) >= connection.state.get(LEVEL_STATE, LEVELS.index("info"))
