"""Hits and descriptions as text for a model.

Pure and byte-stable: the same values give the same bytes. A search answer has a hard ceiling in UTF-8 bytes; whatever
does not fit is named, with the way to get it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import orjson

from anyact_server.types import Action, ActionState, Estimate, Hit, Json, JsonObject, SearchAnswer

BYTES_PER_TOKEN = 3
"""UTF-8 bytes that surely make no more than one token of cl100k on average: English runs at 4 to 5, JSON near 3."""
LINE_CHARS = 160
SIGNATURE_CHARS = 240
TAIL_BYTES = 700
"""Kept free for what must be said after the cards."""


def size(text: str) -> int:
    """UTF-8 bytes of a text."""
    return len(text.encode("utf-8", "replace"))


def compact(value: Json) -> str:
    """JSON on one line, keys in the order given."""
    return orjson.dumps(value, default=_plain).decode()


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, tuple | set | frozenset):
        return list(value)
    raise TypeError(f"{type(value).__name__} is no JSON")


def one_line(text: str, most: int = LINE_CHARS) -> str:
    """The text on one line, at most `most` characters."""
    line = " ".join(text[: most * 4].split())
    return line if len(line) <= most else line[: most - 1].rstrip() + "…"


def counted(number: int, noun: str) -> str:
    """A number of things, such as `1 action` or `1,396 actions`."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


# --- signatures


def signature(action: Action) -> str:
    """The action's own name with its parameters: required ones first, optional ones with a question mark."""
    properties = action.shown_schema.get("properties")
    if not isinstance(properties, Mapping):
        return f"{action.name}()"
    required = action.shown_schema.get("required")
    needed = [name for name in required if name in properties] if isinstance(required, list) else []
    order = [*needed, *(name for name in properties if name not in needed)]
    parts: list[str] = []
    used = len(action.name) + 2
    for place, name in enumerate(order):
        part = f"{name}{'' if name in needed else '?'}: {type_word(properties[name])}"
        used += len(part) + 2
        if used > SIGNATURE_CHARS and place >= len(needed):
            parts.append(f"… {len(order) - place} more")
            break
        parts.append(part)
    return f"{action.name}({', '.join(parts)})"


def type_word(schema: Json) -> str:
    """The type of a schema in a word or two, such as `string[]` or `"asc"|"desc"`."""
    if not isinstance(schema, Mapping):
        return "any"
    values = schema.get("enum")
    if isinstance(values, list) and 0 < len(values) <= 5:
        word = "|".join(compact(value) for value in values)
        if len(word) <= 60:
            return word
    kind = schema.get("type")
    if isinstance(kind, list):
        return "|".join(str(item) for item in kind if item != "null") or "null"
    if kind == "array":
        inner = type_word(schema.get("items"))
        return "array" if inner == "any" else f"{inner}[]"
    if isinstance(kind, str):
        return kind
    for union in ("anyOf", "oneOf"):
        branches = schema.get(union)
        if isinstance(branches, list):
            words = [type_word(branch) for branch in branches]
            return "|".join(dict.fromkeys(word for word in words if word != "null")) or "any"
    return "any"


# --- cards


def reliability(estimate: Estimate | None) -> str:
    """How far to trust an action, in a few words; empty while nothing is known."""
    if estimate is None:
        return ""
    words = []
    if estimate.needs_login:
        words.append("needs login")
    if estimate.calls:
        words.append(f"reliability {estimate.success:.2f} ({estimate.calls} calls)")
        if estimate.p50_s is not None:
            words.append(f"usually {estimate.p50_s:.1f} s")
    if estimate.suspected >= 1:
        words.append(f"{estimate.suspected:.0f} suspected failures")
    return ", ".join(words)


def effects(action: Action) -> str:
    """What the server declares about effects, in a few words."""
    if action.hints.read_only is True:
        return "read-only"
    if action.hints.destructive is False:
        return "not destructive"
    return "destructive" if action.hints.destructive is True else ""


_STATES: Mapping[ActionState, str] = {
    "current": "",
    "stale": "could not be checked lately",
    "vanished": "no longer offered",
    "changed": "changed since it was approved",
}


def card(place: int, hit: Hit) -> str:
    """One hit: id, one line, signature, effects, reliability, why."""
    action = hit.action
    facts = [
        f"server {action.server}",
        effects(action),
        reliability(hit.estimate),
        _STATES[action.state],
        f"cannot be called: {one_line(action.fault, 100)}" if action.fault else "",
        f"{hit.helper.parameter} from {hit.helper.action}" if hit.helper else "",
        "why: " + one_line("; ".join(hit.why), 100) if hit.why else "",
    ]
    about = one_line(action.description or action.title or "")
    lines = [f"{place}. {action.id}" + (f": {about}" if about else ""), f"   {one_line(signature(action), 400)}"]
    lines.append("   " + " · ".join(fact for fact in facts if fact))
    return "\n".join(lines)


# --- search answers


def search_text(
    answer: SearchAnswer, *, detail: str, tokens: int, notes: Sequence[str] = (), intents: int = 1
) -> tuple[str, int]:
    """A search answer as text, and how many hits are shown in it as cards.

    Args:
        answer: the hits, best first.
        detail: `cards`, `schemas` or `full`.
        tokens: ceiling of the whole text.
        notes: what was odd about the request.
        intents: how many intents were asked for; with several, each card says which it serves.
    """
    ceiling = tokens * BYTES_PER_TOKEN
    head = _head(answer, intents)
    tail = _tail(answer, notes)
    room = ceiling - size(head) - size(tail) - TAIL_BYTES
    cards: list[str] = []
    for place, hit in enumerate(answer.hits, 1):
        text = card(place, hit) + _serves(hit, intents)
        if room < size(text) + 1:
            break
        room -= size(text) + 1
        cards.append(text)
    hits = answer.hits[: len(cards)]
    extra = _best_schema(hits, room) if detail == "cards" else _all_schemas(hits, room, full=detail == "full")
    left = [hit.action.id for hit in answer.hits[len(cards) :]]
    cut = [f"Not shown for size: {_ids(left, 400)}. describe_actions shows each."] if left else []
    return "\n".join([head, *cards, *extra, *cut, tail]).rstrip("\n"), len(cards)


def _head(answer: SearchAnswer, intents: int) -> str:
    if not answer.hits:
        return (
            "No action fits. Try other words, one need per intent, or no filter; the tool servers shows what is there."
        )
    shown = len(answer.hits)
    total = max(answer.total, shown)
    if answer.unmet:
        which = "" if intents < 2 else f" for intent {', '.join(str(place + 1) for place in answer.unmet)}"
        return (
            f"Nothing here clearly fits{which}; these are the nearest {shown} of {total}. "
            "Check one with describe_actions before you call it, or say the need in other words."
        )
    return f"{shown} of {total} hits, best first. Call one by its id: call_action, or query_action if read-only."


def _tail(answer: SearchAnswer, notes: Sequence[str]) -> str:
    lines = []
    if answer.degraded:
        lines.append(f"Search is degraded: {one_line(answer.degraded, 200)}")
    if answer.neighbours:
        lines.append(f"Near: {_ids(answer.neighbours, 400)}")
    if answer.hits:
        lines.append("More: a higher limit, other intents, or describe_actions for a full schema.")
    lines += [one_line(note, 300) for note in notes]
    return "\n".join(lines)


def _serves(hit: Hit, intents: int) -> str:
    if intents < 2 or not hit.intents:
        return ""
    return f" · for intent {', '.join(str(place + 1) for place in hit.intents)}"


def _best_schema(hits: Sequence[Hit], room: int) -> list[str]:
    if not hits:
        return []
    return _fitting(
        [(hits[0].action.id, f"Schema of {hits[0].action.id}: {compact(hits[0].action.shown_schema)}")], room
    )


def _all_schemas(hits: Sequence[Hit], room: int, *, full: bool) -> list[str]:
    texts = []
    for hit in hits:
        if full:
            texts.append((hit.action.id, description(hit.action, hit.estimate)))
        else:
            texts.append((hit.action.id, f"Schema of {hit.action.id}: {compact(hit.action.shown_schema)}"))
    return _fitting(texts, room)


def _fitting(texts: Iterable[tuple[str, str]], room: int) -> list[str]:
    """The texts that fit; the others are named with their size."""
    kept, left = [], []
    for action_id, text in texts:
        if size(text) + 1 <= room:
            room -= size(text) + 1
            kept.append(text)
        else:
            left.append(f"{action_id} ({size(text):,} bytes)")
    if left:
        kept.append(f"Too long here: {_ids(left, 300)}. describe_actions shows it.")
    return kept


def _ids(names: Sequence[str], most: int) -> str:
    kept: list[str] = []
    used = 0
    for name in names:
        used += len(name) + 2
        if used > most and kept:
            return ", ".join(kept) + f" and {len(names) - len(kept)} more"
        kept.append(name)
    return ", ".join(kept)


# --- descriptions


def description(action: Action, estimate: Estimate | None) -> str:
    """Everything a caller needs to know of one action, its schema whole."""
    lines = [f"{action.id}: {one_line(action.title or action.name)}", f"  server: {_of(action)}"]
    if action.description:
        lines.append("  about: " + action.description.strip().replace("\n", "\n    "))
    declared = {
        "read-only": action.hints.read_only,
        "destructive": action.hints.destructive,
        "idempotent": action.hints.idempotent,
        "open world": action.hints.open_world,
    }
    said = [f"{name} {'yes' if value else 'no'}" for name, value in declared.items() if value is not None]
    lines.append(f"  effects: {', '.join(said) if said else 'nothing declared, so expect side effects'}")
    lines.append(f"  reliability: {_trust(estimate)}")
    if _STATES[action.state]:
        lines.append(f"  state: {_STATES[action.state]}")
    if action.fault:
        lines.append(f"  cannot be called: {action.fault}")
    lines.append(f"  signature: {signature(action)}")
    lines.append(f"  input schema: {compact(action.shown_schema)}")
    if action.output_schema is not None:
        lines.append(f"  output schema: {compact(action.output_schema)}")
    lines.append(f"  example: {compact({'action': action.id, 'arguments': example(action.shown_schema)})}")
    return "\n".join(lines)


def _of(action: Action) -> str:
    return f"{action.server} ({one_line(action.server_title, 60)})" if action.server_title else action.server


def _trust(estimate: Estimate | None) -> str:
    if estimate is None:
        return "not called yet"
    short = reliability(estimate)
    return f"{short}; {estimate.words}" if short and estimate.words not in short else estimate.words or short


def descriptions(pairs: Sequence[tuple[Action, Estimate]], *, tokens: int, notes: Sequence[str] = ()) -> str:
    """Descriptions of several actions; the first is always whole, later ones as far as the ceiling allows."""
    room = tokens * BYTES_PER_TOKEN
    kept: list[str] = []
    left: list[str] = []
    for action, estimate in pairs:
        text = description(action, estimate)
        if kept and size(text) > room:
            left.append(f"{action.id} ({size(text):,} bytes)")
            continue
        kept.append(text)
        room -= size(text)
    if left:
        kept.append(f"Not shown for size, ask for them one at a time: {_ids(left, 1000)}")
    return "\n\n".join([*kept, *notes])


def example(schema: JsonObject, depth: int = 0) -> dict[str, Json]:
    """Arguments that show the shape: required properties, with defaults, first choices or a word for the type."""
    properties = schema.get("properties")
    required = schema.get("required")
    if not isinstance(properties, Mapping) or not isinstance(required, list) or depth > 3:
        return {}
    return {name: _sample(properties[name], depth) for name in required if name in properties}


def _sample(schema: Json, depth: int) -> Json:
    if not isinstance(schema, Mapping):
        return "…"
    for key in ("const", "default"):
        if key in schema:
            return schema[key]
    for key in ("examples", "enum"):
        if isinstance(schema.get(key), list) and schema[key]:
            return schema[key][0]
    word = type_word(schema)
    if word.endswith("[]") or word == "array":
        return [_sample(schema.get("items"), depth + 1)] if depth < 3 and schema.get("items") else []
    if word == "object":
        return example(schema, depth + 1)
    samples: dict[str, Json] = {"integer": 1, "number": 1.5, "boolean": True, "null": None, "string": "…"}
    return samples.get(word.partition("|")[0], "…")
