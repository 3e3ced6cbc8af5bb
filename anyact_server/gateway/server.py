"""The MCP server that clients see, in both protocol eras, over any transport.

`FrontServer` is an SDK low-level `Server` whose one middleware answers what AnyAct serves from plain values, so that
nothing is rebuilt or validated twice; the handshake, `server/discover`, `ping` and `subscriptions/listen` stay the
SDK's. It is greeted before its parts stand: only requests that need them wait.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import anyio
import mcp_types as types
from mcp.server import NotificationOptions, Server
from mcp.server.context import CallNext, HandlerResult
from mcp.server.subscriptions import ListenHandler
from mcp.shared.exceptions import MCPError
from mcp_types import methods

from anyact_server import __version__
from anyact_server.errors import AnyActError, DownstreamError, RemoteError, UnknownHandle, UnknownServer, UsageError
from anyact_server.interfaces import Caller
from anyact_server.telemetry import logger
from anyact_server.types import Json, JsonObject

from .callers import ClientCaller, Context, client_of, connection_of, modern, principal_of, set_level
from .changes import Changes
from .front import Front
from .held import BY_RESULT, INPUT_REQUIRED, HeldCalls
from .legible import legible
from .levels import Levels
from .listing import Lists, page
from .offers import Offers, wrapped
from .parts import Parts, Ready
from .remembered import Remembered
from .reports import TROUBLE
from .sight import OFFERS, Sight
from .subscriptions import Subscriptions
from .wire import sendable

INSTRUCTIONS = (
    "AnyAct stands in front of many servers and agents. Find what can do the task with search_actions (one short "
    "intent per need), then call it by id with call_action, or run many at once with run_actions. What an observation "
    "does not show is read by its handle with read_observation."
)
PROTOCOL_META = "io.modelcontextprotocol/"
LIST_TTL_MS = 0
"""Lists are stale at once for caching clients of the modern era, for they change whenever a server does."""

LOG = logger("gateway")
HELD = frozenset({"tools/call", "prompts/get", "resources/read"})
"""Requests during which a server may put a question to the client."""


@dataclass(frozen=True, slots=True)
class Asked:
    """One request: its context, the parts that answer it, its params, and who asks."""

    context: Context
    parts: Parts
    params: JsonObject
    caller: Caller


Answer = Callable[[Asked], Awaitable[dict[str, Any]]]


class FrontServer(Server[None]):
    """The eight tools, actions as tools, and the prompts and resources of all servers."""

    def __init__(self, ready: Ready, *, remembered: Remembered | None = None, question_s: float = 300.0) -> None:
        """Make the server.

        Args:
            ready: yields the parts.
            remembered: what to declare of prompts, resources and completions to a client that comes before the parts
                stand; all of them when not given.
            question_s: how long a server's question to a modern client is held, in seconds.
        """
        self.changes = Changes()
        super().__init__(
            "anyact",
            version=__version__,
            title="AnyAct",
            instructions=INSTRUCTIONS,
            lifespan=self._watch,
            get_tool_input_schema=self._input_schema,
            on_subscriptions_listen=ListenHandler(self.changes.bus),
        )
        self._ready = ready
        self._remembered = remembered
        self._parts: Parts | None = None
        self._front = Front(ready)
        self._lists = Lists()
        self._offers = Offers()
        self._sight = Sight()
        self._levels = Levels()
        self._subscriptions = Subscriptions()
        self._held = HeldCalls(question_s=question_s)
        self._answers: Mapping[str, Answer] = {
            "tools/list": self._list_tools,
            "tools/call": self._call_tool,
            "prompts/list": self._list_prompts,
            "prompts/get": self._get_prompt,
            "resources/list": self._list_resources,
            "resources/templates/list": self._list_templates,
            "resources/read": self._read_resource,
            "resources/subscribe": self._subscribe,
            "resources/unsubscribe": self._unsubscribe,
            "completion/complete": self._complete,
            "logging/setLevel": self._set_level,
        }
        self.middleware.append(self._serve)

    # --- what is declared

    def offers(self) -> frozenset[str]:
        """Which of prompts, resources and completions are served now; all while a server was never read."""
        if self._parts is None:
            return OFFERS if self._remembered is None else self._remembered.read()
        return self._sight.offered(self._parts)

    def get_capabilities(
        self,
        notification_options: NotificationOptions | None = None,
        experimental_capabilities: dict[str, dict[str, Any]] | None = None,
        extensions: dict[str, dict[str, Any]] | None = None,
        *,
        protocol_version: str | None = None,
    ) -> types.ServerCapabilities:
        """The capabilities that are really served; list changes and subscriptions are delivered in both eras."""
        offers = self.offers()
        return types.ServerCapabilities(
            tools=types.ToolsCapability(list_changed=True),
            prompts=types.PromptsCapability(list_changed=True) if "prompts" in offers else None,
            resources=types.ResourcesCapability(list_changed=True, subscribe=True) if "resources" in offers else None,
            completions=types.CompletionsCapability() if "completions" in offers else None,
            logging=types.LoggingCapability(),
            experimental=experimental_capabilities,
            extensions=extensions or self.extensions or None,
        )

    def _input_schema(self, name: str) -> Mapping[str, Any] | None:
        action = None if self._parts is None else self._parts.catalog.get(name)
        return None if action is None else action.shown_schema

    # --- running

    @asynccontextmanager
    async def _watch(self, _: Server[None]) -> AsyncIterator[None]:
        async with self._held.running(), anyio.create_task_group() as group:
            group.start_soon(self._watch_parts)
            yield
            group.cancel_scope.cancel()

    def health(self) -> JsonObject:
        """How AnyAct is: `starting`, `ok`, or `degraded` when a server is in trouble; with counts, no names."""
        if self._parts is None:
            return {"status": "starting", "version": __version__}
        states = [status.state for status in self._parts.downstreams.statuses()]
        trouble = sum(state in TROUBLE for state in states)
        return {
            "status": "degraded" if trouble else "ok",
            "version": __version__,
            "servers": len(states),
            "in_trouble": trouble,
            "actions": len(self._parts.catalog.actions()),
        }

    async def _watch_parts(self) -> None:
        try:
            self._parts = await self._ready()
        except AnyActError as error:
            LOG.error("AnyAct cannot work: %s", error)
            return
        self._remember()
        async with anyio.create_task_group() as group:
            group.start_soon(self._levels.run, self._parts)
            await self.changes.run(self._parts, self._remember)

    def _remember(self) -> None:
        if self._remembered is not None:
            self._remembered.write(self.offers())

    async def _serve(self, ctx: Context, call_next: CallNext) -> HandlerResult:
        """Answer what AnyAct serves; leave the rest to the SDK."""
        context = ctx
        if context.request_id is None:
            return await call_next(context)
        if not modern(context):
            self.changes.join(connection_of(context))
        if context.method == "subscriptions/listen":
            return await self._listen(context, call_next)
        answer = self._answers.get(context.method)
        if answer is None:
            return await call_next(context)
        params = checked(context)
        try:
            result = await self._answer(answer, context, params)
        except AnyActError as error:
            raise as_wire(error) from error
        return self._enveloped(context, sendable(result))

    async def _answer(self, answer: Answer, context: Context, params: JsonObject) -> dict[str, Any]:
        """Answer a request; one that may bring a question to a modern client is held between its rounds."""
        parts = await self._ready()
        caller = ClientCaller(context, BY_RESULT if modern(context) else None)
        if not modern(context) or context.method not in HELD or not caller.abilities:
            return await answer(Asked(context, parts, params, caller))

        async def work(held: Caller) -> dict[str, Any]:
            return await answer(Asked(context, parts, params, held))

        return await self._held.call(caller, context.method, params, work)

    def _enveloped(self, context: Context, result: dict[str, Any]) -> dict[str, Any]:
        """The result as its era wants it: the modern one marks results and says who answers."""
        kept = {name: value for name, value in result.items() if name not in ("resultType", "ttlMs", "cacheScope")}
        if not modern(context):
            return kept
        kept["resultType"] = "complete"
        if result.get("resultType") == INPUT_REQUIRED:
            kept["resultType"] = INPUT_REQUIRED
        elif context.method in methods.CACHEABLE_METHODS:
            kept |= {"ttlMs": LIST_TTL_MS, "cacheScope": "private"}
        meta = kept.get("_meta")
        kept["_meta"] = {
            **(meta if isinstance(meta, Mapping) else {}),
            types.SERVER_INFO_META_KEY: self.server_info_stamp,
        }
        return kept

    # --- tools

    async def _list_tools(self, asked: Asked) -> dict[str, Any]:
        return _paged("tools", self._lists.tools(asked.parts, asked.caller.principal), asked.params)

    async def _call_tool(self, asked: Asked) -> dict[str, Any]:
        name = asked.params["name"]
        found = await self._front.call(name, asked.params.get("arguments"), asked.caller)
        if found is None:
            raise MCPError(types.INVALID_PARAMS, f"Unknown tool: {name[:200]}")
        return legible(name, found, client_of(asked.context))

    # --- prompts, resources, completions

    async def _list_prompts(self, asked: Asked) -> dict[str, Any]:
        return _paged("prompts", self._offers.of(asked.parts, asked.caller.principal).prompts, asked.params)

    async def _list_resources(self, asked: Asked) -> dict[str, Any]:
        return _paged("resources", self._offers.of(asked.parts, asked.caller.principal).resources, asked.params)

    async def _list_templates(self, asked: Asked) -> dict[str, Any]:
        found = self._offers.of(asked.parts, asked.caller.principal).templates
        return _paged("resourceTemplates", found, asked.params)

    async def _get_prompt(self, asked: Asked) -> dict[str, Any]:
        server, name = self._prompt(asked, asked.params["name"])
        return await relay(asked, server, name=name)

    async def _read_resource(self, asked: Asked) -> dict[str, Any]:
        server, uri = self._resource(asked, asked.params["uri"])
        found = await relay(asked, server, uri=uri)
        contents = found.get("contents")
        if isinstance(contents, list):
            found["contents"] = [readdressed(server, item) for item in contents]
        return found

    async def _complete(self, asked: Asked) -> dict[str, Any]:
        ref = asked.params["ref"]
        if ref.get("type") == "ref/prompt":
            server, name = self._prompt(asked, ref["name"])
            return await relay(asked, server, ref={**ref, "name": name})
        server, uri = self._resource(asked, ref["uri"])
        return await relay(asked, server, ref={**ref, "uri": uri})

    async def _subscribe(self, asked: Asked) -> dict[str, Any]:
        server, uri = self._resource(asked, asked.params["uri"])
        await self._subscriptions.join(asked.parts, connection_of(asked.context), server, uri, asked.caller)
        return {}

    async def _unsubscribe(self, asked: Asked) -> dict[str, Any]:
        server, uri = self._resource(asked, asked.params["uri"])
        await self._subscriptions.leave(asked.parts, connection_of(asked.context), server, uri)
        return {}

    async def _set_level(self, asked: Asked) -> dict[str, Any]:
        set_level(asked.context, asked.params["level"])
        self._levels.want(connection_of(asked.context), asked.caller, asked.params["level"])
        return {}

    def _prompt(self, asked: Asked, name: str) -> tuple[str, str]:
        return self._offers.prompt(asked.parts, asked.caller.principal, name)

    def _resource(self, asked: Asked, uri: str) -> tuple[str, str]:
        return self._offers.resource(asked.parts, asked.caller.principal, uri)

    async def _listen(self, context: Context, call_next: CallNext) -> HandlerResult:
        """Serve a modern stream of notices, with the servers subscribed to the resources that it names."""
        parts = await self._ready()
        asked = ((context.params or {}).get("notifications") or {}).get("resourceSubscriptions") or []
        wanted = []
        for uri in asked if isinstance(asked, list) else []:
            try:
                wanted.append(self._offers.resource(parts, principal_of(context), str(uri)))
            except UsageError:
                continue
        async with self._subscriptions.held(parts, wanted, ClientCaller(context)):
            return await call_next(context)


def checked(context: Context) -> JsonObject:
    """The params of a request that its protocol version knows and whose shape is right.

    Arguments of a tool call may have any shape here: what models send is read tolerantly later.

    Raises:
        MCPError: the method is not of this version, the handshake was not made, or params are malformed.
        ValidationError: as `MCPError` for malformed params; the SDK answers -32602.
    """
    params = dict(context.params or {})
    shape = {**params, "arguments": {}} if context.method == "tools/call" else params
    try:
        methods.validate_client_request(context.method, context.protocol_version, shape)
    except KeyError:
        raise MCPError(types.METHOD_NOT_FOUND, "Method not found", context.method) from None
    if not connection_of(context).initialize_accepted:
        raise MCPError(types.INVALID_PARAMS, "The handshake has not been made: send initialize first.")
    return params


def as_wire(error: AnyActError) -> MCPError:
    """An error as JSON-RPC: a server's own error unchanged, the caller's mistakes as -32602, the rest as -32603."""
    if isinstance(error, RemoteError):
        return MCPError(error.code, error.message, error.data)
    told = error.message if error.hint is None else f"{error.message.rstrip('.')}. {error.hint}"
    if isinstance(error, UsageError | UnknownServer | UnknownHandle):
        return MCPError(types.INVALID_PARAMS, told)
    data: dict[str, Json] = {"kind": error.kind.value}
    if isinstance(error, DownstreamError):
        data["server"] = error.server
    return MCPError(types.INTERNAL_ERROR, told, data)


def _paged(name: str, pages: list[list[dict[str, Any]]], params: JsonObject) -> dict[str, Any]:
    items, following = page(pages, params.get("cursor"))
    return {name: items} if following is None else {name: items, "nextCursor": following}


async def relay(asked: Asked, server: str, **changed: Json) -> dict[str, Any]:
    """Ask a server the same, with changed params and the client's own `_meta` but not the protocol's."""
    sent = {**asked.params, **changed}
    for name in ("_meta", "inputResponses", "requestState"):
        sent.pop(name, None)
    meta = asked.params.get("_meta") or {}
    own = {name: value for name, value in meta.items() if not name.startswith(PROTOCOL_META)}
    own.pop("progressToken", None)
    if own:
        sent["_meta"] = own
    request = asked.parts.downstreams.request
    return dict(await request(server, asked.context.method, sent, caller=asked.caller, repeatable=True))


def readdressed(server: str, item: Json) -> Json:
    """One content of a resource under the address that clients know."""
    if isinstance(item, Mapping) and isinstance(item.get("uri"), str):
        return {**item, "uri": wrapped(server, item["uri"])}
    return item
