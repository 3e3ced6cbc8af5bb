"""Reading servers in the background."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Any

import anyio
import pytest

from anyact_server.catalog import Catalog, Discovery, Store
from anyact_server.catalog.discovery import LONGEST_PAUSE_S, pause_after, worth_reading
from anyact_server.errors import DownstreamError, RemoteError, StorageError, UnknownServer
from anyact_server.interfaces import Caller, ServerEvent
from anyact_server.types import JsonObject, Kind, Limits, ServerSpec, ServerStatus, Snapshot

pytestmark = pytest.mark.anyio
DOWN = DownstreamError("it is down", server="s", kind=Kind.UNAVAILABLE)


class Servers:
    """Downstreams whose lists a test sets: what each server answers to being read, in order; the last one stays."""

    def __init__(self, **answers: list[Any]) -> None:
        self.answers = answers
        self.reads: list[str] = []
        self.up: set[str] = set()
        self.held: anyio.Event | None = None
        self._listeners: list[Callable[[ServerEvent], None]] = []

    async def take_snapshot(self, server: str) -> Snapshot:
        """The next answer of a server: names of its tools, a snapshot, or an error."""
        self.reads.append(server)
        if self.held is not None:
            await self.held.wait()
        if server not in self.answers:
            raise UnknownServer(f"no server is called {server!r}")
        queue = self.answers[server]
        answer = queue.pop(0) if len(queue) > 1 else queue[0]
        if isinstance(answer, Exception):
            raise answer
        return answer if isinstance(answer, Snapshot) else Snapshot(server, tools=tuple({"name": n} for n in answer))

    def say(self, server: str, what: Any) -> None:
        """Let a server tell of something."""
        for listener in list(self._listeners):
            listener(ServerEvent(server, what))

    def listen(self, listener: Callable[[ServerEvent], None]) -> Callable[[], None]:
        """Register."""
        self._listeners.append(listener)
        return lambda: self._listeners.remove(listener)

    def connected(self, server: str) -> bool:
        """As the test says."""
        return server in self.up

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
        """Never used here."""
        raise UnknownServer(server)

    async def notify(self, server: str, method: str, params: JsonObject) -> None:
        """Never used here."""

    def status(self, server: str) -> ServerStatus:
        """Never used here."""
        raise UnknownServer(server)

    def statuses(self) -> Sequence[ServerStatus]:
        """Never used here."""
        return ()

    async def restart(self, server: str) -> None:
        """Never used here."""

    async def stop(self, server: str) -> None:
        """Never used here."""

    async def apply(self, specs: Sequence[ServerSpec]) -> None:
        """Never used here."""


class World:
    """A catalog, its servers, and discovery between them; a test waits for what it wants to see."""

    def __init__(self, servers: Servers, *, refresh_s: float = 3600.0, **specs: ServerSpec) -> None:
        self.servers = servers
        self.catalog = Catalog(
            Store(), [specs.get(name, ServerSpec(name, "stdio", command=name)) for name in servers.answers]
        )
        self.discovery = Discovery(self.catalog, servers, refresh_s=refresh_s, pause=lambda failures: 0.001)

    def names(self, server: str = "s") -> list[str]:
        """What the catalog has of a server."""
        return [action.name for action in self.catalog.of_server(server)]

    async def until(self, done: Callable[[], bool]) -> None:
        """Let everything run until something holds."""
        with anyio.fail_after(5):
            while not done():
                await anyio.lowlevel.checkpoint()

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Discovery at work."""
        async with anyio.create_task_group() as group:
            group.start_soon(self.discovery.run)
            yield
            group.cancel_scope.cancel()


@pytest.mark.case("D1")
async def test_every_server_that_can_be_read_is_read_once_at_start() -> None:
    """Disabled and faulty ones are left alone; one that fails does not hold up the others."""
    off = ServerSpec("off", "stdio", command="x", disabled=True)
    faulty = ServerSpec("faulty", "stdio", fault="no key")
    world = World(Servers(a=[["x"]], b=[DOWN], off=[[]], faulty=[[]]), off=off, faulty=faulty)
    async with world.running():
        await world.until(lambda: world.names("a") == ["x"] and world.servers.reads.count("b") > 2)
    assert not {"off", "faulty"} & set(world.servers.reads)
    assert world.servers.reads.count("a") == 1
    assert worth_reading(ServerSpec("s", "stdio", command="x"))


@pytest.mark.case("G2")
async def test_a_list_that_changed_is_read_again() -> None:
    """When the server says so, and when a fresh connection may differ; other news mean nothing."""
    world = World(Servers(s=[["a"], ["a", "b"], ["b"]]))
    async with world.running():
        await world.until(lambda: world.names() == ["a"])
        world.servers.say("s", "state")
        world.servers.say("s", "log")
        world.servers.say("s", "tools")
        await world.until(lambda: world.names() == ["a", "b"])
        world.servers.say("s", "connected")
        await world.until(lambda: world.names() == ["b"])
    assert len(world.servers.reads) == 3


@pytest.mark.case("G2")
async def test_a_silent_change_is_found_by_a_later_look() -> None:
    """Only servers that are up are looked at."""
    world = World(Servers(s=[["a"], ["b"]], idle=[["x"]]), refresh_s=0.01)
    world.servers.up.add("s")
    async with world.running():
        await world.until(lambda: world.names() == ["b"])
    assert world.servers.reads.count("idle") == 1


async def test_news_during_a_read_lead_to_one_more_read() -> None:
    """However many there were; a connection made by the read itself is no news."""
    world = World(Servers(s=[["a"], ["b"]]))
    world.servers.held = anyio.Event()
    async with world.running():
        await world.until(lambda: world.servers.reads == ["s"])
        world.servers.say("s", "connected")
        for _ in range(5):
            world.servers.say("s", "tools")
        await anyio.wait_all_tasks_blocked()
        world.servers.held.set()
        await world.until(lambda: world.names() == ["b"])
        await anyio.wait_all_tasks_blocked()
    assert world.servers.reads == ["s", "s"]


@pytest.mark.case("G3")
async def test_a_server_that_was_never_seen_is_tried_until_it_answers() -> None:
    """With growing pauses."""
    refused = RemoteError(-32603, "not yet", server="s")
    world = World(Servers(s=[DOWN, refused, StorageError("disk full"), ["a"]]))
    async with world.running():
        await world.until(lambda: world.names() == ["a"])
    assert [pause_after(failures) for failures in (0, 1, 2, 3)] == [2, 2, 4, 8]
    assert pause_after(50) == LONGEST_PAUSE_S


@pytest.mark.case("G3")
async def test_what_is_known_stays_and_is_stale_when_it_cannot_be_read() -> None:
    """A list read in part is stale too; a sound one clears it."""
    part = Snapshot("s", tools=({"name": "a"},), partial={"tools": "page 2 failed"})
    world = World(Servers(s=[["a", "b"], DOWN, part, ["a"]]))
    await world.discovery.refresh("s")
    with pytest.raises(DownstreamError):
        await world.discovery.refresh("s")
    assert (world.names(), world.catalog.is_stale("s")) == (["a", "b"], True)
    await world.discovery.refresh("s")
    assert (world.names(), world.catalog.is_stale("s")) == (["a", "b"], True)
    await world.discovery.refresh("s")
    assert (world.names(), world.catalog.is_stale("s")) == (["a"], False)


async def test_a_server_that_went_out_of_the_configuration_is_let_go() -> None:
    """A read that was on its way ends quietly."""
    world = World(Servers(s=[["a"]]))
    world.discovery.want(["gone"])
    async with world.running():
        await world.until(lambda: set(world.servers.reads) == {"s", "gone"})
        await world.until(lambda: world.names() == ["a"])
