"""What is printed, and which exit code an outcome has."""

from __future__ import annotations

import io
import json
from dataclasses import replace

import pytest

from anyact_server.cli import output
from anyact_server.errors import (
    AnyActError,
    ConfigError,
    DownstreamError,
    HomeLocked,
    NeedsLogin,
    UnknownServer,
    UsageError,
)
from anyact_server.telemetry import MASK
from anyact_server.types import ErrorInfo, Fault, Kind, Observation


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (AnyActError("x"), 1),
        (ConfigError("x"), 2),
        (UsageError("x"), 2),
        (HomeLocked("x"), 2),
        (UnknownServer("x"), 3),
        (DownstreamError("x", server="s", kind=Kind.TIMEOUT), 4),
        (DownstreamError("x", server="s", kind=Kind.CRASHED), 4),
        (NeedsLogin("x", server="s"), 5),
    ],
)
def test_an_error_has_one_exit_code(error: AnyActError, code: int) -> None:
    """As `anyact --help` says."""
    assert output.exit_code(error) == code


def test_errors_that_task_groups_wrapped_come_out_bare() -> None:
    """Ours first; a lone stranger too; several strangers stay together."""
    ours = UsageError("x")
    group = BaseExceptionGroup("g", [ValueError("y"), BaseExceptionGroup("h", [ours])])
    assert output.bare(group) is ours
    stranger = ValueError("y")
    assert output.bare(BaseExceptionGroup("g", [stranger])) is stranger
    both = BaseExceptionGroup("g", [stranger, KeyError("z")])
    assert output.bare(both) is both


def test_secrets_are_masked_in_errors_and_notes(capsys: pytest.CaptureFixture[str]) -> None:
    """In words and as JSON."""
    MASK.protect(["hush-4711"])
    output.fail("the key hush-4711", kind="auth", hint="change hush-4711", as_json=False)
    output.note("with hush-4711")
    output.fail("the key hush-4711", kind="auth", hint=None, as_json=True)
    printed = capsys.readouterr()
    assert "4711" not in printed.out + printed.err
    assert printed.err.splitlines() == ["error: the key ***", "cure: change ***", "with ***"]
    assert json.loads(printed.out)["error"] == {"kind": "auth", "message": "the key ***", "hint": None}


def test_a_table_is_as_wide_as_its_content(capsys: pytest.CaptureFixture[str]) -> None:
    """And nothing at all without rows."""
    output.table(("A", "B"), [])
    output.table(("A", "B"), [("long one", "x"), ("y", "")])
    assert capsys.readouterr().out.splitlines() == ["A         B", "long one  x", "y"]


class Terminal(io.StringIO):
    """A stream that says it is a terminal."""

    def isatty(self) -> bool:
        return True


def test_progress_on_a_log_is_a_line_per_tenth(capsys: pytest.CaptureFixture[str]) -> None:
    """And silent under `--json`."""
    with output.progress("reading", 100, as_json=False) as bar:
        for number in range(100):
            bar.step(f"s{number}")
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 11
    assert lines[-1] == "reading: 100/100 s99"
    with output.progress("reading", 2, as_json=True) as bar:
        bar.step()
    assert capsys.readouterr().err == ""


def test_progress_on_a_terminal_is_one_bar(monkeypatch: pytest.MonkeyPatch) -> None:
    """Drawn over itself, its line ended at the end; nothing when nothing was done."""
    screen = Terminal()
    monkeypatch.setattr("sys.stderr", screen)
    with output.progress("reading", 4, as_json=True) as bar:
        bar.at(2, "git")
    assert "reading ████████████············ 2/4 git" in screen.getvalue()
    assert screen.getvalue().endswith("\n")
    screen.truncate(0)
    with output.progress("reading", 0, as_json=False):
        pass
    assert screen.getvalue().strip("\0") == ""


def test_an_observation_has_the_exit_code_of_its_kind() -> None:
    """A failure without a kind is 1."""
    done = Observation("obs_1", "ok", "s")
    assert output.observation_code(done) == 0
    assert output.observation_code(replace(done, is_error=True)) == 1
    login = ErrorInfo(Kind.AUTH, "log in", Fault.ENVIRONMENT, False, "after_login")
    assert output.observation_code(replace(done, is_error=True, error=login)) == 5
