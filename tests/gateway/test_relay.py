"""A server behind a relay, as clients of both eras see it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import anyio
import mcp_types as types
import pytest
from mcp.shared.exceptions import MCPError

from anyact_server.errors import DownstreamError
from anyact_server.interfaces import Caller
from anyact_server.types import Action, JsonObject, Kind, Principal

from .relays import ERAS, EVERYTHING, LEGACY, MODERN, scene, shake_hands
from .twins import READ_ONLY, action

pytestmark = pytest.mark.anyio
both_clients = pytest.mark.parametrize("client", ERAS)
DONE = {"content": [{"type": "text", "text": "done"}]}
SURE = {"message": "sure?", "requestedSchema": {"type": "object"}}


async def ask(params: JsonObject, caller: Caller) -> dict[str, Any]:
    """A server of the older era that asks in mid-call."""
    answer = await caller.ask("elicitation/create", SURE)
    return {"content": [{"type": "text", "text": str(answer["action"])}]}


# --- who it is


async def test_the_handshake_is_the_servers_own() -> None:
    """Name, instructions and capabilities are those of the server behind; the version is the client's."""
    async with scene() as world, world.client(LEGACY) as peer:
        found = await shake_hands(peer)
    assert found["protocolVersion"] == LEGACY
    assert found["serverInfo"] == {"name": "behind", "version": "3", "websiteUrl": "https://example.org"}
    assert found["instructions"] == "Ask nicely."
    assert found["capabilities"] == EVERYTHING


async def test_discovery_is_the_servers_own() -> None:
    """As in the handshake, with the versions that are spoken here."""
    async with scene() as world, world.client(MODERN) as peer:
        found = await peer.request("server/discover")
    assert found["supportedVersions"] == [MODERN]
    assert found["capabilities"] == EVERYTHING
    assert found["instructions"] == "Ask nicely."
    assert found["_meta"][types.SERVER_INFO_META_KEY]["name"] == "behind"
    assert "serverInfo" not in found


async def test_a_server_that_was_never_seen_is_asked_who_it_is() -> None:
    """Only then is it started for a greeting, and only once."""
    async with scene() as world, world.client(MODERN) as peer:
        world.catalog.forget("s")
        assert (await peer.request("server/discover"))["capabilities"] == {}
        assert (await peer.request("server/discover"))["capabilities"] == {}


# --- lists


@both_clients
async def test_pages_pass_with_their_cursors(client: str) -> None:
    """The cursor is the server's own word, in both directions."""

    async def page(params: JsonObject, caller: Caller) -> dict[str, Any]:
        found = {"tools": [{"name": "t", "inputSchema": {"type": "object"}, "x-new": 1}], "x-page": 2}
        return found if params.get("cursor") else {**found, "nextCursor": "odd cursor"}

    async with scene({"tools/list": page}) as world, world.client(client) as peer:
        first = await peer.request("tools/list")
        last = await peer.request("tools/list", {"cursor": first["nextCursor"]})
    assert first["tools"][0]["x-new"] == 1
    assert last["x-page"] == 2
    assert "nextCursor" not in last
    assert world.downstreams.repeatable["tools/list"]


@pytest.mark.case("H1")
@both_clients
@pytest.mark.parametrize("method", ["prompts/list", "resources/list", "resources/templates/list"])
async def test_a_list_that_is_not_declared_is_empty_and_never_asked_for(client: str, method: str) -> None:
    """A tools-only server stays undisturbed by clients that probe."""
    async with scene(capabilities={"tools": {}}) as world, world.client(client) as peer:
        found = await peer.request(method)
        assert [value for value in found.values() if isinstance(value, list)] == [[]]
        assert world.downstreams.sent(method) == []


@pytest.mark.case("H1")
async def test_method_not_found_means_none() -> None:
    """A server that declares prompts yet has none does not fail the client; its other errors pass."""

    async def broken(params: JsonObject, caller: Caller) -> dict[str, Any]:
        raise DownstreamError("s is down", server="s", kind=Kind.UNAVAILABLE)

    async with scene({"tools/list": broken}) as world, world.client(LEGACY) as peer:
        assert await peer.request("prompts/list") == {"prompts": []}
        with pytest.raises(MCPError, match="s is down"):
            await peer.request("tools/list")


async def test_malformed_lists_count_as_empty() -> None:
    """A list that is none does not reach the client."""
    async with scene({"tools/list": {"tools": None}}) as world, world.client(LEGACY) as peer:
        assert await peer.request("tools/list") == {"tools": []}


@pytest.mark.case("S1")
async def test_a_bad_tool_is_left_out_and_the_rest_served() -> None:
    """The list of the others is what strict clients take."""
    tools = [{"name": "bad", "inputSchema": {"type": "string"}}, {"name": "good"}]
    async with scene({"tools/list": {"tools": tools}}) as world, world.client(LEGACY) as peer:
        assert await peer.request("tools/list") == {"tools": [{"name": "good", "inputSchema": {"type": "object"}}]}
        assert world.server.get_tool_input_schema is not None
        assert world.server.get_tool_input_schema("good") == {"type": "object"}
        assert world.server.get_tool_input_schema("unheard") is None


# --- calls


@pytest.mark.case("O1")
@both_clients
async def test_results_and_meta_pass_unchanged(client: str) -> None:
    """Flag, data, unknown members and the client's own `_meta` cross in both directions."""
    sent = {"content": [], "isError": True, "structuredContent": {"a": None}, "x-new": [1], "_meta": {"e.org/x": None}}
    async with scene({"tools/call": sent}) as world, world.client(client) as peer:
        found = await peer.request("tools/call", {"name": "t", "arguments": {"a": None}, "odd": 1}, **{"e.org/y": [2]})
    assert {name: found[name] for name in sent if name != "_meta"} == {k: v for k, v in sent.items() if k != "_meta"}
    assert found["_meta"]["e.org/x"] is None
    assert world.downstreams.sent("tools/call") == [
        {"name": "t", "arguments": {"a": None}, "odd": 1, "_meta": {"e.org/y": [2]}}
    ]


@pytest.mark.case("O1")
@both_clients
async def test_errors_of_the_server_pass_as_errors(client: str) -> None:
    """Code, message and data are the server's own."""
    async with scene() as world, world.client(client) as peer:
        with pytest.raises(MCPError) as caught:
            await peer.request("tools/call", {"name": "t"})
    assert (caught.value.error.code, caught.value.error.data) == (types.METHOD_NOT_FOUND, "tools/call")


@both_clients
async def test_methods_of_extensions_pass(client: str) -> None:
    """What the protocol does not name is the server's to answer."""
    async with scene({"example.org/do": {"x": 1}}) as world, world.client(client) as peer:
        assert (await peer.request("example.org/do", {"a": 1}))["x"] == 1
        assert world.downstreams.repeatable["example.org/do"] is False


@pytest.mark.parametrize(("client", "method"), [(MODERN, "resources/subscribe"), (LEGACY, "server/discover")])
async def test_methods_of_the_other_era_are_not_found(client: str, method: str) -> None:
    """Each client sees the protocol that it speaks."""
    async with scene() as world, world.client(client) as peer:
        with pytest.raises(MCPError) as caught:
            await peer.request(method, {"uri": "a://b"})
    assert caught.value.error.code == types.METHOD_NOT_FOUND


async def test_nothing_is_served_before_the_handshake() -> None:
    """A client of the older era that forgot it is told so."""
    async with scene({"tools/call": DONE}) as world, world.client(MODERN) as peer:
        peer.version = LEGACY
        with pytest.raises(MCPError, match="handshake"):
            await peer.request("tools/call", {"name": "t"})
        await peer.notify("notifications/roots/list_changed")
    assert world.downstreams.requests == []


async def test_a_ping_is_answered_here() -> None:
    """The server behind is not woken for it."""
    async with scene() as world, world.client(LEGACY) as peer:
        assert await peer.request("ping") == {}
        assert world.downstreams.requests == []


@pytest.mark.case("T2")
@both_clients
@pytest.mark.parametrize("token", ["tok", 0])
async def test_progress_comes_under_the_clients_own_token(client: str, token: str | int) -> None:
    """In order, and only where the client gave a token."""

    async def work(params: JsonObject, caller: Caller) -> dict[str, Any]:
        await caller.progress(1, 2, "one")
        await caller.progress(2, None, None)
        return DONE

    async with scene({"tools/call": work}) as world, world.client(client) as peer:
        await peer.request("tools/call", {"name": "t"})
        await peer.request("tools/call", {"name": "t"}, progressToken=token)
        heard = await peer.hears("notifications/progress", 2)
    assert heard == [
        {"progressToken": token, "progress": 1, "total": 2, "message": "one"},
        {"progressToken": token, "progress": 2},
    ]


@both_clients
async def test_a_client_that_cancels_cancels_the_call(client: str) -> None:
    """The server's work ends with the client's interest."""
    started, ended = anyio.Event(), anyio.Event()

    async def work(params: JsonObject, caller: Caller) -> dict[str, Any]:
        started.set()
        try:
            await anyio.sleep_forever()
        finally:
            ended.set()
        return DONE

    async with scene({"tools/call": work}) as world, world.client(client) as peer:
        async with anyio.create_task_group() as group:
            group.start_soon(peer.request, "tools/call", {"name": "t"})
            await started.wait()
            group.cancel_scope.cancel()
        await ended.wait()


async def test_only_what_is_safe_is_repeated() -> None:
    """A call may be sent again only when the server says that it does no harm."""
    known = (action("s", "read", hints=READ_ONLY), action("s", "write"))
    async with scene({"tools/call": DONE}, actions=known) as world, world.client(LEGACY) as peer:
        await peer.request("tools/call", {"name": "read"})
        assert world.downstreams.repeatable["tools/call"] is True
        await peer.request("tools/call", {"name": "write"})
        assert world.downstreams.repeatable["tools/call"] is False


async def test_a_call_without_a_name_is_refused() -> None:
    """It does not reach the server."""
    async with scene({"tools/call": DONE}) as world, world.client(LEGACY) as peer:
        with pytest.raises(MCPError, match="name"):
            await peer.request("tools/call", {"name": 7})
        assert world.downstreams.requests == []


async def test_notices_of_the_client_pass() -> None:
    """Changed roots concern the server behind."""
    async with scene() as world, world.client(LEGACY) as peer:
        await peer.notify("notifications/roots/list_changed", {"x": 1})
        await anyio.wait_all_tasks_blocked()
        assert world.downstreams.requests == [("s", "notifications/roots/list_changed", {"x": 1})]


# --- what is hidden


class Careful:
    """A policy that shows one tool, and forbids it."""

    def visible(self, principal: Principal, actions: Sequence[Action], version: int) -> frozenset[str] | None:
        return frozenset({"s__seen"})

    def refusal(self, principal: Principal, action: Action) -> str | None:
        return "not today"


@pytest.mark.case("Z2")
@both_clients
async def test_the_policy_holds_at_the_endpoint(client: str) -> None:
    """Hidden tools are neither listed nor called, and look like unknown ones; refused ones say why."""
    tools = [{"name": name, "inputSchema": {"type": "object"}} for name in ("seen", "hidden")]
    answers = {"tools/list": {"tools": tools, "cacheScope": "public"}, "tools/call": DONE}
    known = (action("s", "seen"), action("s", "hidden"))
    async with scene(answers, actions=known, policy=Careful()) as world, world.client(client) as peer:
        found = await peer.request("tools/list")
        assert [tool["name"] for tool in found["tools"]] == ["seen"]
        assert found.get("cacheScope") in (None, "private")
        with pytest.raises(MCPError, match="Unknown tool: hidden"):
            await peer.request("tools/call", {"name": "hidden"})
        with pytest.raises(MCPError, match="not today"):
            await peer.request("tools/call", {"name": "seen"})
        assert world.downstreams.sent("tools/call") == []


# --- questions


@pytest.mark.case("Q1")
async def test_a_question_reaches_an_older_client_over_its_connection() -> None:
    """The very client whose call it is answers, and the call goes on."""
    async with scene({"tools/call": ask}) as world, world.client(LEGACY, {"elicitation": {}}) as peer:
        peer.replies["elicitation/create"] = {"action": "accept"}
        found = await peer.request("tools/call", {"name": "t"})
        assert found == {"content": [{"type": "text", "text": "accept"}]}
        assert peer.asked == [("elicitation/create", SURE)]


@pytest.mark.case("Q1")
async def test_a_question_ends_the_request_of_a_modern_client_and_the_call_is_held() -> None:
    """The retry with the answer resumes the very same call; the server is asked once."""
    async with scene({"tools/call": ask}) as world, world.client(MODERN, {"elicitation": {}}) as peer:
        asked = await peer.request("tools/call", {"name": "t"})
        assert asked["resultType"] == "input_required"
        [(key, question)] = asked["inputRequests"].items()
        assert question == {"method": "elicitation/create", "params": SURE}
        again = {"name": "t", "requestState": asked["requestState"], "inputResponses": {key: {"action": "decline"}}}
        found = await peer.request("tools/call", again)
        assert found["content"] == [{"type": "text", "text": "decline"}]
        assert len(world.downstreams.sent("tools/call")) == 1


@pytest.mark.case("Q1")
@both_clients
async def test_a_client_that_cannot_answer_is_not_asked(client: str) -> None:
    """The server gets a proper refusal at once."""
    async with scene({"tools/call": ask}) as world, world.client(client) as peer:
        with pytest.raises(MCPError, match="cannot answer"):
            await peer.request("tools/call", {"name": "t"})
        assert peer.asked == []


@pytest.mark.case("Q1")
async def test_a_question_of_a_modern_server_passes_to_a_modern_client() -> None:
    """Its result, its state and the answers cross untouched."""
    rounds: list[JsonObject] = []

    async def work(params: JsonObject, caller: Caller) -> dict[str, Any]:
        rounds.append(params)
        assert caller.passes_input_required
        if "inputResponses" in params:
            return DONE
        return {"resultType": "input_required", "inputRequests": {"k": {"method": "roots/list"}}, "requestState": "own"}

    async with scene({"prompts/get": work}, era=MODERN) as world, world.client(MODERN, {"roots": {}}) as peer:
        asked = await peer.request("prompts/get", {"name": "p"})
        assert asked["requestState"] == "own"
        again = {"name": "p", "requestState": "own", "inputResponses": {"k": {"roots": []}}}
        assert (await peer.request("prompts/get", again))["content"] == DONE["content"]
    assert rounds == [{"name": "p"}, again]


@both_clients
async def test_everything_that_a_client_declares_is_known_to_the_call(client: str) -> None:
    """Extensions included: whether they are relayed is for the connection to decide."""
    seen: list[JsonObject] = []

    async def work(params: JsonObject, caller: Caller) -> dict[str, Any]:
        seen.append(caller.abilities)
        return DONE

    abilities = {"sampling": {}, "extensions": {"io.modelcontextprotocol/ui": {"mimeTypes": ["text/html"]}}}
    async with scene({"tools/call": work}) as world, world.client(client, abilities) as peer:
        await peer.request("tools/call", {"name": "t"})
    assert seen == [abilities]


# --- log messages


async def logs(params: JsonObject, caller: Caller) -> dict[str, Any]:
    """A server that logs at three levels."""
    for level in ("debug", "warning", "odd"):
        await caller.log({"level": level, "data": {"n": None}, "x-new": 1})
    return DONE


async def test_an_older_client_hears_all_until_it_sets_a_level() -> None:
    """Before that the server decides; after it nothing less severe comes."""
    answers = {"tools/call": logs, "logging/setLevel": {}}
    async with scene(answers) as world, world.client(LEGACY) as peer:
        await peer.request("tools/call", {"name": "t"})
        heard = await peer.hears("notifications/message", 3)
        assert heard[0] == {"level": "debug", "data": {"n": None}, "x-new": 1}
        assert await peer.request("logging/setLevel", {"level": "warning"}) == {}
        await peer.request("tools/call", {"name": "t"})
        heard = await peer.hears("notifications/message", 5)
    assert [params["level"] for params in heard] == ["debug", "warning", "odd", "warning", "odd"]


async def test_a_modern_client_hears_what_it_asks_for_with_its_request() -> None:
    """Silence means none."""
    async with scene({"tools/call": logs}, era=MODERN) as world, world.client(MODERN) as peer:
        await peer.request("tools/call", {"name": "t"})
        await peer.request("tools/call", {"name": "t"}, **{types.LOG_LEVEL_META_KEY: "info"})
        heard = await peer.hears("notifications/message", 1)
    assert [params["level"] for params in heard] == ["warning"]


async def test_the_level_of_an_older_client_goes_with_each_request_to_a_modern_server() -> None:
    """There is no session there to keep it."""
    async with scene({"tools/call": DONE}, era=MODERN) as world, world.client(LEGACY) as peer:
        await peer.request("tools/call", {"name": "t"})
        await peer.request("logging/setLevel", {"level": "error"})
        await peer.request("tools/call", {"name": "t"})
        asked = [params["_meta"][types.LOG_LEVEL_META_KEY] for params in world.downstreams.sent("tools/call")]
        assert asked == ["info", "error"]
        assert world.downstreams.sent("logging/setLevel") == []


async def test_clients_share_the_level_of_an_older_server_without_silencing_each_other() -> None:
    """It goes down to the chattiest wish, never up, and is told again to a fresh connection."""
    answers = {"tools/call": DONE, "logging/setLevel": {}}
    async with scene(answers) as world, world.client(LEGACY) as first, world.client(MODERN) as second:
        await first.request("logging/setLevel", {"level": "warning"})
        await first.request("logging/setLevel", {"level": "error"})
        for level in ("debug", "error"):
            await second.request("tools/call", {"name": "t"}, **{types.LOG_LEVEL_META_KEY: level})
        sent = [params["_meta"][types.LOG_LEVEL_META_KEY] for params in world.downstreams.sent("tools/call")]
        assert sent == ["debug", "debug"]
        assert world.downstreams.sent("logging/setLevel") == [{"level": "warning"}]
        world.say("connected")
        await anyio.wait_all_tasks_blocked()
        assert world.downstreams.sent("logging/setLevel") == [{"level": "warning"}, {"level": "debug"}]


async def test_a_server_that_no_longer_takes_its_level_harms_nobody() -> None:
    """A fresh connection is used all the same."""
    answers: dict[str, Any] = {"tools/call": DONE, "logging/setLevel": {}}
    async with scene(answers) as world, world.client(LEGACY) as peer:
        world.say("connected")
        await peer.request("logging/setLevel", {"level": "debug"})
        del world.downstreams.answers["logging/setLevel"]
        world.say("connected")
        await anyio.wait_all_tasks_blocked()
        assert (await peer.request("tools/call", {"name": "t"})) == DONE


async def test_an_unknown_level_is_refused() -> None:
    """With the levels that there are."""
    async with scene() as world, world.client(LEGACY) as peer:
        with pytest.raises(MCPError, match="debug"):
            await peer.request("logging/setLevel", {"level": "loud"})
