"""Runs one target on many inputs and notes what broke, once per place in the code."""

from __future__ import annotations

import json
import time
import traceback
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

SLOW_S = 1.0
"""CPU seconds after which an input counts as a finding: something in it costs more than it should."""
MOST_SHOWN = 400


@dataclass
class Tally:
    """What a run saw.

    Attributes:
        cases: inputs that were tried.
        slowest_s: CPU seconds of the slowest.
        findings: for each place that broke, the error and the first input that broke it, as hex.
    """

    cases: int = 0
    slowest_s: float = 0.0
    findings: dict[str, dict[str, str]] = field(default_factory=dict)

    def one(self, check: Callable[[bytes], None], data: bytes) -> None:
        """Try one input."""
        self.cases += 1
        started = time.process_time()
        try:
            check(data)
        except Exception as error:  # noqa: BLE001 - whatever it is, it is what the run is for
            place = traceback.extract_tb(error.__traceback__)[-1]
            self._note(f"{type(error).__name__} at {Path(place.filename).name}:{place.lineno}", str(error), data)
        took = time.process_time() - started
        self.slowest_s = max(self.slowest_s, took)
        if took > SLOW_S:
            self._note("slow", f"{took:.1f} s", data)

    def _note(self, place: str, what: str, data: bytes) -> None:
        self.findings.setdefault(place, {"error": what[:MOST_SHOWN], "input": data.hex()})

    def write(self, path: Path, more: Mapping[str, Any]) -> None:
        """Keep it as a file."""
        path.write_text(json.dumps({**asdict(self), **more}), encoding="utf-8")
