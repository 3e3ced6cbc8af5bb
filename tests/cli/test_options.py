"""The shared options as a value."""

from __future__ import annotations

import pytest

from anyact_server.cli.options import Options
from anyact_server.errors import UsageError

from .kit import Shell


def test_settings_on_the_command_line() -> None:
    """`--set` as often as you like, and the level of the log."""
    options = Options(values=("call_s=3", " deny =a=b"), log_level="info")
    assert options.flags() == {"call_s": "3", "deny": ("a=b",), "log_level": "info"}
    assert Options().flags() == {}


@pytest.mark.parametrize("value", ["call_s", "=3"])
def test_a_setting_needs_name_and_value(value: str) -> None:
    """With an example as the cure."""
    with pytest.raises(UsageError, match="NAME=VALUE") as caught:
        Options(values=(value,)).flags()
    assert caught.value.hint


def test_the_nearest_source_of_a_setting_wins(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    """Command line before environment before file."""
    shell.configure()
    shell.config.write_text('{"anyact": {"call_s": "slow"}, "mcpServers": {}}', encoding="utf-8")
    assert shell("list").code == 2
    monkeypatch.setenv("ANYACT_CALL_S", "7")
    assert shell("list").code == 0
    assert shell("list", "--set", "call_s=none").code == 2
