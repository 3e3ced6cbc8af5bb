"""The pool as other rooms use it: shared starts, repeats, reloads, states."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

import anyio
import pytest

from anyact_server.downstream import SILENT, Handlers, Pool
from anyact_server.downstream.pool import bounds_of, may_resend, shortened, wiring
from anyact_server.downstream.wire import SessionLost
from anyact_server.errors import DownstreamError, RemoteError, UnknownServer
from anyact_server.interfaces import Downstreams
from anyact_server.settings import Settings
from anyact_server.types import JsonObject, Kind, Limits, Override, ServerSpec, ServerState
from tests.servers import plain as plain_server
from tests.servers.raw_http import RawHttp, silent, sockets

from .kit import Clock, World, inside, limits, raw, web, world

pytestmark = pytest.mark.anyio
EVERYTHING: dict[str, Any] = {"elicitation": {"form": {}, "url": {}}, "sampling": {}, "roots": {}}


def test_the_pool_is_what_other_rooms_expect() -> None:
    """The Protocol is met; mypy checks the signatures."""
    downstreams: Downstreams = Pool([], Settings())
    assert list(downstreams.statuses()) == []


def test_limits_are_the_nearest_ones() -> None:
    """Lists have their own; the ceiling is never under the limit."""
    given = limits(call_s=5, list_s=7, ceiling_s=3)
    assert (bounds_of("tools/call", given).limit_s, bounds_of("tools/call", given).what) == (5, "call limit")
    assert (bounds_of("prompts/list", given).limit_s, bounds_of("prompts/list", given).ceiling_s) == (7, 7)
    assert shortened(bounds_of("tools/call", given), 4).limit_s == 1
    assert shortened(bounds_of("tools/call", given), 9).limit_s > 0


@pytest.mark.case("Y1")
@pytest.mark.parametrize(
    ("kind", "may_have_run", "repeatable", "resent"),
    [
        (Kind.CRASHED, True, False, False),
        (Kind.CRASHED, True, True, True),
        (Kind.UNAVAILABLE, False, False, True),
        (Kind.TIMEOUT, True, True, False),
        (Kind.RATE_LIMITED, False, True, False),
        (Kind.UPSTREAM_5XX, True, True, False),
        (Kind.AUTH, False, True, False),
    ],
)
def test_only_what_surely_did_not_run_or_may_run_twice_is_sent_again(
    kind: Kind, may_have_run: bool, repeatable: bool, resent: bool
) -> None:
    """Decision 10 as a table."""
    error = DownstreamError("x", server="s", kind=kind, may_have_run=may_have_run)
    assert may_resend(error, repeatable=repeatable) is resent
    assert may_resend(SessionLost("x", server="s"), repeatable=False)


@pytest.mark.case("I1")
async def test_twenty_calls_share_a_pipe_and_each_meets_its_answer() -> None:
    """Answers in reverse order; a call to another server does not wait; nothing runs one by one."""
    async with world(raw(), raw(name="other")) as w:
        await w.text("other", "echo")
        found: dict[int, str] = {}

        async def call(n: int) -> None:
            found[n] = await w.text("raw", "hold", label=n, count=20)

        async with anyio.create_task_group() as group:
            for n in range(19):
                group.start_soon(call, n)
            while len((await w.data("raw", "seen"))["methods"]) < 22:
                await anyio.lowlevel.checkpoint()
            with anyio.fail_after(2):
                assert await w.text("other", "echo") == "{}"
            assert not found
            group.start_soon(call, 19)
        assert found == {n: str(n) for n in range(20)}
        assert w.pool.status("raw").restarts == 0


@pytest.mark.case("I1")
async def test_a_serial_server_is_queued_singly() -> None:
    """Its second call starts when the first has ended; other servers do not notice."""
    async with world(inside(name="one", serial=True), raw(name="other")) as w:
        await w.pool.take_snapshot("one")
        order: list[str] = []

        async def slow() -> None:
            await w.call("one", "slow", seconds=0.3)
            order.append("slow")

        async def quick() -> None:
            await w.call("one", "echo", text="x")
            order.append("quick")

        async with anyio.create_task_group() as group:
            group.start_soon(slow)
            await anyio.lowlevel.checkpoint()
            group.start_soon(quick)
            assert await w.text("other", "echo") == "{}"
        assert order == ["slow", "quick"]


async def test_twenty_callers_share_one_start() -> None:
    """A server that twenty callers need at once is started once."""
    async with world(raw("--delay", "0.2")) as w:
        pids: set[int] = set()

        async def call() -> None:
            pids.add((await w.data("raw", "seen"))["pid"])

        async with anyio.create_task_group() as group:
            for _ in range(20):
                group.start_soon(call)
        assert len(pids) == 1 and w.pool.status("raw").restarts == 0
        assert len([event for event in w.events.all if event.what == "connected"]) == 1


async def test_a_start_goes_on_when_the_one_who_asked_gave_up() -> None:
    """What was downloaded for it is not thrown away; the next caller finds it running."""
    async with world(raw("--delay", "0.5")) as w:
        with anyio.move_on_after(0.1):
            await w.call("raw", "echo")
        await w.until_state("raw", ServerState.READY)
        assert await w.text("raw", "echo") == "{}"
        assert w.pool.status("raw").restarts == 0


@pytest.mark.case("I3")
async def test_connections_close_in_any_order_from_any_task() -> None:
    """A is closed from another task while calls run on B and C, again and again; nothing is left behind."""
    async with world(raw(name="a"), raw(name="b"), raw(name="c")) as w:
        await w.text("b", "echo")
        await w.text("c", "echo")
        for _ in range(5):
            await w.text("a", "echo")
            async with anyio.create_task_group() as group:
                for server in ("b", "c"):
                    group.start_soon(w.text, server, "echo")
                group.start_soon(w.pool.stop, "a")
        assert await w.text("b", "echo") == await w.text("c", "echo") == "{}"
        assert w.pool.status("b").restarts == w.pool.status("c").restarts == 0


@pytest.mark.case("I3")
async def test_many_openings_and_closings_over_http_leave_nothing_behind() -> None:
    """Sessions opened and closed from many tasks at once end without an error."""
    server = RawHttp()
    async with plain_server.listening(server.app) as port:
        names = [f"web{n}" for n in range(10)]
        async with world(*(web(port, name=name) for name in names)) as w:

            async def use(name: str) -> None:
                for _ in range(6):
                    await w.call(name, "echo")
                    await w.pool.stop(name)

            async with anyio.create_task_group() as group:
                for name in names:
                    group.start_soon(use, name)
        assert server.opened == server.deletes == 60


@pytest.mark.case("D1")
async def test_bad_servers_do_not_hold_up_good_ones() -> None:
    """More hanging servers than parallel starts, and the sound one is there all the same; each has its own reason."""
    hanging = [raw("--hang", name=f"hang{n}", limits=limits(start_s=30)) for n in range(3)]
    async with sockets(silent) as port:
        specs = [*hanging, web(port, name="mute", limits=limits(start_s=30)), raw(name="sound"), raw(name="web")]
        async with world(*specs, parallel_starts=4) as w, anyio.create_task_group() as group:
            for spec in specs[:4]:
                group.start_soon(failing, w, spec.name)
            with anyio.fail_after(10):
                assert await w.text("sound", "echo") == "{}"
            states = {status.server: status.state for status in w.pool.statuses()}
            assert list(states) == [spec.name for spec in specs]
            assert states["sound"] is ServerState.READY and states["hang0"] is ServerState.STARTING
            assert states["web"] is ServerState.IDLE
            for spec in specs[:4]:
                await w.pool.stop(spec.name)


async def failing(w: World, name: str) -> None:
    """Ask for a server that will not come up."""
    with pytest.raises(DownstreamError):
        await w.pool.take_snapshot(name)


async def test_hanging_starts_give_their_place_to_others() -> None:
    """With one parallel start, a server that hangs does not keep the next out for ever."""
    specs = (raw("--hang", name="hang", limits=limits(start_s=60)), raw(name="sound"))
    async with world(*specs, parallel_starts=1) as w, anyio.create_task_group() as group:
        group.start_soon(failing, w, "hang")
        await w.until_state("hang", ServerState.STARTING)
        with anyio.fail_after(15):
            assert await w.text("sound", "echo") == "{}"
        await w.pool.stop("hang")


async def test_a_start_that_still_waits_for_its_turn_can_be_stopped() -> None:
    """Stopping it ends the wait of those who asked for it."""
    specs = (raw("--hang", name="hang", limits=limits(start_s=60)), raw(name="next"))
    async with world(*specs, parallel_starts=1) as w, anyio.create_task_group() as group:
        group.start_soon(failing, w, "hang")
        await w.until_state("hang", ServerState.STARTING)
        group.start_soon(failing, w, "next")
        await w.until_state("next", ServerState.STARTING)
        with anyio.fail_after(3):
            await w.pool.stop("next")
        await w.pool.stop("hang")


@pytest.mark.case("D1")
async def test_a_server_joins_without_a_restart_once_it_is_sound(tmp_path: Path) -> None:
    """Its command appears later; after the pause the next request finds it."""
    command = tmp_path / "server"
    clock = Clock()
    spec = ServerSpec("late", "stdio", command=str(command), args=raw().args)
    async with world(spec, clock=clock) as w:
        with pytest.raises(DownstreamError, match="not found"):
            await w.call("late", "echo")
        first = w.pool.status("late")
        assert first.next_try is not None and 0.7 <= first.next_try - clock.now() <= 1.0
        command.symlink_to(raw().command or "")
        with pytest.raises(DownstreamError, match="next try in"):
            await w.call("late", "echo")
        clock.time += 1.5
        assert await w.text("late", "echo") == "{}"
        assert w.pool.status("late").next_try is None


async def test_a_server_that_keeps_dying_is_started_with_growing_pauses() -> None:
    """The first death costs nothing; from the second on there is a pause."""
    clock = Clock()
    async with world(raw(), clock=clock) as w:
        for _ in range(2):
            with pytest.raises(DownstreamError):
                await w.call("raw", "die")
            await w.until_state("raw", ServerState.DOWN)
        with pytest.raises(DownstreamError, match="next try in"):
            await w.call("raw", "echo")
        await w.pool.restart("raw")
        assert await w.text("raw", "echo") == "{}"


@pytest.mark.case("Y1")
async def test_a_call_that_may_have_run_is_not_sent_again(tmp_path: Path) -> None:
    """The server writes a line and dies before answering: exactly one line, and the error says that it may have run."""
    path = tmp_path / "lines"
    async with world(raw()) as w:
        with pytest.raises(DownstreamError) as caught:
            await w.call("raw", "append-and-die", path=str(path))
        assert caught.value.may_have_run
    assert path.read_text(encoding="utf-8") == "line\n"


@pytest.mark.case("Y1")
async def test_a_repeatable_call_is_sent_twice_at_most(tmp_path: Path) -> None:
    """With a hint it is sent once more, and only once."""
    path = tmp_path / "lines"
    params = {"name": "append-and-die", "arguments": {"path": str(path)}}
    async with world(raw()) as w:
        with pytest.raises(DownstreamError):
            await w.pool.request("raw", "tools/call", params, caller=w.caller, repeatable=True)
    assert path.read_text(encoding="utf-8") == "line\n" * 2


@pytest.mark.case("Y1")
async def test_a_call_over_a_link_that_died_before_is_sent_over_a_new_one(tmp_path: Path) -> None:
    """The server went down between two calls: the call surely did not run, so it runs now, once."""
    path = tmp_path / "lines"
    server = RawHttp()
    async with plain_server.listening(server.app) as port, world(raw(), web(port)) as w:
        with pytest.raises(DownstreamError):
            await w.call("raw", "die")
        assert await w.text("raw", "append-line", path=str(path)) == "appended"
        await w.call("web", "echo")
    assert path.read_text(encoding="utf-8") == "line\n"


@pytest.mark.case("Y1")
async def test_ordinary_errors_never_reconnect() -> None:
    """A tool error and a JSON-RPC error leave the connection as it is."""
    async with world(inside("legacy")) as w:
        assert (await w.call("plain", "fail"))["isError"] is True
        with pytest.raises(RemoteError) as caught:
            await w.call("plain", "error", code=-32050)
        assert (caught.value.code, caught.value.data) == (-32050, {"detail": 7})
        assert w.pool.status("plain").restarts == 0


@pytest.mark.case("C4")
async def test_a_new_configuration_leaves_the_unchanged_alone() -> None:
    """While a call runs on A: D is added, B changes, C goes; A's process and call survive, C's calls say why."""
    a, b, c, d = (raw(name=name) for name in "abcd")
    async with world(a, b, c) as w:
        pids = {name: (await w.data(name, "seen"))["pid"] for name in "abc"}
        ends: list[str] = []

        async def hold(name: str) -> None:
            try:
                ends.append(await w.text(name, "hold", label=name, count=2))
            except (DownstreamError, UnknownServer) as error:
                ends.append(error.message)

        async with anyio.create_task_group() as group:
            group.start_soon(hold, "a")
            group.start_soon(hold, "c")
            for name in "ac":
                while (await w.data(name, "seen"))["methods"].count("tools/call") < 3:
                    await anyio.lowlevel.checkpoint()
            renamed = raw(name="a", description="new words", overrides={"echo": Override(name="say")})
            await w.pool.apply([renamed, raw(name="b", env={"X": "1"}), d])
            assert (await w.data("a", "seen"))["pid"] == pids["a"]
            assert await w.text("a", "hold", label="second", count=2) == "second"
        assert "a" in ends and any("removed from the configuration" in end for end in ends)
        assert (await w.data("b", "seen"))["pid"] != pids["b"]
        assert await w.text("d", "echo") == "{}"
        with pytest.raises(UnknownServer):
            await w.call("c", "echo")
        assert [status.server for status in w.pool.statuses()] == ["a", "b", "d"]


@pytest.mark.case("C4")
async def test_a_call_that_waits_its_turn_follows_the_new_configuration() -> None:
    """It was never sent, so it goes to the server as it is configured now, and nothing of the old one is started."""
    async with world(raw(serial=True)) as w:
        pid = (await w.data("raw", "seen"))["pid"]
        found: list[str] = []

        async def blocked() -> None:
            with pytest.raises(DownstreamError, match="changed"):
                await w.call("raw", "never")

        async def waiting() -> None:
            found.append((await w.data("raw", "surroundings"))["env"]["NEW"])

        with anyio.fail_after(10):
            async with anyio.create_task_group() as group:
                group.start_soon(blocked)
                await anyio.wait_all_tasks_blocked()
                group.start_soon(waiting)
                await anyio.wait_all_tasks_blocked()
                await w.pool.apply([raw(serial=True, env={"NEW": "1"})])
        assert found == ["1"] and w.pool.status("raw").pid not in (pid, None)


def test_only_what_a_connection_depends_on_counts_as_a_change() -> None:
    """Names, words and pins may change without a restart; command, environment and limits may not."""
    base = raw()
    assert wiring(base) == wiring(raw(description="x", tags=("t",), pin=("a",), title="T", secrets=frozenset({"x"})))
    assert wiring(base) != wiring(raw(env={"A": "1"}))
    assert wiring(base) != wiring(raw(limits=limits(call_s=1)))
    assert wiring(base) != wiring(raw("--banner"))


async def test_an_idle_server_is_stopped_and_started_again() -> None:
    """Without calls for its idle limit it goes; a running call keeps it."""
    async with world(inside("legacy", limits=limits(idle_s=0.4))) as w:
        assert await w.text("plain", "slow", seconds=0.8) == "done"
        await w.until_state("plain", ServerState.IDLE)
        assert not w.pool.connected("plain")
        assert await w.text("plain", "echo", text="again") == "again"
        assert w.pool.connected("plain")


async def test_a_restart_gives_a_new_process_and_forgets_the_pause() -> None:
    """By name, without touching others."""
    async with world(raw(name="a"), raw(name="b")) as w:
        old = {name: (await w.data(name, "seen"))["pid"] for name in "ab"}
        assert w.pool.status("a").pid == old["a"]
        await w.pool.restart("a")
        assert (await w.data("a", "seen"))["pid"] != old["a"]
        assert (await w.data("b", "seen"))["pid"] == old["b"]


async def test_unknown_disabled_and_faulty_servers_say_so() -> None:
    """The name with the nearest one; `disabled`; the fault of the entry. None of them is started."""
    faulty = ServerSpec("faulty", "stdio", fault="variable TOKEN is not set")
    async with world(raw(name="github", disabled=True), faulty) as w:
        with pytest.raises(UnknownServer, match="'githb'") as caught:
            await w.call("githb", "echo")
        assert caught.value.hint == "Did you mean 'github'?"
        with pytest.raises(DownstreamError, match="is disabled"):
            await w.call("github", "echo")
        with pytest.raises(DownstreamError, match="variable TOKEN is not set"):
            await w.pool.take_snapshot("faulty")
        assert w.pool.status("github").state is ServerState.DISABLED
        assert w.pool.status("faulty").state is ServerState.FAILED
        with pytest.raises(UnknownServer):
            w.pool.status("nobody")


async def test_notifications_reach_only_servers_that_run() -> None:
    """Nothing is started for one, and the new era has none."""
    async with world(raw(), inside(name="new")) as w:
        await w.pool.notify("raw", "notifications/roots/list_changed", {})
        await w.pool.notify("nobody", "notifications/roots/list_changed", {})
        assert w.pool.status("raw").state is ServerState.IDLE
        await w.text("raw", "echo")
        await w.pool.notify("raw", "notifications/roots/list_changed", {})
        assert "notifications/roots/list_changed" in (await w.data("raw", "seen"))["methods"]
        await w.call("new", "echo", text="x")
        await w.pool.notify("new", "notifications/roots/list_changed", {})


async def test_a_pool_that_does_not_run_starts_nothing() -> None:
    """Before and after `running()` every request is refused."""
    pool = Pool([raw()], Settings())
    with pytest.raises(DownstreamError, match="not running"):
        await pool.request("raw", "ping", {}, caller=SILENT)
    async with pool.running():
        assert await pool.request("raw", "tools/list", {}, caller=SILENT)
    with pytest.raises(DownstreamError, match="not running"):
        await pool.request("raw", "ping", {}, caller=SILENT)


async def test_errors_of_the_block_come_out_as_they_are() -> None:
    """An error raised inside `running()` is not wrapped into a group."""
    with pytest.raises(ValueError, match="mine"):
        async with Pool([raw()], Settings()).running():
            raise ValueError("mine")


async def test_listeners_hear_until_they_leave() -> None:
    """The function that `listen` gives ends it, twice without harm."""
    heard: list[str] = []
    async with world(raw()) as w:
        leave = w.pool.listen(lambda event: heard.append(event.what))
        await w.text("raw", "echo")
        assert "connected" in heard and "state" in heard
        leave()
        leave()
        heard.clear()
        await w.pool.stop("raw")
        assert heard == []


async def test_a_memory_of_eras_saves_the_round_trip() -> None:
    """A server known to be old is not asked anew; one that changed its era is found out."""

    async def discover(params: JsonObject) -> JsonObject:
        return {"supportedVersions": ["2026-07-28"], "capabilities": {}, "resultType": "complete"}

    async def refuse(params: JsonObject) -> JsonObject:
        raise RemoteError(-32022, "Unsupported protocol version", {"supported": ["2026-07-28"]}, server="new")

    new = Handlers({"server/discover": discover, "initialize": refuse})
    specs = [raw(), ServerSpec("new", "memory")]
    pool = Pool(specs, Settings(), memory={"new": new}, eras={"raw": "legacy", "new": "legacy"})
    async with pool.running():
        await pool.take_snapshot("raw")
        seen = await pool.request("raw", "tools/call", {"name": "seen", "arguments": {}}, caller=SILENT)
        assert "server/discover" not in seen["content"][0]["text"]
        await pool.take_snapshot("new")
        assert pool.status("new").protocol_version == "2026-07-28"


async def test_the_silent_caller_takes_everything_and_answers_nothing() -> None:
    """It stands for callers that can answer nothing."""
    await SILENT.progress(1, None, None)
    await SILENT.log({})
    with pytest.raises(RemoteError):
        await SILENT.ask("roots/list", {})


async def test_a_failing_start_is_logged_once(caplog: pytest.LogCaptureFixture) -> None:
    """One line per failure, with the server's name."""
    with caplog.at_level(logging.WARNING):
        async with world(ServerSpec("gone", "stdio", command="no-such-command")) as w:
            for _ in range(3):
                with pytest.raises(DownstreamError):
                    await w.call("gone", "echo")
    assert len([record for record in caplog.records if "'gone'" in record.getMessage()]) == 1


def test_default_limits_stand_for_none_of_its_own() -> None:
    """An entry that sets no limits has exactly the defaults."""
    assert raw().limits == Limits()
