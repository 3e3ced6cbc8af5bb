"""What the tests of the command line share: running it in this process or in another, and clients of `serve`."""

from __future__ import annotations

import contextlib
import io
import json
import os
import queue
import re
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from anyact_server.cli import main

ROOT = Path(__file__).resolve().parents[2]
PATIENCE_S = 25.0
"""How long anything may take before a test fails; machines that run tests are often busy."""


@dataclass(frozen=True)
class Ended:
    """How a command ended."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """The one document on stdout."""
        return json.loads(self.out)


def plain_entry(*words: str, **more: Any) -> dict[str, Any]:
    """The fixture server as an entry of a configuration."""
    args = ["-m", "tests.servers.plain", "--stdio", *words]
    return {"command": sys.executable, "args": args, "cwd": str(ROOT), **more}


def script_entry(code: str, **more: Any) -> dict[str, Any]:
    """A server that is a few lines of Python."""
    return {"command": sys.executable, "args": ["-c", code], **more}


class Shell:
    """The command line in this process, on a home and in a user's folder of its own."""

    def __init__(self, home: Path, user: Path) -> None:
        self.home = home
        self.user = user
        self.config = home / "config.json"

    def configure(self, **servers: Mapping[str, Any]) -> Path:
        """Write the home's own configuration."""
        self.home.mkdir(exist_ok=True)
        self.config.write_text(json.dumps({"mcpServers": servers}), encoding="utf-8")
        return self.config

    def servers(self) -> dict[str, Any]:
        """The servers of the home's own configuration."""
        found: dict[str, Any] = json.loads(self.config.read_text(encoding="utf-8"))["mcpServers"]
        return found

    def __call__(self, *words: str, stdin: str = "") -> Ended:
        """Run a command to its end."""
        out, err, before = io.StringIO(), io.StringIO(), sys.stdin
        sys.stdin = io.TextIOWrapper(io.BytesIO(stdin.encode()), encoding="utf-8")
        try:
            with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
                main(words)
        except SystemExit as end:
            return Ended(int(end.code or 0), out.getvalue(), err.getvalue())
        finally:
            sys.stdin = before
        raise AssertionError("a command always ends with an exit code")

    @contextlib.contextmanager
    def start(self, *words: str) -> Iterator[subprocess.Popen[str]]:
        """Run a command in a process of its own, its pipes open; what is left of it in the end is killed."""
        with subprocess.Popen(
            [sys.executable, "-m", "anyact_server", *words],
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            encoding="utf-8",
        ) as process:
            try:
                yield process
            finally:
                if process.poll() is None:
                    process.kill()


@contextlib.contextmanager
def http_server() -> Iterator[str]:
    """The fixture server over HTTP in a process of its own; its URL."""
    words = [sys.executable, "-m", "tests.servers.plain", "--http", "0"]
    with subprocess.Popen(words, cwd=ROOT, stderr=subprocess.PIPE, encoding="utf-8") as process:
        assert process.stderr is not None
        first = process.stderr.readline()
        try:
            yield f"http://127.0.0.1:{first.split()[-1]}/mcp"
        finally:
            process.terminate()


def until(done: Callable[[], bool], what: str, seconds: float = PATIENCE_S) -> None:
    """Wait until something holds that another process brings about."""
    end = time.monotonic() + seconds
    while not done():
        assert time.monotonic() < end, f"not within {seconds:.0f} s: {what}"
        threading.Event().wait(0.02)


def alive(pid: int) -> bool:
    """Whether a process runs: a dead one that nobody has asked after yet does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


class Pipe:
    """An old-era client at the pipe of a running `serve --stdio`."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self.process = process
        self._lines: queue.Queue[dict[str, Any] | None] = queue.Queue()
        self._number = 0
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self._lines.put(json.loads(line))
        self._lines.put(None)

    def send(self, method: str, params: Mapping[str, Any] | None = None, *, notify: bool = False) -> int:
        """Send a request or a notification; the id."""
        self._number += 1
        message: dict[str, Any] = {"jsonrpc": "2.0", "method": method}
        if params is not None:
            message["params"] = params
        if not notify:
            message["id"] = self._number
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps(message) + "\n")
        self.process.stdin.flush()
        return self._number

    def answer(self, number: int) -> dict[str, Any]:
        """The answer to a request."""
        while True:
            message = self._lines.get(timeout=PATIENCE_S)
            assert message is not None, f"the pipe ended: {self.end()}"
            if message.get("id") == number and "method" not in message:
                return message

    def ask(self, method: str, params: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """Send a request and wait for its answer."""
        return self.answer(self.send(method, params))

    def greet(self) -> dict[str, Any]:
        """The old era's handshake."""
        about = {"name": "tests", "version": "1"}
        found = self.ask("initialize", {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": about})
        self.send("notifications/initialized", notify=True)
        result: dict[str, Any] = found["result"]
        return result

    def call(self, tool: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """Call a tool; its result."""
        found = self.ask("tools/call", {"name": tool, "arguments": arguments})
        assert "result" in found, found
        result: dict[str, Any] = found["result"]
        return result

    def server(self) -> int:
        """The process of the fixture server behind AnyAct."""
        text = self.call("call_action", {"action": "plain__about", "arguments": {}})["content"][0]["text"]
        found = re.search(r"pid\W+(\d+)", text)
        assert found is not None, text
        return int(found[1])

    def leave(self) -> int:
        """Close our end and wait for the process."""
        assert self.process.stdin is not None
        with contextlib.suppress(OSError):
            self.process.stdin.close()
        return self.process.wait(PATIENCE_S)

    def end(self) -> str:
        """What the process wrote to stderr in the end."""
        assert self.process.stderr is not None
        return self.process.stderr.read()


@contextlib.contextmanager
def pipe(shell: Shell, *words: str) -> Iterator[Pipe]:
    """A client at its own `serve --stdio` on the shell's home."""
    with shell.start("serve", "--stdio", *words) as process:
        client = Pipe(process)
        yield client
        if process.poll() is None:
            client.leave()


def run_words(words: Sequence[str], **more: Any) -> subprocess.CompletedProcess[str]:
    """Run the command in a process of its own to its end."""
    return subprocess.run(
        [sys.executable, "-m", "anyact_server", *words],
        cwd=ROOT,
        capture_output=True,
        encoding="utf-8",
        timeout=PATIENCE_S,
        check=False,
        env={**os.environ},
        **more,
    )
