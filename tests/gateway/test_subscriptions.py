"""Subscriptions of servers, counted over clients."""

from __future__ import annotations

import anyio
import pytest

from anyact_server.errors import RemoteError
from anyact_server.gateway.subscriptions import Subscriptions
from anyact_server.interfaces import Caller
from anyact_server.types import JsonObject

from .twins import TwinCaller, TwinDownstreams, World, world

pytestmark = pytest.mark.anyio


async def _take(method: str, params: JsonObject, caller: Caller) -> JsonObject:
    if params["uri"] == "doc://refused":
        raise RemoteError(-32602, "no", server="docs")
    return {}


def _asked(here: World) -> list[str]:
    return [method.removeprefix("resources/") for _, method, _ in here.downstreams.requests]


async def test_a_server_is_subscribed_with_the_first_client_and_released_with_the_last() -> None:
    """Whoever is in between costs nothing."""
    here, wanted = world(respond=_take), Subscriptions()
    for _ in range(3):
        await wanted.add(here.parts, "docs", "doc://a", TwinCaller())
    for _ in range(3):
        await wanted.drop(here.parts, "docs", "doc://a")
    assert _asked(here) == ["subscribe", "unsubscribe"]


async def test_a_refusal_is_raised_and_not_counted() -> None:
    """The next client asks again."""
    here, wanted = world(respond=_take), Subscriptions()
    for _ in range(2):
        with pytest.raises(RemoteError):
            await wanted.add(here.parts, "docs", "doc://refused", TwinCaller())
    assert _asked(here) == ["subscribe", "subscribe"]


async def test_what_a_stream_names_is_held_as_long_as_it_runs() -> None:
    """A server that refuses is left out; the others are released, also when the stream is cancelled."""
    here, wanted = world(respond=_take), Subscriptions()
    uris = [("docs", "doc://a"), ("docs", "doc://refused")]
    with anyio.CancelScope() as scope:
        async with wanted.held(here.parts, uris, TwinCaller()):
            await anyio.wait_all_tasks_blocked()
            scope.cancel()
            await anyio.sleep_forever()
    assert sorted(_asked(here)) == ["subscribe", "subscribe", "unsubscribe"]


class _Stopped(TwinDownstreams):
    """A server that does not run."""

    def connected(self, server: str) -> bool:
        return False


async def test_a_server_that_stopped_is_not_started_to_be_released() -> None:
    """And one that refuses the release is left alone."""
    here, wanted = world(respond=_take), Subscriptions()
    here.downstreams = _Stopped(_take)
    await wanted.add(here.parts, "docs", "doc://a", TwinCaller())
    await wanted.drop(here.parts, "docs", "doc://a")
    assert _asked(here) == ["subscribe"]

    async def stubborn(method: str, params: JsonObject, caller: Caller) -> JsonObject:
        if method == "resources/unsubscribe":
            raise RemoteError(-32601, "no", server="docs")
        return {}

    here.downstreams = TwinDownstreams(stubborn)
    await wanted.add(here.parts, "docs", "doc://a", TwinCaller())
    await wanted.drop(here.parts, "docs", "doc://a")
    assert _asked(here) == ["subscribe", "unsubscribe"]
