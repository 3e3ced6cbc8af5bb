"""`import` and `connect`."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from anyact_server.cli.clients import start_of
from anyact_server.types import JsonObject

from .kit import Shell

CURSOR: dict[str, Any] = {
    "git": {"command": "uvx", "args": ["mcp-server-git", "--token", "hidden-5512"]},
    "docs": {"url": "https://docs.example.com/mcp"},
    "anyact": {"command": "anyact", "args": ["serve", "--stdio"]},
}


@pytest.fixture
def cursor(shell: Shell) -> Path:
    """Cursor's file in the user's folder."""
    return written(shell.user / ".cursor" / "mcp.json", CURSOR)


def written(file: Path, servers: dict[str, Any], root: str = "mcpServers") -> Path:
    """A client's file."""
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps({root: servers}), encoding="utf-8")
    return file


def test_servers_of_clients_are_listed_without_their_secrets(shell: Shell, cursor: Path) -> None:
    """A dry run writes nothing; AnyAct itself is left out."""
    found = shell("import", "--dry-run")
    assert found.code == 0
    assert "git " in found.out
    assert "https://docs.example.com" in found.out
    assert "Cursor" in found.out
    assert "anyact " not in found.out
    assert "5512" not in found.out + found.err
    assert "2 would be written" in found.err
    assert not shell.config.exists()


def test_every_server_comes_in_once(shell: Shell, cursor: Path) -> None:
    """The same one of two clients is one server; another of the same name gets the client's behind its own."""
    windsurf = written(
        shell.user / ".codeium" / "windsurf" / "mcp_config.json",
        {"git": CURSOR["git"], "docs": {"serverUrl": "https://other.example.com/mcp"}},
    )
    report = shell("import", "--json").json
    assert list(shell.servers()) == ["git", "docs", "docs-windsurf"]
    assert [len(one["from"]) for one in report["servers"]] == [2, 1, 1]
    assert report["looked_in"] == [str(cursor), str(windsurf)]
    assert report["changed"]
    again = shell("import", "--json").json
    assert [one["known"] for one in again["servers"]] == [True, True, True]
    assert not again["changed"]


def test_one_server_of_one_client_can_be_chosen(shell: Shell, cursor: Path) -> None:
    """A name that nobody has is refused with those that were found."""
    assert shell("import", "--client", "cursor", "git").code == 0
    assert list(shell.servers()) == ["git"]
    refused = shell("import", "got")
    assert refused.code == 2
    assert "git" in refused.err
    assert shell("import", "--client", "nobody").code == 2


def test_a_file_or_a_project_can_be_named(shell: Shell, tmp_path: Path) -> None:
    """A missing one is a wrong use."""
    file = written(tmp_path / "team.json", {"a": {"command": "x"}}, "servers")
    assert shell("import", "--file", str(file)).code == 0
    written(tmp_path / "project" / ".mcp.json", {"b": {"command": "y"}})
    assert shell("import", "--project", str(tmp_path / "project")).code == 0
    assert shell.servers() == {"a": {"command": "x"}, "b": {"command": "y", "cwd": str(tmp_path / "project")}}
    assert shell("import", "--file", str(tmp_path / "none.json")).code == 2
    assert shell("import", "--project", str(tmp_path / "none")).code == 2


@pytest.mark.case("C1")
def test_a_broken_file_costs_only_itself(shell: Shell, cursor: Path) -> None:
    """It is named; the others are read."""
    (shell.user / ".claude.json").write_text('{"mcpServers": {"a": ', encoding="utf-8")
    found = shell("import")
    assert found.code == 0
    assert "left out: " in found.err
    assert ".claude.json" in found.err
    assert list(shell.servers()) == ["git", "docs"]


def test_finding_nothing_is_told(shell: Shell) -> None:
    """Exit code 1."""
    found = shell("import")
    assert found.code == 1
    assert "no servers found" in found.err


@pytest.mark.parametrize(
    ("entry", "word"),
    [
        ({"command": "uvx", "args": ["x"]}, "uvx"),
        ({"command": ["node", "x"]}, "node"),
        ({"command": []}, "?"),
        ({"httpUrl": "https://user:pass@h.example/x?key=1"}, "https://h.example"),
        ({"url": "http://[broken"}, "?"),
        ({"url": "words"}, "://?"),
        ({}, "?"),
    ],
)
def test_what_an_entry_starts_is_told_without_secrets(entry: JsonObject, word: str) -> None:
    """The program or the host alone."""
    assert start_of(entry) == word


def test_connecting_moves_the_clients_servers_behind_anyact(shell: Shell, cursor: Path) -> None:
    """With a backup; the entry starts this very installation on this very home; undoing gives every byte back."""
    before = cursor.read_text(encoding="utf-8")
    done = shell("connect", "cursor")
    assert done.code == 0
    (entry,) = json.loads(cursor.read_text(encoding="utf-8"))["mcpServers"].values()
    assert Path(entry["command"]).parent == Path(sys.executable).parent
    assert entry["args"][-4:] == ["serve", "--stdio", "--home", str(shell.home)]
    assert list(shell.servers()) == ["git", "docs"]
    assert "moved behind AnyAct: git (uvx)" in done.err
    assert "backup: " in done.err
    assert "nothing to do" in shell("connect", "cursor").err
    assert shell("connect", "cursor", "--undo").code == 0
    assert cursor.read_text(encoding="utf-8") == before


def test_a_dry_run_of_connecting_writes_nothing(shell: Shell, cursor: Path) -> None:
    """And tells what it would do, as JSON too."""
    before = cursor.read_text(encoding="utf-8")
    told = shell("connect", "cursor", "--dry-run", "--json").json
    assert [one["name"] for one in told["moved"]] == ["git", "docs"]
    assert told["dry_run"]
    assert told["changed"] == [str(shell.config), str(cursor)]
    assert "would move behind AnyAct: git" in shell("connect", "cursor", "--dry-run").err
    assert cursor.read_text(encoding="utf-8") == before
    assert not shell.config.exists()


def test_a_client_can_be_connected_over_http(shell: Shell, cursor: Path) -> None:
    """With a header, its own servers left where they are."""
    url = "http://127.0.0.1:8484/mcp"
    done = shell("connect", "cursor", "--http", url, "--header", "Authorization=Bearer x", "--keep")
    assert done.code == 0
    entries = json.loads(cursor.read_text(encoding="utf-8"))["mcpServers"]
    assert entries["anyact"] == {"url": url, "headers": {"Authorization": "Bearer x"}}
    assert "git" in entries
    assert not shell.config.exists()


def test_a_project_gets_its_own_file(shell: Shell, tmp_path: Path) -> None:
    """With the configuration that was named on the command line."""
    project = tmp_path / "project"
    project.mkdir()
    config = tmp_path / "team.json"
    config.write_text('{"mcpServers": {}}', encoding="utf-8")
    assert shell("connect", "cursor", "--project", str(project), "--config", str(config)).code == 0
    entry = json.loads((project / ".cursor" / "mcp.json").read_text(encoding="utf-8"))["mcpServers"]["anyact"]
    assert ["--config", str(config)] == entry["args"][-4:-2]


def test_the_known_clients_are_listed(shell: Shell, cursor: Path) -> None:
    """Which are there, and which are connected."""
    shell("connect", "cursor")
    table = {line.split()[0]: line.split()[2] for line in shell("connect", "--list").out.splitlines()[1:]}
    assert (table["cursor"], table["zed"]) == ("connected", "-")
    listed = {one["client"]: one for one in shell("connect", "--list", "--json").json["clients"]}
    assert listed["cursor"]["connected"]
    assert listed["cursor"]["file"] == str(cursor)


@pytest.mark.parametrize(
    ("words", "hint"),
    [
        ((), "--list"),
        (("nobody",), "cursor"),
        (("cursor", "--undo"), "--list"),
        (("cursor", "--http", "localhost"), "http://127.0.0.1"),
        (("cursor", "--header", "A=b"), "command"),
        (("claude-desktop", "--http", "http://127.0.0.1:1/mcp"), ""),
        (("windsurf", "--project", "."), "scope"),
    ],
)
def test_connecting_that_cannot_work_is_refused_with_a_cure(shell: Shell, words: tuple[str, ...], hint: str) -> None:
    """Exit code 2, nothing written."""
    refused = shell("connect", *words)
    assert refused.code == 2
    assert hint in refused.err
    assert not shell.config.exists()
