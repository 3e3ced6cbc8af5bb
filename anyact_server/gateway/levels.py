"""Tells servers which log level the clients of the handshake era want.

The front filters what it passes on; this makes servers say as much as somebody wants to hear.
"""

from __future__ import annotations

import anyio
import mcp_types as types
from mcp.server.connection import Connection

from anyact_server.dispatch import Silent
from anyact_server.errors import AnyActError
from anyact_server.interfaces import Caller, ServerEvent
from anyact_server.telemetry import logger

from .callers import LEVELS
from .parts import Parts

LOG = logger("gateway")
TELL_S = 5.0
"""Longest wait for a server to take a level."""


class Levels:
    """The levels that live clients set, and the one task that passes them to servers."""

    def __init__(self) -> None:
        self._wanted: dict[Connection, tuple[Caller, str]] = {}
        self._due: dict[str, None] = {}
        self._every = False
        self._wake = anyio.Event()

    def want(self, connection: Connection, caller: Caller, level: types.LoggingLevel) -> None:
        """Remember what a client wants, until it leaves, and pass it to every server that is connected."""
        if connection not in self._wanted:
            connection.exit_stack.callback(self._wanted.pop, connection, None)
        self._wanted[connection] = (Silent(caller.principal, caller.session), level)
        self._every = True
        self._wake.set()

    async def run(self, parts: Parts) -> None:
        """Pass levels on until cancelled: at once to the servers that run, and to others when they connect."""
        stop = parts.downstreams.listen(self._note)
        try:
            while True:
                await self._wake.wait()
                self._wake = anyio.Event()
                names = [spec.name for spec in parts.catalog.specs()] if self._every else list(self._due)
                self._every = False
                self._due.clear()
                async with anyio.create_task_group() as group:
                    for name in filter(parts.downstreams.connected, names):
                        group.start_soon(self._tell, parts, name)
        finally:
            stop()

    def _note(self, event: ServerEvent) -> None:
        if event.what == "connected" and self._wanted:
            self._due[event.server] = None
            self._wake.set()

    async def _tell(self, parts: Parts, server: str) -> None:
        """Tell one server the level that lets everybody hear what they want."""
        snapshot = parts.catalog.snapshot(server)
        if snapshot is None or "logging" not in snapshot.capabilities or not self._wanted:
            return
        caller, level = min(self._wanted.values(), key=lambda wish: LEVELS.index(wish[1]))
        with anyio.move_on_after(TELL_S):
            try:
                await parts.downstreams.request(
                    server, "logging/setLevel", {"level": level}, caller=caller, repeatable=True
                )
            except AnyActError as error:
                LOG.debug("%s did not take a log level: %s", server, error)
