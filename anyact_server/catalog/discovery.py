"""Keeps the catalog true: reads what servers offer at first sight, after a change, after a reconnect, and now and then.

The catalog never waits for this. A server that cannot be read keeps its last snapshot, marked stale, and is tried again
with growing pauses as long as nothing is known of it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

import anyio
from anyio.abc import TaskGroup

from anyact_server.errors import DownstreamError, RemoteError, StorageError, UnknownServer
from anyact_server.interfaces import Catalog, Downstreams, ServerEvent
from anyact_server.telemetry import logger
from anyact_server.types import CatalogChange, ServerSpec

LOG = logger("catalog")
FIRST_PAUSE_S = 2.0
LONGEST_PAUSE_S = 300.0
LISTS = frozenset({"tools", "prompts", "resources"})


def pause_after(failures: int) -> float:
    """Seconds to wait before reading a server again after so many failures in a row: 2, 4, 8 ... 300."""
    return min(FIRST_PAUSE_S * 2.0 ** max(failures - 1, 0), LONGEST_PAUSE_S)


def worth_reading(spec: ServerSpec) -> bool:
    """Whether a server can be read at all."""
    return not spec.disabled and spec.fault is None


class Discovery:
    """Reads servers in the background, one read at a time per server.

    Args:
        catalog: what is kept true.
        downstreams: what is read.
        refresh_s: servers that are up are read again after so many seconds.
        pause: seconds to wait before a server that was never seen is tried again, by its failures in a row.
    """

    def __init__(
        self,
        catalog: Catalog,
        downstreams: Downstreams,
        *,
        refresh_s: float = 3600.0,
        pause: Callable[[int], float] = pause_after,
    ) -> None:
        self._catalog = catalog
        self._downstreams = downstreams
        self._refresh_s = refresh_s
        self._pause = pause
        self._wanted: dict[str, None] = {}
        self._wake: anyio.Event | None = None
        self._reading: set[str] = set()
        self._again: set[str] = set()
        self._failures: dict[str, int] = {}

    def want(self, servers: Iterable[str]) -> None:
        """Ask for servers to be read soon; asking again while one is being read reads it once more afterwards."""
        self._wanted.update(dict.fromkeys(servers))
        if self._wake is not None:
            self._wake.set()

    def want_unseen(self) -> None:
        """Ask for every server that can be read and never was."""
        self.want(spec.name for spec in self._catalog.specs() if worth_reading(spec) and self._unseen(spec.name))

    async def run(self) -> None:
        """Serve until cancelled: first everything that was never seen, then whatever changes."""
        stop = self._downstreams.listen(self._note)
        try:
            self.want_unseen()
            async with anyio.create_task_group() as group:
                group.start_soon(self._revisit)
                while True:
                    self._wake = anyio.Event()
                    self._start(group)
                    await self._wake.wait()
        finally:
            self._wake = None
            stop()

    def _start(self, group: TaskGroup) -> None:
        """Begin to read whatever is wanted."""
        wanted, self._wanted = self._wanted, {}
        for server in wanted:
            if server in self._reading:
                self._again.add(server)
            else:
                self._reading.add(server)
                group.start_soon(self._read, server, group)

    async def refresh(self, server: str) -> CatalogChange:
        """Read one server now and make what it offers current.

        Raises:
            UnknownServer, DownstreamError, NeedsLogin, RemoteError: the catalog keeps what it knew, marked stale.
        """
        try:
            snapshot = await self._downstreams.take_snapshot(server)
        except (DownstreamError, RemoteError):
            if not self._unseen(server):
                self._catalog.mark_stale(server, True)
            raise
        change = self._catalog.record_snapshot(snapshot)
        self._catalog.mark_stale(server, "tools" in snapshot.partial)
        return change

    def _unseen(self, server: str) -> bool:
        return self._catalog.snapshot(server) is None

    def _note(self, event: ServerEvent) -> None:
        fresh = event.what == "connected" and event.server not in self._reading
        if fresh or event.what in LISTS:
            self.want([event.server])

    async def _read(self, server: str, group: TaskGroup) -> None:
        try:
            await self.refresh(server)
            self._failures.pop(server, None)
        except UnknownServer:
            self._failures.pop(server, None)
        except (DownstreamError, RemoteError, StorageError) as error:
            LOG.info("%s could not be read: %s", server, error)
            self._failures[server] = self._failures.get(server, 0) + 1
            if self._unseen(server):
                group.start_soon(self._read_later, server, self._pause(self._failures[server]))
        finally:
            self._reading.discard(server)
        if server in self._again:
            self._again.discard(server)
            self.want([server])

    async def _read_later(self, server: str, pause_s: float) -> None:
        await anyio.sleep(pause_s)
        if server not in self._reading:
            self.want([server])

    async def _revisit(self) -> None:
        """Read the servers that are up again after every interval: some change without a word."""
        while True:
            await anyio.sleep(self._refresh_s)
            self.want(spec.name for spec in self._catalog.specs() if self._downstreams.connected(spec.name))
