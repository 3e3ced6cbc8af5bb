"""`completion`: scripts that shells source."""

from __future__ import annotations

import shutil
import subprocess

import pytest

from .kit import Shell, run_words


@pytest.mark.parametrize("name", ["bash", "zsh", "fish"])
def test_each_shell_has_its_script(shell: Shell, name: str) -> None:
    """Named after the command."""
    script = shell("completion", name)
    assert script.code == 0
    assert "_ANYACT_COMPLETE" in script.out
    if name == "bash" and (bash := shutil.which("bash")):
        assert subprocess.run([bash, "-n"], input=script.out, encoding="utf-8", check=False).returncode == 0


def test_a_shell_that_is_not_known_is_refused(shell: Shell) -> None:
    """With those that are."""
    refused = shell("completion", "dos")
    assert refused.code == 2
    assert "zsh" in refused.err


def test_commands_complete(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    """As the script asks for them."""
    monkeypatch.setenv("_ANYACT_COMPLETE", "bash_complete")
    monkeypatch.setenv("COMP_WORDS", "anyact se")
    monkeypatch.setenv("COMP_CWORD", "1")
    assert [line.split(",")[-1] for line in run_words([]).stdout.split()] == ["serve", "search", "servers"]
