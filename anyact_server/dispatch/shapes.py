"""What an input schema asks for, read without checking anything: its properties, a signature, an example.

Every function is pure and total: a schema may be any JSON, also a faulty one; what cannot be read counts as absent.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from anyact_server.types import Json

DEPTH = 6
"""How deep local references and combinations are followed."""

EXAMPLE_DEPTH = 3
"""How deep an example is filled; a schema may refer to itself many times over."""

NESTING = 100
"""Nesting of arguments that is accepted."""

_COMBINED = ("allOf", "anyOf", "oneOf")


def resolved(schema: Json, root: Json, depth: int = DEPTH) -> Mapping[str, Any]:
    """The schema with a local `$ref` at its top followed; an empty object for whatever is not an object."""
    if not isinstance(schema, Mapping):
        return {}
    reference = schema.get("$ref")
    if not isinstance(reference, str) or not reference.startswith("#") or depth == 0:
        return schema
    target = root
    for part in reference[1:].split("/")[1:]:
        step = part.replace("~1", "/").replace("~0", "~")
        target = target.get(step) if isinstance(target, Mapping) else None
    siblings = {key: value for key, value in schema.items() if key != "$ref"}
    return {**resolved(target, root, depth - 1), **siblings}


def properties(schema: Json, root: Json | None = None) -> dict[str, Json]:
    """The properties that an object schema declares, those inside allOf, anyOf and oneOf too, by name."""
    return _properties(schema, schema if root is None else root, DEPTH, set())


def _properties(schema: Json, root: Json, depth: int, seen: set[str]) -> dict[str, Json]:
    reference = schema.get("$ref") if isinstance(schema, Mapping) else None
    if isinstance(reference, str):
        if reference in seen:
            return {}
        seen.add(reference)
    plain = resolved(schema, root)
    found: dict[str, Json] = {}
    for keyword in _COMBINED if depth else ():
        branches = plain.get(keyword)
        for branch in branches if isinstance(branches, list) else ():
            found.update(_properties(branch, root, depth - 1, seen))
    own = plain.get("properties")
    if isinstance(own, Mapping):
        found.update(own)
    return found


def required(schema: Json, root: Json | None = None) -> tuple[str, ...]:
    """The names that an object schema requires at its top or in an allOf branch."""
    base = schema if root is None else root
    plain = resolved(schema, base)
    names = plain.get("required")
    found = [name for name in names if isinstance(name, str)] if isinstance(names, list) else []
    branches = plain.get("allOf")
    for branch in branches if isinstance(branches, list) else ():
        inner = resolved(branch, base).get("required")
        found += [name for name in inner if isinstance(name, str)] if isinstance(inner, list) else []
    return tuple(dict.fromkeys(found))


def type_words(schema: Json, root: Json, depth: int = 2) -> str:
    """The type of a value in words a model reads: `string`, `integer or null`, `array of string`, `"a" or "b"`."""
    plain = resolved(schema, root)
    options = plain.get("enum")
    if isinstance(options, list) and options:
        return _choices(options)
    if "const" in plain:
        return shortened(plain["const"])
    kind = plain.get("type")
    if isinstance(kind, list) and kind:
        return " or ".join(str(one) for one in kind)
    if kind == "array" and depth:
        items = type_words(plain.get("items"), root, depth - 1)
        return "array" if items == "any" else f"array of {items}"
    if isinstance(kind, str):
        return kind
    for keyword in _COMBINED if depth else ():
        branches = plain.get(keyword)
        if isinstance(branches, list) and branches:
            return " or ".join(dict.fromkeys(type_words(branch, root, depth - 1) for branch in branches[:6]))
    return "object" if "properties" in plain else "any"


def _choices(options: Sequence[Json]) -> str:
    shown = [shortened(option, 40) for option in options[:12]]
    more = f" or {len(options) - 12} more" if len(options) > 12 else ""
    return " or ".join(shown) + more


def signature(schema: Json) -> str:
    """The arguments in one line: `path: string, limit?: integer`; optional ones carry a question mark."""
    needed = required(schema)
    declared = properties(schema)
    names = [*(name for name in needed if name in declared), *(name for name in declared if name not in needed)]
    parts = [f"{name}{'' if name in needed else '?'}: {type_words(declared[name], schema)}" for name in names[:20]]
    if len(names) > 20:
        parts.append(f"and {len(names) - 20} more")
    return ", ".join(parts)


def example(schema: Json) -> Json:
    """The smallest arguments of the right form: required properties only, values the schema itself suggests first."""
    return _example(schema, schema, EXAMPLE_DEPTH)


def _example(schema: Json, root: Json, depth: int) -> Json:
    plain = resolved(schema, root)
    suggested = _suggested(plain)
    if suggested is not None:
        return suggested[0]
    for keyword in ("oneOf", "anyOf"):
        branches = plain.get(keyword)
        if isinstance(branches, list) and branches and "type" not in plain and depth:
            return _example(branches[0], root, depth - 1)
    kind = plain.get("type")
    kind = kind[0] if isinstance(kind, list) and kind else kind
    declared = properties(plain, root)
    if kind == "object" or declared:
        needed = required(plain, root) if depth else ()
        return {name: _example(declared.get(name), root, depth - 1) for name in needed}
    if kind == "array":
        least = plain.get("minItems")
        wanted = isinstance(least, int) and least > 0 and depth > 0
        return [_example(plain.get("items"), root, depth - 1)] if wanted else []
    return _scalar(kind, plain)


def _suggested(plain: Mapping[str, Any]) -> tuple[Json] | None:
    if "const" in plain:
        return (plain["const"],)
    if "default" in plain and plain["default"] is not None:
        return (plain["default"],)
    for keyword in ("examples", "enum"):
        values = plain.get(keyword)
        if isinstance(values, list) and values:
            return (values[0],)
    return None


def _scalar(kind: Json, plain: Mapping[str, Any]) -> Json:
    if kind in ("integer", "number"):
        least = plain.get("minimum", plain.get("exclusiveMinimum", 0))
        return int(least) + 1 if isinstance(least, int | float) else 1
    return {"boolean": True, "null": None}.get(kind, "...") if isinstance(kind, str) else "..."


def shortened(value: Json, limit: int = 80) -> str:
    """A value as compact JSON of at most `limit` characters."""
    text = _compact(value, limit)
    return text if len(text) <= limit else text[: limit - 1] + "…"


def _compact(value: Json, limit: int, depth: int = 4) -> str:
    if isinstance(value, str):
        quoted = value[: limit + 1].replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
        return f'"{quoted}"'
    if isinstance(value, Mapping | list | tuple) and value and not depth:
        return "…"
    if isinstance(value, Mapping):
        inner = ", ".join(f'"{key}": {_compact(part, 20, depth - 1)}' for key, part in list(value.items())[:5])
        return "{" + inner + (", …}" if len(value) > 5 else "}")
    if isinstance(value, list | tuple):
        inner = ", ".join(_compact(part, 20, depth - 1) for part in value[:5])
        return "[" + inner + (", …]" if len(value) > 5 else "]")
    if value is None:
        return "null"
    return str(value).lower() if isinstance(value, bool) else str(value)


def nested_within(value: Json, depth: int) -> bool:
    """Whether a value is nested at most `depth` levels deep; never recurses."""
    level = [value]
    for _ in range(depth + 1):
        level = [
            part
            for one in level
            if isinstance(one, Mapping | list)
            for part in (one.values() if isinstance(one, Mapping) else one)
        ]
        if not level:
            return True
    return False


def type_name(value: Json) -> str:
    """The JSON type of a value."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "boolean"
    names: tuple[tuple[type, str], ...] = (
        (str, "string"),
        (int, "integer"),
        (float, "number"),
        (Mapping, "object"),
        (list, "array"),
        (tuple, "array"),
    )
    return next((name for kind, name in names if isinstance(value, kind)), type(value).__name__)
