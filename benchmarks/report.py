"""What every bench shares: its options, the machine it ran on, and where results are kept."""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
RESULTS = ROOT / "benchmarks" / "results"
CACHE = ROOT / ".venvs"
"""Environments of rivals: made once, ignored by git."""


@dataclass(frozen=True, slots=True)
class Options:
    """The options that every bench takes."""

    quick: bool
    as_json: bool
    data: Path | None
    keep: bool


def options(name: str, words: str, arguments: Sequence[str] | None = None) -> Options:
    """Read the command line of a bench."""
    return common(parser(name, words).parse_args(arguments))


def parser(name: str, words: str) -> argparse.ArgumentParser:
    """The command line of a bench, to which it may add options of its own."""
    made = argparse.ArgumentParser(prog=f"scripts/bench {name}", description=words)
    made.add_argument("--quick", action="store_true", help="fewer repetitions: shows that it runs, proves nothing")
    made.add_argument("--json", action="store_true", help="print one JSON document")
    made.add_argument("--data", type=Path, help="folder with data sets that are not part of the repository")
    made.add_argument("--no-keep", action="store_true", help="do not write benchmarks/results")
    return made


def common(chosen: argparse.Namespace) -> Options:
    """The options that every bench takes, of a command line that was read."""
    return Options(chosen.quick, chosen.json, chosen.data, not chosen.no_keep and not chosen.quick)


def commit() -> str:
    """The first 12 digits of the commit that is measured."""
    told = subprocess.run(
        ["git", "rev-parse", "--short=12", "HEAD"], cwd=ROOT, capture_output=True, encoding="utf-8", check=False
    )
    return told.stdout.strip() or "unknown"


def machine() -> dict[str, Any]:
    """Where the figures were taken: without it they mean little."""
    return {
        "python": platform.python_version(),
        "system": f"{platform.system()} {platform.machine()}",
        "cores": os.cpu_count(),
        "load": round(os.getloadavg()[0], 2),
    }


def publish(name: str, figures: dict[str, Any], chosen: Options, table: str) -> None:
    """Print the figures, and keep them by commit."""
    document = {"bench": name, "commit": commit(), "taken": time.strftime("%Y-%m-%d"), "machine": machine(), **figures}
    if chosen.keep:
        RESULTS.mkdir(exist_ok=True)
        path = RESULTS / f"{name}-{document['commit']}.json"
        path.write_text(json.dumps(document, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    print(json.dumps(document, indent=2, ensure_ascii=False) if chosen.as_json else table)


def environment(name: str, *packages: str) -> Path:
    """The programs folder of a rival's own environment, made on first use with uv."""
    folder = CACHE / name
    ready = folder / ".ready"
    if not ready.exists():
        say(f"installing {' '.join(packages)} ...")
        uv = str(Path(sys.executable).with_name("uv"))
        subprocess.run([uv, "venv", "--quiet", "--clear", "--python", sys.executable, str(folder)], check=True)
        python = str(folder / "bin" / "python")
        subprocess.run([uv, "pip", "install", "--quiet", "--python", python, *packages], check=True)
        ready.touch()
    return folder / "bin"


def say(text: str) -> None:
    """Progress, on stderr."""
    print(text, file=sys.stderr, flush=True)
