"""Where outcomes, beliefs and breakers are kept: SQLite, written by one thread of its own.

`Storage.put` only appends to a queue. The writer gathers what came within `GATHER_S` and commits it in one transaction,
so that a crash loses at most that much and never leaves a half-written state. Outcomes are bounded: the oldest go.
"""

from __future__ import annotations

import queue
import sqlite3
import threading
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

import orjson

from anyact_server.errors import StorageError
from anyact_server.telemetry import MASK, logger
from anyact_server.types import Kind, Outcome, Verdict

from .breaker import Breaker
from .estimates import Belief
from .sketch import Sketch

LOG = logger("reliability")

VERSION = 1
"""Of the tables; other versions are set aside, since everything here can be learnt again."""

GATHER_S = 0.1
"""How long the writer gathers before it commits."""

KEPT = 100_000
"""Outcomes that are kept."""

_TABLES = """
create table outcomes (
    id integer primary key, at real not null, action text not null, server text not null, kind text not null,
    suspected text, confidence real not null, detected_by text not null, message text not null, seconds real not null,
    tokens integer not null, principal text not null, digest text not null
);
create index outcomes_by_action on outcomes (action, id);
create table beliefs (action text not null, server text not null, state text not null, primary key (action, server))
    without rowid;
create table breakers (server text primary key, state text not null) without rowid;
"""

Key = tuple[str, str]
"""An action id and its server."""


@dataclass(frozen=True, slots=True)
class Kept:
    """What was stored before."""

    beliefs: Mapping[Key, Belief]
    breakers: Mapping[str, Breaker]


@dataclass(frozen=True, slots=True)
class Change:
    """One thing to store: an outcome with the belief and the breaker that follow from it."""

    outcome: Outcome
    belief: Belief
    breaker: Breaker | None


class Storage:
    """The database of the ledger.

    Args:
        path: the file; None keeps nothing.
    """

    def __init__(self, path: Path | None) -> None:
        self._path = path
        self._queue: queue.SimpleQueue[Change | threading.Event | None] = queue.SimpleQueue()
        self._thread: threading.Thread | None = None
        self._hurry = threading.Event()
        self._failed = False

    def load(self) -> Kept:
        """Open or make the file and read what it holds; a file that cannot be read is set aside.

        Raises:
            StorageError: the file can neither be used nor be set aside.
        """
        if self._path is None:
            return Kept({}, {})
        try:
            return self._read(self._path)
        except sqlite3.OperationalError as error:
            raise StorageError(f"cannot open {self._path}: {error}", hint="Check its folder's rights.") from error
        except (sqlite3.DatabaseError, ValueError, TypeError, LookupError) as error:
            aside = self._path.with_suffix(".unreadable")
            LOG.warning("%s cannot be read (%s); set aside as %s, starting afresh", self._path, error, aside.name)
            self._set_aside(self._path, aside)
            return self._read(self._path)

    def _set_aside(self, path: Path, aside: Path) -> None:
        try:
            path.replace(aside)
            for ending in ("-wal", "-shm"):
                path.with_name(path.name + ending).unlink(missing_ok=True)
        except OSError as error:
            raise StorageError(f"cannot set {path} aside: {error}") from error

    def _read(self, path: Path) -> Kept:
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise StorageError(f"cannot make {path.parent}: {error}", hint="Choose another home folder.") from error
        connection = connect(path)
        try:
            prepare(connection)
            beliefs = {
                (action, server): belief_from(state)
                for action, server, state in connection.execute("select action, server, state from beliefs")
            }
            breakers = {
                server: Breaker(**orjson.loads(state))
                for server, state in connection.execute("select server, state from breakers")
            }
        finally:
            connection.close()
        return Kept(beliefs, breakers)

    def put(self, change: Change) -> None:
        """Store soon; returns at once."""
        if self._path is None:
            return
        self._queue.put(change)
        if self._thread is None:
            self._thread = threading.Thread(target=self._write, name="anyact-ledger", daemon=True)
            self._thread.start()

    def flush(self) -> None:
        """Wait until everything put so far is stored."""
        if self._thread is None:
            return
        stored = threading.Event()
        self._queue.put(stored)
        self._hurry.set()
        stored.wait(10.0)

    def close(self) -> None:
        """Store what is left and end the writer; a later `put` starts it anew."""
        if self._thread is None:
            return
        self._queue.put(None)
        self._hurry.set()
        self._thread.join(10.0)
        self._thread = None

    def history(self, action: str, most: int) -> Sequence[Outcome]:
        """The stored outcomes of an action, the newest first."""
        if self._path is None or not self._path.exists():
            return ()
        self.flush()
        connection = connect(self._path)
        try:
            rows = connection.execute(
                "select action, server, kind, message, suspected, confidence, detected_by, at, seconds, principal,"
                " tokens, digest from outcomes where action = ? order by id desc limit ?",
                (action, most),
            ).fetchall()
        finally:
            connection.close()
        return [_outcome(row) for row in rows]

    def forget(self, action: str | None, server: str | None) -> int:
        """Delete the outcomes and beliefs of an action, a server, or all; gives how many outcomes there were."""
        if self._path is None or not self._path.exists():
            return 0
        self.flush()
        where = "where (?1 is null or action = ?1) and (?2 is null or server = ?2)"
        connection = connect(self._path)
        try:
            with connection:
                count = connection.execute(f"delete from outcomes {where}", (action, server)).rowcount
                connection.execute(f"delete from beliefs {where}", (action, server))
                if action is None:
                    connection.execute("delete from breakers where ?1 is null or server = ?1", (server,))
        finally:
            connection.close()
        return count

    def _write(self) -> None:
        """Store batch after batch; what cannot be stored is lost, and the next batch is tried anew."""
        connection: sqlite3.Connection | None = None
        while True:
            batch = self._gathered()
            changes = [item for item in batch if isinstance(item, Change)]
            connection = self._stored(connection, changes)
            for item in batch:
                if isinstance(item, threading.Event):
                    item.set()
            if None in batch:
                break
        if connection is not None:
            connection.close()

    def _gathered(self) -> list[Change | threading.Event | None]:
        batch = [self._queue.get()]
        if isinstance(batch[0], Change):
            self._hurry.wait(GATHER_S)
        self._hurry.clear()
        while not self._queue.empty():
            batch.append(self._queue.get())
        return batch

    def _stored(self, connection: sqlite3.Connection | None, changes: Sequence[Change]) -> sqlite3.Connection | None:
        """Store changes; the connection for the next ones, None when it has to be made anew."""
        if not changes:
            return connection
        try:
            connection = self._connected(connection)
            with connection:
                store(connection, changes)
        except (sqlite3.Error, OSError, ValueError) as error:
            if not self._failed:
                LOG.warning("reliability is not stored for now: %s", error)
            self._failed = True
        else:
            self._failed = False
        return connection

    def _connected(self, connection: sqlite3.Connection | None) -> sqlite3.Connection:
        """The connection, made anew where the file is gone: writing to what was deleted would keep nothing."""
        assert self._path is not None
        if connection is not None and self._path.exists():
            return connection
        if connection is not None:
            connection.close()
        self._path.parent.mkdir(parents=True, exist_ok=True)
        fresh = connect(self._path)
        prepare(fresh)
        return fresh


def connect(path: Path) -> sqlite3.Connection:
    """A connection to the file, ready for several writers."""
    connection = sqlite3.connect(path, timeout=10.0, isolation_level="IMMEDIATE")
    connection.execute("pragma journal_mode = wal")
    connection.execute("pragma synchronous = normal")
    return connection


def prepare(connection: sqlite3.Connection) -> None:
    """Make the tables where there are none.

    Raises:
        ValueError: the tables are of another version.
    """
    (version,) = connection.execute("pragma user_version").fetchone()
    if version == VERSION:
        return
    if version != 0:
        raise ValueError(f"its tables are of version {version}, not {VERSION}")
    connection.executescript(f"begin immediate; {_TABLES} pragma user_version = {VERSION}; commit;")


def store(connection: sqlite3.Connection, changes: Sequence[Change]) -> None:
    """Write changes within the open transaction; of several beliefs of one action the last counts."""
    cursor = connection.executemany(
        "insert into outcomes (at, action, server, kind, suspected, confidence, detected_by, message, seconds, tokens,"
        " principal, digest) values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        [_row(change.outcome) for change in changes],
    )
    beliefs = {(change.outcome.action, change.outcome.server): change.belief for change in changes}
    cursor.executemany(
        "insert or replace into beliefs (action, server, state) values (?, ?, ?)",
        [(action, server, belief_text(belief)) for (action, server), belief in beliefs.items()],
    )
    breakers = {change.outcome.server: change.breaker for change in changes if change.breaker is not None}
    cursor.executemany(
        "insert or replace into breakers (server, state) values (?, ?)",
        [(server, orjson.dumps(asdict(breaker)).decode()) for server, breaker in breakers.items()],
    )
    cursor.execute("delete from outcomes where id <= (select max(id) from outcomes) - ?", (KEPT,))


def _row(outcome: Outcome) -> tuple[Any, ...]:
    verdict = outcome.verdict
    return (
        outcome.at,
        outcome.action,
        outcome.server,
        verdict.kind.value,
        verdict.suspected.value if verdict.suspected else None,
        verdict.confidence,
        verdict.detected_by,
        clean(MASK.mask(verdict.message))[:200],
        outcome.seconds,
        outcome.tokens,
        outcome.principal,
        outcome.digest,
    )


def clean(text: str) -> str:
    """The text without lone surrogates, which SQLite refuses."""
    return text.encode("utf-8", "replace").decode("utf-8")


def _outcome(row: Sequence[Any]) -> Outcome:
    action, server, kind, message, suspected, confidence, detected_by, at, seconds, principal, tokens, digest = row
    verdict = Verdict(
        Kind(kind),
        message,
        suspected=Kind(suspected) if suspected else None,
        confidence=confidence,
        detected_by=detected_by,
    )
    return Outcome(action, server, verdict, at, seconds, principal, tokens, digest)


def belief_text(belief: Belief) -> str:
    """A belief as JSON."""
    state = {item.name: getattr(belief, item.name) for item in fields(belief)}
    state["latency"] = {str(bucket): round(count, 3) for bucket, count in belief.latency.counts.items()}
    if belief.last_failure is not None:
        kind, message, at = belief.last_failure
        state["last_failure"] = (kind, clean(MASK.mask(message)), at)
    return orjson.dumps(state).decode()


def belief_from(text: str) -> Belief:
    """A belief from its JSON.

    Raises:
        ValueError, TypeError, LookupError: it is none.
    """
    state = orjson.loads(text)
    counts = {int(bucket): float(count) for bucket, count in state.pop("latency").items()}
    proven = tuple(state.pop("proven"))
    failure = state.pop("last_failure")
    last_failure = (str(failure[0]), str(failure[1]), float(failure[2])) if failure else None
    latency = Sketch(counts, sum(counts.values()))
    return Belief(**state, proven=proven, last_failure=last_failure, latency=latency)
