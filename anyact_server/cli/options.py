"""The options that every command shares, as a plain value; light enough for the thin bridge."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import click

from anyact_server.errors import UsageError
from anyact_server.settings import from_text

LEVELS = ("debug", "info", "warning", "error")


@dataclass(frozen=True, slots=True)
class Options:
    """What the shared options said; nothing is read yet."""

    config: tuple[str, ...] = ()
    home: str | None = None
    values: tuple[str, ...] = ()
    log_level: str | None = None
    as_json: bool = False

    def flags(self) -> dict[str, Any]:
        """The settings named on the command line.

        Raises:
            UsageError: a `--set` that is not NAME=VALUE.
        """
        flags: dict[str, Any] = {}
        for value in self.values:
            name, equals, text = value.partition("=")
            if not equals or not name:
                raise UsageError(f"--set {value!r} is not NAME=VALUE", hint="For example: --set call_s=120")
            flags[name.strip()] = from_text(name.strip(), text)
        if self.log_level:
            flags["log_level"] = self.log_level
        return flags


def shared_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the shared options to a command, which receives them as `options`."""

    def wrapped(
        config: tuple[str, ...],
        home: str | None,
        assignments: tuple[str, ...],
        log_level: str | None,
        as_json: bool,
        **rest: Any,
    ) -> Any:
        return command(options=Options(config, home, assignments, log_level, as_json), **rest)

    wrapped.__name__ = command.__name__
    wrapped.__doc__ = command.__doc__
    wrapped.__click_params__ = getattr(command, "__click_params__", [])  # type: ignore[attr-defined]  # click's own site
    for decorate in reversed(_OPTIONS):
        wrapped = decorate(wrapped)
    return wrapped


_OPTIONS: tuple[Callable[[Any], Any], ...] = (
    click.option(
        "--config",
        "-c",
        "config",
        multiple=True,
        type=click.Path(),
        metavar="FILE",
        help="A file of servers; may be given several times. [default: ANYACT_CONFIG, else config.json in the home]",
    ),
    click.option(
        "--home",
        type=click.Path(),
        metavar="DIR",
        help="Folder of catalog, ledger and results. [default: ANYACT_HOME, else the platform's data folder]",
    ),
    click.option(
        "--set", "assignments", multiple=True, metavar="NAME=VALUE", help="A setting; see docs/configuration.md."
    ),
    click.option("--log-level", type=click.Choice(LEVELS), help="Least severity logged to stderr. [default: warning]"),
    click.option("--json", "as_json", is_flag=True, help="Print exactly one JSON document."),
)
