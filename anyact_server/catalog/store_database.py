"""An SQLite database with transactions, versions of its tables, and errors in our own words."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from anyact_server.errors import StorageError

Row = tuple[Any, ...]


class Database:
    """One database. Safe to use from several threads.

    Args:
        path: its file; None keeps it in memory.
        migrations: the statements that bring the tables from each version to the next, beginning with version 0.

    Raises:
        StorageError: it is damaged, of a newer AnyAct, or cannot be opened.
    """

    def __init__(self, path: Path | None, migrations: Sequence[str]) -> None:
        self.name = ":memory:" if path is None else str(path)
        self.lock = threading.RLock()
        """Held by whoever uses the database, or what was read from it, for more than one step."""
        self._deep = 0
        with self._told("opened"):
            self._raw = sqlite3.connect(self.name, timeout=10.0, isolation_level=None, check_same_thread=False)
        try:
            with self._told("opened"):
                self._raw.execute("PRAGMA journal_mode = WAL")
                self._raw.execute("PRAGMA synchronous = NORMAL")
            self.fresh = self._migrate(migrations)
        except StorageError:
            self._raw.close()
            raise

    def close(self) -> None:
        """Close it."""
        with self.lock:
            self._raw.close()

    def rows(self, query: str, values: Sequence[Any] = ()) -> list[Row]:
        """What a query gives. Raises StorageError."""
        with self._told("read"):
            return self._raw.execute(query, values).fetchall()

    def row(self, query: str, values: Sequence[Any] = ()) -> Row | None:
        """The first row that a query gives. Raises StorageError."""
        with self._told("read"):
            found: Row | None = self._raw.execute(query, values).fetchone()
            return found

    def write(self, statement: str, values: Sequence[Any] = ()) -> int:
        """Run a statement; how many rows it touched. Raises StorageError."""
        with self._told("written"):
            return self._raw.execute(statement, values).rowcount

    def write_all(self, statement: str, values: Iterable[Sequence[Any]]) -> None:
        """Run a statement for each row of values. Raises StorageError."""
        with self._told("written"):
            self._raw.executemany(statement, values)

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Everything inside is stored, or nothing. Within another one, it is part of that. Raises StorageError."""
        with self.lock:
            if self._deep:
                yield
                return
            self.write("BEGIN IMMEDIATE")
            self._deep += 1
            try:
                yield
            except BaseException:
                self.write("ROLLBACK")
                raise
            else:
                self.write("COMMIT")
            finally:
                self._deep -= 1

    def damaged(self, reason: str) -> StorageError:
        """The error that says that what is stored cannot be trusted."""
        return StorageError(
            f"the catalog {self.name} is damaged: {reason}",
            hint="Move that file away: servers are then read anew, and approvals have to be given again.",
        )

    def _migrate(self, migrations: Sequence[str]) -> bool:
        """Bring the tables to the last version; whether they were made just now."""
        if self._version() == len(migrations):
            return False
        with self.transaction():
            version = self._version()
            if version > len(migrations):
                raise StorageError(
                    f"the catalog {self.name} was written by a newer AnyAct "
                    f"(version {version}, the last one known here is {len(migrations)})",
                    hint="Update AnyAct, or choose another home folder.",
                )
            for script in migrations[version:]:
                for statement in script.split(";"):
                    self.write(statement)
            if version < len(migrations):
                self.write(f"PRAGMA user_version = {len(migrations)}")
        return version == 0

    def _version(self) -> int:
        return int(self.rows("PRAGMA user_version")[0][0])

    @contextmanager
    def _told(self, what: str) -> Iterator[None]:
        with self.lock:
            try:
                yield
            except (sqlite3.OperationalError, sqlite3.ProgrammingError) as error:
                raise StorageError(
                    f"the catalog {self.name} cannot be {what}: {error}",
                    hint="Check that the home folder exists, can be written, and has room.",
                ) from error
            except sqlite3.DatabaseError as error:
                raise self.damaged(str(error)) from error
