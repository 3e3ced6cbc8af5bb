"""Helper actions found through what other actions require."""

from __future__ import annotations

from typing import Any

import pytest

from anyact_server.retrieval import Index
from anyact_server.retrieval.links import helper
from anyact_server.types import Action, Hints, Query

from .doubles import WordEncoder, action


def needing(name: str, *parameters: str, **rest: Any) -> Action:
    """An action that requires parameters."""
    schema = {"type": "object", "properties": {one: {} for one in parameters}, "required": list(parameters)}
    return action(name, input_schema=schema, **rest)


CHAT = (
    needing("post_message", "channel_id", "text"),
    needing("list_channels"),
    needing("get_channel", "channelId"),
    needing("delete_channels", "channel_id", hints=Hints(destructive=True)),
    needing("list_users"),
)


@pytest.mark.parametrize(
    ("name", "parameters", "expected"),
    [
        ("post_message", ("text", "channel_id"), ("channel_id", "box__list_channels")),
        ("postMessage", ("channelId",), ("channelId", "box__list_channels")),
        ("post", ("channelid",), ("channelid", "box__list_channels")),
        ("get_user", ("id",), ("id", "box__list_users")),
        ("remove", ("user_ids", "channel_id"), ("user_ids", "box__list_users")),
        ("post_text", ("text",), None),
        ("get_invoice", ("invoice_id",), None),
        ("get", ("id",), None),
    ],
)
def test_the_action_that_gives_an_id_helps_the_one_that_requires_it(
    name: str, parameters: tuple[str, ...], expected: tuple[str, str] | None
) -> None:
    """In any spelling, the first required id first; nothing where nothing gives it."""
    found = helper(needing(name, *parameters), CHAT)
    assert (found and (found.parameter, found.action)) == expected


def test_a_helper_needs_no_such_id_itself_and_can_be_called() -> None:
    """An action that requires what it would give is no help, nor one with a fault, nor the action itself."""
    asks = needing("post", "channel_id")
    assert helper(asks, [needing("get_channel", "channel_id")]) is None
    assert helper(asks, [needing("list_channels", fault="no schema")]) is None
    assert helper(needing("list_channels", "channel_id"), [needing("list_channels", "channel_id")]) is None
    assert helper(action("x", input_schema={"required": "channel_id"}), CHAT) is None
    assert helper(action("x", input_schema={"required": [3, "channel_id"]}), CHAT) is not None


def test_hits_name_their_helpers_among_what_may_be_seen() -> None:
    """A helper that the search may not show is not named."""
    index = Index(WordEncoder())
    index.rebuild(CHAT)
    first = index.search(Query(("post message",))).hits[0]
    assert first.action.id == "box__post_message"
    assert first.helper is not None and first.helper.action == "box__list_channels"
    seen = frozenset({"box__post_message", "box__list_users"})
    assert index.search(Query(("post message",), visible=seen)).hits[0].helper is None
