"""What servers tell on their own: changed lists and changed resources.

An old server tells them unasked (resources after `resources/subscribe`); a server of the 2026 era tells them on a
stream that is asked for with `subscriptions/listen` and held open while the connection lasts.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, Literal

import anyio

from anyact_server.errors import DownstreamError, RemoteError
from anyact_server.interfaces import ServerEvent
from anyact_server.telemetry import logger
from anyact_server.types import JsonObject

from .backoff import Pauses
from .eras import PREFIX, Agreement
from .frames import RequestId, known_id

LOG = logger("downstream")
SUBSCRIPTION_KEY = f"{PREFIX}subscriptionId"
ACKNOWLEDGED = "notifications/subscriptions/acknowledged"
NO_NEWS = frozenset(
    {
        "notifications/progress",
        "notifications/cancelled",
        "notifications/initialized",
        "notifications/resources/updated",
        ACKNOWLEDGED,
    }
)
"""Notifications that belong to a request or to the connection, or that name nothing that changed."""
ACKNOWLEDGE_S = 5.0
"""How long a subscription waits for the server's word that it holds."""
LASTING_S = 30.0
ListName = Literal["tools", "prompts", "resources"]
LISTS: dict[str, ListName] = {
    "notifications/tools/list_changed": "tools",
    "notifications/prompts/list_changed": "prompts",
    "notifications/resources/list_changed": "resources",
}
FILTERS: dict[str, ListName] = {
    "toolsListChanged": "tools",
    "promptsListChanged": "prompts",
    "resourcesListChanged": "resources",
}
Listen = Callable[[JsonObject, Callable[[int], None]], Awaitable[None]]
"""Holds one stream open: what to listen for, and who is told the request's id."""


def event_of(server: str, method: str, params: JsonObject) -> ServerEvent | None:
    """The event that a notification announces; None when it announces none."""
    if method in LISTS:
        return ServerEvent(server, LISTS[method])
    if method == "notifications/resources/updated" and isinstance(params.get("uri"), str):
        return ServerEvent(server, "resource", params["uri"])
    if method == "notifications/message":
        return ServerEvent(server, "log", params=params)
    if method in NO_NEWS:
        return None
    return ServerEvent(server, "other", method, params)


def wanted(capabilities: JsonObject, uris: frozenset[str]) -> dict[str, Any]:
    """What to listen for: the lists that the server says may change, and the resources that somebody watches."""
    filters: dict[str, Any] = {
        name: True
        for name, kind in FILTERS.items()
        if isinstance(capabilities.get(kind), dict) and capabilities[kind].get("listChanged")
    }
    if uris:
        filters["resourceSubscriptions"] = sorted(uris)
    return filters


class News:
    """Keeps one stream of news open, and opens another whenever the wishes change.

    Args:
        agreement: with the server.
        watched: addresses of resources that somebody watches; kept up to date here, so that it outlives a connection.
        listen: opens a stream and holds it.
        emit: told a list's name when news of it may have been missed.
    """

    def __init__(
        self, agreement: Agreement, watched: set[str], listen: Listen, emit: Callable[[ListName], None]
    ) -> None:
        self._agreement = agreement
        self._watched = watched
        self._listen = listen
        self._emit = emit
        self._changed = anyio.Event()
        self._settled = anyio.Event()
        self._acknowledged: dict[RequestId, anyio.Event] = {}

    async def run(self) -> None:
        """Serve a server of the new era until cancelled."""
        held: anyio.CancelScope | None = None
        async with anyio.create_task_group() as group:
            while True:
                self._changed, settled = anyio.Event(), self._settled
                self._settled = anyio.Event()
                wishes = wanted(self._agreement.capabilities, frozenset(self._watched))
                fresh = anyio.CancelScope()
                if wishes:
                    ready = anyio.Event()
                    group.start_soon(self._hold, wishes, fresh, ready)
                    with anyio.move_on_after(ACKNOWLEDGE_S):
                        await ready.wait()
                if held is not None:
                    held.cancel()
                held = fresh
                settled.set()
                await self._changed.wait()

    async def watch(self, uri: str, *, on: bool) -> None:
        """Begin or end to watch a resource; returns when the server of the new era has been told."""
        if on == (uri in self._watched):
            return
        self.remember(uri, on=on)
        settled = self._settled
        self._changed.set()
        with anyio.move_on_after(ACKNOWLEDGE_S):
            await settled.wait()

    def remember(self, uri: str, *, on: bool) -> None:
        """Take note that a resource is watched, or no longer."""
        (self._watched.add if on else self._watched.discard)(uri)

    def acknowledge(self, method: str, params: JsonObject) -> bool:
        """Whether a notification was the server's word that a stream holds."""
        if method != ACKNOWLEDGED:
            return False
        meta = params.get("_meta")
        ident = known_id(meta.get(SUBSCRIPTION_KEY)) if isinstance(meta, dict) else None
        ready = self._acknowledged.get(ident) if ident is not None else None
        if ready is not None:
            ready.set()
        return True

    async def _hold(self, wishes: dict[str, Any], scope: anyio.CancelScope, ready: anyio.Event) -> None:
        """Hold one stream open, again after it was lost; what may have been missed meanwhile counts as changed."""
        pauses = Pauses(first_s=1.0, longest_s=60.0)
        with scope:
            while True:
                opened = anyio.current_time()
                if not await self._hold_once(wishes, ready):
                    ready.set()
                    return
                if anyio.current_time() - opened > LASTING_S:
                    pauses.reset()
                await anyio.sleep(pauses.next())
                for name, kind in FILTERS.items():
                    if name in wishes:
                        self._emit(kind)

    async def _hold_once(self, wishes: dict[str, Any], ready: anyio.Event) -> bool:
        """Hold the stream until it ends; False when the server has no such thing."""
        sent: list[int] = []

        def note(ident: int) -> None:
            sent.append(ident)
            self._acknowledged[ident] = ready

        try:
            await self._listen({"notifications": wishes}, note)
        except RemoteError as error:
            LOG.debug("no news: %s", error)
            return False
        except DownstreamError as error:
            LOG.debug("the stream of news broke off: %s", error)
        finally:
            for ident in sent:
                self._acknowledged.pop(ident, None)
        return True
