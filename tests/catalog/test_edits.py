"""Changing JSON files in place, and writing files safely."""

from __future__ import annotations

import json
import stat
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from anyact_server.catalog.edits import drop, put, read_json, read_text, save, section
from anyact_server.errors import ConfigError, StorageError

COMMENTED = """\
{
    // my servers
    "mcpServers": {
        "a": {"command": "x"}, // the first
        /* a block */
        "b": {"url": "http://h//x"} // the last
    },
    "other": [1, 2,],
}
"""


@pytest.mark.case("C1")
def test_a_new_member_keeps_every_comment_and_the_indentation() -> None:
    """Only the comma and the new lines are added."""
    changed = put(COMMENTED, ["mcpServers", "c"], {"command": "y"})
    wanted = COMMENTED.replace(
        '"http://h//x"} // the last\n',
        '"http://h//x"}, // the last\n        "c": {\n            "command": "y"\n        }\n',
    )
    assert changed == wanted
    assert drop(changed, ["mcpServers", "c"]) == COMMENTED


def test_a_member_is_replaced_where_it_stands() -> None:
    """Its neighbours and its comment stay."""
    changed = put(COMMENTED, ["mcpServers", "a"], {"command": "z"})
    assert changed.index('"z"') < changed.index("// the first") < changed.index('"b"')
    assert read_json(changed)["mcpServers"]["a"] == {"command": "z"}


def test_missing_parents_are_made() -> None:
    """Also in an empty file, and in one that is blank."""
    for text in ("", "\ufeff \n", "{}"):
        assert read_json(put(text, ["mcp", "servers", "x"], {"a": 1})) == {"mcp": {"servers": {"x": {"a": 1}}}}
    assert put('{"a":1}', ["b"], 2) == '{"a":1,\n  "b": 2\n}'


def test_the_last_member_takes_its_comma_along() -> None:
    """Strict readers refuse a comma before a closing bracket."""
    assert drop('{"a": 1, "b": 2}', ["b"]) == '{"a": 1 }'
    assert json.loads(drop('{\n  "a": 1,\n  "b": 2\n}', ["b"])) == {"a": 1}
    assert json.loads(drop('{"a": 1, "b": 2}', ["a"])) == {"b": 2}
    assert json.loads(drop('{"a": 1}', ["a"])) == {}


def test_dropping_what_is_not_there_changes_nothing() -> None:
    """At any depth."""
    for path in (["x"], ["mcpServers", "x"], ["x", "y"], ["other", "y"]):
        assert drop(COMMENTED, path) == COMMENTED


def test_windows_line_ends_stay() -> None:
    """A new member gets the file's own."""
    text = '{\r\n  "a": 1\r\n}\r\n'
    changed = put(text, ["b"], 2)
    assert changed == '{\r\n  "a": 1,\r\n  "b": 2\r\n}\r\n'
    assert drop(changed, ["b"]) == text
    assert drop('{\r\n  "a": 1, // one\r\n  "b": 2\r\n}', ["a"]) == '{\r\n  "b": 2\r\n}'


def test_a_key_that_stands_twice_is_not_changed_by_guess() -> None:
    """Removing one of two would leave the other in force."""
    with pytest.raises(ConfigError, match="cannot be changed safely"):
        drop('{"a": 1, "b": 3, "a": 2}', ["a"])


@pytest.mark.case("C1")
def test_a_broken_file_is_refused_with_line_and_column() -> None:
    """And a parent that is no object."""
    with pytest.raises(ConfigError) as caught:
        put('{\n  "a": oops\n}', ["b"], 1, "f.json")
    assert caught.value.origin is not None and (caught.value.origin.line, caught.value.column) == (2, 8)
    with pytest.raises(ConfigError, match="something else than an object around 'x'"):
        put('{"mcpServers": []}', ["mcpServers", "x"], {})
    with pytest.raises(ConfigError):
        put("[" * 100_000, ["x"], 1)


KEYS = st.text(min_size=1, max_size=6)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**6), 10**6) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=3),
    max_leaves=8,
)


@settings(max_examples=60, deadline=None)
@given(st.dictionaries(KEYS, VALUES, max_size=4), KEYS, KEYS, VALUES, st.sampled_from([None, 1, 2, 4, "\t"]))
def test_any_file_means_what_was_asked_for_after_a_change(
    body: dict[str, Any], outer: str, inner: str, value: Any, indent: Any
) -> None:
    """Put then drop, with strange keys and every indentation."""
    text = json.dumps(body, indent=indent, ensure_ascii=False)
    try:
        changed = put(text, [outer, inner], value)
    except ConfigError:
        assert not isinstance(body.get(outer, {}), dict)
        return
    wanted = {**body, outer: {**body.get(outer, {}), inner: value}}
    assert json.loads(changed) == wanted
    dropped = json.loads(drop(changed, [outer, inner]))
    del wanted[outer][inner]
    assert dropped == wanted


def test_saving_replaces_whole_and_keeps_a_copy(tmp_path: Path) -> None:
    """The mode stays, the copy is for the owner alone, no other file is left."""
    path = tmp_path / "sub" / "c.json"
    backups = tmp_path / "backups"
    assert save(path, "one\r\n", backups=backups) is None
    assert path.read_bytes() == b"one\r\n"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    path.chmod(0o644)
    kept = save(path, "two", backups=backups)
    assert kept is not None and kept.read_text(encoding="utf-8") == "one\n"
    assert stat.S_IMODE(kept.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.stat().st_mode) == 0o644
    assert save(path, "three", backups=None, private=True) is None
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert [one.name for one in path.parent.iterdir()] == ["c.json"]


def test_a_symbolic_link_stays_one(tmp_path: Path) -> None:
    """People keep their settings elsewhere and link them."""
    real = tmp_path / "dotfiles" / "c.json"
    save(real, "old", backups=None)
    link = tmp_path / "c.json"
    link.symlink_to(real)
    save(link, "new", backups=None)
    assert link.is_symlink() and real.read_text(encoding="utf-8") == "new"


def test_a_folder_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    """The file in the way of a folder."""
    (tmp_path / "f").write_text("x", encoding="utf-8")
    with pytest.raises(StorageError, match="cannot be written"):
        save(tmp_path / "f" / "c.json", "x", backups=None)
    (tmp_path / "d" / "c.json" / "inner").mkdir(parents=True)
    with pytest.raises(StorageError, match="cannot be written"):
        save(tmp_path / "d" / "c.json", "x", backups=None)
    assert [one.name for one in (tmp_path / "d").iterdir()] == ["c.json"]


def test_reading_tells_absent_from_unreadable(tmp_path: Path) -> None:
    """None for no file, an error for a folder in its place or bytes that are no text."""
    assert read_text(tmp_path / "none") is None
    with pytest.raises(StorageError, match="cannot be read"):
        read_text(tmp_path)
    (tmp_path / "bytes").write_bytes(b"\xff\x00\xff")
    with pytest.raises(ConfigError):
        read_text(tmp_path / "bytes")
    (tmp_path / "lines").write_bytes(b"a\r\nb")
    assert read_text(tmp_path / "lines") == "a\r\nb"


def test_the_section_follows_the_file() -> None:
    """A file in VS Code's dialect keeps it."""
    assert section({}) == "mcpServers"
    assert section({"servers": {}}) == "servers"
    assert section({"servers": {}, "mcpServers": {}}) == "mcpServers"
