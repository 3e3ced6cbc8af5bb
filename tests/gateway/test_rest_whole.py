"""REST before the real rooms, with real servers on real ports."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import anyio
import httpx2
import pytest

from anyact_server.access import Rules
from anyact_server.gateway import Parts
from anyact_server.interfaces import Caller
from anyact_server.types import (
    JsonObject,
    Observation,
    ServerSpec,
)
from tests.dispatch.whole import inside, spec

from .clients import Tokens
from .twins import action, observation, world
from .web import asking, rooms, served, web_app

pytestmark = pytest.mark.anyio

# --- the real rooms


@pytest.fixture
async def whole(tmp_path: Path) -> AsyncIterator[Parts]:
    """The real rooms over the fixture server, in this process and in one of its own."""
    policy = Rules(deny=["secret__*"])
    with anyio.fail_after(55):
        async with rooms(tmp_path, inside("plain"), spec("piped"), inside("secret"), policy=policy) as parts:
            yield parts


async def _call(http: httpx2.AsyncClient, name: str, arguments: Any = None, **more: Any) -> httpx2.Response:
    return await http.post("/v1/call", json={"action": name, "arguments": arguments, **more})


@pytest.mark.case("S4")
async def test_arguments_in_odd_wrapping_are_taken_the_documented_way(whole: Parts) -> None:
    """As through the tool: null is nothing, a string that holds an object is that object, other things are refused."""
    async with asking(web_app(whole)) as http:
        for sum_of in ({"a": 1, "b": 2}, '{"a": 1, "b": 2}', {"arguments": {"a": 1, "b": 2}}):
            good = await _call(http, "plain__add", sum_of)
            assert good.status_code == 200 and good.json()["observation"]["data"] == {"sum": 3}
        blanks: tuple[Any, ...] = (None, {}, "", "null")
        for nothing in blanks:
            assert (await _call(http, "plain__get", nothing)).status_code == 200
        assert (await http.post("/v1/call", json={"action": "plain__get"})).status_code == 200
        for wrong in ([1], 3, "[1]", "words", True):
            refused = await _call(http, "plain__get", wrong)
            assert (refused.status_code, refused.json()["error"]["kind"]) == (422, "invalid_args")
        kept = await _call(http, "plain__progress", {"steps": None})
        assert kept.json()["observation"].get("error", {}).get("kind") != "invalid_args"


@pytest.mark.case("O1")
async def test_a_failure_of_the_tool_and_one_of_the_protocol_stay_apart(whole: Parts) -> None:
    """Neither is a success, each says how it was found; alone and in a run."""
    async with asking(web_app(whole)) as http:
        tool = (await _call(http, "plain__fail", {"text": "disk full"})).json()
        protocol = (await _call(http, "plain__error")).json()
        assert (tool["error"]["detected_by"], protocol["error"]["detected_by"]) == ("isError", "jsonrpc")
        assert tool["observation"]["is_error"] is True and "disk full" in tool["observation"]["text"]
        tasks = [{"action": "plain__fail"}, {"action": "plain__error"}, {"action": "plain__get"}]
        run = (await http.post("/v1/runs", json={"tasks": tasks})).json()
    assert [task["state"] for task in run["tasks"]] == ["failed", "failed", "done"]
    assert run["tasks"][0]["observation"]["is_error"] is True
    assert run["tasks"][0]["observation"]["error"]["detected_by"] == "isError"


@pytest.mark.case("O7")
async def test_what_can_happen_downstream_has_its_status(whole: Parts) -> None:
    """A dead server, a limit, bad arguments, an unknown and a hidden action."""
    async with asking(web_app(whole)) as http:
        for name, arguments, more, status, kind in (
            ("plain__echo", {"text": "x"}, {}, 200, None),
            ("plain__echo", {"text": 5}, {}, 422, "invalid_args"),
            ("plain__slow", {"seconds": 30}, {"timeout_s": 0.05}, 504, "timeout"),
            ("piped__die", {}, {}, 502, "crashed"),
            ("nope", {}, {}, 404, "unknown_action"),
            ("secret__echo", {"text": "x"}, {}, 404, "unknown_action"),
        ):
            answer = await _call(http, name, arguments, **more)
            assert answer.status_code == status, answer.text
            assert answer.json().get("error", {}).get("kind") == kind


@pytest.mark.case("Z2")
async def test_hidden_actions_and_servers_are_nowhere(whole: Parts) -> None:
    """Not in lists, nor in search, nor in what was perhaps meant."""
    async with asking(web_app(whole)) as http:
        for path in ("/v1/actions?limit=1000", "/v1/search?q=echo&limit=50", "/v1/servers", "/v1/actions/secret__ech"):
            assert "secret__echo" not in (await http.get(path)).text
        hidden = await http.get("/v1/actions/secret__echo")
        unknown = await http.get("/v1/actions/secret__ecjo")
        assert hidden.json()["error"]["message"] == unknown.json()["error"]["message"].replace("ecjo", "echo")
        assert (await http.get("/v1/servers/secret")).status_code == 404


@pytest.mark.case("B1")
async def test_a_large_result_is_shown_in_part_and_read_by_its_handle(whole: Parts) -> None:
    """Under a ceiling, and the rest is there."""
    async with asking(web_app(whole)) as http:
        large = await _call(http, "plain__big", {"size": 5_000_000})
        assert large.status_code == 200 and len(large.content) < 50_000
        handle = large.json()["observation"]["handle"]
        part = await http.get(f"/v1/observations/{handle}?view=raw&offset=4999000")
        assert part.status_code == 200 and "xxx" in part.json()["observation"]["text"]
        assert (await http.get(f"/v1/observations/{handle}?offset=9999999")).status_code == 400


@pytest.mark.case("X2")
async def test_ids_and_needs_of_any_length_end_well(whole: Parts) -> None:
    """Nothing is repeated at full length."""
    async with asking(web_app(whole)) as http:
        for body in ({"action": "x" * 5_000_000}, {"action": "x" * 1_000_000}, {"action": "x" * 90_000}):
            refused = await http.post("/v1/call", json=body)
            assert refused.status_code in (400, 404, 413) and len(refused.content) < 3000
        search = await http.post("/v1/search", json={"intents": ["y" * 1_000_000]})
        assert search.status_code == 400 and len(search.content) < 1000


async def test_a_client_that_leaves_cancels_its_call(whole: Parts) -> None:
    """At the server, on a real port."""
    began, ended = anyio.Event(), anyio.Event()

    async def forever(arguments: JsonObject, caller: Caller) -> Observation:
        began.set()
        try:
            await anyio.sleep_forever()
        finally:
            ended.set()
        return observation("never")

    made = world([action("demo", "forever")], behaviours={"demo__forever": forever})
    async with served(web_app(made.parts)) as url, httpx2.AsyncClient(base_url=url) as http:
        with anyio.fail_after(10):
            async with anyio.create_task_group() as group:
                group.start_soon(_call, http, "demo__forever")
                await began.wait()
                group.cancel_scope.cancel()
            await ended.wait()


async def test_a_client_that_leaves_no_longer_waits_for_a_run(whole: Parts) -> None:
    """The run goes on, and can be cancelled."""
    async with served(web_app(whole)) as url, httpx2.AsyncClient(base_url=url, timeout=20) as http:
        task = {"action": "plain__slow", "arguments": {"seconds": 30}}
        run = await http.post("/v1/runs", json={"tasks": [task], "wait_s": 0})
        assert run.status_code == 202
        place = run.headers["location"]
        with anyio.move_on_after(0.2) as scope:
            await http.get(f"{place}?wait_s=60")
        assert scope.cancelled_caught
        assert (await http.get(place)).json()["done"] is False
        cancelled = (await http.delete(place)).json()
    assert cancelled["cancelled"] is True and cancelled["tasks"][0]["state"] == "cancelled"


@pytest.mark.case("A2")
async def test_no_header_of_a_client_reaches_a_server_that_does_not_name_it(tmp_path: Path) -> None:
    """Neither Authorization, nor cookies, nor any other."""
    with anyio.fail_after(55):
        async with rooms(tmp_path, ServerSpec("plain", "memory")) as parts:
            tokens = Tokens(**{"sk-caller-1": "ada"})
            headers = {"Authorization": "Bearer sk-caller-1", "Cookie": "c=sk-cookie-2", "X-Test": "sk-test-3"}
            async with asking(web_app(parts, tokens=tokens), **headers) as http:
                seen = await _call(http, "plain__about")
    assert seen.status_code == 200
    assert not any(word in json.dumps(seen.json()) for word in ("sk-caller-1", "sk-cookie-2", "sk-test-3"))
