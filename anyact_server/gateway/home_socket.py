"""Serves the clients of one home over a socket in its folder, so that later processes need not start every server anew.

One connection is one client; the bytes on it are those of stdio. Only the owner of the home can open the socket.
"""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
from anyio.abc import SocketAttribute, SocketStream
from mcp.server import Server
from mcp.server.runner import serve_dual_era_loop

from anyact_server.errors import AnyActError
from anyact_server.telemetry import logger

from .stdio import LINE_BYTES, streams

LOG = logger("gateway")
GREETING_S = 10.0
"""One that never says which endpoint it wants must not keep the instance alive."""
GREETING_BYTES = 1024


class HomeSocket:
    """Counts its clients, so that the instance can stay for as long as somebody is connected."""

    def __init__(
        self,
        path: Path,
        server: Callable[[str | None], Awaitable[Server[Any]]],
        *,
        line_bytes: int = LINE_BYTES,
        greeting_s: float = GREETING_S,
    ) -> None:
        """Make the socket's server.

        Args:
            path: where the socket is; a stale one is replaced.
            server: makes the MCP server for a client (None: the front; else the name of a transparent endpoint).
            line_bytes: longest message that is read.
            greeting_s: how long a client may take to say which endpoint it wants.
        """
        self._path = path
        self._server = server
        self._line_bytes = line_bytes
        self._greeting_s = greeting_s
        self._clients = 0
        self._changed = anyio.Event()

    @asynccontextmanager
    async def serving(self) -> AsyncIterator[None]:
        """Accept clients for as long as the block lasts.

        Where the socket cannot be made (its path is too long for the system, say) the block runs without it: the
        client of this very process is served all the same.
        """
        try:
            self._path.unlink(missing_ok=True)
            listener = await anyio.create_unix_listener(self._path, mode=0o600)
        except OSError as error:
            LOG.warning("no second client can use this home: %s cannot be made: %s", self._path, error)
            yield
            return
        try:
            async with listener, anyio.create_task_group() as group:
                group.start_soon(listener.serve, self._serve)
                yield
                group.cancel_scope.cancel()
        finally:
            self._path.unlink(missing_ok=True)

    async def unused(self, seconds: float) -> None:
        """Return once nobody has been connected for so long."""
        while True:
            changed = self._changed
            if self._clients:
                await changed.wait()
                continue
            with anyio.move_on_after(seconds) as scope:
                await changed.wait()
            if scope.cancelled_caught:
                return

    def _count(self, step: int) -> None:
        self._clients += step
        self._changed.set()
        self._changed = anyio.Event()

    async def _serve(self, stream: SocketStream) -> None:
        self._count(1)
        try:
            async with stream:
                with anyio.fail_after(self._greeting_s):
                    endpoint = await _endpoint(stream)
                server = await self._server(endpoint)
                descriptor = stream.extra(SocketAttribute.raw_socket).fileno()
                await _converse(server, descriptor, self._line_bytes)
        except (OSError, anyio.BrokenResourceError, anyio.EndOfStream, AnyActError) as error:
            LOG.info("a client of the home left: %s", error)
        finally:
            self._count(-1)


async def _endpoint(stream: SocketStream) -> str | None:
    """The first line: empty for the front, else the name of a server whose transparent endpoint is wanted."""
    line = bytearray()
    while (byte := await stream.receive(1)) != b"\n":
        line += byte
        if len(line) > GREETING_BYTES:
            raise anyio.BrokenResourceError
    return line.decode("utf-8", "replace") or None


async def _converse(server: Server[Any], descriptor: int, line_bytes: int) -> None:
    private = os.dup(descriptor)
    try:
        async with (
            server.lifespan(server) as state,
            streams(private, private, line_bytes) as (reader, writer),
        ):
            await serve_dual_era_loop(server, reader, writer, lifespan_state=state)
    finally:
        os.close(private)
