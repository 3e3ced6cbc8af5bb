"""Everything about child processes that differs between operating systems. Linux is tested, the others are not."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path

WINDOWS = sys.platform == "win32"
PROC = Path("/proc")
POSIX_VARIABLES = ("HOME", "LOGNAME", "PATH", "SHELL", "TERM", "USER", "LANG", "LC_ALL", "LC_CTYPE", "TMPDIR", "TZ")
WINDOWS_VARIABLES = (
    "APPDATA",
    "COMSPEC",
    "HOMEDRIVE",
    "HOMEPATH",
    "LOCALAPPDATA",
    "PATH",
    "PATHEXT",
    "PROCESSOR_ARCHITECTURE",
    "PROGRAMDATA",
    "PROGRAMFILES",
    "SYSTEMDRIVE",
    "SYSTEMROOT",
    "TEMP",
    "TMP",
    "USERNAME",
    "USERPROFILE",
    "WINDIR",
)
NETWORK_VARIABLES = (
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "ALL_PROXY",
    "NO_PROXY",
    "http_proxy",
    "https_proxy",
    "all_proxy",
    "no_proxy",
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
    "NODE_EXTRA_CA_CERTS",
    "REQUESTS_CA_BUNDLE",
    "XDG_CACHE_HOME",
    "XDG_CONFIG_HOME",
    "XDG_DATA_HOME",
    "XDG_RUNTIME_DIR",
)
"""Without these, servers behind a company's proxy or with a cache elsewhere cannot be installed or started."""


def environment(inherited: Mapping[str, str], own: Mapping[str, str], *, windows: bool = WINDOWS) -> dict[str, str]:
    """The environment of a child: a small base of the inherited one, and its own variables over it.

    Exported shell functions (values that begin with `()`) are never passed on.
    """
    names = (*(WINDOWS_VARIABLES if windows else POSIX_VARIABLES), *NETWORK_VARIABLES)
    base = {name: inherited[name] for name in names if name in inherited and not inherited[name].startswith("()")}
    return {**base, **own}


def command_line(command: str, args: Iterable[str], path: str | None, *, windows: bool = WINDOWS) -> list[str]:
    """The argument vector to execute.

    On Windows the command is looked up with its extensions, because `npx` is a `.cmd` there.
    """
    found = shutil.which(command, path=path) if windows else None
    return [found or command, *args]


def new_group(*, windows: bool = WINDOWS) -> tuple[bool, int]:
    """How to start a child in a group of its own: (start a new session, creation flags)."""
    if windows:
        return False, int(getattr(subprocess, "CREATE_NEW_PROCESS_GROUP", 0))
    return True, 0


def family(pid: int, known: Iterable[int] = (), mark: bytes = b"", *, proc: Path = PROC) -> frozenset[int]:
    """The living processes that came out of a child: its group, its session, its descendants and those already known.

    Zombies do not count. Where there is no `/proc`, the answer is the child itself as long as its group lives.

    Args:
        pid: of the child, which leads a group and a session.
        known: members found earlier; they count as long as they live, whoever their parent is now.
        mark: something that only the environment of the family holds; finds members whose parents have ended.
        proc: where the system tells of its processes.
    """
    stats = dict(_stats(proc))
    if not stats:
        return frozenset({pid}) if _group_lives(pid) else frozenset()
    members = {other for other, (_, group, session, _) in stats.items() if pid in (other, group, session)}
    members.update(other for other in known if other in stats)
    if mark:
        members.update(other for other in stats if mark in _environment(proc, other))
    grown = True
    while grown:
        children = {other for other, (parent, _, _, _) in stats.items() if parent in members}
        grown = not children <= members
        members |= children
    return frozenset(member for member in members if stats[member][3] != "Z") - {os.getpid()}


def tell(pid: int, members: Iterable[int], *, kill: bool) -> None:
    """Ask the child's group and the given processes to end (`kill`: end them). Those already gone are no error."""
    if WINDOWS:
        subprocess.run(end_command(pid, kill=kill), capture_output=True, check=False)
        return
    number = signal.SIGKILL if kill else signal.SIGTERM
    for send, target in [(os.killpg, pid), *((os.kill, member) for member in members)]:
        try:
            send(target, number)
        except (ProcessLookupError, PermissionError):
            continue


def end_command(pid: int, *, kill: bool) -> list[str]:
    """The command that ends a child with all its descendants on Windows."""
    return ["taskkill", "/T", *(["/F"] if kill else []), "/PID", str(pid)]


def reap(members: Iterable[int], child: int) -> None:
    """Collect grandchildren that were handed to this process after their parent's end (as in a container whose first
    process this is), so that no zombies stay.

    The child itself is left to whoever started it.
    """
    if WINDOWS:
        return
    for member in members:
        if member != child:
            try:
                os.waitpid(member, os.WNOHANG)
            except ChildProcessError:
                continue


def _environment(proc: Path, pid: int) -> bytes:
    try:
        return (proc / str(pid) / "environ").read_bytes()
    except OSError:
        return b""


def _group_lives(pid: int) -> bool:
    if WINDOWS:
        return False
    try:
        os.killpg(pid, 0)
    except (ProcessLookupError, PermissionError):
        return False
    return True


def _stats(proc: Path) -> Iterable[tuple[int, tuple[int, int, int, str]]]:
    """(pid, (parent, group, session, state)) of every process, from `/proc/*/stat` (proc(5))."""
    if not (proc / "self" / "stat").exists():
        return
    for entry in proc.iterdir():
        if entry.name.isdigit():
            try:
                line = (entry / "stat").read_bytes()
            except OSError:
                continue
            fields = line[line.rindex(b")") + 2 :].split()
            yield int(entry.name), (int(fields[1]), int(fields[2]), int(fields[3]), fields[0].decode("ascii"))
