"""The socket by which later processes share an instance."""

from __future__ import annotations

import json
import logging
import stat
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import pytest
from anyio.abc import SocketStream
from anyio.streams.buffered import BufferedByteReceiveStream
from mcp.server import Server

from anyact_server.errors import UnknownServer
from anyact_server.gateway import FrontServer, HomeSocket, ready
from tests.servers import plain

from .twins import action, world

pytestmark = pytest.mark.anyio

HELLO = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}},
}


async def _server(name: str | None) -> Server[Any]:
    if name is None:
        return FrontServer(ready(world([action("demo", "echo")]).parts))
    if name == "plain":
        return plain.build()
    raise UnknownServer(f"no server is called {name!r}")


class Talk:
    """One client of the socket."""

    def __init__(self, stream: SocketStream) -> None:
        self.stream = stream
        self._lines = BufferedByteReceiveStream(stream)

    async def ask(self, message: dict[str, Any]) -> dict[str, Any]:
        """Send a request and give its answer."""
        await self.stream.send(json.dumps(message).encode() + b"\n")
        while True:
            answer = json.loads(await self._lines.receive_until(b"\n", 1_000_000))
            if answer.get("id") == message["id"]:
                return dict(answer)

    async def closed(self) -> bool:
        """Whether the other side closes the connection."""
        try:
            while await self.stream.receive():
                continue
        except (anyio.EndOfStream, anyio.BrokenResourceError):
            return True
        return False


@asynccontextmanager
async def client(path: Path, greeting: bytes = b"\n") -> AsyncIterator[Talk]:
    """A client that says which endpoint it wants."""
    async with await anyio.connect_unix(path) as stream:
        await stream.send(greeting)
        yield Talk(stream)


@asynccontextmanager
async def standing(folder: Path, **more: Any) -> AsyncIterator[tuple[HomeSocket, Path]]:
    """A home's socket at work."""
    path = folder / "a.sock"
    socket = HomeSocket(path, _server, **more)
    with anyio.fail_after(20):
        async with socket.serving():
            yield socket, path


async def test_clients_of_the_socket_share_one_instance_and_each_gets_its_answers(tmp_path: Path) -> None:
    """The front for some, one server as it is for others."""
    async with standing(tmp_path) as (_, path), client(path) as first, client(path, b"plain\n") as second:
        front, server = await first.ask(HELLO), await second.ask(HELLO)
        assert front["result"]["serverInfo"]["name"] == "anyact"
        assert server["result"]["serverInfo"]["name"] == "plain"
        for talk, count in ((first, 8), (second, 18)):
            await talk.stream.send(b'{"jsonrpc": "2.0", "method": "notifications/initialized"}\n')
            tools = await talk.ask({"jsonrpc": "2.0", "id": 2, "method": "tools/list"})
            assert len(tools["result"]["tools"]) == count


async def test_only_the_owner_may_open_the_socket_and_it_goes_with_the_instance(tmp_path: Path) -> None:
    """A stale one of a process that died is replaced."""
    (tmp_path / "a.sock").write_text("stale", encoding="utf-8")
    async with standing(tmp_path) as (_, path):
        mode = path.stat().st_mode
        assert stat.S_ISSOCK(mode) and stat.S_IMODE(mode) == 0o600
    assert not path.exists()


@pytest.mark.parametrize("greeting", [b"nope\n", b"x" * 5000, b"\xff\xfe\n"])
async def test_an_unknown_endpoint_is_told_by_closing_and_harms_nobody(tmp_path: Path, greeting: bytes) -> None:
    """The next client is served."""
    async with standing(tmp_path) as (socket, path):
        async with client(path, greeting) as lost:
            assert await lost.closed()
        async with client(path) as talk:
            assert "result" in await talk.ask(HELLO)
        await socket.unused(0.0)


async def test_a_client_that_never_says_what_it_wants_is_closed(tmp_path: Path) -> None:
    """It does not keep the instance alive."""
    async with standing(tmp_path, greeting_s=0.05) as (socket, path), client(path, b"pla") as silent:
        assert await silent.closed()
        await socket.unused(0.0)


async def test_the_instance_stays_while_somebody_is_connected(tmp_path: Path) -> None:
    """And for a while after the last one has left."""
    async with standing(tmp_path) as (socket, path):
        async with client(path) as talk:
            await talk.ask(HELLO)
            with anyio.move_on_after(0.05) as scope:
                await socket.unused(0.0)
            assert scope.cancelled_caught
        await socket.unused(0.01)

        left = anyio.Event()

        async def wait() -> None:
            await socket.unused(0.2)
            left.set()

        async with anyio.create_task_group() as group:
            group.start_soon(wait)
            async with client(path) as talk:
                await talk.ask(HELLO)
                with anyio.move_on_after(0.3):
                    await left.wait()
                assert not left.is_set()
            await left.wait()


async def test_a_client_that_goes_away_in_mid_message_harms_nobody(tmp_path: Path) -> None:
    """Nor one whose message is too long."""
    async with standing(tmp_path, line_bytes=2000) as (socket, path):
        async with client(path) as rude:
            await rude.stream.send(b'{"jsonrpc": "2.0", "id"')
        async with client(path) as talk:
            await talk.stream.send(b"x" * 5000 + b"\n")
            assert "result" in await talk.ask(HELLO)
        await socket.unused(0.0)


async def test_leaving_closes_every_client(tmp_path: Path) -> None:
    """Nothing is left behind."""
    with anyio.fail_after(10):
        async with anyio.create_task_group():
            async with standing(tmp_path) as (_, path):
                stream = await anyio.connect_unix(path)
                await stream.send(b"\n")
                talk = Talk(stream)
                await talk.ask(HELLO)
            assert await talk.closed()
            await stream.aclose()


async def test_a_home_whose_socket_cannot_be_made_still_serves(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Its path is too long for the system; the log says so."""
    path = tmp_path / ("x" * 120) / "a.sock"
    path.parent.mkdir()
    log = logging.getLogger("anyact.gateway")
    log.addHandler(caplog.handler)
    try:
        async with HomeSocket(path, _server).serving():
            assert not path.exists()
    finally:
        log.removeHandler(caplog.handler)
    assert "no second client can use this home" in caplog.text
