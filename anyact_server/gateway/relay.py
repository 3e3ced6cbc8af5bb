"""The MCP server of a transparent endpoint: everything of one downstream server, unchanged, to clients of both eras.

`RelayServer` is an SDK low-level `Server` whose one middleware answers every request from the server behind it. The SDK
keeps the handshake, the eras and the transports; results travel as plain values, so that no field is lost on the way.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any, cast

import anyio
import mcp_types as types
from mcp.server import Server
from mcp.server.connection import Connection
from mcp.server.context import CallNext, HandlerResult
from mcp.server.subscriptions import ListenHandler
from mcp.shared.exceptions import MCPError
from mcp_types import methods
from mcp_types.version import MODERN_PROTOCOL_VERSIONS
from pydantic import BaseModel

from anyact_server.dispatch.callers import Silent
from anyact_server.errors import AnyActError, PolicyRefused, RemoteError
from anyact_server.interfaces import Caller, Catalog, Downstreams, Policy
from anyact_server.telemetry import logger
from anyact_server.types import JsonObject, Snapshot

from .bridge import LISTS, empty_list, is_modern, listed, offered, to_client, to_server
from .callers import LEVEL_STATE, LEVELS, ClientCaller, Context, connection_of, modern, set_level
from .held import BY_RESULT, HeldCalls
from .relay_news import MINE, News, Watched, heard
from .relay_rules import Rules
from .server import as_wire

LOG = logger("gateway")
OWN = frozenset(
    {"initialize", "ping", "notifications/initialized", "notifications/cancelled", "notifications/progress"}
)
"""What the SDK answers or handles itself."""
READING = frozenset({*LISTS, "resources/read", "prompts/get", "completion/complete"})
"""Requests that change nothing, and may be sent again after a connection was lost."""
UNSET_LEVEL = "info"
"""Log level asked of a server of the modern era for a client of the older one that set none."""
Answer = Callable[[Context, dict[str, Any]], Awaitable[dict[str, Any]]]


class _Note(BaseModel):
    """A notification, sent as it is."""

    method: str
    params: dict[str, Any] | None = None


class RelayCaller(ClientCaller):
    """The client of a transparent endpoint, with everything that it declared."""

    def __init__(self, context: Context) -> None:
        super().__init__(context, BY_RESULT if modern(context) else None)
        self.passes_input_required = modern(context)

    @property
    def abilities(self) -> JsonObject:
        """All capabilities of the client, extensions and unknown ones included."""
        declared = self._context.session.client_capabilities
        return {} if declared is None else declared.model_dump(by_alias=True, mode="json", exclude_none=True)

    async def log(self, params: JsonObject) -> None:
        """Pass a log message on as it is, if the client wants its level (one of the older era: all until it says)."""
        if not self._wants(params):
            return
        note = _Note(method="notifications/message", params=dict(params))
        try:
            await self._context.session.send_notification(
                cast("types.ServerNotification", note), related_request_id=self._context.request_id
            )
        except (anyio.ClosedResourceError, anyio.BrokenResourceError) as error:
            LOG.debug("a log message was lost: %r", error)

    def _wants(self, params: JsonObject) -> bool:
        if not modern(self._context):
            return heard(connection_of(self._context), params)
        asked, level = (self._context.meta or {}).get(types.LOG_LEVEL_META_KEY), params.get("level")
        return asked in LEVELS and level in LEVELS and LEVELS.index(level) >= LEVELS.index(asked)


class RelayServer(Server[object]):
    """One downstream server, as its clients would see it if they were connected to it."""

    def __init__(
        self,
        name: str,
        downstreams: Downstreams,
        catalog: Catalog,
        *,
        policy: Policy | None = None,
    ) -> None:
        """Make the server of one endpoint.

        Args:
            name: config name of the downstream server.
            downstreams: all connections.
            catalog: what the server is known to offer, and how it is configured.
            policy: hides and refuses tools; nothing is hidden without one.

        Raises:
            UnknownServer: there is no such server.
        """
        self.news = News(name, downstreams, catalog)
        super().__init__(
            name,
            lifespan=self._watch,
            get_tool_input_schema=self._input_schema,
            on_subscriptions_listen=ListenHandler(self.news.bus),
        )
        self._downstreams = downstreams
        self._catalog = catalog
        self._rules = Rules(name, catalog, policy)
        self._held = HeldCalls(question_s=catalog.spec(name).limits.question_s)
        self._watched = Watched(name, downstreams, catalog)
        self._live: Snapshot | None = None
        self._schemas: dict[str, Mapping[str, Any]] = {}
        self._asked_level: str | None = None
        self._answers: Mapping[str, Answer] = {
            **dict.fromkeys(LISTS, self._list),
            "server/discover": self._discover,
            "tools/call": self._call_tool,
            "resources/read": self._ask_or_pass,
            "prompts/get": self._ask_or_pass,
            "resources/subscribe": self._subscribe,
            "resources/unsubscribe": self._unsubscribe,
            "logging/setLevel": self._set_level,
        }
        self.middleware.append(self._serve)

    @asynccontextmanager
    async def _watch(self, _: Server[object]) -> AsyncIterator[object]:
        async with anyio.create_task_group() as group, self._held.running():
            group.start_soon(self.news.run, self._renew)
            yield None
            group.cancel_scope.cancel()

    def _input_schema(self, name: str) -> Mapping[str, Any] | None:
        return self._schemas.get(name) or self._rules.schema(name)

    async def _known(self) -> Snapshot:
        """What the server is known to offer; it is asked only where it was never seen."""
        known = self._catalog.snapshot(self.name) or self._live
        if known is None:
            known = self._live = await self._downstreams.take_snapshot(self.name)
        return known

    # --- one message

    async def _serve(self, ctx: Context, call_next: CallNext) -> HandlerResult:
        """Answer a request from the server behind, or pass a notification on to it."""
        context = ctx
        try:
            if context.request_id is None:
                return await self._notice(context, call_next)
            if context.method in OWN:
                return await self._own(context, call_next)
            self._check(context)
            if context.method == "subscriptions/listen":
                return await self._listen(context, call_next)
            result = await self._answers.get(context.method, self._pass)(context, dict(context.params or {}))
            known = await self._known()
        except AnyActError as error:
            raise as_wire(error) from error
        private = context.method == "tools/list" and self._rules.restrict(RelayCaller(context).principal)
        return to_client(context.method, result, modern=modern(context), info=known.info, private=private)

    def _check(self, context: Context) -> None:
        """Refuse what the client's protocol version does not know, and anything before the handshake."""
        if context.method in methods.SPEC_CLIENT_METHODS and (
            (context.method, context.protocol_version) not in methods.CLIENT_REQUESTS
        ):
            raise MCPError(types.METHOD_NOT_FOUND, "Method not found", context.method)
        connection = connection_of(context)
        if not connection.initialize_accepted:
            raise MCPError(types.INVALID_PARAMS, "The handshake has not been made: send initialize first.")
        if not modern(context):
            self.news.join(connection)

    async def _notice(self, context: Context, call_next: CallNext) -> HandlerResult:
        if context.method == "notifications/initialized":
            self.news.join(connection_of(context))
        elif context.method not in OWN and connection_of(context).initialize_accepted:
            await self._downstreams.notify(self.name, context.method, dict(context.params or {}))
            return None
        return await call_next(context)

    async def _own(self, context: Context, call_next: CallNext) -> HandlerResult:
        """The handshake under the server's own name; the rest is the SDK's."""
        answer = await call_next(context)
        if context.method != "initialize" or not isinstance(answer, dict):
            return answer
        known = await self._known()
        return {**answer, **_identity(known), "capabilities": offered(known, modern=False)}

    # --- what the server is and offers

    async def _discover(self, context: Context, params: dict[str, Any]) -> dict[str, Any]:
        known = await self._known()
        identity = _identity(known)
        identity.pop("serverInfo", None)
        return {
            "supportedVersions": list(MODERN_PROTOCOL_VERSIONS),
            "capabilities": offered(known, modern=True),
            **identity,
        }

    async def _list(self, context: Context, params: dict[str, Any]) -> dict[str, Any]:
        """A page of a list: nothing where the server has none, and every item as strict clients take it."""
        member, capability, _ = LISTS[context.method]
        if capability not in (await self._known()).capabilities:
            return empty_list(context.method)
        try:
            found = dict(await self._pass(context, params))
        except RemoteError as error:
            if error.code != types.METHOD_NOT_FOUND:
                raise
            return empty_list(context.method)
        items = found.get(member)
        items, left_out = listed(context.method, items if isinstance(items, list) else [], modern=modern(context))
        if left_out:
            LOG.warning("%s: left out of its list: %s", self.name, "; ".join(left_out))
        if context.method == "tools/list":
            self._schemas |= {tool["name"]: tool["inputSchema"] for tool in items}
            principal = RelayCaller(context).principal
            items = [tool for tool in items if self._rules.shown(principal, tool["name"])]
        found[member] = items
        return found

    # --- requests

    async def _pass(self, context: Context, params: dict[str, Any]) -> dict[str, Any]:
        return await self._request(context, params, RelayCaller(context))

    async def _request(self, context: Context, params: dict[str, Any], caller: Caller) -> dict[str, Any]:
        sent = to_server(params, log_level=self._level(context, await self._known()))
        repeatable = context.method in READING or (
            context.method == "tools/call" and self._rules.repeatable(params.get("name"))
        )
        return dict(
            await self._downstreams.request(self.name, context.method, sent, caller=caller, repeatable=repeatable)
        )

    async def _call_tool(self, context: Context, params: dict[str, Any]) -> dict[str, Any]:
        name, principal = params.get("name"), RelayCaller(context).principal
        if not isinstance(name, str):
            raise MCPError(types.INVALID_PARAMS, "The name of the tool is missing.")
        if not self._rules.shown(principal, name):
            raise MCPError(types.INVALID_PARAMS, f"Unknown tool: {name[:200]}")
        refusal = self._rules.refusal(principal, name)
        if refusal is not None:
            raise PolicyRefused(refusal)
        return await self._ask_or_pass(context, params)

    async def _ask_or_pass(self, context: Context, params: dict[str, Any]) -> dict[str, Any]:
        """A request about which the server may ask its client something."""
        caller = RelayCaller(context)
        if not modern(context):
            return await self._request(context, params, caller)

        async def work(holding: Caller) -> dict[str, Any]:
            return await self._request(context, params, holding)

        return await self._held.call(caller, context.method, params, work, passes=True)

    # --- log level

    def _level(self, context: Context, known: Snapshot) -> str | None:
        """The level that a request asks for in its `_meta`, where it is not the client's own word.

        A server of the modern era is asked with each request for what a client of the older one set for its session.
        A server of the older era has one level for all its clients: it never becomes less talkative for one of them.
        """
        if is_modern(known.protocol_version):
            if modern(context):
                return None
            return LEVELS[int(connection_of(context).state.get(LEVEL_STATE, LEVELS.index(UNSET_LEVEL)))]
        asked = (context.meta or {}).get(types.LOG_LEVEL_META_KEY) if modern(context) else None
        if asked not in LEVELS:
            return None
        self._asked_level = _chattiest(self._asked_level, asked)
        return self._asked_level

    async def _set_level(self, context: Context, params: dict[str, Any]) -> dict[str, Any]:
        level = params.get("level")
        if level not in LEVELS:
            raise MCPError(types.INVALID_PARAMS, f"Unknown log level; known are {', '.join(LEVELS)}.")
        answer: dict[str, Any] = {}
        if _chattiest(self._asked_level, level) != self._asked_level:
            answer = await self._tell_level(level, RelayCaller(context))
        set_level(context, level)
        return answer

    async def _tell_level(self, level: str, caller: Caller) -> dict[str, Any]:
        """Set the level of a server of the older era that has one."""
        known = await self._known()
        if is_modern(known.protocol_version) or "logging" not in known.capabilities:
            return {}
        self._asked_level = level
        params = {"level": level}
        return dict(
            await self._downstreams.request(self.name, "logging/setLevel", params, caller=caller, repeatable=True)
        )

    async def _renew(self) -> None:
        """Tell a fresh connection the log level that the last one knew."""
        if self._asked_level is None:
            return
        try:
            await self._tell_level(self._asked_level, Silent())
        except AnyActError as error:
            LOG.debug("%s does not take the log level again: %s", self.name, error)

    # --- subscriptions

    async def _subscribe(self, context: Context, params: dict[str, Any]) -> dict[str, Any]:
        connection, uri = connection_of(context), params.get("uri")
        mine = self._mine(connection, RelayCaller(context))
        if uri in mine:
            return {}
        answer = await self._watched.add(to_server(params), RelayCaller(context))
        mine.add(uri)
        return answer

    async def _unsubscribe(self, context: Context, params: dict[str, Any]) -> dict[str, Any]:
        mine, uri = self._mine(connection_of(context), RelayCaller(context)), params.get("uri")
        if uri not in mine:
            return {}
        mine.discard(uri)
        return await self._watched.drop(to_server(params), RelayCaller(context))

    def _mine(self, connection: Connection, caller: Caller) -> set[Any]:
        """The resources that a connection subscribed to; given up when it closes."""
        mine = connection.state.get(MINE)
        if mine is None:
            mine = connection.state[MINE] = set()
            connection.exit_stack.push_async_callback(self._watched.leave, mine, caller)
        return cast("set[Any]", mine)

    async def _listen(self, context: Context, call_next: CallNext) -> HandlerResult:
        """Serve a stream of news, as far as the server has any to tell."""
        asked = (context.params or {}).get("notifications")
        wanted = dict(asked) if isinstance(asked, Mapping) else {}
        declared = (await self._known()).capabilities
        honoured = {
            f"{name}ListChanged": True
            for name in ("tools", "prompts", "resources")
            if wanted.get(f"{name}ListChanged") is True and _says(declared, name, "listChanged")
        }
        uris = wanted.get("resourceSubscriptions")
        uris = uris if isinstance(uris, list) and _says(declared, "resources", "subscribe") else []
        async with self._watched.held([uri for uri in uris if isinstance(uri, str)], RelayCaller(context)) as taken:
            told = {**honoured, **({"resourceSubscriptions": taken} if taken else {})}
            return await call_next(replace(context, params={**(context.params or {}), "notifications": told}))


def _chattiest(one: str | None, other: str) -> str:
    """The level of two that lets more messages through."""
    return other if one is None else min(one, other, key=LEVELS.index)


def _says(declared: JsonObject, name: str, flag: str) -> bool:
    found = declared.get(name)
    return isinstance(found, Mapping) and found.get(flag) is True


def _identity(known: Snapshot) -> dict[str, Any]:
    """The server's own name and instructions, where they are known."""
    found: dict[str, Any] = {}
    if known.info:
        found["serverInfo"] = dict(known.info)
    if known.instructions is not None:
        found["instructions"] = known.instructions
    return found
