"""A conversation in the server's era for callers of any era."""

from __future__ import annotations

import json
from typing import Any

import pytest

from anyact_server.downstream import Handlers
from anyact_server.errors import DownstreamError, RemoteError
from anyact_server.types import EMPTY, JsonObject, ServerSpec
from tests.servers import plain as plain_server
from tests.servers.raw_http import RawHttp

from .kit import Recorder, inside, raw, web, world

pytestmark = pytest.mark.anyio


async def test_a_subscription_that_cannot_be_renewed_is_only_that() -> None:
    """The new connection refuses it; everything else goes on."""
    refused = False

    async def subscribe(params: JsonObject) -> JsonObject:
        if refused:
            raise RemoteError(-32602, "unknown resource", server="s")
        return {}

    async def call(params: JsonObject) -> JsonObject:
        return {"content": []}

    target = Handlers({"resources/subscribe": subscribe, "resources/unsubscribe": subscribe, "tools/call": call})
    async with world(ServerSpec("s", "memory"), memory={"s": target}) as w:
        await w.pool.request("s", "resources/subscribe", {"uri": "a:"}, caller=w.caller)
        await w.pool.request("s", "resources/subscribe", {}, caller=w.caller)
        refused = True
        await w.pool.restart("s")
        assert await w.call("s", "x") == {"content": []}


async def test_the_first_schema_with_a_header_wins_over_the_rest_of_the_pages() -> None:
    """Pages are read until there is no cursor; tools without a name or a schema are no obstacle."""
    schema = {"type": "object", "properties": {"region": {"type": "string", "x-mcp-header": "Region"}}}
    tools: list[dict[str, Any]] = [
        {"name": 7},
        {"description": "nameless"},
        {"name": "mismatch", "inputSchema": schema},
    ]
    server = RawHttp(modern=True, tools=tools, paged=True)
    async with plain_server.listening(server.app) as port, world(web(port)) as w:
        assert await w.text("web", "mismatch", region="eu") == "mirrored"
        assert server.methods().count("tools/list") == 2
        assert await w.text("web", "mismatch", region="eu") == "mirrored"
        assert await w.data("web", "echo", region=None) == {"region": None}


async def test_a_list_that_is_none_teaches_no_headers() -> None:
    """The refusal then stands as the server sent it."""
    server = RawHttp(modern=True, tools="none")  # type: ignore[arg-type]  # on purpose
    async with plain_server.listening(server.app) as port, world(web(port)) as w:
        with pytest.raises(RemoteError, match="Header mismatch"):
            await w.call("web", "mismatch", region="eu")


async def test_names_that_headers_cannot_carry_are_encoded() -> None:
    """As the protocol says: base64 behind a marker."""
    server = RawHttp(modern=True)
    async with plain_server.listening(server.app) as port, world(web(port)) as w:
        with pytest.raises(RemoteError):
            await w.pool.request("web", "prompts/get", {"name": "grüße"}, caller=w.caller)
        assert server.headers[-1]["mcp-name"].startswith("=?base64?")
        with pytest.raises(RemoteError):
            await w.pool.request("web", "resources/read", {"uri": "a:b"}, caller=w.caller)
        assert server.headers[-1]["mcp-name"] == "a:b"
        with pytest.raises(RemoteError):
            await w.pool.request("web", "prompts/get", {"name": 7}, caller=w.caller)
        assert "mcp-name" not in server.headers[-1]


async def test_a_clients_own_meta_reaches_the_server() -> None:
    """Trace context and extensions pass in both eras, protocol fields of its own connection do not."""
    meta = {"traceparent": "00-x", "io.modelcontextprotocol/protocolVersion": "1999-01-01"}
    async with world(inside(name="new"), inside("legacy", name="old")) as w:
        for name in ("new", "old"):
            params = {"name": "about", "arguments": {}, "_meta": meta}
            result = await w.pool.request(name, "tools/call", params, caller=w.caller)
            about = result["structuredContent"]
            assert about["meta"]["traceparent"] == "00-x"
            assert about["meta"].get("io.modelcontextprotocol/protocolVersion") != "1999-01-01"


async def test_a_shared_connection_declares_what_can_be_relayed() -> None:
    """In the old era once for all, in the new one with every request, for its own caller."""
    able = Recorder(abilities={"sampling": {"tools": {}}})
    async with world(inside(name="new"), inside("legacy", name="old")) as w:
        declared = {name: (await w.data(name, "about", caller=able))["abilities"] for name in ("new", "old")}
    assert declared["new"] == {"sampling": {"tools": {}}}
    assert set(declared["old"]) == {"elicitation", "sampling", "roots"}


async def test_other_requests_pass_as_they_are() -> None:
    """Prompts, resources, templates and completion in both eras."""
    reference = {"type": "ref/prompt", "name": "write"}
    async with world(inside(name="new"), inside("legacy", name="old")) as w:
        for name in ("new", "old"):
            prompt = {"name": "write", "arguments": {"topic": "rain"}}
            found = await w.pool.request(name, "prompts/get", prompt, caller=w.caller)
            assert "Write about rain" in json.dumps(found)
            resource = {"uri": plain_server.TEXT_URI}
            found = await w.pool.request(name, "resources/read", resource, caller=w.caller)
            assert found["contents"][0]["text"] == "hello"
            asked = {"ref": reference, "argument": {"name": "topic", "value": "ra"}}
            found = await w.pool.request(name, "completion/complete", asked, caller=w.caller)
            assert found["completion"]["values"] == ["ra-done"]
            snapshot = await w.pool.take_snapshot(name)
            assert snapshot.instructions == "A server for tests." and snapshot.info["name"] == "plain"


async def test_a_server_that_never_has_enough_input_is_cut() -> None:
    """The rounds of questions have an end."""

    async def discover(params: JsonObject) -> JsonObject:
        return {"supportedVersions": ["2026-07-28"], "capabilities": {"tools": {}}}

    async def call(params: JsonObject) -> JsonObject:
        return {"resultType": "input_required", "requestState": "more"}

    target = Handlers({"server/discover": discover, "tools/call": call})
    async with world(ServerSpec("s", "memory"), memory={"s": target}) as w:
        with pytest.raises(DownstreamError, match="more than 10 times"):
            await w.call("s", "x")


async def test_the_empty_caller_has_no_abilities() -> None:
    """A raw server of the old era is told what can be relayed, whoever calls."""
    async with world(raw()) as w:
        assert await w.data("raw", "echo", caller=Recorder(abilities=EMPTY)) == {}
