"""Transparent endpoints over the real parts: every pair of eras, over HTTP and over a pipe."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any, get_args

import anyio
import anyio.to_thread
import httpx2
import mcp_types as types
import pytest
from mcp import MCPError
from mcp.shared.subscriptions import ResourceUpdated, ToolsListChanged
from starlette.applications import Starlette

from anyact_server.gateway import RelayServer, TransparentEndpoints, serve_stdio
from anyact_server.types import Action, Era, Limits, Principal, ServerSpec

from .endpoints import SETTINGS, Behind, Mode, Person, endpoints, in_memory, person_at, plain, standing

pytestmark = pytest.mark.anyio
SERVERS: tuple[Era, ...] = ("legacy", "modern")
pairs = pytest.mark.parametrize(("client", "server"), [(c, s) for c in get_args(Mode) for s in SERVERS])
deprecated = pytest.mark.filterwarnings("ignore::mcp.shared.exceptions.MCPDeprecationWarning")


def said(result: Any) -> str:
    """The text of a result's first block."""
    block = result.content[0]
    assert isinstance(block, types.TextContent)
    return block.text


@pairs
async def test_tools_resources_prompts_and_completions_pass(tmp_path: Path, client: Mode, server: Era) -> None:
    """What the server offers is what the client sees, in every pair of eras."""
    async with (
        endpoints(tmp_path, [in_memory(era=server)]) as behind,
        person_at(behind.at("everything"), client) as user,
    ):
        assert user.server_info is not None
        assert user.server_info.name == "everything"
        assert user.instructions == "Offers what the conformance suite asks for."
        tools = {tool.name: tool for tool in (await user.list_tools()).tools}
        assert tools["json_schema_2020_12_tool"].input_schema["$defs"]["address"]["$anchor"] == "addressDef"
        assert said(await user.call_tool("test_simple_text", {})).startswith("This is a simple")
        failed = await user.call_tool("test_error_handling", {})
        assert failed.is_error
        with pytest.raises(MCPError, match="Unknown tool"):
            await user.call_tool("nothing of the kind", {})
        assert (await user.list_resources()).resources[0].uri == "test://static-text"
        assert (await user.list_resource_templates()).resource_templates[0].uri_template == "test://template/{id}/data"
        read = (await user.read_resource("test://template/7/data")).contents[0]
        assert isinstance(read, types.TextResourceContents)
        assert json.loads(read.text)["id"] == "7"
        with pytest.raises(MCPError) as caught:
            await user.read_resource("test://nowhere")
        assert caught.value.error.data == {"uri": "test://nowhere"}
        assert len((await user.list_prompts()).prompts) == 5
        prompt = await user.get_prompt("test_prompt_with_arguments", {"arg1": "a", "arg2": "b"})
        assert isinstance(prompt.messages[0].content, types.TextContent)
        ref = types.PromptReference(type="ref/prompt", name="test_prompt_with_arguments")
        assert (await user.complete(ref, {"name": "arg1", "value": "par"})).completion.values == [
            "paris",
            "park",
            "party",
        ]


@pytest.mark.case("Q1")
@pairs
async def test_questions_reach_the_client_whose_call_it_is(tmp_path: Path, client: Mode, server: Era) -> None:
    """Elicitation, sampling and roots, one after the other and from a prompt, in every pair of eras."""
    async with (
        endpoints(tmp_path, [in_memory(era=server)]) as behind,
        person_at(behind.at("everything"), client) as user,
    ):
        assert said(await user.call_tool("test_input_required_result_elicitation", {})) == "Hello, Ann!"
        assert said(await user.call_tool("test_sampling", {"prompt": "?"})) == "LLM response: Paris"
        assert said(await user.call_tool("test_input_required_result_list_roots", {})) == "file:///home/ann"
        assert said(await user.call_tool("test_input_required_result_multi_round", {})) == "favorite color: red"
        several = said(await user.call_tool("test_input_required_result_multiple_inputs", {}))
        assert several == "answers: client_roots, greeting, user_name"
        prompt = await user.get_prompt("test_input_required_result_prompt")
        assert isinstance(prompt.messages[0].content, types.TextContent)


@pytest.mark.case("Q1")
async def test_a_question_that_nobody_answers_ends_its_call(tmp_path: Path) -> None:
    """Coming back without an answer asks again; at its limit the call is cancelled, and the server serves on.

    Whether the limit falls into a round or between two is chance: the client is told the one or the other.
    """
    spec = in_memory(era="legacy", limits=Limits(question_s=2.0))
    async with endpoints(tmp_path, [spec]) as behind, person_at(behind.at("everything"), "auto") as user:
        state, rounds = None, 0
        with pytest.raises(MCPError, match=r"over or already answered|cancelled while it waited"):
            while True:
                asked = await user.session.call_tool(
                    "test_elicitation", {"message": "?"}, request_state=state, allow_input_required=True
                )
                assert isinstance(asked, types.InputRequiredResult)
                state, rounds = asked.request_state, rounds + 1
        assert rounds > 1
        assert said(await user.call_tool("test_simple_text", {})).startswith("This is")


@pytest.mark.case("T2")
@deprecated
@pairs
async def test_progress_and_log_messages_come_during_the_call(tmp_path: Path, client: Mode, server: Era) -> None:
    """In order, and before the result."""
    person, steps = Person(), []

    async def step(progress: float, total: float | None, message: str | None) -> None:
        steps.append((progress, total))

    async with (
        endpoints(tmp_path, [in_memory(era=server)]) as behind,
        person_at(behind.at("everything"), client, person) as user,
    ):
        await user.call_tool("test_tool_with_progress", {}, progress_callback=step)
        assert steps == [(0, 100), (50, 100), (100, 100)]
        level: Any = {types.LOG_LEVEL_META_KEY: "info"}
        await user.call_tool("test_tool_with_logging", {}, meta=level if client == "auto" else None)
        assert person.logged == ["Tool execution started", "Tool processing data", "Tool execution completed"]


@pytest.mark.case("G2")
@pairs
async def test_changes_are_announced(tmp_path: Path, client: Mode, server: Era) -> None:
    """A list that changes reaches the client in its era's own way, and the list shows the change."""
    person = Person()
    async with (
        endpoints(tmp_path, [in_memory(era=server)]) as behind,
        person_at(behind.at("everything"), client, person) as user,
    ):
        if client == "auto":
            async with user.listen(tools_list_changed=True) as news:
                await user.call_tool("test_trigger_tool_change", {})
                assert await anext(aiter(news)) == ToolsListChanged()
        else:
            await user.call_tool("test_trigger_tool_change", {})
            await person.hears(types.ToolListChangedNotification)
        assert "test_added_1" in {tool.name for tool in (await user.list_tools()).tools}


@deprecated
@pairs
async def test_watched_resources_are_announced(tmp_path: Path, client: Mode, server: Era) -> None:
    """By subscription in one era, by stream in the other."""
    person = Person()
    spec = plain(era=server)
    async with endpoints(tmp_path, [spec]) as behind, person_at(behind.at("plain"), client, person) as user:
        if client == "auto":
            async with user.listen(resource_subscriptions=["memo://greeting"]) as news:
                await user.call_tool("greet", {"text": "hi"})
                assert await anext(aiter(news)) == ResourceUpdated(uri="memo://greeting")
        else:
            await user.subscribe_resource("memo://greeting")
            await user.call_tool("greet", {"text": "hi"})
            told = await person.hears(types.ResourceUpdatedNotification)
            assert str(told.params.uri) == "memo://greeting"
            await user.unsubscribe_resource("memo://greeting")


@pytest.mark.case("R3")
@pytest.mark.parametrize("client", get_args(Mode))
async def test_a_value_kept_for_a_session_is_found_again(tmp_path: Path, client: Mode) -> None:
    """Within one client session, over one process that two clients share."""
    async with endpoints(tmp_path, [plain(era="legacy")]) as behind:
        async with person_at(behind.at("plain"), client) as user:
            await user.call_tool("set", {"value": "seven"})
            assert said(await user.call_tool("get", {})) == "seven"
            first = json.loads(said(await user.call_tool("about", {})))["pid"]
        async with person_at(behind.at("plain/"), client) as user:
            assert json.loads(said(await user.call_tool("about", {})))["pid"] == first


async def test_unknown_members_and_meta_pass(tmp_path: Path) -> None:
    """The client's own `_meta` reaches the server and the server's the client; nulls stay."""
    async with endpoints(tmp_path, [in_memory()]) as behind, person_at(behind.at("everything"), "auto") as user:
        meta: Any = {"example.org/mine": {"x": None}}
        found = await user.call_tool("test_unknown_fields", {}, meta=meta)
        assert found.structured_content == {"a": None}
        assert found.meta is not None
        assert found.meta["example.org/kept"] == {"deep": [None, 1]}
        assert found.meta["example.org/seen"]["example.org/mine"] == {"x": None}


@pytest.mark.parametrize("server", SERVERS)
async def test_extensions_that_a_client_declares_are_known_to_a_modern_server(tmp_path: Path, server: Era) -> None:
    """Request by request, as its era has it; over a connection that clients share, nobody's are declared for all."""
    declared = {"extensions": {"io.modelcontextprotocol/ui": {"mimeTypes": ["text/html"]}}, "sampling": {}}
    meta = {types.PROTOCOL_VERSION_META_KEY: "2026-07-28", types.CLIENT_CAPABILITIES_META_KEY: declared}
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "about", "_meta": meta}}
    headers = {"accept": "application/json, text/event-stream", "mcp-protocol-version": "2026-07-28"}
    headers |= {"mcp-method": "tools/call", "mcp-name": "about"}
    async with endpoints(tmp_path, [plain(era=server)]) as behind, httpx2.AsyncClient(headers=headers) as http:
        answer = (await http.post(behind.at("plain"), json=body, timeout=20)).json()
    seen = answer["result"]["structuredContent"]["abilities"]
    assert seen == (
        declared if server == "modern" else {"elicitation": {"form": {}, "url": {}}, "sampling": {}, "roots": {}}
    )


class OnlyAnn:
    """A policy under which only Ann sees anything."""

    def visible(self, principal: Principal, actions: Sequence[Action], version: int) -> frozenset[str] | None:
        return None if principal.name == "ann" else frozenset()

    def refusal(self, principal: Principal, action: Action) -> str | None:
        return None


@pytest.mark.case("Z2")
async def test_a_hidden_server_looks_like_one_that_is_not_there(tmp_path: Path) -> None:
    """The same status and words for both, so that nobody learns which servers there are."""
    async with endpoints(tmp_path, [in_memory()], policy=OnlyAnn()) as behind:
        behind.catalog.record_snapshot(await behind.downstreams.take_snapshot("everything"))
        async with person_at(behind.at("everything"), "auto", headers={"x-user": "ann"}) as user:
            assert (await user.list_tools()).tools
        async with httpx2.AsyncClient(headers={"x-user": "eve"}) as http:
            hidden = await http.post(behind.at("everything"), json={})
            absent = await http.post(behind.at("elsewhere"), json={})
        assert hidden.status_code == absent.status_code == 404
        assert hidden.text.replace("everything", "elsewhere") == absent.text


async def test_an_endpoint_ends_with_its_server(tmp_path: Path) -> None:
    """A server that is configured no more is gone at once; configured again it is there again."""
    async with endpoints(tmp_path, [in_memory(), in_memory("other")]) as behind:
        async with person_at(behind.at("other"), "auto") as user:
            await user.list_tools()
        behind.catalog.reconfigure([in_memory()])
        async with httpx2.AsyncClient() as http:
            assert (await http.post(behind.at("other"), json={})).status_code == 404
            assert (await http.post(behind.at("other"), json={})).status_code == 404
        behind.catalog.reconfigure([in_memory(), in_memory("other")])
        async with person_at(behind.at("other"), "legacy") as user:
            assert (await user.list_tools()).tools


async def test_a_server_that_is_down_says_so(tmp_path: Path) -> None:
    """The client's greeting is answered with the cause, and other endpoints are unaffected."""
    broken = ServerSpec("broken", "stdio", command="no-such-command-anywhere")
    async with endpoints(tmp_path, [broken, in_memory()]) as behind:
        with pytest.RaisesGroup(pytest.RaisesExc(MCPError, match="no-such-command-anywhere"), flatten_subgroups=True):
            async with person_at(behind.at("broken"), "legacy"):
                pass
        async with person_at(behind.at("everything"), "legacy") as user:
            assert (await user.list_tools()).tools


async def test_endpoints_serve_only_while_they_run(tmp_path: Path) -> None:
    """Nothing is started that nobody would end."""
    async with standing(tmp_path, [in_memory()]) as behind:

        async def ready() -> Behind:
            return behind

        ends = TransparentEndpoints(ready, SETTINGS)
        transport = httpx2.ASGITransport(Starlette(routes=ends.routes()))
        async with httpx2.AsyncClient(transport=transport, base_url="http://here") as http:
            with pytest.raises(RuntimeError, match="running"):
                await http.post("/mcp/servers/everything", json={})


async def test_one_server_over_a_pipe(tmp_path: Path) -> None:
    """Lines in, lines out, until the client closes its end."""
    request_read, request_write = os.pipe()
    answer_read, answer_write = os.pipe()
    greeting = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}
    lines: list[dict[str, Any]] = [
        {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": greeting},
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {"name": "test_simple_text"}},
    ]
    with anyio.fail_after(20), os.fdopen(answer_read, encoding="utf-8") as answers:
        async with standing(tmp_path, [in_memory()]) as behind, anyio.create_task_group() as group:

            async def serve() -> None:
                server = RelayServer("everything", behind.downstreams, behind.catalog)
                await serve_stdio(server, stdin=request_read, stdout=answer_write, signals=False)

            group.start_soon(serve)
            os.write(request_write, "".join(json.dumps(line) + "\n" for line in lines).encode())
            first = json.loads(await anyio.to_thread.run_sync(answers.readline))
            second = json.loads(await anyio.to_thread.run_sync(answers.readline))
            os.close(request_write)
    for descriptor in (request_read, answer_write):
        os.close(descriptor)
    assert first["result"]["serverInfo"]["name"] == "everything"
    assert first["result"]["protocolVersion"] == "2025-06-18"
    assert second["result"]["content"][0]["text"].startswith("This is a simple")
