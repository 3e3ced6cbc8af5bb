"""The Beta distribution against values that are known in closed form."""

from __future__ import annotations

import pytest

from anyact_server.reliability.beta import cumulative, quantile


@pytest.mark.parametrize("x", [0.01, 0.2, 0.5, 0.9, 0.999])
def test_cumulative_agrees_with_closed_forms(x: float) -> None:
    """Beta(1, 1) is uniform, Beta(a, 1) has x^a, Beta(2, 2) has 3x² - 2x³."""
    assert cumulative(x, 1, 1) == pytest.approx(x)
    assert cumulative(x, 3.5, 1) == pytest.approx(x**3.5)
    assert cumulative(x, 2, 2) == pytest.approx(3 * x**2 - 2 * x**3)


def test_cumulative_is_complete_at_the_ends() -> None:
    """Outside of the unit interval nothing is left to happen."""
    assert cumulative(0.0, 2, 3) == 0.0
    assert cumulative(-1.0, 2, 3) == 0.0
    assert cumulative(1.0, 2, 3) == 1.0


@pytest.mark.parametrize("a, b", [(1.8, 0.2), (0.5, 0.5), (50, 2), (3, 400), (1.8, 6.2), (0.01, 50), (60, 0.01)])
@pytest.mark.parametrize("p", [0.05, 0.5, 0.95])
def test_quantile_inverts_the_cumulative_function(p: float, a: float, b: float) -> None:
    """The probability wanted lies between those just below and just above the quantile, also for lopsided shapes."""
    x = quantile(p, a, b)
    assert cumulative(x - 1e-5, a, b) <= p <= cumulative(x + 1e-5, a, b)


def test_quantile_of_the_uniform_distribution_is_the_probability() -> None:
    """Beta(1, 1) again, the other way round."""
    assert quantile(0.37, 1, 1) == pytest.approx(0.37, abs=1e-6)
