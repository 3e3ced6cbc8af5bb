"""What reaches AnyAct from outside: web pages, huge requests, and programs that speak REST, over the whole product."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import anyio
import httpx2
import pytest

from tests.servers.plain import listening
from tests.servers.raw_http import RawHttp

from .limits import PATIENCE_S, lasting, within
from .product import Product, calls, configure, listed, plain, product, raw, tool, web

pytestmark = pytest.mark.anyio

PATHS = (
    "/mcp", "/mcp/", "/mcp/servers/one", "/sse", "/healthz", "/openapi.json", "/v1/health", "/v1/search?q=a",
    "/v1/actions", "/v1/actions/one__take", "/v1/actions/one__take/call", "/v1/call", "/v1/runs", "/v1/servers",
    "/v1/servers/one/restart", "/v1/observations/x", "/nowhere",
)  # fmt: skip
EVIL: tuple[Mapping[str, str], ...] = (
    {"host": "evil.example"},
    {"host": "127.0.0.1.evil.example"},
    {"origin": "https://evil.example"},
    {"origin": "null"},
    {"origin": "http://127.0.0.1.evil.example"},
    {"sec-fetch-site": "cross-site"},
)


async def statuses(running: Product, method: str, headers: Mapping[str, str]) -> dict[str, httpx2.Response]:
    """The answers of every path to a request with these headers."""
    body = {"action": "one__take", "arguments": {}}
    async with httpx2.AsyncClient(base_url=running.url, timeout=PATIENCE_S) as http:
        found = {}
        for path in PATHS:
            async with http.stream(
                method, path, headers=headers, json=body if method == "POST" else None
            ) as answer:  # streams are not read
                found[path] = answer
        return found


@pytest.mark.case("X1")
async def test_pages_of_other_sites_reach_no_route_at_all(tmp_path: Path) -> None:
    """A foreign Host or Origin gets 403 from every path, no word of CORS, and nothing was done."""
    file = tmp_path / "one"
    async with product(tmp_path, {"one": listed(file, [tool("take")])}) as running:
        for headers in EVIL:
            for method in ("GET", "POST", "OPTIONS", "DELETE"):
                for path, answer in (await statuses(running, method, headers)).items():
                    assert answer.status_code == 403, (method, path, headers)
                    assert not any(name.startswith("access-control") for name in answer.headers), (path, headers)
    assert calls(file) == []


@pytest.mark.case("X1")
async def test_programs_and_pages_of_this_machine_are_answered_and_add_no_server(tmp_path: Path) -> None:
    """Loopback names in any spelling, with and without Origin; no route of REST takes a new server."""
    file = tmp_path / "one"
    async with product(tmp_path, {"one": listed(file, [tool("take")])}) as running, running.rest() as rest:
        port = running.url.rpartition(":")[2]
        for host in (f"127.0.0.1:{port}", f"localhost:{port}", "[::1]", f"[::1]:{port}", "LOCALHOST"):
            answer = await rest.http.post("/v1/actions/one__take/call", headers={"host": host})
            assert answer.status_code == 200, host
        local = await rest.http.get("/v1/health", headers={"origin": f"http://localhost:{port}"})
        assert local.status_code == 200
        command = {"name": "new", "command": "sh", "args": ["-c", "true"]}
        for method in ("POST", "PUT", "PATCH"):
            refused = await rest.http.request(method, "/v1/servers", json=command)
            assert refused.status_code == 405
        assert [one["server"] for one in (await rest.get("/v1/servers"))["servers"]] == ["one"]


BOMBED = ("/mcp", "/mcp/servers/one", "/v1/call", "/v1/search", "/v1/runs")


async def post_raw(running: Product, path: str, head: str, chunk: bytes, most: int) -> tuple[str, int]:
    """Send a request over a bare socket until it is answered or `most` bytes are sent; first line and bytes sent."""
    port = int(running.url.rpartition(":")[2])
    sent = 0
    async with await anyio.connect_tcp("127.0.0.1", port) as stream:
        accept = "Accept: application/json, text/event-stream\r\n"
        await stream.send(
            f"POST {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n{accept}{head}\r\n".encode()
        )
        lines: list[str] = []

        async def answer(scope: anyio.CancelScope) -> None:
            lines.append((await stream.receive(4096)).decode("latin-1").partition("\r\n")[0])
            scope.cancel()

        with anyio.fail_after(PATIENCE_S):
            async with anyio.create_task_group() as group:
                group.start_soon(answer, group.cancel_scope)
                while sent < most:
                    await stream.send(chunk)
                    sent += len(chunk)
                    await anyio.lowlevel.checkpoint()
    return lines[0], sent


def resident_mb() -> float:
    """Resident memory of this process."""
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    return pages * 4096 / 1e6


@pytest.mark.case("X2")
async def test_huge_bodies_are_refused_before_they_are_read(tmp_path: Path) -> None:
    """200 MB with and without a length: refused early on every route that takes a body, memory flat, others served."""
    piece = b"x" * 65_536
    async with product(tmp_path, {"one": listed(tmp_path / "one", [tool("take")])}) as running, running.mcp() as other:
        await other.call("one__take", {})
        before = resident_mb()
        for path in BOMBED:
            with anyio.fail_after(within(1)):
                declared, sent = await post_raw(running, path, "Content-Length: 200000000\r\n", piece, 200_000_000)
            assert " 413 " in declared and sent < 50_000_000, path
            chunk = b"10000\r\n" + piece + b"\r\n"
            with anyio.fail_after(within(1)):
                chunked, sent = await post_raw(running, path, "Transfer-Encoding: chunked\r\n", chunk, 200_000_000)
            assert " 413 " in chunked and sent < 50_000_000, path
            assert not (await other.call("one__take", {})).is_error
        assert resident_mb() - before < 60


@pytest.mark.case("X2")
async def test_deep_and_odd_requests_are_refused_and_never_echoed(tmp_path: Path) -> None:
    """100,000 nested lists, an id of megabytes, a query of a megabyte: answered within a second, in little."""
    deep = b'{"action": "one__take", "arguments": ' + b"[" * 100_000 + b"]" * 100_000 + b"}"
    rpc = b'{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": ' + deep + b"}"
    ident = json.dumps({"jsonrpc": "2.0", "id": "i" * 3_000_000, "method": "ping"}).encode()
    huge = json.dumps({"jsonrpc": "2.0", "id": "i" * 5_000_000, "method": "ping"}).encode()
    words = json.dumps({"intents": ["word " * 200_000]}).encode()
    async with product(tmp_path, {"one": listed(tmp_path / "one", [tool("take")])}) as running, running.rest() as rest:
        accept = {"accept": "application/json, text/event-stream", "content-type": "application/json"}
        for path, body, wanted in (
            ("/v1/call", deep, {400, 422}),
            ("/mcp", rpc, {400}),
            ("/mcp/servers/one", rpc, {400}),
            ("/mcp", huge, {413}),
            ("/mcp", ident, {400, 413}),
            ("/v1/search", words, {400, 413, 422}),
            ("/v1/observations/x?query=" + "q" * 60_000, b"", {400, 404, 405, 414, 422}),
        ):
            started = time.monotonic()
            answer = await rest.http.post(path, content=body, headers=accept)
            assert time.monotonic() - started < within(1), path
            assert answer.status_code in wanted and len(answer.content) < 20_000, (path, answer.status_code)
        assert (await rest.call("one__take", {})).status == 200


@pytest.mark.case("X2")
@pytest.mark.parametrize("mode", ["legacy", "auto"])
async def test_a_query_of_a_megabyte_is_answered_over_mcp(mode: Any, tmp_path: Path) -> None:
    """In bounded time and size, whatever it says."""
    async with (
        product(tmp_path, {"one": listed(tmp_path / "one", [tool("take")])}) as running,
        running.mcp(mode) as mcp,
    ):
        with anyio.fail_after(within(2)):
            answer = await mcp.tool("search_actions", intents=["take a word " * 90_000])
        assert answer.bytes < 30_000


NO_CONTENT: dict[str, Any] = {"content": []}
FAILED = {"content": [{"type": "text", "text": "the disk is full"}], "isError": True}


@pytest.mark.case("O7")
async def test_rest_gives_each_class_of_outcome_its_own_status_and_one_error_body(tmp_path: Path) -> None:
    """The published table, and one body with a machine-readable kind; nothing downstream becomes a bare 500."""
    schema = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
    file = tmp_path / "one"
    one = listed(
        file,
        [tool("take"), tool("empty"), tool("fails"), tool("strict", schema=schema), tool("a/b c?d#e%2F"), tool("die")],
        {"empty": NO_CONTENT, "fails": FAILED},
    )
    guarded, refusing = RawHttp(), RawHttp()
    async with listening(guarded.app) as first, listening(refusing.app) as second:
        servers = {"one": one, "raw": raw(), "login": web(first), "down": web(second), "hidden": plain()}
        async with product(tmp_path, servers, deny=["hidden__*"]) as running, running.rest() as rest:
            guarded.required = "a-token"
            refusing.refusal = (503, {}, "busy")
            odd = (await rest.get("/v1/actions", server="one"))["actions"][4]["id"]
            for path, body, status, kind in (
                ("/v1/call", {"action": "one__take"}, 200, None),
                ("/v1/actions/one__take/call", {}, 200, None),
                (f"/v1/actions/{odd}/call", {}, 200, None),
                ("/v1/call", {"action": "one__empty"}, 200, None),
                ("/v1/call", {"action": "one__strict", "arguments": {"n": "x"}}, 422, "invalid_args"),
                ("/v1/call", {"action": "one__nothing"}, 404, "unknown_action"),
                ("/v1/call", {"action": "hidden__echo"}, 404, "unknown_action"),
                ("/v1/actions/%2F..%2F%00%F0%9F%98%80/call", {}, 404, "unknown_action"),
                ("/v1/call", {"action": "raw__never", "timeout_s": lasting(4)}, 504, "timeout"),
                ("/v1/call", {"action": "one__die"}, 502, "crashed"),
                ("/v1/call", {"action": "login__echo"}, 401, "auth"),
                ("/v1/call", {"acton": "one__take"}, 422, "invalid_args"),
            ):
                answer = await rest.post(path, body)
                assert (answer.status, answer.kind) == (status, kind), (path, body, answer)
            failed = await rest.post("/v1/call", {"action": "one__fails"})
            assert failed.is_error and 400 <= failed.status < 600 and failed.status != 500
            down = await rest.post("/v1/call", {"action": "down__echo"})
            assert down.status == 502 and down.is_error
            broken = await rest.http.post("/v1/call", content=b"{", headers={"content-type": "application/json"})
            assert broken.status_code == 400
            bodies = [broken.json(), (await rest.http.post("/v1/call", json={"action": "no__one"})).json()]
            bodies.append((await rest.http.post("/v1/call", json={"action": "raw__die"})).json())
            for shown in bodies:
                assert {"kind", "message", "fault", "retryable"} <= set(shown["error"]), shown


@pytest.mark.case("O7")
async def test_over_rest_an_open_breaker_is_told_with_the_time_to_wait(tmp_path: Path) -> None:
    """502 with Retry-After once a server is known to be down; unknown and hidden actions look alike meanwhile."""
    async with listening(RawHttp().app) as port:
        servers = {"gone": web(port, "/mcp"), "hidden": plain()}
        async with product(tmp_path, servers, deny=["hidden__*"]) as running, running.rest() as rest:
            configure(tmp_path, {**servers, "gone": web(1, "/mcp")}, {"encoder": "off", "deny": ["hidden__*"]})
            await running.until(lambda: running.parts.catalog.spec("gone").url != servers["gone"]["url"], "reloaded")
            with anyio.fail_after(PATIENCE_S):
                while True:
                    answer = await rest.http.post("/v1/call", json={"action": "gone__echo"})
                    error = answer.json()["error"]
                    assert answer.status_code == 502 and error["kind"] == "unavailable"
                    if "retry-after" in answer.headers:
                        break
            assert error["retryable"] and error["message"]
            pair = [await rest.http.post("/v1/call", json={"action": f"{name}__echo"}) for name in ("other", "hidden")]
            assert [one.status_code for one in pair] == [404, 404]
            shapes = [json.loads(one.text.replace("other__", "hidden__"))["error"] for one in pair]
            assert shapes[0] == shapes[1]


@pytest.mark.case("Z2")
async def test_rules_hold_on_every_route_and_hidden_actions_appear_nowhere(tmp_path: Path) -> None:
    """Denied by pattern and hidden as a server: not in calls, runs, searches, descriptions, lists or suggestions."""
    file = tmp_path / "a"
    names = [tool("read_notes", annotations={"readOnlyHint": True}), tool("delete_notes"), tool("unsaid")]
    servers = {"a": listed(file, names), "b": listed(tmp_path / "b", [tool("read_secret")])}
    async with product(tmp_path, servers, deny=["*__delete_*", "b__*"]) as running, running.faces() as faces:
        for route, face in faces.items():
            for hidden in ("a__delete_notes", "delete_notes", "b__read_secret", "read_secret", "a__delete_note"):
                answer = await face.call(hidden, {})
                assert answer.is_error and answer.kind == "unknown_action", (route, hidden)
                left = answer.text.replace(hidden, "")
                assert "delete_notes" not in left and "read_secret" not in left, (route, hidden)
        async with running.mcp() as mcp, running.rest() as rest:
            refused = await mcp.tool("query_action", action="a__unsaid", arguments={})
            assert refused.is_error and refused.kind == "refused_by_policy"
            assert not (await mcp.tool("query_action", action="a__read_notes", arguments={})).is_error
            told = [
                (await mcp.tool("search_actions", intents=["delete notes", "read secret"], limit=50)).text,
                (await mcp.tool("describe_actions", actions=["a__delete_notes", "a__unsaid"])).text,
                json.dumps(await rest.get("/v1/search", q="delete notes read secret")),
                json.dumps(await rest.get("/v1/actions")),
                json.dumps([one.model_dump(mode="json") for one in (await mcp.client.list_tools()).tools]),
            ]
            for text in told:
                assert "b__read_secret" not in text and "delete_notes_" not in text
                assert '"a__delete_notes"' not in text
    assert {name for name, _ in calls(file)} == {"read_notes"}
