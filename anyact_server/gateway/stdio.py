"""Serves one client over standard input and output.

Standard output carries the protocol and nothing else: while serving, the process's own descriptors 0 and 1 point at the
null device and at standard error, so that a stray print or a child's chatter misses the wire.
"""

from __future__ import annotations

import os
import secrets
import signal
import stat
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import Any

import anyio
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from mcp.server import Server
from mcp.server.runner import serve_dual_era_loop
from mcp.shared.message import SessionMessage

from anyact_server.telemetry import logger

from .callers import PIPE
from .wire import Lines, dumps, parse

LOG = logger("gateway")
CHUNK = 256 * 1024
LINE_BYTES = 64 * 1024 * 1024
STOP_S = 15.0
"""How long after a signal further ones are absorbed; a stop that hangs can be ended then."""


async def serve_stdio(
    server: Server[Any], *, line_bytes: int = LINE_BYTES, stdin: int = 0, stdout: int = 1, signals: bool = True
) -> None:
    """Serve `server` until the client closes its end, or the process is asked to stop.

    Args:
        server: any low-level server; both protocol eras are spoken.
        line_bytes: longest message that is read; a longer one is answered with an error and skipped.
        stdin, stdout: descriptors of the pipe, claimed while serving.
        signals: end orderly on SIGTERM and SIGINT; further ones change nothing until that is done.
    """
    with claimed(stdin, os.O_RDONLY) as source, claimed(stdout, os.O_WRONLY) as sink:
        async with anyio.create_task_group() as watch:
            # The watch stands outside of what a signal cancels, so that it lasts until the server's lifespan has ended.
            with anyio.CancelScope() as scope:
                if signals:
                    await watch.start(_stop_on_signal, scope)
                async with server.lifespan(server) as state, streams(source, sink, line_bytes) as (reader, writer):
                    await serve_dual_era_loop(server, reader, writer, lifespan_state=state)
            watch.cancel_scope.cancel()


async def _stop_on_signal(
    scope: anyio.CancelScope, *, task_status: anyio.abc.TaskStatus[None] = anyio.TASK_STATUS_IGNORED
) -> None:
    with anyio.open_signal_receiver(signal.SIGTERM, signal.SIGINT) as received:
        task_status.started()
        LOG.info("stopped by %s", (await anext(received)).name)
        scope.cancel()
        await anyio.sleep(STOP_S)


@asynccontextmanager
async def streams(
    source: int, sink: int, line_bytes: int
) -> AsyncIterator[
    tuple[MemoryObjectReceiveStream[SessionMessage | Exception], MemoryObjectSendStream[SessionMessage]]
]:
    """The message streams of a pair of descriptors, as the SDK's loops take them; one client, one session key."""
    PIPE.set(secrets.token_hex(8))
    received_send, received = anyio.create_memory_object_stream[SessionMessage | Exception](0)
    outgoing, outgoing_receive = anyio.create_memory_object_stream[SessionMessage](0)
    with received, outgoing:
        async with anyio.create_task_group() as group:
            group.start_soon(_read, source, line_bytes, received_send, outgoing.clone())
            group.start_soon(_write, sink, outgoing_receive)
            yield received, outgoing
            group.cancel_scope.cancel()


async def _read(
    source: int,
    line_bytes: int,
    received: MemoryObjectSendStream[SessionMessage | Exception],
    outgoing: MemoryObjectSendStream[SessionMessage],
) -> None:
    """Turn bytes into messages until the end; what is no message is answered with an error."""
    lines = Lines(line_bytes)
    try:
        async with received, outgoing:
            while chunk := await read_some(source):
                for line in lines.feed(chunk):
                    await _take(line, line_bytes, received, outgoing)
            for line in lines.end():
                await _take(line, line_bytes, received, outgoing)
    except (anyio.BrokenResourceError, anyio.ClosedResourceError):
        LOG.debug("the server left before its client did")


async def _take(
    line: bytes | None,
    line_bytes: int,
    received: MemoryObjectSendStream[SessionMessage | Exception],
    outgoing: MemoryObjectSendStream[SessionMessage],
) -> None:
    found = parse(line, most=line_bytes)
    for error in found.errors:
        LOG.warning("the client sent no message: %s", error.error.message)
        await outgoing.send(SessionMessage(error))
    for message in found.messages:
        await received.send(SessionMessage(message))


async def _write(sink: int, outgoing: MemoryObjectReceiveStream[SessionMessage]) -> None:
    """Write messages until there are no more; a client that closed its end gets none."""
    try:
        async with outgoing:
            async for message in outgoing:
                await write_all(sink, dumps(message.message))
    except OSError as error:
        LOG.debug("the client closed its end: %s", error)


async def read_some(source: int) -> bytes:
    """Some bytes; none at the end. Waits without a thread, except for what cannot be waited for (a plain file)."""
    try:
        await anyio.wait_readable(source)
    except PermissionError:
        # A plain file or the null device is always ready, so the selector refuses it.
        await anyio.lowlevel.checkpoint()
    try:
        return os.read(source, CHUNK)
    except ConnectionResetError:
        return b""


async def write_all(sink: int, data: bytes) -> None:
    """Write every byte, waiting while the client does not read."""
    view = memoryview(data)
    while view:
        try:
            view = view[os.write(sink, view) :]
        except BlockingIOError:
            await anyio.wait_writable(sink)


@contextmanager
def claimed(descriptor: int, mode: int) -> Iterator[int]:
    """A private duplicate of a standard descriptor, which points elsewhere until the block ends.

    Input is diverted to the null device, output to standard error. A pipe for output does not block while claimed.
    """
    private = os.dup(descriptor)
    os.set_inheritable(private, False)
    diverted = os.open(os.devnull, os.O_RDONLY) if mode == os.O_RDONLY else os.dup(2)
    os.dup2(diverted, descriptor)
    os.close(diverted)
    kind = os.fstat(private).st_mode
    pipe = mode == os.O_WRONLY and (stat.S_ISFIFO(kind) or stat.S_ISSOCK(kind))
    if pipe:
        os.set_blocking(private, False)
    try:
        yield private
    finally:
        if mode == os.O_WRONLY:
            # What was printed but not written yet would otherwise end up on the wire after all.
            sys.stdout.flush()
        if pipe:
            os.set_blocking(private, True)
        os.dup2(private, descriptor)
        os.close(private)
