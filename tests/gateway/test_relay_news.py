"""News of one server: who is told, how often, and who watches what."""

from __future__ import annotations

from typing import Any

import anyio
import anyio.to_thread
import pytest

from anyact_server.dispatch import Silent
from anyact_server.errors import RemoteError
from anyact_server.gateway.relay_news import BACKLOG, Watched
from anyact_server.interfaces import ServerEvent
from anyact_server.types import ServerSpec

from .relays import ERAS, LEGACY, MODERN, Scripted, scene
from .twins import TwinCatalog, action

pytestmark = pytest.mark.anyio
SUBSCRIBES: dict[str, Any] = {"resources/subscribe": {}, "resources/unsubscribe": {}}
CHANGED = "notifications/tools/list_changed"
both_servers = pytest.mark.parametrize("server", ERAS)


@pytest.mark.case("G2")
async def test_an_announced_change_is_told_once_though_the_catalog_changes_too() -> None:
    """The catalog's own notice follows the server's; a change that the server hid is told by the catalog alone."""
    async with scene() as world, world.client(LEGACY) as peer:
        world.say("tools")
        await peer.hears(CHANGED)
        world.catalog.announce("s")
        world.catalog.announce("other")
        await anyio.wait_all_tasks_blocked()
        assert len(peer.told) == 1
        world.catalog.announce("s")
        await peer.hears(CHANGED, 2)
        world.catalog.announce("s")
        await peer.hears(CHANGED, 3)


async def test_news_of_other_servers_and_states_are_not_told() -> None:
    """An endpoint is one server's."""
    async with scene() as world, world.client(LEGACY) as peer:
        world.downstreams.say(ServerEvent("t", "tools"))
        world.say("state")
        world.say("connected")
        await anyio.wait_all_tasks_blocked()
        assert peer.told == []


async def test_news_may_come_from_any_thread() -> None:
    """A catalog that is refreshed in a worker thread reaches the clients."""
    async with scene() as world, world.client(LEGACY) as peer:
        await anyio.to_thread.run_sync(world.catalog.announce, "s")
        await anyio.to_thread.run_sync(world.say, "prompts")
        await peer.hears(CHANGED)
        await peer.hears("notifications/prompts/list_changed")


async def test_log_messages_outside_of_calls_reach_older_clients_at_their_level() -> None:
    """In full, and each of them."""
    async with scene({"logging/setLevel": {}}) as world, world.client(LEGACY) as peer:
        await peer.request("logging/setLevel", {"level": "warning"})
        for level in ("info", "error", "error"):
            world.say("log", params={"level": level, "data": None, "logger": "x"})
        heard = await peer.hears("notifications/message", 2)
        assert heard == [{"level": "error", "data": None, "logger": "x"}] * 2


async def test_other_notifications_of_an_older_server_pass_as_they_are() -> None:
    """An elicitation that was completed elsewhere, a task's state, whatever an extension tells; each of them."""
    done = {"elicitationId": "7", "x-new": None}
    async with scene() as world, world.client(LEGACY) as peer:
        for _ in range(2):
            world.say("other", "notifications/elicitation/complete", done)
        assert await peer.hears("notifications/elicitation/complete", 2) == [done, done]


async def test_a_flood_of_news_is_bounded() -> None:
    """The oldest are dropped while the clients are told."""
    async with scene() as world, world.client(LEGACY) as peer:
        for number in range(BACKLOG + 5):
            world.say("log", params={"level": "info", "data": number})
        heard = await peer.hears("notifications/message", BACKLOG)
        assert heard[0]["data"] == 5


async def test_a_client_that_is_not_ready_is_not_told() -> None:
    """Before `notifications/initialized` nothing is sent."""
    async with scene() as world, world.client(LEGACY) as peer:
        world.say("tools")
        await peer.hears(CHANGED)
        assert [method for method, _ in peer.told] == [CHANGED]


def watched(per_client: bool = False) -> tuple[Watched, Scripted]:
    """Watches over one server."""
    catalog = TwinCatalog([action("s", "a")])
    catalog.all_specs = [ServerSpec("s", "memory", per_client=per_client)]
    downstreams = Scripted(SUBSCRIBES)
    return Watched("s", downstreams, catalog), downstreams


async def test_a_server_with_a_connection_per_client_is_subscribed_for_each() -> None:
    """Counting over clients would leave the second connection without news."""
    watch, downstreams = watched(per_client=True)
    for _ in range(2):
        await watch.add({"uri": "a://b"}, Silent())
    for _ in range(2):
        await watch.drop({"uri": "a://b"}, Silent())
    assert len(downstreams.sent("resources/subscribe")) == 2
    assert len(downstreams.sent("resources/unsubscribe")) == 2


async def test_a_server_that_does_not_run_is_not_woken_to_be_unsubscribed() -> None:
    """It has forgotten anyway."""
    watch, downstreams = watched()
    await watch.add({"uri": "a://b"}, Silent())
    downstreams.running = False
    assert await watch.drop({"uri": "a://b"}, Silent()) == {}
    assert downstreams.sent("resources/unsubscribe") == []


async def test_a_refused_subscription_is_not_counted_and_a_refused_end_is_forgiven() -> None:
    """Streams hold what the server took; leaving never fails."""
    watch, downstreams = watched()
    del downstreams.answers["resources/subscribe"]
    async with watch.held(["a://b", "a://b"], Silent()) as taken:
        assert taken == []
    with pytest.raises(RemoteError):
        await watch.add({"uri": "a://b"}, Silent())
    downstreams.answers = {"resources/subscribe": {}}
    async with watch.held(["a://c"], Silent()) as taken:
        assert taken == ["a://c"]
    assert len(downstreams.sent("resources/unsubscribe")) == 1


# --- through a relay


@pytest.mark.case("G2")
@both_servers
async def test_changed_lists_reach_clients_of_both_eras(server: str) -> None:
    """Unasked over an older client's connection, over its stream to a modern one; each in its own words, once."""
    async with (
        scene(era=server) as world,
        world.client(LEGACY) as old,
        world.client(MODERN) as new,
        anyio.create_task_group() as group,
    ):
        wanted = {"notifications": {"toolsListChanged": True, "resourceSubscriptions": []}}
        group.start_soon(new.request, "subscriptions/listen", wanted)
        [ack] = await new.hears("notifications/subscriptions/acknowledged")
        assert ack["notifications"] == {"toolsListChanged": True}
        world.say("tools")
        world.say("tools")
        world.say("prompts")
        await old.hears("notifications/tools/list_changed")
        await old.hears("notifications/prompts/list_changed")
        [told] = await new.hears("notifications/tools/list_changed")
        assert told["_meta"]
        await anyio.wait_all_tasks_blocked()
        assert len(old.told) == 2
        assert len(new.told) == 2
        group.cancel_scope.cancel()


@both_servers
async def test_subscribed_resources_reach_clients_of_both_eras(server: str) -> None:
    """The server is subscribed once, for the first client, and freed by the last."""
    answers: dict[str, Any] = {"resources/subscribe": {}, "resources/unsubscribe": {}}
    async with scene(answers, era=server) as world, world.client(LEGACY) as old, world.client(MODERN) as new:
        async with anyio.create_task_group() as group:
            assert await old.request("resources/subscribe", {"uri": "a://b"}) == {}
            assert await old.request("resources/subscribe", {"uri": "a://b"}) == {}
            wanted = {"notifications": {"resourceSubscriptions": ["a://b", 7]}}
            group.start_soon(new.request, "subscriptions/listen", wanted)
            await new.hears("notifications/subscriptions/acknowledged")
            assert world.downstreams.sent("resources/subscribe") == [{"uri": "a://b"}]
            world.say("resource", "a://b")
            world.say("resource", "a://c")
            assert await old.hears("notifications/resources/updated") == [{"uri": "a://b"}]
            [told] = await new.hears("notifications/resources/updated")
            assert told["uri"] == "a://b"
            assert await old.request("resources/unsubscribe", {"uri": "a://b"}) == {}
            assert await old.request("resources/unsubscribe", {"uri": "a://b"}) == {}
            assert world.downstreams.sent("resources/unsubscribe") == []
            group.cancel_scope.cancel()
        await anyio.wait_all_tasks_blocked()
        assert world.downstreams.sent("resources/unsubscribe") == [{"uri": "a://b"}]


async def test_a_client_that_leaves_gives_up_its_subscriptions() -> None:
    """Nobody watches for it any more."""
    answers: dict[str, Any] = {"resources/subscribe": {}, "resources/unsubscribe": {}}
    async with scene(answers) as world:
        async with world.client(LEGACY) as peer:
            await peer.request("resources/subscribe", {"uri": "a://b"})
        await anyio.wait_all_tasks_blocked()
        assert world.downstreams.sent("resources/unsubscribe") == [{"uri": "a://b"}]


async def test_a_stream_promises_only_what_the_server_tells() -> None:
    """Changes that the server does not declare are not acknowledged, and it is not subscribed."""
    async with (
        scene(capabilities={"tools": {}, "prompts": {"listChanged": True}}) as world,
        world.client(MODERN) as peer,
        anyio.create_task_group() as group,
    ):
        wanted = {"toolsListChanged": True, "promptsListChanged": True, "resourceSubscriptions": ["a://b"]}
        group.start_soon(peer.request, "subscriptions/listen", {"notifications": wanted})
        [ack] = await peer.hears("notifications/subscriptions/acknowledged")
        assert ack["notifications"] == {"promptsListChanged": True}
        assert world.downstreams.requests == []
        group.cancel_scope.cancel()
