"""The readers of strange input, with a few hundred inputs each; `scripts/bench fuzz` tries a million."""

from __future__ import annotations

import pytest

from benchmarks.fuzz.drawn import run
from benchmarks.fuzz.running import Tally
from benchmarks.fuzz.targets import TARGETS


@pytest.mark.parametrize("name", TARGETS)
def test_made_up_input_ends_in_a_value_or_in_an_error_of_our_own(name: str) -> None:
    """The seeds of the target, and what hypothesis makes of its words."""
    tally = Tally()
    for data in TARGETS[name].seeds:
        tally.one(TARGETS[name].check, data)
    run(TARGETS[name], 200, 1, tally)
    assert tally.cases >= 200
    assert not tally.findings


def test_what_breaks_is_noted_once_with_its_input() -> None:
    """By the place in the code; a case that breaks nothing is counted alone."""
    tally = Tally()

    def check(data: bytes) -> None:
        assert not data, "not empty"

    for data in (b"", b"\x01", b"\x02"):
        tally.one(check, data)
    (found,) = tally.findings.values()
    assert tally.cases == 3 and found["input"] == "01" and "not empty" in found["error"]
