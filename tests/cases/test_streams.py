"""Servers that are slow, noisy, dying or stuck, over the whole product."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

import anyio
import pytest

from tests.servers.plain import listening
from tests.servers.raw_http import RawHttp, hang_up, sockets

from .limits import PATIENCE_S, lasting, within
from .product import (
    ROOT,
    Answer,
    Face,
    Route,
    calls,
    configure,
    listed,
    over_stdio,
    plain,
    product,
    raw,
    script,
    tool,
    web,
)

pytestmark = pytest.mark.anyio
Mode = Literal["legacy", "auto"]


async def together(face: Face, requests: Sequence[tuple[str, Any]]) -> list[Answer]:
    """The answers of calls that are made at once, in the order of the calls."""
    answers: dict[int, Answer] = {}

    async def one(place: int, action: str, arguments: Any) -> None:
        answers[place] = await face.call(action, arguments)

    with anyio.fail_after(PATIENCE_S):
        async with anyio.create_task_group() as group:
            for place, (action, arguments) in enumerate(requests):
                group.start_soon(one, place, action, arguments)
    return [answers[place] for place in range(len(requests))]


# --- I: many at once


@pytest.mark.case("I1")
@pytest.mark.parametrize("route", ["http-legacy", "http-modern", "rest"])
async def test_twenty_calls_on_one_pipe_are_answered_in_any_order_each_with_its_own(
    route: Route, tmp_path: Path
) -> None:
    """The server answers none before it has all, then in reverse; another server answers meanwhile."""
    async with (
        product(tmp_path, {"raw": raw(), "other": raw()}) as running,
        running.face(route) as face,
        running.face("rest") as second,
        anyio.create_task_group() as group,
    ):
        held: list[Answer] = []

        async def hold() -> None:
            held.extend(await together(face, [("raw__hold", {"count": 20, "label": f"l{n}"}) for n in range(19)]))

        group.start_soon(hold)
        assert (await second.call("other__echo", {"n": 1})).value == {"n": 1}
        assert not held
        assert (await second.call("raw__hold", {"count": 20, "label": "last"})).text.count("last") >= 1
        with anyio.fail_after(PATIENCE_S):
            while len(held) < 19:
                await anyio.lowlevel.checkpoint()
        assert all(f"l{n}" in answer.text.split() or f"l{n}" in answer.text for n, answer in enumerate(held))


@pytest.mark.case("I1")
async def test_a_server_that_takes_one_call_at_a_time_holds_up_nobody_else(tmp_path: Path) -> None:
    """Its calls are queued, those of others are answered at once, also inside one run."""
    servers = {"one": plain(serial=True), "other": raw()}
    async with product(tmp_path, servers, call_s=lasting(60)) as running, running.mcp() as mcp:
        tasks = [{"id": f"s{n}", "action": "one__slow", "arguments": {"seconds": lasting(4)}} for n in range(3)]
        tasks.append({"id": "free", "action": "other__echo", "arguments": {}})
        async with running.rest() as rest:
            report = (await rest.http.post("/v1/runs", json={"tasks": tasks})).json()["tasks"]
        assert [task["state"] for task in report] == [report[0]["state"]] * 4
        spans = sorted((task["started_s"], task["ended_s"]) for task in report[:3])
        assert report[3]["ended_s"] <= max(end for _, end in spans)
        assert max(end for _, end in spans) - min(start for start, _ in spans) >= 3 * lasting(4) * 0.9
        assert not (await mcp.call("one__echo", {"text": "x"})).is_error


EIGHT = [
    ("good__echo", {"text": "1"}),
    ("good__fail", {"text": "no"}),
    ("good__echo", {"text": "2"}),
    ("stuck__never", {}),
    ("good__echo", {"text": "3"}),
    ("good__nothing", {}),
    ("dying__die", {}),
    ("good__echo", {"text": "4"}),
]
KINDS = [None, "any", None, "timeout", None, "unknown_action", "crashed", None]


@pytest.mark.case("I2")
@pytest.mark.parametrize("route", ["mcp", "rest"])
async def test_in_a_run_every_task_ends_by_itself_and_is_reported_in_order(route: str, tmp_path: Path) -> None:
    """Success, failure, time-out, unknown action and crash side by side; the report waits for its limit alone."""
    servers = {"good": plain(), "stuck": raw(), "dying": raw()}
    tasks = [{"id": f"t{n}", "action": name, "arguments": given} for n, (name, given) in enumerate(EIGHT)]
    async with product(tmp_path, servers, call_s=lasting(30)) as running, running.mcp() as mcp, running.rest() as rest:
        with anyio.fail_after(within(lasting(30) + 2)):
            if route == "mcp":
                found = (await mcp.tool("run_actions", tasks=tasks)).facts["tasks"]
                kinds = [(task.get("error") or {}).get("kind") for task in found]
            else:
                found = (await rest.http.post("/v1/runs", json={"tasks": tasks})).json()["tasks"]
                kinds = [((task["observation"] or {}).get("error") or {}).get("kind") for task in found]
        assert [task["id"] for task in found] == [f"t{n}" for n in range(8)]
        assert [wanted if wanted != "any" else kind for kind, wanted in zip(kinds, KINDS, strict=True)] == kinds
        assert kinds[1] is not None


@pytest.mark.case("I2")
async def test_tasks_over_the_limit_of_a_run_are_refused_one_by_one(tmp_path: Path) -> None:
    """The first are run, the rest each have an entry that says why not."""
    tasks = [{"id": f"t{n}", "action": "raw__echo", "arguments": {}} for n in range(30)]
    async with product(tmp_path, {"raw": raw()}, run_tasks=20) as running, running.mcp() as mcp:
        found = (await mcp.tool("run_actions", tasks=tasks)).facts["tasks"]
    states = [task["state"] for task in found]
    assert len(states) == 30 and len(set(states[:20])) == 1 and len(set(states[20:])) == 1
    assert states[0] != states[-1] and all("20" in json.dumps(task) for task in found[20:])


# --- P: starts and noise


@pytest.mark.case("P1")
@pytest.mark.parametrize("route", ["http-legacy", "rest", "run"])
async def test_noise_on_the_output_costs_no_call_and_is_told_once(route: Route, tmp_path: Path) -> None:
    """A banner, colours, JSON that is no frame, blank lines; a frame lost to gluing ends in an error, not a hang."""
    servers = {"raw": raw("--banner")}
    async with product(tmp_path, servers, call_s=lasting(60)) as running, running.face(route) as face:
        async with running.mcp() as mcp, anyio.create_task_group() as group:
            for name in ("chatter", "logged", "prefixed", "batch", "echo"):
                assert not (await face.call(f"raw__{name}", {})).is_error, name
            told = (await mcp.tool("servers", server="raw")).text
            assert told.count("Welcome to raw!") == 1 and len(told) < 2000
            lost: list[Answer] = []

            async def held() -> None:
                lost.append(await face.call("raw__hold", {"count": 2}))

            group.start_soon(held)
            await running.until(lambda: running.parts.downstreams.connected("raw"), "up")
            with anyio.fail_after(PATIENCE_S):
                while (await mcp.call("raw__seen", {})).text.count("tools/call") < 7:
                    pass
            assert "whole" in (await mcp.call("raw__glued", {})).text
        assert lost[0].is_error and lost[0].kind in ("timeout", "protocol", "crashed")


@pytest.mark.case("P1")
@pytest.mark.parametrize("mode", ["legacy", "auto"])
async def test_noise_of_a_server_never_reaches_the_pipe_of_a_client(mode: Mode, tmp_path: Path) -> None:
    """Over `anyact serve --stdio`, whose own output stays pure."""
    async with over_stdio(tmp_path, {"raw": raw("--banner")}, mode) as mcp:
        await told(mcp, "raw", "ready", "idle")
        for name in ("chatter", "prefixed", "echo"):
            assert not (await mcp.call(f"raw__{name}", {})).is_error


async def told(mcp: Any, server: str, *states: str) -> str:
    """What the tool `servers` says once a server is in one of some states."""
    with anyio.fail_after(PATIENCE_S):
        while True:
            answer = await mcp.tool("servers", server=server)
            if answer.facts["servers"][0]["state"] in states and "0 actions" not in answer.text:
                return str(answer.text)


@pytest.mark.case("P2")
async def test_a_slow_start_is_waited_for_apart_from_calls_and_by_nobody_else(tmp_path: Path) -> None:
    """Longer than the limit of calls, yet usable with nobody's help; one that never answers fails at its limit."""
    servers = {"slow": raw("--delay", str(lasting(45))), "never": raw("--hang"), "good": raw()}
    limits = {"call_s": lasting(20), "start_s": lasting(100), "list_s": lasting(100)}
    async with product(tmp_path, servers, read=["good"], **limits) as running, running.mcp() as mcp:
        assert not (await mcp.call("good__echo", {})).is_error
        await running.known("slow")
        assert not (await mcp.call("slow__echo", {})).is_error
        await running.until(lambda: running.state("never") == "failed", "given up")
        text = (await mcp.tool("servers", server="never")).text
        assert "next try in" in text and "never" in text


SECRET = "sesame-opens-4711"
LAST_WORDS = f"import sys, os; print('KEY missing, have', os.environ['API_KEY'], file=sys.stderr); sys.exit(1)"  # noqa: F541


@pytest.mark.case("P3")
async def test_servers_that_cannot_start_say_why_at_once(tmp_path: Path) -> None:
    """An unknown command, a last word on stderr with a secret in it, a silent exit: named within two seconds."""
    servers = {
        "missing": {"command": "no-such-program-4711", "args": ["serve"]},
        "speaks": script(LAST_WORDS, env={"API_KEY": SECRET}),
        "silent": script("pass"),
    }
    async with product(tmp_path, servers, read=[]) as running, running.rest() as rest:
        bad = {"failed", "down"}
        await running.until(lambda: all(running.state(name) in bad for name in servers), "failed", within(2))
        known = {one["server"]: one["error"] for one in (await rest.get("/v1/servers"))["servers"]}
    assert "no-such-program-4711" in known["missing"]
    assert "KEY missing" in known["speaks"] and "1" in known["speaks"] and SECRET not in known["speaks"]
    assert "exit" in known["silent"] and "0" in known["silent"]


# --- L: deaths


@pytest.mark.case("L1")
@pytest.mark.parametrize("route", ["http-legacy", "rest", "run", "rest-run"])
async def test_a_death_in_mid_call_is_told_within_two_seconds_and_the_next_call_works(
    route: Route, tmp_path: Path
) -> None:
    """A killed process, and one that closes its output and lives on; others notice nothing."""
    async with product(tmp_path, {"raw": raw(), "good": raw()}) as running, running.face(route) as face:
        for name in ("die", "close-stdout"):
            with anyio.fail_after(within(2)):
                answer = await face.call(f"raw__{name}", {})
            assert answer.is_error and answer.kind == "crashed" and "raw" in answer.text, name
            assert not (await face.call("good__echo", {})).is_error
            assert not (await face.call("raw__echo", {})).is_error, name


@pytest.mark.case("L1")
async def test_a_socket_closed_in_mid_call_is_told_within_two_seconds(tmp_path: Path) -> None:
    """An HTTP server that hangs up: the error names it."""
    raw_http = RawHttp()
    async with sockets(hang_up) as broken, listening(raw_http.app) as port:
        servers = {"web": web(port)}
        async with product(tmp_path, servers) as running, running.rest() as rest:
            assert not (await rest.call("web__echo", {})).is_error
            configure(tmp_path, {"web": web(broken)}, {"encoder": "off"})
            await running.until(lambda: str(broken) in str(running.parts.catalog.spec("web").url), "reloaded")
            with anyio.fail_after(within(2)):
                answer = await rest.call("web__echo", {})
            assert answer.status == 502 and "web" in answer.text
            configure(tmp_path, servers, {"encoder": "off"})
            await running.until(lambda: str(port) in str(running.parts.catalog.spec("web").url), "reloaded")
            assert not (await rest.call("web__echo", {})).is_error


def alive(pid: int) -> bool:
    """Whether a process runs; a dead one that nobody has asked after counts too, for nobody should be left to."""
    return Path(f"/proc/{pid}").exists()


def running_of(file: Path) -> list[int]:
    """The processes of a family that still exist; a grandchild that its parent left is the system's to bury."""
    found = []
    for pid in json.loads(file.read_text(encoding="utf-8")):
        try:
            state = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
        except OSError:
            continue
        if state[0] != "Z" or int(state[1]) == os.getpid():
            found.append(pid)
    return found


@pytest.mark.case("L2")
async def test_no_process_of_a_stopped_server_is_left(tmp_path: Path) -> None:
    """Wrapper, children in the same and in another session, deaf to the end of input and SIGTERM: removed, disabled,
    restarted, and at the end of AnyAct, all are gone within five seconds."""
    files = {name: tmp_path / name for name in ("removed", "disabled", "restarted", "ended")}
    servers = {name: raw("--family", str(file), "--stubborn") for name, file in files.items()}
    async with product(tmp_path, servers) as running, running.mcp() as mcp:
        for name in servers:
            assert not (await mcp.call(f"{name}__echo", {})).is_error
        families = {name: tmp_path / f"{name}.family" for name in files}
        for name, file in files.items():
            families[name].write_bytes(file.read_bytes())
        left = {**servers, "disabled": {**servers["disabled"], "disabled": True}}
        del left["removed"]
        configure(tmp_path, left, {"encoder": "off"})
        async with anyio.create_task_group() as group:
            group.start_soon(lambda: mcp.tool("servers", server="restarted", restart=True))
            for name in ("removed", "disabled", "restarted"):
                await running.until(lambda name=name: not running_of(families[name]), f"{name} gone", within(5))  # type: ignore[misc]
        started = time.monotonic()
    assert time.monotonic() - started < within(5)
    assert not running_of(families["ended"]) and not running_of(files["restarted"])


@pytest.mark.case("L2")
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT], ids=["term", "interrupt"])
def test_a_signal_ends_anyact_with_every_process_behind_it(number: signal.Signals, tmp_path: Path) -> None:
    """`anyact serve --http` with a stubborn server behind it: all gone within five seconds."""
    family = tmp_path / "family"
    file = configure(tmp_path, {"raw": raw("--family", str(family), "--stubborn")}, {"encoder": "off"})
    words = ["serve", "--http", "127.0.0.1:0", "--config", str(file), "--home", str(tmp_path / "home")]
    with subprocess.Popen([sys.executable, "-m", "anyact_server", *words], cwd=ROOT, stderr=subprocess.DEVNULL) as app:
        end = time.monotonic() + PATIENCE_S
        while not (family.exists() and family.stat().st_size) and time.monotonic() < end:
            os.sched_yield()
        app.send_signal(number)
        started = time.monotonic()
        app.wait(PATIENCE_S)
        assert time.monotonic() - started < within(5)
    assert not running_of(family)


# --- T: limits and progress


@pytest.mark.case("T1")
async def test_the_nearest_limit_applies_and_is_named_over_stdio_and_http(tmp_path: Path) -> None:
    """Of all servers, of one, of one call; a late answer is dropped, and the stream stays in step."""
    silent = RawHttp(tools=[{"name": name, "inputSchema": {"type": "object"}} for name in ("hang", "echo")])
    short, middle, long_ = lasting(5), lasting(10), lasting(20)
    async with listening(silent.app) as port:
        servers = {"raw": raw(), "own": raw(timeouts={"call": middle}), "web": web(port)}
        async with product(tmp_path, servers, call_s=long_) as running, running.faces("http-legacy", "rest") as faces:
            for route, face in faces.items():
                for action, asked, applied in (
                    ("raw__late", {"timeout_s": short}, short),
                    ("own__late", {}, middle),
                    ("web__hang", {}, long_),
                    ("web__hang", {"timeout_s": short}, short),
                ):
                    started = time.monotonic()
                    answer = await face.call(action, {}, **asked)
                    taken = time.monotonic() - started
                    assert answer.kind == "timeout" and f"{applied:g}" in answer.text, (route, action, answer.text)
                    assert applied * 0.9 <= taken < within(applied + 1), (route, action)
                    server = action.partition("__")[0]
                    assert not (await face.call(f"{server}__echo", {})).is_error, (route, action)


@pytest.mark.case("T2")
@pytest.mark.parametrize("mode", ["legacy", "auto"])
async def test_progress_keeps_a_call_alive_and_reaches_its_own_client_in_order(mode: Mode, tmp_path: Path) -> None:
    """Twice as long as the limit, with and without a client that listens; progress of nobody is ignored."""
    heard: list[float] = []

    async def listen(progress: float, total: float | None, message: str | None) -> None:
        heard.append(progress)

    given = {"steps": 16, "pause": lasting(2.5)}
    limits: dict[str, Any] = {"call_s": lasting(20), "ceiling_s": lasting(100)}
    async with product(tmp_path, {"raw": raw()}, **limits) as running, running.mcp(mode) as mcp:
        call = {"action": "raw__progress", "arguments": given}
        listened = await mcp.client.call_tool("call_action", call, progress_callback=listen)
        assert not listened.is_error
        async with running.rest() as rest:
            assert (await rest.call("raw__progress", given)).status == 200
        assert heard == sorted(heard) and set(range(16)) >= set(heard) and len(heard) >= 8
        over = await mcp.call("raw__progress", {"steps": 10_000, "pause": lasting(5)})
        assert over.kind == "timeout"


# --- Y: never twice


@pytest.mark.case("Y1")
@pytest.mark.parametrize("route", ["http-modern", "rest", "run"])
async def test_only_a_hint_of_the_server_lets_a_call_be_sent_again(route: Route, tmp_path: Path) -> None:
    """A server that dies after taking the call: once without a hint, and the answer says to check first."""
    hints: dict[str, dict[str, bool]] = {
        "plainly": {},
        "reads": {"readOnlyHint": True},
        "idempotent": {"readOnlyHint": False, "idempotentHint": True},
        "destroys": {"readOnlyHint": False, "destructiveHint": True},
    }
    servers = {
        name: listed(tmp_path / name, [tool("die", annotations=said), tool("fine")]) for name, said in hints.items()
    }
    async with product(tmp_path, servers) as running, running.face(route) as face:
        for name in servers:
            answer = await face.call(f"{name}__die", {})
            assert answer.is_error
            sent = len(calls(tmp_path / name))
            if name in ("reads", "idempotent"):
                assert 1 <= sent <= 3, name
            else:
                assert sent == 1 and "check" in answer.text.lower(), (name, answer.text)
            assert not (await face.call(f"{name}__fine", {})).is_error


@pytest.mark.case("Y1")
@pytest.mark.parametrize("modern", [False, True], ids=["legacy", "modern"])
async def test_over_http_a_dropped_answer_is_not_asked_for_twice(modern: bool, tmp_path: Path) -> None:
    """One POST reaches the server; the answer says that the outcome is not known."""
    server = RawHttp(modern=modern, tools=[{"name": "drop", "inputSchema": {"type": "object"}}])
    async with (
        listening(server.app) as port,
        product(tmp_path, {"web": web(port)}) as running,
        running.face("rest") as face,
    ):
        answer = await face.call("web__drop", {})
        assert answer.is_error and "check" in answer.text.lower()
    assert server.calls == 1
