"""Which servers are subscribed to which of their resources, counted over all clients."""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

import anyio
from mcp.server.connection import Connection

from anyact_server.errors import AnyActError
from anyact_server.interfaces import Caller
from anyact_server.telemetry import logger

from .offers import wrapped
from .parts import Parts

SUBSCRIBED_STATE = "anyact.subscribed"
"""Where a connection's state keeps the addresses that it is subscribed to."""
LOG = logger("gateway")
DROP_S = 5.0
"""Longest wait for a server to take the end of a subscription."""


class Subscriptions:
    """Subscribes a server when the first client wants a resource, and ends it with the last."""

    def __init__(self) -> None:
        self._wanted: Counter[tuple[str, str]] = Counter()
        self._caller: dict[tuple[str, str], Caller] = {}

    async def add(self, parts: Parts, server: str, uri: str, caller: Caller) -> None:
        """Count a client in.

        Raises:
            RemoteError, DownstreamError: the server does not take the subscription.
        """
        if not self._wanted[server, uri]:
            await parts.downstreams.request(server, "resources/subscribe", {"uri": uri}, caller=caller, repeatable=True)
        self._wanted[server, uri] += 1
        self._caller[server, uri] = caller

    async def drop(self, parts: Parts, server: str, uri: str) -> None:
        """Count a client out; with the last, the server is told if it still runs."""
        key = (server, uri)
        self._wanted[key] -= 1
        if self._wanted[key] > 0:
            return
        del self._wanted[key]
        caller = self._caller.pop(key)
        if not parts.downstreams.connected(server):
            return
        with anyio.move_on_after(DROP_S):
            try:
                await parts.downstreams.request(
                    server, "resources/unsubscribe", {"uri": uri}, caller=caller, repeatable=True
                )
            except AnyActError as error:
                LOG.debug("%s did not end a subscription: %s", server, error)

    async def join(self, parts: Parts, connection: Connection, server: str, uri: str, caller: Caller) -> None:
        """Subscribe a connection of the handshake era, until it leaves or closes; twice counts once.

        Raises:
            RemoteError, DownstreamError: the server does not take the subscription.
        """
        mine = connection.state.setdefault(SUBSCRIBED_STATE, set())
        if wrapped(server, uri) not in mine:
            await self.add(parts, server, uri, caller)
            mine.add(wrapped(server, uri))
            connection.exit_stack.push_async_callback(self.leave, parts, connection, server, uri)

    async def leave(self, parts: Parts, connection: Connection, server: str, uri: str) -> None:
        """End a connection's subscription; one that it does not have ends in nothing."""
        mine = connection.state.get(SUBSCRIBED_STATE, set())
        if wrapped(server, uri) in mine:
            mine.discard(wrapped(server, uri))
            await self.drop(parts, server, uri)

    @asynccontextmanager
    async def held(self, parts: Parts, wanted: Sequence[tuple[str, str]], caller: Caller) -> AsyncIterator[None]:
        """Keep several subscriptions as long as the block runs; a server that refuses one is left out."""
        taken: list[tuple[str, str]] = []

        async def take(server: str, uri: str) -> None:
            try:
                await self.add(parts, server, uri, caller)
                taken.append((server, uri))
            except AnyActError as error:
                LOG.info("%s does not tell of changes of %s: %s", server, uri, error)

        try:
            async with anyio.create_task_group() as group:
                for server, uri in wanted:
                    group.start_soon(take, server, uri)
                yield
                group.cancel_scope.cancel()
        finally:
            with anyio.CancelScope(shield=True):
                for server, uri in taken:
                    await self.drop(parts, server, uri)
