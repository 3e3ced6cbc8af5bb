"""Writing AnyAct into clients, and taking it back."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import Any

import pytest

from anyact_server.catalog.clients import CLIENTS, Place, Target, client, places
from anyact_server.catalog.clients_read import import_clients
from anyact_server.catalog.connect import (
    Plan,
    carry_out_plan,
    choose_place,
    journal_file,
    own_servers,
    plan_connect,
    plan_undo,
    read_journal,
    take_in,
)
from anyact_server.catalog.edits import read_json
from anyact_server.errors import ConfigError, StorageError, UsageError

TARGET = Target("/bin/anyact", ("serve", "--stdio"))
CURSOR = '{\n  // mine\n  "mcpServers": {\n    "git": {"command": "npx", "args": ["git"]}, // vcs\n  },\n  "x": 1,\n}\n'


class Desk:
    """A home folder, a client's file and AnyAct's configuration."""

    def __init__(self, tmp_path: Path, name: str, text: str | None) -> None:
        one = client(name)
        self.home = tmp_path / "home"
        self.config = self.home / "config.json"
        file = tmp_path / name / ("config.toml" if one.format == "toml" else "config.json")
        self.place = Place(one, "user", file, one.root)
        if text is not None:
            file.parent.mkdir(exist_ok=True)
            file.write_text(text, encoding="utf-8")

    def connect(self, **options: Any) -> Plan:
        """Connect for real."""
        plan = plan_connect(self.place, TARGET, self.config, earlier=read_journal(self.home, self.place), **options)
        carry_out_plan(plan, self.home)
        return plan

    def undo(self) -> Plan:
        """Take it back for real."""
        journal = read_journal(self.home, self.place)
        assert journal is not None
        plan = plan_undo(self.place, journal)
        carry_out_plan(plan, self.home)
        return plan

    @property
    def text(self) -> str:
        return self.place.file.read_text(encoding="utf-8")

    @property
    def behind(self) -> dict[str, Any]:
        """The servers of AnyAct's configuration."""
        found: dict[str, Any] = json.loads(self.config.read_text(encoding="utf-8"))["mcpServers"]
        return found


def test_the_clients_servers_move_behind_anyact(tmp_path: Path) -> None:
    """Its file holds AnyAct alone, its comments and everything else stay, nothing exists twice."""
    desk = Desk(tmp_path, "cursor", CURSOR)
    plan = desk.connect()
    assert [one.name for one in plan.moved] == ["git"]
    assert "git" not in desk.text and "vcs" not in desk.text and "// mine" in desk.text and '"x": 1' in desk.text
    assert '"command": "/bin/anyact"' in desk.text
    assert desk.behind == {"git": {"command": "npx", "args": ["git"]}}
    assert desk.config.stat().st_mode & 0o777 == 0o600


@pytest.mark.case("C4")
def test_connecting_twice_changes_nothing(tmp_path: Path) -> None:
    """The second time there is nothing to write, so nothing is reloaded."""
    desk = Desk(tmp_path, "cursor", CURSOR)
    desk.connect()
    before = (desk.text, desk.config.stat().st_mtime_ns)
    assert desk.connect().edits == ()
    assert (desk.text, desk.config.stat().st_mtime_ns) == before


def test_undoing_gives_back_the_file_as_it_was(tmp_path: Path) -> None:
    """Every character; the moved entry leaves AnyAct's configuration, the journal goes."""
    desk = Desk(tmp_path, "cursor", CURSOR)
    desk.connect()
    plan = desk.undo()
    assert desk.text == CURSOR
    assert desk.behind == {}
    assert plan.notes == ()
    assert read_journal(desk.home, desk.place) is None


def test_a_file_that_was_made_is_removed_again(tmp_path: Path) -> None:
    """A client without a file of servers."""
    desk = Desk(tmp_path, "windsurf", None)
    plan = desk.connect()
    assert plan.notes == (f"Windsurf was not found here: {desk.place.file} is new",)
    assert json.loads(desk.text) == {"mcpServers": {"anyact": {"command": "/bin/anyact", "args": ["serve", "--stdio"]}}}
    assert not desk.config.exists()
    desk.undo()
    assert not desk.place.file.exists()


def test_undoing_keeps_what_was_changed_since(tmp_path: Path) -> None:
    """The user added a server and edited a moved one in the meantime."""
    desk = Desk(tmp_path, "cursor", CURSOR)
    desk.connect()
    body = read_json(desk.text)
    body["mcpServers"]["new"] = {"command": "new"}
    desk.place.file.write_text(json.dumps(body), encoding="utf-8")
    desk.config.write_text(json.dumps({"mcpServers": {"git": {"command": "edited"}}}), encoding="utf-8")
    plan = desk.undo()
    assert json.loads(desk.text) == {
        "mcpServers": {"new": {"command": "new"}, "git": {"command": "npx", "args": ["git"]}},
        "x": 1,
    }
    assert desk.behind == {"git": {"command": "edited"}}
    assert any("was changed since" in note for note in plan.notes)
    assert any("git was changed" in note for note in plan.notes)


def test_undoing_after_the_client_removed_its_file_puts_the_servers_back(tmp_path: Path) -> None:
    """The moved servers are in the journal, not only in the copy."""
    desk = Desk(tmp_path, "cursor", CURSOR)
    desk.connect()
    desk.place.file.unlink()
    desk.config.unlink()
    desk.undo()
    assert json.loads(desk.text)["mcpServers"] == {"git": {"command": "npx", "args": ["git"]}}
    assert not desk.config.exists()


def test_a_second_connection_takes_what_came_since_and_undoing_gives_all_back(tmp_path: Path) -> None:
    """The journal grows; the file as it first was is not brought back over later changes."""
    desk = Desk(tmp_path, "claude-desktop", '{"mcpServers": {"a": {"command": "a"}}}')
    desk.connect()
    body = json.loads(desk.text)
    body["mcpServers"]["b"] = {"command": "b"}
    desk.place.file.write_text(json.dumps(body), encoding="utf-8")
    assert [one.name for one in desk.connect().moved] == ["b"]
    assert set(desk.behind) == {"a", "b"}
    desk.undo()
    assert json.loads(desk.text)["mcpServers"] == {"a": {"command": "a"}, "b": {"command": "b"}}
    assert desk.behind == {}


def test_moving_can_be_left_out(tmp_path: Path) -> None:
    """AnyAct stands beside the others."""
    desk = Desk(tmp_path, "cursor", CURSOR)
    desk.connect(move=False)
    assert '"git": {"command": "npx", "args": ["git"]}, // vcs' in desk.text
    assert not desk.config.exists()


def test_a_name_that_is_taken_is_changed_and_said(tmp_path: Path) -> None:
    """And a server that AnyAct has already is not written a second time."""
    desk = Desk(tmp_path, "cursor", '{"mcpServers": {"git": {"command": "other"}, "time": {"command": "t"}}}')
    desk.config.parent.mkdir()
    desk.config.write_text('{"mcpServers": {"git": {"command": "x"}, "clock": {"command": "t"}}}', encoding="utf-8")
    plan = desk.connect()
    assert desk.behind == {"git": {"command": "x"}, "clock": {"command": "t"}, "git-cursor": {"command": "other"}}
    assert "git is called git-cursor behind AnyAct: the name was taken" in plan.notes
    assert "time is already behind AnyAct as clock" in plan.notes
    desk.undo()
    assert desk.behind == {"git": {"command": "x"}, "clock": {"command": "t"}}


def test_an_old_entry_of_anyact_is_replaced(tmp_path: Path) -> None:
    """Under our name or another; never two."""
    old = {"command": "uvx", "args": ["anyact-server", "serve"]}
    desk = Desk(tmp_path, "cursor", json.dumps({"mcpServers": {"anyact": old, "gateway": old}}))
    desk.connect()
    assert list(json.loads(desk.text)["mcpServers"]) == ["anyact"]
    assert json.loads(desk.text)["mcpServers"]["anyact"]["command"] == "/bin/anyact"


def test_vs_code_brings_its_inputs(tmp_path: Path) -> None:
    """Once each, beside those that are there."""
    body = {"inputs": [{"id": "k"}, {"id": "l"}], "servers": {"s": {"command": "x", "args": ["${input:k}"]}}}
    desk = Desk(tmp_path, "vscode", json.dumps(body))
    desk.config.parent.mkdir()
    desk.config.write_text('{"mcpServers": {}, "inputs": [{"id": "l"}]}', encoding="utf-8")
    desk.connect()
    assert json.loads(desk.config.read_text(encoding="utf-8"))["inputs"] == [{"id": "l"}, {"id": "k"}]
    assert json.loads(desk.text)["servers"]["anyact"]["type"] == "stdio"
    assert "inputs" in json.loads(desk.text)


def test_codex_is_connected_in_its_own_format(tmp_path: Path) -> None:
    """Comments and other tables stay; undoing gives back the file."""
    text = '# mine\nmodel = "x"\n\n[mcp_servers.a]\ncommand = "a"\n\n[mcp_servers.a.env]\nK = "1"\n\n[other]\ny = 1\n'
    desk = Desk(tmp_path, "codex", text)
    desk.connect()
    body = tomllib.loads(desk.text)
    assert body["mcp_servers"] == {"anyact": {"command": "/bin/anyact", "args": ["serve", "--stdio"]}}
    assert "# mine" in desk.text and body["other"] == {"y": 1}
    assert desk.behind == {"a": {"command": "a", "env": {"K": "1"}}}
    assert desk.connect().edits == ()
    desk.place.file.write_text(desk.text + "\n[more]\nz = 2\n", encoding="utf-8")
    desk.undo()
    body = tomllib.loads(desk.text)
    assert body["mcp_servers"] == {"a": {"command": "a", "env": {"K": "1"}}} and body["more"] == {"z": 2}


@pytest.mark.parametrize("name", [one.name for one in CLIENTS])
def test_every_client_can_be_connected_and_taken_back(tmp_path: Path, name: str) -> None:
    """From no file at all, by command."""
    desk = Desk(tmp_path, name, None)
    desk.connect()
    assert "anyact" in desk.text
    assert desk.connect().edits == ()
    desk.undo()
    assert not desk.place.file.exists()


@pytest.mark.case("C1")
def test_a_broken_file_is_left_alone(tmp_path: Path) -> None:
    """The client's, or our own; and an entry that is no server stays where it is, named."""
    desk = Desk(tmp_path, "cursor", '{"mcpServers": {')
    with pytest.raises(ConfigError, match="cursor"):
        desk.connect()
    assert desk.text == '{"mcpServers": {'
    listed = Desk(tmp_path, "roo", '{"mcpServers": []}')
    with pytest.raises(ConfigError, match="is no object"):
        listed.connect()
    other = Desk(tmp_path, "kiro", '{"mcpServers": {"odd": 1, "s": {"command": "x"}}}')
    other.config.parent.mkdir(exist_ok=True)
    other.config.write_text("[]", encoding="utf-8")
    with pytest.raises(ConfigError, match="is no JSON object"):
        other.connect()
    other.config.write_text('{"mcpServers": 1}', encoding="utf-8")
    with pytest.raises(ConfigError, match="something else than an object"):
        other.connect()
    other.config.unlink()
    plan = other.connect()
    assert json.loads(other.text)["mcpServers"]["odd"] == 1
    assert any("stays where it is" in note for note in plan.notes)


def test_a_file_changed_after_planning_is_not_overwritten(tmp_path: Path) -> None:
    """Clients write their files too."""
    desk = Desk(tmp_path, "cursor", CURSOR)
    plan = plan_connect(desk.place, TARGET, desk.config)
    desk.place.file.write_text("{}", encoding="utf-8")
    with pytest.raises(StorageError, match="was changed meanwhile"):
        carry_out_plan(plan, desk.home)
    assert desk.text == "{}"


def test_a_damaged_journal_is_said(tmp_path: Path) -> None:
    """With the folder of the copies."""
    desk = Desk(tmp_path, "cursor", CURSOR)
    desk.connect()
    journal_file(desk.home, desk.place).write_text("{}", encoding="utf-8")
    with pytest.raises(StorageError, match="is damaged"):
        read_journal(desk.home, desk.place)


def test_a_lost_copy_is_replaced_by_the_journal(tmp_path: Path) -> None:
    """Somebody tidied the folder of copies."""
    desk = Desk(tmp_path, "cursor", CURSOR)
    desk.connect()
    for copy in (desk.home / "backups").iterdir():
        copy.unlink()
    desk.undo()
    assert "git" in desk.text and "anyact" not in desk.text


def test_the_file_that_is_written_is_the_one_that_is_there(tmp_path: Path) -> None:
    """opencode's second name; the user's scope and a project's."""
    found = places("linux", tmp_path, {}, tmp_path / "p", [client("opencode")])
    assert choose_place(found, "user").file.name == "opencode.json"
    second = tmp_path / ".config" / "opencode" / "opencode.jsonc"
    second.parent.mkdir(parents=True)
    second.touch()
    assert choose_place(found, "user").file == second
    assert choose_place(found, "project").file == tmp_path / "p" / "opencode.json"
    code = places("linux", tmp_path, {}, tmp_path / "p", [client("claude-code")])
    assert choose_place(code, "project").file.name == ".mcp.json"
    with pytest.raises(UsageError, match="Claude Desktop has no configuration for one project"):
        choose_place(places("linux", tmp_path, {}, tmp_path, [client("claude-desktop")]), "project")
    with pytest.raises(UsageError):
        choose_place([], "user")


def test_importing_adds_what_is_not_there_yet(tmp_path: Path) -> None:
    """With the inputs of its entries; a second time nothing is written."""
    desk = Desk(
        tmp_path, "vscode", '{"inputs": [{"id": "k"}], "servers": {"s": {"command": "x"}, "t": {"url": "https://h/"}}}'
    )
    desk.config.parent.mkdir()
    desk.config.write_text('{"mcpServers": {"mine": {"url": "https://h/"}}}', encoding="utf-8")
    known = own_servers(desk.config.read_text(encoding="utf-8"), desk.config)
    assert take_in(import_clients([desk.place], known), desk.config, backups=desk.home / "b").changed
    assert desk.behind == {"mine": {"url": "https://h/"}, "s": {"command": "x"}}
    assert json.loads(desk.config.read_text(encoding="utf-8"))["inputs"] == [{"id": "k"}]
    known = own_servers(desk.config.read_text(encoding="utf-8"), desk.config)
    assert not take_in(import_clients([desk.place], known), desk.config, backups=desk.home / "b").changed
    assert take_in(import_clients([desk.place]), tmp_path / "new.json", backups=desk.home / "b").backup is None


@pytest.mark.case("A1")
def test_a_configuration_that_gets_secrets_becomes_its_owners_alone(tmp_path: Path) -> None:
    """Tokens that stood in a client's file; references alone change nothing."""
    for name, value, mode in (("cursor", "${env:T}", 0o644), ("kiro", "token", 0o600)):
        desk = Desk(tmp_path, name, json.dumps({"mcpServers": {name: {"command": name, "env": {"T": value}}}}))
        desk.config.parent.mkdir(exist_ok=True)
        desk.config.write_text("{}", encoding="utf-8")
        desk.config.chmod(0o644)
        desk.connect()
        assert desk.config.stat().st_mode & 0o777 == mode
