"""What the tests of this room share: servers as specs, a pool around them, callers that remember what they hear."""

from __future__ import annotations

import json
import sys
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import anyio

from anyact_server.downstream import Pool, SdkTarget, Target
from anyact_server.errors import RemoteError
from anyact_server.interfaces import ServerEvent
from anyact_server.settings import Settings
from anyact_server.types import EMPTY, LOCAL, Era, JsonObject, Limits, Principal, ServerSpec, ServerState
from tests.servers import plain as plain_server

ROOT = Path(__file__).parents[2]
RAW = str(ROOT / "tests" / "servers" / "raw.py")
BOUND_S = 20.0
"""Bound on every wait; processes start slowly on a busy machine."""


def raw(*flags: str, name: str = "raw", **fields: Any) -> ServerSpec:
    """The raw stdio server."""
    return ServerSpec(name, "stdio", command=sys.executable, args=(RAW, *flags), **fields)


def plain(*flags: str, name: str = "plain", **fields: Any) -> ServerSpec:
    """The plain stdio server."""
    args = ("-m", "tests.servers.plain", "--stdio", *flags)
    return ServerSpec(name, "stdio", command=sys.executable, args=args, cwd=str(ROOT), **fields)


def inside(era: Era = "auto", *, name: str = "plain", **fields: Any) -> ServerSpec:
    """The plain server in this process."""
    return ServerSpec(name, "memory", era=era, **fields)


def web(port: int, path: str = "/mcp", *, name: str = "web", **fields: Any) -> ServerSpec:
    """A streamable HTTP server on a loopback port."""
    return ServerSpec(name, "http", url=f"http://127.0.0.1:{port}{path}", **fields)


def limits(**seconds: float) -> Limits:
    """The default limits, but for some."""
    return replace(Limits(), **seconds)


@dataclass
class Recorder:
    """A caller that remembers what it is told and answers questions as a test wants."""

    abilities: JsonObject = EMPTY
    session: str | None = "s1"
    principal: Principal = LOCAL
    headers: Mapping[str, str] = EMPTY
    passes_input_required: bool = False
    reply: JsonObject = field(default_factory=lambda: {"action": "accept", "content": {"name": "Ada"}})
    silent: bool = False
    reports: list[tuple[float, float | None, str | None]] = field(default_factory=list)
    logs: list[JsonObject] = field(default_factory=list)
    asked: list[tuple[str, JsonObject]] = field(default_factory=list)
    dropped: anyio.Event = field(default_factory=anyio.Event)
    heard: anyio.Event = field(default_factory=anyio.Event)

    async def progress(self, progress: float, total: float | None, message: str | None) -> None:
        self.reports.append((progress, total, message))
        self.heard.set()

    async def log(self, params: JsonObject) -> None:
        self.logs.append(params)

    async def ask(self, method: str, params: JsonObject) -> JsonObject:
        self.asked.append((method, params))
        self.heard.set()
        if self.silent:
            try:
                await anyio.sleep_forever()
            finally:
                self.dropped.set()
        if self.reply.get("refuse"):
            raise RemoteError(-1, "the user said no", server="client")
        return self.reply


@dataclass
class Events:
    """Remembers a pool's events and lets a test wait for one."""

    all: list[ServerEvent] = field(default_factory=list)
    _news: anyio.Event = field(default_factory=anyio.Event)

    def note(self, event: ServerEvent) -> None:
        self.all.append(event)
        self._news.set()

    async def until(self, wanted: Callable[[ServerEvent], bool]) -> ServerEvent:
        """The first event, past or future, that is wanted."""
        with anyio.fail_after(BOUND_S):
            while True:
                for event in self.all:
                    if wanted(event):
                        return event
                self._news = anyio.Event()
                await self._news.wait()


class Clock:
    """A clock that a test moves by hand."""

    def __init__(self) -> None:
        self.time = 1_000.0

    def now(self) -> float:
        return self.time

    def monotonic(self) -> float:
        return self.time


@dataclass
class World:
    """A running pool, its events, and short forms of the commonest requests."""

    pool: Pool
    events: Events
    caller: Recorder = field(default_factory=Recorder)

    async def call(self, server: str, tool: str, *, caller: Recorder | None = None, **arguments: Any) -> JsonObject:
        """Call a tool and give the raw result."""
        params = {"name": tool, "arguments": arguments}
        return await self.pool.request(server, "tools/call", params, caller=caller or self.caller)

    async def text(self, server: str, tool: str, *, caller: Recorder | None = None, **arguments: Any) -> str:
        """Call a tool and give the text of the first block."""
        result = await self.call(server, tool, caller=caller, **arguments)
        return str(result["content"][0]["text"])

    async def data(self, server: str, tool: str, *, caller: Recorder | None = None, **arguments: Any) -> Any:
        """Call a tool and give the JSON in the text of the first block."""
        return json.loads(await self.text(server, tool, caller=caller, **arguments))

    async def until_state(self, server: str, *states: ServerState) -> None:
        """Wait until a server is in one of some states."""
        if self.pool.status(server).state not in states:
            await self.events.until(lambda _: self.pool.status(server).state in states)


@asynccontextmanager
async def world(
    *specs: ServerSpec,
    clock: Clock | None = None,
    memory: Mapping[str, Target] = EMPTY,
    **settings: Any,
) -> AsyncIterator[World]:
    """A pool that runs while the block does."""
    inner = {spec.name: SdkTarget(plain_server.build()) for spec in specs if spec.transport == "memory"}
    pool = Pool(specs, Settings(**settings), clock=clock, memory={**inner, **memory})
    events = Events()
    pool.listen(events.note)
    async with pool.running():
        yield World(pool, events)
