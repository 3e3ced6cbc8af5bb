"""Where an instance lives: home, files and settings, from the command line and the environment."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from anyact_server.catalog import Site
from anyact_server.errors import ConfigError, StorageError


def written(file: Path, text: str = '{"mcpServers": {"a": {"command": "x"}}}') -> Path:
    """A configuration."""
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text, encoding="utf-8")
    return file


def test_the_homes_own_file_is_read_when_none_is_named(tmp_path: Path) -> None:
    """It may be missing; `add` writes it."""
    empty = Site.find((), str(tmp_path), {}, {})
    assert (empty.files, empty.named, empty.own_file) == ((), False, tmp_path / "config.json")
    own = written(tmp_path / "config.json")
    site = Site.find((), None, {}, {"ANYACT_HOME": str(tmp_path)})
    assert (site.files, [spec.name for spec in site.configs.specs]) == ((own,), ["a"])


def test_named_files_replace_the_homes_own(tmp_path: Path) -> None:
    """From the command line, else from the environment; the first is the one that is written."""
    written(tmp_path / "config.json")
    one, two = written(tmp_path / "1.json", "{}"), written(tmp_path / "2.json", "{}")
    environment = {"ANYACT_CONFIG": os.pathsep.join([str(one), str(two)])}
    site = Site.find((), str(tmp_path), {}, environment)
    assert (site.files, site.named, site.own_file) == ((one, two), True, one)
    assert Site.find((str(two),), str(tmp_path), {}, environment).files == (two,)


def test_settings_come_from_file_environment_and_command_line(tmp_path: Path) -> None:
    """The later wins."""
    written(tmp_path / "config.json", '{"anyact": {"call_s": 1, "idle_s": 1, "list_s": 1}, "mcpServers": {}}')
    environment = {"ANYACT_IDLE_S": "2", "ANYACT_LIST_S": "2"}
    settings = Site.find((), str(tmp_path), {"list_s": "3"}, environment).settings
    assert (settings.call_s, settings.idle_s, settings.list_s) == (1, 2, 3)


def test_reading_anew_takes_changes_over(tmp_path: Path) -> None:
    """And a broken file is an error that leaves the old site as it was."""
    own = written(tmp_path / "config.json")
    site = Site.find((), str(tmp_path), {}, {})
    written(own, '{"mcpServers": {"b": {"command": "y"}}}')
    assert [spec.name for spec in site.read({}).configs.specs] == ["b"]
    written(own, "{")
    with pytest.raises(ConfigError):
        site.read({})
    assert [spec.name for spec in site.configs.specs] == ["a"]


@pytest.mark.case("C1")
def test_problems_are_one_line_each(tmp_path: Path) -> None:
    """A wrong entry costs only itself."""
    written(tmp_path / "config.json", '{"mcpServers": {"a": {"command": "x", "surprise": 1}, "b": 7}}')
    problems = Site.find((), str(tmp_path), {}, {}).problems()
    assert any("surprise" in problem for problem in problems)
    assert all("\n" not in problem for problem in problems)


def test_the_home_is_made_or_refused(tmp_path: Path) -> None:
    """With the way to name another."""
    assert Site.find((), str(tmp_path / "a" / "b"), {}, {}).make_home().is_dir()
    written(tmp_path / "file")
    assert (tmp_path / "a" / "b").stat().st_mode & 0o077 == 0
    with pytest.raises(StorageError, match="is a file, not a folder"):
        Site.find((), str(tmp_path / "file"), {}, {}).make_home()
    with pytest.raises(StorageError, match="cannot be made") as caught:
        Site.find((), str(tmp_path / "file" / "home"), {}, {}).make_home()
    assert "--home" in str(caught.value.hint)
