"""The database under the catalog."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from anyact_server.catalog.store_database import Database
from anyact_server.errors import StorageError

FIRST = ("CREATE TABLE t (x INTEGER)",)
SECOND = (*FIRST, "ALTER TABLE t ADD COLUMN y INTEGER DEFAULT 7; INSERT INTO t (x) VALUES (0)")


def test_tables_are_made_once_and_brought_up_to_date(tmp_path: Path) -> None:
    """A database of an older version keeps its rows and gets what is new."""
    path = tmp_path / "d.sqlite"
    database = Database(path, FIRST)
    assert database.fresh
    database.write("INSERT INTO t VALUES (?)", (1,))
    database.close()
    newer = Database(path, SECOND)
    assert not newer.fresh
    assert newer.rows("SELECT x, y FROM t ORDER BY x") == [(0, 7), (1, 7)]
    newer.close()
    again = Database(path, SECOND)
    assert again.row("SELECT count(*) FROM t") == (2,)
    assert again.row("SELECT x FROM t WHERE x = 9") is None
    again.close()


def test_a_database_of_a_newer_version_is_refused(tmp_path: Path) -> None:
    """It might be read wrongly, and written worse."""
    path = tmp_path / "d.sqlite"
    Database(path, SECOND).close()
    with pytest.raises(StorageError, match=r"newer AnyAct \(version 2, the last one known here is 1\)"):
        Database(path, FIRST)


def test_a_failing_migration_leaves_everything_as_it_was(tmp_path: Path) -> None:
    """All steps are one transaction."""
    path = tmp_path / "d.sqlite"
    Database(path, FIRST).close()
    with pytest.raises(StorageError, match="cannot be written"):
        Database(path, (*FIRST, "CREATE TABLE u (x); CREATE TABLE t (x)"))
    with sqlite3.connect(path) as raw:
        assert [row[0] for row in raw.execute("SELECT name FROM sqlite_master")] == ["t"]
    raw.close()


def test_a_transaction_is_all_or_nothing() -> None:
    """One inside another is part of it."""
    database = Database(None, FIRST)
    with pytest.raises(KeyError), database.transaction():
        database.write("INSERT INTO t VALUES (1)")
        with database.transaction():
            database.write_all("INSERT INTO t VALUES (?)", [(2,), (3,)])
        raise KeyError
    assert database.rows("SELECT x FROM t") == []
    with database.transaction():
        assert database.write("INSERT INTO t VALUES (1)") == 1
    assert database.rows("SELECT x FROM t") == [(1,)]
    database.close()


def test_a_file_that_is_no_database_is_damaged(tmp_path: Path) -> None:
    """The message names it, and what to do."""
    path = tmp_path / "d.sqlite"
    path.write_bytes(b"this is no database" * 100)
    with pytest.raises(StorageError, match=r"d\.sqlite is damaged") as caught:
        Database(path, FIRST)
    assert "Move that file away" in str(caught.value.hint)


def test_a_place_that_cannot_be_used_is_told(tmp_path: Path) -> None:
    """As is a database that was closed."""
    with pytest.raises(StorageError, match="cannot be opened"):
        Database(tmp_path / "nowhere" / "d.sqlite", FIRST)
    database = Database(None, FIRST)
    with pytest.raises(StorageError, match="cannot be read: no such table"):
        database.rows("SELECT * FROM elsewhere")
    database.close()
    with pytest.raises(StorageError, match="cannot be written"):
        database.write("DELETE FROM t")
