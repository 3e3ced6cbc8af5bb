"""Logs and stack traces."""

from __future__ import annotations

from anyact_server.grounding.logs import log_outline, trace_outline


def outlined(lines: list[str], room: int = 2000) -> str:
    make = log_outline("\n".join(lines), "rest: H")
    assert make is not None
    return make(room)[0]


def test_levels_are_counted_and_troubles_numbered() -> None:
    """Two spellings of a warning are one level; words of trouble count where there is no level."""
    lines = [f"10:00:00 INFO step {at}" for at in range(100)]
    lines[10] = "10:00:00 WARNING low disk"
    lines[20] = "10:00:00 WARN low disk"
    lines[30] = "10:00:00 connection refused by db-7"
    lines[40] = "10:00:00 INFO no error here"
    shown = outlined(lines)
    assert "[log, 100 lines; INFO 97, WARN 2; rest: H]" in shown
    assert "11: 10:00:00 WARNING low disk" in shown
    assert "31: 10:00:00 connection refused by db-7" in shown
    assert "no error here" not in shown.split("[the end]")[0].split("[troubles")[1].split("[most")[0]
    assert "97 x #:# INFO step #" in shown or "x # INFO step #" in shown


def test_like_troubles_are_folded_and_grave_ones_kept() -> None:
    """Among a flood of warnings the one error is shown."""
    lines = [f"10:00:{at % 60:02} WARN slow query {at} ms" for at in range(500)]
    lines[321] = "10:00:00 ERROR disk full"
    shown = outlined(lines, 700)
    assert "322: 10:00:00 ERROR disk full" in shown
    assert "such lines, the last 500]" in shown


def test_a_short_log_needs_no_outline() -> None:
    """Nor a short trace."""
    assert log_outline("10:00:00 INFO a\n" * 3, "rest") is None
    assert trace_outline("Traceback:\n  File\nValueError", "rest") is None


def test_a_log_without_trouble_shows_its_ends() -> None:
    """And what its lines look like."""
    shown = outlined([f"10:00:00 INFO step {at}" for at in range(400)], 600)
    assert "INFO step 0" in shown
    assert "INFO step 399" in shown
    assert "[troubles" not in shown
    assert "[the end]" in shown


def test_a_trace_keeps_its_errors_and_the_last_frames() -> None:
    """Causes in the middle too."""
    lines = ["Exception in thread main java.lang.A: outer", *(f"    at a.B.c{at}(B.java:1)" for at in range(80))]
    lines += ["Caused by: java.lang.B: the root", *(f"    at z.Y.x{at}(Y.java:2)" for at in range(80))]
    make = trace_outline("\n".join(lines), "rest: H")
    assert make is not None
    shown, kept = make(700)
    assert "java.lang.A: outer" in shown
    assert "Caused by: java.lang.B: the root" in shown
    assert "x79" in shown
    assert "lines left out]" in shown
    assert kept > 0
    assert "[… " in make(120)[0]
