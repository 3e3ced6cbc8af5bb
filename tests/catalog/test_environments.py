"""Private environments: made once, under a lock, made anew after a broken attempt."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from anyact_server.catalog.environments import Environment, Progress, Step, prepare
from anyact_server.errors import StorageError

INSTALL = """
import os, pathlib, sys
folder, names = pathlib.Path(sys.argv[1]), sys.argv[2].split(",")
count = folder.parent / "count"
count.write_text(count.read_text() + "x" if count.exists() else "x")
info = folder / "lib" / "python3.11" / "site-packages" / "Demo_Server-1.0.dist-info"
info.mkdir(parents=True)
(info / "METADATA").write_text("Metadata-Version: 2.1\\nName: Demo_Server\\nVersion: 1.0\\n")
(info / "entry_points.txt").write_text("[console_scripts]\\n" + "".join(f"{n} = m:f\\n" for n in names if n))
(folder / "bin").mkdir(exist_ok=True)
for name in names:
    if name: (folder / "bin" / name).write_text("#!/bin/sh\\n")
"""


def environment(tmp_path: Path, brings: str = "demo-server", program: str | None = None) -> Environment:
    """An environment whose installing step is a small script in place of pip."""
    folder = tmp_path / "demo"
    step = Step("installing demo-server", (sys.executable, "-c", INSTALL, str(folder), brings), {"PATH": "/x:${PATH}"})
    return Environment(folder, "pypi", "demo-server[cli]", program, (step,))


def test_an_environment_is_made_once_and_found_again(tmp_path: Path) -> None:
    """The second time nothing runs, and the path of the program is the same."""
    told: list[Progress] = []
    first = prepare(environment(tmp_path), told.append)
    assert first == str(tmp_path / "demo" / "bin" / "demo-server")
    assert [(one.done, one.total, one.words) for one in told] == [(0, 1, "installing demo-server"), (1, 1, "ready")]
    told.clear()
    assert prepare(environment(tmp_path), told.append) == first
    assert told == []
    assert (tmp_path / "count").read_text(encoding="utf-8") == "x"


def test_several_who_want_it_at_once_share_one_making(tmp_path: Path) -> None:
    """One makes it, the others wait and find it."""
    results: list[str] = []
    threads = [threading.Thread(target=lambda: results.append(prepare(environment(tmp_path)))) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20)
    assert len(set(results)) == 1 and len(results) == 3
    assert (tmp_path / "count").read_text(encoding="utf-8") == "x"


def test_what_a_broken_attempt_left_is_made_anew(tmp_path: Path) -> None:
    """A folder without the mark of completion is thrown away."""
    rubbish = tmp_path / "demo" / "lib" / "rubbish"
    rubbish.mkdir(parents=True)
    prepare(environment(tmp_path))
    assert not rubbish.exists()
    (tmp_path / "demo" / "ready.json").write_text("[]", encoding="utf-8")
    prepare(environment(tmp_path))
    assert json.loads((tmp_path / "demo" / "ready.json").read_text(encoding="utf-8"))["program"].endswith("demo-server")
    assert (tmp_path / "count").read_text(encoding="utf-8") == "xx"


def test_the_only_program_of_a_package_is_taken_whatever_its_name(tmp_path: Path) -> None:
    """Its name need not be the package's."""
    assert prepare(environment(tmp_path, "other-name")).endswith("/bin/other-name")


def test_several_programs_are_listed_for_choosing(tmp_path: Path) -> None:
    """None is guessed."""
    with pytest.raises(StorageError, match="which of its programs is the server: one, two") as caught:
        prepare(environment(tmp_path, "one,two"))
    assert caught.value.hint == "Name it with --program."
    assert prepare(environment(tmp_path, "one,two", "two")).endswith("/bin/two")
    assert prepare(environment(tmp_path, "one,two", "one")).endswith("/bin/one")
    assert (tmp_path / "count").read_text(encoding="utf-8") == "xx"


def test_a_program_that_is_not_there_is_said_with_those_that_are(tmp_path: Path) -> None:
    """A wrong name in a recipe or on the command line."""
    with pytest.raises(StorageError, match="brings no program 'three'; it has: one"):
        prepare(environment(tmp_path, "one", "three"))
    with pytest.raises(StorageError, match="the server: none"):
        prepare(environment(tmp_path, ""))


def test_a_failed_step_ends_with_its_last_lines(tmp_path: Path) -> None:
    """The installer's own words, its exit code, and the command to run by hand."""
    script = "print('downloading'); raise SystemExit('no matching distribution')"
    broken = replace(environment(tmp_path), steps=(Step("installing x", (sys.executable, "-c", script)),))
    with pytest.raises(
        StorageError, match=r"installing x failed with exit code 1: .*no matching distribution"
    ) as caught:
        prepare(broken)
    assert str(caught.value.hint).startswith("The command was:")
    missing = replace(broken, steps=(Step("installing x", (str(tmp_path / "nothing"),)),))
    with pytest.raises(StorageError, match="No such file"):
        prepare(missing)


def test_a_node_package_says_its_programs_in_its_package_file(tmp_path: Path) -> None:
    """As a table, or as one file for a program named like the package."""

    def node(found: object, program: str | None = None, make: str = "server-x") -> Environment:
        folder = tmp_path / make / str(len(str(found)))
        package = folder / "node_modules" / "@scope" / "server-x"
        script = (
            "import pathlib, sys; p = pathlib.Path(sys.argv[1]); p.mkdir(parents=True);"
            " (p / 'package.json').write_text(sys.argv[2]); b = p.parent.parent / '.bin'; b.mkdir();"
            " (b / sys.argv[3]).write_text('')"
        )
        argv = (sys.executable, "-c", script, str(package), json.dumps(found), make)
        return Environment(folder, "npm", "@scope/server-x", program, (Step("installing", argv),))

    assert prepare(node({"bin": "index.js"})).endswith("/.bin/server-x")
    assert prepare(node({"bin": {"tool": "a.js"}}, make="tool")).endswith("/.bin/tool")
    assert prepare(node({}, "given", make="given")).endswith("/.bin/given")
    with pytest.raises(StorageError, match="the server: none"):
        prepare(node({}))
    with pytest.raises(StorageError, match="it has: none"):
        prepare(replace(node({}, "gone"), package="@scope/absent"))


def test_windows_programs_are_found_by_their_endings(tmp_path: Path) -> None:
    """`NAME.exe` in `Scripts`."""
    folder = tmp_path / "demo"
    script = "import pathlib, sys; p = pathlib.Path(sys.argv[1]) / 'Scripts'; p.mkdir(); (p / 'x.exe').write_text('')"
    made = Environment(folder, "pypi", "x", "x", (Step("i", (sys.executable, "-c", script, str(folder))),), True)
    assert prepare(made).endswith("x.exe")


def test_the_lock_goes_when_its_holder_dies(tmp_path: Path) -> None:
    """A process killed in the middle of installing does not block the next one."""
    code = (
        "import sqlite3, sys; c = sqlite3.connect(sys.argv[1], isolation_level=None);"
        " c.execute('BEGIN EXCLUSIVE'); print('held', flush=True); sys.stdin.read()"
    )
    argv = [sys.executable, "-c", code, str(tmp_path / "demo.lock")]
    with subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, encoding="utf-8") as holder:
        assert holder.stdout is not None and holder.stdout.readline() == "held\n"
        holder.kill()
    assert prepare(environment(tmp_path)).endswith("demo-server")


def test_the_installers_environment_is_what_is_given(tmp_path: Path) -> None:
    """A step's own values come on top, `${PATH}` being the given search path."""
    out = tmp_path / "seen"
    script = f"import os, json; open({str(out)!r}, 'w').write(json.dumps(dict(os.environ)))"
    step = Step("i", (sys.executable, "-c", script), {"PATH": "/first:${PATH}", "OWN": "1"})
    base: Mapping[str, str] = {"PATH": "/second", "KEPT": "2"}
    with pytest.raises(StorageError):
        prepare(Environment(tmp_path / "e", "pypi", "x", "x", (step,)), base=base)
    seen = json.loads(out.read_text(encoding="utf-8"))
    assert seen["PATH"] == "/first:/second" and seen["OWN"] == "1" and seen["KEPT"] == "2"
