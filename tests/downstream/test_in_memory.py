"""Servers in this process: handlers by name, and server objects of the SDK."""

from __future__ import annotations

import anyio
import pytest

from anyact_server.downstream import Handlers, Pool
from anyact_server.errors import DownstreamError, RemoteError
from anyact_server.settings import Settings
from anyact_server.types import Era, JsonObject, ServerSpec

from .kit import inside, world

pytestmark = pytest.mark.anyio
MEMORY = ServerSpec("memory", "memory")


async def test_handlers_make_a_server() -> None:
    """Methods without a handler are not found, errors pass with code and data, the handshake is answered."""

    async def tools(params: JsonObject) -> JsonObject:
        return {"tools": [{"name": "a"}]}

    async def call(params: JsonObject) -> JsonObject:
        if params["name"] == "bad":
            raise RemoteError(-7, "bad", {"x": 1}, server="memory")
        return {"content": [], "got": params["arguments"]}

    target = Handlers({"tools/list": tools, "tools/call": call}, name="mine")
    async with world(MEMORY, memory={"memory": target}) as w:
        snapshot = await w.pool.take_snapshot("memory")
        assert snapshot.tools == ({"name": "a"},) and snapshot.info["name"] == "mine"
        assert (await w.call("memory", "x", n=1))["got"] == {"n": 1}
        with pytest.raises(RemoteError) as caught:
            await w.call("memory", "bad")
        assert (caught.value.code, caught.value.data) == (-7, {"x": 1})
        with pytest.raises(RemoteError, match="Method not found"):
            await w.pool.request("memory", "prompts/list", {}, caller=w.caller)


async def test_a_cancelled_request_cancels_its_handler() -> None:
    """And only that one; requests that are not there cannot be cancelled."""
    ended = anyio.Event()

    async def call(params: JsonObject) -> JsonObject:
        if params["name"] == "slow":
            try:
                await anyio.sleep_forever()
            finally:
                ended.set()
        return {}

    async with world(MEMORY, memory={"memory": Handlers({"tools/call": call}, capabilities={})}) as w:
        with anyio.move_on_after(0.2):
            await w.call("memory", "slow")
        with anyio.fail_after(5):
            await ended.wait()
        await w.pool.notify("memory", "notifications/cancelled", {"requestId": 99})
        assert await w.call("memory", "quick") == {}


@pytest.mark.parametrize("era", ["auto", "legacy", "modern"])
async def test_a_server_object_of_the_sdk_is_used_in_any_era(era: Era) -> None:
    """Calls, progress and news as over any other transport."""
    async with world(inside(era)) as w:
        assert (await w.call("plain", "add", a=1, b=2))["structuredContent"] == {"sum": 3}
        assert await w.text("plain", "progress", steps=2) == "done"
        await w.call("plain", "change")
        await w.events.until(lambda event: event.what == "tools")


async def test_a_server_that_ends_is_down_and_starts_again() -> None:
    """What ends by itself is noticed at once."""
    starts = 0

    class Brief:
        async def serve(self, inbox: object, outbox: object) -> None:
            nonlocal starts
            starts += 1

    async with world(MEMORY, memory={"memory": Brief()}) as w:
        for _ in range(2):
            with anyio.fail_after(5), pytest.raises(DownstreamError, match="has ended"):
                await w.pool.restart("memory")
    assert starts >= 2


async def test_a_server_that_is_not_there_is_named() -> None:
    """A spec without its target."""
    pool = Pool([MEMORY], Settings())
    async with pool.running():
        with pytest.raises(DownstreamError, match="no such server in memory"):
            await pool.take_snapshot("memory")
