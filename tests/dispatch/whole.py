"""The dispatcher over the real rooms: catalog, connections, grounding and ledger, with a plain search."""

from __future__ import annotations

import sys
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

import anyio

from anyact_server.catalog import Catalog, Store
from anyact_server.dispatch import Dispatcher, Runs
from anyact_server.downstream import Pool, SdkTarget
from anyact_server.grounding import Grounder, open_store
from anyact_server.interfaces import Policy, ServerEvent
from anyact_server.reliability import Ledger
from anyact_server.settings import load
from anyact_server.types import Limits, ServerSpec
from tests.servers import plain

from . import world

ROOT = Path(__file__).resolve().parents[2]
FIXTURE = ("-m", "tests.servers.plain", "--stdio")


class Clock:
    """The machine's time."""

    def now(self) -> float:
        return time.time()

    def monotonic(self) -> float:
        return time.monotonic()


def inside(name: str, limits: Limits | None = None) -> ServerSpec:
    """The fixture server in this very process."""
    return ServerSpec(name, "memory", limits=limits or Limits())


def spec(name: str, *args: str, limits: Limits | None = None, serial: bool = False) -> ServerSpec:
    """A stdio server that runs this interpreter; the fixture server unless other arguments are given."""
    return ServerSpec(
        name,
        "stdio",
        command=sys.executable,
        args=args or FIXTURE,
        cwd=str(ROOT),
        limits=limits or Limits(),
        serial=serial,
    )


class Whole:
    """All rooms wired together."""

    def __init__(self, home: Path, specs: Sequence[ServerSpec], policy: Policy | None = None) -> None:
        home.mkdir(exist_ok=True)
        settings = load([])
        clock = Clock()
        self.catalog = Catalog(Store(home), specs)
        memory = {one.name: SdkTarget(plain.build()) for one in specs if one.transport == "memory"}
        self.pool = Pool(specs, settings, clock=clock, memory=memory)
        self.ledger = Ledger(home / "ledger.sqlite", clock)
        self.grounder = Grounder(open_store(home, settings, clock), settings, clock)
        self.searcher = world.Searcher(self.catalog)
        self.space = Dispatcher(
            self.catalog, self.pool, self.searcher, self.ledger, self.grounder, policy, settings, clock
        )
        self.runs = Runs(self.space, settings, clock)

    def _heard(self, event: ServerEvent) -> None:
        if event.what == "connected":
            self.ledger.revive(event.server)

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Connections, runs and storage for as long as they are needed."""
        async with self.ledger.running(), self.pool.running(), self.runs.running():
            stop = self.pool.listen(self._heard)
            try:
                yield
            finally:
                stop()


@asynccontextmanager
async def standing(
    home: Path, *specs: ServerSpec, policy: Policy | None = None, read: Sequence[str] | None = None
) -> AsyncIterator[Whole]:
    """All rooms, with what the servers offer read into the catalog (of those in `read`, all by default)."""
    whole = Whole(home, specs, policy)
    with anyio.fail_after(55):
        async with whole.running():
            for one in specs:
                if read is None or one.name in read:
                    whole.catalog.record_snapshot(await whole.pool.take_snapshot(one.name))
            yield whole
