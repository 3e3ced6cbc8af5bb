"""The catalog's memory: an SQLite database in the home folder.

Every change is one transaction, so a crash leaves the state before or after it. What cannot be trusted is refused with
a clear error, never taken as true: every action carries the digest of its bytes, every server one over the rest.
"""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from anyact_server.errors import StorageError
from anyact_server.types import EMPTY, Json, Snapshot

from .repair import FORM, repair
from .snapshots import LISTS, About, Entry, Item, Reading, about, decode, digest_of, encode
from .store_approvals import Approvals
from .store_database import Database
from .store_rows import ENTRIES, MIGRATIONS, action_row, entry_of, shown_bytes

FILE = "catalog.sqlite"
KEPT_VANISHED_S = 180 * 24 * 3600.0
"""How long a vanished action is remembered, so that calls to it can be told what became of it."""
KEPT_ITEMS = 1024
"""Schemas that are kept decoded, the last used stay."""
KEPT_WHOLE = 16
"""Snapshots that are kept decoded."""

_FORM = "repair_form"
_HEAD = ("info", "instructions", "capabilities", "protocol_version", "taken_at", "partial")
_OTHER_LISTS = tuple(name for name in LISTS if name != "tools")
Key = TypeVar("Key", bound=Hashable)
Value = TypeVar("Value")


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
    entries: tuple[Entry, ...] = ()
    vanished: Mapping[str, str] = field(default_factory=lambda: EMPTY)


class Store:
    """The database. Safe to use from several threads.

    Args:
        home: the home folder; None keeps everything in memory.

    Raises:
        StorageError: the database is damaged, of a newer AnyAct, or cannot be opened.
    """

    def __init__(self, home: Path | None = None) -> None:
        self._database = Database(None if home is None else home / FILE, MIGRATIONS)
        self._items: OrderedDict[tuple[str, str], Item] = OrderedDict()
        self._whole: OrderedDict[str, Snapshot] = OrderedDict()
        try:
            self.approvals = Approvals(self._database)
            self._repair_anew()
        except StorageError:
            self.close()
            raise

    def close(self) -> None:
        """Close the database."""
        self._database.close()

    # --- reading

    def servers(self, names: Iterable[str]) -> Mapping[str, Stored]:
        """What is remembered of these servers, by name; without schemas.

        Raises:
            StorageError: it cannot be read.
        """
        wanted = frozenset(names)
        one = tuple(wanted) if len(wanted) == 1 else ()
        with self._database.lock:
            heads = self._database.rows("SELECT name, reach, taken_at, title, description FROM servers")
            rows = self._database.rows(f"{ENTRIES} {'WHERE server = ?' if one else ''} ORDER BY server, position", one)
        entries: dict[str, list[Entry]] = {}
        vanished: dict[str, dict[str, str]] = {}
        for server, name, identity, *words, vanished_at in rows:
            if vanished_at is not None:
                vanished.setdefault(server, {})[identity] = name
            elif server in wanted:
                entries.setdefault(server, []).append(entry_of(name, identity, *words))
        return {
            name: Stored(reach, taken_at, About(title, text), tuple(entries.get(name, ())), vanished.get(name, EMPTY))
            for name, reach, taken_at, title, text in heads
            if name in wanted
        }

    def item(self, server: str, name: str) -> Item:
        """The bulky part of an action; an empty one when it is not stored any more.

        Raises:
            StorageError: it is damaged.
        """
        with self._database.lock:
            return _kept(self._items, (server, name), KEPT_ITEMS, lambda: self._read_item(server, name))

    def _read_item(self, server: str, name: str) -> Item:
        row = self._database.row(
            "SELECT tool, shown, digest FROM items JOIN actions USING (server, name) WHERE server = ? AND name = ?",
            (server, name),
        )
        if row is None:
            return Item()
        tool = self._decoded(row[0], row[2], f"the action {name!r} of the server {server!r}")
        return Item(tool, tool["inputSchema"] if row[1] is None else self._decoded(row[1], None, "a repaired schema"))

    def whole(self, server: str) -> Snapshot:
        """The whole snapshot of a server; an empty one when it is not stored any more.

        Raises:
            StorageError: it is damaged.
        """
        with self._database.lock:
            return _kept(self._whole, server, KEPT_WHOLE, lambda: self._read_whole(server))

    def _read_whole(self, server: str) -> Snapshot:
        head = self._head(server)
        if head is None:
            return Snapshot(server)
        rows = self._database.rows(
            "SELECT position, tool, digest, name FROM items JOIN actions USING (server, name) "
            "WHERE server = ? AND vanished_at IS NULL",
            (server,),
        )
        tools = [
            (place, self._decoded(raw, digest, f"the action {name!r} of the server {server!r}"))
            for place, raw, digest, name in rows
        ]
        tools += [(place, tool) for place, tool in head["odd"]]
        tools.sort(key=lambda pair: pair[0])
        parts: dict[str, Any] = {name: head[name] for name in _HEAD}
        parts |= {name: tuple(head[name]) for name in _OTHER_LISTS}
        return Snapshot(server=server, tools=tuple(tool for _, tool in tools), **parts)

    def warnings(self, server: str) -> tuple[str, ...]:
        """What was odd in what a server offers, lists that could not be read whole included. Raises StorageError."""
        head = self._head(server)
        if head is None:
            return ()
        partial = (f"{name} could not be read whole: {reason}" for name, reason in head["partial"].items())
        return (*head["warnings"], *partial)

    def _head(self, server: str) -> dict[str, Any] | None:
        """Everything of a snapshot but its usable tools."""
        row = self._database.row("SELECT head, hash FROM servers WHERE name = ?", (server,))
        if row is None:
            return None
        head: dict[str, Any] = self._decoded(row[0], row[1], f"the server {server!r}")
        return head

    def _decoded(self, raw: bytes, digest: str | None, what: str) -> Json:
        """The value of bytes, which must have the digest, where one is given. Raises StorageError."""
        try:
            value = decode(raw)
            sound = digest is None or digest_of(value) == digest
        except (ValueError, TypeError):
            sound = False
        if not sound:
            raise self._database.damaged(f"what is stored of {what} does not match its digest")
        return value

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
        head = _made_head(snapshot, reading)
        said = about(snapshot)
        now = snapshot.taken_at or time.time()
        with self._database.transaction():
            self._forget_decoded(server)
            self._database.write(
                "INSERT OR REPLACE INTO servers VALUES (?, ?, ?, ?, ?, ?, ?)",
                (server, reach, snapshot.taken_at, said.title, said.description, encode(head), digest_of(head)),
            )
            self._put_items(server, reading)
            self._put_actions(server, reading, now)
            vanished = self._database.rows(
                "SELECT id, name FROM actions WHERE server = ? AND vanished_at IS NOT NULL", (server,)
            )
        return Stored(reach, snapshot.taken_at, said, reading.entries, dict(vanished))

    def _put_items(self, server: str, reading: Reading) -> None:
        """Write the bulky parts that are new or differ."""
        digests: dict[str, str] = dict(
            self._database.rows("SELECT name, digest FROM actions WHERE server = ?", (server,))
        )
        rows = [
            (server, entry.name, encode(item.tool), shown_bytes(item))
            for entry, item in zip(reading.entries, reading.items, strict=True)
            if digests.get(entry.name) != entry.digest
        ]
        self._database.write_all("INSERT OR REPLACE INTO items VALUES (?, ?, ?, ?)", rows)

    def _put_actions(self, server: str, reading: Reading, now: float) -> None:
        known = self._database.rows("SELECT name FROM actions WHERE server = ? AND vanished_at IS NULL", (server,))
        present = {entry.name for entry in reading.entries}
        gone = [(now, server, name) for (name,) in known if name not in present]
        self._database.write_all("UPDATE actions SET vanished_at = ? WHERE server = ? AND name = ?", gone)
        rows = [
            action_row(server, entry, place, now)
            for entry, place in zip(reading.entries, reading.positions, strict=True)
        ]
        self._database.write_all(
            "INSERT INTO actions VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, NULL) ON CONFLICT (server, name) DO UPDATE SET "
            "id = excluded.id, position = excluded.position, digest = excluded.digest, "
            "description = excluded.description, title = excluded.title, hints = excluded.hints, "
            "fault = excluded.fault, vanished_at = NULL",
            rows,
        )
        old = (server, now - KEPT_VANISHED_S)
        self._database.write(
            "DELETE FROM items WHERE server = ?1 AND name IN "
            "(SELECT name FROM actions WHERE server = ?1 AND vanished_at < ?2)",
            old,
        )
        self._database.write("DELETE FROM actions WHERE server = ? AND vanished_at < ?", old)

    def forget(self, server: str) -> bool:
        """Forget everything about a server but its approvals; whether anything was known. Raises StorageError."""
        with self._database.transaction():
            self._forget_decoded(server)
            self._database.write("DELETE FROM items WHERE server = ?", (server,))
            self._database.write("DELETE FROM actions WHERE server = ?", (server,))
            return self._database.write("DELETE FROM servers WHERE name = ?", (server,)) > 0

    def _forget_decoded(self, server: str) -> None:
        self._whole.pop(server, None)
        for key in [key for key in self._items if key[0] == server]:
            del self._items[key]

    def _repair_anew(self) -> None:
        """Make the repaired schemas again where they come from an older way of repairing."""
        row = self._database.row("SELECT value FROM facts WHERE name = ?", (_FORM,))
        if row is not None and row[0] == str(FORM):
            return
        with self._database.transaction():
            for server, name, raw in self._database.rows("SELECT server, name, tool FROM items"):
                tool = self._decoded(raw, None, f"the action {name!r} of the server {server!r}")
                repaired = repair(tool.get("inputSchema"))
                place = (server, name)
                shown = shown_bytes(Item(tool, repaired.shown))
                self._database.write("UPDATE items SET shown = ? WHERE server = ? AND name = ?", (shown, *place))
                self._database.write(
                    "UPDATE actions SET fault = ? WHERE server = ? AND name = ?", (repaired.fault, *place)
                )
            self._database.write("INSERT OR REPLACE INTO facts VALUES (?, ?)", (_FORM, str(FORM)))


def _made_head(snapshot: Snapshot, reading: Reading) -> dict[str, Json]:
    used = set(reading.positions)
    odd = [[place, tool] for place, tool in enumerate(snapshot.tools) if place not in used]
    facts = {name: getattr(snapshot, name) for name in (*_HEAD, *_OTHER_LISTS)}
    head: dict[str, Json] = decode(encode({**facts, "odd": odd, "warnings": reading.warnings}))
    return head


def _kept(kept: OrderedDict[Key, Value], key: Key, most: int, make: Callable[[], Value]) -> Value:
    """The value of a key, made where it is not kept; the last used ones stay."""
    if key in kept:
        kept.move_to_end(key)
        return kept[key]
    value = kept[key] = make()
    if len(kept) > most:
        kept.popitem(last=False)
    return value
