"""What a client sees of an instance whose catalog is large: a process, a pipe, and what the kernel says of it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from benchmarks.calls.processes import INITIALIZE, PYTHON, cpu_seconds, resident_mb
from benchmarks.report import ROOT

ANYACT = str(Path(PYTHON).with_name("anyact"))
INITIALIZED = json.dumps({"jsonrpc": "2.0", "method": "notifications/initialized"}) + "\n"


class Pipe:
    """A stdio server and its conversation with one client."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self.process = process
        self._next = 1

    def send(self, line: str) -> None:
        """Send one line."""
        assert self.process.stdin is not None
        self.process.stdin.write(line)
        self.process.stdin.flush()

    def answer(self, number: int) -> dict[str, Any]:
        """The result of the request with this number. Raises RuntimeError when there is none."""
        assert self.process.stdout is not None
        for line in self.process.stdout:
            message = json.loads(line)
            if message.get("id") == number and "method" not in message:
                if "error" in message:
                    raise RuntimeError(f"request {number} failed: {message['error']}")
                return dict(message["result"])
        raise RuntimeError(f"{self.process.args!r} ended")

    def ask(self, method: str, params: Mapping[str, Any]) -> dict[str, Any]:
        """Send a request; its result."""
        self._next += 1
        self.send(json.dumps({"jsonrpc": "2.0", "id": self._next, "method": method, "params": params}) + "\n")
        return self.answer(self._next)

    def call(self, tool: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """Call a tool; its result."""
        return self.ask("tools/call", {"name": tool, "arguments": arguments})


@contextmanager
def started(command: Sequence[str]) -> Iterator[Pipe]:
    """A stdio server, ended with the block."""
    process = subprocess.Popen(
        command,
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
        encoding="utf-8",
    )
    try:
        yield Pipe(process)
    finally:
        os.killpg(process.pid, signal.SIGTERM)
        process.communicate(timeout=30)


def serve(home: Path, config: Path) -> list[str]:
    """The command that serves a home over stdio."""
    return [ANYACT, "serve", "--stdio", "--home", str(home), "--config", str(config)]


def restart(home: Path, config: Path) -> dict[str, float]:
    """Start, greet and search at once: seconds until each is answered, and the memory after some searches."""
    begun = time.perf_counter()
    with started(serve(home, config)) as pipe:
        pid = pipe.process.pid
        pipe.send(INITIALIZE)
        pipe.answer(1)
        greeted, greeted_cpu = time.perf_counter() - begun, cpu_seconds(pid)
        pipe.send(INITIALIZED)
        found = pipe.call("search_actions", {"intents": ["send a message to a colleague"]})
        searched, searched_cpu = time.perf_counter() - begun, cpu_seconds(pid)
        if found.get("isError") or not found["structuredContent"]["actions"]:
            raise RuntimeError(f"the first search found nothing: {found}")
        for at in range(20):
            pipe.call("search_actions", {"intents": [f"convert document number {at} into a picture"]})
        return {
            "initialize_s": round(greeted, 2),
            "initialize_cpu_s": round(greeted_cpu, 2),
            "first_search_s": round(searched, 2),
            "first_search_cpu_s": round(searched_cpu, 2),
            "resident_mb": round(resident_mb(pid)),
        }
