"""Actions and snapshots that read the store when looked at."""

from __future__ import annotations

from dataclasses import fields, replace

import pytest

from anyact_server.catalog.snapshots import About, Entry, Item
from anyact_server.catalog.store_views import NO_OVERRIDE, stored_action, stored_snapshot
from anyact_server.errors import StorageError
from anyact_server.types import Action, Hints, Override, ServerSpec, Snapshot, plain

SNAPSHOT = Snapshot("s", tools=({"name": "a"},), info={"name": "S"}, instructions="i", taken_at=4.0)


class Shelf:
    """A source that counts how often it is asked."""

    def __init__(self) -> None:
        self.asked = 0

    def item(self, server: str, name: str) -> Item:
        """The one item there is."""
        self.asked += 1
        if name != "a":
            raise StorageError("damaged")
        tool = {"name": name, "inputSchema": {"type": "object"}, "outputSchema": {"type": "null"}, "icons": [1]}
        return Item(tool, {"type": "object", "properties": {}})

    def whole(self, server: str) -> Snapshot:
        """The one snapshot there is."""
        self.asked += 1
        return SNAPSHOT


def action(shelf: Shelf, name: str = "a", override: Override = NO_OVERRIDE, **spec: object) -> Action:
    """An action on a shelf."""
    entry = Entry(f"s__{name}", name, "d1", "text", "Title", Hints(read_only=True), "faulty")
    server = ServerSpec("s", "stdio", **spec)  # type: ignore[arg-type]  # keywords of the tests
    return stored_action(entry, server, About("ST", "SD"), "stale", override, shelf)


def test_nothing_is_read_until_a_schema_is_looked_at() -> None:
    """Names and texts are at hand."""
    shelf = Shelf()
    found = action(shelf)
    assert (found.id, found.server, found.name, found.description, found.title) == ("s__a", "s", "a", "text", "Title")
    assert (found.server_title, found.server_description, found.state, found.fault) == ("ST", "SD", "stale", "faulty")
    assert (found.digest, found.hints, found.kind, found.pinned) == ("d1", Hints(read_only=True), "tool", False)
    assert shelf.asked == 0
    assert found.input_schema == {"type": "object"}
    assert found.shown_schema == {"type": "object", "properties": {}}
    assert found.output_schema == {"type": "null"}
    assert found.extra == {"icons": [1]}


def test_the_users_words_win_over_the_servers() -> None:
    """Override, title, description, tags and pins."""
    found = action(Shelf(), override=Override("N", "D", 7.0), title="UT", description="UD", tags=("t",), pin=("a",))
    assert (found.title, found.description, found.call_s) == ("N", "D", 7.0)
    assert (found.server_title, found.server_description, found.tags, found.pinned) == ("UT", "UD", ("t",), True)


def test_a_stored_action_is_an_action_in_every_way() -> None:
    """It has all fields, can be changed into a plain one, and turned into JSON."""
    found = action(Shelf())
    assert isinstance(found, Action)
    changed = replace(found, description="other")
    assert type(changed) is Action
    assert changed.input_schema == {"type": "object"} and changed.description == "other"
    assert plain(replace(found)) == plain(found)
    assert all(getattr(replace(found), field.name) == getattr(found, field.name) for field in fields(Action))
    with pytest.raises(AttributeError):
        found.description = "x"  # type: ignore[misc]  # frozen


def test_damage_shows_when_it_is_looked_at() -> None:
    """Not before, and not as an empty schema."""
    found = action(Shelf(), "b")
    with pytest.raises(StorageError):
        _ = found.input_schema


def test_a_stored_snapshot_is_a_snapshot_in_every_way() -> None:
    """Its lists are read when looked at."""
    shelf = Shelf()
    found = stored_snapshot("s", 4.0, shelf)
    assert (found.server, found.taken_at, shelf.asked) == ("s", 4.0, 0)
    copied = replace(found)
    assert shelf.asked == 9
    assert copied == SNAPSHOT and type(copied) is Snapshot
