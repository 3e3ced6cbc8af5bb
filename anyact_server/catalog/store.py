"""The catalog's memory: an SQLite database in the home folder.

Every change is one transaction, so a crash leaves the state before or after it. What cannot be trusted is refused with
a clear error, never taken as true: every action carries the digest of its bytes, every server one over the rest, the
approvals one over all of them.
"""

from __future__ import annotations

import hashlib
import sqlite3
import threading
import time
from collections import OrderedDict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from anyact_server.errors import StorageError
from anyact_server.types import EMPTY, Hints, Json, Snapshot

from .repair import FORM, repair
from .snapshots import LISTS, About, Entry, Item, Reading, about, decode, digest_of, encode

FILE = "catalog.sqlite"
VERSION = 1
"""Version of the tables below, kept in `user_version`."""
KEPT_VANISHED_S = 180 * 24 * 3600.0
"""How long a vanished action is remembered, so that calls to it can be told what became of it."""
KEPT_ITEMS = 1024
"""Schemas that are kept decoded, the last used stay."""
KEPT_WHOLE = 16
"""Snapshots that are kept decoded."""

_TABLES = """
CREATE TABLE servers (
    name TEXT PRIMARY KEY,
    reach TEXT NOT NULL,
    taken_at REAL NOT NULL,
    title TEXT,
    description TEXT,
    head BLOB NOT NULL,
    hash TEXT NOT NULL
) WITHOUT ROWID;
CREATE TABLE actions (
    server TEXT NOT NULL,
    name TEXT NOT NULL,
    id TEXT NOT NULL,
    position INTEGER NOT NULL,
    digest TEXT NOT NULL,
    description TEXT NOT NULL,
    title TEXT,
    hints INTEGER NOT NULL,
    fault TEXT,
    first_seen REAL NOT NULL,
    vanished_at REAL,
    PRIMARY KEY (server, name)
) WITHOUT ROWID;
CREATE TABLE items (
    server TEXT NOT NULL,
    name TEXT NOT NULL,
    tool BLOB NOT NULL,
    shown BLOB,
    PRIMARY KEY (server, name)
);
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
_FORM = "repair_form"
_HEAD = ("info", "instructions", "capabilities", "protocol_version", "taken_at", "partial")
_HINTS = ("read_only", "destructive", "idempotent", "open_world")


@dataclass(frozen=True, slots=True)
class Stored:
    """What is remembered of one server.

    Attributes:
        reach: fingerprint of how it was reached when it was read.
        taken_at: when that was, in seconds since the epoch.
        about: what it says of itself.
        entries: its usable actions, in its own order.
        vanished: names by id of actions that it offered once.
    """

    reach: str
    taken_at: float
    about: About
    entries: tuple[Entry, ...]
    vanished: Mapping[str, str] = field(default_factory=lambda: EMPTY)


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
        self._items: OrderedDict[tuple[str, str], Item] = OrderedDict()
        self._whole: OrderedDict[str, Snapshot] = OrderedDict()
        with self._told("opened"):
            self._db = sqlite3.connect(self._path, timeout=10.0, isolation_level=None, check_same_thread=False)
        try:
            with self._told("opened"):
                self._db.execute("PRAGMA journal_mode = WAL")
                self._db.execute("PRAGMA synchronous = NORMAL")
            self._migrate()
            self._check_seal()
        except StorageError:
            self._db.close()
            raise

    def close(self) -> None:
        """Close the database."""
        with self._lock:
            self._db.close()

    # --- reading

    def servers(self, names: Iterable[str]) -> Mapping[str, Stored]:
        """What is remembered of these servers, by name; without schemas.

        Raises:
            StorageError: it cannot be read.
        """
        wanted = frozenset(names)
        with self._told("read"):
            heads = self._db.execute("SELECT name, reach, taken_at, title, description FROM servers").fetchall()
            entries, vanished = self._entries(wanted)
        return {
            name: Stored(reach, taken_at, About(title, text), tuple(entries.get(name, ())), vanished.get(name, EMPTY))
            for name, reach, taken_at, title, text in heads
            if name in wanted
        }

    def _entries(self, wanted: frozenset[str]) -> tuple[Mapping[str, list[Entry]], Mapping[str, Mapping[str, str]]]:
        entries: dict[str, list[Entry]] = {}
        vanished: dict[str, dict[str, str]] = {}
        query = (
            "SELECT server, name, id, digest, description, title, hints, fault, vanished_at FROM actions "
            "ORDER BY server, position"
        )
        if len(wanted) == 1:
            rows = self._db.execute(query.replace("ORDER", "WHERE server = ? ORDER"), tuple(wanted))
        else:
            rows = self._db.execute(query)
        for server, name, identity, digest, text, title, hints, fault, vanished_at in rows:
            if server not in wanted:
                continue
            if vanished_at is None:
                entry = Entry(identity, name, digest, text, title, _unpacked(hints), fault)
                entries.setdefault(server, []).append(entry)
            else:
                vanished.setdefault(server, {})[identity] = name
        return entries, vanished

    def item(self, server: str, name: str) -> Item:
        """The bulky part of an action; an empty one when it is not stored any more.

        Raises:
            StorageError: it is damaged.
        """
        key = (server, name)
        with self._lock:
            known = self._items.get(key)
            if known is None:
                known = self._items[key] = self._read_item(server, name)
                if len(self._items) > KEPT_ITEMS:
                    self._items.popitem(last=False)
            else:
                self._items.move_to_end(key)
            return known

    def _read_item(self, server: str, name: str) -> Item:
        with self._told("read"):
            row = self._db.execute(
                "SELECT items.tool, items.shown, actions.digest FROM items JOIN actions USING (server, name) "
                "WHERE server = ? AND name = ?",
                (server, name),
            ).fetchone()
        if row is None:
            return Item()
        tool = self._decoded(row[0], row[2], f"the action {name!r} of the server {server!r}")
        item = Item(tool)
        return Item(tool, item.input_schema if row[1] is None else decode(row[1]))

    def _decoded(self, raw: bytes, digest: str | None, what: str) -> Json:
        """Bytes that must have a digest, where one is given. Raises StorageError."""
        try:
            value = decode(raw)
            sound = digest is None or digest_of(value) == digest
        except (ValueError, TypeError):
            sound = False
        if not sound:
            raise self._damaged(f"what is stored of {what} does not match its digest")
        return value

    def whole(self, server: str) -> Snapshot:
        """The whole snapshot of a server; an empty one when it is not stored any more.

        Raises:
            StorageError: it is damaged.
        """
        with self._lock:
            known = self._whole.get(server)
            if known is None:
                known = self._whole[server] = self._read_whole(server)
                if len(self._whole) > KEPT_WHOLE:
                    self._whole.popitem(last=False)
            else:
                self._whole.move_to_end(server)
            return known

    def _read_whole(self, server: str) -> Snapshot:
        head = self._head(server)
        if head is None:
            return Snapshot(server)
        with self._told("read"):
            rows = self._db.execute(
                "SELECT position, tool, digest, name FROM items JOIN actions USING (server, name) "
                "WHERE server = ? AND vanished_at IS NULL",
                (server,),
            ).fetchall()
        tools = [
            (place, self._decoded(raw, digest, f"the action {name!r} of the server {server!r}"))
            for place, raw, digest, name in rows
        ]
        tools += [(place, tool) for place, tool in head.pop("odd")]
        tools.sort(key=lambda pair: pair[0])
        del head["warnings"]
        lists: dict[str, Any] = {name: tuple(head.pop(name)) for name in LISTS if name != "tools"}
        return Snapshot(server=server, tools=tuple(tool for _, tool in tools), **lists, **head)

    def _head(self, server: str) -> dict[str, Any] | None:
        with self._told("read"):
            row = self._db.execute("SELECT head, hash FROM servers WHERE name = ?", (server,)).fetchone()
        if row is None:
            return None
        head: dict[str, Any] = self._decoded(row[0], row[1], f"the server {server!r}")
        return head

    def warnings(self, server: str) -> tuple[str, ...]:
        """What was odd in what a server offers, lists that could not be read whole included. Raises StorageError."""
        head = self._head(server)
        if head is None:
            return ()
        partial = (f"{name} could not be read whole: {reason}" for name, reason in head["partial"].items())
        return (*head["warnings"], *partial)

    # --- writing

    def put(self, snapshot: Snapshot, reading: Reading, reach: str) -> Stored:
        """Store what a server offers now; actions that it offers no more are marked as vanished.

        Args:
            snapshot: all of it, storable.
            reading: what its tool list holds.
            reach: fingerprint of how the server was reached.

        Raises:
            StorageError: nothing was stored.
        """
        server = snapshot.server
        head = self._made_head(snapshot, reading)
        said = about(snapshot)
        now = snapshot.taken_at or time.time()
        with self._told("written"), self._transaction():
            self._forget_decoded(server)
            self._db.execute(
                "INSERT OR REPLACE INTO servers VALUES (?, ?, ?, ?, ?, ?, ?)",
                (server, reach, snapshot.taken_at, said.title, said.description, encode(head), digest_of(head)),
            )
            self._mark_vanished(server, {entry.name for entry in reading.entries}, now)
            self._put_actions(server, reading, now)
            rows = self._db.execute(
                "SELECT id, name FROM actions WHERE server = ? AND vanished_at IS NOT NULL", (server,)
            ).fetchall()
        return Stored(reach, snapshot.taken_at, said, reading.entries, dict(rows))

    def _made_head(self, snapshot: Snapshot, reading: Reading) -> dict[str, Json]:
        """Everything of a snapshot but its usable tools."""
        used = set(reading.positions)
        odd = [[place, tool] for place, tool in enumerate(snapshot.tools) if place not in used]
        lists = {name: getattr(snapshot, name) for name in LISTS if name != "tools"}
        facts = {name: getattr(snapshot, name) for name in _HEAD}
        head: dict[str, Json] = decode(encode({**facts, **lists, "odd": odd, "warnings": reading.warnings}))
        return head

    def _mark_vanished(self, server: str, present: set[str], now: float) -> None:
        known = self._db.execute("SELECT name FROM actions WHERE server = ? AND vanished_at IS NULL", (server,))
        gone = [(now, server, name) for (name,) in known.fetchall() if name not in present]
        self._db.executemany("UPDATE actions SET vanished_at = ? WHERE server = ? AND name = ?", gone)
        self._db.execute("DELETE FROM actions WHERE server = ? AND vanished_at < ?", (server, now - KEPT_VANISHED_S))
        self._db.execute(
            "DELETE FROM items WHERE server = ? AND name NOT IN (SELECT name FROM actions WHERE server = ?)",
            (server, server),
        )

    def _put_actions(self, server: str, reading: Reading, now: float) -> None:
        stored = self._db.execute("SELECT name, digest FROM actions WHERE server = ?", (server,)).fetchall()
        digests = dict(stored)
        rows = zip(reading.entries, reading.items, reading.positions, strict=True)
        self._db.executemany(
            "INSERT INTO actions VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, NULL) ON CONFLICT (server, name) DO UPDATE SET "
            "id = excluded.id, position = excluded.position, digest = excluded.digest, "
            "description = excluded.description, title = excluded.title, hints = excluded.hints, "
            "fault = excluded.fault, vanished_at = NULL",
            [_row(server, entry, position, now) for entry, _, position in rows],
        )
        self._db.executemany(
            "INSERT OR REPLACE INTO items VALUES (?, ?, ?, ?)",
            [
                (server, entry.name, encode(item.tool), _shown(item))
                for entry, item in zip(reading.entries, reading.items, strict=True)
                if digests.get(entry.name) != entry.digest
            ],
        )

    def _forget_decoded(self, server: str) -> None:
        self._whole.pop(server, None)
        for key in [key for key in self._items if key[0] == server]:
            del self._items[key]

    def forget(self, server: str) -> bool:
        """Forget everything about a server but its approvals; whether anything was known. Raises StorageError."""
        with self._told("written"), self._transaction():
            self._forget_decoded(server)
            self._db.execute("DELETE FROM items WHERE server = ?", (server,))
            self._db.execute("DELETE FROM actions WHERE server = ?", (server,))
            return self._db.execute("DELETE FROM servers WHERE name = ?", (server,)).rowcount > 0

    # --- approvals

    def approvals(self) -> Mapping[str, Approval]:
        """Every approval, by id of its action. Raises StorageError."""
        with self._told("read"):
            rows = self._db.execute("SELECT id, digest, approved_at FROM approvals").fetchall()
        return {row[0]: Approval(*row) for row in rows}

    def approve(self, approvals: Iterable[Approval]) -> None:
        """Remember approvals; an earlier one of the same action is replaced. Raises StorageError."""
        rows = [(item.id, item.digest, item.approved_at) for item in approvals]
        with self._told("written"), self._transaction():
            self._db.executemany("INSERT OR REPLACE INTO approvals VALUES (?, ?, ?)", rows)
            self._seal()

    def disapprove(self, ids: Iterable[str]) -> None:
        """Forget the approvals of these actions. Raises StorageError."""
        with self._told("written"), self._transaction():
            self._db.executemany("DELETE FROM approvals WHERE id = ?", [(identity,) for identity in ids])
            self._seal()

    def _approvals_hash(self) -> str:
        rows = self._db.execute("SELECT id, digest, approved_at FROM approvals ORDER BY id").fetchall()
        return hashlib.sha256(repr(rows).encode()).hexdigest()

    def _seal(self) -> None:
        self._db.execute("INSERT OR REPLACE INTO facts VALUES (?, ?)", (_SEAL, self._approvals_hash()))

    def _check_seal(self) -> None:
        with self._told("read"):
            row = self._db.execute("SELECT value FROM facts WHERE name = ?", (_SEAL,)).fetchone()
            sound = row is not None and row[0] == self._approvals_hash()
        if not sound:
            raise self._damaged("the approvals do not match their hash")

    # --- the database

    def _migrate(self) -> None:
        with self._told("opened"), self._transaction():
            version = self._db.execute("PRAGMA user_version").fetchone()[0]
            if version > VERSION:
                raise StorageError(
                    f"the catalog {self._path} was written by a newer AnyAct (version {version}, known is {VERSION})",
                    hint="Update AnyAct, or choose another home folder.",
                )
            for step in range(version, VERSION):
                for statement in _MIGRATIONS[step].split(";"):
                    self._db.execute(statement)
                if step == 0:
                    self._seal()
            if version < VERSION:
                self._db.execute(f"PRAGMA user_version = {VERSION}")
            self._repair_anew()

    def _repair_anew(self) -> None:
        """Make the repaired schemas again where they come from an older way of repairing."""
        row = self._db.execute("SELECT value FROM facts WHERE name = ?", (_FORM,)).fetchone()
        if row is not None and row[0] == str(FORM):
            return
        for server, name, raw in self._db.execute("SELECT server, name, tool FROM items").fetchall():
            tool = self._decoded(raw, None, f"the action {name!r} of the server {server!r}")
            repaired = repair(tool.get("inputSchema"))
            shown = _shown(Item(tool, repaired.shown))
            self._db.execute("UPDATE items SET shown = ? WHERE server = ? AND name = ?", (shown, server, name))
            self._db.execute(
                "UPDATE actions SET fault = ? WHERE server = ? AND name = ?", (repaired.fault, server, name)
            )
        self._db.execute("INSERT OR REPLACE INTO facts VALUES (?, ?)", (_FORM, str(FORM)))

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
            except (sqlite3.OperationalError, sqlite3.ProgrammingError) as error:
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


def _row(server: str, entry: Entry, position: int, now: float) -> Sequence[Any]:
    words = entry.description, entry.title, _packed(entry.hints), entry.fault
    return (server, entry.name, entry.id, position, entry.digest, *words, now)


def _shown(item: Item) -> bytes | None:
    """The repaired schema where it differs from the original."""
    return None if item.shown is item.tool.get("inputSchema") else encode(item.shown)


def _packed(hints: Hints) -> int:
    """Hints as two bits each: whether it is given, and what it says."""
    packed = 0
    for place, name in enumerate(_HINTS):
        value = getattr(hints, name)
        if value is not None:
            packed |= (2 + value) << (2 * place)
    return packed


def _unpacked(packed: int) -> Hints:
    found = _KNOWN_HINTS.get(packed)
    if found is None:
        bits = [(packed >> (2 * place)) & 3 for place in range(len(_HINTS))]
        found = Hints(*(bool(bit & 1) if bit & 2 else None for bit in bits))
        _KNOWN_HINTS[packed & 255] = found
    return found


_KNOWN_HINTS: dict[int, Hints] = {}
