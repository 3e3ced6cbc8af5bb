"""Configuration files as wholes: several dialects, several files, and mistakes that cost nobody else."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from anyact_server.catalog import ConfigSet, dialects, read_configs
from anyact_server.catalog.config import LARGEST, read_env_file, workspace_of
from anyact_server.errors import ConfigError
from anyact_server.types import JsonObject, Limits, ServerSpec


def read(folder: Path, text: str | JsonObject, environment: Mapping[str, str] | None = None, **more: Any) -> ConfigSet:
    """Read one file with this text."""
    file = folder / "c.json"
    file.write_text(text if isinstance(text, str) else json.dumps(text), encoding="utf-8")
    return read_configs([file], environment or {"HOME": "/home/me"}, **more)


def named(found: ConfigSet) -> dict[str, ServerSpec]:
    """The specs by name."""
    return {spec.name: spec for spec in found.specs}


def told(found: ConfigSet) -> str:
    """All problems, line by line."""
    return "\n".join(map(str, found.problems))


@pytest.mark.case("C1")
def test_bad_entries_are_named_with_their_lines_and_cost_no_other(tmp_path: Path) -> None:
    """Comments, trailing commas, odd entries: the good ones load, each bad one is reported by name and line."""
    text = """{
  // two styles
  "mcpServers": { /* of comments */
    "good": {"command": "npx", "args": ["-y", "thing",]},
    "text": "npx -y thing",
    "neither": {"args": []},
    "web": {"type": "http", "url": "https://example.com//mcp?a=b//c"},
    "web2": {"type": "streamable-http", "url": "https://example.com/mcp"},
    "web3": {"type": "streamableHttp", "url": "https://example.com/mcp"},
    "events": {"type": "sse", "url": "https://example.com/sse"},
    "wrong": {"type": "bogus",
              "url": "https://example.com/mcp"},
    "nothing": null,
    "list": [1],
    "": {"command": "x"},
  },
}"""
    found = read(tmp_path, text)
    specs = named(found)
    assert [name for name, spec in specs.items() if spec.fault is None] == ["good", "web", "web2", "web3", "events"]
    assert specs["good"].args == ("-y", "thing")
    assert specs["web"].url == "https://example.com//mcp?a=b//c"
    assert [specs[name].transport for name in ("good", "web", "web2", "web3", "events")] == [
        "stdio",
        "http",
        "http",
        "http",
        "sse",
    ]
    lines = {problem.entry: problem.origin.line for problem in found.problems}
    assert lines == {"text": 5, "neither": 6, "wrong": 11, "nothing": 13, "list": 14, None: 15}
    assert "stdio, http, streamable-http, streamableHttp, sse" in (specs["wrong"].fault or "")
    assert "the entry is a text, not an object" in (specs["text"].fault or "")
    assert "neither command nor url" in (specs["neither"].fault or "")
    assert str(specs["wrong"].origin).endswith("c.json:11")
    assert f"{tmp_path / 'c.json'}:5: server 'text': " in told(found)


@pytest.mark.case("C1")
def test_a_broken_file_gives_line_and_column(tmp_path: Path) -> None:
    """A file that cannot be read at all is one error with its place."""
    with pytest.raises(ConfigError, match=r"c\.json:3:1: "):
        read(tmp_path, '{\n"mcpServers": {"a": {"command": "x"}}\n')


@pytest.mark.parametrize("body", ["[]", "3", '"text"', "null"])
def test_a_document_that_is_no_object_is_refused(tmp_path: Path, body: str) -> None:
    """There is nothing to read servers from."""
    with pytest.raises(ConfigError, match="no object"):
        read(tmp_path, body)


def test_missing_unreadable_and_huge_files_are_refused_by_name(tmp_path: Path) -> None:
    """Each says which file and why."""
    with pytest.raises(ConfigError, match=r"nope\.json: there is no such file"):
        read_configs([tmp_path / "nope.json"], {})
    with pytest.raises(ConfigError, match="cannot be read"):
        read_configs([tmp_path], {})
    huge = tmp_path / "huge.json"
    with huge.open("wb") as file:
        file.truncate(LARGEST + 1)
    with pytest.raises(ConfigError, match="larger than 32 MiB"):
        read_configs([huge], {})


@pytest.mark.parametrize(
    "document",
    [
        {"mcpServers": {"a": {"command": "x"}}},
        {"servers": {"a": {"command": "x"}}, "inputs": []},
        {"mcp": {"servers": {"a": {"command": "x"}}}, "editor.fontSize": 12},
        {"context_servers": {"a": {"command": {"path": "x", "args": [], "env": {}}}}},
        {"mcp_servers": {"a": {"command": "x"}}},
        {"a": {"command": "x"}},
    ],
)
def test_every_root_that_clients_use_is_read(tmp_path: Path, document: JsonObject) -> None:
    """Servers stand under several names, or under none."""
    found = read(tmp_path, document)
    assert [(spec.name, spec.command, spec.fault) for spec in found.specs] == [("a", "x", None)]
    assert not found.problems


def test_a_file_without_servers_is_said_to_have_none(tmp_path: Path) -> None:
    """Most often the wrong file was named; a file of settings alone is fine."""
    assert "no servers are configured" in told(read(tmp_path, {"theme": "dark"}))
    assert not read(tmp_path, {"anyact": {"call_s": 5}}).problems
    assert not read(tmp_path, {"mcpServers": {}}).problems


def test_a_root_that_is_no_object_is_named(tmp_path: Path) -> None:
    """The other root is still read."""
    found = read(tmp_path, '{"servers": {"a": {"command": "x"}},\n"mcpServers": ["b"]}')
    assert list(named(found)) == ["a"]
    assert "c.json:2: mcpServers must be an object" in told(found)


def test_a_later_file_replaces_servers_of_the_same_name_and_says_so(tmp_path: Path) -> None:
    """The later entry wins as a whole; the order is that of the first naming."""
    first, second = tmp_path / "1.json", tmp_path / "2.json"
    first.write_text(
        '{"mcpServers": {"a": {"command": "one", "args": ["x"]}, "b": {"command": "b"}}}', encoding="utf-8"
    )
    second.write_text('{"servers": {\n"a": {"command": "two"}}}', encoding="utf-8")
    found = read_configs([first, str(second)], {})
    assert [(spec.name, spec.command, spec.args) for spec in found.specs] == [("a", "two", ()), ("b", "b", ())]
    assert f"{second}:2: server 'a': replaces the entry of the same name at {first}:1" in told(found)
    assert [problem.severity for problem in found.problems] == ["warning"]
    assert found.files == (first, second)


def test_a_name_that_stands_twice_in_one_file_is_told(tmp_path: Path) -> None:
    """JSON allows it and keeps the later one."""
    found = read(tmp_path, '{"mcpServers": {"a": {"command": "x"},\n"a": {"command": "y"}}}')
    assert found.specs[0].command == "y"
    assert "c.json:2: 'a' stands twice" in told(found)
    assert "'command' stands twice" in told(read(tmp_path, '{"servers": {"a": {"command": "x", "command": "y"}}}'))


def test_remarks_among_the_entries_are_passed_over(tmp_path: Path) -> None:
    """`_comment` beside servers is none; a null root is as good as no root."""
    assert list(named(read(tmp_path, {"mcpServers": {"_comment": "x", "a": {"command": "x"}}}))) == ["a"]
    assert not read(tmp_path, {"mcpServers": None}).specs
    mixed = {"a": {"command": "x"}, "theme": {"colour": "red"}}
    assert list(named(read(tmp_path, mixed))) == ["a"]


def test_settings_come_as_layers_and_may_decide_the_limits(tmp_path: Path) -> None:
    """Each file's `anyact` object is a layer with its place; limits can be made of them."""
    seen: list[Any] = []

    def limits(layers: Sequence[tuple[JsonObject, str]]) -> Limits:
        seen.extend(layers)
        return Limits(call_s=layers[-1][0]["call_s"])

    text = '{"anyact": {"call_s": 7, "_note": "x"},\n"mcpServers": {"a": {"command": "x"}}}'
    found = read(tmp_path, text, defaults=limits)
    assert found.settings == (({"call_s": 7}, f"{tmp_path / 'c.json'}:1"),)
    assert found.specs[0].limits.call_s == 7
    assert "`anyact` must be an object" in told(read(tmp_path, {"anyact": 3}))


@pytest.mark.case("C2")
def test_variables_expand_in_all_places_and_an_unset_one_fails_its_server_alone(tmp_path: Path) -> None:
    """Command, args, env, URL, headers and folder; the fault names the variable; the value is a secret."""
    body = {
        "mcpServers": {
            "local": {
                "command": "${A}",
                "args": ["--key=${env:A}", "$A", "$${A}", "${NO:-x}"],
                "env": {"K": "${A}"},
                "cwd": "${A}",
            },
            "web": {"url": "https://${A}.example.com/${A}?q=${A}", "headers": {"X": "Bearer ${A}"}},
            "unset": {"command": "x", "env": {"K": "${MISSING_ONE}"}},
            "unset url": {"url": "https://example.com/${MISSING_TWO}"},
        }
    }
    specs = named(read(tmp_path, body, {"A": "secretvalue", "HOME": "/h"}))
    local, web = specs["local"], specs["web"]
    assert local.command == "secretvalue"
    assert local.args == ("--key=secretvalue", "$A", "${A}", "x")
    assert local.env == {"K": "secretvalue"}
    assert local.cwd == str(tmp_path / "secretvalue")
    assert web.url == "https://secretvalue.example.com/secretvalue?q=secretvalue"
    assert web.headers == {"X": "Bearer secretvalue"}
    assert "secretvalue" in local.secrets and "secretvalue" in web.secrets
    assert "MISSING_ONE is not set" in (specs["unset"].fault or "")
    assert "MISSING_TWO is not set" in (specs["unset url"].fault or "")
    assert local.fault is None and web.fault is None


def test_inputs_are_answered_by_hand_by_the_environment_or_by_their_default(tmp_path: Path) -> None:
    """The nearest answer wins; without any the server fails and says how to answer."""
    body = {
        "inputs": [
            {"id": "token", "type": "promptString", "password": True},
            {"id": "host", "default": "h.example.com"},
        ],
        "servers": {"a": {"url": "https://${input:host}/", "headers": {"Authorization": "Bearer ${input:token}"}}},
    }
    spec = read(tmp_path, body, {}, inputs={"token": "byhand"}).specs[0]
    assert (spec.url, spec.headers["Authorization"]) == ("https://h.example.com/", "Bearer byhand")
    spec = read(tmp_path, body, {"ANYACT_INPUT_TOKEN": "byenv", "ANYACT_INPUT_HOST": "e.example.com"}).specs[0]
    assert (spec.url, spec.headers["Authorization"]) == ("https://e.example.com/", "Bearer byenv")
    spec = read(tmp_path, body, {}).specs[0]
    assert "ANYACT_INPUT_TOKEN" in (spec.fault or "")
    assert "inputs must be a list" in told(read(tmp_path, body | {"inputs": {}}))


def test_env_files_are_read_beside_the_workspace_and_env_wins_over_them(tmp_path: Path) -> None:
    """A missing or broken env file fails its server and is watched for all the same."""
    (tmp_path / ".env").write_text("A=filed\nB_TOKEN=filedtoo\n", encoding="utf-8")
    (tmp_path / "bad.env").write_text("what is this\n", encoding="utf-8")
    body = {
        "mcpServers": {
            "a": {"command": "x", "envFile": ".env", "env": {"A": "own"}},
            "b": {"command": "x", "envFile": "${workspaceFolder}/none.env"},
            "c": {"command": "x", "env_file": "bad.env"},
            "d": {"command": "x", "envFile": ".env"},
        }
    }
    found = read(tmp_path, body)
    specs = named(found)
    assert specs["a"].env == {"A": "own", "B_TOKEN": "filedtoo"}
    assert {"own", "filedtoo"} & specs["a"].secrets == {"filedtoo"}
    assert "none.env cannot be read" in (specs["b"].fault or "")
    assert "no NAME=VALUE in line 1" in (specs["c"].fault or "")
    assert set(found.files) == {tmp_path / name for name in ("c.json", ".env", "none.env", "bad.env")}
    latin = tmp_path / "latin.env"
    latin.write_bytes(b"A=\xe4")
    assert "no UTF-8 text" in str(read_env_file(latin))


def test_relative_paths_mean_the_workspace_also_from_an_editors_own_folder(tmp_path: Path) -> None:
    """`.vscode/mcp.json` speaks of the folder above `.vscode`."""
    assert workspace_of(tmp_path / ".vscode" / "mcp.json") == tmp_path
    assert workspace_of(tmp_path / "mcp.json") == tmp_path


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=12),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=12,
)
FIELDS = st.sampled_from((*dialects.FIELDS, *sorted(dialects.FOREIGN), "envFile", "per_client", "_note"))


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.dictionaries(st.text(min_size=1, max_size=6), st.dictionaries(FIELDS, VALUES, max_size=6) | VALUES, max_size=4)
)
def test_no_entry_whatever_it_holds_costs_another(tmp_path: Path, entries: dict[str, Any]) -> None:
    """Any JSON in any field: the sound server is there, and every other has a spec, a fault or a problem."""
    found = read(tmp_path, {"mcpServers": {**entries, "sound one": {"command": "npx"}}})
    specs = named(found)
    assert specs["sound one"].fault is None
    assert specs["sound one"].command == "npx"
    for name, entry in entries.items():
        assert name in specs or told(found) or not isinstance(entry, dict)
