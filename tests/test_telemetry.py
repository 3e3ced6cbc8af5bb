"""Logs with secrets masked, and the time of the machine."""

from __future__ import annotations

import logging
import time

import pytest

from anyact_server.telemetry import ROOT, Masked, SystemClock, logger, start_logging


@pytest.mark.case("A1")
def test_a_known_secret_is_replaced_wherever_it_stands() -> None:
    """In the message, in its arguments, and the longer one first where one holds the other."""
    mask = Masked()
    mask.protect(["s3cret-token", "s3cret-token-longer", "", "abc"])
    assert mask.mask("got s3cret-token-longer and s3cret-token, abc") == "got *** and ***, abc"
    record = logging.LogRecord("anyact.x", logging.INFO, "", 0, "sent %s", ("s3cret-token",), None)
    assert mask.filter(record)
    assert record.getMessage() == "sent ***"


@pytest.mark.case("A1")
def test_a_short_secret_is_replaced_only_where_it_stands_alone() -> None:
    """Inside a word it is most likely a part of that word."""
    mask = Masked()
    mask.protect(["hang", "a.b.c", "eightchr"])
    assert mask.mask("hang 'hang' (hang) key=hang_x hang") == "*** '***' (***) key=***_x ***"
    assert mask.mask("change hanging 4hang hangé a.b.cd axb.c") == "change hanging 4hang hangé a.b.cd axb.c"
    assert mask.mask("xeightchrx") == "x***x"


def test_logs_go_to_stderr_from_the_level_on(capsys: pytest.CaptureFixture[str]) -> None:
    """Standard output stays free for the protocol and for results."""
    before = logging.getLogger(ROOT)
    kept, level, propagate = list(before.handlers), before.level, before.propagate
    try:
        start_logging("warning")
        logger("room").info("not told")
        logger("room").warning("told once")
        start_logging("debug")
        logger("room").debug("told too")
    finally:
        before.handlers[:] = kept
        before.setLevel(level)
        before.propagate = propagate
    shown = capsys.readouterr()
    assert shown.out == ""
    assert [line.partition(" ")[2] for line in shown.err.splitlines()] == [
        "WARNING anyact.room: told once",
        "DEBUG anyact.room: told too",
    ]


def test_the_clock_is_that_of_the_machine() -> None:
    """Seconds since the epoch, and seconds that never go back."""
    clock = SystemClock()
    assert abs(clock.now() - time.time()) < 60
    assert clock.monotonic() <= clock.monotonic()
