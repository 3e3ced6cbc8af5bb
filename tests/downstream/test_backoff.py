"""Pauses grow, are capped, and differ between clients."""

from __future__ import annotations

import pytest

from anyact_server.downstream.backoff import Pauses, pause


@pytest.mark.parametrize(("failures", "seconds"), [(0, 1), (1, 1), (2, 2), (3, 4), (7, 60), (10_000, 60)])
def test_pauses_double_up_to_the_longest(failures: int, seconds: float) -> None:
    """However many failures there were, nothing overflows."""
    assert pause(failures, first_s=1, longest_s=60, chance=0) == seconds


def test_jitter_takes_off_a_quarter_at_most() -> None:
    """Clients that failed together do not come back together."""
    assert pause(1, first_s=4, longest_s=60, chance=1) == 3


@pytest.mark.case("R2")
def test_a_minute_holds_fewer_than_ten_tries() -> None:
    """With the shortest jitter too."""
    pauses = Pauses(first_s=1, longest_s=60)
    total, tries = 0.0, 0
    while total < 60:
        total += pauses.next()
        tries += 1
    assert tries < 10
    pauses.reset()
    assert pauses.next() <= 1
