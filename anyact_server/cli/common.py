"""The options that every command shares, and how a command gets a running app."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

import anyio
import click

from anyact_server.app import App, Place
from anyact_server.errors import UsageError
from anyact_server.telemetry import start_logging

Result = TypeVar("Result")
LEVELS = ("debug", "info", "warning", "error")


def _settings(values: tuple[str, ...]) -> dict[str, Any]:
    flags: dict[str, Any] = {}
    for value in values:
        name, equals, text = value.partition("=")
        if not equals or not name:
            raise UsageError(f"--set {value!r} is not NAME=VALUE", hint="For example: --set call_s=120")
        flags[name.strip()] = text
    return flags


def place_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options that say where configuration and home are, and hand the command a `place` and `as_json`."""

    @click.option(
        "--config",
        "-c",
        "config",
        multiple=True,
        type=click.Path(),
        metavar="FILE",
        help="A file of servers; may be given several times. [default: ANYACT_CONFIG, else config.json in the home]",
    )
    @click.option(
        "--home",
        type=click.Path(),
        metavar="DIR",
        help="Folder for catalog, ledger and results. [default: ANYACT_HOME, else the platform's data folder]",
    )
    @click.option(
        "--set",
        "values",
        multiple=True,
        metavar="NAME=VALUE",
        help="A setting for this run; see docs/configuration.md.",
    )
    @click.option(
        "--log-level", type=click.Choice(LEVELS), help="Least severity that is logged to stderr.  [default: warning]"
    )
    @click.option("--json", "as_json", is_flag=True, help="Print exactly one JSON document.")
    def wrapped(
        config: tuple[str, ...],
        home: str | None,
        values: tuple[str, ...],
        log_level: str | None,
        as_json: bool,
        **rest: Any,
    ) -> Any:
        flags = _settings(values)
        if log_level:
            flags["log_level"] = log_level
        start_logging(log_level or "warning")
        place = Place.find(config, home, flags)
        start_logging(place.settings.log_level)
        return command(place=place, as_json=as_json, **rest)

    wrapped.__name__ = command.__name__
    wrapped.__doc__ = command.__doc__
    wrapped.__click_params__ = [*getattr(command, "__click_params__", []), *wrapped.__click_params__]  # type: ignore[attr-defined]  # click keeps them on the function
    return wrapped


def with_app(place: Place, work: Callable[[App], Awaitable[Result]]) -> Result:
    """Open the app, do one piece of work in it, and close it again."""

    async def run() -> Result:
        app = App(place)
        async with app.running():
            return await work(app)

    return anyio.run(run)
