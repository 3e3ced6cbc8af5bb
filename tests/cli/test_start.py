"""What every command does first."""

from __future__ import annotations

import logging
import os
import signal

import anyio
import pytest

from anyact_server.cli.options import Options
from anyact_server.cli.start import TERMINATED, find_site, run_async, run_until_terminated
from anyact_server.errors import ConfigError, UsageError

from .kit import Shell


def test_the_site_is_found_and_logging_started(shell: Shell) -> None:
    """At the level that is set, the command line's first."""
    shell.configure(a={"command": "x"})
    site = find_site(Options(values=("log_level=info",)))
    assert site.home == shell.home
    assert [spec.name for spec in site.configs.specs] == ["a"]
    assert logging.getLogger("anyact").level == logging.INFO
    find_site(Options(values=("log_level=info",), log_level="debug"))
    assert logging.getLogger("anyact").level == logging.DEBUG


def test_a_named_file_that_is_missing_is_an_error(shell: Shell) -> None:
    """The home's own may be missing."""
    assert find_site(Options()).files == ()
    with pytest.raises(ConfigError, match=r"none\.json"):
        find_site(Options(config=("none.json",)))


def test_an_error_of_ours_comes_out_of_task_groups_bare() -> None:
    """Whatever stands around it."""

    async def fails() -> None:
        async with anyio.create_task_group() as group:
            group.start_soon(anyio.sleep_forever)
            raise UsageError("wrong")

    with pytest.raises(UsageError, match="wrong"):
        run_async(fails)


def test_sigterm_ends_the_work_after_its_cleaning_up() -> None:
    """The exit code is the shell's for SIGTERM; what serves just ends."""
    cleaned: list[str] = []

    async def works() -> str:
        try:
            os.kill(os.getpid(), signal.SIGTERM)
            await anyio.sleep_forever()
        finally:
            with anyio.CancelScope(shield=True):
                await anyio.lowlevel.checkpoint()
                cleaned.append("clean")
        return "never"

    with pytest.raises(SystemExit) as ended:
        run_async(works)
    assert (ended.value.code, cleaned) == (TERMINATED, ["clean"])
    assert run_until_terminated(works) == []


@pytest.mark.case("L2")
@pytest.mark.parametrize(
    ("number", "ends"), [(signal.SIGTERM, SystemExit), (signal.SIGINT, KeyboardInterrupt)], ids=["term", "int"]
)
def test_further_signals_do_not_disturb_the_cleaning_up(number: signal.Signals, ends: type[BaseException]) -> None:
    """Of either kind; afterwards the process handles signals as before."""
    cleaned: list[str] = []
    handlers = [signal.getsignal(signal.SIGTERM), signal.getsignal(signal.SIGINT)]

    async def works() -> None:
        try:
            os.kill(os.getpid(), number)
            await anyio.sleep_forever()
        finally:
            with anyio.CancelScope(shield=True):
                for again in (signal.SIGTERM, signal.SIGINT, number):
                    os.kill(os.getpid(), again)
                    await anyio.wait_all_tasks_blocked()
                cleaned.append("clean")

    with pytest.raises(ends):
        run_async(works)
    assert cleaned == ["clean"]
    assert [signal.getsignal(signal.SIGTERM), signal.getsignal(signal.SIGINT)] == handlers


def test_an_interrupt_that_is_ignored_stays_ignored() -> None:
    """As for a command that a shell runs in the background."""
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)

    async def works() -> int:
        os.kill(os.getpid(), signal.SIGINT)
        await anyio.wait_all_tasks_blocked()
        return 7

    try:
        assert run_async(works) == 7
        assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGINT, before)


def test_work_gives_its_result() -> None:
    """As a list, for it may be nothing."""

    async def works() -> int:
        return 7

    assert run_async(works) == 7
    assert run_until_terminated(works) == [7]
