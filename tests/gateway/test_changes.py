"""Notices of changes."""

from __future__ import annotations

from contextlib import AsyncExitStack
from typing import Any, cast

import anyio
import anyio.to_thread
import mcp_types as types
import pytest
from mcp.server.connection import Connection
from mcp.server.subscriptions import ServerEvent as BusEvent
from mcp.server.subscriptions import ToolsListChanged

from anyact_server.gateway.changes import Changes, lists_of
from anyact_server.interfaces import ServerEvent
from anyact_server.types import CatalogChange, JsonObject

from .clients import in_memory
from .twins import action, world

pytestmark = pytest.mark.anyio


@pytest.mark.case("G2")
async def test_changes_of_the_same_moment_are_one_notice() -> None:
    """Whatever thread they come from."""
    here, changes = world([action("a", "b")]), Changes()
    heard: list[BusEvent] = []
    changes.bus.subscribe(heard.append)
    async with anyio.create_task_group() as group:
        group.start_soon(changes.run, here.parts)
        await anyio.wait_all_tasks_blocked()
        for number in range(5):
            here.catalog.add(action("a", f"new{number}"))
        await anyio.wait_all_tasks_blocked()
        assert heard.count(ToolsListChanged()) == 1
        await anyio.to_thread.run_sync(here.catalog.add, action("a", "threaded"))
        await anyio.wait_all_tasks_blocked()
        assert heard.count(ToolsListChanged()) == 2
        group.cancel_scope.cancel()
    here.catalog.add(action("a", "late"))
    assert heard.count(ToolsListChanged()) == 2


async def test_log_messages_outside_of_calls_reach_legacy_clients_that_want_them() -> None:
    """With the server as the logger, unless it names one; states and quiet levels are no notices."""
    here = world([action("a", "b")])
    heard: list[Any] = []
    told = anyio.Event()

    async def on_log(params: types.LoggingMessageNotificationParams) -> None:
        heard.append((params.logger, params.data))
        if params.data == "last":
            told.set()

    async with in_memory(here, "legacy", logging_callback=on_log) as client:
        await client.list_tools()
        here.downstreams.say(ServerEvent("a", "state"))
        here.downstreams.say(ServerEvent("a", "log", params={"level": "debug", "data": "quiet"}))
        here.downstreams.say(ServerEvent("a", "log", params={"level": "error", "data": "first"}))
        here.downstreams.say(ServerEvent("a", "log", params={"level": "error", "data": "last", "logger": "db"}))
        with anyio.fail_after(5):
            await told.wait()
    assert heard == [("a", "first"), ("db", "last")]


async def test_a_client_that_left_is_told_nothing() -> None:
    """It is forgotten with its connection."""
    here = world([action("a", "b")])
    async with in_memory(here, "legacy") as client:
        await client.list_tools()
    here.catalog.add(action("a", "late"))


class _Stuck:
    """A connection of the handshake era whose client takes nothing."""

    def __init__(self) -> None:
        self.initialized = anyio.Event()
        self.exit_stack = AsyncExitStack()
        self.state: dict[str, Any] = {}
        self.asked: list[str] = []

    async def notify(self, method: str, params: JsonObject | None) -> None:
        self.asked.append(method)
        await anyio.sleep_forever()


async def test_a_client_that_takes_nothing_holds_up_nobody() -> None:
    """It loses the notice; one that has not greeted yet is not told at all."""
    here, changes = world([action("a", "b")]), Changes(send_s=0.01)
    stuck, early = _Stuck(), _Stuck()
    stuck.initialized.set()
    for connection in (stuck, early):
        changes.join(cast("Connection", connection))
    async with anyio.create_task_group() as group:
        group.start_soon(changes.run, here.parts)
        await anyio.wait_all_tasks_blocked()
        here.catalog.announce("a", ("a__c",))
        heard: list[BusEvent] = []
        changes.bus.subscribe(heard.append)
        with anyio.fail_after(5):
            while len(stuck.asked) < 2:
                here.catalog.announce("a", ("a__d",))
                await anyio.wait_all_tasks_blocked()
        group.cancel_scope.cancel()
    assert set(stuck.asked) == {"notifications/tools/list_changed"}
    assert early.asked == []
    assert heard


def test_a_change_names_the_lists_that_clients_see_otherwise() -> None:
    """A changed schema concerns tools alone; a server that came or went concerns every list."""
    assert lists_of(CatalogChange("a", changed={"a__b": ("title",)})) == ("tools",)
    assert lists_of(CatalogChange("a", lists=("prompts", "templates", "resources"))) == ("prompts", "resources")
    assert lists_of(CatalogChange("a", removed=("a__b",))) == ("tools", "prompts", "resources")
    assert lists_of(CatalogChange("a")) == ()
