"""Approvals and their seal."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from anyact_server.catalog.store import FILE, Store
from anyact_server.catalog.store_approvals import Approval
from anyact_server.errors import StorageError


@pytest.mark.case("Z1")
def test_approvals_survive_a_restart(tmp_path: Path) -> None:
    """Given, replaced, taken back."""
    store = Store(tmp_path)
    store.approvals.put([Approval("a", "1", 5.0), Approval("b", "1", 5.0), Approval("a", "2", 6.0)])
    store.approvals.drop(["b", "nothing"])
    store.close()
    store = Store(tmp_path)
    assert store.approvals.all() == {"a": Approval("a", "2", 6.0)}
    store.close()


@pytest.mark.case("Z1")
@pytest.mark.parametrize(
    "statement",
    [
        "DELETE FROM approvals",
        "UPDATE approvals SET digest = 'forged'",
        "INSERT INTO approvals VALUES ('c', '1', 1.0)",
        "DELETE FROM facts WHERE name = 'approvals_hash'",
    ],
)
def test_a_store_that_was_tampered_with_does_not_mean_trust(tmp_path: Path, statement: str) -> None:
    """A lost approval must not look like an action that never had one."""
    store = Store(tmp_path)
    store.approvals.put([Approval("a", "1", 5.0)])
    store.close()
    with sqlite3.connect(tmp_path / FILE) as raw:
        raw.execute(statement)
    raw.close()
    with pytest.raises(StorageError, match="approvals do not match"):
        Store(tmp_path)
