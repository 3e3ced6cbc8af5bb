"""From the input schema that a server sends to the one that clients are shown. Pure.

The shown schema means the same as the original, in a form that strict clients take: an object at the root without
unions, no `$ref` but for recursion (whose definitions then stand in `$defs`), no boolean in the place of a schema, no
array without `items`. Arguments are always checked against the original. Where both cannot be had, the shown schema is
the wider one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from anyact_server.types import Json, JsonObject

from .repair_places import TYPES, inside
from .repair_refs import DEEPEST, has_references, without_references
from .repair_root import flat_root
from .repair_strict import strict

FORM = 2
"""Grows whenever a repaired schema may come out otherwise than before: stored ones are then made anew."""
DIALECT = "https://json-schema.org/draft/2020-12/schema"
NOTHING: JsonObject = {"type": "object", "properties": {}}
"""What is shown of an action that cannot be called."""

_NEWER = frozenset(("prefixItems", "dependentRequired", "dependentSchemas", "unevaluatedProperties"))
_PLAIN = frozenset(
    (
        "type",
        "description",
        "title",
        "default",
        "enum",
        "examples",
        "minimum",
        "maximum",
        "minLength",
        "maxLength",
        "format",
        "pattern",
        "minItems",
        "maxItems",
        "uniqueItems",
        "multipleOf",
        "items",
        "properties",
        "required",
        "additionalProperties",
        "$schema",
    )
)


@dataclass(frozen=True, slots=True)
class Repaired:
    """A schema as it is shown, and why its action cannot be called (None where it can)."""

    shown: JsonObject
    fault: str | None = None


def repair(schema: Json) -> Repaired:
    """The shown form of an input schema.

    Args:
        schema: whatever stands under `inputSchema`; None where nothing does.
    """
    fault = schema_fault(schema)
    if fault is not None:
        return Repaired(NOTHING, fault)
    if is_plain(schema):
        return Repaired(schema)
    resolved = without_references(schema) if has_references(schema) or _is_deep(schema) else schema
    shown = flat_root(strict(resolved))
    if "$schema" in shown and shown != schema and _has_newer(shown):
        shown["$schema"] = DIALECT
    return Repaired(shown)


def schema_fault(schema: Json) -> str | None:
    """Why no arguments can fit a schema, judged by its root; None where some may."""
    if schema is None:
        return "its input schema is missing"
    if not isinstance(schema, dict):
        kind = {bool: "a truth value", str: "a text", list: "a list"}.get(type(schema), "a number")
        return f"its input schema is {kind}, not an object"
    kinds = schema.get("type")
    if isinstance(kinds, str) and kinds in TYPES and kinds != "object":
        return f"its input schema is for a value of type {kinds}, but arguments are an object"
    if isinstance(kinds, list) and kinds and "object" not in kinds:
        return "its input schema allows no object, but arguments are one"
    return None


def is_plain(schema: JsonObject) -> bool:
    """A quick look that most real schemas pass: nothing in it needs repair."""
    return schema.get("type") == "object" and "properties" in schema and _is_plain(schema, 0)


def _is_plain(node: Json, depth: int) -> bool:
    if not isinstance(node, dict) or depth > 12 or not node.keys() <= _PLAIN:
        return False
    kind = node.get("type")
    if not isinstance(kind, str) or kind not in TYPES:
        return False
    properties = node.get("properties", {})
    required = node.get("required", [])
    if not isinstance(properties, dict) or not isinstance(required, list):
        return False
    if not all(isinstance(name, str) and name in properties for name in required) or node.get("required") == []:
        return False
    if kind == "array" and not _is_plain(node.get("items"), depth + 1):
        return False
    if (kind != "array" and "items" in node) or not isinstance(node.get("additionalProperties", True), bool):
        return False
    return len(set(required)) == len(required) and all(_is_plain(part, depth + 1) for part in properties.values())


def _is_deep(schema: JsonObject) -> bool:
    """Whether a schema is nested deeper than is shown."""
    level: list[Json] = [schema]
    for _ in range(DEEPEST):
        level = [part for node in level if isinstance(node, dict) for part in inside(node)]
        if not level:
            return False
    return True


def _has_newer(node: Any) -> bool:
    """Whether a schema uses words that only the newest dialect has."""
    return isinstance(node, dict) and (not _NEWER.isdisjoint(node) or any(_has_newer(part) for part in inside(node)))
