"""Public servers from the package registries behind AnyAct."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).resolve().parents[1] / "scripts" / "real-servers"
TEN = "calculator,code-index,duckdb,everything,filesystem,git,memory,sequential-thinking,sqlite,time"


@pytest.mark.registry
@pytest.mark.timeout(1200)
def test_ten_public_servers_are_installed_started_and_called_behind_anyact(tmp_path: Path) -> None:
    """From the shipped manifests alone: every one is listed, and answers one call that needs no network."""
    argv = [sys.executable, str(SCRIPT), "--only", TEN, "--calls", "--json", "--folder", str(tmp_path)]
    done = subprocess.run(argv, capture_output=True, encoding="utf-8", check=False, timeout=1100)
    report = json.loads(done.stdout)
    wrong = {
        row["name"]: row["error"] or row["call"] for row in report["servers"] if row["error"] or row["call"] != "ok"
    }
    assert wrong == {}, done.stderr
    assert (report["started"], report["calls_ok"]) == (10, 10)
    assert report["actions"] >= 60
    assert done.returncode == 0
