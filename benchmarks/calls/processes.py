"""Processes under measurement: started, waited for, weighed, stopped; only those that were started here."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from benchmarks.report import ROOT

TICKS = os.sysconf("SC_CLK_TCK")
INITIALIZE = (
    json.dumps(
        {
            "jsonrpc": "2.0",
            "id": 1,
            "method": "initialize",
            "params": {
                "protocolVersion": "2025-11-25",
                "capabilities": {},
                "clientInfo": {"name": "bench", "version": "1"},
            },
        }
    )
    + "\n"
)


def free_port() -> int:
    """A port that nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def cpu_seconds(pid: int) -> float:
    """User and system CPU seconds of one process so far, without its children."""
    fields = Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICKS


def resident_mb(pid: int) -> float:
    """Resident memory of one process, in MB."""
    pages = int(Path(f"/proc/{pid}/statm").read_text(encoding="ascii").split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


@contextmanager
def running(command: Sequence[str], port: int, environment: Mapping[str, str]) -> Iterator[int]:
    """A server process that listens on a port, for as long as the block lasts; gives its process id."""
    log = ROOT / ".venvs" / "bench.log"
    log.parent.mkdir(exist_ok=True)
    with log.open("ab") as sink:
        process = subprocess.Popen(
            command, cwd=ROOT, env={**os.environ, **environment}, stdout=sink, stderr=sink, start_new_session=True
        )
        try:
            _wait_for(port, process)
            yield process.pid
        finally:
            os.killpg(process.pid, signal.SIGTERM)
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()


def _wait_for(port: int, process: subprocess.Popen[bytes]) -> None:
    end = time.monotonic() + 120
    while time.monotonic() < end:
        if process.poll() is not None:
            raise RuntimeError(f"{process.args!r} ended with {process.returncode}; see .venvs/bench.log")
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.05)
    raise RuntimeError(f"{process.args!r} does not listen on {port}")


def cold_start(command: Sequence[str], environment: Mapping[str, str]) -> tuple[float, float]:
    """Seconds from starting a stdio server to its answer to `initialize`: (CPU of the process, wall)."""
    started = time.perf_counter()
    process = subprocess.Popen(
        command,
        cwd=ROOT,
        env={**os.environ, **environment},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
        encoding="utf-8",
    )
    try:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(INITIALIZE)
        process.stdin.flush()
        answer = json.loads(process.stdout.readline())
        wall = time.perf_counter() - started
        if "result" not in answer:
            raise RuntimeError(f"{command!r} refused to initialize: {answer}")
        return cpu_seconds(process.pid), wall
    finally:
        os.killpg(process.pid, signal.SIGTERM)
        process.communicate(timeout=20)


PYTHON = sys.executable
