"""The client behind a request."""

from __future__ import annotations

from typing import Any, cast

import anyio
import mcp_types as types
import pytest
from mcp.server import ServerRequestContext
from mcp.server.session import ServerSession
from mcp.shared.exceptions import MCPDeprecationWarning

from anyact_server.errors import RemoteError
from anyact_server.gateway import ClientCaller
from anyact_server.gateway.callers import LEVELS, ability_for
from anyact_server.interfaces import Caller
from anyact_server.types import JsonObject, Observation

from .clients import MODES, Mode, Tokens, in_memory, over_http
from .clients import client_at as at
from .twins import World, action, observation, world

pytestmark = pytest.mark.anyio


def _reporting(*callers: Caller) -> tuple[World, list[Caller]]:
    seen: list[Caller] = list(callers)

    async def keep(arguments: JsonObject, caller: Caller) -> Observation:
        seen.append(caller)
        return observation("kept")

    return world([action("a", "keep")], behaviours={"a__keep": keep}), seen


@pytest.mark.parametrize("mode", MODES)
async def test_the_caller_over_a_pipe_is_the_pipe(mode: Mode) -> None:
    """One principal, one session, no headers."""
    here, seen = _reporting()
    async with in_memory(here, mode) as client:
        await client.call_tool("call_action", {"action": "a__keep"})
        await client.call_tool("call_action", {"action": "a__keep"})
    assert {(caller.principal.name, caller.principal.origin) for caller in seen} == {("stdio", "stdio")}
    assert seen[0].session == seen[1].session is not None
    assert dict(seen[0].headers) == {}
    assert seen[0].passes_input_required is False


@pytest.mark.case("A2")
@pytest.mark.parametrize("mode", MODES)
async def test_the_caller_over_http_is_its_token(mode: Mode) -> None:
    """Its headers are there for servers that name them; sessions exist in the old era only."""
    here, seen = _reporting()
    async with over_http(here, tokens=Tokens(secret="ada")) as url:
        headers = {"Authorization": "Bearer secret", "X-Test": "yes"}
        async with at(f"{url}/mcp", mode, headers) as client:
            await client.call_tool("call_action", {"action": "a__keep"})
    (caller,) = seen
    assert (caller.principal.name, caller.principal.origin) == ("ada", "token")
    assert caller.headers["x-test"] == "yes"
    assert (caller.session is None) is (mode == "auto")


async def test_unnamed_clients_of_the_old_era_are_told_apart_by_their_session() -> None:
    """So that neither reads what the other was given by handle."""
    here, seen = _reporting()
    async with over_http(here) as url:
        for mode in ("legacy", "legacy", "auto"):
            async with at(f"{url}/mcp", mode) as client:
                await client.call_tool("call_action", {"action": "a__keep"})
    first, second, modern = (caller.principal for caller in seen)
    assert first.name != second.name
    assert (first.origin, second.origin, modern.origin) == ("session", "session", "local")


@pytest.mark.parametrize("mode", MODES)
async def test_the_clients_abilities_are_those_that_it_declared(mode: Mode) -> None:
    """And nothing else."""

    async def elicit(context: Any, params: Any) -> types.ElicitResult:
        return types.ElicitResult(action="decline")

    here, seen = _reporting()
    async with in_memory(here, mode, elicitation_callback=elicit) as client:
        await client.call_tool("call_action", {"action": "a__keep"})
    assert list(seen[0].abilities) == ["elicitation"]


@pytest.mark.parametrize("mode", MODES)
async def test_log_messages_reach_a_client_that_wants_their_level(mode: Mode) -> None:
    """A legacy client gets info and above until it sets a level; a modern one asks with each request."""
    heard: list[str] = []

    async def talk(arguments: JsonObject, caller: Caller) -> Observation:
        for level in LEVELS:
            await caller.log({"level": level, "data": level, "logger": "s"})
        await caller.log({"level": "loud", "data": "x"})
        await caller.log({"level": "error", "data": "x", "logger": 3})
        return observation("talked")

    async def on_log(params: types.LoggingMessageNotificationParams) -> None:
        heard.append(params.data)

    here = world([action("a", "talk")], behaviours={"a__talk": talk})
    async with in_memory(here, mode, logging_callback=on_log) as client:
        await client.call_tool("call_action", {"action": "a__talk"})
        await anyio.wait_all_tasks_blocked()
        assert heard == (list(LEVELS[1:]) if mode == "legacy" else [])
        heard.clear()
        if mode == "legacy":
            with pytest.warns(MCPDeprecationWarning):
                await client.session.set_logging_level("error")
            await client.call_tool("call_action", {"action": "a__talk"})
        else:
            meta: Any = {"io.modelcontextprotocol/logLevel": "error"}
            await client.call_tool("call_action", {"action": "a__talk"}, meta=meta)
        await anyio.wait_all_tasks_blocked()
        assert heard == list(LEVELS[LEVELS.index("error") :])


@pytest.mark.case("Q1")
async def test_a_refusal_of_the_client_reaches_the_server_as_it_is() -> None:
    """Code and message; malformed answers and a client that cannot roots are refusals too."""
    outcomes: list[tuple[int, str]] = []

    async def ask(arguments: JsonObject, caller: Caller) -> Observation:
        for method, params in (
            ("elicitation/create", {"message": "?", "requestedSchema": {"type": "object", "properties": {}}}),
            ("roots/list", {}),
        ):
            try:
                await caller.ask(method, params)
            except RemoteError as error:
                outcomes.append((error.code, error.message))
        return observation("asked")

    async def elicit(context: Any, params: Any) -> types.ErrorData:
        return types.ErrorData(code=-32000, message="not now")

    here = world([action("a", "ask")], behaviours={"a__ask": ask})
    async with in_memory(here, "legacy", elicitation_callback=elicit) as client:
        await client.call_tool("call_action", {"action": "a__ask"})
    assert outcomes == [(-32000, "not now"), (-32601, "the client cannot answer roots/list")]


def test_each_question_needs_one_ability() -> None:
    """A method that is no question needs itself, which nobody declares."""
    assert [
        ability_for(method) for method in ("elicitation/create", "sampling/createMessage", "roots/list", "x/y")
    ] == [
        "elicitation",
        "sampling",
        "roots",
        "x/y",
    ]


class _Broken:
    """A session whose stream broke."""

    client_capabilities = None
    client_params = None

    async def report_progress(self, progress: float, total: float | None, message: str | None) -> None:
        raise anyio.BrokenResourceError


async def test_a_broken_stream_costs_only_the_progress() -> None:
    """The call goes on, whoever listens; a client that declared nothing is asked nothing."""
    context = ServerRequestContext[Any, Any](
        session=cast("ServerSession", _Broken()), lifespan_context=None, protocol_version="2025-11-25", method="ping"
    )
    caller = ClientCaller(context)
    await caller.progress(1, 2, "lost")
    assert caller.abilities == {}


async def test_a_client_that_left_is_no_fault_of_the_call() -> None:
    """Progress, logs and questions after the end of a request are lost, or refused."""
    here, seen = _reporting()

    async def elicit(context: Any, params: Any) -> types.ElicitResult:
        return types.ElicitResult(action="decline")

    async with in_memory(here, "legacy", elicitation_callback=elicit) as client:
        await client.call_tool("call_action", {"action": "a__keep"})
        (caller,) = seen
        await caller.progress(1, 2, "late")
        await caller.log({"level": "error", "data": "late"})
        with pytest.raises(RemoteError):
            await caller.ask("elicitation/create", {"message": "?", "requestedSchema": {}})
