"""Latency quantiles of a stream."""

from __future__ import annotations

import random

import pytest

from anyact_server.reliability import Sketch
from anyact_server.reliability.sketch import WINDOW


def test_an_empty_sketch_has_no_quantile() -> None:
    """Nothing seen, nothing said."""
    assert Sketch().quantile(0.5) is None


@pytest.mark.parametrize("p", [0.1, 0.5, 0.95])
def test_quantiles_are_right_to_five_percent(p: float) -> None:
    """Against the exact quantile of the same latencies, over five orders of magnitude."""
    random.seed(4)
    latencies = [10 ** random.uniform(-3, 2) for _ in range(150)]
    sketch = Sketch()
    for seconds in latencies:
        sketch = sketch.added(seconds)
    exact = sorted(latencies)[round(p * len(latencies)) - 1]
    assert sketch.quantile(p) == pytest.approx(exact, rel=0.11)


def test_old_latencies_fade() -> None:
    """After a slow time, a window or two of quick answers bring the median back."""
    sketch = Sketch()
    for seconds in [5.0] * 300 + [0.1] * 250:
        sketch = sketch.added(seconds)
    assert sketch.quantile(0.5) == pytest.approx(0.1, rel=0.06)
    assert sketch.weight <= WINDOW


def test_a_latency_of_nothing_counts_as_the_shortest() -> None:
    """A clock that did not move, or went back, does no harm."""
    assert Sketch().added(0.0).added(-1.0).quantile(0.5) == pytest.approx(0.0001, rel=0.06)


def test_memory_stays_small() -> None:
    """Ten thousand latencies between a millisecond and a hundred seconds need about a hundred buckets."""
    random.seed(5)
    sketch = Sketch()
    for _ in range(10_000):
        sketch = sketch.added(10 ** random.uniform(-3, 2))
    assert len(sketch.counts) < 130
