"""How results, errors and progress are printed, and the exit codes."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import click

from anyact_server.errors import AnyActError, ConfigError, StorageError, UsageError
from anyact_server.telemetry import MASK
from anyact_server.types import Kind, Observation, plain

DONE = 0
FAILED = 1
USAGE = 2
NOTHING = 3
UNREACHED = 4
REFUSED = 5

_CODES = {
    Kind.INVALID_ARGS: USAGE,
    Kind.UNKNOWN_ACTION: NOTHING,
    Kind.NOT_FOUND: NOTHING,
    Kind.AUTH: REFUSED,
    Kind.PERMISSION: REFUSED,
    Kind.REFUSED_BY_POLICY: REFUSED,
    Kind.TIMEOUT: UNREACHED,
    Kind.UNAVAILABLE: UNREACHED,
    Kind.CRASHED: UNREACHED,
    Kind.PROTOCOL: UNREACHED,
}


def exit_code(error: AnyActError) -> int:
    """The exit code of an error."""
    if isinstance(error, ConfigError | UsageError | StorageError):
        return USAGE
    return _CODES.get(error.kind, FAILED)


def observation_code(observation: Observation) -> int:
    """The exit code of an observation: 0 for a success, by kind for a failure."""
    if observation.error is None:
        return FAILED if observation.is_error else DONE
    return _CODES.get(observation.error.kind, FAILED)


def bare(error: BaseException) -> BaseException:
    """The error of ours inside groups, or the only one there is; else the group."""
    while isinstance(error, BaseExceptionGroup):
        ours = error.split(AnyActError)[0]
        if ours is None and len(error.exceptions) > 1:
            return error
        error = (ours or error).exceptions[0]
    return error


def show_json(value: Any) -> None:
    """Print one JSON document."""
    click.echo(json.dumps(plain(value), ensure_ascii=False, indent=2))


def fail(message: str, *, kind: str, hint: str | None, as_json: bool) -> None:
    """Print an error: as JSON on stdout under `--json`, else in words on stderr."""
    message = MASK.mask(message)
    hint = MASK.mask(hint) if hint else None
    if as_json:
        show_json({"error": {"kind": kind, "message": message, "hint": hint}})
        return
    click.echo(f"{click.style('error:', fg='red', bold=True)} {message}", err=True)
    if hint:
        click.echo(f"{click.style('cure:', fg='green')} {hint}", err=True)


def note(text: str) -> None:
    """Print a line for the person at the terminal; never part of the result."""
    click.echo(MASK.mask(text), err=True)


def counted(number: int, noun: str) -> str:
    """A number of things: `1 action`, `12 actions`."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print rows in columns as wide as their content; the last column may run on."""
    if not rows:
        return
    width = [max(len(str(row[i])) for row in (head, *rows)) for i in range(len(head))]
    click.echo(click.style(_line(head, width), bold=True))
    for row in rows:
        click.echo(_line(row, width))


def _line(row: Sequence[str], width: Sequence[int]) -> str:
    return "  ".join(str(cell).ljust(width[i]) for i, cell in enumerate(row)).rstrip()


class Progress:
    """A bar on a terminal; on anything else one line per tenth, so that logs stay short."""

    def __init__(self, label: str, total: int, *, shown: bool) -> None:
        self._label, self._total, self._shown = label, total, shown
        self._terminal = sys.stderr.isatty()
        self._done = 0
        self._tenth = -1

    def step(self, detail: str = "") -> None:
        """One more is done."""
        self.at(self._done + 1, detail)

    def at(self, done: int, detail: str = "") -> None:
        """So many are done; `detail` says what happens now."""
        self._done = done
        if not self._shown:
            return
        if self._terminal:
            filled = 24 * self._done // max(self._total, 1)
            bar = "█" * filled + "·" * (24 - filled)
            text = f"{self._label} {bar} {self._done}/{self._total} {detail}"
            click.echo(f"\r\x1b[2K{text[:118]}", err=True, nl=False)
        elif (tenth := 10 * self._done // max(self._total, 1)) > self._tenth:
            self._tenth = tenth
            click.echo(f"{self._label}: {self._done}/{self._total} {detail}".rstrip(), err=True)

    def close(self) -> None:
        """End the line of the bar."""
        if self._shown and self._terminal and self._done:
            click.echo("", err=True)


@contextmanager
def progress(label: str, total: int, *, as_json: bool) -> Iterator[Progress]:
    """Progress on stderr for anything that takes over a second; silent under `--json` off a terminal."""
    bar = Progress(label, total, shown=not as_json or sys.stderr.isatty())
    try:
        yield bar
    finally:
        bar.close()
