"""Observations, runs and servers as tool results."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anyact_server.errors import UnknownAction, UnknownHandle, UsageError
from anyact_server.gateway.render import BYTES_PER_TOKEN, size
from anyact_server.gateway.reports import (
    LEAST_TASK_BYTES,
    direct,
    duration,
    failed,
    fair_share,
    listed,
    observed,
    ran,
    run_text,
    servers_text,
)
from anyact_server.types import (
    Elision,
    ErrorInfo,
    Fault,
    Kind,
    RunReport,
    ServerState,
    ServerStatus,
    TaskReport,
    TaskState,
)

from .twins import failure, observation

IMAGE = {"type": "image", "data": "aGk=", "mimeType": "image/png"}


@pytest.mark.case("O1")
def test_the_error_flag_and_its_content_survive() -> None:
    """Text, image and structured facts of an error."""
    seen = failure(Kind.TIMEOUT, "no answer within 60 s")
    result = observed(seen)
    assert result["isError"] is True
    assert result["content"][0] == {"type": "text", "text": "timeout: no answer within 60 s"}
    assert result["structuredContent"]["error"]["kind"] == "timeout"
    assert observed(observation("x"))["isError"] is False


@pytest.mark.case("B2")
def test_media_blocks_stay_blocks_and_never_become_text() -> None:
    """Beside the text, unchanged, also on an error; the structured part holds none of it."""
    result = observed(observation("a picture", blocks=(IMAGE,), is_error=True))
    assert result["content"][1] == IMAGE
    assert "aGk=" not in str(result["structuredContent"]) + result["content"][0]["text"]


@pytest.mark.case("O4")
def test_an_observation_without_a_body_shows_its_summary() -> None:
    """An empty success is still an answer."""
    empty = observation("")
    result = observed(
        type(empty)(**{**{name: getattr(empty, name) for name in empty.__slots__}, "summary": "done, nothing returned"})
    )
    assert result["content"] == [{"type": "text", "text": "done, nothing returned"}]
    assert result["isError"] is False


def test_structured_content_holds_only_facts() -> None:
    """Status, id, action, handle, error, suspicion and token counts; never the data."""
    suspicion = ErrorInfo(Kind.NOT_FOUND, "looks empty", Fault.CALLER, False, "after_change", 2.5, alternatives=("b",))
    result = observed(observation("t", data={"big": "x"}, handle="obs_1", suspected=suspicion, action="a"), ["a note"])
    assert result["content"][0]["text"] == "t\ninstead: b\na note"
    assert result["structuredContent"] == {
        "status": "ok",
        "id": "obs_0123456789abcdef",
        "action": "a",
        "handle": "obs_1",
        "suspected": {
            "kind": "not_found",
            "message": "looks empty",
            "retryable": False,
            "retry": "after_change",
            "retry_after_s": 2.5,
            "alternatives": ["b"],
        },
        "tokens": {"shown": 3, "raw": 3, "budget": 4000},
    }


def test_a_direct_answer_passes_structured_data_that_was_shown_whole() -> None:
    """Not what was cut, not lists, not on errors."""
    assert direct(observation("t", data={"a": 1}))["structuredContent"] == {"a": 1}
    for held in (
        observation("t", data=[1]),
        observation("t", data={"a": 1}, elided=(Elision("/a", "string", 5),)),
        observation("t", data={"a": 1}, is_error=True),
        observation("t"),
    ):
        assert "structuredContent" not in direct(held)


@pytest.mark.case("E1")
def test_lone_surrogates_never_reach_the_client() -> None:
    """They cannot be sent as UTF-8."""
    assert observed(observation("a\ud83d"))["content"][0]["text"] == "a?"


def test_an_error_of_the_front_names_cause_and_cure() -> None:
    """As text for the model and as facts for programs."""
    result = failed(UsageError("`x` is missing.", hint="Give x."))
    assert result["isError"] is True
    assert result["content"][0]["text"] == "invalid_args: `x` is missing.\nGive x."
    assert result["structuredContent"]["error"]["retry"] == "after_change"
    unknown = failed(UnknownAction("no action is called 'a'", suggestions=["b", "c"]))
    assert unknown["content"][0]["text"].endswith("Perhaps: b, c")
    assert unknown["structuredContent"]["error"]["alternatives"] == ["b", "c"]
    named = failed(UnknownAction("'a' is b or c", suggestions=["b", "c"]))
    assert named["content"][0]["text"] == "unknown_action: 'a' is b or c"
    assert failed(UnknownHandle("no"))["structuredContent"]["error"]["kind"] == "not_found"


def _report(count: int, body: str = "fine", state: TaskState = "done", **more: Any) -> RunReport:
    tasks = [TaskReport(f"t{n}", "s__a", state, observation(body), 0.0, 1.5) for n in range(count)]
    return RunReport("run_1", True, tasks, **more)


@pytest.mark.case("I2")
def test_a_run_shows_every_task_in_order_with_its_own_state() -> None:
    """Success, error, refusal and a task that still runs; the run itself is no error."""
    tasks = [
        TaskReport("a", "s__a", "done", observation("fine", blocks=(IMAGE,)), 0.0, 0.5),
        TaskReport("b", "s__b", "failed", failure(Kind.TIMEOUT, "too slow"), 0.0, 1.0),
        TaskReport("c", "s__c", "refused", reason="over the limit of 500 tasks"),
        TaskReport("d", "s__d", "running"),
    ]
    result = ran(RunReport("run_1", False, tasks, seconds=1.0), tokens=4000, notes=["a note"])
    assert result["content"][0]["text"] == (
        "Run run_1: still running after 1.0 s; 4 tasks: 1 done, 1 failed, 1 refused, 1 running."
        ' read_run(run="run_1") gives the rest.\n\n'
        "[a] s__a: done (0.00 s to 0.50 s)\nfine\n\n"
        "[b] s__b: failed (0.00 s to 1.00 s)\ntimeout: too slow\n\n"
        "[c] s__c: refused\nover the limit of 500 tasks\n\n"
        "[d] s__d: running\n\n"
        "a note"
    )
    assert result["content"][1] == IMAGE
    assert result["isError"] is False
    facts = result["structuredContent"]
    assert facts["status"] == "pending"
    assert [task["id"] for task in facts["tasks"]] == ["a", "b", "c", "d"]
    assert facts["tasks"][1]["isError"] is True
    assert facts["tasks"][1]["observation"] == "obs_0123456789abcdef"
    assert facts["tasks"][2]["reason"] == "over the limit of 500 tasks"


@pytest.mark.case("I2")
def test_a_run_of_500_large_results_stays_within_its_ceiling() -> None:
    """Each task keeps its head line and a share; what is cut is named with the way to read it."""
    text = run_text(_report(500, "x" * 10_000), tokens=16_000)
    assert size(text) < 500 * (LEAST_TASK_BYTES + 120)
    assert text.count("bytes not shown") == 500
    assert 'read_run(run="run_1", tasks=["t499"])' in text


def test_small_results_stay_whole_beside_a_large_one() -> None:
    """They leave what they do not use to it."""
    tasks = [TaskReport(f"t{n}", "a", "done", observation("small")) for n in range(9)]
    tasks.append(TaskReport("big", "a", "done", observation("y" * 60_000)))
    text = run_text(RunReport("r", True, tasks), tokens=10_000)
    assert text.count("small") == 9
    assert size(text) > 25_000
    assert size(text) < 10_000 * BYTES_PER_TOKEN + 1000


def test_chosen_tasks_are_shown_whole() -> None:
    """And tasks that are not there are told."""
    text = run_text(_report(3, "z" * 90_000), tokens=1000, only=["t1", "nope"])
    assert "z" * 90_000 in text
    assert "[t0]" not in text
    assert "No such task in this run: nope." in text


def test_a_cancelled_or_empty_run_says_so() -> None:
    """In its first line."""
    assert run_text(_report(1, cancelled=True), tokens=100).startswith("Run run_1: cancelled after 0.0 s; 1 task")
    assert run_text(RunReport("r", True), tokens=100) == "Run r: done after 0.0 s; 0 tasks: none."


@given(st.lists(st.integers(0, 5000), max_size=40), st.integers(0, 50_000))
def test_shares_fit_the_room_or_are_the_least(sizes: list[int], room: int) -> None:
    """Nobody gets less than the least, and small ones are never cut below their size for nothing."""
    share = fair_share(sizes, room)
    used = sum(min(size_, share) for size_ in sizes)
    assert used <= room or share <= LEAST_TASK_BYTES


@pytest.mark.case("D2")
def test_the_table_of_servers_tells_which_one_failed_and_why() -> None:
    """Name, transport, state, actions, since when, last error, next try."""
    statuses = [
        ServerStatus("git", "stdio", ServerState.READY, 12, since=900.0),
        ServerStatus(
            "web",
            "http",
            ServerState.FAILED,
            3,
            True,
            940.0,
            1030.0,
            "connection refused",
            restarts=2,
            warnings=("odd",),
        ),
    ]
    assert servers_text(statuses, now=1000.0, notes=["a note"]) == (
        "2 servers, 1 in trouble.\n"
        "- git [stdio] ready: 12 actions; for 100 s\n"
        "- web [http] failed: 3 actions (could not be checked lately); for 60 s; 2 restarts; connection refused;"
        " next try in 30 s; warning: odd\n"
        "a note"
    )
    assert "connection refused; next try with the next call" in servers_text(statuses, now=1100.0)
    assert listed(statuses, now=1000.0)["structuredContent"]["servers"][1] == {
        "server": "web",
        "state": "failed",
        "actions": 3,
    }
    assert servers_text([], now=0.0).startswith("No server is configured.")
    assert servers_text(statuses[:1], now=0.0).startswith("1 server, none in trouble.")


@pytest.mark.case("S1")
def test_warnings_are_few_in_a_table_and_all_of_a_server_alone() -> None:
    """What was left out of a list of tools, and why, is one question away."""
    odd = ServerStatus("odd", "stdio", ServerState.READY, warnings=tuple(f"tool {n} has no schema" for n in range(5)))
    assert "; 2 more warnings: name the server to see them" in servers_text([odd], now=0.0)
    assert "tool 4 has no schema" in listed([odd], now=0.0, alone=True)["content"][0]["text"]


@pytest.mark.parametrize(
    ("seconds", "words"),
    [(-5, "0 s"), (5.4, "5 s"), (119, "119 s"), (120, "2 min"), (7200, "2 h"), (86400, "24 h"), (200_000, "2 days")],
)
def test_durations_are_told_in_words(seconds: float, words: str) -> None:
    """In the unit that a person would choose."""
    assert duration(seconds) == words
