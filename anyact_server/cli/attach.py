"""The thin bridge: a later `serve --stdio` on a home that is held copies its pipe to the holder's socket.

It imports neither the MCP library nor the app, so that a client's start costs next to nothing. It reads just enough
of each line to know which requests are unanswered: when the holder ends, those get an error that says so, another
holder is found or started, and an old-era client's handshake is replayed to it, so that the client's session goes on.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import anyio
import anyio.lowlevel
import anyio.to_thread
import orjson
from anyio.abc import ObjectReceiveStream, ObjectSendStream, SocketStream
from anyio.streams.buffered import BufferedByteReceiveStream

from anyact_server.errors import HomeLocked

REPLIES_LOST = -32000
CHUNK = 256 * 1024
LINE_BYTES = 64 * 1024 * 1024
HOLDER_WAIT_S = 20.0
LAST_BREATH_S = 0.3
"""Pause after a holder's end: a dying process may still take connections that nobody will serve."""
MOST_SILENT = 3
"""Holders in a row that may end without a word before the bridge gives up."""


def parse(line: bytes) -> dict[str, Any]:
    """The JSON object of a line, empty for anything else."""
    try:
        message = orjson.loads(line)
    except orjson.JSONDecodeError:
        return {}
    return message if isinstance(message, dict) else {}


class Ledger:
    """What a client waits for: unanswered request ids, and the handshake to replay. Pure."""

    def __init__(self) -> None:
        self.waiting: dict[Any, None] = {}
        self.handshake: list[bytes] = []
        self.swallow: Any = None
        self.silent = 0

    def sent(self, line: bytes) -> None:
        """Note a line from the client."""
        message = parse(line)
        method = message.get("method")
        if method is not None and isinstance(message.get("id"), str | int):
            self.waiting[message["id"]] = None
        if method in ("initialize", "notifications/initialized", "logging/setLevel"):
            self.handshake.append(line)

    def answered(self, line: bytes) -> bool:
        """Note a line from the holder; False when the client must not see it (the answer to a replayed handshake)."""
        message = parse(line)
        self.silent = 0
        if "method" in message:
            return True
        answer = message.get("id")
        if answer is not None and answer == self.swallow:
            self.swallow = None
            return False
        if isinstance(answer, str | int):
            self.waiting.pop(answer, None)
        return True

    def lost(self) -> list[bytes]:
        """Note that the holder ended: an error line for every unanswered request, which nobody waits for any more."""
        self.silent += 1
        text = (
            "The AnyAct instance that ran this call ended; whether it took effect is not known. Check, then call again."
        )
        lines = [
            orjson.dumps({"jsonrpc": "2.0", "id": one, "error": {"code": REPLIES_LOST, "message": text}}) + b"\n"
            for one in self.waiting
        ]
        self.waiting.clear()
        return lines

    def replay(self) -> list[bytes]:
        """The handshake for a new holder; the answer to its `initialize` will be swallowed."""
        for line in self.handshake:
            message = parse(line)
            if message.get("method") == "initialize":
                self.swallow = message.get("id")
        return list(self.handshake)


async def attach(socket: Path, endpoint: str | None, restart: Callable[[], None]) -> None:
    """Be the client's end of the holder's socket until the client leaves.

    Args:
        socket: the socket in the home folder.
        endpoint: name of a server for its transparent endpoint, None for the front.
        restart: starts a new holder unless another one is there already.

    Raises:
        HomeLocked: the holder ended and no other came up in time, or several in a row ended without a word.
    """
    ledger = Ledger()
    lines, source = anyio.create_memory_object_stream[bytes](64)
    async with source, anyio.create_task_group() as group:
        group.start_soon(_read_client, lines)
        holder = await _next_holder(socket, endpoint, restart)
        while not await _converse(source, holder, ledger):
            for line in ledger.lost():
                await _write_client(line)
            if ledger.silent >= MOST_SILENT:
                raise HomeLocked(
                    f"the instance that serves {socket.parent} closes the connection at once",
                    hint=f"It may have no server named {endpoint!r}: anyact servers" if endpoint else None,
                )
            await anyio.sleep(LAST_BREATH_S)
            holder = await _next_holder(socket, endpoint, restart)
            with suppress(anyio.BrokenResourceError):  # it ended again, which the conversation notices
                for line in ledger.replay():
                    await holder.send(line)
        group.cancel_scope.cancel()


async def _read_client(lines: ObjectSendStream[bytes]) -> None:
    """Send the client's lines on, whole, until it closes its end."""
    rest = bytearray()
    async with lines:
        while True:
            try:
                await anyio.wait_readable(0)
            except PermissionError:  # a plain file is always ready, so the selector refuses it
                await anyio.lowlevel.checkpoint()
            chunk = os.read(0, CHUNK)
            if not chunk:
                return
            *whole, tail = chunk.split(b"\n")
            for line in whole:
                await lines.send(bytes(rest) + line + b"\n")
                rest.clear()
            rest += tail


async def _write_client(line: bytes) -> None:
    """Write a line whole; in a thread, for a client may read slowly."""

    def write() -> None:
        view = memoryview(line)
        while view:
            view = view[os.write(1, view) :]

    await anyio.to_thread.run_sync(write)


async def _connect(socket: Path, endpoint: str | None) -> SocketStream:
    stream = await anyio.connect_unix(socket)
    await stream.send((endpoint or "").encode() + b"\n")
    return stream


async def _converse(source: ObjectReceiveStream[bytes], holder: SocketStream, ledger: Ledger) -> bool:
    """Copy both ways; True when the client left, False when the holder did."""
    left = False

    async def to_client(scope: anyio.CancelScope) -> None:
        received = BufferedByteReceiveStream(holder)
        try:
            while True:
                line = await received.receive_until(b"\n", LINE_BYTES) + b"\n"
                if ledger.answered(line):
                    await _write_client(line)
        except (anyio.EndOfStream, anyio.IncompleteRead, anyio.DelimiterNotFound, anyio.BrokenResourceError):
            scope.cancel()

    async with holder, anyio.create_task_group() as group:
        group.start_soon(to_client, group.cancel_scope)
        try:
            async for line in source:
                ledger.sent(line)
                await holder.send(line)
            left = True
        except (anyio.BrokenResourceError, anyio.ClosedResourceError):
            left = False
        if left:
            await holder.send_eof()
        else:
            group.cancel_scope.cancel()
    return left


async def _next_holder(socket: Path, endpoint: str | None, restart: Callable[[], None]) -> SocketStream:
    """The connection to the next holder: one that is there, or one that is started now."""
    restart()
    with anyio.move_on_after(HOLDER_WAIT_S):
        while True:
            try:
                return await _connect(socket, endpoint)
            except (OSError, anyio.BrokenResourceError):
                await anyio.sleep(0.1)
    raise HomeLocked(
        f"the instance that held {socket.parent} ended and no other came up within {HOLDER_WAIT_S:.0f} s",
        hint="Start the client again; `anyact doctor` tells what is wrong.",
    )
