"""Private environments: folders under the home folder that hold one package and what it needs.

`prepare` makes one, once, under a lock that dies with its holder; which steps make it is decided in `runners`.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import sqlite3
import subprocess
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass
from importlib.metadata import Distribution, distributions
from pathlib import Path
from typing import Literal

from anyact_server.errors import StorageError
from anyact_server.types import EMPTY

STEP_S = 900.0
"""Limit of one installing step: large packages on a slow line take minutes."""


@dataclass(frozen=True, slots=True)
class Step:
    """One command of making an environment, with what it does in words."""

    words: str
    argv: tuple[str, ...]
    env: Mapping[str, str] = EMPTY


@dataclass(frozen=True, slots=True)
class Environment:
    """A private environment: its folder, how it is made, the package in it, and the program wanted (None: its own)."""

    folder: Path
    registry: Literal["npm", "pypi"]
    package: str
    program: str | None
    steps: tuple[Step, ...]
    windows: bool = False

    @property
    def bin(self) -> Path:
        """The folder of the environment's programs."""
        if self.registry == "npm":
            return self.folder / "node_modules" / ".bin"
        return self.folder / ("Scripts" if self.windows else "bin")


@dataclass(frozen=True, slots=True)
class Progress:
    """How far the making of an environment is: `done` of `total` steps, and what happens now in words."""

    done: int
    total: int
    words: str


def short_name(package: str) -> str:
    """The part of an npm package's name after its scope."""
    return package.rsplit("/", 1)[-1]


def prepare(
    environment: Environment,
    tell: Callable[[Progress], None] = lambda progress: None,
    *,
    base: Mapping[str, str] | None = None,
) -> str:
    """Make a private environment unless it is there, and give the path of its program.

    One process at a time makes an environment; the others wait for it. What a broken attempt left is made anew.

    Args:
        environment: what to make.
        tell: is told of every step.
        base: the environment variables of the installing programs; the process's own when None.

    Raises:
        StorageError: a step failed, with its last lines; or the package brings no program, or several.
    """
    mark = environment.folder / "ready.json"
    if (program := _ready(mark, environment)) is not None:
        return program
    environment.folder.parent.mkdir(parents=True, exist_ok=True)
    with _alone(environment.folder.with_name(environment.folder.name + ".lock")):
        if (program := _ready(mark, environment)) is not None:
            return program
        if environment.folder.exists():
            shutil.rmtree(environment.folder)
        environment.folder.mkdir()
        total = len(environment.steps)
        for done, step in enumerate(environment.steps):
            tell(Progress(done, total, step.words))
            _run(step, dict(os.environ if base is None else base))
        program = _program(environment)
        mark.write_text(json.dumps({"package": environment.package, "program": program}), encoding="utf-8")
        tell(Progress(total, total, "ready"))
        return program


def _ready(mark: Path, environment: Environment) -> str | None:
    """The program of an environment that was made to the end; its folder's name says what is in it."""
    try:
        made = json.loads(mark.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    program = made.get("program") if isinstance(made, dict) else None
    whole = isinstance(program, str) and Path(program).exists()
    return _program(environment) if whole else None


@contextmanager
def _alone(lock: Path) -> Iterator[None]:
    """Hold an exclusive lock that the operating system frees when its holder dies, on every platform: SQLite's."""
    with closing(sqlite3.connect(lock, timeout=STEP_S, isolation_level=None)) as held:
        held.execute("BEGIN EXCLUSIVE")
        try:
            yield
        finally:
            held.execute("ROLLBACK")


def _run(step: Step, base: Mapping[str, str]) -> None:
    env = {**base, **{name: text.replace("${PATH}", base.get("PATH", "")) for name, text in step.env.items()}}
    try:
        done = subprocess.run(
            step.argv,
            env=env,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=STEP_S,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise StorageError(f"{step.words} failed: {error}", hint="Run the command by hand to see more.") from error
    if done.returncode:
        lines = done.stdout.decode("utf-8", "replace").strip().splitlines()[-6:]
        command = " ".join(step.argv)
        raise StorageError(
            f"{step.words} failed with exit code {done.returncode}: " + " / ".join(lines),
            hint=f"The command was: {command}",
        )


def _program(environment: Environment) -> str:
    """The path of the environment's program: the one wanted, the one named like the package, or the only one."""
    names = [environment.program] if environment.program else _brought(environment)
    short = short_name(environment.package)
    name = short if short in names else names[0] if len(names) == 1 else None
    if name is None:
        listed = ", ".join(names) or "none"
        raise StorageError(
            f"{environment.package} does not say which of its programs is the server: {listed}",
            hint="Name it with --program.",
        )
    for suffix in ("", ".exe", ".cmd") if environment.windows else ("",):
        path = environment.bin / f"{name}{suffix}"
        if path.exists():
            return str(path)
    raise StorageError(
        f"{environment.package} brings no program {name!r}; it has: {', '.join(_brought(environment)) or 'none'}",
        hint="Name it with --program.",
    )


def _brought(environment: Environment) -> list[str]:
    """Names of the programs that the package brings."""
    if environment.registry == "npm":
        package = environment.folder / "node_modules" / environment.package / "package.json"
        try:
            found = json.loads(package.read_text(encoding="utf-8")).get("bin")
        except (OSError, ValueError):
            return []
        return sorted(found) if isinstance(found, dict) else [short_name(environment.package)] if found else []
    wanted = _plain(environment.package)
    places = [str(place) for place in environment.folder.glob("[Ll]ib/**/site-packages")]
    matching: list[Distribution] = [
        one for one in distributions(path=places) if _plain(one.metadata["Name"] or "") == wanted
    ]
    return sorted({point.name for one in matching for point in one.entry_points if point.group == "console_scripts"})


def _plain(name: str) -> str:
    """A Python package's name in its normal form, without extras."""
    return re.sub(r"[-_.]+", "-", name.split("[")[0]).lower()
