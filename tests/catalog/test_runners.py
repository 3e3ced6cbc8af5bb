"""What runs a package on which machine."""

from __future__ import annotations

import os
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from anyact_server.catalog.recipes import Recipe
from anyact_server.catalog.runners import Machine, choose, look
from anyact_server.errors import UsageError

HERE = Path("/home/envs")
FULL = Machine(
    HERE,
    {name: f"/usr/bin/{name}" for name in ("npx", "npm", "node", "uvx", "pipx", "docker")},
    (("/usr/bin/python3.11", (3, 11)), ("/usr/bin/python3.13", (3, 13))),
)
BARE = replace(FULL, programs={})
NPM = Recipe(registry="npm", package="@scope/server-x", command="x-bin", args=("--flag",))
PYPI = Recipe(registry="pypi", package="mcp-x", command="mcp-x", args=("--flag",))


def line(recipe: Recipe, machine: Machine = FULL, runner: str | None = None) -> list[str]:
    """The command line that is chosen."""
    made = choose([recipe], machine, runner).recipe
    return [made.command or "", *made.args]


def test_npx_runs_the_named_program_of_a_package() -> None:
    """With its further packages, and without asking."""
    assert line(NPM) == ["npx", "-y", "--package=@scope/server-x", "--", "x-bin", "--flag"]
    more = replace(NPM, also_install=("zod@3",), version="2.0", command=None)
    assert line(more)[1:] == ["-y", "--package=@scope/server-x@2.0", "--package=zod@3", "--", "server-x", "--flag"]
    assert line(replace(NPM, command=None)) == ["npx", "-y", "@scope/server-x", "--flag"]


def test_uvx_runs_the_named_program_with_further_requirements() -> None:
    """Pins that the package itself forgot are added."""
    recipe = replace(PYPI, also_install=("mcp<2",), python=">=3.12", version="1.0")
    wanted = ["uvx", "--python", ">=3.12", "--with", "mcp<2", "--from", "mcp-x==1.0", "mcp-x", "--flag"]
    assert line(recipe) == wanted
    assert line(replace(PYPI, command=None, version="1.0")) == ["uvx", "mcp-x@1.0", "--flag"]
    assert line(replace(PYPI, command=None)) == ["uvx", "mcp-x", "--flag"]


def test_pipx_runs_what_needs_nothing_beside_it() -> None:
    """It cannot add requirements, so such a package goes to a private environment."""
    machine = replace(FULL, programs={"pipx": "/opt/bin/pipx"})
    assert line(PYPI, machine) == ["/opt/bin/pipx", "run", "--spec", "mcp-x", "mcp-x", "--flag"]
    assert choose([replace(PYPI, also_install=("mcp<2",))], machine).runner == "private"


@pytest.mark.case("A1")
def test_docker_gets_variables_by_name_so_that_no_secret_stands_on_its_command_line() -> None:
    """Values travel in the environment of the docker program."""
    launch = choose([Recipe(registry="oci", package="mcp/x", env={"TOKEN": "secret"}, args=("a",))], FULL)
    words = [launch.recipe.command, *launch.recipe.args]
    assert words == ["docker", "run", "-i", "--rm", "--init", "-e", "TOKEN", "mcp/x", "a"]
    assert launch.recipe.env == {"TOKEN": "secret"}


def test_without_a_runner_a_private_python_environment_is_planned() -> None:
    """One folder per package and pins, two steps, and its programs first on the search path."""
    launch = choose([replace(PYPI, also_install=("mcp<2",))], BARE)
    assert launch.runner == "private"
    made = launch.environment
    assert made is not None
    assert made.folder.parent == HERE
    assert made.folder.name.startswith("mcp-x-")
    python = str(made.folder / "bin" / "python")
    assert made.steps[0].argv == ("/usr/bin/python3.11", "-m", "venv", str(made.folder))
    assert made.steps[1].argv[:4] == (python, "-m", "pip", "install")
    assert made.steps[1].argv[-2:] == ("mcp-x", "mcp<2")
    assert launch.recipe.command == str(made.folder / "bin" / "mcp-x")
    assert launch.recipe.env["PATH"] == f"{made.folder / 'bin'}{os.pathsep}${{PATH}}"
    assert choose([PYPI], BARE).environment != made


def test_an_environment_is_made_by_the_quickest_means_there_is() -> None:
    """uv where it is; else our own pip, so that no pip is put into the environment first."""
    made = choose([PYPI], replace(BARE, pip="/opt/python")).environment
    assert made is not None
    python = str(made.folder / "bin" / "python")
    assert made.steps[0].argv[2:4] == ("venv", "--without-pip")
    assert made.steps[1].argv[:6] == ("/opt/python", "-m", "pip", "--python", python, "install")
    made = choose([PYPI], replace(BARE, programs={"uv": "/opt/uv"})).environment
    assert made is not None
    assert made.steps[0].argv[:3] == ("/opt/uv", "venv", "--quiet")
    assert made.steps[1].argv == ("/opt/uv", "pip", "install", "--quiet", "--python", python, "mcp-x")


def test_a_private_environment_takes_a_python_that_fits() -> None:
    """Version bounds of the recipe decide."""
    made = choose([replace(PYPI, python=">=3.12")], BARE).environment
    assert made is not None and made.steps[0].argv[0] == "/usr/bin/python3.13"
    with pytest.raises(UsageError, match=r"it needs Python >=3.14") as caught:
        choose([replace(PYPI, python=">=3.14")], BARE)
    assert "Install uv" in str(caught.value.hint)


@pytest.mark.parametrize(
    ("bounds", "fits"),
    [
        (">=3.10", True),
        ("<3.11", False),
        (">3.11", False),
        ("<=3.11", True),
        ("==3.11.*", True),
        ("~=3.10", True),
        ("!", True),
    ],
)
def test_version_bounds_are_understood(bounds: str, fits: bool) -> None:
    """The usual comparisons; anything else is left to the installer."""
    machine = replace(BARE, pythons=(("/usr/bin/python3.11", (3, 11)),))
    if fits:
        assert choose([replace(PYPI, python=bounds)], machine).runner == "private"
    else:
        with pytest.raises(UsageError):
            choose([replace(PYPI, python=bounds)], machine)


def test_a_private_node_environment_uses_npm_where_it_is() -> None:
    """One step, into a folder of its own."""
    machine = replace(FULL, programs={"npm": "/usr/bin/npm", "node": "/usr/bin/node"})
    launch = choose([NPM], machine)
    made = launch.environment
    assert made is not None and len(made.steps) == 1
    assert made.steps[0].argv[:3] == ("/usr/bin/npm", "install", "--prefix")
    assert launch.recipe.command == str(made.folder / "node_modules" / ".bin" / "x-bin")


def test_a_machine_with_nothing_but_python_gets_node_from_a_package() -> None:
    """Node.js comes into the environment itself; its folder is on the server's search path."""
    launch = choose([replace(NPM, install_env={"npm_config_ignore_scripts": "true"})], BARE)
    made = launch.environment
    assert made is not None
    assert [step.words for step in made.steps] == [
        "making a Python environment",
        "installing Node.js",
        "installing @scope/server-x",
    ]
    assert made.steps[2].env["npm_config_ignore_scripts"] == "true"
    assert str(made.folder / "python" / "bin") in launch.recipe.env["PATH"]


def test_windows_environments_have_their_programs_elsewhere() -> None:
    """`Scripts` and `.exe`."""
    made = choose([PYPI], replace(BARE, windows=True)).environment
    assert made is not None
    assert made.bin.name == "Scripts"
    assert made.steps[1].argv[0].endswith("python.exe")


def test_the_first_recipe_that_the_machine_can_run_is_taken() -> None:
    """A hosted server is the last resort when nothing can be started."""
    remote = Recipe("http", url="https://h/mcp")
    nothing = Machine(HERE)
    assert choose([Recipe(registry="oci", package="x"), remote], nothing).runner == "remote"
    assert choose([NPM, remote], FULL).runner == "npx"
    assert choose([NPM, remote], FULL, "remote").recipe.url == "https://h/mcp"
    assert choose([Recipe(command="./x", args=("1",))], nothing).runner == "direct"


@pytest.mark.case("P3")
def test_what_is_missing_is_named_with_the_cure() -> None:
    """What was tried, and what to install."""
    with pytest.raises(UsageError, match="nothing here can run mcp-x: tried uvx, pipx, private") as caught:
        choose([PYPI], Machine(HERE))
    assert "Install uv" in str(caught.value.hint)
    with pytest.raises(UsageError, match="docker") as caught:
        choose([Recipe(registry="oci", package="mcp/x")], Machine(HERE))
    assert "Docker" in str(caught.value.hint)
    with pytest.raises(UsageError, match="docker cannot run this server") as caught:
        choose([NPM], FULL, "docker")
    assert caught.value.hint == "What can: npx, private."


def test_an_insisted_runner_is_taken_or_refused() -> None:
    """`--runner private` although npx is there."""
    assert choose([NPM], FULL, "private").runner == "private"
    with pytest.raises(UsageError, match="tried uvx"):
        choose([PYPI], BARE, "uvx")


def test_looking_finds_programs_and_passes_over_pythons_that_only_print_an_error(tmp_path: Path) -> None:
    """Version switchers leave names behind that do not run; such a name must not be chosen."""
    minor = 13 if sys.version_info[1] != 13 else 12
    good, bad = tmp_path / "good", tmp_path / "bad"
    good.mkdir()
    bad.mkdir()
    (good / f"python3.{minor}").symlink_to(Path(sys.executable).resolve())
    for script in (good / "npx", bad / f"python3.{minor}", bad / "python3.10"):
        script.write_text("#!/bin/sh\necho 'not installed' >&2; exit 127\n", encoding="utf-8")
        script.chmod(0o755)
    (bad / "python3.10").chmod(0o111)
    found = look(tmp_path / "envs", str(good))
    assert found.programs == {"npx": str(good / "npx")}
    assert (str(good / f"python3.{minor}"), (3, minor)) in found.pythons
    assert found.pythons[0] == (sys.executable, (sys.version_info[0], sys.version_info[1]))
    assert len(look(tmp_path / "envs", str(bad)).pythons) == 1
    kept = tmp_path / ".pyenv" / "versions" / f"3.{minor}.4" / "bin"
    kept.mkdir(parents=True)
    (good / f"python3.{minor}").rename(kept / f"python3.{minor}")
    assert look(tmp_path / "envs", str(bad), tmp_path).pythons[1:] == ((str(kept / f"python3.{minor}"), (3, minor)),)
