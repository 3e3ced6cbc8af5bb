"""Servers behind addresses: sessions, redirects, logins, and who is in trouble, over the whole product."""

from __future__ import annotations

import json
import logging
import time
from pathlib import Path
from typing import Any

import anyio
import pytest

from tests.servers.plain import listening
from tests.servers.raw_http import RawHttp, silent, sockets

from .limits import PATIENCE_S, within
from .product import Product, Route, configure, listed, product, raw, script, tool, web

pytestmark = pytest.mark.anyio

NOT_FOUND = '{"jsonrpc":"2.0","id":"server-error","error":{"code":-32600,"message":"Session not found"}}'
NO_SESSION = '{"error":"Bad Request: No valid session ID provided"}'


async def many(running: Product, route: Route, action: str, count: int) -> list[Any]:
    """The answers of so many calls at once."""
    answers: list[Any] = []
    async with running.face(route) as face:

        async def one() -> None:
            answers.append(await face.call(action, {}))

        with anyio.fail_after(PATIENCE_S):
            async with anyio.create_task_group() as group:
                for _ in range(count):
                    group.start_soon(one)
    return answers


@pytest.mark.case("R1")
@pytest.mark.parametrize(
    ("route", "status", "body"),
    [("http-legacy", 404, NOT_FOUND), ("rest", 400, NO_SESSION), ("http-modern", 401, NOT_FOUND)],
    ids=["mcp-404", "rest-400", "modern-401"],
)
async def test_a_forgotten_session_is_made_anew_once_for_all_who_wait(
    route: Route, status: int, body: str, tmp_path: Path
) -> None:
    """Twenty calls at that moment all succeed, over one new session."""
    server = RawHttp(lost_status=status, lost_body=body)
    async with listening(server.app) as port, product(tmp_path, {"web": web(port)}) as running:
        await many(running, route, "web__echo", 1)
        before = server.opened
        server.sessions.clear()
        answers = await many(running, route, "web__echo", 20)
        assert [answer.is_error for answer in answers] == [False] * 20
        assert server.opened == before + 1
        assert (
            "mcp-session-id"
            not in [
                headers
                for frame, headers in zip(server.frames, server.headers, strict=True)
                if frame.get("method") == "initialize"
            ][-1]
        )


@pytest.mark.case("R1")
async def test_a_server_that_forgets_every_session_gets_no_endless_tries(tmp_path: Path) -> None:
    """Twenty calls end in errors that name it, after few sessions."""
    server = RawHttp()
    async with listening(server.app) as port, product(tmp_path, {"web": web(port)}) as running:
        server.amnesia = True
        opened = server.opened
        answers = await many(running, "rest", "web__echo", 20)
        assert all(answer.is_error and answer.status == 502 and "web" in answer.text for answer in answers)
        assert server.opened - opened < 20


@pytest.mark.case("H2")
async def test_both_forms_of_the_address_are_served_without_a_redirect(tmp_path: Path) -> None:
    """The front and the endpoint of one server, with and without the slash."""
    hello = {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "initialize",
        "params": {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}},
    }
    accept = {"accept": "application/json, text/event-stream"}
    async with product(tmp_path, {"raw": raw()}) as running, running.rest() as rest:
        for path in ("/mcp", "/mcp/", "/mcp/servers/raw", "/mcp/servers/raw/", "/v1/servers", "/v1/servers/"):
            method = "GET" if path.startswith("/v1") else "POST"
            answer = await rest.http.request(method, path, json=hello if method == "POST" else None, headers=accept)
            assert answer.status_code == 200, path


@pytest.mark.case("H2")
@pytest.mark.parametrize("modern", [False, True], ids=["legacy", "modern"])
async def test_redirects_on_the_same_host_keep_the_body_and_other_hosts_get_no_credentials(
    modern: bool, tmp_path: Path
) -> None:
    """A call arrives whole behind a 307; a foreign host sees neither token nor cookie."""
    near, away = RawHttp(modern=modern), RawHttp(modern=modern)
    headers = {"Authorization": "Bearer open-sesame-4711", "Cookie": "a=b", "X-Key": "key-4711-4711"}
    async with listening(near.app) as first, listening(away.app) as second:
        near.redirect = ("/mcp?from=here", 307)
        servers = {"near": web(first, "/moved", headers=headers)}
        async with product(tmp_path, servers) as running, running.rest() as rest:
            answer = await rest.call("near__echo", {"n": [1, 2]})
            assert answer.status == 200 and answer.value == {"n": [1, 2]}
            assert near.headers[-1]["authorization"] == headers["Authorization"]
            near.redirect = (f"http://localhost:{second}/mcp", 307)
            await rest.call("near__echo", {})
        assert not any({"authorization", "cookie", "x-key"} & set(seen) for seen in away.headers)


@pytest.mark.case("A3")
@pytest.mark.parametrize("modern", [False, True], ids=["legacy", "modern"])
async def test_a_refused_login_is_told_as_such_and_heals_when_it_is_mended(modern: bool, tmp_path: Path) -> None:
    """Twenty calls: `auth`, 401, needs login, few requests; tools stay findable, and the breaker does not trip."""
    server = RawHttp(modern=modern)
    async with listening(server.app) as port:
        servers = {"web": web(port, headers={"Authorization": "Bearer old-token-4711"})}
        async with product(tmp_path, servers) as running, running.rest() as rest:
            server.required = "fresh-token-4711"
            asked = len(server.frames)
            answers = await many(running, "rest", "web__echo", 20)
            assert {(answer.kind, answer.status) for answer in answers} == {("auth", 401)}
            assert len(server.frames) - asked <= 4 * 20
            status = await rest.get("/v1/servers/web")
            assert status["state"] == "needs login" and status["error"]
            assert [hit["id"] for hit in (await rest.get("/v1/search", q="echo"))["hits"]] == ["web__echo"]
            estimate = (await rest.get("/v1/actions/web__echo"))["reliability"]
            configure(tmp_path, {"web": web(port, headers={"Authorization": "Bearer fresh-token-4711"})})
            await running.until(
                lambda: "fresh" in running.parts.catalog.spec("web").headers.get("Authorization", ""), "reloaded"
            )
            assert (await rest.call("web__echo", {})).status == 200
            assert estimate["success"] >= 0.5


@pytest.mark.case("A3")
async def test_a_forbidden_call_is_told_as_forbidden(tmp_path: Path) -> None:
    """403 is a matter of rights, not of a broken server."""
    server = RawHttp()
    async with listening(server.app) as port, product(tmp_path, {"web": web(port)}) as running, running.rest() as rest:
        server.refusal = (403, {}, "no")
        answer = await rest.call("web__echo", {})
        assert (answer.kind, answer.status) == ("permission", 403)


# --- D: one bad server


SECRETS = {
    "header": "sesame-header-4711",
    "env": "sesame-env-4711",
    "argument": "sesame-argument-4711",
    "query": "sesame-query-4711",
    "user": "sesame-user-4711",
}
ECHOES = "import os, sys; print('using', os.environ['API_TOKEN'], sys.argv, file=sys.stderr); sys.exit(1)"


def bad_servers(quiet: int, page: int) -> dict[str, Any]:
    """Five servers in five kinds of trouble, each with a secret."""
    return {
        "refused": web(1, f"/mcp?token={SECRETS['query']}"),
        "nameless": {"url": f"http://u:{SECRETS['user']}@no-such-host.invalid/mcp"},
        "quiet": web(quiet, headers={"Authorization": f"Bearer {SECRETS['header']}"}),
        "exits": script(ECHOES, env={"API_TOKEN": SECRETS["env"]}),
        "page": web(page),
    }


@pytest.mark.case("D1")
@pytest.mark.case("D2")
@pytest.mark.case("A1")
async def test_servers_in_trouble_delay_and_hide_nothing_and_are_told_alike_without_secrets(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Five sound ones are usable at once; each bad one has state, reason and next try over MCP and REST; health is
    not "ok"; one is restarted by name; and no secret stands anywhere, not even in the log at debug level."""
    caplog.set_level(logging.DEBUG)
    html = RawHttp(refusal=(200, {"content-type": "text/html"}, "<html>Sign in</html>"))
    texts: list[str] = []
    async with sockets(silent) as quiet, listening(html.app) as page:
        good = {f"good{n}": listed(tmp_path / f"g{n}", [tool("take", f"takes {n}")]) for n in range(5)}
        bad = bad_servers(quiet, page)
        bad["exits"]["args"] += ["--api-key", SECRETS["argument"]]
        started = time.monotonic()
        async with (
            product(tmp_path, {**bad, **good}, read=list(good), start_s=1.5, parallel_starts=10) as running,
            running.mcp() as mcp,
            running.rest() as rest,
        ):
            assert time.monotonic() - started < within(3)
            for name in good:
                assert not (await mcp.call(f"{name}__take", {})).is_error
            trouble = {"failed", "down", "needs login"}
            await running.until(lambda: all(running.state(name) in trouble for name in bad), "all told")
            with anyio.fail_after(within(1)):
                assert (await rest.get("/v1/search", q="takes"))["hits"]
                listing = await rest.get("/v1/servers")
                table = (await mcp.tool("servers")).text
            known = {one["server"]: one for one in listing["servers"]}
            for name in bad:
                one, line = known[name], next(line for line in table.splitlines() if line.startswith(f"- {name} "))
                assert one["error"] and one["state"] in line and one["transport"] in line, name
                assert one["next_try"] is not None and "next try " in line and one["since"], name
                failed = await rest.post(f"/v1/servers/{name}/restart")
                assert failed.status >= 400 and name in failed.text, name
                texts += [json.dumps(failed.facts), failed.text]
            assert len({known[name]["error"] for name in bad}) == 5
            health = await rest.get("/v1/health")
            assert health["status"] != "ok"
            before = running.parts.downstreams.status("good0").restarts
            assert (await rest.post("/v1/servers/good1/restart")).status == 200
            assert not (await mcp.tool("servers", server="good2", restart=True)).is_error
            assert running.parts.downstreams.status("good0").restarts == before
            texts += [json.dumps(listing), table, json.dumps(health), json.dumps(await rest.get("/v1/actions"))]
            for name in bad:
                texts.append((await mcp.tool("servers", server=name)).text)
                texts.append((await mcp.call(f"{name}__anything", {})).text)
    texts.append("\n".join(record.getMessage() for record in caplog.records if record.name.startswith("anyact")))
    for place, secret in SECRETS.items():
        assert not any(secret in text for text in texts), place


@pytest.mark.case("A1")
async def test_ordinary_settings_of_a_server_leave_its_results_and_its_name_alone(tmp_path: Path) -> None:
    """A folder and a mode in its environment stand in what it answers; a success shows even a secret as it was sent."""
    text = f"/data/projects/x.txt hang {SECRETS['env']}"
    env = {"DATA_DIR": "/data/projects", "MODE": "hang", "API_TOKEN": SECRETS["env"]}
    results = {"take": {"content": [{"type": "text", "text": text}]}}
    failing = {"fail": {"content": [{"type": "text", "text": f"no {text}"}], "isError": True}}
    servers = {"hang": listed(tmp_path / "h", [tool("take"), tool("fail")], results | failing, env=env)}
    async with product(tmp_path, servers) as running, running.mcp() as mcp, running.rest() as rest:
        for face in (mcp, rest):
            assert text in (await face.call("hang__take", {})).text
            failed = (await face.call("hang__fail", {})).text
            assert "/data/projects/x.txt hang ***" in failed and SECRETS["env"] not in failed
        assert "- hang " in (await mcp.tool("servers")).text


@pytest.mark.case("D1")
async def test_a_server_joins_without_a_restart_once_it_is_sound(tmp_path: Path) -> None:
    """What refused at first is usable after it stands, with a restart by name to hurry it."""
    server = RawHttp(refusal=(503, {}, "starting"))
    async with listening(server.app) as port, product(tmp_path, {"web": web(port)}, read=[]) as running:
        await running.until(lambda: running.state("web") in ("failed", "down"), "refused")
        server.refusal = None
        await running.known("web")
        async with running.rest() as rest:
            assert (await rest.call("web__echo", {})).status == 200


@pytest.mark.case("A2")
async def test_headers_of_a_client_reach_only_servers_that_name_them(tmp_path: Path) -> None:
    """Authorization never by default; one server asks for X-Test and gets it, over MCP and REST."""
    closed, opened = RawHttp(), RawHttp()
    sent = {"X-Test": "x-4711", "Cookie": "c=4711", "X-Other": "o-4711"}
    async with listening(closed.app) as first, listening(opened.app) as second:
        servers = {"closed": web(first), "opened": web(second, forward_headers=["X-Test"])}
        async with product(tmp_path, servers) as running, running.rest() as rest, running.mcp(headers=sent) as mcp:
            for name in servers:
                await mcp.call(f"{name}__echo", {})
                body = {"action": f"{name}__echo", "arguments": {}}
                assert (await rest.http.post("/v1/call", json=body, headers=sent)).status_code == 200
        seen = [headers for server in (closed, opened) for headers in server.headers]
        assert not any("4711" in headers.get(name, "") for headers in seen for name in ("cookie", "x-other"))
        assert not any("x-test" in headers for headers in closed.headers)
        tested = [h for f, h in zip(opened.frames, opened.headers, strict=True) if f.get("method") == "tools/call"]
        assert [headers.get("x-test") for headers in tested] == ["x-4711"] * 2
