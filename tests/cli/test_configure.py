"""`add` and `remove`."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from anyact_server.cli.configure import pairs, texts
from anyact_server.errors import UsageError

from .kit import ROOT, Shell, script_entry


def test_a_url_is_added_and_tried_at_once(shell: Shell, address: str) -> None:
    """Its number of actions is told; adding it again changes nothing."""
    added = shell("add", address, "--name", "plain")
    assert added.code == 0
    assert shell.servers()["plain"]["url"] == address
    assert "plain: written to" in added.err
    assert "plain offers 18 actions" in added.err
    again = shell("add", address, "--name", "plain", "--json")
    assert (again.json["changed"], again.json["actions"]) == (False, 18)
    assert shell("list").code == 0


def test_a_command_is_added_word_by_word(shell: Shell) -> None:
    """What stands behind `--` is never read as our own options."""
    code = "import sys; sys.exit('the key is missing')"
    added = shell("add", "--name", "mine", "-e", "A=b c", "--", sys.executable, "-c", code, "--json")
    assert added.code == 1
    assert shell.servers()["mine"] == {"command": sys.executable, "args": ["-c", code, "--json"], "env": {"A": "b c"}}
    assert "mine does not answer yet" in added.err
    assert "the key is missing" in added.err
    assert "anyact doctor mine" in added.err


def test_a_program_is_added_as_it_was_named(shell: Shell, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Found on PATH, or by a path: links are kept, for a virtual environment lives by them."""
    (tmp_path / "tool").symlink_to(sys.executable)
    monkeypatch.chdir(tmp_path)
    shown = shell("add", "--name", "mine", "--dry-run", "--", "python", "my_server.py")
    assert shown.json["entry"] == {"command": "python", "args": ["my_server.py"]}
    shown = shell("add", "./tool", "--name", "mine", "--dry-run", "--", "my_server.py")
    assert shown.json["entry"] == {"command": str(tmp_path / "tool"), "args": ["my_server.py"]}
    shown = shell("add", "--dry-run", "--", "./tool", "my_server.py")
    assert shown.json["entry"]["command"] == str(tmp_path / "tool")


def test_a_dry_run_writes_nothing_and_hides_secrets(shell: Shell) -> None:
    """The entry is shown with `***`."""
    shown = shell("add", "https://example.com/mcp", "--header", "Authorization=Bearer hidden-8765", "--dry-run")
    assert shown.code == 0
    assert shown.json["entry"]["headers"] == {"Authorization": "***"}
    assert "8765" not in shown.out + shown.err
    assert not shell.config.exists()


def test_a_known_server_that_lacks_something_says_what(shell: Shell) -> None:
    """The variable is named, with how to give it; nothing is started."""
    added = shell("add", "brave-search", "--runner", "npx")
    if added.code == 2:
        assert "npx" in added.err
        return
    assert added.code == 0
    assert "brave-search needs BRAVE_API_KEY" in added.err
    assert "-e BRAVE_API_KEY=" in added.err


def test_another_server_of_the_same_name_is_never_replaced_unasked(shell: Shell, address: str) -> None:
    """`--replace` does, and a copy of the file stays."""
    shell.configure(plain={"command": "other"})
    refused = shell("add", address, "--name", "plain", "--no-check")
    assert refused.code == 2
    assert "--replace" in refused.err
    done = shell("add", address, "--name", "plain", "--no-check", "--replace", "--json")
    assert done.code == 0
    assert json.loads(Path(done.json["backup"]).read_text(encoding="utf-8"))["mcpServers"]["plain"] == {
        "command": "other"
    }


@pytest.mark.parametrize(
    ("words", "hint"),
    [
        (("add",), "anyact add time"),
        (("add", "no-such-server-anywhere"), "npm:no-such-server-anywhere"),
        (("add", "missing.json"), "path"),
        (("add", "https://"), "http://HOST"),
        (("add", "time", "--env", "=x"), ""),
        (("add", "https://example.com/mcp", "--header", "Authorization"), "--header"),
        (("add", "time", "--manifests", "/no/such/folder"), "folder"),
    ],
)
def test_a_wish_that_means_nothing_is_refused_with_a_cure(shell: Shell, words: tuple[str, ...], hint: str) -> None:
    """Nothing is written."""
    refused = shell(*words)
    assert refused.code in (2, 3)
    assert hint in refused.err
    assert not shell.config.exists()


def test_a_manifest_of_your_own_is_added_by_name(shell: Shell, tmp_path: Path) -> None:
    """From a folder that is named, with the server's file beside it."""
    recipe = {"command": sys.executable, "args": ["-m", "tests.servers.plain", "--stdio"]}
    body = {"name": "mine", "title": "Mine", "description": "For tests", "start": [recipe]}
    (tmp_path / "mine.json").write_text(json.dumps(body), encoding="utf-8")
    added = shell("add", "mine", "--manifests", str(tmp_path), "--no-check", "--json")
    assert added.code == 0
    assert shell.servers()["mine"]["args"] == recipe["args"]


def test_a_named_file_is_written_instead_of_the_home(shell: Shell, tmp_path: Path, address: str) -> None:
    """`--config` says where."""
    file = tmp_path / "team.json"
    file.write_text('{\n  // ours\n  "mcpServers": {}\n}\n', encoding="utf-8")
    assert shell("add", address, "--name", "plain", "--no-check", "--config", str(file)).code == 0
    assert "// ours" in file.read_text(encoding="utf-8")
    assert not shell.config.exists()


def test_a_server_is_removed_and_a_copy_stays(shell: Shell) -> None:
    """An unknown name is exit code 3, with those there are."""
    shell.configure(a=script_entry("pass"), b=script_entry("pass"))
    removed = shell("remove", "a", "--json")
    assert removed.code == 0
    assert Path(removed.json["backup"]).exists()
    assert list(shell.servers()) == ["b"]
    assert "removed b" in shell("remove", "b").err
    missing = shell("remove", "a")
    assert missing.code == 3
    assert "'a'" in missing.err


def test_pairs_may_refer_to_the_environment() -> None:
    """Headers may not: a header without a value is a mistake."""
    assert pairs(("A=1=2", "B"), "--env") == {"A": "1=2", "B": None}
    with pytest.raises(UsageError):
        pairs(("=1",), "--env")
    with pytest.raises(UsageError):
        texts(("Authorization",), "--header")
    assert texts(("X=y",), "--header") == {"X": "y"}


def test_manifests_are_where_the_package_is() -> None:
    """The tests run from a checkout."""
    assert (ROOT / "manifests" / "time.json").exists()
