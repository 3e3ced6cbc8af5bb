"""Actions and hits as REST shows them. Pure.

What is long is cut in lists, and `cut` says how long it is; `/v1/actions/{id}` shows everything.
"""

from __future__ import annotations

from collections.abc import Sequence

from anyact_server.types import Action, Estimate, Hit, Json, plain

from .rest_answers import NESTING, encoded, shallow

ANSWER_BYTES = 256 * 1024
"""Bytes of all hits of one search, whatever the servers wrote."""
MOST_CHARS = {"name": 1000, "title": 200, "description": 400, "fault": 300}
"""Characters of each text in a list."""
MOST_TAGS = 20
"""Tags of each action in a list."""


def action_card(action: Action) -> dict[str, Json]:
    """An action in a list: short texts, no schemas."""
    shown = _facts(action)
    cut = {name: len(shown[name]) for name, most in MOST_CHARS.items() if len(shown[name] or "") > most}
    shown |= {name: f"{shown[name][: MOST_CHARS[name] - 1]}…" for name in cut}
    if len(action.tags) > MOST_TAGS:
        cut["tags"] = len(action.tags)
        shown["tags"] = shown["tags"][:MOST_TAGS]
    return shown | ({"cut": cut} if cut else {})


def action_whole(action: Action, estimate: Estimate) -> dict[str, Json]:
    """An action with everything that is known of it."""
    return {**_facts(action), **_long(action, "full"), "reliability": plain(estimate)}


def _facts(action: Action) -> dict[str, Json]:
    return {
        "id": action.id,
        "server": action.server,
        "name": action.name,
        "title": action.title,
        "description": action.description,
        "kind": action.kind,
        "state": action.state,
        "fault": action.fault,
        "tags": list(action.tags),
        "hints": plain(action.hints),
    }


def _long(action: Action, detail: str) -> dict[str, Json]:
    shown: dict[str, Json] = {"input_schema": action.shown_schema}
    if detail == "full":
        shown |= {"output_schema": action.output_schema, "digest": action.digest, "pinned": action.pinned}
    deep = [name for name, value in shown.items() if not shallow(value)]
    if deep:
        shown |= dict.fromkeys(deep) | {"cut": dict.fromkeys(deep, f"nested deeper than {NESTING} levels")}
    return shown


def hits_json(hits: Sequence[Hit], detail: str, most: int = ANSWER_BYTES) -> list[dict[str, Json]]:
    """Hits within so many bytes: first a card for each, then schemas from the best on while there is room."""
    cards: list[dict[str, Json]] = []
    room = most
    for hit in hits:
        card = _card(hit)
        size = len(encoded(card))
        if size > room:
            card, size = {"id": hit.action.id, "server": hit.action.server, "name": "", "cut": {"hit": size}}, 0
        room -= size
        cards.append(card)
    if detail == "cards":
        return cards
    for hit, card in zip(hits, cards, strict=True):
        long = _long(hit.action, detail)
        size = len(encoded(long))
        cut = {**card.get("cut", {}), **long.pop("cut", {})}
        if size <= room:
            card |= long
            room -= size
        else:
            cut["input_schema"] = size
        card |= {"cut": cut} if cut else {}
    return cards


def _card(hit: Hit) -> dict[str, Json]:
    return {
        **action_card(hit.action),
        "score": round(hit.score, 6),
        "why": list(hit.why),
        "intents": list(hit.intents),
        "reliability": None if hit.estimate is None else plain(hit.estimate),
        "helper": None if hit.helper is None else plain(hit.helper),
    }
