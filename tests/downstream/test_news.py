"""News of servers: what notifications announce, and the stream of the new era that brings them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import anyio
import pytest

from anyact_server.downstream.eras import Agreement
from anyact_server.downstream.news import ACKNOWLEDGED, SUBSCRIPTION_KEY, News, event_of, wanted
from anyact_server.errors import DownstreamError, RemoteError
from anyact_server.interfaces import ServerEvent
from anyact_server.types import JsonObject, Kind

pytestmark = pytest.mark.anyio
CHANGING = {"tools": {"listChanged": True}, "prompts": {"listChanged": False}, "resources": {}}


@pytest.mark.parametrize(
    ("method", "params", "event"),
    [
        ("notifications/tools/list_changed", {}, ServerEvent("s", "tools")),
        ("notifications/prompts/list_changed", {}, ServerEvent("s", "prompts")),
        ("notifications/resources/list_changed", {}, ServerEvent("s", "resources")),
        ("notifications/resources/updated", {"uri": "a:b"}, ServerEvent("s", "resource", "a:b")),
        ("notifications/message", {"data": 1}, ServerEvent("s", "log", params={"data": 1})),
        ("notifications/resources/updated", {}, None),
        ("notifications/initialized", {}, None),
    ],
)
def test_notifications_announce_events(method: str, params: JsonObject, event: ServerEvent | None) -> None:
    """Those that announce nothing give none."""
    assert event_of("s", method, params) == event


def test_other_notifications_pass_for_clients_to_see() -> None:
    """Their method and params are kept."""
    event = event_of("s", "notifications/elicitation/complete", {"elicitationId": "1"})
    assert event is not None
    assert (event.what, event.detail, event.params) == (
        "other",
        "notifications/elicitation/complete",
        {"elicitationId": "1"},
    )


def test_only_what_may_change_is_listened_to() -> None:
    """Lists that the server says may change, resources that somebody watches."""
    assert wanted(CHANGING, frozenset()) == {"toolsListChanged": True}
    assert wanted({}, frozenset({"b:", "a:"})) == {"resourceSubscriptions": ["a:", "b:"]}
    assert wanted({"tools": None}, frozenset()) == {}


class Server:
    """The server's end of the streams: acknowledges each, holds it until it is cancelled or told to end."""

    def __init__(self, *ends: Exception | None) -> None:
        self.ends = list(ends)
        self.news: News | None = None
        self.opened: list[JsonObject] = []
        self.closed: list[JsonObject] = []
        self.emitted: list[str] = []
        self.stirred = anyio.Event()

    async def listen(self, params: JsonObject, on_sent: Callable[[int], None]) -> None:
        self.opened.append(params["notifications"])
        ident = len(self.opened)
        on_sent(ident)
        self.stir()
        if self.ends:
            end = self.ends.pop(0)
            if end is not None:
                raise end
            return
        assert self.news is not None
        assert self.news.acknowledge(ACKNOWLEDGED, {"_meta": {SUBSCRIPTION_KEY: ident}})
        try:
            await anyio.sleep_forever()
        finally:
            self.closed.append(params["notifications"])

    def emit(self, name: str) -> None:
        self.emitted.append(name)
        self.stir()

    def stir(self) -> None:
        self.stirred.set()
        self.stirred = anyio.Event()

    async def until(self, true: Callable[[], bool]) -> None:
        with anyio.fail_after(10):
            while not true():
                await self.stirred.wait()


def news_of(server: Server, capabilities: JsonObject, watched: set[str] | None = None) -> News:
    """News from a server."""
    given = set[str]() if watched is None else watched
    server.news = News(Agreement("2026-07-28", True, capabilities), given, server.listen, server.emit)
    return server.news


async def test_one_stream_is_open_and_follows_the_wishes() -> None:
    """The new one is there before the old one goes, so nothing is missed; watching twice changes nothing."""
    server = Server()
    watched: set[str] = set()
    news = news_of(server, CHANGING, watched)
    async with anyio.create_task_group() as group:
        group.start_soon(news.run)
        await server.until(lambda: len(server.opened) == 1)
        await news.watch("a:", on=True)
        await news.watch("a:", on=True)
        await anyio.wait_all_tasks_blocked()
        assert server.opened == [
            {"toolsListChanged": True},
            {"toolsListChanged": True, "resourceSubscriptions": ["a:"]},
        ]
        assert server.closed == server.opened[:1] and watched == {"a:"}
        await news.watch("a:", on=False)
        assert server.opened[-1] == {"toolsListChanged": True} and watched == set()
        group.cancel_scope.cancel()


async def test_nothing_is_opened_without_a_wish() -> None:
    """A server whose lists never change is left in peace until somebody watches a resource."""
    server = Server()
    news = news_of(server, {})
    async with anyio.create_task_group() as group:
        group.start_soon(news.run)
        await anyio.wait_all_tasks_blocked()
        assert server.opened == []
        await news.watch("a:", on=True)
        assert server.opened == [{"resourceSubscriptions": ["a:"]}]
        await news.watch("a:", on=False)
        await anyio.wait_all_tasks_blocked()
        assert len(server.opened) == len(server.closed) == 1
        group.cancel_scope.cancel()


@pytest.mark.case("R2")
async def test_a_stream_that_is_lost_is_opened_again_after_a_pause() -> None:
    """What may have been missed meanwhile counts as changed."""
    lost = DownstreamError("gone", server="s", kind=Kind.CRASHED)
    server = Server(lost, None)
    news = news_of(server, CHANGING)
    async with anyio.create_task_group() as group:
        group.start_soon(news.run)
        began = anyio.current_time()
        await server.until(lambda: len(server.opened) == 3)
        assert anyio.current_time() - began > 1.5
        assert server.emitted == ["tools", "tools"]
        group.cancel_scope.cancel()


async def test_a_server_without_such_a_stream_is_not_asked_again() -> None:
    """Its refusal is final, and those who watch are not held up."""
    server = Server(RemoteError(-32601, "Method not found", server="s"))
    news = news_of(server, CHANGING)
    async with anyio.create_task_group() as group:
        group.start_soon(news.run)
        await server.until(lambda: len(server.opened) == 1)
        await anyio.wait_all_tasks_blocked()
        assert len(server.opened) == 1
        group.cancel_scope.cancel()


@pytest.mark.parametrize(
    "params", [{}, {"_meta": 7}, {"_meta": {SUBSCRIPTION_KEY: 99}}, {"_meta": {SUBSCRIPTION_KEY: []}}]
)
def test_acknowledgements_of_nothing_are_taken_and_forgotten(params: dict[str, Any]) -> None:
    """They are no news for anybody."""
    news = news_of(Server(), {})
    assert news.acknowledge(ACKNOWLEDGED, params)
    assert not news.acknowledge("notifications/x", params)
