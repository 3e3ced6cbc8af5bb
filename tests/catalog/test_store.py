"""What the catalog remembers."""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from anyact_server.catalog.repair import FORM
from anyact_server.catalog.snapshots import Item, Reading, about, read_tools
from anyact_server.catalog.store import FILE, KEPT_ITEMS, KEPT_VANISHED_S, KEPT_WHOLE, Store, Stored
from anyact_server.errors import StorageError
from anyact_server.types import Hints, Snapshot

SCHEMA: dict[str, Any] = {"type": "object", "properties": {"z": {"type": "string"}, "a": {"type": "array"}}}


def tool(name: str, **more: Any) -> dict[str, Any]:
    """An item of a tool list."""
    return {"name": name, "inputSchema": SCHEMA, **more}


def put(store: Store, *tools: Any, server: str = "s", at: float = 100.0, **more: Any) -> Stored:
    """Store a snapshot with these tools."""
    snapshot = Snapshot(server, tools=tools, taken_at=at, **more)
    return store.put(snapshot, read_tools(server, tools), "reach")


def test_everything_comes_back_after_a_restart(tmp_path: Path) -> None:
    """Lists as sent, odd items in their places, key order kept, entries in the server's order."""
    store = Store(tmp_path)
    first = tool("b", description="B", annotations={"readOnlyHint": True}, _meta={"k": "\ud800", "n": 2**70})
    snapshot = Snapshot(
        "s",
        tools=(first, 42, tool("a"), {"name": 7}),  # type: ignore[arg-type]  # as servers send it
        prompts=({"name": "p"},),
        resources=({"uri": "u"},),
        templates=({"uriTemplate": "t"},),
        info={"name": "S", "title": "T"},
        instructions="do this",
        capabilities={"tools": {}},
        protocol_version="2025-11-25",
        taken_at=3.5,
        partial={"prompts": "why"},
    )
    stored = store.put(snapshot, read_tools("s", snapshot.tools), "there")
    store.close()
    store = Store(tmp_path)
    assert store.whole("s") == snapshot
    assert list(store.whole("s").tools[0]["inputSchema"]["properties"]) == ["z", "a"]
    assert store.servers(["s", "other"]) == {"s": stored}
    assert stored.about == about(snapshot)
    assert [entry.name for entry in stored.entries] == ["b", "a"]
    assert stored.entries[0].hints == Hints(read_only=True)
    assert store.item("s", "b").tool == first
    assert store.item("s", "b").shown["properties"]["a"] == {"type": "array", "items": {}}
    assert store.warnings("s")[0].startswith("tool number 2 is left out")
    assert store.warnings("s")[-1] == "prompts could not be read whole: why"
    store.close()


def test_what_is_not_known_is_empty() -> None:
    """No server, no item, no warning."""
    store = Store()
    assert store.servers(["s"]) == {}
    assert store.item("s", "x") == Item()
    assert store.whole("s") == Snapshot("s")
    assert store.warnings("s") == ()
    assert not store.forget("s")
    store.close()


@pytest.mark.case("G2")
def test_what_is_offered_no_more_is_remembered_as_vanished_for_a_time() -> None:
    """It can come back; after half a year it is forgotten."""
    store = Store()
    put(store, tool("a"), tool("b"))
    gone = put(store, tool("b"), at=200.0)
    assert ([entry.name for entry in gone.entries], gone.vanished) == (["b"], {"s__a": "a"})
    assert store.servers(["s"])["s"] == gone
    back = put(store, tool("a"), at=300.0)
    assert ([entry.name for entry in back.entries], back.vanished) == (["a"], {"s__b": "b"})
    assert store.item("s", "a").tool == tool("a")
    later = put(store, tool("a"), at=301.0 + KEPT_VANISHED_S)
    assert later.vanished == {}
    assert store.item("s", "b") == Item()
    store.close()


def test_a_changed_tool_is_read_anew() -> None:
    """Nothing decoded outlives what it was decoded from."""
    store = Store()
    put(store, tool("a"))
    assert store.item("s", "a").tool == tool("a") and len(store.whole("s").tools) == 1
    put(store, tool("a", description="new"), tool("b"))
    assert store.item("s", "a").tool["description"] == "new"
    assert len(store.whole("s").tools) == 2
    assert store.forget("s")
    assert store.item("s", "a") == Item() and store.whole("s") == Snapshot("s")
    store.close()


def test_only_the_last_used_are_kept_decoded() -> None:
    """Memory stays bounded."""
    store = Store()
    names = [f"t{n}" for n in range(KEPT_ITEMS + 5)]
    put(store, *(tool(name) for name in names))
    for name in names:
        store.item("s", name)
    assert store.item("s", names[-1]) is store.item("s", names[-1])
    for number in range(KEPT_WHOLE + 3):
        put(store, tool("x"), server=f"s{number}")
        store.whole(f"s{number}")
    first, last = store.whole("s0"), store.whole(f"s{KEPT_WHOLE + 2}")
    assert first is store.whole("s0") and last is store.whole(f"s{KEPT_WHOLE + 2}")
    store.close()


def test_a_failed_write_changes_nothing() -> None:
    """A snapshot is stored whole or not at all."""
    store = Store()
    before = put(store, tool("a"))
    good = read_tools("s", [tool("a"), tool("b")])
    broken = Reading(good.entries, good.items[:1], good.positions, ())
    with pytest.raises(ValueError, match="zip"):
        store.put(Snapshot("s", tools=(tool("a"), tool("b"))), broken, "reach")
    assert store.servers(["s"]) == {"s": before}
    store.close()


@pytest.mark.parametrize(
    ("statement", "use"),
    [
        ("UPDATE items SET tool = '{}'", lambda store: store.item("s", "a")),
        ("UPDATE items SET tool = x'00ff'", lambda store: store.item("s", "a")),
        ("UPDATE items SET tool = '{}'", lambda store: store.whole("s")),
        ("UPDATE items SET shown = 'broken'", lambda store: store.item("s", "a")),
        ("UPDATE actions SET digest = 'x'", lambda store: store.item("s", "a")),
        ("UPDATE servers SET head = '{\"odd\": []}'", lambda store: store.whole("s")),
        ("UPDATE servers SET head = 'x'", lambda store: store.warnings("s")),
    ],
)
def test_damage_is_an_error_and_never_taken_as_true(tmp_path: Path, statement: str, use: Any) -> None:
    """Whatever was changed behind our back is refused by name."""
    store = Store(tmp_path)
    put(store, tool("a"))
    store.close()
    with sqlite3.connect(tmp_path / FILE) as raw:
        raw.execute(statement)
    raw.close()
    store = Store(tmp_path)
    with pytest.raises(StorageError, match="is damaged: what is stored of"):
        use(store)
    store.close()


def test_schemas_repaired_in_an_older_way_are_repaired_anew(tmp_path: Path) -> None:
    """A better repair reaches servers that are never read again."""
    store = Store(tmp_path)
    put(store, tool("a"))
    right = store.item("s", "a").shown
    store.close()
    with sqlite3.connect(tmp_path / FILE) as raw:
        raw.execute("UPDATE items SET shown = '{}'")
        raw.execute("UPDATE actions SET fault = 'old'")
        raw.execute("UPDATE facts SET value = ? WHERE name = 'repair_form'", (str(FORM - 1),))
    raw.close()
    store = Store(tmp_path)
    assert store.item("s", "a").shown == right
    assert store.servers(["s"])["s"].entries[0].fault is None
    store.close()


WRITER = """
import sys
from pathlib import Path
from anyact_server.catalog.snapshots import read_tools
from anyact_server.catalog.store import Store
from anyact_server.types import Snapshot
store = Store(Path(sys.argv[1]))
number = 0
while number < 2000:
    number += 1
    tools = tuple({"name": f"t{n}", "inputSchema": {"type": "object"}, "description": str(number)} for n in range(50))
    store.put(Snapshot("s", tools=tools, taken_at=float(number)), read_tools("s", tools), "r")
    print(number, flush=True)
"""


def test_a_process_killed_while_writing_leaves_a_whole_state(tmp_path: Path) -> None:
    """Either the state before the last write or the one after it, never something between."""
    with subprocess.Popen([sys.executable, "-c", WRITER, str(tmp_path)], stdout=subprocess.PIPE, text=True) as child:
        assert child.stdout is not None
        for line in child.stdout:
            if int(line) == 5:
                os.kill(child.pid, signal.SIGKILL)
                break
    store = Store(tmp_path)
    numbers = {item["description"] for item in store.whole("s").tools}
    assert len(numbers) == 1 and len(store.whole("s").tools) == 50
    assert float(numbers.pop()) == store.servers(["s"])["s"].taken_at >= 5
    store.close()
