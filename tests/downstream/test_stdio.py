"""Child processes: started exactly as configured, read whatever they print, stopped with all that they started."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import anyio
import pytest

from anyact_server.downstream import SILENT
from anyact_server.downstream.stdio import Lines, odd_arguments
from anyact_server.errors import DownstreamError, RemoteError
from anyact_server.telemetry import MASK
from anyact_server.types import Kind, ServerSpec, ServerState

from .kit import RAW, Recorder, limits, raw, world

pytestmark = pytest.mark.anyio


def alive(pid: int) -> bool:
    """Whether a process runs; zombies do not."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8")
    except OSError:
        return False
    return stat.rpartition(")")[2].split()[0] != "Z"


def zombies() -> list[str]:
    """The zombie children of this process."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                fields = (entry / "stat").read_text(encoding="utf-8").rpartition(")")[2].split()
            except OSError:
                continue
            if fields[0] == "Z" and int(fields[1]) == os.getpid():
                found.append(entry.name)
    return found


def test_lines_are_cut_at_newlines_across_chunks() -> None:
    """A line may come in pieces, several may come at once."""
    lines = Lines(100)
    assert lines.feed(b"one\ntw") == [b"one"]
    assert lines.feed(b"o\nthree\n\nrest") == [b"two", b"three", b""]
    assert lines.rest() == b"rest"


def test_an_overlong_line_is_named_once_and_dropped_up_to_its_newline() -> None:
    """Memory stays bounded, and the line after it is read."""
    lines = Lines(4)
    assert lines.feed(b"123456") == []
    assert lines.overlong == b"123456"
    lines.overlong = None
    assert lines.feed(b"7890" * 3) == []
    assert (lines.overlong, lines.rest(), lines.endless) == (None, b"", True)
    assert lines.feed(b"\nok\n") == [b"ok"]
    assert not lines.endless


def test_control_characters_in_arguments_draw_a_warning() -> None:
    """A tab is what becomes of a backslash and a t that was written once."""
    assert odd_arguments(["fine", "c:\temp"]) == [
        "argument 2 holds a control character; in JSON a backslash in a path is written twice"
    ]


@pytest.mark.case("C3")
async def test_the_arguments_arrive_exactly_as_configured(tmp_path: Path) -> None:
    """No shell, no splitting: blanks, quotes, backslashes, tabs, empty strings; a folder with a blank in its name."""
    args = ("a b", "", '"q"', "'s'", ";", "$(x)", "`y`", "c:\\temp", "t\tab", "*", "--", "ünï")
    folder = tmp_path / "with blank"
    folder.mkdir()
    script = folder / "run me"
    script.symlink_to(sys.executable)
    spec = ServerSpec("raw", "stdio", command=str(script), args=(RAW, *args), cwd=str(folder))
    async with world(spec) as w:
        facts = await w.data("raw", "surroundings")
        assert facts["argv"] == [RAW, *args]
        assert facts["cwd"] == str(folder)
        assert any("argument 10" in warning for warning in w.pool.status("raw").warnings)


async def test_the_environment_is_a_small_base_and_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    """Secrets in the environment of AnyAct never reach a server that was not given them."""
    monkeypatch.setenv("SOME_SECRET", "not for servers")
    async with world(raw(env={"OWN": "yes", "HOME": "/elsewhere"})) as w:
        env = (await w.data("raw", "surroundings"))["env"]
    assert "SOME_SECRET" not in env
    assert env["OWN"] == "yes" and env["HOME"] == "/elsewhere" and env["PATH"] == os.environ["PATH"]


@pytest.mark.case("P1")
async def test_chatter_is_skipped_with_one_warning() -> None:
    """Banners, colours, blank lines and log lines cost nothing but one warning with the first bad line."""
    async with world(raw("--banner")) as w:
        assert await w.text("raw", "chatter") == "heard"
        assert await w.text("raw", "chatter") == "heard"
        warnings = w.pool.status("raw").warnings
        assert len(warnings) == 1 and "Welcome to raw!" in warnings[0]


@pytest.mark.case("P1")
async def test_a_frame_lost_to_gluing_ends_in_an_error() -> None:
    """The half answer fails its own call within a moment; the whole one glued to it arrives."""
    async with world(raw()) as w, anyio.create_task_group() as group:
        lost: list[DownstreamError] = []
        held = Recorder()

        async def lose() -> None:
            try:
                await w.call("raw", "hold", caller=held, count=9, label="x")
            except DownstreamError as error:
                lost.append(error)

        await w.pool.take_snapshot("raw")
        group.start_soon(lose)
        while not lost:
            await anyio.lowlevel.checkpoint()
            if (await w.data("raw", "seen"))["methods"].count("tools/call") > 1:
                break
        assert await w.text("raw", "glued") == "whole"
        with anyio.fail_after(5):
            while not lost:
                await w.text("raw", "echo")
        assert lost[0].kind is Kind.PROTOCOL and "damaged" in lost[0].message


@pytest.mark.case("P1")
async def test_a_log_of_an_answer_does_not_spoil_the_answer() -> None:
    """A cut copy of a frame in a log line looks like damage; the whole frame still wins."""
    async with world(raw()) as w:
        assert await w.text("raw", "logged") == "whole"
        assert await w.text("raw", "prefixed") == "whole"


@pytest.mark.case("P3")
async def test_a_missing_command_says_so_with_the_cure() -> None:
    """The message names server and command, within two seconds."""
    async with world(ServerSpec("gone", "stdio", command="no-such-command-here")) as w:
        with anyio.fail_after(2), pytest.raises(DownstreamError) as caught:
            await w.pool.take_snapshot("gone")
        assert "'gone'" in caught.value.message and "'no-such-command-here' was not found" in caught.value.message
        assert caught.value.hint is not None and "Install it" in caught.value.hint
        assert not caught.value.may_have_run
        status = w.pool.status("gone")
        assert status.state is ServerState.FAILED and status.next_try is not None


@pytest.mark.parametrize(
    ("spec", "words"),
    [
        (ServerSpec("x", "stdio", command=sys.executable, cwd="/no/such/folder"), "working folder"),
        (ServerSpec("x", "stdio", command=RAW), "may not be executed"),
        (ServerSpec("x", "stdio", command=sys.executable, args=("a\0b",)), "cannot be executed"),
    ],
)
async def test_what_keeps_a_command_from_starting_is_named(spec: ServerSpec, words: str) -> None:
    """A missing folder, a file without the right to run, a zero byte: each has its own words."""
    async with world(spec) as w:
        with pytest.raises(DownstreamError, match=words):
            await w.pool.take_snapshot("x")


@pytest.mark.case("P3")
async def test_an_exit_before_the_handshake_shows_code_and_last_words() -> None:
    """The last lines on stderr are in the message, secrets masked."""
    MASK.protect(["hunter2-secret"])
    async with world(raw("--exit", "1", "--say", "API_KEY hunter2-secret is not valid")) as w:
        with anyio.fail_after(5), pytest.raises(DownstreamError) as caught:
            await w.pool.take_snapshot("raw")
    message = caught.value.message
    assert "exit code 1" in message and "API_KEY *** is not valid" in message and "'raw'" in message
    assert caught.value.kind is Kind.CRASHED


@pytest.mark.case("P3")
async def test_a_silent_exit_is_a_failure_too() -> None:
    """A server that leaves with 0 and without a word has failed."""
    async with world(raw("--exit", "0")) as w:
        with anyio.fail_after(5), pytest.raises(DownstreamError, match="exit code 0; it printed nothing on stderr"):
            await w.pool.take_snapshot("raw")


@pytest.mark.case("L1")
async def test_a_death_in_mid_call_ends_the_call_at_once() -> None:
    """Within two seconds the caller has an error with the server's name, and the next call works."""
    async with world(raw()) as w:
        await w.pool.take_snapshot("raw")
        with anyio.fail_after(2), pytest.raises(DownstreamError) as caught:
            await w.call("raw", "die", last_words="out of memory")
        assert caught.value.kind is Kind.CRASHED and caught.value.may_have_run
        assert "'raw'" in caught.value.message and "out of memory" in caught.value.message
        assert w.pool.status("raw").state is ServerState.DOWN
        assert await w.text("raw", "echo", a=1) == '{"a": 1}'
        assert w.pool.status("raw").state is ServerState.READY
        assert w.pool.status("raw").restarts == 1


@pytest.mark.case("L1")
async def test_a_server_that_closes_its_output_is_gone() -> None:
    """It lives on, but it will never answer: the call ends within two seconds, the process is stopped."""
    async with world(raw()) as w:
        pid = (await w.data("raw", "seen"))["pid"]
        with anyio.fail_after(2), pytest.raises(DownstreamError, match="closed its output"):
            await w.call("raw", "close-stdout")
        assert await w.text("raw", "echo") == "{}"
        assert (await w.data("raw", "seen"))["pid"] != pid


@pytest.mark.case("L2")
@pytest.mark.parametrize("stubborn", [(), ("--stubborn",)])
async def test_stopping_takes_the_whole_family_with_it(tmp_path: Path, stubborn: tuple[str, ...]) -> None:
    """A wrapper, a child that ignores SIGTERM and one in a session of its own are gone within five seconds."""
    note = tmp_path / "pids"
    async with world(raw("--family", str(note), *stubborn)) as w:
        await w.pool.take_snapshot("raw")
        pids = json.loads(note.read_text(encoding="utf-8"))
        assert len(pids) == 3 and all(alive(pid) for pid in pids)
        with anyio.fail_after(5):
            await w.pool.stop("raw")
        assert not any(alive(pid) for pid in pids)
        assert zombies() == []
        assert w.pool.status("raw").state is ServerState.IDLE


@pytest.mark.case("L2")
async def test_a_cancelled_pool_stops_its_servers_in_order(tmp_path: Path) -> None:
    """As at Ctrl-C: the scope around the pool is cancelled, and still nothing stays behind."""
    note = tmp_path / "pids"
    with anyio.CancelScope() as scope:
        async with world(raw("--family", str(note))) as w:
            await w.pool.take_snapshot("raw")
            scope.cancel()
            await anyio.sleep_forever()
    assert not any(alive(pid) for pid in json.loads(note.read_text(encoding="utf-8")))
    assert zombies() == []


@pytest.mark.case("L2")
async def test_a_wrapper_that_dies_does_not_leave_its_children(tmp_path: Path) -> None:
    """When the first process ends by itself, what it started is stopped too."""
    note = tmp_path / "pids"
    async with world(raw("--family", str(note))) as w:
        await w.pool.take_snapshot("raw")
        pids = json.loads(note.read_text(encoding="utf-8"))
        with pytest.raises(DownstreamError):
            await w.call("raw", "die")
        await w.pool.stop("raw")
        assert not any(alive(pid) for pid in pids)


@pytest.mark.case("E1")
async def test_bad_bytes_and_odd_letters_do_not_stop_the_stream() -> None:
    """A byte that is no UTF-8, a letter cut in two, a lone surrogate, CRLF and U+2028 all complete their calls."""
    async with world(raw(env={"LC_ALL": "C"})) as w:
        assert await w.text("raw", "bad-byte") == "half \ufffd"
        assert (await w.call("raw", "split-letter"))["text"] == "😀"
        result = await w.call("raw", "surrogate")
        assert result["text"] == "\ufffd!" and result["line"] == "a\u2028b"
        echoed = await w.data("raw", "echo", half="\ud83d!", whole="😀", number=2**70)
        assert echoed["half"] == "\ufffd!" and echoed["whole"] == "😀" and echoed["number"] == 2**70


@pytest.mark.case("E2")
@pytest.mark.parametrize("size", [65_535, 65_536, 65_537, 5_000_000, 60_000_000])
async def test_long_lines_arrive_whole(size: int) -> None:
    """No buffer has a say in how long an answer may be."""
    async with world(raw()) as w:
        result = await w.call("raw", "size", bytes=size)
        assert size - 50 < len(result["text"]) < size


@pytest.mark.case("E2")
async def test_a_line_over_the_limit_fails_its_call_alone() -> None:
    """The limit is named; the stream is in step again after the newline, in the same process."""
    async with world(raw(), line_bytes=100_000) as w:
        pid = (await w.data("raw", "seen"))["pid"]
        with anyio.fail_after(5), pytest.raises(DownstreamError, match="longer than 100000 bytes") as caught:
            await w.call("raw", "size", bytes=150_000)
        assert caught.value.kind is Kind.PROTOCOL
        assert (await w.data("raw", "seen"))["pid"] == pid


@pytest.mark.case("E2")
async def test_a_line_without_end_ends_the_connection() -> None:
    """Memory does not grow, and the caller gets an error."""
    async with world(raw(), line_bytes=100_000) as w:
        await w.pool.take_snapshot("raw")
        with anyio.fail_after(5), pytest.raises(DownstreamError, match=r"longer than|without end"):
            await w.call("raw", "endless")
        await w.until_state("raw", ServerState.DOWN)
        assert await w.text("raw", "echo") == "{}"


async def test_arguments_nested_beyond_measure_are_refused_before_sending() -> None:
    """What cannot be written as JSON is the caller's matter; the server is not bothered, the connection lives on."""
    deep: list[object] = []
    for _ in range(100_000):
        deep = [deep]
    async with world(raw()) as w:
        with pytest.raises(RemoteError, match="no JSON"):
            await w.call("raw", "echo", deep=deep)
        with pytest.raises(RemoteError, match="no JSON"):
            await w.call("raw", "echo", thing=object())
        assert await w.text("raw", "echo") == "{}"
        # taking the list apart by hand: its own destructor would recurse too deeply
        while deep:
            deep = deep.pop()  # type: ignore[assignment]  # nested lists


@pytest.mark.case("P2")
async def test_a_slow_start_is_waited_for_apart_from_the_call() -> None:
    """A server that is silent for longer than the call limit is usable once it has started, without a restart."""
    async with world(raw("--delay", "1.0", limits=limits(call_s=0.5, start_s=20))) as w, anyio.create_task_group() as g:
        g.start_soon(w.pool.take_snapshot, "raw")
        await w.until_state("raw", ServerState.STARTING)
        assert await w.text("raw", "echo") == "{}"
        assert w.pool.status("raw").restarts == 0


@pytest.mark.case("P2")
async def test_a_server_that_never_answers_fails_at_its_start_limit() -> None:
    """The limit is named, and so is the next try."""
    async with world(raw("--hang", limits=limits(start_s=0.7))) as w:
        with anyio.fail_after(5), pytest.raises(DownstreamError, match=r"0\.7 s \(start limit\)") as caught:
            await w.pool.request("raw", "tools/list", {}, caller=SILENT)
        assert caught.value.kind is Kind.TIMEOUT and not caught.value.may_have_run
        status = w.pool.status("raw")
        assert status.state is ServerState.FAILED and status.next_try is not None
        with anyio.fail_after(0.5), pytest.raises(DownstreamError, match="next try in") as refused:
            await w.call("raw", "echo")
        assert refused.value.retry_after_s is not None
