"""References within a schema: put in where they are used, or, where they recur, kept as definitions. Pure.

Nothing outside the document is ever fetched: a reference that leads out of it, or nowhere, means that anything goes, as
it does for the check of arguments.
"""

from __future__ import annotations

import re
from typing import Any
from urllib.parse import unquote

from anyact_server.types import Json, JsonObject

from .repair_places import KEYWORDS, REMARKS, inside, mapped, merged

DEEPEST = 60
"""Levels of a shown schema; below, anything goes."""
MOST_NODES = 5_000
"""Schemas within a shown schema; beyond, anything goes."""
GROWTH = 4
"""How many times more schemas than the original an inlined one may have before definitions are kept instead."""

_REFS = ("$ref", "$dynamicRef", "$recursiveRef")
_DEFINITIONS = frozenset(("$defs", "definitions", "$anchor", "$dynamicAnchor", "$recursiveAnchor"))
_OLD = re.compile(r"draft-0[3-7]")
_NAME_DIRT = re.compile(r"[^A-Za-z0-9_.-]+")


def without_references(schema: JsonObject) -> dict[str, Any]:
    """The schema with every reference resolved.

    Definitions are put in where they are used; those that recur, and all of them where that would make the schema much
    larger, stay under `$defs` with clean names. Unused ones go.
    """
    room = min(_size(schema) * GROWTH + 200, MOST_NODES)
    first = _Resolving(schema, keep=False, room=room)
    shown = first.root()
    return shown if not first.spent else _Resolving(schema, keep=True, room=MOST_NODES).root()


def has_references(value: Json) -> bool:
    """Whether the word for a reference or definition stands anywhere in a value."""
    waiting = [value]
    while waiting:
        item = waiting.pop()
        if isinstance(item, dict):
            if any(key in item for key in _REFS) or any(key in item for key in _DEFINITIONS):
                return True
            waiting.extend(item.values())
        elif isinstance(item, list):
            waiting.extend(item)
    return False


def _size(schema: JsonObject) -> int:
    """Schemas within a schema, counted up to the most that is shown."""
    waiting: list[Json] = [schema]
    seen = 0
    while waiting and seen < MOST_NODES:
        node = waiting.pop()
        seen += 1
        if isinstance(node, dict):
            waiting.extend(inside(node))
    return seen


class Places:
    """Finds what references in one document mean."""

    def __init__(self, schema: JsonObject) -> None:
        self._schema = schema
        self._named: dict[str, str] = {}
        self._base = schema["$id"].rstrip("#") if isinstance(schema.get("$id"), str) else ""
        self._scan(schema, "", 0)

    def _scan(self, node: Json, pointer: str, depth: int) -> None:
        """Note every anchor and embedded id."""
        if not isinstance(node, dict) or depth > DEEPEST:
            return
        for key in ("$anchor", "$dynamicAnchor"):
            if isinstance(node.get(key), str):
                self._named.setdefault(f"#{node[key]}", pointer)
        if isinstance(node.get("$id"), str):
            self._named.setdefault(node["$id"], pointer)
        for group in ("$defs", "definitions", "properties"):
            parts = node.get(group)
            for name, part in parts.items() if isinstance(parts, dict) else ():
                self._scan(part, f"{pointer}/{group}/{_escape(name)}", depth + 1)

    def pointer(self, reference: str) -> str | None:
        """The JSON pointer (RFC 6901) that a reference within the document means; None for every other."""
        if self._base and reference.startswith(self._base):
            reference = reference[len(self._base) :] or "#"
        if reference in self._named:
            return self._named[reference]
        base, hash_sign, fragment = reference.partition("#")
        start = self._named.get(base, "") if base else ""
        if base and base not in self._named:
            return None
        if not hash_sign or (fragment and not fragment.startswith("/")):
            return None
        return start + unquote(fragment)

    def at(self, pointer: str) -> Json:
        """The value at a pointer; None where there is none."""
        value: Json = self._schema
        for part in pointer.split("/")[1:]:
            key = part.replace("~1", "/").replace("~0", "~")
            if isinstance(value, dict) and key in value:
                value = value[key]
            elif isinstance(value, list) and key.isascii() and key.isdigit() and int(key[:9]) < len(value):
                value = value[int(key)]
            else:
                return None
        return value


class _Resolving:
    """One pass over one schema.

    Args:
        schema: the original.
        keep: keep every definition that is referred to.
        room: how many schemas may be made; once they are used up `spent` is set, and anything goes from there on.
    """

    def __init__(self, schema: JsonObject, *, keep: bool, room: int) -> None:
        self._schema = schema
        self._places = Places(schema)
        self._keep = keep
        self._room = room
        self._open: tuple[str, ...] = ()
        self._names: dict[str, str] = {}
        self._defs: dict[str, Any] = {}
        self._waiting: list[tuple[str, str, Json]] = []
        self._depth = 0
        self._old = _OLD.search(str(schema.get("$schema", ""))) is not None
        self.spent = False

    def root(self) -> dict[str, Any]:
        shown = self._node(self._schema)
        while self._waiting:  # One after the other: definitions may refer to each other in chains of any length.
            name, pointer, target = self._waiting.pop()
            self._open, self._depth = (pointer,), 1
            self._defs[name] = self._node(target)
        return {**shown, "$defs": self._defs} if self._defs else shown

    def _node(self, node: Json) -> Any:
        if not isinstance(node, dict):
            return node
        self._room -= 1
        self.spent = self.spent or self._room < 0
        if self.spent or self._depth > DEEPEST:
            return {}
        self._depth += 1
        reference = next((node[key] for key in _REFS if isinstance(node.get(key), str)), None)
        shown = self._inside(node) if reference is None else self._referring(node, reference)
        self._depth -= 1
        return shown

    def _inside(self, node: JsonObject) -> dict[str, Any]:
        gone = _DEFINITIONS if self._depth == 1 else {*_DEFINITIONS, "$id", "$schema"}
        kept = {key: value for key, value in node.items() if key not in gone and key not in _REFS}
        return mapped({key: value for key, value in kept.items() if not _is_storage(key, value)}, self._node)

    def _referring(self, node: JsonObject, reference: str) -> dict[str, Any]:
        beside = self._inside(node)
        if self._old and self._depth > 1:  # Before 2019-09, what stands beside a reference decides nothing.
            beside = {key: value for key, value in beside.items() if key in REMARKS}
        pointer = self._places.pointer(reference)
        target = None if pointer is None else self._places.at(pointer)
        if pointer is None or not isinstance(target, dict | bool) or len(self._open) > DEEPEST:
            return beside
        if self._depth == 1:
            return beside if pointer in ("", *self._open) else self._inlined(pointer, target, beside)
        if pointer == "" and self._schema.get("type") == "object":
            return {"$ref": "#", **beside}
        if pointer in ("", *self._open) or self._keep:  # The shown root takes objects alone; this one takes more.
            return {"$ref": f"#/$defs/{self._kept(pointer, target)}", **beside}
        return self._inlined(pointer, target, beside)

    def _inlined(self, pointer: str, target: Json, beside: JsonObject) -> dict[str, Any]:
        """What a reference leads to, on the level of the reference, with what stands beside it."""
        before = self._open, self._depth
        self._open, self._depth = (*self._open, pointer), self._depth - 1
        inlined = self._node(target)
        self._open, self._depth = before
        if isinstance(inlined, bool):
            return dict(beside) if inlined else {**beside, "not": {}}
        return merged(inlined, beside)

    def _kept(self, pointer: str, target: Json) -> str:
        """The name under which a definition is kept."""
        if pointer not in self._names:
            name = self._names[pointer] = _free_name(pointer, self._defs)
            self._defs[name] = {}
            self._waiting.append((name, pointer, target))
        return self._names[pointer]


def _is_storage(key: str, value: Json) -> bool:
    """Whether a member is no word of JSON Schema and holds references: readers that follow every `$ref` they meet would
    find them loose."""
    return key not in KEYWORDS and has_references(value)


def _free_name(pointer: str, taken: JsonObject) -> str:
    """A clean name for what a pointer leads to: its last part, numbered where that is taken."""
    last = pointer.rpartition("/")[2].replace("~1", "/").replace("~0", "~")
    stem = _NAME_DIRT.sub("_", last).strip("_.-")[:60] or "definition"
    number = 1
    name = stem
    while name in taken:
        number += 1
        name = f"{stem}_{number}"
    return name


def _escape(name: str) -> str:
    return name.replace("~", "~0").replace("/", "~1")
