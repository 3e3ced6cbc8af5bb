"""The catalog's tables, and values as their rows hold them. Pure."""

from __future__ import annotations

from typing import Any

from anyact_server.types import Hints

from .snapshots import Entry, Item, encode

MIGRATIONS = (
    """
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
CREATE TABLE facts (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID
""",
)
"""What brings the tables from a version to the next."""

ENTRIES = "SELECT server, name, id, digest, description, title, hints, fault, vanished_at FROM actions"
_HINTS = ("read_only", "destructive", "idempotent", "open_world")
_known_hints: dict[int, Hints] = {}


def action_row(server: str, entry: Entry, position: int, now: float) -> tuple[Any, ...]:
    """A row of `actions`."""
    words = entry.description, entry.title, packed(entry.hints), entry.fault
    return (server, entry.name, entry.id, position, entry.digest, *words, now)


def entry_of(name: str, identity: str, digest: str, text: str, title: str | None, hints: int, fault: str) -> Entry:
    """The entry that a row of `actions` holds."""
    return Entry(identity, name, digest, text, title, unpacked(hints), fault)


def shown_bytes(item: Item) -> bytes | None:
    """The repaired schema, where it differs from the original."""
    return None if item.shown is item.tool.get("inputSchema") else encode(item.shown)


def packed(hints: Hints) -> int:
    """Hints as two bits each: whether it is given, and what it says."""
    found = 0
    for place, name in enumerate(_HINTS):
        value = getattr(hints, name)
        if value is not None:
            found |= (2 + value) << (2 * place)
    return found


def unpacked(number: int) -> Hints:
    """The hints that a number stands for; the same number gives the same value."""
    known = _known_hints.get(number)
    if known is None:
        bits = [(number >> (2 * place)) & 3 for place in range(len(_HINTS))]
        known = _known_hints.setdefault(number, Hints(*(bool(bit & 1) if bit & 2 else None for bit in bits)))
    return known
