"""What every command does first: find the site, start logging, run the event loop."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TypeVar

import anyio

from anyact_server.catalog import Site
from anyact_server.errors import AnyActError
from anyact_server.telemetry import start_logging

from .options import Options

Result = TypeVar("Result")


def find_site(options: Options) -> Site:
    """Read home, files and settings, and start logging. Raises ConfigError, UsageError."""
    start_logging(options.log_level or "warning")
    site = Site.find(options.config, options.home, options.flags())
    start_logging(site.settings.log_level)
    return site


def run_async(work: Callable[[], Awaitable[Result]]) -> Result:
    """Run to the end; an error of ours that task groups wrapped comes out bare."""
    try:
        return anyio.run(work)
    except BaseExceptionGroup as group:
        raise bare(group) from group


def bare(error: BaseException) -> BaseException:
    """The error of ours inside groups, or the only one there is; else the group."""
    while isinstance(error, BaseExceptionGroup):
        ours = error.split(AnyActError)[0]
        if ours is None and len(error.exceptions) > 1:
            return error
        error = (ours or error).exceptions[0]
    return error
