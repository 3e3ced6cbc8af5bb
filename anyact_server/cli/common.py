"""How a command gets its place and a running app."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

import anyio

from anyact_server.app import App, Place
from anyact_server.errors import AnyActError
from anyact_server.telemetry import start_logging

from .options import Options, shared_options

Result = TypeVar("Result")


def find_place(options: Options) -> Place:
    """Read home, files and settings, and start logging. Raises ConfigError, UsageError."""
    start_logging(options.log_level or "warning")
    place = Place.find(options.config, options.home, options.flags())
    start_logging(place.settings.log_level)
    return place


def place_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the shared options to a command, which receives a `place` and `as_json`."""

    def wrapped(options: Options, **rest: Any) -> Any:
        return command(place=find_place(options), as_json=options.as_json, **rest)

    wrapped.__name__ = command.__name__
    wrapped.__doc__ = command.__doc__
    wrapped.__click_params__ = getattr(command, "__click_params__", [])  # type: ignore[attr-defined]  # click's own place
    return shared_options(wrapped)


def run_async(work: Callable[[], Awaitable[Result]]) -> Result:
    """Run to the end; an error of ours that task groups wrapped comes out bare."""
    try:
        return anyio.run(work)
    except BaseExceptionGroup as group:
        raise _bare(group) from group


def _bare(error: BaseException) -> BaseException:
    while isinstance(error, BaseExceptionGroup):
        ours = error.split(AnyActError)[0]
        if ours is None and len(error.exceptions) > 1:
            return error
        error = (ours or error).exceptions[0]
    return error


def with_app(place: Place, work: Callable[[App], Awaitable[Result]]) -> Result:
    """Open the app, do one piece of work in it, and close it again."""

    async def run() -> Result:
        app = App(place)
        async with app.running():
            await app.ready()
            return await work(app)

    return run_async(run)
