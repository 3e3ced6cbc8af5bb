"""Reading the servers of other clients."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from anyact_server.catalog.clients import CLIENTS, Place, client, places
from anyact_server.catalog.clients_read import (
    file_places,
    identity,
    import_clients,
    is_own,
    read_place,
    taken_over,
    translated,
)
from anyact_server.catalog.config import read_configs


def place(tmp_path: Path, name: str, body: Any, *, project: bool = False) -> Place:
    """A file of a client with this content."""
    one = client(name)
    file = tmp_path / name / ("config.toml" if one.format == "toml" else "config.json")
    file.parent.mkdir(exist_ok=True)
    file.write_text(body if isinstance(body, str) else json.dumps(body, indent=1), encoding="utf-8")
    return Place(one, "project" if project else "user", file, one.root, file.parent if project else None)


def taken(tmp_path: Path, name: str, body: Any, *, project: bool = False) -> dict[str, Any]:
    """What one client's file gives, by name."""
    found = read_place(place(tmp_path, name, body, project=project)).found
    return {one.name: dict(one.entry) for one in found}


@pytest.mark.case("C1")
def test_one_bad_entry_never_costs_the_others(tmp_path: Path) -> None:
    """Comments are fine; what is no object is named with its line."""
    text = '{\n // c\n "mcpServers": {\n  "bad": "x",\n  "good": {"command": "y"},\n }\n}'
    reading = read_place(place(tmp_path, "cursor", text))
    assert [one.name for one in reading.found] == ["good"]
    assert reading.found[0].origin.line == 5
    assert "'bad' is no object" in str(reading.problems[0]) and ":4" in str(reading.problems[0])


@pytest.mark.case("C1")
def test_a_broken_file_costs_only_itself(tmp_path: Path) -> None:
    """It is reported, the other clients are read; an empty or foreign file has no servers."""
    broken = place(tmp_path, "cursor", '{"mcpServers": {')
    toml = place(tmp_path, "codex", "= 1")
    listed = place(tmp_path, "roo", {"mcpServers": []})
    empty = place(tmp_path, "kiro", "")
    other = place(tmp_path, "zed", {"theme": "dark"})
    good = place(tmp_path, "windsurf", {"mcpServers": {"a": {"serverUrl": "https://h/"}}})
    found = import_clients([broken, toml, listed, empty, other, good])
    assert [one.name for one in found.servers] == ["a"]
    assert len(found.problems) == 3
    assert good.file in found.files


@pytest.mark.case("C2")
def test_variables_keep_the_meaning_they_had_in_their_client(tmp_path: Path) -> None:
    """Claude Desktop takes everything literally, others expand, each in its spelling."""
    entry = {"command": "x", "args": ["${A}", "$B"], "env": {"K": "${env:C}"}}
    assert taken(tmp_path, "claude-desktop", {"mcpServers": {"s": entry}})["s"] == {
        "command": "x",
        "args": ["$${A}", "$B"],
        "env": {"K": "$${env:C}"},
    }
    assert taken(tmp_path, "cursor", {"mcpServers": {"s": entry}})["s"] == entry
    assert taken(tmp_path, "gemini", {"mcpServers": {"s": entry}})["s"]["args"] == ["${A}", "${B}"]
    assert translated("a {env:X} ${Y}", "opencode") == "a ${X} $${Y}"


def test_a_project_entry_keeps_its_folder(tmp_path: Path) -> None:
    """The client ran it inside the project; AnyAct runs it from elsewhere."""
    folder = str(tmp_path / "vscode")
    body = {"servers": {"s": {"command": "x", "args": ["${workspaceFolder}/a", "${workspaceFolderBasename}"]}}}
    got = taken(tmp_path, "vscode", body, project=True)["s"]
    assert got == {"command": "x", "args": [f"{folder}/a", "vscode"], "cwd": folder}
    body = {"servers": {"s": {"command": "x", "cwd": "${workspaceFolder}/sub"}, "r": {"url": "https://h/"}}}
    got = taken(tmp_path, "vscode", body, project=True)
    assert got["s"]["cwd"] == f"{folder}/sub" and "cwd" not in got["r"]


def test_codex_tables_are_read(tmp_path: Path) -> None:
    """Its fields for tokens, headers and forwarded variables."""
    text = (
        '[mcp_servers.a]\ncommand = "x"\nargs = ["1"]\nenv_vars = ["TOKEN"]\ntool_timeout_sec = 90\n'
        '[mcp_servers.a.env]\nB = "${lit}"\n[mcp_servers.b]\nurl = "https://h/"\nbearer_token_env_var = "T"\n'
        'http_headers = { A = "1" }\nenv_http_headers = { C = "D" }\n'
    )
    got = taken(tmp_path, "codex", text)
    assert got["a"] == {
        "command": "x",
        "args": ["1"],
        "env": {"TOKEN": "${TOKEN}", "B": "$${lit}"},
        "timeouts": {"call": 90},
    }
    assert got["b"] == {"url": "https://h/", "headers": {"A": "1", "C": "${D}", "Authorization": "Bearer ${T}"}}
    assert [one.origin.line for one in read_place(place(tmp_path, "codex", text)).found] == [1, 8]


def test_every_dialect_gives_an_entry_that_the_configuration_understands(tmp_path: Path) -> None:
    """Read by a client's rules, written into our file, and read by ours: the same command or address."""
    stdio = {"command": "prog", "args": ["a b"]}
    samples: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
        "claude-code": ({"type": "stdio", **stdio}, {"type": "http", "url": "https://h/"}),
        "vscode": ({"type": "stdio", **stdio}, {"type": "http", "url": "https://h/"}),
        "windsurf": (stdio, {"serverUrl": "https://h/"}),
        "cline": ({**stdio, "disabled": False}, {"type": "streamableHttp", "url": "https://h/"}),
        "zed": ({"source": "custom", **stdio}, {"source": "custom", "url": "https://h/"}),
        "gemini": (stdio, {"httpUrl": "https://h/"}),
        "opencode": (
            {"type": "local", "command": ["prog", "a b"], "environment": {}, "enabled": True},
            {"type": "remote", "url": "https://h/"},
        ),
        "copilot": ({"type": "local", **stdio, "tools": ["*"]}, {"type": "http", "url": "https://h/", "tools": ["*"]}),
    }
    for name, (local, remote) in samples.items():
        root: dict[str, Any] = {"s": local, "r": remote}
        for key in reversed(client(name).root):
            root = {key: root}
        config = tmp_path / f"{name}.json"
        config.write_text(json.dumps({"mcpServers": taken(tmp_path, name, root)}), encoding="utf-8")
        specs = {spec.name: spec for spec in read_configs([config], {}).specs}
        assert (specs["s"].command, specs["s"].args, specs["s"].fault) == ("prog", ("a b",), None), name
        assert (specs["r"].transport, specs["r"].url, specs["r"].fault) == ("http", "https://h/", None), name


def test_equal_servers_of_several_clients_are_merged(tmp_path: Path) -> None:
    """One server, every place named; how the runner is spelled makes no difference."""
    one = place(tmp_path, "cursor", {"mcpServers": {"git": {"command": "npx", "args": ["-y", "p"]}}})
    two = place(
        tmp_path, "claude-code", {"mcpServers": {"g": {"type": "stdio", "command": "/usr/bin/npx", "args": ["p"]}}}
    )
    found = import_clients([one, two]).servers
    assert [server.name for server in found] == ["git"]
    assert [source.place.client.name for source in found[0].sources] == ["cursor", "claude-code"]


def test_other_servers_of_the_same_name_get_their_clients_name(tmp_path: Path) -> None:
    """Two accounts stay two servers; nothing is replaced."""
    body = [{"mcpServers": {"git": {"command": "npx", "env": {"T": str(n)}}}} for n in range(3)]
    files = [place(tmp_path, name, body[n]) for n, name in enumerate(("cursor", "claude-code", "roo"))]
    found = import_clients(files, {"git-roo": {"command": "z"}}).servers
    assert [one.name for one in found] == ["git", "git-claude-code", "git-roo-2"]


def test_what_our_configuration_has_already_is_said(tmp_path: Path) -> None:
    """Importing twice adds nothing."""
    one = place(tmp_path, "cursor", {"mcpServers": {"git": {"command": "npx"}}})
    found = import_clients([one], {"mine": {"command": "npx"}, "odd": 1}).servers
    assert [(server.name, server.known) for server in found] == [("mine", True)]


@pytest.mark.parametrize(
    "entry",
    [
        {"command": "/usr/bin/anyact", "args": ["serve", "--stdio"]},
        {"command": "C:\\x\\anyact.exe", "args": ["serve"]},
        {"command": "uvx", "args": ["anyact-server[st]==1.0", "serve"]},
        {"command": "python", "args": ["-m", "anyact_server", "serve"]},
        {"command": ["anyact", "serve"]},
    ],
)
def test_anyact_itself_is_recognised_and_never_taken_behind_itself(tmp_path: Path, entry: dict[str, Any]) -> None:
    """Whatever starts it."""
    assert is_own(entry)
    assert import_clients([place(tmp_path, "cursor", {"mcpServers": {"a": entry}})]).servers == ()


def test_other_entries_are_not_taken_for_anyact() -> None:
    """A URL, or a program with a similar name."""
    assert not is_own({"url": "http://anyact/"})
    assert not is_own({"command": "npx", "args": ["anyactual"]})


def test_the_inputs_of_vs_code_come_along(tmp_path: Path) -> None:
    """What its entries refer to."""
    body = {"inputs": [{"id": "k", "type": "promptString"}, 1], "servers": {"s": {"command": "x"}}}
    assert import_clients([place(tmp_path, "vscode", body)]).inputs == ({"id": "k", "type": "promptString"},)


def test_files_that_are_not_there_are_passed_over(tmp_path: Path) -> None:
    """A machine without any client."""
    found = import_clients(places("linux", tmp_path, {}, tmp_path / "p", CLIENTS))
    assert (found.servers, found.problems, found.files) == ((), (), ())


def test_identity_sees_through_the_forms_of_a_command() -> None:
    """Lists, objects, and the URL's spellings."""
    assert identity({"command": ["x", "a"]}) == identity({"command": "x", "args": ["a"]})
    assert identity({"command": {"path": "x", "args": ["a"]}}) == identity({"command": "x", "args": ["a"]})
    assert identity({"serverUrl": "h"}) == identity({"url": "h"}) != identity({"url": "i"})
    assert identity({"command": []}) == identity({})


def test_any_file_of_servers_can_be_read(tmp_path: Path) -> None:
    """By the root that it has, whichever client it is of."""
    (tmp_path / "a.json").write_text('{"servers": {"s": {"command": "x", "args": ["${A}"]}}}', encoding="utf-8")
    (tmp_path / "b.toml").write_text('[mcp_servers.t]\ncommand = "y"\n', encoding="utf-8")
    found = import_clients([*file_places(tmp_path / "a.json"), *file_places(tmp_path / "b.toml")]).servers
    assert {one.name: dict(one.entry) for one in found} == {
        "s": {"command": "x", "args": ["${A}"]},
        "t": {"command": "y"},
    }


def test_a_large_file_is_read_without_lines(tmp_path: Path) -> None:
    """Some clients keep their whole history beside the servers; the servers are read all the same."""
    body = {"mcpServers": {"s": {"command": "x"}}, "history": ["x" * 1000] * 400}
    found = read_place(place(tmp_path, "claude-code", body)).found
    assert [(one.name, one.origin.line) for one in found] == [("s", 0)]


LEAVES = st.none() | st.booleans() | st.integers(-9, 9) | st.text(max_size=5)
FIELDS = st.sampled_from(
    [
        "command",
        "args",
        "env",
        "url",
        "headers",
        "http_headers",
        "env_http_headers",
        "env_vars",
        "type",
        "bearer_token_env_var",
    ]
)
ODD = st.recursive(
    LEAVES, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(FIELDS, inner, max_size=4), max_leaves=15
)


@settings(max_examples=150, deadline=None)
@given(st.dictionaries(FIELDS, ODD, max_size=6), st.sampled_from([one.name for one in CLIENTS]))
def test_no_entry_however_odd_stops_an_import(raw: dict[str, Any], name: str) -> None:
    """It is taken over as it is; what is wrong with it is said when the configuration is read."""
    one = client(name)
    here = Place(one, "project", Path("/p/f"), one.root, Path("/p"))
    entry = taken_over(raw, here)
    identity(entry)
    assert isinstance(is_own(entry), bool)
