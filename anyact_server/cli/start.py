"""What every command does first: find the site, start logging, run the event loop."""

from __future__ import annotations

import os
import signal
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar

import anyio
import anyio.abc

from anyact_server.catalog import Site
from anyact_server.telemetry import start_logging

from .options import Options
from .output import bare

Result = TypeVar("Result")
TERMINATED = 128 + signal.SIGTERM
STOP_S = 15.0
"""How long after a signal further ones are absorbed: stubborn servers take some seconds; a stop that hangs can be ended
then."""


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
        KeyboardInterrupt: SIGINT did, in the same way.
    """
    done = run_until_terminated(work)
    if not done:
        raise SystemExit(TERMINATED)
    return done[0]


def run_until_terminated(work: Callable[[], Awaitable[Result]]) -> list[Result]:
    """Run to the end or until SIGTERM, which ends it orderly; what came of it, nothing when SIGTERM came first.

    Further signals change nothing until the work has cleaned up.

    Raises:
        KeyboardInterrupt: SIGINT came first, and ended the work in the same way.
    """
    came: list[signal.Signals] = []
    try:
        with _kept(signal.SIGTERM, signal.SIGINT):
            done = anyio.run(_until_terminated, work, came)
    except BaseExceptionGroup as group:
        raise bare(group) from group
    if not done and signal.SIGINT in came:
        raise KeyboardInterrupt
    return done


@contextmanager
def _kept(*numbers: signal.Signals) -> Iterator[None]:
    """Leave the handlers of signals as they were: an event loop puts the defaults back instead."""
    before = {number: signal.getsignal(number) for number in numbers}
    try:
        yield
    finally:
        for number, handler in before.items():
            if signal.getsignal(number) is not handler:
                signal.signal(number, handler)


async def _until_terminated(work: Callable[[], Awaitable[Result]], came: list[signal.Signals]) -> list[Result]:
    done: list[Result] = []
    async with anyio.create_task_group() as watch:
        # The watch stands outside of what a signal cancels, so that it lasts until the cleaning up is done.
        with anyio.CancelScope() as scope:
            if os.name == "posix":
                await watch.start(_cancel_on_signal, scope, came)
            done.append(await work())
        watch.cancel_scope.cancel()
    return done


async def _cancel_on_signal(
    scope: anyio.CancelScope,
    came: list[signal.Signals],
    *,
    task_status: anyio.abc.TaskStatus[None] = anyio.TASK_STATUS_IGNORED,
) -> None:
    # SIGINT that whoever started this process ignores (a shell does, for what runs in the background) stays ignored.
    interrupts = [] if signal.getsignal(signal.SIGINT) is signal.SIG_IGN else [signal.SIGINT]
    with anyio.open_signal_receiver(signal.SIGTERM, *interrupts) as received:
        task_status.started()
        came.append(await anext(received))
        scope.cancel()
        await anyio.sleep(STOP_S)
