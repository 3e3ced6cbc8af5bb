"""`scripts/bench scale [--data DIR] [--quick] [--json]`: how AnyAct holds when thousands of actions are known.

The catalogs are made of the data sets under `--data` and filled up with made-up tools; without it all are made up.
Vectors of texts that were met before are kept in `.venvs/scale-vectors.sqlite`, so that only the first run encodes.
"""

from __future__ import annotations

import json
import shutil
import statistics
import subprocess
import tempfile
from collections.abc import Sequence
from itertools import chain
from pathlib import Path
from typing import Any

from anyact_server.catalog import Catalog, Site, Store
from anyact_server.retrieval import Index, VectorStore, load
from benchmarks.calls.processes import PYTHON, cold_start
from benchmarks.calls.systems import SMALL
from benchmarks.catalogs import filled, install, public, real
from benchmarks.report import CACHE, ROOT, options, publish, say

from . import outside

Figures = dict[str, Any]
WORDS = "Restart, search, memory and change with thousands of actions known."
SIZES = (1_400, 26_000)
QUICK = (300,)
VECTORS = CACHE / "scale-vectors.sqlite"
BOUNDS = {
    1_400: {"resident_mb": 250.0, "first_search_s": 2.0, "search_cpu_ms_p95": 8.0},
    26_000: {"resident_mb": 400.0, "first_search_s": 2.0, "search_cpu_ms_p95": 8.0},
}
"""What is promised, by the number of actions."""
CHANGE_S = 1.0
INITIALIZE = 1.3
"""Most times the smallest SDK server's answer to `initialize`."""


def build(size: int, data: Path | None, folder: Path) -> tuple[Path, Path]:
    """A home with so many actions, indexed; its configuration and the home."""
    offers = filled(chain(real(data), public(data)), size)
    say(f"{size} actions of {len(offers)} servers ...")
    config, home = install(offers, folder)
    if VECTORS.exists():
        shutil.copy(VECTORS, home / "vectors.sqlite")
    index(home, config)
    CACHE.mkdir(exist_ok=True)
    shutil.copy(home / "vectors.sqlite", VECTORS)
    return config, home


def measure(size: int, data: Path | None, repeats: int, searches: int) -> Figures:
    """Everything about a catalog of one size."""
    with tempfile.TemporaryDirectory() as name:
        config, home = build(size, data, Path(name))
        say("restarts ...")
        base = [cold_start(SMALL, {}) for _ in range(repeats)]
        rounds = [outside.restart(home, config) for _ in range(repeats)]
        say("searches ...")
        command = [PYTHON, "-m", "benchmarks.scale.inside", str(home), str(config), str(searches)]
        told = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, encoding="utf-8", check=True)
        row: Figures = {key: statistics.median(one[key] for one in rounds) for key in rounds[0]}
        row |= json.loads(told.stdout)
        row["servers"] = len(json.loads(config.read_text(encoding="utf-8"))["mcpServers"])
        small_cpu, small_wall = (statistics.median(one[at] for one in base) for at in (0, 1))
        row["smallest_initialize_s"], row["smallest_initialize_cpu_s"] = round(small_wall, 2), round(small_cpu, 2)
        row["ratios"] = ratios(size, row)
        return row


def ratios(size: int, row: Figures) -> dict[str, float]:
    """Each figure over its bound; up to 1 is as promised. CPU stands for wall time on a machine that others use."""
    found = {name: round(row[name] / bound, 2) for name, bound in BOUNDS.get(size, BOUNDS[1_400]).items()}
    found["first_search_cpu_s"] = round(row["first_search_cpu_s"] / 2.0, 2)
    found["change_wall_s"] = round(row["change"]["wall_s"] / CHANGE_S, 2)
    found["initialize_cpu"] = round(row["initialize_cpu_s"] / (INITIALIZE * row["smallest_initialize_cpu_s"]), 2)
    return found


def index(home: Path, config: Path) -> None:
    """Index a home to its end, so that what is measured later is a restart."""
    site = Site.find([str(config)], str(home), {}, {})
    catalog = Catalog(Store(home), site.configs.specs)
    made = Index(load(site.settings), store=VectorStore(home / "vectors.sqlite"), folder=home / "index")
    made.rebuild(catalog.actions())
    made.close()
    catalog.close()


def table(rows: Sequence[Figures]) -> str:
    """The figures as text."""
    names = [name for name in rows[0] if name not in ("ratios", "change")]
    lines = [f"{name:30}" + "".join(f"{row[name]:>12}" for row in rows) for name in ("actions", *names)]
    lines.append(f"{'change of one server, s':30}" + "".join(f"{row['change']['wall_s']:>12}" for row in rows))
    lines.append("\nover its bound (up to 1 is as promised)")
    lines += [f"{name:30}" + "".join(f"{row['ratios'][name]:>12}" for row in rows) for name in rows[0]["ratios"]]
    return "\n".join(dict.fromkeys(lines))


def main() -> None:
    """Run the bench."""
    chosen = options("scale", WORDS)
    sizes, repeats, searches = (QUICK, 1, 20) if chosen.quick else (SIZES, 5, 120)
    rows = [measure(size, chosen.data, repeats, searches) for size in sizes]
    publish("scale", {"data": chosen.data is not None, "scale": rows}, chosen, table(rows))


if __name__ == "__main__":
    main()
