"""A schema in the form that strict readers take, with the same meaning. Pure.

What readers refuse, and what they get instead: a boolean in the place of a schema, `{}` or `{"not": {}}`; an array
without `items`, one with `items: {}`; a list of `items`, `prefixItems`; names of types that no standard knows, the
standard's; required names without a property, a property; older drafts' words, those of 2020-12.
"""

from __future__ import annotations

from typing import Any

from anyact_server.types import Json, JsonObject

from .repair_places import TYPES, distinct, mapped

_SLIPS = {
    "int": "integer",
    "long": "integer",
    "float": "number",
    "double": "number",
    "bool": "boolean",
    "str": "string",
    "text": "string",
    "dict": "object",
    "map": "object",
    "list": "array",
    "tuple": "array",
    "none": "null",
}
"""Types as programming languages call them, seen in the field."""


def strict(node: Json) -> dict[str, Any]:
    """A schema as strict readers take it."""
    if node is False:
        return {"not": {}}
    if not isinstance(node, dict):
        return {}
    shown = mapped(_with_required_of_properties(node), strict)
    for mend in (_type, _type_of_values, _required, _tuple, _dependencies, _bounds, _items, _missing_properties):
        mend(shown)
    return shown


def _with_required_of_properties(node: JsonObject) -> JsonObject:
    """`required: true` inside a property, as draft 3 had it, named in the list of the object around it."""
    properties = node.get("properties")
    if not isinstance(properties, dict):
        return node
    named = [name for name, part in properties.items() if isinstance(part, dict) and part.get("required") is True]
    listed = node.get("required")
    return {**node, "required": [*(listed if isinstance(listed, list) else ()), *named]} if named else node


def _type(shown: dict[str, Any]) -> None:
    if "type" not in shown:
        return
    value = shown.pop("type")
    kinds = value if isinstance(value, list) else [value]
    known = distinct([_standard(kind) for kind in kinds])
    if known and None not in known:
        shown["type"] = known[0] if len(known) == 1 else known


def _standard(kind: Json) -> str | None:
    if not isinstance(kind, str):
        return "null" if kind is None else None
    return kind if kind in TYPES else _SLIPS.get(kind.lower(), kind.lower() if kind.lower() in TYPES else None)


def _required(shown: dict[str, Any]) -> None:
    if "required" in shown:
        value = shown.pop("required")
        names = distinct([name for name in value if isinstance(name, str)]) if isinstance(value, list) else []
        if names:
            shown["required"] = names


def _tuple(shown: dict[str, Any]) -> None:
    """A tuple: `prefixItems` for the places; where nothing may follow, `items` and `maxItems` say so in a way that
    readers who do not know `prefixItems` understand as well as they can."""
    parts = shown.get("items")
    if isinstance(parts, list):
        rest = shown.pop("additionalItems", True)
        shown["prefixItems"] = parts
    else:
        shown.pop("additionalItems", None)
        rest = parts
        parts = shown.get("prefixItems")
        if parts is None:
            return
    if rest is False or rest == {"not": {}}:
        shown["items"] = {"anyOf": distinct(parts)} if {} not in parts and len(distinct(parts)) > 1 else parts[0]
        if {} in parts:
            shown["items"] = {}
        most = shown.get("maxItems")
        shown["maxItems"] = min(most, len(parts)) if isinstance(most, int) else len(parts)
    else:
        shown["items"] = rest if isinstance(rest, dict) else {}


def _dependencies(shown: dict[str, Any]) -> None:
    """Draft 7's `dependencies` as the two keywords that took its place."""
    for name, part in shown.pop("dependencies", {}).items():
        keyword = "dependentRequired" if isinstance(part, list) else "dependentSchemas"
        shown.setdefault(keyword, {})[name] = part


def _bounds(shown: dict[str, Any]) -> None:
    """Draft 4's boolean `exclusiveMinimum` and `exclusiveMaximum` as numbers."""
    for key, inclusive in (("exclusiveMinimum", "minimum"), ("exclusiveMaximum", "maximum")):
        value = shown.get(key)
        if isinstance(value, bool):
            del shown[key]
            if value and inclusive in shown:
                shown[key] = shown.pop(inclusive)


def _items(shown: dict[str, Any]) -> None:
    kind = shown.get("type")
    if kind == "array" or (isinstance(kind, list) and "array" in kind):
        shown.setdefault("items", {})


def _type_of_values(shown: dict[str, Any]) -> None:
    """The type that all allowed values share, where none is given: it excludes nothing."""
    if "type" in shown or "$ref" in shown:
        return
    values = shown["enum"] if isinstance(shown.get("enum"), list) else [shown["const"]] if "const" in shown else []
    kinds = {_kind(value) for value in values}
    if len(kinds) == 1:
        shown["type"] = kinds.pop()


def _kind(value: Json) -> str:
    """The type of a value; every number is `number`, which excludes none."""
    names = ((bool, "boolean"), (str, "string"), (int, "number"), (float, "number"), (list, "array"), (dict, "object"))
    return next((name for kind, name in names if isinstance(value, kind)), "null")


def _missing_properties(shown: dict[str, Any]) -> None:
    """A property for each required name that has none, where any value may stand under that name."""
    required = shown.get("required")
    if not required or shown.get("type") != "object" or "patternProperties" in shown:
        return
    if shown.get("additionalProperties", True) not in (True, {}) or "$ref" in shown or "unevaluatedProperties" in shown:
        return
    properties = shown.get("properties", {})
    missing: dict[str, Any] = {name: {} for name in required if name not in properties}
    if missing and not any(key in shown for key in ("allOf", "anyOf", "oneOf", "if", "dependentSchemas")):
        shown["properties"] = {**properties, **missing}
