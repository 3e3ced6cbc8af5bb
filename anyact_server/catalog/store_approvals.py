"""The fingerprints of actions as the user approved them, sealed with a hash over all of them."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from .store_database import Database

_SEAL = "approvals_hash"


@dataclass(frozen=True, slots=True)
class Approval:
    """The fingerprint that an action had when the user approved it; `approved_at` is seconds since the epoch."""

    id: str
    digest: str
    approved_at: float


class Approvals:
    """The approvals in a database.

    Raises:
        StorageError: they do not match their seal: a lost approval must not look like none.
    """

    def __init__(self, database: Database) -> None:
        self._database = database
        if database.fresh:
            self._seal()
        sealed = database.row("SELECT value FROM facts WHERE name = ?", (_SEAL,))
        if sealed is None or sealed[0] != self._hash():
            raise database.damaged("the approvals do not match their hash")

    def all(self) -> Mapping[str, Approval]:
        """Every approval, by id of its action."""
        rows = self._database.rows("SELECT id, digest, approved_at FROM approvals")
        return {row[0]: Approval(*row) for row in rows}

    def put(self, approvals: Iterable[Approval]) -> None:
        """Remember approvals; an earlier one of the same action is replaced."""
        rows = [(item.id, item.digest, item.approved_at) for item in approvals]
        with self._database.transaction():
            self._database.write_all("INSERT OR REPLACE INTO approvals VALUES (?, ?, ?)", rows)
            self._seal()

    def drop(self, ids: Iterable[str]) -> None:
        """Forget the approvals of these actions."""
        with self._database.transaction():
            self._database.write_all("DELETE FROM approvals WHERE id = ?", [(identity,) for identity in ids])
            self._seal()

    def _hash(self) -> str:
        rows = self._database.rows("SELECT id, digest, approved_at FROM approvals ORDER BY id")
        return hashlib.sha256(repr(rows).encode()).hexdigest()

    def _seal(self) -> None:
        self._database.write("INSERT OR REPLACE INTO facts VALUES (?, ?)", (_SEAL, self._hash()))
