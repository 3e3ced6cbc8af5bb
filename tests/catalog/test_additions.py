"""What `anyact add` understands and writes."""

from __future__ import annotations

import json
import stat
import sys
import zipfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from anyact_server.catalog.additions import (
    Addition,
    Surroundings,
    Wish,
    carry_out,
    name_of,
    remove,
    shown,
    split,
    understand,
)
from anyact_server.catalog.environments import Environment, Progress, Step
from anyact_server.catalog.manifests import shipped_manifests
from anyact_server.catalog.recipes import Recipe
from anyact_server.catalog.runners import Launch, Machine
from anyact_server.errors import ConfigError, UnknownServer, UsageError

PROGRAMS = {name: f"/usr/bin/{name}" for name in ("npx", "uvx", "docker")}


def around(tmp_path: Path, **parts: Any) -> Surroundings:
    """A machine with the usual runners, and folders under `tmp_path`."""
    machine = Machine(tmp_path / "envs", PROGRAMS, ((sys.executable, (3, 11)),))
    here = Surroundings((shipped_manifests(),), machine, tmp_path / "home", tmp_path / "user", tmp_path)
    return replace(here, **parts)


def words(addition: Addition) -> list[str]:
    """The command line of an addition's entry."""
    return [addition.entry["command"], *addition.entry["args"]]


def servers(config: Path) -> dict[str, Any]:
    """The servers of a configuration file."""
    found: dict[str, Any] = json.loads(config.read_text(encoding="utf-8"))["mcpServers"]
    return found


def test_a_known_name_becomes_an_entry_with_what_it_needs(tmp_path: Path) -> None:
    """The runner that is there, a reference for the token, and what the server is for."""
    made = understand(Wish("github"), around(tmp_path))
    assert made.name == "github"
    assert words(made) == ["npx", "-y", "--package=@modelcontextprotocol/server-github", "--", "mcp-server-github"]
    assert made.entry["env"] == {"GITHUB_PERSONAL_ACCESS_TOKEN": "${GITHUB_PERSONAL_ACCESS_TOKEN}"}
    assert made.entry["title"] == "GitHub" and "code" in made.entry["tags"]
    assert [one.name for one in made.unset] == ["GITHUB_PERSONAL_ACCESS_TOKEN"]
    set_already = around(tmp_path, environment={"GITHUB_PERSONAL_ACCESS_TOKEN": "x"})
    assert understand(Wish("github"), set_already).unset == ()
    optional = understand(Wish("gitlab"), around(tmp_path)).open
    assert [one.name for one in optional] == ["GITLAB_API_URL"]


@pytest.mark.case("A1")
def test_a_secret_is_written_for_the_owner_alone_and_never_shown(tmp_path: Path) -> None:
    """In variables of manifests, unknown variables and headers; harmless values stay readable."""
    wish = Wish("github", values={"GITHUB_PERSONAL_ACCESS_TOKEN": "ghp_abcdefgh", "OTHER": "hush"})
    made = understand(wish, around(tmp_path))
    assert "ghp_abcdefgh" not in json.dumps(shown(made)) and "hush" not in json.dumps(shown(made))
    config = tmp_path / "c.json"
    config.write_text("{}", encoding="utf-8")
    config.chmod(0o644)
    carry_out(made, config, backups=tmp_path / "b")
    assert servers(config)["github"]["env"]["GITHUB_PERSONAL_ACCESS_TOKEN"] == "ghp_abcdefgh"
    assert stat.S_IMODE(config.stat().st_mode) == 0o600
    remote = understand(Wish("https://h.io/mcp", headers={"Authorization": "Bearer abcdefgh"}), around(tmp_path))
    assert shown(remote)["headers"] == {"Authorization": "***"}
    plain = understand(Wish("sqlite", values={"SQLITE_PATH": "/data/my.db"}), around(tmp_path))
    assert "/data/my.db" in shown(plain)["args"]


def test_a_server_gets_a_data_folder_of_its_own(tmp_path: Path) -> None:
    """A database by default lies under the home folder; the folder is made."""
    made = understand(Wish("sqlite", name="notes"), around(tmp_path))
    folder = tmp_path / "home" / "data" / "notes"
    assert words(made)[-2:] == ["--db-path", str(folder / "data.db")]
    assert not folder.exists()
    carry_out(made, tmp_path / "c.json", backups=tmp_path / "b")
    assert folder.is_dir()


@pytest.mark.case("C3")
def test_words_after_the_dashes_are_arguments_exactly_as_they_are(tmp_path: Path) -> None:
    """Blanks, quotes, dollars, empty texts and backslashes; they fill a list of folders too."""
    odd = ("/my files", 'a"b', "$(x)", ";", "", "C:\\temp", "a\tb")
    made = understand(Wish("npm:thing", words=odd), around(tmp_path))
    assert tuple(words(made)[-7:]) == odd
    assert any("control character" in note for note in made.notes)
    assert words(understand(Wish("filesystem", words=("/a b",)), around(tmp_path)))[-2:] == [
        "mcp-server-filesystem",
        "/a b",
    ]
    with pytest.raises(UsageError, match="filesystem needs DIRECTORIES") as caught:
        understand(Wish("filesystem"), around(tmp_path))
    assert caught.value.hint == "Give them after --: anyact add filesystem -- FIRST SECOND"


@pytest.mark.parametrize(
    ("what", "name", "line"),
    [
        ("npm:@scope/server-thing@1.2", "thing", "npx -y @scope/server-thing@1.2"),
        ("@scope/mcp-thing", "thing", "npx -y @scope/mcp-thing"),
        ("npm:thing-mcp@latest", "thing", "npx -y thing-mcp@latest"),
        ("pypi:mcp-server-thing==1.0", "thing", "uvx mcp-server-thing@1.0"),
        ("pypi:thing[cli]>=2", "thing", "uvx thing[cli]>=2"),
        ("docker:mcp/time", "time", "docker run -i --rm --init mcp/time"),
        ("npx -y @a/thing --x 'c d'", "thing", "npx -y @a/thing --x c d"),
        ("python -m my.server", "my", "python -m my.server"),
        ("docker run -i --rm mcp/thing:1.0", "thing", "docker run -i --rm mcp/thing:1.0"),
        ("/opt/my-mcp-server --x", "my", "/opt/my-mcp-server --x"),
    ],
)
def test_packages_and_command_lines_are_understood(tmp_path: Path, what: str, name: str, line: str) -> None:
    """By prefix, by scope, or by having blanks."""
    made = understand(Wish(what), around(tmp_path))
    assert " ".join(words(made)) == line
    assert made.name == name


@pytest.mark.parametrize(
    ("url", "transport", "name"),
    [
        ("https://mcp.linear.app/sse", "sse", "linear"),
        ("https://mcp.linear.app/mcp", "http", "linear"),
        ("http://127.0.0.1:8000/mcp", "http", "127.0.0.1-8000"),
        ("HTTPS://api.thing.com/", "http", "thing"),
    ],
)
def test_a_url_becomes_a_remote_server(tmp_path: Path, url: str, transport: str, name: str) -> None:
    """The transport follows the path, the name the host."""
    made = understand(Wish(url), around(tmp_path))
    assert made.entry == {"type": transport, "url": url}
    assert made.name == name
    assert understand(Wish(url, transport="sse", name="n"), around(tmp_path)).entry["type"] == "sse"


@pytest.mark.parametrize("url", ["http://", "http://h:99999/", "https://[::1/"])
def test_a_broken_url_is_refused(tmp_path: Path, url: str) -> None:
    """With the form that is wanted."""
    with pytest.raises(UsageError) as caught:
        understand(Wish(url), around(tmp_path))
    assert caught.value.hint == "Write http://HOST:PORT/PATH."


def test_the_command_after_the_dashes_is_taken_whole(tmp_path: Path) -> None:
    """Without a first word; a relative program is found from here, a missing one is noted."""
    made = understand(Wish(None, ("bin/run me", "a b")), around(tmp_path))
    assert words(made) == [str(tmp_path / "bin" / "run me"), "a b"]
    assert any("is not on this machine" in note for note in made.notes)
    with pytest.raises(UsageError, match="nothing to add"):
        understand(Wish(), around(tmp_path))
    program = tmp_path / "bin" / "run"
    program.parent.mkdir()
    program.write_text("#!/bin/sh\n", encoding="utf-8")
    program.chmod(0o755)
    assert words(understand(Wish("bin/run", ("x",)), around(tmp_path))) == [str(program), "x"]


def test_something_unknown_gets_near_names_and_the_other_ways_to_write_it(tmp_path: Path) -> None:
    """A typing mistake in a name, or a package without its registry."""
    with pytest.raises(UnknownServer, match="nothing known is named 'tiem'") as caught:
        understand(Wish("tiem"), around(tmp_path))
    assert "time" in str(caught.value.hint) and "pypi:tiem" in str(caught.value.hint)
    with pytest.raises(UsageError, match="cannot be split"):
        understand(Wish("npx 'x"), around(tmp_path))
    with pytest.raises(UsageError, match="cannot name a server"):
        understand(Wish("time", name="a/b"), around(tmp_path))


def test_a_command_line_is_split_as_its_platform_does() -> None:
    """A backslash is an ordinary letter on Windows."""
    assert split(r'"C:\Program Files\x.exe" -a C:\temp', windows=True) == (r"C:\Program Files\x.exe", "-a", r"C:\temp")
    assert split(r"x 'a b' c\ d", windows=False) == ("x", "a b", "c d")


def test_files_are_told_apart_by_what_they_hold(tmp_path: Path) -> None:
    """A server.json, a manifest, a configuration, anything else."""

    def file(value: Any) -> str:
        (tmp_path / "f.json").write_text(json.dumps(value), encoding="utf-8")
        return "f.json"

    package = {"registryType": "npm", "identifier": "thing", "version": "1.0"}
    made = understand(Wish(file({"name": "io.x/thing", "packages": [package]})), around(tmp_path))
    assert (made.name, words(made)) == ("thing", ["npx", "-y", "thing@1.0"])
    made = understand(Wish(file({"name": "own", "start": [{"command": "run"}]}), ("a",)), around(tmp_path))
    assert (made.name, words(made)) == ("own", ["run", "a"])
    with pytest.raises(UsageError, match="configuration of several servers") as caught:
        understand(Wish(file({"mcpServers": {}})), around(tmp_path))
    assert "anyact import" in str(caught.value.hint)
    with pytest.raises(UsageError, match=r"neither a server\.json nor a manifest"):
        understand(Wish(file([1])), around(tmp_path))
    with pytest.raises(UsageError, match="there is no file"):
        understand(Wish("none.json"), around(tmp_path))


def test_a_bundle_is_unpacked_under_the_home_folder(tmp_path: Path) -> None:
    """Understanding writes nothing; carrying out unpacks and writes the entry."""
    body = {"name": "mcp-thing", "server": {"type": "python", "entry_point": "main.py"}}
    with zipfile.ZipFile(tmp_path / "x.mcpb", "w") as archive:
        archive.writestr("manifest.json", json.dumps(body))
        archive.writestr("main.py", "pass")
    made = understand(Wish("x.mcpb"), around(tmp_path))
    assert made.bundle is not None
    folder = made.bundle[1]
    assert made.name == "thing" and folder.parent == tmp_path / "home" / "bundles"
    assert words(made) == [sys.executable, str(folder / "main.py")]
    assert not folder.exists()
    carry_out(made, tmp_path / "c.json", backups=tmp_path / "b")
    assert (folder / "main.py").exists()


def test_a_runner_or_a_program_can_be_insisted_on(tmp_path: Path) -> None:
    """`--runner`, `--program`."""
    assert words(understand(Wish("time", runner="docker"), around(tmp_path)))[:2] == ["docker", "run"]
    made = understand(Wish("pypi:thing", program="other"), around(tmp_path))
    assert words(made) == ["uvx", "--from", "thing", "other"]
    private = understand(Wish("time", runner="private"), around(tmp_path))
    assert any("private environment" in note for note in private.notes)
    assert "PATH" in private.entry["env"]


@pytest.mark.case("C4")
def test_an_entry_is_written_beside_the_others_and_comments_stay(tmp_path: Path) -> None:
    """One replaced file, a copy of the old one, nothing else touched; the same again changes nothing."""
    config = tmp_path / "c.json"
    config.write_text('{\n  // mine\n  "mcpServers": {\n    "a": {"command": "x"},\n  },\n}\n', encoding="utf-8")
    made = understand(Wish("time"), around(tmp_path))
    written = carry_out(made, config, backups=tmp_path / "b")
    assert written.changed and written.backup is not None
    text = config.read_text(encoding="utf-8")
    assert "// mine" in text and '"a": {"command": "x"},' in text and '"time": {' in text
    assert not carry_out(made, config, backups=tmp_path / "b").changed
    assert len(list((tmp_path / "b").iterdir())) == 1


def test_another_entry_of_the_name_is_never_replaced_unasked(tmp_path: Path) -> None:
    """The cure is named; asked for, it is replaced."""
    config = tmp_path / "c.json"
    config.write_text('{"servers": {"time": {"command": "mine"}}}', encoding="utf-8")
    made = understand(Wish("time"), around(tmp_path))
    with pytest.raises(UsageError, match="already has another server named 'time'") as caught:
        carry_out(made, config, backups=tmp_path / "b")
    assert "--replace" in str(caught.value.hint)
    carry_out(made, config, backups=tmp_path / "b", overwrite=True)
    assert json.loads(config.read_text(encoding="utf-8"))["servers"]["time"]["command"] == "uvx"


def test_a_private_environment_is_made_before_its_entry_is_written(tmp_path: Path) -> None:
    """The entry names the program that was really found."""
    folder = tmp_path / "envs" / "x"
    script = (
        "import pathlib, sys; f = pathlib.Path(sys.argv[1]); d = f / 'lib/python3/site-packages/x.dist-info';"
        " d.mkdir(parents=True); (d / 'METADATA').write_text('Name: x\\nVersion: 1\\n');"
        " (d / 'entry_points.txt').write_text('[console_scripts]\\nreal = m:f\\n');"
        " (f / 'bin').mkdir(); (f / 'bin' / 'real').touch()"
    )
    environment = Environment(folder, "pypi", "x", None, (Step("go", (sys.executable, "-c", script, str(folder))),))
    addition = Addition("x", {"command": "guess", "args": []}, Launch("private", Recipe(), environment))
    told: list[Progress] = []
    carry_out(addition, tmp_path / "c.json", backups=tmp_path / "b", tell=told.append)
    assert servers(tmp_path / "c.json")["x"]["command"] == str(folder / "bin" / "real")
    assert told[-1].words == "ready"
    assert not carry_out(addition, tmp_path / "c.json", backups=tmp_path / "b").changed


def test_removing_takes_one_entry_out(tmp_path: Path) -> None:
    """And says what there is when the name is wrong."""
    config = tmp_path / "c.json"
    config.write_text('{"mcpServers": {"a": {"command": "x"}, "b": {"command": "y"}}}', encoding="utf-8")
    assert remove("a", config, backups=tmp_path / "b").backup is not None
    assert servers(config) == {"b": {"command": "y"}}
    with pytest.raises(UnknownServer, match="no server named 'a'") as caught:
        remove("a", config, backups=tmp_path / "b")
    assert caught.value.hint == "It has: b."
    with pytest.raises(UnknownServer) as caught:
        remove("a", tmp_path / "none.json", backups=tmp_path / "b")
    assert caught.value.hint == "It has: none."


def test_a_configuration_of_another_shape_is_refused(tmp_path: Path) -> None:
    """A list where an object was wanted."""
    config = tmp_path / "c.json"
    config.write_text("[]", encoding="utf-8")
    with pytest.raises(ConfigError, match="is no JSON object"):
        carry_out(understand(Wish("time"), around(tmp_path)), config, backups=tmp_path / "b")


@pytest.mark.parametrize(
    ("text", "name"),
    [("@u/mcp-server-x", "x"), ("io.github.u/server-y", "y"), ("C:\\s\\z.exe", "z"), ("mcp", "mcp"), ("///", "server")],
)
def test_names_are_short(text: str, name: str) -> None:
    """Scope, path, ending and the words that every server has are left out."""
    assert name_of(text) == name
