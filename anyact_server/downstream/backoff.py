"""Growing pauses with jitter."""

from __future__ import annotations

import random


def pause(failures: int, *, first_s: float, longest_s: float, chance: float) -> float:
    """Seconds to wait after so many failures in a row: doubling from `first_s` up to `longest_s`, less up to a quarter.

    Args:
        failures: failures in a row, at least 1.
        first_s: pause after the first.
        longest_s: no pause is longer.
        chance: 0 to 1, the share of the jitter to take off, so that many clients do not come back at once.
    """
    grown = first_s * 2.0 ** min(max(failures - 1, 0), 32)
    return min(grown, longest_s) * (1.0 - 0.25 * chance)


class Pauses:
    """A row of growing pauses."""

    def __init__(self, *, first_s: float, longest_s: float) -> None:
        self._first_s = first_s
        self._longest_s = longest_s
        self._count = 0

    def next(self) -> float:
        """The next pause in seconds."""
        self._count += 1
        return pause(self._count, first_s=self._first_s, longest_s=self._longest_s, chance=random.random())

    def reset(self) -> None:
        """Begin again with the first."""
        self._count = 0
