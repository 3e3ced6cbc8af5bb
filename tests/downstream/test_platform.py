"""What differs between operating systems: environments, families of processes, and their end."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from anyact_server.downstream import platform

SLEEP = [sys.executable, "-c", "import time; print(flush=True); time.sleep(60)"]
NEST = [
    sys.executable,
    "-c",
    "import subprocess, sys; p = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(60)'],"
    " start_new_session=True); print(p.pid, flush=True); p.wait()",
]


def test_children_inherit_little() -> None:
    """Paths, names, language and what the network needs; never exported shell functions."""
    inherited = {"PATH": "/bin", "LANG": "C", "HTTPS_PROXY": "http://p", "TOKEN": "x", "HOME": "() { :; }"}
    made = platform.environment(inherited, {"OWN": "1", "LANG": "de"})
    assert made == {"PATH": "/bin", "LANG": "de", "HTTPS_PROXY": "http://p", "OWN": "1"}


def test_the_command_is_executed_as_written() -> None:
    """No shell has a word in it."""
    assert platform.command_line("run me", ["a b", ""], "/bin") == ["run me", "a b", ""]


def test_a_family_is_the_group_the_session_and_the_descendants() -> None:
    """Also a child in a session of its own, and one that is known though its parent has gone."""
    with subprocess.Popen(NEST, stdout=subprocess.PIPE, start_new_session=True) as parent:
        assert parent.stdout is not None
        child = int(parent.stdout.readline())
        family = platform.family(parent.pid)
        assert {parent.pid, child} <= family and os.getpid() not in family
        parent.kill()
        parent.wait()
        assert platform.family(parent.pid, family) == {child}
        platform.tell(parent.pid, [child], kill=True)
        platform.reap([child, parent.pid], parent.pid)


def test_strays_are_found_by_the_mark_in_their_environment() -> None:
    """However far they went from their parent."""
    env = {**os.environ, "MARKED": "a1b2c3"}
    with subprocess.Popen(SLEEP, stdout=subprocess.PIPE, start_new_session=True, env=env) as stray:
        assert stray.stdout is not None
        stray.stdout.readline()
        nobody = 2**22 + 1
        assert platform.family(nobody) == frozenset()
        assert platform.family(nobody, mark=b"a1b2c3") == {stray.pid}
        platform.tell(stray.pid, [], kill=False)
        assert stray.wait() == -15
        platform.tell(stray.pid, [stray.pid], kill=True)


def test_without_proc_the_group_alone_is_known(tmp_path: Path) -> None:
    """As on systems that have no such folder."""
    with subprocess.Popen(SLEEP, stdout=subprocess.PIPE, start_new_session=True) as child:
        assert platform.family(child.pid, proc=tmp_path) == {child.pid}
        child.kill()
        child.wait()
        assert platform.family(child.pid, proc=tmp_path) == frozenset()


def test_windows_has_its_own_ways() -> None:
    """Commands are looked up with their extensions, groups are made by a flag, trees are ended by a command."""
    assert platform.command_line("sh", ["x"], "/bin", windows=True)[0].endswith("/sh")
    assert platform.new_group(windows=True)[0] is False
    assert platform.environment({"APPDATA": "x", "SHELL": "y"}, {}, windows=True) == {"APPDATA": "x"}
    assert platform.end_command(7, kill=False) == ["taskkill", "/T", "/PID", "7"]
    assert platform.end_command(7, kill=True) == ["taskkill", "/T", "/F", "/PID", "7"]


def test_a_group_of_its_own_is_a_session_here() -> None:
    """On POSIX systems."""
    assert platform.new_group() == (True, 0)
