"""Locking a file."""

from __future__ import annotations

from pathlib import Path

from anyact_server.catalog.lock_platform import try_lock


def test_a_file_is_locked_until_it_is_closed(tmp_path: Path) -> None:
    """By one opener at a time."""
    path = tmp_path / "f"
    with path.open("ab") as first, path.open("ab") as second:
        assert try_lock(first.fileno())
        assert not try_lock(second.fileno())
        first.close()
        assert try_lock(second.fileno())
