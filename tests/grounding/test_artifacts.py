"""Kept results: bound to a principal, bounded in bytes, expiring."""

from __future__ import annotations

import re
import stat
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from anyact_server.errors import StorageError, UnknownHandle
from anyact_server.grounding import ArtifactStore
from anyact_server.grounding.artifacts import new_handle, observation_id, split_handle
from anyact_server.types import LOCAL, Principal

from .conftest import HandClock

HANDLE = "obs_0123456789abcdef_0123456789abcdef"


def opened(folder: Path, clock: HandClock, limit: int = 100_000, keep_s: float = 60.0) -> ArtifactStore:
    return ArtifactStore(folder, limit_bytes=limit, keep_s=keep_s, clock=clock)


def test_a_handle_is_random_and_begins_with_its_observation() -> None:
    """128 random bits, of which the first half is the observation's id."""
    first, second = new_handle(), new_handle()
    assert re.fullmatch(r"obs_[0-9a-f]{16}_[0-9a-f]{16}", first)
    assert first != second
    assert re.fullmatch(r"obs_[0-9a-f]{16}", observation_id(first))
    assert split_handle(f" {first}.c0 ") == (first, "c0")


@pytest.mark.parametrize("handle", ["", "obs_1", "../etc/passwd", HANDLE + "/..", HANDLE + ".c0.c1", "x" * 10_000])
def test_what_is_no_handle_is_refused_shortly(handle: str) -> None:
    """The message does not echo it at full length."""
    with pytest.raises(UnknownHandle) as caught:
        split_handle(handle)
    assert len(str(caught.value)) < 150


@pytest.mark.case("B1")
def test_a_result_is_given_back_exactly(tmp_path: Path, clock: HandClock) -> None:
    """Also by a store that is opened later on the same folder."""
    result = {"content": [{"type": "text", "text": "é\n" * 100}]}
    kept = opened(tmp_path / "r", clock).put(HANDLE, result, LOCAL, parts={"c0": {"pointer": "/content/0"}}, title="a")
    assert kept is not None and kept[0] == clock.now() + 60
    store = opened(tmp_path / "r", clock)
    stored, part = store.get(f"{HANDLE}.c0", LOCAL)
    assert (stored.result, stored.title, part) == (result, "a", "c0")
    assert store.get(HANDLE, LOCAL)[1] is None


def test_nobody_else_reads_it(tmp_path: Path, clock: HandClock) -> None:
    """A foreign handle looks like an unknown one, also when it was just read by its owner."""
    store = opened(tmp_path, clock)
    store.put(HANDLE, {"a": 1}, Principal("ann", "token"))
    store.get(HANDLE, Principal("ann", "token"))
    messages = []
    for handle, principal in (
        (HANDLE, Principal("bob", "token")),
        (HANDLE, Principal("ann", "session")),
        (new_handle(), LOCAL),
    ):
        with pytest.raises(UnknownHandle) as caught:
            store.get(handle, principal)
        messages.append(str(caught.value).replace(handle, "H"))
    assert len(set(messages)) == 1


def test_files_are_private_and_do_not_name_handles(tmp_path: Path, clock: HandClock) -> None:
    """Readable by the owner alone; the folder tells nothing."""
    folder = tmp_path / "r"
    opened(folder, clock).put(HANDLE, {"a": 1}, LOCAL)
    (file,) = folder.iterdir()
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert HANDLE not in file.name and HANDLE not in file.read_text(encoding="utf-8")


@pytest.mark.case("B1")
def test_results_expire_and_are_deleted(tmp_path: Path, clock: HandClock) -> None:
    """After the time they are gone from the disk."""
    store = opened(tmp_path, clock)
    store.put(HANDLE, {"a": 1}, LOCAL)
    other = new_handle()
    store.put(other, {"a": 2}, LOCAL)
    clock.time += 61
    with pytest.raises(UnknownHandle):
        store.get(HANDLE, LOCAL)
    assert store.sweep() == 1
    assert list(tmp_path.iterdir()) == [] and store.total_bytes == 0


def test_the_oldest_make_room(tmp_path: Path, clock: HandClock) -> None:
    """The limit holds; the newest stays."""
    store = opened(tmp_path, clock, limit=3000)
    handles = [new_handle() for _ in range(6)]
    for handle in handles:
        store.put(handle, {"a": "x" * 600}, LOCAL)
        clock.time += 1
    assert store.total_bytes <= 3000
    assert store.get(handles[-1], LOCAL)[0].result == {"a": "x" * 600}
    with pytest.raises(UnknownHandle):
        store.get(handles[0], LOCAL)


def test_a_result_larger_than_everything_allowed_is_not_kept(tmp_path: Path, clock: HandClock) -> None:
    """And it does not push the others out."""
    store = opened(tmp_path, clock, limit=3000)
    store.put(HANDLE, {"a": 1}, LOCAL)
    assert store.put(new_handle(), {"a": "x" * 5000}, LOCAL) is None
    assert store.get(HANDLE, LOCAL)


def test_an_unknown_part_lists_the_known_ones(tmp_path: Path, clock: HandClock) -> None:
    """So that the caller can mend the handle."""
    store = opened(tmp_path, clock)
    store.put(HANDLE, {"a": 1}, LOCAL, parts={"c0": {"pointer": ""}})
    with pytest.raises(UnknownHandle, match="no part 'c9'") as caught:
        store.get(f"{HANDLE}.c9", LOCAL)
    assert caught.value.hint is not None and "c0" in caught.value.hint


def test_a_file_that_vanished_is_an_unknown_handle(tmp_path: Path, clock: HandClock) -> None:
    """Somebody emptied the folder."""
    store = opened(tmp_path, clock)
    store.put(HANDLE, {"a": 1}, LOCAL)
    for file in tmp_path.iterdir():
        file.unlink()
    with pytest.raises(UnknownHandle):
        store.get(HANDLE, LOCAL)


def test_a_folder_that_cannot_be_used_is_named(tmp_path: Path, clock: HandClock) -> None:
    """A file stands where the folder should be."""
    (tmp_path / "r").write_text("x", encoding="utf-8")
    with pytest.raises(StorageError, match="cannot be kept"):
        opened(tmp_path / "r", clock).put(HANDLE, {"a": 1}, LOCAL)


def test_a_kept_file_that_became_a_folder_is_named(tmp_path: Path, clock: HandClock) -> None:
    """Reading and deleting it fail with a message, not with a crash."""
    store = opened(tmp_path, clock)
    store.put(HANDLE, {"a": 1}, LOCAL)
    (file,) = tmp_path.iterdir()
    file.unlink()
    file.mkdir()
    with pytest.raises(StorageError, match="cannot be read"):
        store.get(HANDLE, LOCAL)
    clock.time += 61
    assert store.sweep() == 1


def test_results_are_kept_and_read_by_many_threads(tmp_path: Path, clock: HandClock) -> None:
    """Large ones are grounded beside the event loop; none gets lost, and the bytes add up."""
    kept = opened(tmp_path, clock)
    handles = [new_handle() for _ in range(40)]

    def keep(handle: str) -> object:
        kept.put(handle, {"content": [handle]}, LOCAL)
        return kept.get(handle, LOCAL)[0].result

    with ThreadPoolExecutor(8) as threads:
        assert list(threads.map(keep, handles)) == [{"content": [handle]} for handle in handles]
    assert kept.total_bytes == sum(file.stat().st_size for file in tmp_path.iterdir())
