"""One factor for every time in these tests, so that they are quick by default and true at full length.

`CASES_FACTOR=1` runs the cases with the times that the reports name. Under it, how long servers stay silent shrinks,
while what is promised to happen within a time is given more of it: the machines that run all tests at once are busy.
"""

from __future__ import annotations

import os

FACTOR = float(os.environ.get("CASES_FACTOR", "0.05"))
SLACK = 1.0 if FACTOR >= 1 else 5.0
PATIENCE_S = 20.0
"""Bound on every wait that no promise bounds."""


def lasting(seconds: float) -> float:
    """How long something of a case's input takes."""
    return seconds * FACTOR


def within(seconds: float) -> float:
    """How long something may take that is promised within so many seconds."""
    return seconds * SLACK
