"""The MCP server that clients see, through the official client in both eras."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import anyio
import mcp_types as types
import pytest
from mcp import MCPError
from mcp.server.subscriptions import PromptsListChanged, ResourcesListChanged, ResourceUpdated, ToolsListChanged
from pydantic import ValidationError

from anyact_server import __version__
from anyact_server.catalog import Catalog, Store
from anyact_server.errors import DownstreamError, RemoteError, StorageError, UnknownServer, UsageError
from anyact_server.gateway import FrontServer, Parts, ready
from anyact_server.gateway.remembered import Remembered
from anyact_server.gateway.server import as_wire
from anyact_server.interfaces import Caller, ServerEvent
from anyact_server.types import JsonObject, Kind, Observation, ServerSpec, ServerState, ServerStatus, Snapshot

from .clients import MODES, Mode, in_memory
from .twins import READ_ONLY, TwinCatalog, World, action, observation, world

pytestmark = pytest.mark.anyio

DOCS = Snapshot(
    "docs",
    prompts=({"name": "review", "arguments": [{"name": "tone", "required": True}]},),
    resources=({"uri": "doc://a", "name": "a", "mimeType": "text/plain"},),
    templates=({"uriTemplate": "doc://{name}", "name": "any"},),
    capabilities={"prompts": {}, "resources": {"subscribe": True}, "completions": {}},
)


async def _answer(method: str, params: JsonObject, caller: Caller) -> JsonObject:
    """A server of documents."""
    if method == "prompts/get":
        text = f"{params['name']} {params.get('arguments')} {params.get('_meta')}"
        return {"messages": [{"role": "user", "content": {"type": "text", "text": text}}], "resultType": "complete"}
    if method == "resources/read":
        if params["uri"] == "doc://gone":
            raise RemoteError(-32602, "no such document", {"uri": "doc://gone"}, server="docs")
        if params["uri"] == "doc://none":
            return {}
        contents = [{"uri": params["uri"], "text": "body"}, {"uri": 3}] if params["uri"] == "doc://odd" else None
        return {"contents": contents or [{"uri": params["uri"], "text": "body", "mimeType": "text/plain"}]}
    if method == "completion/complete":
        ref = params["ref"]
        return {"completion": {"values": [ref.get("name") or ref.get("uri")]}}
    return {}


def _docs(**more: Any) -> World:
    return world([action("git", "log", hints=READ_ONLY)], snapshots=[DOCS], respond=_answer, **more)


@pytest.mark.parametrize("mode", MODES)
async def test_a_client_of_each_era_lists_searches_and_calls(mode: Mode) -> None:
    """The whole thread over one connection."""
    async with in_memory(_docs(), mode) as client:
        assert (client.protocol_version == "2026-07-28") is (mode == "auto")
        assert len((await client.list_tools()).tools) == 8
        found = await client.call_tool("search_actions", {"intents": "log"})
        assert found.structured_content is not None
        assert found.structured_content["actions"] == ["git__log"]
        answer = await client.call_tool("call_action", {"action": "git__log", "arguments": {"text": "x"}})
        assert isinstance(answer.content[0], types.TextContent)
        assert answer.content[0].text == "git__log was called with {'text': 'x'}"
        assert not answer.is_error


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.case("O1")
async def test_an_unknown_tool_is_a_protocol_error_and_a_failed_call_is_not(mode: Mode) -> None:
    """The two stay apart."""
    async with in_memory(_docs(), mode) as client:
        with pytest.raises(MCPError, match="Unknown tool: nope") as unknown:
            await client.call_tool("nope", {})
        assert unknown.value.error.code == types.INVALID_PARAMS
        assert (await client.call_tool("call_action", {"action": "nope"})).is_error


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.case("H1")
async def test_only_what_is_served_is_declared_and_probes_get_empty_lists(mode: Mode) -> None:
    """Behind it a server of tools only."""
    async with in_memory(world([action("git", "log")]), mode) as client:
        declared = client.server_capabilities
        assert declared.tools is not None
        assert (declared.prompts, declared.resources, declared.completions) == (None, None, None)
        assert (await client.list_prompts()).prompts == []
        assert (await client.list_resources()).resources == []
        assert (await client.list_resource_templates()).resource_templates == []


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.case("H1")
async def test_what_servers_offer_is_declared(mode: Mode) -> None:
    """With news of changes in both eras."""
    async with in_memory(_docs(), mode) as client:
        declared = client.server_capabilities
        assert declared.prompts is not None
        assert declared.resources is not None
        assert declared.resources.subscribe
        assert declared.completions is not None
        assert declared.prompts.list_changed


async def test_everything_is_declared_while_a_server_was_never_read() -> None:
    """It may turn out to offer anything; a disabled or faulty one never will."""
    here = world([action("git", "log")])
    server = FrontServer(ready(here.parts))
    assert server.offers() == {"prompts", "resources", "completions"}
    async with server.lifespan(server):
        await anyio.wait_all_tasks_blocked()
        assert server.offers() == frozenset()
        here.catalog.forget("git")
        here.catalog.announce("git")
        assert server.offers() == {"prompts", "resources", "completions"}
        here.catalog.all_specs = [replace(here.catalog.all_specs[0], fault="no command")]
        here.catalog.announce("git")
        assert server.offers() == frozenset()


@pytest.mark.case("H1")
async def test_what_was_offered_last_is_declared_before_the_parts_stand(tmp_path: Path) -> None:
    """And remembered anew with every change."""
    memory = Remembered(tmp_path / "offers.json")
    here = world([action("git", "log")])
    server = FrontServer(ready(here.parts), remembered=memory)
    assert server.offers() == {"prompts", "resources", "completions"}
    async with server.lifespan(server):
        await anyio.wait_all_tasks_blocked()
        assert FrontServer(ready(here.parts), remembered=memory).offers() == frozenset()
        here.catalog.record_snapshot(replace(DOCS, server="git"))
        await anyio.wait_all_tasks_blocked()
    assert Remembered(tmp_path / "offers.json").read() == {"prompts", "resources", "completions"}


@pytest.mark.parametrize("mode", MODES)
async def test_prompts_and_resources_of_all_servers_are_relayed(mode: Mode) -> None:
    """Under prefixed names, with the server's own names behind."""
    here = _docs()
    async with in_memory(here, mode) as client:
        assert [prompt.name for prompt in (await client.list_prompts()).prompts] == ["docs__review"]
        prompt = await client.get_prompt("docs__review", {"tone": "kind"}, meta=cast("Any", {"mine": 1}))
        assert isinstance(prompt.messages[0].content, types.TextContent)
        assert prompt.messages[0].content.text == "review {'tone': 'kind'} {'mine': 1}"
        (listed,) = (await client.list_resources()).resources
        assert (listed.uri, listed.name) == ("anyact://docs/doc://a", "docs__a")
        read = await client.read_resource(listed.uri)
        assert read.contents[0].uri == listed.uri
        (template,) = (await client.list_resource_templates()).resource_templates
        assert template.uri_template == "anyact://docs/doc://{name}"
        assert (await client.read_resource("doc://a")).contents[0].uri == listed.uri
    assert ("docs", "resources/read", {"uri": "doc://a"}) in here.downstreams.requests


@pytest.mark.parametrize("mode", MODES)
async def test_completions_go_to_the_server_that_owns_the_reference(mode: Mode) -> None:
    """For prompts and for templates."""
    async with in_memory(_docs(), mode) as client:
        prompt = types.PromptReference(type="ref/prompt", name="docs__review")
        assert (await client.complete(prompt, {"name": "tone", "value": "k"})).completion.values == ["review"]
        template = types.ResourceTemplateReference(type="ref/resource", uri="anyact://docs/doc://{name}")
        assert (await client.complete(template, {"name": "name", "value": "a"})).completion.values == ["doc://{name}"]


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.case("O1")
async def test_a_servers_own_error_reaches_the_client_unchanged(mode: Mode) -> None:
    """Code, message and data; what AnyAct does not know is the caller's mistake."""
    async with in_memory(_docs(), mode) as client:
        with pytest.raises(MCPError, match="no such document") as gone:
            await client.read_resource("anyact://docs/doc://gone")
        assert (gone.value.error.code, gone.value.error.data) == (-32602, {"uri": "doc://gone"})
        with pytest.raises(MCPError, match="Unknown prompt"):
            await client.get_prompt("nope")


@pytest.mark.case("O4")
async def test_malformed_contents_of_a_resource_are_passed_as_they_came() -> None:
    """They are the server's; the client judges them."""
    async with in_memory(_docs(), "legacy") as client:
        for uri in ("anyact://docs/doc://odd", "anyact://docs/doc://none"):
            with pytest.raises(ValidationError):
                await client.read_resource(uri)


def test_errors_have_one_code_each_on_the_wire() -> None:
    """A server's own error, the caller's mistake, and everything else."""
    assert as_wire(RemoteError(-32000, "m", 1, server="s")).error.code == -32000
    assert as_wire(UsageError("m", hint="h")).error.message == "m. h"
    assert as_wire(UnknownServer("m")).error.code == types.INVALID_PARAMS
    down = as_wire(DownstreamError("m", server="s", kind=Kind.CRASHED)).error
    assert (down.code, down.data) == (types.INTERNAL_ERROR, {"kind": "crashed", "server": "s"})
    assert as_wire(StorageError("m")).error.data == {"kind": "internal"}


@pytest.mark.parametrize("mode", MODES)
async def test_large_lists_come_in_pages(mode: Mode) -> None:
    """All of them, once each."""
    here = world([action("s", f"a{number}", description="x" * 2000) for number in range(800)], exposure="direct")
    async with in_memory(here, mode) as client:
        names, cursor = [], None
        for _ in range(10):
            found = await client.list_tools(cursor=cursor)
            names += [tool.name for tool in found.tools]
            cursor = found.next_cursor
            if cursor is None:
                break
        assert len(names) == len(set(names)) == 801
        with pytest.raises(MCPError, match="Unknown cursor"):
            await client.list_tools(cursor="nonsense")


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.case("S3")
@pytest.mark.case("O4")
async def test_a_directly_shown_action_is_called_by_its_id(mode: Mode) -> None:
    """Its shown schema, its annotations, its grounded content, its structured data."""

    async def count(arguments: JsonObject, caller: Caller) -> Observation:
        return observation("3 things", data={"count": 3})

    here = world([action("s", "count", hints=READ_ONLY)], behaviours={"s__count": count}, exposure="auto")
    async with in_memory(here, mode) as client:
        tool = (await client.list_tools()).tools[0]
        assert tool.name == "s__count"
        assert tool.annotations is not None
        assert tool.annotations.read_only_hint is True
        assert tool.input_schema["required"] == ["text"]
        answer = await client.call_tool("s__count", {"text": "x"})
        assert answer.structured_content == {"count": 3}


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.case("G2")
async def test_a_change_of_the_catalog_reaches_the_client_once(mode: Mode) -> None:
    """Legacy clients by notification, modern ones by their stream."""
    here = _docs()
    heard: list[str] = []
    told = anyio.Event()

    async def on_message(message: Any) -> None:
        heard.append(str(getattr(message, "method", message)))
        if any("resources/list_changed" in item for item in heard):
            told.set()

    async with in_memory(here, mode, message_handler=on_message) as client:
        if mode == "legacy":
            here.catalog.add(action("git", "new"), action("git", "newer"))
            with anyio.fail_after(5):
                await told.wait()
            assert sorted(heard) == [
                "notifications/prompts/list_changed",
                "notifications/resources/list_changed",
                "notifications/tools/list_changed",
            ]
        else:
            events = []
            async with client.listen(
                tools_list_changed=True, prompts_list_changed=True, resources_list_changed=True
            ) as stream:
                here.catalog.add(action("git", "new"), action("git", "newer"))
                with anyio.fail_after(5):
                    async for event in stream:
                        events.append(event)
                        if len(events) == 3:
                            break
            assert set(events) == {ToolsListChanged(), PromptsListChanged(), ResourcesListChanged()}


@pytest.mark.case("G2")
async def test_a_prompt_that_comes_alone_is_told_and_listed(tmp_path: Path) -> None:
    """With the real catalog: no action changes, and yet clients hear of it."""
    heard: list[str] = []
    told = anyio.Event()

    async def on_message(message: Any) -> None:
        heard.append(str(getattr(message, "method", message)))
        told.set()

    catalog = Catalog(Store(tmp_path), [ServerSpec("docs", "memory")])
    catalog.record_snapshot(Snapshot("docs", tools=({"name": "t", "inputSchema": {"type": "object"}},)))
    here = world()
    here.catalog = cast("TwinCatalog", catalog)
    here.space.catalog = here.catalog
    async with in_memory(here, "legacy", message_handler=on_message) as client:
        assert (await client.list_prompts()).prompts == []
        catalog.record_snapshot(replace(DOCS, tools=({"name": "t", "inputSchema": {"type": "object"}},)))
        with anyio.fail_after(5):
            await told.wait()
            await anyio.wait_all_tasks_blocked()
        assert [prompt.name for prompt in (await client.list_prompts()).prompts] == ["docs__review"]
    assert heard == ["notifications/prompts/list_changed", "notifications/resources/list_changed"]
    catalog.close()


@pytest.mark.filterwarnings("ignore::mcp.shared.exceptions.MCPDeprecationWarning")
async def test_a_legacy_client_hears_of_resources_that_it_subscribed_to() -> None:
    """And no more after it left; the server is subscribed once and released with the last."""
    here = _docs()
    heard: list[str] = []
    told = anyio.Event()

    async def on_message(message: Any) -> None:
        if isinstance(message, types.ResourceUpdatedNotification):
            heard.append(message.params.uri)
            told.set()

    async with in_memory(here, "legacy", message_handler=on_message) as client:
        await client.session.subscribe_resource("anyact://docs/doc://a")
        await client.session.subscribe_resource("anyact://docs/doc://a")
        here.downstreams.say(ServerEvent("docs", "resource", "doc://other"))
        here.downstreams.say(ServerEvent("docs", "resource", "doc://a"))
        with anyio.fail_after(5):
            await told.wait()
        assert heard == ["anyact://docs/doc://a"]
        await client.session.unsubscribe_resource("anyact://docs/doc://a")
        await client.session.unsubscribe_resource("anyact://docs/doc://a")
        await client.session.subscribe_resource("doc://a")
    asked = [method for _, method, _ in here.downstreams.requests]
    assert asked == ["resources/subscribe", "resources/unsubscribe", "resources/subscribe", "resources/unsubscribe"]


async def test_a_modern_client_hears_of_resources_that_its_stream_names() -> None:
    """Unknown ones among them are no error."""
    here = _docs()
    async with in_memory(here, "auto") as client:
        async with client.listen(resource_subscriptions=["anyact://docs/doc://a", "anyact://nobody/x"]) as stream:
            await anyio.wait_all_tasks_blocked()
            here.downstreams.say(ServerEvent("docs", "resource", "doc://a"))
            with anyio.fail_after(5):
                event = await anext(aiter(stream))
            assert event == ResourceUpdated("anyact://docs/doc://a")
        await anyio.wait_all_tasks_blocked()
        assert [method for _, method, _ in here.downstreams.requests] == [
            "resources/subscribe",
            "resources/unsubscribe",
        ]


@pytest.mark.case("Q1")
@pytest.mark.parametrize("mode", MODES)
async def test_a_question_in_mid_call_reaches_the_very_client(mode: Mode) -> None:
    """By request in the old era, by an input-required round in the new; the call then goes on."""
    runs = []

    async def ask(arguments: JsonObject, caller: Caller) -> Observation:
        runs.append(1)
        schema = {"type": "object", "properties": {"name": {"type": "string"}}}
        answer = await caller.ask("elicitation/create", {"message": "Name?", "requestedSchema": schema})
        return observation(f"hello {answer['content']['name']}")

    async def elicit(context: Any, params: Any) -> types.ElicitResult:
        return types.ElicitResult(action="accept", content={"name": "Ada"})

    here = world([action("a", "ask")], behaviours={"a__ask": ask})
    async with in_memory(here, mode, elicitation_callback=elicit) as client:
        with anyio.fail_after(10):
            answer = await client.call_tool("call_action", {"action": "a__ask", "arguments": {"text": "x"}})
        assert isinstance(answer.content[0], types.TextContent)
        assert answer.content[0].text == "hello Ada"
    assert runs == [1]


@pytest.mark.case("Q1")
@pytest.mark.parametrize("mode", MODES)
async def test_a_client_that_cannot_answer_is_not_asked(mode: Mode) -> None:
    """The server gets a proper refusal at once."""

    async def ask(arguments: JsonObject, caller: Caller) -> Observation:
        try:
            await caller.ask("elicitation/create", {"message": "Name?", "requestedSchema": {}})
        except RemoteError as error:
            return observation(f"{error.code} {error.message} {dict(caller.abilities)}")
        return observation("answered")

    here = world([action("a", "ask")], behaviours={"a__ask": ask})
    async with in_memory(here, mode) as client:
        answer = await client.call_tool("call_action", {"action": "a__ask"})
        assert isinstance(answer.content[0], types.TextContent)
        assert answer.content[0].text == "-32601 the client cannot answer elicitation/create {}"


@pytest.mark.case("T2")
@pytest.mark.parametrize("mode", MODES)
async def test_progress_reaches_the_client_in_order(mode: Mode) -> None:
    """Under its own token."""
    seen: list[tuple[float, float | None, str | None]] = []

    async def work(arguments: JsonObject, caller: Caller) -> Observation:
        for step in range(3):
            await caller.progress(step, 3, f"step {step}")
        return observation("done")

    async def on_progress(progress: float, total: float | None, message: str | None) -> None:
        seen.append((progress, total, message))

    here = world([action("a", "work")], behaviours={"a__work": work})
    async with in_memory(here, mode) as client:
        await client.call_tool("call_action", {"action": "a__work"}, progress_callback=on_progress)
        await anyio.wait_all_tasks_blocked()
        await client.call_tool("call_action", {"action": "a__work"})
    assert seen == [(0, 3, "step 0"), (1, 3, "step 1"), (2, 3, "step 2")]


@pytest.mark.parametrize("mode", MODES)
async def test_cancelling_a_call_cancels_the_action(mode: Mode) -> None:
    """The work behind ends, not only the waiting."""
    started, ended = anyio.Event(), anyio.Event()

    async def hang(arguments: JsonObject, caller: Caller) -> Observation:
        started.set()
        try:
            await anyio.sleep_forever()
        finally:
            ended.set()
        return observation("never")

    here = world([action("a", "hang")], behaviours={"a__hang": hang})
    async with in_memory(here, mode) as client, anyio.create_task_group() as group:
        group.start_soon(client.call_tool, "call_action", {"action": "a__hang"})
        with anyio.fail_after(5):
            await started.wait()
            group.cancel_scope.cancel()
    with anyio.fail_after(5):
        await ended.wait()


async def test_requests_that_need_the_parts_wait_for_them() -> None:
    """The handshake does not."""
    here, stand = _docs(), anyio.Event()

    async def late() -> Parts:
        await stand.wait()
        return here.parts

    server = FrontServer(late)
    assert server.health()["status"] == "starting"
    async with server.lifespan(server):
        stand.set()
        await anyio.wait_all_tasks_blocked()
        assert server.health() == {"status": "ok", "version": __version__, "servers": 2, "in_trouble": 0, "actions": 1}


@pytest.mark.case("D2")
async def test_degraded_health_is_not_ok() -> None:
    """One server in trouble is enough."""
    here = _docs(statuses=[ServerStatus("git", "stdio", ServerState.DOWN)])
    server = FrontServer(ready(here.parts))
    async with server.lifespan(server):
        await anyio.wait_all_tasks_blocked()
        assert server.health()["status"] == "degraded"


async def test_parts_that_cannot_stand_make_every_request_an_error() -> None:
    """With the reason, while the server lives on."""

    async def broken() -> Parts:
        raise StorageError("the database is corrupt", hint="Move it away.")

    server = FrontServer(broken)
    async with server.lifespan(server):
        await anyio.wait_all_tasks_blocked()
        assert server.health()["status"] == "starting"
    with pytest.raises(StorageError):
        await server._ready()


async def test_the_schema_of_a_shown_action_is_known_for_parameter_headers() -> None:
    """Unknown names and early questions have none."""
    server = FrontServer(ready(_docs().parts))
    assert server._input_schema("git__log") is None
    async with server.lifespan(server):
        await anyio.wait_all_tasks_blocked()
        assert server._input_schema("git__log") is not None
        assert server._input_schema("nope") is None
