"""A conversation with a server in the era that it speaks, seen from callers of any era.

A session agrees on a version, dresses every request for it, answers here what the server's era has no request for, and
keeps news coming. Results stay as the server sent them: no model is laid over them, so one odd tool never costs a list.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

import anyio
from mcp.shared.inbound import (
    NAME_BEARING_METHODS,
    encode_header_value,
    find_invalid_x_mcp_header,
    mcp_param_headers,
    x_mcp_header_map,
)

from anyact_server.errors import DownstreamError, RemoteError
from anyact_server.interfaces import Caller, ServerEvent
from anyact_server.telemetry import logger
from anyact_server.types import EMPTY, Era, JsonObject, Kind, Limits

from .eras import Agreement, agree, dress, wanted_level
from .http_rules import forwarded
from .news import ListName, News, event_of
from .peer import UNBOUNDED, Bounds, Peer
from .questions import RELAYED, answer_all, relayed, rounds
from .wire import Wire

LOG = logger("downstream")
HEADER_MISMATCH = -32020
NO_TOKEN = frozenset({"initialize", "server/discover", "ping", "logging/setLevel"})
QUIET = frozenset({"ping", "logging/setLevel"})
"""Requests of the old era that the new one does without."""
MOST_PAGES = 100
"""Pages of tools that are read to learn which arguments go into headers."""
SUBSCRIPTIONS = frozenset({"resources/subscribe", "resources/unsubscribe"})
HeaderMap = Mapping[tuple[str, ...], str]


class Session:
    """One connection's conversation."""

    def __init__(
        self,
        server: str,
        wire: Wire,
        *,
        emit: Callable[[ServerEvent], None],
        limits: Limits,
        watched: set[str],
        forward: tuple[str, ...] = (),
    ) -> None:
        self._server = server
        self._wire = wire
        self._emit = emit
        self._limits = limits
        self._watched = watched
        self._forward = forward
        self.peer = Peer(server, wire, self._notice)
        self._agreement: Agreement | None = None
        self._news: News | None = None
        self._levels: dict[str | None, str] = {}
        self._level: str | None = None
        self._mirrored: dict[str, HeaderMap] = {}
        self._unsendable: dict[str, str] = {}

    @property
    def agreement(self) -> Agreement:
        """What was agreed; there is one once the session is open."""
        assert self._agreement is not None
        return self._agreement

    @asynccontextmanager
    async def open(self, era: Era, abilities: JsonObject | None) -> AsyncIterator[None]:
        """Connect, agree, and keep news coming while the block runs.

        Args:
            era: the era to speak, or `auto`.
            abilities: those of the only client, or None where several share the connection.

        Raises:
            DownstreamError: no connection, or no agreement.
        """
        declared = RELAYED if abilities is None else relayed(abilities)
        async with anyio.create_task_group() as group:
            self.peer.attend(group)
            async with self._wire.connected(self.peer):
                agreement = await agree(self._ask, era, abilities=declared, server=self._server)
                self._agreement = agreement
                self._wire.established(agreement.version, modern=agreement.modern)
                self._news = News(agreement, self._watched, self._listen, self._missed)
                if agreement.modern:
                    group.start_soon(self._news.run)
                else:
                    await self.tell("notifications/initialized", {})
                    group.start_soon(self._watch_again)
                try:
                    yield
                finally:
                    group.cancel_scope.cancel()

    async def request(self, method: str, params: JsonObject, caller: Caller, bounds: Bounds) -> JsonObject:
        """Send a request for a caller and give the result.

        Raises:
            RemoteError, DownstreamError: as `Peer.call`.
        """
        ends = anyio.current_time() + bounds.ceiling_s
        local = await self._answer_here(method, params, caller)
        if local is not None:
            return local
        if not self.agreement.modern:
            await self._set_level(params)
        result = await self._send(method, params, caller, bounds)
        if method in SUBSCRIPTIONS:
            self._watch(params, on=method == "resources/subscribe")
        if result.get("resultType") != "input_required" or caller.passes_input_required:
            return result

        async def answers(pending: JsonObject) -> dict[str, Any] | None:
            return await answer_all(pending, caller, server=self._server, question_s=bounds.question_s)

        async def again(more: dict[str, Any]) -> JsonObject:
            left = replace(bounds, ceiling_s=max(ends - anyio.current_time(), 0.001))
            return await self._send(method, {**params, **more}, caller, left)

        return await rounds(result, answers, again, server=self._server)

    async def tell(self, method: str, params: JsonObject) -> None:
        """Send a notification; the new era has none to servers.

        Raises:
            DownstreamError: it was not taken.
        """
        if not self.agreement.modern:
            await self.peer.tell(method, params, {})

    async def _ask(self, method: str, params: JsonObject, headers: Mapping[str, str]) -> JsonObject:
        bounds = Bounds(self._limits.start_s, what="start limit")
        return await self.peer.call(method, params, headers=headers, bounds=bounds, token=False)

    async def _send(self, method: str, params: JsonObject, caller: Caller, bounds: Bounds) -> JsonObject:
        level = self._levels.get(caller.session)
        dressed = dress(self.agreement, params, relayed(caller.abilities), level)
        try:
            return await self._dispatch(method, dressed, caller, bounds)
        except RemoteError as error:
            if error.code != HEADER_MISMATCH or not self._mirrors(method):
                raise
        await self._learn_headers(caller, bounds)
        return await self._dispatch(method, dressed, caller, bounds)

    async def _dispatch(self, method: str, params: JsonObject, caller: Caller, bounds: Bounds) -> JsonObject:
        result = await self.peer.call(
            method,
            params,
            headers=self._headers(method, params, caller),
            bounds=bounds,
            caller=caller,
            token=method not in NO_TOKEN,
        )
        if method == "tools/list" and self._mirrors("tools/call"):
            self._note_headers(result)
        return result

    # --- headers of the new era over HTTP

    def _mirrors(self, method: str) -> bool:
        return method == "tools/call" and self._wire.by_http and self.agreement.modern

    def _headers(self, method: str, params: JsonObject, caller: Caller) -> dict[str, str]:
        if not self._wire.by_http:
            return {}
        headers = forwarded(caller.headers, self._forward) if self._forward else {}
        if not self.agreement.modern:
            return headers
        headers |= {"mcp-protocol-version": self.agreement.version, "mcp-method": method}
        name = params.get(NAME_BEARING_METHODS.get(method, ""))
        if isinstance(name, str):
            headers["mcp-name"] = encode_header_value(name)
            if name in self._unsendable and method == "tools/call":
                raise DownstreamError(
                    f"server {self._server!r}: tool {name!r} cannot be called: {self._unsendable[name]}",
                    server=self._server,
                    kind=Kind.PROTOCOL,
                    may_have_run=False,
                )
            arguments = params.get("arguments")
            headers |= mcp_param_headers(self._mirrored.get(name, {}), arguments if isinstance(arguments, dict) else {})
        return headers

    def _note_headers(self, result: JsonObject) -> None:
        tools = result.get("tools")
        for tool in tools if isinstance(tools, list) else []:
            if isinstance(tool, dict) and isinstance(tool.get("name"), str):
                schema = tool.get("inputSchema")
                why = find_invalid_x_mcp_header(schema)
                if why is None:
                    self._unsendable.pop(tool["name"], None)
                    self._mirrored[tool["name"]] = x_mcp_header_map(schema)
                else:
                    self._unsendable[tool["name"]] = why

    async def _learn_headers(self, caller: Caller, bounds: Bounds) -> None:
        """Read the tools' schemas: which arguments go into headers stands there."""
        params: dict[str, Any] = {}
        for _ in range(MOST_PAGES):
            dressed = dress(self.agreement, params, EMPTY)
            result = await self._dispatch("tools/list", dressed, caller, bounds)
            if not isinstance(result.get("nextCursor"), str):
                return
            params = {"cursor": result["nextCursor"]}

    # --- what one era has and the other has not

    async def _answer_here(self, method: str, params: JsonObject, caller: Caller) -> JsonObject | None:
        """The result of a request that the server's era has no word for; None for all others."""
        if not self.agreement.modern:
            return None
        if method == "logging/setLevel" and isinstance(params.get("level"), str):
            self._levels[caller.session] = params["level"]
        if method in QUIET:
            return {}
        if method in SUBSCRIPTIONS and self._news is not None:
            await self._news.watch(str(params.get("uri")), on=method == "resources/subscribe")
            return {}
        return None

    async def _set_level(self, params: JsonObject) -> None:
        """Tell an old server the log level that a client of the new era asks for with its request."""
        level = wanted_level(params)
        if level is None or level == self._level or "logging" not in self.agreement.capabilities:
            return
        self._level = level
        bounds = Bounds(self._limits.call_s)
        await self.peer.call("logging/setLevel", {"level": level}, headers={}, bounds=bounds, token=False)

    # --- news

    def _notice(self, method: str, params: JsonObject) -> None:
        if self._news is not None and self._news.acknowledge(method, params):
            return
        event = event_of(self._server, method, params)
        if event is not None:
            self._emit(event)

    def _watch(self, params: JsonObject, *, on: bool) -> None:
        if self._news is not None and isinstance(params.get("uri"), str):
            self._news.remember(params["uri"], on=on)

    async def _watch_again(self) -> None:
        """Subscribe anew to what was watched over an earlier connection."""
        bounds = Bounds(self._limits.call_s)
        for uri in sorted(self._watched):
            try:
                await self.peer.call("resources/subscribe", {"uri": uri}, headers={}, bounds=bounds, token=False)
            except (RemoteError, DownstreamError) as error:
                LOG.debug("%s: %s is not watched any more: %s", self._server, uri, error)

    async def _listen(self, params: JsonObject, on_sent: Callable[[int], None]) -> None:
        """Hold one stream of news open until it ends."""
        method = "subscriptions/listen"
        dressed = dress(self.agreement, params, EMPTY)
        headers = {"mcp-protocol-version": self.agreement.version, "mcp-method": method} if self._wire.by_http else {}
        await self.peer.call(method, dressed, headers=headers, bounds=UNBOUNDED, token=False, on_sent=on_sent)

    def _missed(self, kind: ListName) -> None:
        self._emit(ServerEvent(self._server, kind))
