"""The wiring: one place where the rooms meet.

`Place` says where an instance lives and how it is configured; `App` is the instance: every room, connected. Opening it
costs nothing; its rooms stand once `ready` returns, and work while `running`.
"""

from __future__ import annotations

import os
import time
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import anyio
import anyio.to_thread

from .access import Rules
from .catalog import (
    Catalog,
    ConfigSet,
    Discovery,
    Finding,
    Store,
    Watch,
    action_id,
    of_entry,
    of_error,
    of_snapshot,
    read_configs,
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
from .settings import Settings, from_environment, home_folder
from .settings import load as load_settings
from .telemetry import MASK, logger
from .types import CatalogChange, Limits, ServerSpec, ServerStatus

LOG = logger("app")
USER_CONFIG = "config.json"
"""The user's own configuration file in the home folder, where `anyact add` writes."""
Flags = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Read:
    """How reading a server ended: the error if any, and the seconds it took."""

    error: AnyActError | None
    seconds: float


class SystemClock:
    """The real time."""

    def now(self) -> float:
        """Seconds since the epoch."""
        return time.time()

    def monotonic(self) -> float:
        """Seconds that never go back."""
        return time.monotonic()


@dataclass(frozen=True)
class Place:
    """Where an instance lives and what it is told: home folder, configuration files, settings, servers."""

    home: Path
    files: tuple[Path, ...]
    settings: Settings
    configs: ConfigSet
    flags: Flags
    named: bool = False
    """Whether the files were named by the user, and not found in the home folder."""

    @classmethod
    def find(
        cls, config: Sequence[str], home: str | None, flags: Flags, environment: Mapping[str, str] | None = None
    ) -> Place:
        """Find home and files and read them.

        Args:
            config: files named on the command line; else `ANYACT_CONFIG` (separated as in PATH), else the home's own.
            home: the folder named on the command line.
            flags: settings named on the command line; they win over every other source.
            environment: the process's own when None.

        Raises:
            ConfigError: a named file is missing or broken, or a setting does not fit.
        """
        environment = os.environ if environment is None else environment
        folder = home_folder(home, environment)
        named = list(config) or [part for part in environment.get("ANYACT_CONFIG", "").split(os.pathsep) if part]
        own = folder / USER_CONFIG
        files = tuple(Path(name).expanduser().absolute() for name in named) or ((own,) if own.exists() else ())
        return cls(folder, files, Settings(), ConfigSet(), flags, bool(named)).read(environment)

    def read(self, environment: Mapping[str, str] | None = None) -> Place:
        """The same place with its files read anew. Raises ConfigError."""
        environment = os.environ if environment is None else environment
        found: list[Settings] = []

        def limits(layers: Sequence[tuple[Mapping[str, Any], str]]) -> Limits:
            every = [*layers, (from_environment(environment), "the environment"), (self.flags, "the command line")]
            found.append(load_settings(every))
            return found[-1].limits()

        configs = read_configs(self.files, environment, defaults=limits)
        settings = found[-1] if found else load_settings([])
        MASK.protect(secret for spec in configs.specs for secret in spec.secrets)
        return replace(self, settings=settings, configs=configs)

    @property
    def own_file(self) -> Path:
        """The file that `anyact add` writes: the first named one, else the home's own."""
        return self.files[0] if self.named else self.home / USER_CONFIG


class App:
    """One instance: every room, connected."""

    place: Place
    catalog: Catalog
    downstreams: Pool
    searcher: Index
    reliability: Ledger
    grounder: Grounder
    rules: Rules
    space: Dispatcher
    runs: Runs
    discovery: Discovery

    def __init__(self, place: Place, *, clock: Clock | None = None, watching: bool = False) -> None:
        """Name an instance; nothing is opened yet.

        Args:
            place: where it lives and what it is told.
            clock: time.
            watching: read servers in the background and follow the configuration files, as a server does.
        """
        self.place = place
        self.settings = place.settings
        self.home = place.home
        self.rules = Rules(place.settings.allow, place.settings.deny)
        self._clock = clock or SystemClock()
        self._watching = watching
        self._stands = anyio.Event()
        self._indexing = anyio.Event()
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

    async def read_servers(self, names: Sequence[str], done: Callable[[str], None] = lambda _: None) -> dict[str, Read]:
        """Read what servers offer now, a few at once.

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
        home, settings, clock, specs = self.home, self.settings, self._clock, self.place.configs.specs
        home.mkdir(parents=True, exist_ok=True)
        self.catalog = Catalog(Store(home), specs)
        self.downstreams = Pool(specs, settings, clock=clock)
        self.reliability = Ledger(home / "ledger.sqlite", clock)
        self.grounder = Grounder(open_store(home, settings, clock), settings, clock)
        self.searcher = Index(load(settings), store=VectorStore(home / "vectors.sqlite"), folder=home / "index")
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
                        group.start_soon(Watch(lambda: self.place.configs.files, self.reload).run)
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
        self._indexing.set()

    async def _keep_index(self) -> None:
        while True:
            await self._indexing.wait()
            self._indexing = anyio.Event()
            changes, self._waiting = self._waiting, []
            for change in changes:
                self.reliability.notice(change)
            await anyio.to_thread.run_sync(self.searcher.update, changes, self.catalog.get)

    async def reload(self) -> None:
        """Read the configuration anew; only what differs is touched. A broken file keeps the old configuration.

        Raises:
            ConfigError: the files cannot be used; nothing changed.
        """
        place = self.place.read()
        if place.settings != self.settings:
            LOG.warning("settings changed; they take effect when AnyAct is started again")
        await self.apply(place.configs.specs)
        self.place = replace(place, settings=self.settings)

    async def apply(self, specs: Sequence[ServerSpec]) -> None:
        """Make these servers the configuration."""
        self.catalog.reconfigure(specs)
        await self.downstreams.apply(specs)
        self.discovery.want_unseen()


def problems(place: Place) -> list[str]:
    """Everything that is wrong or odd in the configuration, one line each."""
    return [str(problem) for problem in place.configs.problems]


__all__ = ["App", "Place", "SystemClock", "problems"]
