"""News of one server for the clients of its transparent endpoint, in both eras.

A client of the handshake era is told over its live connection, one of the modern era over the streams that it opened
with `subscriptions/listen`. Which resources the server is subscribed to is counted over all clients.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping
from contextlib import asynccontextmanager
from functools import partial
from typing import Any

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

from anyact_server.errors import AnyActError
from anyact_server.interfaces import Caller, Catalog, Downstreams, ServerEvent
from anyact_server.telemetry import logger
from anyact_server.types import CatalogChange, JsonObject

from .callers import LEVEL_STATE, LEVELS

LOG = logger("gateway")
SEND_S = 5.0
"""A client that does not take a notice within so many seconds loses it."""
BACKLOG = 1024
"""Notices that wait for the sender; more are dropped, the oldest first."""
MINE = "anyact.relay.uris"
"""Where a connection keeps the resources that its client subscribed to."""
_BUS: Mapping[str, BusEvent] = {
    "tools": ToolsListChanged(),
    "prompts": PromptsListChanged(),
    "resources": ResourcesListChanged(),
}
METHODS: Mapping[str, str] = {
    "tools": "notifications/tools/list_changed",
    "prompts": "notifications/prompts/list_changed",
    "resources": "notifications/resources/list_changed",
    "resource": "notifications/resources/updated",
    "log": "notifications/message",
}
EACH = frozenset({"log", "other"})
"""Events of which each one counts; of the others only the last state does."""


class News:
    """Live connections of the handshake era, the bus of the modern one, and the one task that tells both."""

    def __init__(self, server: str, downstreams: Downstreams, catalog: Catalog) -> None:
        self.bus = InMemorySubscriptionBus()
        self._server = server
        self._downstreams = downstreams
        self._catalog = catalog
        self._live: set[Connection] = set()
        self._waiting: list[ServerEvent] = []
        self._wake = anyio.Event()
        self._announced = False
        self._home: tuple[int, EventLoopToken] | None = None

    def join(self, connection: Connection) -> None:
        """Keep a connection of the handshake era until it closes; joining twice changes nothing."""
        if connection not in self._live:
            self._live.add(connection)
            connection.exit_stack.callback(self._live.discard, connection)

    async def run(self, renew: Callable[[], Awaitable[None]]) -> None:
        """Watch the server and send notices until cancelled; `renew` is awaited after each fresh connection."""
        self._home = (threading.get_ident(), current_token())
        stops = (self._downstreams.listen(self._said), self._catalog.listen(self._changed))
        try:
            while True:
                await self._wake.wait()
                self._wake = anyio.Event()
                waiting, self._waiting = self._waiting, []
                if any(event.what == "connected" for event in waiting):
                    with anyio.move_on_after(SEND_S):
                        await renew()
                await self._send(_single([event for event in waiting if event.what != "connected"]))
        finally:
            for stop in stops:
                stop()

    # --- what happened; these may be called from any thread

    def _said(self, event: ServerEvent) -> None:
        if event.server == self._server and event.what != "state":
            self._soon(partial(self._take, event))

    def _changed(self, change: CatalogChange) -> None:
        if change.server == self._server:
            self._soon(self._take_change)

    def _soon(self, note: Callable[[], None]) -> None:
        if self._home is None or self._home[0] == threading.get_ident():
            note()
        else:
            anyio.from_thread.run_sync(note, token=self._home[1])

    def _take(self, event: ServerEvent) -> None:
        self._announced = self._announced or event.what == "tools"
        self._waiting.append(event)
        del self._waiting[:-BACKLOG]
        self._wake.set()

    def _take_change(self) -> None:
        """A changed catalog is news only where the server did not announce it itself."""
        if self._announced:
            self._announced = False
        else:
            self._take(ServerEvent(self._server, "tools"))
            self._announced = False

    # --- telling

    async def _send(self, events: list[ServerEvent]) -> None:
        async with anyio.create_task_group() as group:
            for event in events:
                if event.what in _BUS:
                    await self.bus.publish(_BUS[event.what])
                elif event.what == "resource" and event.detail is not None:
                    await self.bus.publish(ResourceUpdated(event.detail))
            for connection in list(self._live):
                group.start_soon(self._tell, connection, events)

    async def _tell(self, connection: Connection, events: list[ServerEvent]) -> None:
        if not connection.initialized.is_set():
            return
        with anyio.move_on_after(SEND_S) as scope:
            for event in events:
                if wanted(connection, event):
                    await connection.notify(METHODS.get(event.what) or str(event.detail), _params(event))
        if scope.cancelled_caught:
            LOG.info("a client did not take a notice within %g s", SEND_S)


def wanted(connection: Connection, event: ServerEvent) -> bool:
    """Whether a client of the handshake era is to hear of an event: its own resources, its own log level."""
    if event.what == "resource":
        return event.detail in connection.state.get(MINE, ())
    if event.what == "log":
        return heard(connection, event.params or {})
    return True


def heard(connection: Connection, params: JsonObject) -> bool:
    """Whether a log message is severe enough for a client of the handshake era; every one until it sets a level."""
    least = connection.state.get(LEVEL_STATE)
    level = params.get("level")
    return least is None or level not in LEVELS or LEVELS.index(level) >= least


def _params(event: ServerEvent) -> dict[str, Any] | None:
    if event.what == "resource":
        return {**(event.params or {}), "uri": event.detail}
    return None if event.params is None else dict(event.params)


def _single(events: list[ServerEvent]) -> list[ServerEvent]:
    """The events in order, each change of a list or a resource once."""
    seen: set[tuple[str, str | None]] = set()
    kept = []
    for event in events:
        key = (event.what, event.detail)
        if event.what in EACH or key not in seen:
            kept.append(event)
        seen.add(key)
    return kept


class Watched:
    """The resources that a server is subscribed to: taken with the first client that wants one, given up with the last.

    A server that keeps a connection per client is subscribed for each client.
    """

    def __init__(self, server: str, downstreams: Downstreams, catalog: Catalog) -> None:
        self._server = server
        self._downstreams = downstreams
        self._catalog = catalog
        self._counts: Counter[str] = Counter()

    @property
    def _per_client(self) -> bool:
        return self._catalog.spec(self._server).per_client

    async def add(self, params: JsonObject, caller: Caller) -> dict[str, Any]:
        """Count a client in; gives the server's answer, or an empty one where it is subscribed already.

        Raises:
            RemoteError, DownstreamError: the server does not take the subscription.
        """
        uri, answer = str(params["uri"]), {}
        if self._per_client or not self._counts[uri]:
            answer = dict(await self._request("resources/subscribe", params, caller))
        self._counts[uri] += 1
        return answer

    async def drop(self, params: JsonObject, caller: Caller) -> dict[str, Any]:
        """Count a client out; the server is told with the last one, if it still runs.

        Raises:
            RemoteError, DownstreamError: the server does not take it.
        """
        uri = str(params["uri"])
        self._counts[uri] = max(0, self._counts[uri] - 1)
        if self._counts[uri] and not self._per_client:
            return {}
        del self._counts[uri]
        if not self._downstreams.connected(self._server):
            return {}
        return dict(await self._request("resources/unsubscribe", params, caller))

    async def leave(self, uris: Iterable[str], caller: Caller) -> None:
        """Count a client out of several resources; never raises and takes a bounded time."""
        with anyio.move_on_after(SEND_S, shield=True):
            for uri in uris:
                try:
                    await self.drop({"uri": uri}, caller)
                except AnyActError as error:
                    LOG.debug("%s did not end a subscription: %s", self._server, error)

    @asynccontextmanager
    async def held(self, uris: Iterable[str], caller: Caller) -> AsyncIterator[list[str]]:
        """Subscribe to several resources while the block runs; yields those that the server took."""
        taken: list[str] = []
        try:
            async with anyio.create_task_group() as group:
                for uri in dict.fromkeys(uris):
                    group.start_soon(self._try, uri, caller, taken)
            yield taken
        finally:
            await self.leave(taken, caller)

    async def _try(self, uri: str, caller: Caller, taken: list[str]) -> None:
        try:
            await self.add({"uri": uri}, caller)
        except AnyActError as error:
            LOG.info("%s does not tell of changes of %s: %s", self._server, uri, error)
        else:
            taken.append(uri)

    async def _request(self, method: str, params: JsonObject, caller: Caller) -> JsonObject:
        return await self._downstreams.request(self._server, method, params, caller=caller, repeatable=True)
