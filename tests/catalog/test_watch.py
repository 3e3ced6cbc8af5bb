"""Following the configuration files."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import anyio
import pytest

from anyact_server.catalog import Watch
from anyact_server.catalog.watch import folders_of, stamps
from anyact_server.errors import ConfigError

pytestmark = pytest.mark.anyio


class Reloads:
    """Counts reloads and lets a test wait for one."""

    def __init__(self, files: list[Path]) -> None:
        self.files = files
        self.count = 0
        self.seen: list[str] = []
        self._wake = anyio.Event()

    async def reload(self) -> None:
        """Read the first file; a text of `{` is broken."""
        self.count += 1
        text = self.files[0].read_text(encoding="utf-8") if self.files[0].exists() else "missing"
        self.seen.append(text)
        wake, self._wake = self._wake, anyio.Event()
        wake.set()
        if text in ("{", "missing"):
            raise ConfigError("f.json:1:2: the file ends in the middle")

    async def until(self, done: Callable[[], bool]) -> None:
        """Wait until something holds; it is looked at after every reload."""
        with anyio.fail_after(15):
            while not done():
                await self._wake.wait()


@asynccontextmanager
async def watching(reloads: Reloads) -> AsyncIterator[Watch]:
    """A watch at work."""
    watch = Watch(lambda: reloads.files, reloads.reload)
    async with anyio.create_task_group() as group:
        group.start_soon(watch.run)
        yield watch
        group.cancel_scope.cancel()


@pytest.mark.case("C4")
async def test_a_save_is_seen_once_and_a_reload_never_causes_another(tmp_path: Path) -> None:
    """Two saves within 50 ms end in the last state; a save without change, and one's own, are nothing."""
    file = tmp_path / "c.json"
    file.write_text("0", encoding="utf-8")
    reloads = Reloads([file])
    async with watching(reloads) as watch:
        file.write_text("1", encoding="utf-8")
        file.write_text("2", encoding="utf-8")
        await reloads.until(lambda: reloads.seen[-1:] == ["2"])
        count = reloads.count
        assert count <= 2
        file.write_text("2", encoding="utf-8")
        file.write_text("own", encoding="utf-8")
        watch.note()
        file.write_text("3", encoding="utf-8")
        await reloads.until(lambda: reloads.seen[-1:] == ["3"])
        assert reloads.count == count + 1


@pytest.mark.case("C4")
async def test_a_broken_file_is_told_and_the_next_sound_one_is_read(tmp_path: Path) -> None:
    """Also one that went away, and one that another was put in the place of, as editors do."""
    file = tmp_path / "c.json"
    file.write_text("0", encoding="utf-8")
    reloads = Reloads([file])
    async with watching(reloads) as watch:
        file.write_text("{", encoding="utf-8")
        await reloads.until(lambda: "{" in reloads.seen)
        file.unlink()
        await reloads.until(lambda: "missing" in reloads.seen)
        fresh = tmp_path / "c.json.tmp"
        fresh.write_text("good", encoding="utf-8")
        os.replace(fresh, file)
        await reloads.until(lambda: reloads.seen[-1:] == ["good"])
    assert watch.problem is None


async def test_a_problem_stays_known_until_it_is_mended(tmp_path: Path) -> None:
    """For whoever asks how things stand."""
    file = tmp_path / "c.json"
    file.write_text("0", encoding="utf-8")
    reloads = Reloads([file])
    watch = Watch(lambda: reloads.files, reloads.reload)
    file.write_text("{", encoding="utf-8")
    assert await watch.look()
    assert watch.problem == "f.json:1:2: the file ends in the middle"
    assert not await watch.look()


async def test_files_that_a_reload_brings_in_are_watched_too(tmp_path: Path) -> None:
    """An env file in another folder, say."""
    file, other = tmp_path / "c.json", tmp_path / "sub" / "deep" / "x.env"
    file.write_text("0", encoding="utf-8")
    reloads = Reloads([file])
    async with watching(reloads):
        reloads.files = [file, other]
        file.write_text("1", encoding="utf-8")
        await reloads.until(lambda: reloads.seen[-1:] == ["1"])
        other.parent.mkdir(parents=True)
        other.write_text("A=1", encoding="utf-8")
        await reloads.until(lambda: reloads.count >= 2)


def test_folders_are_those_of_files_and_of_what_they_link_to(tmp_path: Path) -> None:
    """A missing folder is watched from the nearest one there is."""
    real = tmp_path / "real"
    real.mkdir()
    (real / "c.json").write_text("{}", encoding="utf-8")
    link = tmp_path / "link.json"
    link.symlink_to(real / "c.json")
    assert folders_of([link, tmp_path / "no" / "no" / "c.json"]) == [tmp_path, real]


def test_stamps_are_of_contents(tmp_path: Path) -> None:
    """A missing file has an empty one."""
    one, two = tmp_path / "1", tmp_path / "2"
    one.write_text("same", encoding="utf-8")
    two.write_text("same", encoding="utf-8")
    found = stamps([one, two, tmp_path / "3"])
    assert found[one] == found[two] != ""
    assert found[tmp_path / "3"] == ""
