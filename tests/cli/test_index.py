"""`index build|info|verify`."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from .kit import Shell

TOOLS = [
    {"id": f"s/{name}", "server": "s", "name": name, "description": words}
    for name, words in (("log", "Show commits"), ("send", "Send an email"), ("time", "Current time in a zone"))
]


@pytest.fixture
def tools(tmp_path: Path) -> Path:
    """A file of actions."""
    file = tmp_path / "tools.jsonl.gz"
    file.write_bytes(gzip.compress("\n".join(map(json.dumps, TOOLS)).encode()))
    return file


def test_an_index_is_built_of_the_catalog(shell: Shell, address: str, tmp_path: Path) -> None:
    """Then described and verified."""
    shell.configure(plain={"url": address})
    folder = tmp_path / "index"
    built = shell("index", "build", str(folder))
    assert built.code == 0
    assert "18 actions of 1 servers, 0 with vectors" in built.err
    told = shell("index", "info", str(folder))
    assert "actions   18" in told.out
    assert "encoder   none" in told.out
    assert shell("index", "info", str(folder), "--json").json["actions"] == 18
    sound = shell("index", "verify", str(folder))
    assert (sound.code, "sound" in sound.err) == (0, True)


def test_an_index_is_built_of_files_with_vectors(shell: Shell, tools: Path, tmp_path: Path) -> None:
    """The encoder in the package; a server then encodes none of it again."""
    folder = tmp_path / "index"
    words = ("--set", "encoder=builtin")
    built = shell("index", "build", str(folder), "--tools", str(tools), *words, "--json")
    assert built.code == 0
    assert (built.json["actions"], built.json["vectors"]) == (3, 3)
    assert shell("index", "verify", str(folder), *words).code == 0
    assert shell("list", "--set", f"indexes={folder}", *words).code == 0


@pytest.mark.case("F3")
def test_an_encoder_that_fails_leaves_an_index_of_words(shell: Shell, tools: Path, tmp_path: Path) -> None:
    """Exit code 1 says so."""
    folder = tmp_path / "index"
    built = shell("index", "build", str(folder), "--tools", str(tools), "--set", "encoder=http://127.0.0.1:9/v1#m")
    assert built.code == 1
    assert "keyword alone" in built.err


def test_a_damaged_index_says_what_is_wrong(shell: Shell, tools: Path, tmp_path: Path) -> None:
    """A changed file, vectors of another encoder; each on its line."""
    folder = tmp_path / "index"
    shell("index", "build", str(folder), "--tools", str(tools))
    assert shell("index", "verify", str(folder), "--set", "encoder=builtin").code == 1
    victim = next(folder.glob("*/alive.npy"))
    victim.write_bytes(victim.read_bytes() + b"x")
    wrong = shell("index", "verify", str(folder))
    assert wrong.code == 1
    assert "alive.npy was changed" in wrong.out
    assert shell("index", "verify", str(folder), "--json").json["problems"]


def test_nothing_to_index_and_no_index_are_errors(shell: Shell, tmp_path: Path) -> None:
    """With the cure."""
    nothing = shell("index", "build", str(tmp_path / "x"))
    assert nothing.code == 2
    assert "anyact add time" in nothing.err
    assert shell("index", "build", str(tmp_path / "x"), "--tools", str(tmp_path / "none")).code == 2
    for word in ("info", "verify"):
        missing = shell("index", word, str(tmp_path))
        assert missing.code == 2
        assert "anyact index build" in missing.err
