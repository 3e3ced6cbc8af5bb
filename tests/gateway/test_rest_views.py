"""Actions and hits as REST shows them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from anyact_server.gateway.rest_answers import encoded
from anyact_server.gateway.rest_views import ANSWER_BYTES, action_card, action_whole, hits_json
from anyact_server.types import Estimate, Hit

from .twins import READ_ONLY, action


def test_a_short_action_is_shown_as_it_is() -> None:
    """Nothing is marked as cut."""
    shown = action_card(action("demo", "echo", hints=READ_ONLY, tags=("a", "b"), title="Echo"))
    assert shown == {
        "id": "demo__echo",
        "server": "demo",
        "name": "echo",
        "title": "Echo",
        "description": "Does echo on demo.",
        "kind": "tool",
        "state": "current",
        "fault": None,
        "tags": ["a", "b"],
        "hints": {"read_only": True},
    }


@pytest.mark.case("F1")
def test_long_texts_are_cut_in_lists_and_whole_alone() -> None:
    """The cut names the size of each."""
    long = action("demo", "echo", description="d" * 20_000, title="t" * 500, tags=tuple(str(n) for n in range(50)))
    card = action_card(long)
    assert card["cut"] == {"title": 500, "description": 20_000, "tags": 50}
    assert len(card["description"]) == 400 and card["description"].endswith("…")
    assert len(card["tags"]) == 20
    alone = action_whole(long, Estimate("demo__echo", 0.9, 0.5, 1.0))
    assert alone["description"] == "d" * 20_000 and len(alone["tags"]) == 50 and "cut" not in alone
    assert alone["input_schema"]["required"] == ["text"]
    assert alone["reliability"]["success"] == 0.9


@pytest.mark.case("F1")
@pytest.mark.parametrize("detail", ["cards", "schemas", "full"])
def test_a_search_answer_has_a_ceiling_whatever_servers_wrote(detail: str) -> None:
    """Fifty hits with descriptions of 20 KB and schemas of 50 KB; what did not fit is named with its size."""
    schema = {"type": "object", "properties": {"x": {"type": "string", "description": "s" * 50_000}}}
    hits = [Hit(action("demo", f"t{n}", description="\u0001" * 20_000, schema=schema), 1.0) for n in range(50)]
    shown = hits_json(hits, detail)
    assert len(shown) == 50
    assert len(encoded(shown)) < ANSWER_BYTES + 10_000
    if detail != "cards":
        with_schema = [hit for hit in shown if "input_schema" in hit]
        assert 1 <= len(with_schema) < 50 and with_schema[0] is shown[0]
        assert shown[-1]["cut"]["input_schema"] > 50_000


def test_detail_says_how_much_of_a_hit_is_shown() -> None:
    """Cards have no schemas, `full` has everything."""
    hits = [Hit(action("demo", "echo"), 0.123456789, ("name",), (0,), Estimate("demo__echo", 0.9, 0.5, 1.0))]
    (card,) = hits_json(hits, "cards")
    assert card["score"] == 0.123457 and card["why"] == ["name"] and card["intents"] == [0]
    assert card["reliability"]["low"] == 0.5
    assert "input_schema" not in card
    (schemas,) = hits_json(hits, "schemas")
    assert "input_schema" in schemas and "output_schema" not in schemas
    (full,) = hits_json(hits, "full")
    assert "output_schema" in full and "digest" in full and "cut" not in full


def test_hits_beyond_the_ceiling_keep_their_ids() -> None:
    """Nothing disappears."""
    hits = [Hit(action("demo", f"t{n}"), 1.0) for n in range(5)]
    shown = hits_json(hits, "cards", most=500)
    assert [hit["id"] for hit in shown] == [f"demo__t{n}" for n in range(5)]
    assert shown[-1]["cut"]["hit"] > 100


def test_a_schema_nested_too_deep_is_left_out_and_named() -> None:
    """It cannot be read by common parsers."""
    schema: dict[str, Any] = {}
    for _ in range(300):
        schema = {"properties": {"x": schema}}
    deep = replace(action("demo", "echo"), shown_schema=schema)
    alone = action_whole(deep, Estimate("demo__echo", 0.9, 0.5, 1.0))
    assert alone["input_schema"] is None and "nested" in alone["cut"]["input_schema"]
    (hit,) = hits_json([Hit(deep, 1.0)], "schemas")
    assert hit["input_schema"] is None and "nested" in hit["cut"]["input_schema"]
