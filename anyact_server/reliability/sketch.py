"""Quantiles of a stream of latencies in little memory.

Buckets whose bounds grow by a constant factor, so that every quantile is right to a relative error of `ACCURACY`
(DDSketch: Masson, Rim and Lee, "DDSketch: a fast and fully-mergeable quantile sketch with relative-error guarantees",
VLDB 2019). When the weight exceeds `WINDOW` all counts are halved, so that old latencies fade.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import ceil, log

ACCURACY = 0.05
"""Relative error of a quantile."""

WINDOW = 200.0
"""Weight at which old counts are halved: the memory is between half of it and all of it."""

SHORTEST_S = 0.0001
"""Shorter latencies count as this."""

_GROWTH = (1.0 + ACCURACY) / (1.0 - ACCURACY)
_LOG_GROWTH = log(_GROWTH)


@dataclass(frozen=True, slots=True)
class Sketch:
    """Counts by bucket number; bucket `i` holds latencies in (growth^(i-1), growth^i] seconds."""

    counts: Mapping[int, float] = field(default_factory=dict)
    weight: float = 0.0

    def added(self, seconds: float) -> Sketch:
        """The sketch with one more latency."""
        bucket = ceil(log(max(seconds, SHORTEST_S)) / _LOG_GROWTH)
        counts = dict(self.counts)
        counts[bucket] = counts.get(bucket, 0.0) + 1.0
        weight = self.weight + 1.0
        if weight > WINDOW:
            counts = {number: count / 2.0 for number, count in counts.items() if count > 0.1}
            weight = sum(counts.values())
        return Sketch(counts, weight)

    def quantile(self, p: float) -> float | None:
        """Seconds within which the share `p` of the latencies stayed; None when there are none."""
        if not self.counts:
            return None
        wanted = p * self.weight
        passed = 0.0
        bucket = 0
        for bucket in sorted(self.counts):
            passed += self.counts[bucket]
            if passed >= wanted:
                break
        return 2.0 * _GROWTH**bucket / (_GROWTH + 1.0)


NO_LATENCIES = Sketch()
