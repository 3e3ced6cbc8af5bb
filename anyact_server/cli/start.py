"""What every command does first: find the site, start logging, run the event loop."""

from __future__ import annotations

import os
import signal
from collections.abc import Awaitable, Callable
from typing import TypeVar

import anyio
import anyio.abc

from anyact_server.catalog import Site
from anyact_server.telemetry import start_logging

from .options import Options
from .output import bare

Result = TypeVar("Result")
TERMINATED = 128 + signal.SIGTERM


def find_site(options: Options) -> Site:
    """Read home, files and settings, and start logging. Raises ConfigError, UsageError."""
    start_logging(options.log_level or "warning")
    site = Site.find(options.config, options.home, options.flags())
    start_logging(site.settings.log_level)
    return site


def run_async(work: Callable[[], Awaitable[Result]]) -> Result:
    """Run to the end; an error of ours that task groups wrapped comes out bare.

    Raises:
        SystemExit: SIGTERM ended the work; every server that it had started is stopped first.
    """
    done = run_until_terminated(work)
    if not done:
        raise SystemExit(TERMINATED)
    return done[0]


def run_until_terminated(work: Callable[[], Awaitable[Result]]) -> list[Result]:
    """Run to the end or until SIGTERM, which ends it orderly; what came of it, nothing when SIGTERM came first."""
    try:
        return anyio.run(_until_terminated, work)
    except BaseExceptionGroup as group:
        raise bare(group) from group


async def _until_terminated(work: Callable[[], Awaitable[Result]]) -> list[Result]:
    done: list[Result] = []
    async with anyio.create_task_group() as group:
        if os.name == "posix":
            await group.start(_cancel_on_term, group.cancel_scope)
        done.append(await work())
        group.cancel_scope.cancel()
    return done


async def _cancel_on_term(
    scope: anyio.CancelScope, *, task_status: anyio.abc.TaskStatus[None] = anyio.TASK_STATUS_IGNORED
) -> None:
    with anyio.open_signal_receiver(signal.SIGTERM) as received:
        task_status.started()
        async for _ in received:
            scope.cancel()
