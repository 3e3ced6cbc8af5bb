"""The top of the command line: help, exit codes, errors in words and as JSON."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import click
import pytest

from anyact_server import __version__
from anyact_server.cli.main import COMMANDS, root

from .kit import PATIENCE_S, ROOT, Shell, run_words

GROUPS = {"manifest", "index", "token", "eval"}


def test_help_names_every_command(shell: Shell) -> None:
    """Without loading any of them."""
    text = shell("--help").out
    for name, (_, line) in COMMANDS.items():
        assert f"  {name} " in text
        assert line.split(".")[0][:40] in text
    assert shell("-V").out.strip() == f"anyact, version {__version__}"


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_help(shell: Shell, name: str) -> None:
    """With what it does; the commands of a group too, and each of them speaks JSON."""
    found = shell(name, "--help")
    assert found.code == 0
    assert f"Usage: anyact {name}" in found.out
    command = root.get_command(click.Context(root), name)
    assert command is not None
    inner = command.commands.values() if isinstance(command, click.Group) else [command]
    assert isinstance(command, click.Group) == (name in GROUPS)
    for one in inner:
        assert one.help
        if name not in ("serve", "completion"):
            assert any("--json" in option.opts for option in one.params), one.name


def test_a_wrong_use_is_exit_code_2(shell: Shell) -> None:
    """An unknown command or option, a missing argument."""
    for words in (("serch",), ("search",), ("list", "--nope"), ("search", "x", "--limit", "900")):
        found = shell(*words)
        assert (found.code, found.out) == (2, ""), words
        assert found.err


def test_errors_are_json_too(shell: Shell) -> None:
    """One document on stdout, nothing on stderr."""
    for words in (("serch", "--json"), ("list", "--config", "/no/such.json", "--json")):
        found = shell(*words)
        assert found.code == 2
        assert set(found.json["error"]) == {"kind", "message", "hint"}
        assert found.err == ""


@pytest.mark.case("C1")
def test_a_broken_configuration_names_file_and_cure(shell: Shell) -> None:
    """Line and column, exit code 2."""
    shell.configure()
    shell.config.write_text('{"mcpServers": {"a": {"command": "x"}', encoding="utf-8")
    found = shell("list")
    assert found.code == 2
    assert "config.json" in found.err


def test_a_setting_that_does_not_exist_is_named_with_those_that_do(shell: Shell) -> None:
    """From the command line."""
    found = shell("list", "--set", "cal_s=3")
    assert found.code == 2
    assert "cal_s" in found.err
    assert "call_s" in found.err


def test_a_home_that_cannot_be_used_is_an_error_in_words(shell: Shell, tmp_path: Path) -> None:
    """A file stands where the folder should be."""
    (tmp_path / "file").write_text("x", encoding="utf-8")
    found = shell("list", "--home", str(tmp_path / "file" / "home"), "--json")
    assert found.code == 2
    assert str(tmp_path / "file") in found.json["error"]["message"]


def test_the_module_is_the_command(shell: Shell) -> None:
    """`python -m anyact_server` in a process of its own."""
    found = run_words(["token", "list", "--json"])
    assert (found.returncode, found.stdout.split()) == (0, ["{", '"tokens":', "[]", "}"])


def test_a_reader_that_leaves_early_gets_no_traceback(shell: Shell) -> None:
    """As in `anyact manifest list --json | head -1`."""
    words = [sys.executable, "-m", "anyact_server", "manifest", "list", "--json"]
    with subprocess.Popen(words, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.close()
        process.stdout = None
        _, errors = process.communicate(timeout=PATIENCE_S)
    assert (process.returncode, errors) == (1, b"")
