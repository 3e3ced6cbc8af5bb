"""Calls through the pool: limits, progress, cancelling, sessions, questions, log lines."""

from __future__ import annotations

from typing import Any

import anyio
import pytest

from anyact_server.downstream import SdkTarget
from anyact_server.errors import DownstreamError, RemoteError
from anyact_server.types import Era, Kind, Principal
from tests.servers import plain as plain_server

from .kit import Recorder, inside, limits, plain, raw, web, world

pytestmark = pytest.mark.anyio
EVERYTHING: dict[str, Any] = {"elicitation": {"form": {}, "url": {}}, "sampling": {}, "roots": {}}


@pytest.mark.case("T1")
@pytest.mark.parametrize("http", [False, True])
async def test_the_nearest_limit_wins_and_is_named(http: bool) -> None:
    """Call over server over settings, on both transports."""
    server = plain_server.build()
    async with plain_server.listening(plain_server.web(server)) as port:
        spec = web(port, name="s", limits=limits(call_s=0.4)) if http else plain(name="s", limits=limits(call_s=0.4))
        async with world(spec) as w:
            await w.pool.take_snapshot("s")
            with anyio.fail_after(3), pytest.raises(DownstreamError, match=r"0\.4 s \(call limit\)") as caught:
                await w.call("s", "slow", seconds=30)
            assert caught.value.kind is Kind.TIMEOUT
            params = {"name": "slow", "arguments": {"seconds": 0.6}}
            result = await w.pool.request("s", "tools/call", params, caller=w.caller, limits=limits(call_s=20))
            assert result["content"][0]["text"] == "done"


@pytest.mark.case("T1")
async def test_the_settings_limit_servers_that_set_none() -> None:
    """A server whose entry has no limits of its own has those of the settings."""
    async with world(inside(), call_s=0.4, ceiling_s=5) as w:
        await w.pool.take_snapshot("plain")
        with anyio.fail_after(3), pytest.raises(DownstreamError, match=r"0\.4 s \(call limit\)"):
            await w.call("plain", "slow", seconds=30)


@pytest.mark.case("T1")
async def test_a_late_answer_is_dropped_and_the_stream_stays_in_step() -> None:
    """The server is told that the call was given up, answers all the same, and nobody gets the wrong answer."""
    async with world(raw(limits=limits(call_s=0.3))) as w:
        with pytest.raises(DownstreamError, match="call limit"):
            await w.call("raw", "late")
        assert await w.data("raw", "echo", n=1) == {"n": 1}
        assert await w.text("raw", "double") == "first"
        assert await w.data("raw", "echo", n=2) == {"n": 2}
        assert len((await w.data("raw", "seen"))["cancelled"]) == 1
        assert await w.text("raw", "wrong-id") == "as text"


@pytest.mark.case("T2")
@pytest.mark.parametrize("era", ["legacy", "auto"])
async def test_progress_is_relayed_in_order_and_restarts_the_clock(era: Era) -> None:
    """A call three times as long as its limit succeeds because it reports progress."""
    async with world(inside(era, limits=limits(call_s=1.0))) as w:
        await w.pool.take_snapshot("plain")
        assert await w.text("plain", "progress", steps=8, pause=0.25) == "done"
        assert w.caller.reports == [(float(n), 8.0, f"step {n}") for n in range(1, 9)]


@pytest.mark.case("T2")
async def test_progress_for_ever_is_cut_at_the_ceiling() -> None:
    """The ceiling holds, progress or not, and is named."""
    async with world(inside(limits=limits(call_s=0.6, ceiling_s=1.2))) as w:
        await w.pool.take_snapshot("plain")
        with anyio.fail_after(5), pytest.raises(DownstreamError, match=r"1\.2 s \(ceiling\)"):
            await w.call("plain", "progress", steps=10_000, pause=0.1)
        assert w.caller.reports


@pytest.mark.case("T2")
async def test_progress_of_nobody_and_after_the_end_is_ignored() -> None:
    """Unknown tokens and late reports reach no caller."""
    async with world(raw()) as w:
        assert await w.text("raw", "progress", steps=2) == "done"
        assert await w.text("raw", "echo") == "{}"
        assert [report[0] for report in w.caller.reports] == [0, 1]


async def test_cancelling_the_waiter_cancels_the_request_at_the_server() -> None:
    """In both eras over a pipe the server learns of it."""
    state = plain_server.State()
    target = SdkTarget(plain_server.build(state))
    async with world(raw(), inside(), memory={"plain": target}) as w:
        for name, tool in (("raw", "never"), ("plain", "slow")):
            await w.pool.take_snapshot(name)
            with anyio.move_on_after(0.2):
                await w.call(name, tool, seconds=60)
        assert len((await w.data("raw", "seen"))["cancelled"]) == 1
        with anyio.fail_after(5):
            while state.cancelled != ["slow"]:
                await w.call("plain", "echo", text="x")


@pytest.mark.case("R3")
async def test_state_is_kept_within_one_shared_connection() -> None:
    """One process serves all callers, so `get` sees `set`, over stdio and over HTTP."""
    server = plain_server.build()
    web_server = plain_server.web(server, "legacy")
    async with plain_server.listening(web_server) as port, world(plain("--era", "legacy"), web(port)) as w:
        for name in ("plain", "web"):
            await w.call(name, "set", value="x")
            assert await w.text(name, "get") == "x"
            assert await w.text(name, "get", caller=Recorder(session="s2")) == "x"
        assert w.pool.status("plain").restarts == 0


@pytest.mark.case("R3")
async def test_a_server_can_have_a_connection_for_each_client() -> None:
    """With `per_client` the second client sees none of the first one's state, and declares its own abilities."""
    first = Recorder(session="s1", abilities={"roots": {"listChanged": True}, "tasks": {}})
    second = Recorder(session=None, principal=Principal("ada", "token"))
    async with world(inside("legacy", per_client=True)) as w:
        await w.call("plain", "set", caller=first, value="x")
        assert await w.text("plain", "get", caller=first) == "x"
        assert await w.text("plain", "get", caller=second) == "nothing"
        assert (await w.data("plain", "about", caller=first))["abilities"] == {"roots": {"listChanged": True}}
        assert (await w.data("plain", "about", caller=second))["abilities"] == {}


@pytest.mark.case("Q1")
@pytest.mark.parametrize("era", ["legacy", "auto"])
async def test_questions_reach_the_client_whose_call_it_is(era: Era) -> None:
    """Elicitation, sampling and roots, in whichever way the era has for them."""
    answers: dict[str, dict[str, Any]] = {
        "ask": {"action": "accept", "content": {"name": "Ada"}},
        "sample": {"role": "assistant", "model": "m1", "content": {"type": "text", "text": "yes"}},
        "roots": {"roots": [{"uri": "file:///work"}]},
    }
    expected = {"ask": 'accept: {"name": "Ada"}', "sample": "m1: yes", "roots": "file:///work"}
    async with world(inside(era)) as w:
        for tool, answer in answers.items():
            caller = Recorder(abilities=EVERYTHING, reply=answer)
            assert await w.text("plain", tool, caller=caller) == expected[tool]
            assert len(caller.asked) == 1


@pytest.mark.case("Q1")
@pytest.mark.parametrize("era", ["legacy", "auto"])
async def test_a_question_nobody_can_answer_is_refused_at_once(era: Era) -> None:
    """The server gets a proper refusal and the call ends long before its limit."""
    async with world(inside(era)) as w:
        await w.pool.take_snapshot("plain")
        for tool in ("ask", "sample", "roots"):
            with anyio.fail_after(5):
                try:
                    assert await w.text("plain", tool) == "cancel: null"
                except RemoteError as error:
                    assert "cannot answer" in error.message or "no client can answer" in error.message


@pytest.mark.case("Q1")
@pytest.mark.parametrize("era", ["legacy", "auto"])
async def test_a_client_that_never_answers_does_not_hang_the_call(era: Era) -> None:
    """The question is held for its own limit, longer than the call's, then the server is told."""
    held = limits(question_s=0.8, call_s=0.5)
    async with world(inside(era, limits=held)) as w:
        await w.pool.take_snapshot("plain")
        caller = Recorder(abilities=EVERYTHING, silent=True)
        with anyio.fail_after(10):
            assert await w.text("plain", "ask", caller=caller) == "cancel: null"
        assert caller.dropped.is_set()


@pytest.mark.case("Q1")
async def test_a_client_of_the_new_era_can_have_the_question_as_it_is() -> None:
    """`input_required` passes, and the retry with the answers reaches the server."""
    caller = Recorder(abilities=EVERYTHING, passes_input_required=True)
    async with world(inside()) as w:
        pending = await w.call("plain", "ask", caller=caller)
        assert pending["resultType"] == "input_required"
        params = {
            "name": "ask",
            "arguments": {},
            "inputResponses": {"q": {"action": "accept", "content": {"name": "B"}}},
            "requestState": pending["requestState"],
        }
        result = await w.pool.request("plain", "tools/call", params, caller=caller)
        assert result["content"][0]["text"] == 'accept: {"name": "B"}'
        assert not caller.asked


async def test_log_lines_of_a_call_go_to_its_caller() -> None:
    """In both eras; the new one sends none unless the caller asked for a level."""
    async with world(inside("legacy", name="old"), inside(name="new")) as w:
        await w.call("old", "log", text="a")
        await w.call("old", "echo", text="x")
        assert [line["data"] for line in w.caller.logs] == ["a"]
        await w.call("new", "log", text="b")
        assert len(w.caller.logs) == 1
        await w.pool.request("new", "logging/setLevel", {"level": "info"}, caller=w.caller)
        await w.call("new", "log", text="c")
        await w.call("new", "echo", text="x")
        assert [line["data"] for line in w.caller.logs] == ["a", "c"]


async def test_a_level_asked_for_in_a_request_is_set_at_an_old_server() -> None:
    """The client of the new era asks in `_meta`; the old server is told once, and the field does not pass."""
    meta = {"io.modelcontextprotocol/logLevel": "debug", "mine": 1}
    async with world(raw("--capabilities", '{"tools": {}, "logging": {}}')) as w:
        params = {"name": "echo", "arguments": {}, "_meta": meta}
        with pytest.raises(RemoteError, match="Method not found"):
            await w.pool.request("raw", "tools/call", params, caller=w.caller)
        await w.pool.request("raw", "tools/call", params, caller=w.caller)
        assert (await w.data("raw", "seen"))["methods"].count("logging/setLevel") == 1
    async with world(inside("legacy")) as w:
        params = {"name": "about", "arguments": {}, "_meta": meta}
        about = await w.pool.request("plain", "tools/call", params, caller=w.caller)
        assert set(about["structuredContent"]["meta"]) == {"mine", "progress_token"}


async def test_requests_that_the_new_era_lacks_are_answered_here() -> None:
    """`ping` and subscriptions work on both eras; changes of a watched resource become events."""
    async with world(inside(name="new"), inside("legacy", name="old")) as w:
        for name in ("new", "old"):
            assert await w.pool.request(name, "ping", {}, caller=w.caller) == {}
            uri = {"uri": plain_server.TEXT_URI}
            await w.pool.request(name, "resources/subscribe", uri, caller=w.caller)
            await w.call(name, "greet", text="changed")
            seen = await w.events.until(lambda event, name=name: (event.server, event.what) == (name, "resource"))  # type: ignore[misc]
            assert seen.detail == plain_server.TEXT_URI
            await w.pool.request(name, "resources/unsubscribe", uri, caller=w.caller)


async def test_watched_resources_are_watched_again_over_a_new_connection() -> None:
    """The subscription outlives the connection, in both eras."""
    async with world(inside(name="new"), inside("legacy", name="old")) as w:
        for name in ("new", "old"):
            uri = {"uri": plain_server.TEXT_URI}
            await w.pool.request(name, "resources/subscribe", uri, caller=w.caller)
            await w.pool.restart(name)
            await w.call(name, "echo", text="back")
            await w.call(name, "greet", text="changed")
            await w.events.until(lambda event, name=name: (event.server, event.what) == (name, "resource"))  # type: ignore[misc]


@pytest.mark.parametrize("era", ["legacy", "auto"])
async def test_a_changed_list_becomes_an_event(era: Era) -> None:
    """Told by notification in the old era, over the stream of news in the new one."""
    async with world(inside(era)) as w:
        before = await w.pool.take_snapshot("plain")
        await w.call("plain", "change", name="extra")
        await w.events.until(lambda event: event.what == "tools")
        after = await w.pool.take_snapshot("plain")
        assert {tool["name"] for tool in after.tools} - {tool["name"] for tool in before.tools} == {"extra"}
