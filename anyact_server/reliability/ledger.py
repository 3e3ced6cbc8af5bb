"""The ledger: outcomes in, estimates and admissions out."""

from __future__ import annotations

import threading
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import anyio

from anyact_server.interfaces import Clock
from anyact_server.types import Admission, CatalogChange, Estimate, Outcome

from .breaker import CLOSED, Breaker, admitted, after, revived
from .estimates import Belief, Pool, estimate, numbers, pooled, updated
from .storage import Change, Key, Storage
from .words import barred, duration, explain

POOL_S = 5.0
"""How long the pooled masses of a server are used before they are added up again without a new outcome."""

OPEN_FACTOR = 0.25
"""What is left of the success expected of an action while the breaker of its server is not closed."""

MEANING = frozenset({"name", "description", "input_schema", "output_schema", "hints"})
"""Fields of an action whose change starts a new belief."""

_NEW = Belief()
_UNKNOWN = estimate("", _NEW, numbers(_NEW, Pool(), 0.0), 0.0, explain(_NEW, numbers(_NEW, Pool(), 0.0), 0.0))
"""The estimate of any action of a server that was never called; searches ask for it thousands of times."""


class Ledger:
    """Implements `interfaces.Reliability` on one machine.

    Beliefs live in memory and answer at once; a thread stores them behind. Safe to use from several threads.

    Args:
        path: the SQLite file; None keeps nothing over a restart.
        clock: time.
    """

    def __init__(self, path: Path | None, clock: Clock) -> None:
        self._clock = clock
        self._storage = Storage(path)
        self._lock = threading.RLock()
        self._beliefs: dict[str, dict[str, Belief]] | None = None
        self._breakers: dict[str, Breaker] = {}
        self._pools: dict[str, tuple[float, Pool]] = {}

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Store everything on leaving."""
        try:
            yield
        finally:
            with anyio.CancelScope(shield=True):
                await anyio.to_thread.run_sync(self.close)

    def close(self) -> None:
        """Store what is left. The ledger stays usable."""
        self._storage.close()

    def record(self, outcome: Outcome) -> None:
        """Remember an outcome; storing it happens behind."""
        with self._lock:
            known = self._of(outcome.server)
            belief = updated(known.get(outcome.action, _NEW), outcome)
            known[outcome.action] = belief
            before = self._breakers.get(outcome.server, CLOSED)
            breaker = after(before, outcome)
            if breaker is not before:
                self._breakers[outcome.server] = breaker
            self._pools.pop(outcome.server, None)
        self._storage.put(Change(outcome, belief, breaker if breaker is not before else None))

    def estimate(self, action_id: str, server: str) -> Estimate:
        """What is believed of an action now."""
        now = self._clock.now()
        with self._lock:
            known = self._all().get(server)
            breaker = self._breakers.get(server, CLOSED)
            if not known and breaker.phase == "closed":
                return replace(_UNKNOWN, action=action_id)
            belief = known.get(action_id, _NEW) if known else _NEW
            pool = self._pool(server, now)
        found = numbers(belief, pool, now)
        made = estimate(action_id, belief, found, now, explain(belief, found, now))
        return made if breaker.phase == "closed" else _behind(made, barred(server, breaker, now))

    def estimates(self, pairs: Iterable[tuple[str, str]]) -> Mapping[str, Estimate]:
        """Estimates of many (action id, server) pairs, by action id."""
        return {action_id: self.estimate(action_id, server) for action_id, server in pairs}

    def admit(self, action_id: str, server: str) -> Admission:
        """Whether a call may start: the server's breaker first, then a rate limit that the action still has to sit out.

        An admission with `trial` is the one call that tries an open server again.
        """
        now = self._clock.now()
        with self._lock:
            held = self._all().get(server, {}).get(action_id, _NEW).held_until - now
            if held > 0:
                reason = f"{action_id} is rate limited by its server for another {duration(held)}"
                return Admission(False, retry_after_s=held, reason=reason)
            breaker = self._breakers.get(server, CLOSED)
            if breaker.phase == "closed":
                return Admission(True)
            self._breakers[server], admission = admitted(breaker, now)
        return admission if admission.allowed else replace(admission, reason=barred(server, breaker, now))

    def reset(self, action_id: str | None = None, server: str | None = None) -> int:
        """Forget the outcomes of an action or a server, all of them when both are None; gives how many were stored."""
        with self._lock:
            beliefs = self._all()
            for name in [server] if server is not None else list(beliefs):
                known = beliefs.get(name, {})
                if action_id is None:
                    known.clear()
                    self._breakers.pop(name, None)
                else:
                    known.pop(action_id, None)
                self._pools.pop(name, None)
        return self._storage.forget(action_id, server)

    def notice(self, change: CatalogChange) -> None:
        """Give actions whose meaning changed a fair start; for `Catalog.listen`."""
        with self._lock:
            known = self._of(change.server)
            for action_id, fields in change.changed.items():
                if action_id in known and not MEANING.isdisjoint(fields):
                    known[action_id] = _NEW
            self._pools.pop(change.server, None)

    def revive(self, server: str) -> None:
        """A server is said to be well again (restarted, reconnected): its next call is tried at once."""
        with self._lock:
            self._all()
            if server in self._breakers:
                self._breakers[server] = revived(self._breakers[server], self._clock.now())

    def breaker(self, server: str) -> Breaker:
        """The state of a server's breaker."""
        with self._lock:
            self._all()
            return self._breakers.get(server, CLOSED)

    def history(self, action_id: str, most: int = 50) -> Sequence[Outcome]:
        """The last stored outcomes of an action, the newest first; reads the file."""
        return self._storage.history(action_id, most)

    def _of(self, server: str) -> dict[str, Belief]:
        return self._all().setdefault(server, {})

    def _all(self) -> dict[str, dict[str, Belief]]:
        """The beliefs by server and action, read from the file on first use."""
        if self._beliefs is None:
            kept = self._storage.load()
            self._beliefs = _by_server(kept.beliefs)
            now = self._clock.now()
            self._breakers = {server: revived(breaker, now) for server, breaker in kept.breakers.items()}
        return self._beliefs

    def _pool(self, server: str, now: float) -> Pool:
        known = self._pools.get(server)
        if known is None or not 0 <= now - known[0] <= POOL_S:
            known = (now, pooled(self._of(server).values(), now))
            self._pools[server] = known
        return known[1]


def _behind(made: Estimate, words: str) -> Estimate:
    """The estimate of an action whose server's breaker is not closed: findable, but behind its like."""
    return replace(
        made,
        success=made.success * OPEN_FACTOR,
        low=made.low * OPEN_FACTOR,
        high=made.high * OPEN_FACTOR,
        words=f"{words}; {made.words}",
    )


def _by_server(beliefs: Mapping[Key, Belief]) -> dict[str, dict[str, Belief]]:
    found: dict[str, dict[str, Belief]] = {}
    for (action, server), belief in beliefs.items():
        found.setdefault(server, {})[action] = belief
    return found
