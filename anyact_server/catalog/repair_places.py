"""Where schemas stand within a JSON Schema, and small questions about them. Pure."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from anyact_server.types import Json, JsonObject

ONE = frozenset(
    (
        "contains",
        "not",
        "propertyNames",
        "if",
        "then",
        "else",
        "contentSchema",
        "unevaluatedItems",
        "additionalItems",
        "items",
    )
)
"""Keywords that hold one schema (`items` a list of them too, before 2020-12)."""
SHUTTERS = frozenset(("additionalProperties", "unevaluatedProperties"))
"""Keywords that hold a schema, for which everyone takes a boolean."""
MANY = frozenset(("allOf", "anyOf", "oneOf", "prefixItems"))
"""Keywords that hold a list of schemas."""
MAPS = frozenset(("properties", "patternProperties", "dependentSchemas", "$defs", "definitions"))
"""Keywords that hold named schemas."""
TYPES = frozenset(("null", "boolean", "object", "array", "number", "string", "integer"))
REMARKS = frozenset(
    ("title", "description", "default", "examples", "example", "deprecated", "readOnly", "writeOnly", "$comment")
)
"""Keywords that say something to readers and decide nothing."""
KEYWORDS = ONE | SHUTTERS | MANY | MAPS | REMARKS | {"dependencies", "enum", "const"}
"""Keywords that hold schemas, and those that may hold any data."""

Each = Callable[[Json], dict[str, Any]]


def mapped(node: JsonObject, each: Each) -> dict[str, Any]:
    """A copy of a schema with `each` applied to every schema directly inside; what stands in the place of a schema
    and is none goes through `each` too, what stands in the place of a group of schemas and is none goes away."""
    found: dict[str, Any] = {}
    for key, value in node.items():
        if key in MAPS:
            parts = value if isinstance(value, dict) else {}
            found[key] = {name: each(part) for name, part in parts.items()}
        elif key in MANY or (key == "items" and isinstance(value, list)):
            if isinstance(value, list) and value:
                found[key] = [each(part) for part in value]
        elif key in SHUTTERS:
            found[key] = value if isinstance(value, bool) else each(value)
        elif key == "additionalItems" and isinstance(value, bool):
            found[key] = value
        elif key in ONE:
            found[key] = each(value)
        elif key == "dependencies":
            parts = value if isinstance(value, dict) else {}
            found[key] = {name: part if isinstance(part, list) else each(part) for name, part in parts.items()}
        else:
            found[key] = value
    return found


def inside(node: JsonObject) -> list[Json]:
    """The schemas directly inside a schema."""
    found: list[Json] = []

    def note(part: Json) -> dict[str, Any]:
        found.append(part)
        return {}

    mapped(node, note)
    return found


def distinct(parts: list[Any]) -> list[Any]:
    """The parts without repeats, in order."""
    found: list[Any] = []
    for part in parts:
        if part not in found:
            found.append(part)
    return found


def merged(left: JsonObject, right: JsonObject) -> dict[str, Any]:
    """One schema that wants what both want; remarks of the right win."""
    if not left or not right:
        return {**left, **right}
    clashing = [key for key in right if key in left and key not in REMARKS and left[key] != right[key]]
    tied = {"if", "then", "else", "items", "prefixItems", "properties", "patternProperties", "contains"}
    if not clashing and not (tied & left.keys() and tied & right.keys()) and not _shuts(left, right):
        return {**left, **right}
    remarks = {key: value for part in (left, right) for key, value in part.items() if key in REMARKS}
    return {**remarks, "allOf": [_wants(left), _wants(right)]}


def _shuts(left: JsonObject, right: JsonObject) -> bool:
    """Whether a word about what is left over would change its meaning among the other's keywords."""
    rest = SHUTTERS | {"additionalItems", "unevaluatedItems"}
    named = {"properties", "patternProperties", "items", "prefixItems"}
    return bool((rest & left.keys() and named & right.keys()) or (rest & right.keys() and named & left.keys()))


def _wants(node: JsonObject) -> dict[str, Any]:
    return {key: value for key, value in node.items() if key not in REMARKS}
