"""REST before twins in this process: what is asked, what is answered."""

from __future__ import annotations

import socket
from typing import Any

import anyio
import anyio.to_thread
import httpx2
import pytest

from anyact_server.interfaces import Caller
from anyact_server.types import (
    KINDS,
    Hints,
    JsonObject,
    Kind,
    Observation,
    RunReport,
    ServerState,
    ServerStatus,
    Snapshot,
)

from .clients import Tokens
from .twins import READ_ONLY, World, action, failure, observation, world
from .web import asking, asking_world, served, web_app

pytestmark = pytest.mark.anyio

ODD = "a/b c?#%é/call"


def _world(**more: Any) -> World:
    async def fails(arguments: JsonObject, caller: Caller) -> Observation:
        return failure(Kind(arguments["kind"]), "it went wrong")

    async def headers(arguments: JsonObject, caller: Caller) -> Observation:
        asked = "none"
        try:
            await caller.ask("elicitation/create", {})
        except Exception as error:  # noqa: BLE001  # any refusal will do
            asked = type(error).__name__
        await caller.progress(1, 2, "half")
        await caller.log({"level": "info"})
        return observation("seen", data={"x": caller.headers.get("x-test"), "asked": asked})

    actions = [
        action("demo", "echo", hints=READ_ONLY, tags=("t1",)),
        action("demo", "fails"),
        action("demo", "headers"),
        action("other", "echo", hints=Hints(read_only=False), tags=("t2",)),
        action("odd", ODD),
    ]
    return world(actions, behaviours={"demo__fails": fails, "demo__headers": headers}, **more)


# --- search and actions


async def test_a_search_finds_by_one_need_or_several() -> None:
    """In both forms, with every filter passed on."""
    made = _world()
    async with asking_world(made) as http:
        short = await http.get(
            "/v1/search?q=echo&q=fails&limit=2&offset=0&server=demo&tag=t1&read_only=true&detail=full"
        )
        long = await http.post(
            "/v1/search",
            json={
                "intents": ["echo", "fails"],
                "limit": 2,
                "servers": ["demo"],
                "tags": ["t1"],
                "read_only": True,
                "detail": "full",
            },
        )
    assert short.status_code == 200 and short.json() == long.json()
    assert made.space.queries[0] == made.space.queries[1]
    assert made.space.queries[0].tags == ("t1",) and made.space.queries[0].read_only is True
    first = short.json()["hits"][0]
    assert first["id"] == "demo__echo" and first["input_schema"]["required"] == ["text"]
    assert short.json()["notes"] == [] and short.json()["degraded"] is None


async def test_a_search_says_what_was_missing() -> None:
    """A part of the search, or a server that is asked for."""
    made = _world()
    made.space.degraded = "the encoder failed"
    made.catalog.forget("odd")
    async with asking_world(made) as http:
        found = (await http.get("/v1/search?q=echo&server=demo&server=nope")).json()
    assert found["degraded"] == "the encoder failed"
    assert found["notes"][0] == "no server is called 'nope'"
    assert "Not read yet" in found["notes"][1] and "odd (ready)" in found["notes"][1]


@pytest.mark.parametrize("query", ["", "q=", "q=%20", "&".join(["q=a"] * 21), "q=a&limit=0", "q=a&detail=x", "q=a&z=1"])
async def test_a_search_without_a_need_or_with_a_mistake_is_refused(query: str) -> None:
    """With what is wanted."""
    async with asking_world(_world()) as http:
        refused = await http.get(f"/v1/search?{query}")
    assert refused.status_code == 422 and refused.json()["error"]["kind"] == "invalid_args"


async def test_actions_are_paged_and_filtered() -> None:
    """Until there is no next page."""
    async with asking_world(_world()) as http:
        page = (await http.get("/v1/actions?limit=2")).json()
        rest = (await http.get(f"/v1/actions?limit=100&offset={page['next_offset']}")).json()
        assert (page["total"], len(page["actions"]), len(rest["actions"]), rest["next_offset"]) == (5, 2, 3, None)
        for query, ids in (
            ("server=other", ["other__echo"]),
            ("tag=t1&tag=t2", ["demo__echo", "other__echo"]),
            ("read_only=true", ["demo__echo"]),
            ("read_only=false&server=demo", ["demo__fails", "demo__headers"]),
            ("server=nope", []),
        ):
            found = (await http.get(f"/v1/actions?{query}")).json()
            assert [one["id"] for one in found["actions"]] == ids


async def test_one_action_is_shown_in_full() -> None:
    """With schemas and reliability."""
    async with asking_world(_world()) as http:
        shown = (await http.get("/v1/actions/demo__echo")).json()
    assert shown["input_schema"]["required"] == ["text"] and shown["reliability"]["success"] == 0.9


@pytest.mark.case("O7")
async def test_ids_with_odd_characters_are_found_and_called() -> None:
    """Slashes, blanks, question marks, and the very words of other paths, encoded in the path."""
    made = _world()
    path = f"/v1/actions/{'odd__a%2Fb%20c%3F%23%25%C3%A9%2Fcall'}"
    async with served(web_app(made.parts)) as url, httpx2.AsyncClient(base_url=url) as http:
        assert (await http.get(path)).json()["name"] == ODD
        assert (await http.post(f"{path}/call", json={"arguments": {"text": "x"}})).status_code == 200
    assert made.space.calls[-1].action == f"odd__{ODD}"


# --- calls


async def test_a_call_passes_what_was_asked_and_gives_the_observation() -> None:
    """By the path and by the body."""
    made = _world()
    asked = {"arguments": {"text": "x"}, "timeout_s": 5, "budget_tokens": 200}
    async with asking_world(made) as http:
        first = await http.post("/v1/actions/demo__echo/call", json=asked)
        second = await http.post("/v1/call", json={"action": "demo__echo", **asked})
        third = await http.post("/v1/actions/demo__echo/call")
    assert [one.status_code for one in (first, second, third)] == [200] * 3
    assert first.json() == second.json()
    assert first.json()["observation"]["status"] == "ok"
    assert made.space.calls[0] == made.space.calls[1]
    assert (made.space.calls[0].timeout_s, made.space.calls[0].budget_tokens) == (5, 200)
    assert made.space.calls[2].arguments is None


async def test_a_query_calls_only_what_is_declared_read_only() -> None:
    """Everything else is refused by policy."""
    async with asking_world(_world()) as http:
        good = await http.post("/v1/query", json={"action": "demo__echo"})
        bad = await http.post("/v1/query", json={"action": "other__echo"})
    assert (good.status_code, bad.status_code) == (200, 403)
    assert bad.json()["error"]["kind"] == "refused_by_policy"


@pytest.mark.case("O7")
@pytest.mark.parametrize("kind", [kind for kind in Kind if KINDS[kind].status >= 400])
async def test_every_kind_of_failure_has_the_status_of_the_published_table(kind: Kind) -> None:
    """And one body with a machine-readable kind."""
    async with asking_world(_world()) as http:
        answer = await http.post("/v1/call", json={"action": "demo__fails", "arguments": {"kind": kind.value}})
    body = answer.json()
    assert answer.status_code == KINDS[kind].status
    assert body["error"]["kind"] == kind.value and body["error"]["message"] == "it went wrong"
    assert body["observation"]["is_error"] is True


@pytest.mark.case("A2")
async def test_the_headers_of_a_request_are_there_for_servers_that_name_them() -> None:
    """And nobody is there to answer a question, nor to hear of progress."""
    async with asking_world(_world()) as http:
        answer = await http.post("/v1/call", json={"action": "demo__headers"}, headers={"X-Test": "yes"})
    assert answer.json()["observation"]["data"] == {"x": "yes", "asked": "RemoteError"}


# --- runs, observations


async def test_a_run_is_started_read_and_cancelled() -> None:
    """One that goes on is 202 with its address."""
    made = _world()
    tasks = [{"tool": "demo__echo", "arguments": {"text": "x"}}, {"id": "f", "action": "nope"}]
    async with asking_world(made) as http:
        done = await http.post("/v1/runs", json={"tasks": tasks, "max_parallel": 2, "wait_s": 5})
        assert done.status_code == 200
        assert [task["id"] for task in done.json()["tasks"]] == ["1", "f"]
        assert [task["state"] for task in done.json()["tasks"]] == ["done", "failed"]
        assert made.runs.asked[0][1:] == (2, 5.0)
        assert (await http.get("/v1/runs/run_1?wait_s=1.5")).json()["done"] is True
        assert (await http.delete("/v1/runs/run_1")).json()["cancelled"] is True
        assert (await http.get("/v1/runs/nope")).status_code == 404
        assert (await http.get("/v1/runs/run_1?wait_s=x")).status_code == 422

        async def goes_on(*args: Any, **more: Any) -> RunReport:
            return RunReport("run_2", False)

        made.runs.start = goes_on  # type: ignore[method-assign]
        accepted = await http.post("/v1/runs", json={"tasks": tasks, "wait_s": 0})
        assert (accepted.status_code, accepted.headers["location"]) == (202, "/v1/runs/run_2")


async def test_what_an_observation_did_not_show_is_read() -> None:
    """By handle, with every view."""
    async with asking_world(_world()) as http:
        good = await http.get("/v1/observations/obs_known?view=grep&query=x&offset=3&limit=4&budget_tokens=500")
        assert good.json()["observation"]["text"] == "grep x 3 4"
        assert (await http.get("/v1/observations/obs_known")).json()["observation"]["text"] == "page None 0 None"
        assert (await http.get("/v1/observations/obs_other")).status_code == 404
        assert (await http.get("/v1/observations/obs_known?view=all")).status_code == 422


# --- servers, health, the rest


@pytest.mark.case("D2")
async def test_servers_are_shown_and_one_is_restarted_alone() -> None:
    """With every fact, the reason of a failure, and no other server touched."""
    down = ServerStatus("broken", "stdio", ServerState.DOWN, since=5.0, next_try=9.0, error="exit 1", kind=Kind.CRASHED)
    up = ServerStatus("demo", "memory", ServerState.READY)
    made = _world(statuses=[up, down], snapshots=[Snapshot("broken")])
    async with asking_world(made) as http:
        listed = (await http.get("/v1/servers")).json()["servers"]
        assert [one["server"] for one in listed] == ["demo", "broken"]
        assert listed[0]["actions"] == 3
        shown = (await http.get("/v1/servers/broken")).json()
        assert shown["error"] == "exit 1" and shown["next_try"] == 9.0 and shown["state"] == "down"
        restarted = await http.post("/v1/servers/demo/restart")
        assert restarted.json()["server"] == "demo" and made.downstreams.restarted == ["demo"]
        failed = await http.post("/v1/servers/broken/restart")
        assert (failed.status_code, failed.json()["error"]["server"]) == (502, "broken")
        for method, path in (("GET", "/v1/servers/nope"), ("POST", "/v1/servers/nope/restart")):
            assert (await http.request(method, path)).status_code == 404


async def test_restarting_can_be_forbidden() -> None:
    """By a setting."""
    made = _world(restart_allowed=False)
    async with asking_world(made) as http:
        assert (await http.post("/v1/servers/demo/restart")).status_code == 403
    assert not made.downstreams.restarted


@pytest.mark.case("X1")
async def test_no_route_adds_a_server() -> None:
    """Whoever reaches the port cannot make AnyAct run a command."""
    recipe = {"name": "mine", "command": "sh", "args": ["-c", "id"]}
    async with asking_world(_world()) as http:
        for method in ("POST", "PUT", "PATCH", "DELETE"):
            for path in ("/v1/servers", "/v1/servers/mine", "/v1/servers/demo"):
                assert (await http.request(method, path, json=recipe)).status_code == 405


@pytest.mark.case("O7")
@pytest.mark.parametrize("path", ["/v1", "/v1/", "/v1/nope", "/v1x", "/v1/search/more", "/v1/" + "x" * 3000])
async def test_unknown_paths_have_the_one_body_too(path: str) -> None:
    """Without repeating all of a long one."""
    async with asking_world(_world()) as http:
        missing = await http.get(path)
    assert missing.status_code == 404 and missing.json()["error"]["kind"] == "not_found"
    assert len(missing.content) < 500


@pytest.mark.parametrize("method", ["PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "PROPFIND"])
async def test_other_methods_are_told_those_that_are_known(method: str) -> None:
    """In `Allow`."""
    async with asking_world(_world()) as http:
        refused = await http.request(method, "/v1/search")
    assert (refused.status_code, refused.headers["allow"]) == (405, "GET, POST")
    assert refused.json()["error"]["hint"] == "Use GET, POST."


async def test_head_is_answered_like_get_without_a_body() -> None:
    """On a real port, where the server takes the body away."""
    async with served(web_app(_world().parts)) as url, httpx2.AsyncClient() as http:
        head = await http.head(f"{url}/v1/actions")
        assert head.status_code == 200 and not head.content and int(head.headers["content-length"]) > 100
        health = (await http.get(f"{url}/v1/health")).json()
        assert health["status"] == "ok" and health["actions"] == 5
        assert (await http.get(f"{url}/openapi.json")).json()["openapi"] == "3.1.0"


@pytest.mark.case("Z2")
async def test_rights_hold_on_every_route_and_hidden_looks_like_unknown() -> None:
    """For a principal that must not see an action: search, list, details, calls, runs, servers."""
    made = _world()
    made.space.hidden = {"ada": frozenset({"other__echo"})}
    async with asking(web_app(made.parts, tokens=Tokens(ada="ada", root="root")), Authorization="Bearer ada") as http:
        assert (await http.get("/v1/servers", headers={"Authorization": "Bearer no"})).status_code == 401
        assert "other" not in (await http.get("/v1/search?q=echo")).text
        assert (await http.get("/v1/actions")).json()["total"] == 4
        for path, hidden, unknown in (
            ("/v1/actions/{}", "other__echo", "other__nope"),
            ("/v1/servers/{}", "other", "nope"),
        ):
            one, two = await http.get(path.format(hidden)), await http.get(path.format(unknown))
            assert one.status_code == two.status_code == 404
            assert one.text.replace(hidden, unknown) == two.text
        for path in ("/v1/call", "/v1/query"):
            assert (await http.post(path, json={"action": "other__echo"})).status_code == 404
        run = await http.post("/v1/runs", json={"tasks": [{"action": "other__echo"}]})
        assert run.json()["tasks"][0]["observation"]["error"]["kind"] == "unknown_action"
        assert (await http.get("/v1/search?q=x&server=other")).json()["notes"] == ["no server is called 'other'"]
        assert (
            await http.get(f"/v1/runs/{run.json()['id']}", headers={"Authorization": "Bearer root"})
        ).status_code == 404
        seen = await http.get("/v1/actions/other__echo", headers={"Authorization": "Bearer root"})
        assert seen.status_code == 200


# --- bodies


@pytest.mark.case("X2")
@pytest.mark.parametrize("path", ["/v1/call", "/v1/search", "/v1/query", "/v1/runs", "/v1/actions/demo__echo/call"])
async def test_bad_bodies_are_refused_on_every_route_that_takes_one(path: str) -> None:
    """Bombs, other types, what is no JSON."""
    async with asking_world(_world(), body_bytes=250_000) as http:
        cases = [
            (b"[" * 100_000 + b"]" * 100_000, "application/json", 400),
            (b"{", "application/json", 400),
            (b"[]", "application/json", 422),
            (b'{"nope": 1}', "application/json", 422),
            (b"x" * 300_000, "application/json", 413),
            (b"{}", "text/plain", 415),
        ]
        for body, kind, status in cases:
            refused = await http.post(path, content=body, headers={"Content-Type": kind})
            assert refused.status_code == status, refused.text
            assert refused.json()["error"]["kind"] == "invalid_args" and len(refused.content) < 1000


def _bomb(port: int, length: bool) -> tuple[int, int]:
    """Post 200 MB by a raw socket; the status, and the bytes that were taken before it came."""
    framing = b"Content-Length: 200000000" if length else b"Transfer-Encoding: chunked"
    head = b"POST /v1/call HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n" + framing + b"\r\n\r\n"
    piece = b"x" * 65_536
    framed = piece if length else b"10000\r\n" + piece + b"\r\n"
    with socket.create_connection(("127.0.0.1", port), timeout=10) as sock:
        sock.sendall(head)
        sent = 0
        try:
            while sent < 200_000_000:
                sock.sendall(framed)
                sent += len(piece)
        except OSError:
            pass
        with sock.makefile("rb") as answer:
            return int(answer.readline().split()[1]), sent


@pytest.mark.case("X2")
@pytest.mark.parametrize("length", [True, False])
async def test_a_body_of_200_mb_is_refused_without_being_read(length: bool) -> None:
    """With and without a declared length; others are answered meanwhile."""
    async with served(web_app(_world().parts)) as url, httpx2.AsyncClient(base_url=url) as http:
        with anyio.fail_after(10):
            status, sent = await anyio.to_thread.run_sync(_bomb, int(url.rpartition(":")[2]), length)
        assert status == 413 and sent < 60_000_000
        assert (await http.get("/v1/actions/demo__echo")).status_code == 200
