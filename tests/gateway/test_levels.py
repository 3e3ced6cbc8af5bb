"""Log levels, passed on to servers."""

from __future__ import annotations

import anyio
import pytest
from mcp.shared.exceptions import MCPDeprecationWarning

from anyact_server.errors import RemoteError
from anyact_server.interfaces import Caller, ServerEvent
from anyact_server.types import JsonObject, Snapshot

from .clients import in_memory
from .twins import World, world

pytestmark = pytest.mark.anyio


async def _take(method: str, params: JsonObject, caller: Caller) -> JsonObject:
    if params["level"] == "emergency":
        raise RemoteError(-32601, "no", server="talks")
    return {}


def _world() -> World:
    return world(snapshots=[Snapshot("talks", capabilities={"logging": {}}), Snapshot("silent")], respond=_take)


async def test_a_level_reaches_the_servers_that_log_at_once_and_when_they_connect() -> None:
    """Others are not asked; a refusal costs nothing; nothing is told once the client left."""
    here = _world()
    async with in_memory(here, "legacy") as client:
        here.downstreams.say(ServerEvent("talks", "connected"))
        await anyio.wait_all_tasks_blocked()
        assert here.downstreams.requests == []
        for level in ("emergency", "debug"):
            with pytest.warns(MCPDeprecationWarning):
                await client.session.set_logging_level(level)
            await anyio.wait_all_tasks_blocked()
        here.downstreams.say(ServerEvent("talks", "connected"))
        here.downstreams.say(ServerEvent("talks", "state"))
        await anyio.wait_all_tasks_blocked()
    told = [(server, params["level"]) for server, _, params in here.downstreams.requests]
    assert told == [("talks", "emergency"), ("talks", "debug"), ("talks", "debug")]
