"""The catalog's memory: an SQLite database in the home folder.

Every change is one transaction, so a crash leaves the state before or after it. What cannot be trusted is refused with
a clear error, never taken as true: snapshots carry the hash of their bytes, the approvals one over all of them.
"""

from __future__ import annotations

import hashlib
import sqlite3
import threading
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from anyact_server.errors import StorageError
from anyact_server.types import Snapshot

from .repair import Repaired
from .snapshots import Entry, decode, encode

FILE = "catalog.sqlite"
VERSION = 1
"""Version of the tables below, kept in `user_version`."""
KEPT_VANISHED_S = 180 * 24 * 3600.0
"""How long a vanished action is remembered, so that calls to it can be told what became of it."""

_TABLES = """
CREATE TABLE servers (
    name TEXT PRIMARY KEY,
    reach TEXT NOT NULL,
    taken_at REAL NOT NULL,
    snapshot BLOB NOT NULL,
    hash TEXT NOT NULL
) WITHOUT ROWID;
CREATE TABLE actions (
    server TEXT NOT NULL,
    name TEXT NOT NULL,
    id TEXT NOT NULL,
    position INTEGER NOT NULL,
    digest TEXT NOT NULL,
    shown BLOB,
    fault TEXT,
    first_seen REAL NOT NULL,
    vanished_at REAL,
    PRIMARY KEY (server, name)
) WITHOUT ROWID;
CREATE INDEX actions_by_id ON actions (id);
CREATE TABLE approvals (
    id TEXT PRIMARY KEY,
    digest TEXT NOT NULL,
    approved_at REAL NOT NULL
) WITHOUT ROWID;
CREATE TABLE facts (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
"""
_MIGRATIONS: Mapping[int, str] = {0: _TABLES}
"""What brings the tables from a version to the next."""
_SEAL = "approvals_hash"
_LISTS = ("tools", "prompts", "resources", "templates")


@dataclass(frozen=True, slots=True)
class Stored:
    """What is remembered of one server.

    Attributes:
        snapshot: what it was last seen to offer.
        entries: its usable actions, in its own order.
        vanished: names by id of actions that it offered once.
        reach: fingerprint of how it was reached at that time.
    """

    snapshot: Snapshot
    entries: tuple[Entry, ...]
    vanished: Mapping[str, str]
    reach: str


@dataclass(frozen=True, slots=True)
class Approval:
    """The fingerprint that an action had when the user approved it; `approved_at` is seconds since the epoch."""

    id: str
    digest: str
    approved_at: float


class Store:
    """The database. Safe to use from several threads.

    Args:
        home: the home folder; None keeps everything in memory.

    Raises:
        StorageError: the database is damaged, of a newer AnyAct, or cannot be opened.
    """

    def __init__(self, home: Path | None = None) -> None:
        self._path = ":memory:" if home is None else str(home / FILE)
        self._lock = threading.RLock()
        with self._told("opened"):
            self._db = sqlite3.connect(self._path, timeout=10.0, isolation_level=None, check_same_thread=False)
            self._db.execute("PRAGMA journal_mode = WAL")
            self._db.execute("PRAGMA synchronous = NORMAL")
        try:
            self._migrate()
            self._seal_holds()
        except StorageError:
            self._db.close()
            raise

    def close(self) -> None:
        """Close the database."""
        with self._lock:
            self._db.close()

    # --- snapshots

    def servers(self, names: Iterable[str]) -> Mapping[str, Stored]:
        """What is remembered of these servers, by name.

        Raises:
            StorageError: something stored is damaged.
        """
        wanted = frozenset(names)
        with self._told("read"):
            heads = self._db.execute("SELECT name, reach, snapshot, hash FROM servers").fetchall()
            rows = self._rows()
        found: dict[str, Stored] = {}
        for name, reach, blob, digest in heads:
            if name in wanted:
                snapshot = self._snapshot(name, blob, digest)
                entries, vanished = self._entries(snapshot, rows.get(name, ()))
                found[name] = Stored(snapshot, entries, vanished, reach)
        return found

    def _rows(self) -> Mapping[str, Sequence[tuple[Any, ...]]]:
        found: dict[str, list[tuple[Any, ...]]] = {}
        query = "SELECT server, name, id, position, digest, shown, fault, vanished_at FROM actions"
        for server, *row in self._db.execute(query):
            found.setdefault(server, []).append(tuple(row))
        return found

    def _snapshot(self, name: str, blob: bytes, digest: str) -> Snapshot:
        if hashlib.sha256(blob).hexdigest() != digest:
            raise self._damaged(f"what is stored of the server {name!r} does not match its hash")
        try:
            body = decode(blob)
            lists: dict[str, Any] = {key: tuple(body.pop(key)) for key in _LISTS}
            return Snapshot(server=name, **lists, **body)
        except (ValueError, TypeError, KeyError, AttributeError) as error:
            raise self._damaged(f"what is stored of the server {name!r} cannot be read") from error

    def _entries(
        self, snapshot: Snapshot, rows: Sequence[tuple[Any, ...]]
    ) -> tuple[tuple[Entry, ...], Mapping[str, str]]:
        placed: list[tuple[int, Entry]] = []
        vanished: dict[str, str] = {}
        tools = snapshot.tools
        for name, identity, position, digest, shown, fault, vanished_at in rows:
            if vanished_at is not None:
                vanished[identity] = name
            elif 0 <= position < len(tools) and tools[position].get("name") == name:
                tool = tools[position]
                repaired = Repaired(tool.get("inputSchema") if shown is None else decode(shown), fault)
                placed.append((position, Entry(identity, name, digest, tool, repaired)))
            else:
                raise self._damaged(f"the action {name!r} of the server {snapshot.server!r} has lost its entry")
        placed.sort(key=lambda pair: pair[0])
        return tuple(entry for _, entry in placed), vanished

    def put(self, snapshot: Snapshot, entries: Sequence[Entry], reach: str) -> Mapping[str, str]:
        """Store what a server offers now; actions that it offers no more are marked as vanished.

        Returns:
            names by id of everything that has vanished.
        """
        blob = encode(
            {name: getattr(snapshot, name) for name in _BODY} | {key: getattr(snapshot, key) for key in _LISTS}
        )
        digest = hashlib.sha256(blob).hexdigest()
        now = snapshot.taken_at or time.time()
        positions = {id(tool): position for position, tool in enumerate(snapshot.tools)}
        server = snapshot.server
        with self._told("written"), self._transaction():
            self._db.execute(
                "INSERT INTO servers VALUES (?, ?, ?, ?, ?) ON CONFLICT (name) DO UPDATE SET reach = excluded.reach, "
                "taken_at = excluded.taken_at, snapshot = excluded.snapshot, hash = excluded.hash",
                (server, reach, snapshot.taken_at, blob, digest),
            )
            self._db.execute(
                "UPDATE actions SET vanished_at = ? WHERE server = ? AND vanished_at IS NULL", (now, server)
            )
            self._db.executemany(
                "INSERT INTO actions VALUES (?, ?, ?, ?, ?, ?, ?, ?, NULL) ON CONFLICT (server, name) DO UPDATE SET "
                "id = excluded.id, position = excluded.position, digest = excluded.digest, shown = excluded.shown, "
                "fault = excluded.fault, vanished_at = NULL",
                [(server, *_row(entry, positions[id(entry.tool)]), now) for entry in entries],
            )
            self._db.execute(
                "DELETE FROM actions WHERE server = ? AND vanished_at < ?", (server, now - KEPT_VANISHED_S)
            )
            rows = self._db.execute(
                "SELECT id, name FROM actions WHERE server = ? AND vanished_at IS NOT NULL", (server,)
            ).fetchall()
        return dict(rows)

    def forget(self, server: str) -> bool:
        """Forget everything about a server but its approvals; whether anything was known."""
        with self._told("written"), self._transaction():
            self._db.execute("DELETE FROM actions WHERE server = ?", (server,))
            return self._db.execute("DELETE FROM servers WHERE name = ?", (server,)).rowcount > 0

    # --- approvals

    def approvals(self) -> Mapping[str, Approval]:
        """Every approval, by id of its action."""
        with self._told("read"):
            rows = self._db.execute("SELECT id, digest, approved_at FROM approvals").fetchall()
        return {row[0]: Approval(*row) for row in rows}

    def approve(self, approvals: Iterable[Approval]) -> None:
        """Remember approvals; an earlier one of the same action is replaced."""
        rows = [(item.id, item.digest, item.approved_at) for item in approvals]
        with self._told("written"), self._transaction():
            self._db.executemany("INSERT OR REPLACE INTO approvals VALUES (?, ?, ?)", rows)
            self._seal()

    def disapprove(self, ids: Iterable[str]) -> None:
        """Forget the approvals of these actions."""
        with self._told("written"), self._transaction():
            self._db.executemany("DELETE FROM approvals WHERE id = ?", [(identity,) for identity in ids])
            self._seal()

    def _approvals_hash(self) -> str:
        rows = self._db.execute("SELECT id, digest, approved_at FROM approvals ORDER BY id").fetchall()
        return hashlib.sha256(repr(rows).encode()).hexdigest()

    def _seal(self) -> None:
        self._db.execute("INSERT OR REPLACE INTO facts VALUES (?, ?)", (_SEAL, self._approvals_hash()))

    def _seal_holds(self) -> None:
        with self._told("read"):
            row = self._db.execute("SELECT value FROM facts WHERE name = ?", (_SEAL,)).fetchone()
            if row is None or row[0] != self._approvals_hash():
                raise self._damaged("the approvals do not match their hash")

    # --- the database

    def _migrate(self) -> None:
        with self._told("opened"):
            version = self._db.execute("PRAGMA user_version").fetchone()[0]
            if version > VERSION:
                raise StorageError(
                    f"the catalog {self._path} was written by a newer AnyAct (version {version}, known is {VERSION})",
                    hint="Update AnyAct, or choose another home folder.",
                )
            while version < VERSION:
                script = f"BEGIN IMMEDIATE; {_MIGRATIONS[version]} PRAGMA user_version = {version + 1}; COMMIT;"
                self._db.executescript(script)
                if version == 0:
                    self._seal()
                version += 1

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        with self._lock:
            self._db.execute("BEGIN IMMEDIATE")
            try:
                yield
            except BaseException:
                self._db.execute("ROLLBACK")
                raise
            self._db.execute("COMMIT")

    @contextmanager
    def _told(self, what: str) -> Iterator[None]:
        """Turn the database's errors into ours."""
        with self._lock:
            try:
                yield
            except sqlite3.OperationalError as error:
                raise StorageError(
                    f"the catalog {self._path} cannot be {what}: {error}",
                    hint="Check that the home folder exists, can be written, and has room.",
                ) from error
            except sqlite3.DatabaseError as error:
                raise self._damaged(str(error)) from error

    def _damaged(self, reason: str) -> StorageError:
        return StorageError(
            f"the catalog {self._path} is damaged: {reason}",
            hint=f"Move {FILE} away: servers are then read anew, and approvals have to be given again.",
        )


_BODY = ("info", "instructions", "capabilities", "protocol_version", "taken_at", "partial")


def _row(entry: Entry, position: int) -> tuple[Any, ...]:
    original = entry.tool.get("inputSchema")
    shown = None if entry.repaired.shown is original else encode(entry.repaired.shown)
    return entry.name, entry.id, position, entry.digest, shown, entry.repaired.fault
