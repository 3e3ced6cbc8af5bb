"""One home, one instance."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from anyact_server.catalog import HomeLock
from anyact_server.errors import HomeLocked, StorageError

HOLDER = """
import sys
from pathlib import Path
from anyact_server.catalog import HomeLock
lock = HomeLock(Path(sys.argv[1]))
lock.acquire()
lock.announce("/run/anyact.sock")
print("held", flush=True)
sys.stdin.read()
"""


def test_a_second_instance_is_told_who_holds_the_home_until_that_one_is_gone(tmp_path: Path) -> None:
    """Also when the holder was killed: its lock ends with it."""
    home = tmp_path / "home"
    with subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(home)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as child:
        assert child.stdout is not None and child.stdout.readline() == "held\n"
        lock = HomeLock(home)
        with pytest.raises(HomeLocked, match=rf"in use by process {child.pid} at /run/anyact\.sock"):
            lock.acquire()
        holder = lock.holder()
        assert holder is not None and (holder.pid, holder.address) == (child.pid, "/run/anyact.sock")
        os.kill(child.pid, signal.SIGKILL)
    with lock:
        holder = lock.holder()
        assert holder is not None and (holder.pid, holder.address) == (os.getpid(), None)
    held = [lock.held]
    with lock:
        held.append(lock.held)
    assert held == [False, True]


def test_two_locks_of_one_process_exclude_each_other(tmp_path: Path) -> None:
    """The lock belongs to the object, not to the process; taking it twice changes nothing."""
    with HomeLock(tmp_path) as first:
        first.acquire()
        with pytest.raises(HomeLocked):
            HomeLock(tmp_path).acquire()
    first.release()
    with HomeLock(tmp_path):
        pass
    assert HomeLock(tmp_path).holder() is None


def test_a_holder_whose_note_is_missing_or_broken_holds_all_the_same(tmp_path: Path) -> None:
    """The note only names it."""
    with HomeLock(tmp_path) as lock:
        (tmp_path / "holder.json").write_text("{", encoding="utf-8")
        with pytest.raises(HomeLocked, match="in use by another instance"):
            HomeLock(tmp_path).acquire()
        lock.announce("http://127.0.0.1:1/")
        assert "127.0.0.1" in str(HomeLock(tmp_path).holder())


def test_a_home_that_cannot_be_used_is_told(tmp_path: Path) -> None:
    """And only the holder may announce itself."""
    file = tmp_path / "file"
    file.write_text("x", encoding="utf-8")
    with pytest.raises(StorageError, match="cannot be used"):
        HomeLock(file / "home").acquire()
    with pytest.raises(StorageError, match="not held"):
        HomeLock(tmp_path).announce("x")
    home = tmp_path / "gone"
    lock = HomeLock(home)
    lock.acquire()
    for path in home.iterdir():
        path.unlink()
    home.rmdir()
    with pytest.raises(StorageError, match="cannot be written"):
        lock.announce("x")
    lock.release()
