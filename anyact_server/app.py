"""The wiring: one site where the rooms meet.

`App` is an instance: every room, connected. Naming it costs nothing; its rooms stand once `ready` returns, and work
while `running`.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import anyio
import anyio.to_thread

from .access import Rules
from .catalog import (
    Catalog,
    Discovery,
    Finding,
    Site,
    Store,
    Watch,
    action_id,
    of_entry,
    of_error,
    of_snapshot,
    worth_reading,
)
from .dispatch import Dispatcher, Runs, Silent
from .downstream import Pool
from .errors import AnyActError, DownstreamError, RemoteError, UnknownServer
from .gateway import Parts
from .grounding import Grounder, open_store
from .interfaces import Caller, Clock, ServerEvent
from .reliability import Ledger
from .retrieval import Index, VectorStore, load
from .telemetry import SystemClock, logger
from .types import CatalogChange, ServerSpec, ServerStatus

LOG = logger("app")


@dataclass(frozen=True, slots=True)
class Read:
    """How reading a server ended: the error if any, and the seconds it took."""

    error: AnyActError | None
    seconds: float


class App:
    """One instance: every room, connected."""

    site: Site
    catalog: Catalog
    downstreams: Pool
    searcher: Index
    reliability: Ledger
    grounder: Grounder
    rules: Rules
    space: Dispatcher
    runs: Runs
    discovery: Discovery

    def __init__(
        self,
        site: Site,
        *,
        clock: Clock | None = None,
        watching: bool = False,
        ledger: Callable[[Path, Clock], Ledger] = Ledger,
    ) -> None:
        """Name an instance; nothing is opened yet.

        Args:
            site: where it lives and what it is told.
            clock: time.
            watching: read servers in the background and follow the configuration files, as a server does.
            ledger: makes the ledger from its file and the clock; another one may believe differently.
        """
        self.site = site
        self.settings = site.settings
        self.home = site.home
        self.rules = Rules(site.settings.allow, site.settings.deny)
        self._clock = clock or SystemClock()
        self._watching = watching
        self._ledger = ledger
        self._stands = anyio.Event()
        self._indexing = anyio.Event()
        self._settled = anyio.Event()
        self._settled.set()
        self._waiting: list[CatalogChange] = []

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Open the rooms in the background and keep them at work for as long as the block lasts.

        Raises:
            StorageError: the home folder cannot be used.
        """
        async with anyio.create_task_group() as group:
            stop = anyio.Event()
            closed = anyio.Event()
            group.start_soon(self._live, stop, closed)
            try:
                yield
            finally:
                stop.set()
                with anyio.CancelScope(shield=True):
                    await closed.wait()
                group.cancel_scope.cancel()

    async def ready(self) -> Parts:
        """Wait until the rooms stand."""
        await self._stands.wait()
        return self._parts

    def caller(self) -> Caller:
        """The caller that stands for the person at this machine, who can answer no questions of servers."""
        return Silent()

    # --- looking at servers

    def status(self, server: str) -> ServerStatus:
        """The state of a server with what the catalog knows of it. Raises UnknownServer."""
        status = self.downstreams.status(server)
        actions = self.catalog.of_server(server)
        stale = any(action.state == "stale" for action in actions)
        return replace(status, actions=len(actions), stale=stale)

    def unseen(self) -> list[str]:
        """The servers that can be read and never were."""
        specs = self.catalog.specs()
        return [spec.name for spec in specs if worth_reading(spec) and self.catalog.snapshot(spec.name) is None]

    async def read_servers(self, names: Sequence[str], done: Callable[[str], None] = lambda _: None) -> dict[str, Read]:
        """Read what servers offer now, a few at once, until search knows it too.

        Args:
            names: the servers.
            done: told each server's name as soon as it is read.

        Returns:
            How each ended, by name; servers whose entry is faulty or disabled are left out.
        """
        ended: dict[str, Read] = {}
        limit = anyio.CapacityLimiter(self.settings.parallel_starts)

        async def read(name: str) -> None:
            async with limit:
                started = self._clock.monotonic()
                error: AnyActError | None = None
                try:
                    await self.discovery.refresh(name)
                except (DownstreamError, RemoteError) as caught:
                    error = caught
                ended[name] = Read(error, self._clock.monotonic() - started)
                done(name)

        async with anyio.create_task_group() as group:
            for name in names:
                if worth_reading(self.catalog.spec(name)):
                    group.start_soon(read, name)
                else:
                    done(name)
        await self.settled()
        return ended

    async def diagnose(self, names: Sequence[str], done: Callable[[str], None] = lambda _: None) -> list[Finding]:
        """What is wrong with servers, and the cures; reads each of them."""
        ended = await self.read_servers(names, done)
        findings = []
        for name in names:
            spec = self.catalog.spec(name)
            finding = of_entry(spec)
            if finding is None:
                read = ended[name]
                snapshot = self.catalog.snapshot(name)
                if read.error is not None or snapshot is None:
                    finding = of_error(spec, read.error or UnknownServer(f"nothing is known of {name}"))
                else:
                    finding = of_snapshot(spec, snapshot, self.catalog.of_server(name), read.seconds)
            findings.append(finding)
        return findings

    # --- opening

    def _open(self) -> None:
        """Make every room. Runs in a worker thread: files are read here."""
        home, settings, clock, specs = self.site.make_home(), self.settings, self._clock, self.site.configs.specs
        self.catalog = Catalog(Store(home), specs)
        self.downstreams = Pool(specs, settings, clock=clock)
        self.reliability = self._ledger(home / "ledger.sqlite", clock)
        self.grounder = Grounder(open_store(home, settings, clock), settings, clock)
        self.searcher = Index(
            load(settings),
            store=VectorStore(home / "vectors.sqlite"),
            folder=home / "index",
            prebuilt=[Path(folder).expanduser() for folder in settings.indexes],
            background=self._watching,
        )
        self.space = Dispatcher(
            self.catalog, self.downstreams, self.searcher, self.reliability, self.grounder, self.rules, settings, clock
        )
        self.runs = Runs(self.space, settings, clock)
        self.discovery = Discovery(self.catalog, self.downstreams, refresh_s=settings.refresh_s)
        self.searcher.rebuild(self.catalog.actions())
        self._parts = Parts(
            self.space,
            self.catalog,
            self.downstreams,
            self.grounder,
            self.reliability,
            self.runs,
            settings,
            action_id,
            self.rules,
        )

    async def _live(self, stop: anyio.Event, closed: anyio.Event) -> None:
        try:
            await anyio.to_thread.run_sync(self._open)
            async with AsyncExitStack() as rooms:
                rooms.callback(self.searcher.close)
                await rooms.enter_async_context(self.reliability.running())
                await rooms.enter_async_context(self.downstreams.running())
                await rooms.enter_async_context(self.runs.running())
                rooms.callback(self.catalog.listen(self._note_change))
                rooms.callback(self.downstreams.listen(self._note_event))
                async with anyio.create_task_group() as group:
                    group.start_soon(self._keep_index)
                    if self._watching:
                        group.start_soon(self.discovery.run)
                        group.start_soon(Watch(lambda: self.site.configs.files, self.reload).run)
                    self._stands.set()
                    await stop.wait()
                    group.cancel_scope.cancel()
        finally:
            closed.set()

    # --- following changes

    def _note_event(self, event: ServerEvent) -> None:
        if event.what == "connected":
            self.reliability.revive(event.server)

    def _note_change(self, change: CatalogChange) -> None:
        self._waiting.append(change)
        if self._settled.is_set():
            self._settled = anyio.Event()
        self._indexing.set()

    async def _keep_index(self) -> None:
        while True:
            await self._indexing.wait()
            self._indexing = anyio.Event()
            changes, self._waiting = self._waiting, []
            for change in changes:
                self.reliability.notice(change)
            await anyio.to_thread.run_sync(self.searcher.update, changes, self.catalog.get)
            if not self._waiting:
                self._settled.set()

    async def settled(self) -> None:
        """Wait until search knows every change that the catalog knows."""
        await self._settled.wait()

    async def reload(self) -> None:
        """Read the configuration anew; only what differs is touched. A broken file keeps the old configuration.

        Raises:
            ConfigError: the files cannot be used; nothing changed.
        """
        site = self.site.read()
        if site.settings != self.settings:
            LOG.warning("settings changed; they take effect when AnyAct is started again")
        await self.apply(site.configs.specs)
        self.site = replace(site, settings=self.settings)

    async def apply(self, specs: Sequence[ServerSpec]) -> None:
        """Make these servers the configuration."""
        self.catalog.reconfigure(specs)
        await self.downstreams.apply(specs)
        self.discovery.want_unseen()


__all__ = ["App", "Read"]
