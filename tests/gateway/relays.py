"""Ways for a test to reach a relay: raw JSON-RPC in memory, in a chosen era, in front of a twin."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from typing import Any

import anyio
import mcp_types as types
from mcp.server.runner import serve_dual_era_loop
from mcp.shared.dispatcher import CallOptions, DispatchContext
from mcp.shared.exceptions import MCPError
from mcp.shared.jsonrpc_dispatcher import JSONRPCDispatcher
from mcp.shared.memory import create_client_server_memory_streams

from anyact_server.errors import RemoteError
from anyact_server.gateway.relay import RelayServer
from anyact_server.interfaces import Caller, Policy, ServerEvent
from anyact_server.types import Action, JsonObject, Limits, Snapshot

from .twins import TwinCatalog, TwinDownstreams

LEGACY, MODERN = "2025-11-25", "2026-07-28"
ERAS = (LEGACY, MODERN)
EVERYTHING: JsonObject = {
    "tools": {"listChanged": True},
    "prompts": {"listChanged": True},
    "resources": {"listChanged": True, "subscribe": True},
    "logging": {},
    "completions": {},
    "experimental": {"example.org/x": {}},
}
Answer = Callable[[JsonObject, Caller], Any]


class Scripted(TwinDownstreams):
    """A server that answers each method with what a test gave: a value, or a function that may ask and report."""

    def __init__(self, answers: Mapping[str, Any]) -> None:
        super().__init__(self._answer)
        self.answers = dict(answers)
        self.running = True
        self.repeatable: dict[str, bool] = {}

    async def _answer(self, method: str, params: JsonObject, caller: Caller) -> JsonObject:
        found = self.answers.get(method)
        if found is None:
            raise RemoteError(types.METHOD_NOT_FOUND, "Method not found", method, server="s")
        if callable(found):
            found = await found(params, caller)
        return dict(found)

    async def request(
        self,
        server: str,
        method: str,
        params: JsonObject,
        *,
        caller: Caller,
        limits: Limits | None = None,
        repeatable: bool = False,
    ) -> JsonObject:
        self.repeatable[method] = repeatable
        return await super().request(server, method, params, caller=caller)

    def connected(self, server: str) -> bool:
        return self.running

    def sent(self, method: str) -> list[JsonObject]:
        """The params of every request of this method that reached the server."""
        return [params for _, name, params in self.requests if name == method]


@dataclass
class Peer:
    """A client that sends what it is told and keeps what it is sent."""

    dispatcher: JSONRPCDispatcher[Any]
    version: str
    abilities: dict[str, Any]
    told: list[tuple[str, Mapping[str, Any]]] = field(default_factory=list)
    asked: list[tuple[str, Mapping[str, Any]]] = field(default_factory=list)
    replies: dict[str, dict[str, Any]] = field(default_factory=dict)
    _news: anyio.Event = field(default_factory=anyio.Event)

    @property
    def modern(self) -> bool:
        return self.version == MODERN

    async def request(self, method: str, params: JsonObject | None = None, **meta: Any) -> dict[str, Any]:
        """Send a request in this client's era; gives the raw result. Raises MCPError."""
        sent = dict(params or {})
        if self.modern:
            meta = {
                types.PROTOCOL_VERSION_META_KEY: MODERN,
                types.CLIENT_INFO_META_KEY: {"name": "test", "version": "1"},
                types.CLIENT_CAPABILITIES_META_KEY: self.abilities,
                **meta,
            }
        if meta:
            sent["_meta"] = meta
        options: CallOptions = {}
        return await self.dispatcher.send_raw_request(method, sent, options)

    async def notify(self, method: str, params: JsonObject | None = None) -> None:
        """Send a notification."""
        await self.dispatcher.notify(method, dict(params or {}))

    async def hears(self, method: str, count: int = 1) -> list[Mapping[str, Any]]:
        """Wait for so many notifications of a method; gives their params."""
        while len(found := [params for name, params in self.told if name == method]) < count:
            self._news = anyio.Event()
            await self._news.wait()
        return found

    async def on_request(
        self, ctx: DispatchContext[Any], method: str, params: Mapping[str, Any] | None
    ) -> dict[str, Any]:
        self.asked.append((method, params or {}))
        if method not in self.replies:
            raise MCPError(types.METHOD_NOT_FOUND, "not here")
        return self.replies[method]

    async def on_notify(self, ctx: DispatchContext[Any], method: str, params: Mapping[str, Any] | None) -> None:
        self.told.append((method, params or {}))
        self._news.set()


@dataclass
class Scene:
    """A relay in front of a scripted server, and its clients."""

    catalog: TwinCatalog
    downstreams: Scripted
    server: RelayServer
    state: object

    @asynccontextmanager
    async def client(self, version: str, abilities: dict[str, Any] | None = None) -> AsyncIterator[Peer]:
        """A client of a protocol version; one of the older era has shaken hands."""
        async with (
            create_client_server_memory_streams() as (client, (reader, writer)),
            anyio.create_task_group() as group,
        ):

            async def serve() -> None:
                await serve_dual_era_loop(self.server, reader, writer, lifespan_state=self.state)

            dispatcher: JSONRPCDispatcher[Any] = JSONRPCDispatcher(client[0], client[1])
            peer = Peer(dispatcher, version, abilities or {})
            group.start_soon(serve)
            await group.start(self._listen, dispatcher, peer)
            if not peer.modern:
                await shake_hands(peer)
                await anyio.wait_all_tasks_blocked()
            yield peer
            group.cancel_scope.cancel()

    async def _listen(
        self, dispatcher: JSONRPCDispatcher[Any], peer: Peer, *, task_status: anyio.abc.TaskStatus[None]
    ) -> None:
        await dispatcher.run(peer.on_request, peer.on_notify, task_status=task_status)

    def say(self, what: Any, detail: str | None = None, params: JsonObject | None = None) -> None:
        """Have the server tell something outside of any call."""
        self.downstreams.say(ServerEvent("s", what, detail, params))


async def shake_hands(peer: Peer) -> dict[str, Any]:
    """The handshake of the older era; gives its result."""
    info = {"name": "test", "version": "1"}
    greeting = {"protocolVersion": peer.version, "capabilities": peer.abilities, "clientInfo": info}
    found = await peer.request("initialize", greeting)
    await peer.notify("notifications/initialized")
    return found


@asynccontextmanager
async def scene(
    answers: Mapping[str, Any] | None = None,
    *,
    era: str = LEGACY,
    actions: tuple[Action, ...] = (),
    policy: Policy | None = None,
    capabilities: JsonObject = EVERYTHING,
    question_s: float = 5.0,
    **spec: Any,
) -> AsyncIterator[Scene]:
    """A relay in front of a server of an era, running."""
    snapshot = Snapshot(
        "s",
        info={"name": "behind", "version": "3", "websiteUrl": "https://example.org"},
        instructions="Ask nicely.",
        capabilities=capabilities,
        protocol_version=era,
    )
    catalog = TwinCatalog(actions, [snapshot])
    limits = replace(catalog.all_specs[0].limits, question_s=question_s)
    catalog.all_specs = [replace(catalog.all_specs[0], limits=limits, **spec)]
    downstreams = Scripted(answers or {})
    server = RelayServer("s", downstreams, catalog, policy=policy)
    with anyio.fail_after(10):
        async with server.lifespan(server) as state:
            await anyio.wait_all_tasks_blocked()
            yield Scene(catalog, downstreams, server, state)
