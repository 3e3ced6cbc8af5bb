"""The built wheel, installed alone: it runs, it carries its manifests and its model, and stays light."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
LIGHT_MB = 400
"""What a plain install may weigh, by the design."""
BINARIES_MB = 60
"""What the package may carry in binaries, by the design."""


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel of this checkout."""
    folder = tmp_path_factory.mktemp("wheel")
    run(sys.executable, "-m", "uv", "build", "--wheel", "--quiet", "--out-dir", str(folder), str(ROOT))
    (built,) = folder.glob("*.whl")
    return built


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The programs folder of an environment that holds the wheel and what it needs, nothing else."""
    folder = tmp_path_factory.mktemp("plain")
    run(sys.executable, "-m", "uv", "venv", "--quiet", "--clear", str(folder))
    python = str(folder / "bin" / "python")
    run(sys.executable, "-m", "uv", "pip", "install", "--quiet", "--python", python, str(wheel))
    return folder / "bin"


def run(*command: str, cwd: Path | None = None) -> str:
    """The output of a command that must succeed."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "COVERAGE"))}
    done = subprocess.run(command, capture_output=True, encoding="utf-8", cwd=cwd, env=environment, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_wheel_carries_code_manifests_and_model_and_no_tests(wheel: Path) -> None:
    """What a plain install needs is inside; what only a checkout needs is not."""
    names = zipfile.ZipFile(wheel).namelist()
    assert "anyact_server/manifests/time.json" in names
    assert any(name.startswith("anyact_server/retrieval/model/") for name in names)
    assert not [name for name in names if name.startswith(("tests/", "benchmarks/", "scripts/"))]
    heavy = sum(info.file_size for info in zipfile.ZipFile(wheel).infolist() if info.filename.endswith(".onnx"))
    assert heavy < BINARIES_MB * 1e6


@pytest.mark.registry
@pytest.mark.timeout(300)
def test_a_plain_install_runs_outside_the_checkout(installed: Path, tmp_path: Path) -> None:
    """The command starts, knows its manifests by name, and searches by meaning, with nothing of the repository near."""
    anyact = str(installed / "anyact")
    assert "anyact" in run(anyact, "--version", cwd=tmp_path)
    shown = json.loads(
        run(anyact, "add", "time", "--dry-run", "--json", "--home", str(tmp_path / "home"), cwd=tmp_path)
    )
    assert shown["name"] == "time"


@pytest.mark.registry
@pytest.mark.timeout(300)
def test_a_plain_install_is_light(installed: Path) -> None:
    """No torch, no CUDA; under the weight that the design allows."""
    library = installed.parent
    assert not list(library.glob("lib/python*/site-packages/torch"))
    weight = sum(path.stat().st_size for path in library.rglob("*") if path.is_file() and not path.is_symlink())
    assert weight < LIGHT_MB * 1e6
