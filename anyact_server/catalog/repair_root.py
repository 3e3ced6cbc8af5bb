"""The root of a shown schema: one flat object. Pure.

Model APIs refuse a whole request for one tool whose schema has a union at its root. The branches are put together into
one object, wider than the original, whose description says what goes together.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from anyact_server.types import JsonObject

from .repair_places import distinct

UNIONS = ("anyOf", "oneOf")
DEFINED = "#/$defs/"
MOST_WORDS = 400
"""Characters of the sentence about what goes together."""


def flat_root(
    schema: JsonObject, known: JsonObject | None = None, opened: frozenset[str] = frozenset()
) -> dict[str, Any]:
    """The schema with `type: object` and without `allOf`, `anyOf`, `oneOf` and `$ref` at its root.

    Args:
        schema: the root, or a part of it that stands on the same level.
        known: the definitions of the document; those of the schema where it is the document.
        opened: the definitions that this part was reached through: one that comes round again adds nothing.
    """
    known = schema.get("$defs", {}) if known is None else known
    shown = {"type": "object", **schema}
    shown["type"] = "object"
    parts = shown.pop("allOf", [])
    name = shown.pop("$ref", "").removeprefix(DEFINED)
    if name in known and name not in opened:
        parts, opened = [*parts, known[name]], opened | {name}
    for part in parts:
        shown = _both(shown, flat_root(part, known, opened), among_others=len(parts) > 1 or "properties" in schema)
    for key in UNIONS:
        branches = shown.pop(key, None)
        if branches:
            shown = _either(shown, [flat_root(branch, known, opened) for branch in branches])
    if not isinstance(shown.get("properties"), dict):
        shown["properties"] = {}
    return shown


def _both(left: JsonObject, right: JsonObject, *, among_others: bool) -> dict[str, Any]:
    """An object that fits both; a shut branch among others is opened, since it did not know their properties."""
    shown: dict[str, Any] = {**right, **left}
    properties = dict(left.get("properties", {}))
    for name, part in right.get("properties", {}).items():
        known = properties.get(name)
        properties[name] = part if known in (None, {}) or known == part else {"allOf": [known, part]}
    shown["properties"] = properties
    required = distinct([*left.get("required", ()), *right.get("required", ())])
    if required:
        shown["required"] = required
    if among_others and "additionalProperties" not in left:
        shown.pop("additionalProperties", None)
    return shown


def _either(root: JsonObject, branches: Sequence[JsonObject]) -> dict[str, Any]:
    """An object that fits the root and any of the branches."""
    shown: dict[str, Any] = dict(root)
    properties: dict[str, list[Any]] = {}
    for branch in branches:
        for name, part in branch.get("properties", {}).items():
            properties.setdefault(name, []).append(part)
    own = root.get("properties", {})
    shown["properties"] = {**own, **{name: _any_of(parts) for name, parts in properties.items() if name not in own}}
    common = [
        name
        for name in branches[0].get("required", ())
        if all(name in branch.get("required", ()) for branch in branches[1:])
    ]
    required = distinct([*root.get("required", ()), *common])
    if required:
        shown["required"] = required
    if "additionalProperties" not in root and all(branch.get("additionalProperties") is False for branch in branches):
        shown["additionalProperties"] = False
    sentence = _sentence([[name for name in branch.get("required", ()) if name not in required] for branch in branches])
    if sentence:
        shown["description"] = " ".join(part for part in (str(root.get("description", "")), sentence) if part)
    return shown


def _any_of(parts: list[Any]) -> Any:
    different = distinct(parts)
    if {} in different:
        return {}
    return different[0] if len(different) == 1 else {"anyOf": different}


def _sentence(groups: Sequence[Sequence[str]]) -> str:
    """What goes together, in words; empty where a branch wants nothing of its own, or all want the same."""
    named = distinct([" and ".join(group) for group in groups])
    if len(named) == 1 or not all(groups):
        return ""
    sentence = f"Give {', or '.join(named)}."
    return sentence if len(sentence) <= MOST_WORDS else sentence[: MOST_WORDS - 1] + "…"
