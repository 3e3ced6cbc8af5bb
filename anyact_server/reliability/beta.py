"""The Beta distribution: its cumulative function and its quantiles, in plain Python.

The regularised incomplete beta function is evaluated by its continued fraction (DLMF 8.17.22) with the modified Lentz
method (Thompson and Barnett 1986); a quantile is found by bisection, sped up by Newton steps where they stay inside.
"""

from __future__ import annotations

from functools import lru_cache
from math import exp, lgamma, log, log1p

_TINY = 1e-300
_TERMS = 200
_STEPS = 60


def cumulative(x: float, a: float, b: float) -> float:
    """Probability that a Beta(a, b) variable is at most `x`; `a` and `b` above 0."""
    if x <= 0.0:
        return 0.0
    if x >= 1.0:
        return 1.0
    front = exp(a * log(x) + b * log1p(-x) + lgamma(a + b) - lgamma(a) - lgamma(b))
    if x < (a + 1.0) / (a + b + 2.0):
        return front * _fraction(x, a, b) / a
    return 1.0 - front * _fraction(1.0 - x, b, a) / b


def _fraction(x: float, a: float, b: float) -> float:
    c = 1.0
    d = 1.0 / _away(1.0 - (a + b) * x / (a + 1.0))
    value = d
    for m in range(1, _TERMS):
        even = m * (b - m) * x / ((a + 2 * m - 1.0) * (a + 2 * m))
        odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1.0))
        step = 1.0
        for coefficient in (even, odd):
            d = 1.0 / _away(1.0 + coefficient * d)
            c = _away(1.0 + coefficient / c)
            step = c * d
            value *= step
        if abs(step - 1.0) < 1e-10:
            break
    return value


def _away(value: float) -> float:
    """The value, kept away from 0."""
    return value if abs(value) > _TINY else _TINY


@lru_cache(maxsize=8192)
def quantile(p: float, a: float, b: float) -> float:
    """The `x` (to about 1e-6) below which a Beta(a, b) variable lies with probability `p`."""
    low, high = 0.0, 1.0
    x = a / (a + b)
    scale = lgamma(a + b) - lgamma(a) - lgamma(b)
    for _ in range(_STEPS):
        miss = cumulative(x, a, b) - p
        if miss > 0.0:
            high = x
        else:
            low = x
        density = exp(scale + (a - 1.0) * log(x) + (b - 1.0) * log1p(-x))
        following = x - miss / density if density > _TINY else -1.0
        if not low < following < high:
            following = (low + high) / 2.0
        if abs(following - x) < 1e-7:
            return following
        x = following
    return x
