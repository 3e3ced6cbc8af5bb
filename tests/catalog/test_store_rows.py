"""Values as rows."""

from __future__ import annotations

from itertools import product

from anyact_server.catalog.snapshots import Entry, Item
from anyact_server.catalog.store_rows import action_row, entry_of, packed, shown_bytes, unpacked
from anyact_server.types import Hints


def test_all_hints_survive_being_packed() -> None:
    """Given or not, true or not: eighty-one combinations, each one value."""
    for said in product((None, False, True), repeat=4):
        hints = Hints(*said)
        assert unpacked(packed(hints)) == hints
        assert unpacked(packed(hints)) is unpacked(packed(hints))


def test_an_entry_survives_its_row() -> None:
    """Position and time stand in the row beside it."""
    entry = Entry("s__a", "a", "d1", "text", None, Hints(read_only=True), "faulty")
    server, name, identity, position, *words, now = action_row("s", entry, 3, 9.0)
    assert (server, position, now) == ("s", 3, 9.0)
    assert entry_of(name, identity, *words) == entry


def test_a_repaired_schema_is_stored_only_where_it_differs() -> None:
    """Most are shown as they came."""
    schema = {"type": "object"}
    assert shown_bytes(Item({"inputSchema": schema}, schema)) is None
    assert shown_bytes(Item({"inputSchema": schema}, {"type": "object", "x": 1})) == b'{"type":"object","x":1}'
