"""Servers that are child processes: one JSON-RPC frame a line on stdin and stdout, everything else on stderr.

The argument vector is executed exactly as configured, never through a shell, in a process group of its own, so that
stopping it stops everything that it started.
"""

from __future__ import annotations

import errno
import os
import secrets
from collections import deque
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

import anyio
from anyio.abc import ByteReceiveStream, Process

from anyact_server.errors import DownstreamError
from anyact_server.telemetry import MASK, logger
from anyact_server.types import JsonObject, Kind, ServerSpec

from . import frames, platform
from .wire import Sink, Unreachable

LOG = logger("downstream")
STDIN_GRACE_S = 1.5
TERM_GRACE_S = 1.0
KILL_GRACE_S = 1.0
"""How long a server may take to end after its stdin was closed, after SIGTERM, and after SIGKILL."""
MARK = "ANYACT_FAMILY"
"""Variable in the environment of a server and of all that it starts, by which strays are found when it is stopped."""
EXIT_GRACE_S = 0.3
"""How long the end of the output waits for the exit code, and the exit for the rest of the output."""
KEPT_STDERR_LINES = 40
SHOWN_STDERR_LINES = 5
OVERLONG_HEAD = 4096
OVERLONG_FACTOR = 4
"""A line that never ends is read on for so many times its limit before the connection is given up."""
POLL_S = 0.03


class Lines:
    """Cuts a byte stream into lines of at most `limit` bytes.

    A longer line is not kept: `overlong` gives its beginning once, and the rest is dropped up to its newline.
    """

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._parts: list[bytes] = []
        self._size = 0
        self._skipping = False
        self.overlong: bytes | None = None

    @property
    def endless(self) -> bool:
        """Whether the present line went so far over its limit that its end is not worth waiting for."""
        return self._skipping and self._size > self._limit * OVERLONG_FACTOR

    def feed(self, chunk: bytes) -> list[bytes]:
        """The lines that the chunk completes, without their newlines."""
        *whole, rest = chunk.split(b"\n")
        lines = [line for line in (self._finish(part) for part in whole) if line is not None]
        self._keep(rest)
        return lines

    def rest(self) -> bytes:
        """What came after the last newline."""
        return b"" if self._skipping else b"".join(self._parts)

    def _finish(self, part: bytes) -> bytes | None:
        self._keep(part)
        line = None if self._skipping else b"".join(self._parts)
        self._parts, self._size, self._skipping = [], 0, False
        return line

    def _keep(self, part: bytes) -> None:
        self._size += len(part)
        if self._skipping:
            return
        self._parts.append(part)
        if self._size > self._limit:
            self.overlong = b"".join(self._parts)[:OVERLONG_HEAD]
            self._parts, self._skipping = [], True


def odd_arguments(args: Sequence[str]) -> list[str]:
    """Warnings about arguments that hold control characters."""
    return [
        f"argument {number} holds a control character; in JSON a backslash in a path is written twice"
        for number, arg in enumerate(args, 1)
        if any(ord(letter) < 32 for letter in arg)
    ]


class StdioWire:
    """The wire to a child process."""

    by_http = False

    def __init__(self, spec: ServerSpec, *, line_bytes: int) -> None:
        self._spec = spec
        self._line_bytes = line_bytes
        self._process: Process | None = None
        self._stderr: deque[str] = deque(maxlen=KEPT_STDERR_LINES)
        self._noisy = False
        self._closed = False
        self._mark = secrets.token_hex(16).encode()

    @property
    def pid(self) -> int | None:
        return self._process.pid if self._process else None

    @asynccontextmanager
    async def connected(self, sink: Sink) -> AsyncIterator[None]:
        for warning in odd_arguments(self._spec.args):
            sink.warn(warning)
        process = await self._start()
        self._process = process
        async with anyio.create_task_group() as group:
            group.start_soon(self._read_stderr)
            group.start_soon(self._read_stdout, sink)
            group.start_soon(self._watch, sink)
            try:
                yield
            finally:
                await self._stop(process)
                group.cancel_scope.cancel()

    async def send(self, frame: JsonObject, headers: Mapping[str, str]) -> None:
        process = self._process
        if process is None or process.stdin is None or self._closed:
            raise Unreachable(f"server {self._spec.name!r} is not running", server=self._spec.name)
        try:
            # A write is buffered as a whole before anything can cancel it, so lines of two callers never mix.
            await process.stdin.send(frames.write(frame) + b"\n")
        except (anyio.BrokenResourceError, anyio.ClosedResourceError):
            raise self._ended("does not read its input any more") from None

    def withdraw(self, request: frames.RequestId) -> bool:
        return False

    def established(self, version: str, *, modern: bool) -> None:
        return None

    async def _start(self) -> Process:
        spec = self._spec
        env = platform.environment(os.environ, {**spec.env, MARK: self._mark.decode()})
        session, flags = platform.new_group()
        try:
            with anyio.CancelScope(shield=True):  # a start that is cancelled half way would leave a process behind
                process = await anyio.open_process(
                    platform.command_line(spec.command or "", spec.args, env.get("PATH")),
                    env=env,
                    cwd=spec.cwd,
                    start_new_session=session,
                    creationflags=flags,
                )
        except (OSError, ValueError) as error:
            raise _unstartable(spec, error) from error
        return process

    async def _read_stdout(self, sink: Sink) -> None:
        assert self._process is not None and self._process.stdout is not None
        lines = Lines(self._line_bytes)
        async for chunk in _chunks(self._process.stdout):
            for line in lines.feed(chunk):
                self._deliver(line, sink)
            if lines.overlong is not None:
                self._report_overlong(lines.overlong, sink)
                lines.overlong = None
            if lines.endless:
                break
        else:
            self._deliver(lines.rest(), sink)
            with anyio.move_on_after(EXIT_GRACE_S):
                await self._process.wait()
        if not self._closed:
            self._closed = True
            sink.close(self._ended("sends a line without end" if lines.endless else "closed its output"))

    async def _watch(self, sink: Sink) -> None:
        """A process can end while something that it started holds its output open."""
        assert self._process is not None
        await self._process.wait()
        await anyio.sleep(EXIT_GRACE_S)
        if not self._closed:
            self._closed = True
            sink.close(self._ended("ended"))

    async def _read_stderr(self) -> None:
        assert self._process is not None and self._process.stderr is not None
        lines = Lines(OVERLONG_HEAD)
        async for chunk in _chunks(self._process.stderr):
            for line in lines.feed(chunk):
                self._keep_stderr(line)
            if lines.overlong is not None:
                self._keep_stderr(lines.overlong)
                lines.overlong = None
        self._keep_stderr(lines.rest())

    def _keep_stderr(self, line: bytes) -> None:
        text = frames.shorten(MASK.mask(line.decode("utf-8", "replace")))
        if text:
            self._stderr.append(text)
            LOG.debug("%s: %s", self._spec.name, text)

    def _deliver(self, line: bytes, sink: Sink) -> None:
        reading = frames.read_line(line)
        if reading.noise is not None and not self._noisy:
            self._noisy = True
            shown = frames.shorten(MASK.mask(reading.noise))
            sink.warn(f"prints other things than JSON-RPC on its standard output, first: {shown}")
        for frame in reading.frames:
            sink.receive(frame)
        for ident in reading.damaged:
            sink.damaged(ident, "its answer was damaged by other output")

    def _report_overlong(self, head: bytes, sink: Sink) -> None:
        reason = f"it sent a line longer than {self._line_bytes} bytes (setting `line_bytes`)"
        found = frames.ANSWER_ID.search(head.decode("utf-8", "replace"))
        sink.damaged(int(found.group(1)) if found else None, reason)
        sink.warn(reason)

    def _ended(self, how: str) -> DownstreamError:
        assert self._process is not None
        code = self._process.returncode
        exit_words = f"ended with exit code {code}" if code is not None else how
        last = list(self._stderr)[-SHOWN_STDERR_LINES:]
        words = f"; last lines on stderr: {' | '.join(last)}" if last else "; it printed nothing on stderr"
        command = frames.shorten(MASK.mask(Path(self._spec.command or "").name))
        return DownstreamError(
            f"server {self._spec.name!r} ({command}) {exit_words}{words}",
            server=self._spec.name,
            kind=Kind.CRASHED,
            hint="Run its command in a terminal to see why." if code else None,
        )

    async def _stop(self, process: Process) -> None:
        """Close stdin, then SIGTERM, then SIGKILL, to the whole family, until nothing of it is left."""
        self._closed = True
        with anyio.CancelScope(shield=True):
            known = platform.family(process.pid, mark=self._mark)
            if process.stdin is not None:
                await process.stdin.aclose()
            known = await _gone(process, known, STDIN_GRACE_S)
            for kill, grace in ((False, TERM_GRACE_S), (True, KILL_GRACE_S)):
                if known or process.returncode is None:
                    known = platform.family(process.pid, known, self._mark)
                    platform.tell(process.pid, known, kill=kill)
                    known = await _gone(process, known, grace)
            if process.returncode is not None:
                await process.aclose()


async def _chunks(stream: ByteReceiveStream) -> AsyncIterator[bytes]:
    """The chunks of a stream until its end, however it ends."""
    while True:
        try:
            yield await stream.receive()
        except (anyio.EndOfStream, anyio.ClosedResourceError, anyio.BrokenResourceError):
            return


async def _gone(process: Process, known: frozenset[int], seconds: float) -> frozenset[int]:
    """Wait until the process and everything of its family has ended; gives what is still there after `seconds`."""
    left = known
    deadline = anyio.current_time() + seconds
    while anyio.current_time() < deadline:
        left = platform.family(process.pid, left)
        if not left and process.returncode is not None:
            break
        await anyio.sleep(POLL_S)  # there is no event for the end of a grandchild
    platform.reap(known, process.pid)
    return left


def _unstartable(spec: ServerSpec, error: OSError | ValueError) -> Unreachable:
    """What keeps a command from being started, and the cure."""
    command = MASK.mask(spec.command or "")
    if isinstance(error, ValueError):
        text, hint = f"its command cannot be executed: {error}", "Remove the zero byte from command, args or env."
    elif spec.cwd is not None and not Path(spec.cwd).is_dir():
        text, hint = f"its working folder {spec.cwd!r} does not exist", "Create the folder, or change `cwd`."
    elif isinstance(error, FileNotFoundError):
        text = f"command {command!r} was not found"
        hint = "Install it, or write the full path of the command; PATH is that of AnyAct, not that of your shell."
    elif isinstance(error, PermissionError):
        text, hint = f"command {command!r} may not be executed", "Make the file executable."
    elif error.errno == errno.ENOEXEC:
        text, hint = f"command {command!r} is no program", "Give its interpreter as the command and the file in `args`."
    else:
        text, hint = f"command {command!r} could not be started: {error.strerror or error}", None
    return Unreachable(f"server {spec.name!r}: {text}", server=spec.name, kind=Kind.CRASHED, hint=hint)
