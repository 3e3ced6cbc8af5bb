"""`scripts/bench fuzz [--cases N] [--only TARGET] [--seed N] [--json]`: strange inputs for whatever reads such.

One case in ten is drawn by hypothesis, the others by a fuzzer that is guided by the code that they reach. What broke
is listed with its input; the exit code is 1 when anything did.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.report import ROOT, common, environment, parser, publish, say

from .targets import TARGETS

Figures = dict[str, Any]
WORDS = "Strange inputs for the readers of frames, configurations, schemas, ids, arguments and headers."
ATHERIS = ("atheris", "atheris>=3,<4")
CASES = 1_000_000
QUICK = 20_000
DRAWN = 0.1
"""Share of the cases that hypothesis draws: it is slower, and knows less of the code."""
COVERED = re.compile(r"cov: (\d+) ft: (\d+)")


@dataclass(frozen=True, slots=True)
class Tool:
    """What makes the inputs: its module here, and the folder of packages that only it needs."""

    name: str
    module: str
    packages: Path | None = None

    def run(self, target: str, cases: int, seed: int, folder: Path) -> Figures:
        """Try so many inputs on one target; what the process reported."""
        report = folder / f"{target}-{self.name}.json"
        paths = [str(ROOT), *([str(self.packages)] if self.packages else [])]
        started = time.perf_counter()
        ended = subprocess.run(
            [sys.executable, "-m", self.module, target, str(cases), str(seed), str(report)],
            cwd=ROOT,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(paths), "PYTHONWARNINGS": "ignore"},
            capture_output=True,
            encoding="utf-8",
            errors="replace",
            check=False,
        )
        found: Figures = json.loads(report.read_text(encoding="utf-8")) if report.exists() else {"findings": {}}
        if ended.returncode:
            found["findings"][f"ended with {ended.returncode}"] = {"error": ended.stderr[-2000:], "input": ""}
        reached = COVERED.findall(ended.stderr)
        found |= {"target": target, "by": self.name, "seconds": round(time.perf_counter() - started, 1)}
        return found | ({"edges": int(reached[-1][0]), "features": int(reached[-1][1])} if reached else {})


def tools() -> list[tuple[Tool, float]]:
    """What is there to make inputs, each with its share of the cases."""
    drawn = Tool("hypothesis", "benchmarks.fuzz.drawn")
    try:
        programs = environment(*ATHERIS)
    except subprocess.CalledProcessError:
        say("atheris has no build for this Python: hypothesis draws all cases")
        return [(drawn, 1.0)]
    (packages,) = programs.parent.glob("lib/python*/site-packages")
    return [(drawn, DRAWN), (Tool("atheris", "benchmarks.fuzz.guided", packages), 1 - DRAWN)]


def measure(names: Sequence[str], cases: int, seed: int) -> list[Figures]:
    """Every target by every tool, the cases in equal shares."""
    rows = []
    with tempfile.TemporaryDirectory() as name:
        for target in names:
            for tool, share in tools():
                count = max(1, round(cases * share / len(names)))
                say(f"{target}: {count:,} cases by {tool.name} ...")
                rows.append(tool.run(target, count, seed, Path(name)))
    return rows


def table(rows: Sequence[Figures]) -> str:
    """The figures as text."""
    lines = [f"{'target':<12}{'by':<12}{'cases':>10}{'seconds':>9}{'edges':>7}{'slowest':>10}  findings"]
    for row in rows:
        slowest = f"{row.get('slowest_s', 0) * 1000:.0f} ms"
        lines.append(
            f"{row['target']:<12}{row['by']:<12}{row.get('cases', 0):>10,}{row['seconds']:>9}{row.get('edges', ''):>7}"
            f"{slowest:>10}  {len(row['findings'])}"
        )
        lines += [f"    {place}: {what['error']}\n        {what['input']}" for place, what in row["findings"].items()]
    return "\n".join([*lines, f"{sum(row.get('cases', 0) for row in rows):,} cases"])


def main() -> int:
    """Run, print and keep; the exit code."""
    made = parser("fuzz", WORDS)
    made.add_argument("--cases", type=int, help=f"inputs in all ({CASES:,}; with --quick {QUICK:,})")
    made.add_argument("--only", choices=list(TARGETS), action="append", help="only this target; may be given again")
    made.add_argument("--seed", type=int, default=1, help="where the fuzzers begin")
    given = made.parse_args()
    chosen = common(given)
    rows = measure(given.only or list(TARGETS), given.cases or (QUICK if chosen.quick else CASES), given.seed)
    total = sum(row.get("cases", 0) for row in rows)
    publish("fuzz", {"cases": total, "seed": given.seed, "targets": rows}, chosen, table(rows))
    return 1 if any(row["findings"] for row in rows) else 0


if __name__ == "__main__":
    sys.exit(main())
