"""One client over standard input and output."""

from __future__ import annotations

import json
import os
import signal
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from functools import partial
from typing import Any

import anyio
import pytest
from anyio.abc import Process
from mcp import Client, StdioServerParameters

from anyact_server.gateway import FrontServer, ready, serve_stdio
from anyact_server.gateway.stdio import claimed, read_some, write_all

from . import serving
from .clients import MODES, Mode
from .twins import action, world

pytestmark = pytest.mark.anyio

COMMAND = [sys.executable, "-m", "tests.gateway.serving"]
HELLO: dict[str, Any] = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}},
}
READY = {"jsonrpc": "2.0", "method": "notifications/initialized"}


class Talk:
    """A raw conversation over a pair of pipes."""

    def __init__(self, writer: int, reader: int) -> None:
        self.writer = writer
        self.reader = reader
        self._rest = b""

    async def say(self, *messages: Any) -> None:
        """Send messages, or raw bytes."""
        lines = [item if isinstance(item, bytes) else json.dumps(item).encode() + b"\n" for item in messages]
        await write_all(self.writer, b"".join(lines))

    async def hear(self) -> dict[str, Any]:
        """The next line, which must be JSON."""
        with anyio.fail_after(20):
            while b"\n" not in self._rest:
                self._rest += await read_some(self.reader)
        line, self._rest = self._rest.split(b"\n", 1)
        return dict(json.loads(line))


@contextmanager
def _pipes() -> Iterator[tuple[int, int, Talk]]:
    """Descriptors for a server, and a conversation over the other ends."""
    (source, writer), (reader, sink) = os.pipe(), os.pipe()
    os.set_blocking(writer, False)
    try:
        yield source, sink, Talk(writer, reader)
    finally:
        for descriptor in (source, writer, reader, sink):
            os.close(descriptor)


@asynccontextmanager
async def _talk() -> AsyncIterator[Talk]:
    """A conversation with a front in this process."""
    with _pipes() as (source, sink, talk):
        async with anyio.create_task_group() as group:
            server = FrontServer(ready(serving.parts()))
            group.start_soon(
                partial(serve_stdio, server, stdin=source, stdout=sink, signals=False, line_bytes=1_000_000)
            )
            yield talk
            group.cancel_scope.cancel()


@asynccontextmanager
async def _process(*flags: str) -> AsyncIterator[tuple[Process, Talk]]:
    """A conversation with a process of its own."""
    with _pipes() as (source, sink, talk):
        async with await anyio.open_process([*COMMAND, *flags], stdin=source, stdout=sink, stderr=None) as process:
            try:
                yield process, talk
            finally:
                if process.returncode is None:
                    process.kill()


@pytest.mark.parametrize("mode", MODES)
async def test_a_real_process_serves_a_client_of_each_era(mode: Mode) -> None:
    """A stray print of the process never reaches the wire; progress does."""
    steps: list[float] = []

    async def on_progress(progress: float, total: float | None, message: str | None) -> None:
        steps.append(progress)

    target = StdioServerParameters(command=COMMAND[0], args=COMMAND[1:], cwd=os.getcwd())
    async with Client(target, mode=mode, cache=None) as client:
        assert len((await client.list_tools()).tools) == 8
        chat = await client.call_tool("call_action", {"action": "demo__chatter"})
        assert not chat.is_error
        await client.call_tool("call_action", {"action": "demo__slow"}, progress_callback=on_progress)
    assert steps == [0, 1, 2]


async def test_the_greeting_does_not_wait_for_the_parts() -> None:
    """Catalog and servers may take for ever."""
    async with _process("--late") as (_, talk):
        await talk.say(HELLO)
        greeting = await talk.hear()
        assert greeting["result"]["serverInfo"]["name"] == "anyact"
        await talk.say(READY, {"jsonrpc": "2.0", "id": 2, "method": "ping"})
        assert await talk.hear() == {"jsonrpc": "2.0", "id": 2, "result": {}}


@pytest.mark.case("E1")
@pytest.mark.case("E2")
async def test_bad_lines_are_answered_with_errors_and_the_stream_lives_on() -> None:
    """Junk, bad bytes, endless lines, arrays, blank lines, a message glued to nothing."""
    async with _talk() as talk:
        await talk.say(b"\n", b"hello\n", HELLO)
        heard = [await talk.hear(), await talk.hear()]
        assert [message.get("error", {}).get("code") for message in heard] == [-32700, None]
        call = {"action": "demo__echo", "arguments": {"text": "x"}}
        request = {
            "jsonrpc": "2.0",
            "id": 2,
            "method": "tools/call",
            "params": {"name": "call_action", "arguments": call},
        }
        raw = json.dumps(request).encode()
        await talk.say(
            READY,
            b"x" * 1_500_000 + b"\n",
            raw.replace(b'"x"', b'"\xbd"') + b"\r\n",
            b'{"jsonrpc":"2.0","id":3,"method":"nope"}\n',
            b'[{"jsonrpc":"2.0","id":4,"method":"ping"}]\n',
        )
        by_id = {message.get("id"): message for message in [await talk.hear() for _ in range(4)]}
        assert "1,000,000 bytes" in by_id[None]["error"]["message"]
        assert "\ufffd" in by_id[2]["result"]["content"][0]["text"]
        assert by_id[3]["error"]["code"] == -32601
        assert by_id[4]["result"] == {}


async def test_requests_before_the_handshake_are_refused() -> None:
    """As the protocol wants it, with what to do."""
    async with _talk() as talk:
        await talk.say({"jsonrpc": "2.0", "id": 1, "method": "tools/list"})
        refused = await talk.hear()
        assert "initialize first" in refused["error"]["message"]
        await talk.say({"jsonrpc": "2.0", "id": 2, "method": "server/discover"})
        assert "error" in await talk.hear()


@pytest.mark.case("Q1")
async def test_a_malformed_answer_of_the_client_is_a_refusal() -> None:
    """The call that asked ends, and says why."""
    async with _talk() as talk:
        able = {**HELLO["params"], "capabilities": {"elicitation": {}}}
        call = {"name": "call_action", "arguments": {"action": "demo__ask"}}
        await talk.say({**HELLO, "params": able}, READY)
        await talk.hear()
        await talk.say({"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": call})
        question = await talk.hear()
        assert question["method"] == "elicitation/create"
        await talk.say({"jsonrpc": "2.0", "id": question["id"], "result": {"action": 3}})
        result = (await talk.hear())["result"]
        assert result["isError"] is True
        assert "the client's answer to elicitation/create is malformed" in result["content"][0]["text"]


async def test_a_method_of_the_other_era_is_unknown() -> None:
    """A modern client cannot set a level for a session that it does not have."""
    meta = {"io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientCapabilities": {}}
    async with _talk() as talk:
        params = {"level": "debug", "_meta": meta}
        await talk.say({"jsonrpc": "2.0", "id": 1, "method": "logging/setLevel", "params": params})
        assert (await talk.hear())["error"]["code"] == -32601
        await talk.say({"jsonrpc": "2.0", "id": 2, "method": "tools/list", "params": {"_meta": meta}})
        found = (await talk.hear())["result"]
        assert (found["resultType"], found["ttlMs"], found["cacheScope"]) == ("complete", 0, "private")


@pytest.mark.parametrize("version", ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"])
async def test_every_handshake_version_is_spoken(version: str) -> None:
    """Down to the first."""
    async with _talk() as talk:
        await talk.say({**HELLO, "params": {**HELLO["params"], "protocolVersion": version}})
        assert (await talk.hear())["result"]["protocolVersion"] == version
        await talk.say(READY, {"jsonrpc": "2.0", "id": 2, "method": "tools/list"})
        assert len((await talk.hear())["result"]["tools"]) == 8


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
async def test_a_signal_ends_the_process_in_order(number: signal.Signals) -> None:
    """It leaves its own cleaning up to do, and no error code of a crash."""
    async with _process() as (process, talk):
        await talk.say(HELLO)
        await talk.hear()
        process.send_signal(number)
        with anyio.fail_after(10):
            assert await process.wait() == 0


def _crowded() -> FrontServer:
    actions = [action("s", f"a{number}", description="x" * 500) for number in range(300)]
    return FrontServer(ready(world(actions, exposure="direct").parts))


async def test_large_answers_wait_for_a_slow_reader() -> None:
    """More than a pipe holds, every byte in order."""
    with _pipes() as (source, sink, talk):
        async with anyio.create_task_group() as group:
            group.start_soon(partial(serve_stdio, _crowded(), stdin=source, stdout=sink, signals=False))
            await talk.say(HELLO, READY, {"jsonrpc": "2.0", "id": 2, "method": "tools/list"})
            assert (await talk.hear())["id"] == 1
            await anyio.wait_all_tasks_blocked()
            assert len((await talk.hear())["result"]["tools"]) == 301
            group.cancel_scope.cancel()


async def test_the_end_of_input_ends_the_serving() -> None:
    """A last line without its end is still read."""
    (source, writer), (reader, sink) = os.pipe(), os.pipe()
    os.write(writer, json.dumps({"id": 7}).encode())
    os.close(writer)
    with anyio.fail_after(10):
        await serve_stdio(_crowded(), stdin=source, stdout=sink, signals=False)
    assert json.loads(os.read(reader, 10_000))["id"] == 7
    for descriptor in (source, reader, sink):
        os.close(descriptor)


async def test_a_client_that_closed_its_end_is_no_error() -> None:
    """The serving goes on until the input ends too."""
    (source, writer), (reader, sink) = os.pipe(), os.pipe()
    os.close(reader)
    with anyio.fail_after(10):
        async with anyio.create_task_group() as group:
            group.start_soon(partial(serve_stdio, _crowded(), stdin=source, stdout=sink, signals=False))
            for _ in range(2):
                await write_all(writer, json.dumps(HELLO).encode() + b"\n")
                await anyio.wait_all_tasks_blocked()
            os.close(writer)
    for descriptor in (source, sink):
        os.close(descriptor)


async def test_what_cannot_be_waited_for_is_read_at_once(tmp_path: Any) -> None:
    """A plain file as input."""
    file = tmp_path / "input"
    file.write_bytes(b"abc")
    descriptor = os.open(file, os.O_RDONLY)
    try:
        assert await read_some(descriptor) == b"abc"
        assert await read_some(descriptor) == b""
    finally:
        os.close(descriptor)


async def test_writing_waits_while_the_pipe_is_full() -> None:
    """And loses nothing."""
    reader, writer = os.pipe()
    os.set_blocking(writer, False)
    data = os.urandom(300_000)
    heard = bytearray()

    async def read() -> None:
        while len(heard) < len(data):
            heard.extend(await read_some(reader))

    with anyio.fail_after(10):
        async with anyio.create_task_group() as group:
            group.start_soon(write_all, writer, data)
            group.start_soon(read)
    assert bytes(heard) == data
    os.close(reader)
    os.close(writer)


def test_claimed_descriptors_are_diverted_and_given_back(tmp_path: Any) -> None:
    """A plain file keeps blocking."""
    path = tmp_path / "out"
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT)
    with claimed(descriptor, os.O_WRONLY) as private:
        os.write(private, b"wire ")
        assert os.get_blocking(private)
    os.write(descriptor, b"after")
    os.close(descriptor)
    assert path.read_bytes() == b"wire after"
