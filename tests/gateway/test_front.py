"""The eight tools at work."""

from __future__ import annotations

from typing import Any

import pytest

from anyact_server.errors import RemoteError
from anyact_server.gateway import Front, ready
from anyact_server.gateway.front import MOST_INTENTS, read_call, read_tasks
from anyact_server.gateway.reading import read
from anyact_server.interfaces import Caller
from anyact_server.telemetry import MASK
from anyact_server.types import JsonObject, Kind, Observation, Principal, ServerState, ServerStatus

from .twins import READ_ONLY, TwinCaller, World, action, failure, observation, world

pytestmark = pytest.mark.anyio


async def _fail(arguments: JsonObject, caller: Caller) -> Observation:
    return failure(Kind.CRASHED, "the server died")


def _world(**more: Any) -> World:
    actions = [action("git", "log", hints=READ_ONLY), action("git", "push"), action("web", "fetch")]
    return world(actions, behaviours={"web__fetch": _fail}, **more)


async def _call(here: World, name: str, arguments: Any = None, principal: str = "local") -> dict[str, Any]:
    found = await Front(ready(here.parts)).call(name, arguments, TwinCaller(Principal(principal)))
    assert found is not None
    return found


def _text(result: dict[str, Any]) -> str:
    return str(result["content"][0]["text"])


@pytest.mark.parametrize("intents", ["log", ["log"], '["log"]'])
async def test_a_search_takes_one_intent_or_several(intents: Any) -> None:
    """A bare string is a list of one."""
    result = await _call(_world(), "search_actions", {"intents": intents})
    facts = result["structuredContent"]
    assert facts.pop("tokens") == {"shown": pytest.approx(100, abs=60), "budget": 6000}
    assert facts == {"status": "ok", "actions": ["git__log"], "shown": 1, "total": 1}
    assert "1. git__log: Does log on git." in _text(result)
    assert result["isError"] is False


async def test_a_search_passes_its_filters_and_tells_what_was_odd() -> None:
    """Unknown servers and keys are reported, limits are brought within bounds, the many intents are cut."""
    here = _world()
    intents = [f"need {number}" for number in range(MOST_INTENTS + 1)]
    result = await _call(
        here, "search_actions", {"query": intents, "limit": 99, "servers": ["git", "nope"], "colour": "red"}
    )
    assert here.space.queries[0].limit == 50
    assert here.space.queries[0].servers == ("git", "nope")
    assert len(here.space.queries[0].intents) == MOST_INTENTS
    for part in (
        "`limit` 99 was taken as 50",
        "No such server: nope. Servers: git, web.",
        "colour",
        "Only the first 20",
    ):
        assert part in _text(result)


async def test_a_degraded_search_is_partial() -> None:
    """And says why."""
    here = _world()
    here.space.degraded = "the encoder is off"
    result = await _call(here, "search_actions", {"intents": "log"})
    assert result["structuredContent"]["status"] == "partial"
    assert "the encoder is off" in _text(result)


async def test_a_search_tells_of_servers_that_were_not_read_yet() -> None:
    """Their actions are not missing, only not known."""
    here = world([action(f"s{number}", "a") for number in range(7)])
    for number in range(6):
        here.catalog.forget(f"s{number}")
    text = _text(await _call(here, "search_actions", {"intents": "zzz"}))
    assert "nothing of them is found: s0 (ready), s1 (ready), s2 (ready), s3 (ready), s4 (ready) and 1 more" in text


@pytest.mark.parametrize(
    ("name", "arguments", "message"),
    [
        ("search_actions", {}, "`intents` is missing"),
        ("search_actions", [1], "the arguments must be an object"),
        ("search_actions", {"intents": "x", "detail": "all"}, "`detail` is 'all'"),
        ("describe_actions", {}, "`actions` is missing"),
        ("call_action", {}, "`action` is missing"),
        ("call_action", {"action": "git__log", "timeout_s": "soon"}, "`timeout_s` must be a number"),
        ("run_actions", {}, "`tasks` is missing"),
        ("run_actions", {"tasks": [{"id": "a"}]}, "task 1: `action` is missing"),
        ("read_run", {}, "`run` is missing"),
        ("read_run", {"run": "run_9"}, "no run 'run_9'"),
        ("read_observation", {}, "`handle` is missing"),
        ("read_observation", {"handle": "obs_x"}, "no handle 'obs_x'"),
        ("servers", {"server": "nope"}, "No server is called 'nope'"),
        ("servers", {"restart": True}, "`restart` needs `server`"),
    ],
)
async def test_every_mistake_ends_in_one_clear_message(name: str, arguments: Any, message: str) -> None:
    """As an error result with its kind, never as an exception."""
    result = await _call(_world(), name, arguments)
    assert result["isError"] is True
    assert message in _text(result)
    assert result["structuredContent"]["error"]["kind"] in ("invalid_args", "not_found")


async def test_descriptions_are_given_for_what_is_known() -> None:
    """Unknown ones among them are told; unknown ones alone are an error with suggestions."""
    here = _world()
    result = await _call(here, "describe_actions", {"tool": ["git__log", "nope", "git__log"]})
    assert result["structuredContent"]["actions"] == ["git__log"]
    assert "no action is called 'nope'" in _text(result)
    alone = await _call(here, "describe_actions", {"actions": "nope"})
    assert alone["structuredContent"]["error"]["kind"] == "unknown_action"
    none = await _call(here, "describe_actions", {"actions": ["nope", "nada"]})
    assert "'nope'" in _text(none)
    assert "'nada'" in _text(none)


@pytest.mark.case("S4")
@pytest.mark.parametrize(
    ("arguments", "passed"),
    [
        ({"action": "git__push"}, None),
        ({"action": "git__push", "arguments": None}, None),
        ({"action": "git__push", "arguments": {"text": None}}, {"text": None}),
        ({"action": "git__push", "arguments": '{"text": "x"}'}, '{"text": "x"}'),
        ({"tool": "git__push", "args": {"text": "x"}}, {"text": "x"}),
        ({"action": "git__push", "text": "x", "name": "y"}, {"text": "x", "name": "y"}),
        ({"arguments": {"action": "git__push", "arguments": {"text": "x"}}}, {"text": "x"}),
        ('{"action": "git__push", "arguments": {}}', {}),
    ],
)
async def test_a_call_is_understood_however_it_is_wrapped(arguments: Any, passed: Any) -> None:
    """The arguments go to dispatch as they came: it unwraps them for every route alike."""
    here = _world()
    result = await _call(here, "call_action", arguments)
    assert (here.space.calls[0].action, here.space.calls[0].arguments) == ("git__push", passed)
    assert result["isError"] is False


async def test_a_call_passes_its_limits() -> None:
    """Seconds and tokens; zero seconds is no limit of its own."""
    here = _world()
    await _call(here, "call_action", {"action": "git__log", "timeout_s": "5", "budget_tokens": 50})
    await _call(here, "call_action", {"action": "git__log", "timeout_s": 0})
    assert (here.space.calls[0].timeout_s, here.space.calls[0].budget_tokens) == (5.0, 100)
    assert here.space.calls[1].timeout_s is None


@pytest.mark.case("O1")
async def test_a_failed_call_is_an_error_result() -> None:
    """With its kind; not a protocol error."""
    result = await _call(_world(), "call_action", {"action": "web__fetch", "arguments": {"text": "x"}})
    assert result["isError"] is True
    assert result["structuredContent"]["error"]["kind"] == "crashed"


@pytest.mark.case("Z2")
async def test_query_action_refuses_what_is_not_declared_read_only() -> None:
    """Silence of the server counts as not read-only."""
    here = _world()
    refused = await _call(here, "query_action", {"action": "git__push"})
    assert refused["structuredContent"]["error"]["kind"] == "refused_by_policy"
    allowed = await _call(here, "query_action", {"action": "git__log"})
    assert allowed["isError"] is False
    assert all(call.read_only for call in here.space.calls)


@pytest.mark.case("I2")
async def test_a_run_gives_one_entry_per_task_in_order() -> None:
    """Each with its own state; one that fails takes no other with it."""
    here = _world()
    tasks = [
        {"id": "one", "action": "git__log", "arguments": {"text": "a"}},
        {"name": "two", "tool": "web__fetch", "on_error": "continue"},
        {"action": "git__push", "depends_on": "one", "odd": 1},
        {"id": "four", "action": "nope"},
    ]
    result = await _call(here, "run_actions", {"tasks": tasks, "max_parallel": 99, "wait_s": 2})
    assert [task["id"] for task in result["structuredContent"]["tasks"]] == ["one", "two", "3", "four"]
    assert [task["state"] for task in result["structuredContent"]["tasks"]] == ["done", "failed", "done", "failed"]
    given, most, wait = here.runs.asked[0]
    assert (most, wait) == (16, 2.0)
    assert given[1].on_error == "continue"
    assert given[2].depends_on == ("one",)
    assert "run_actions, task 3 knows no such argument: odd" in _text(result)


async def test_a_run_is_read_and_cancelled_by_its_id() -> None:
    """By its owner alone."""
    here = _world()
    await _call(here, "run_actions", {"tasks": {"action": "git__log"}})
    assert "run_1: done" in _text(await _call(here, "read_run", {"run": "run_1", "wait_s": 1}))
    assert "run_1: cancelled" in _text(await _call(here, "run_actions", {"cancel": "run_1"}))
    assert (await _call(here, "read_run", {"run": "run_1"}, principal="other"))["isError"] is True


async def test_an_observation_is_read_by_its_handle() -> None:
    """With view, query, offset and limit."""
    result = await _call(
        _world(), "read_observation", {"handle": "obs_known", "view": "grep", "query": "x", "offset": 5, "limit": "7"}
    )
    assert _text(result) == "grep x 5 7"


@pytest.mark.case("D2")
async def test_servers_are_listed_alone_and_restarted_by_name() -> None:
    """Without touching the others."""
    here = _world()
    assert "- web [memory] ready" in _text(await _call(here, "servers"))
    result = await _call(here, "servers", {"server": "git", "restart": "true"})
    assert here.downstreams.restarted == ["git"]
    assert "web" not in _text(result)


async def test_a_restart_that_is_not_allowed_or_fails_says_so() -> None:
    """The setting is named."""
    forbidden = await _call(_world(restart_allowed=False), "servers", {"server": "git", "restart": True})
    assert forbidden["structuredContent"]["error"]["kind"] == "refused_by_policy"
    here = world([action("broken", "a")])
    assert "broken does not start" in _text(await _call(here, "servers", {"server": "broken", "restart": True}))


@pytest.mark.case("A1")
async def test_secrets_in_a_servers_error_are_masked() -> None:
    """Whatever the status holds."""
    MASK.protect(["s3cret-value"])
    statuses = [ServerStatus("git", "http", ServerState.FAILED, error="401 for s3cret-value")]
    result = await _call(world([action("git", "log")], statuses=statuses), "servers")
    assert "s3cret-value" not in str(result)
    assert "401 for ***" in _text(result)


@pytest.mark.case("Z2")
async def test_hidden_servers_and_actions_are_nowhere() -> None:
    """Not in the table of servers, not in hints, not by direct call."""
    here = _world()
    here.space.hidden["guest"] = frozenset({"web__fetch"})
    assert "web" not in _text(await _call(here, "servers", principal="guest"))
    assert "web" not in _text(await _call(here, "servers", {"server": "web"}, principal="guest")).replace("'web'", "")
    assert await Front(ready(here.parts)).call("web__fetch", {}, TwinCaller(Principal("guest"))) is None


async def test_an_action_may_be_called_as_a_tool_of_its_own() -> None:
    """Listed or not; what is no action is no tool."""
    front = Front(ready(_world().parts))
    result = await front.call("git__log", {"text": "x"}, TwinCaller())
    assert result is not None
    assert _text(result) == "git__log was called with {'text': 'x'}"
    assert await front.call("nope", {}, TwinCaller()) is None


def test_flattened_arguments_are_noted() -> None:
    """So that the model learns."""
    reading = read("call_action", {"action": "a", "text": "x"})
    assert read_call(reading).arguments == {"text": "x"}
    assert reading.close() == ("The arguments stood beside `action`; put them inside `arguments`.",)


def test_tasks_may_be_called_calls() -> None:
    """And limits belong to each."""
    (task,) = read_tasks(read("run_actions", {"calls": [{"action": "a", "timeout_s": 3, "budget_tokens": 200}]}))
    assert (task.id, task.call.timeout_s, task.call.budget_tokens) == ("1", 3.0, 200)


async def test_what_the_client_refuses_comes_as_an_error_not_as_a_crash() -> None:
    """A twin caller answers no question; the action's own behaviour decides what follows."""

    async def ask(arguments: JsonObject, caller: Caller) -> Observation:
        try:
            await caller.ask("elicitation/create", {})
        except RemoteError as error:
            return observation(error.message, is_error=True)
        return observation("answered")

    here = world([action("a", "ask")], behaviours={"a__ask": ask})
    assert _text(await _call(here, "call_action", {"action": "a__ask"})) == "cannot answer elicitation/create"
