"""From what a server was seen to offer to actions. Pure.

An item that cannot be used costs nobody else: it is left out with a warning that names it and the reason. Whatever the
server says goes into an action's digest, so that any change of meaning shows, and none of mere key order.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from typing import Any

import orjson

from anyact_server.types import EMPTY, Action, CatalogChange, Hints, Json, JsonObject, ServerSpec, Snapshot

from .naming import action_id
from .repair import repair

LONGEST_NAME = 512
"""Characters of a name that is accepted; the protocol recommends at most 128."""
LISTS: Mapping[str, str] = {"tools": "name", "prompts": "name", "resources": "uri", "templates": "uriTemplate"}
"""A snapshot's lists, and what tells their items apart."""

_OWN = frozenset(("name", "title", "description", "inputSchema", "outputSchema", "annotations"))
_HINTS = (
    ("read_only", "readOnlyHint"),
    ("destructive", "destructiveHint"),
    ("idempotent", "idempotentHint"),
    ("open_world", "openWorldHint"),
)
_NO_HINTS = Hints()
_SLOW = b" "
"""The blank in front of bytes that only the standard library reads back unchanged: huge numbers, lone surrogates."""


@dataclass(frozen=True, slots=True)
class Entry:
    """What is always at hand of one usable item of a server's tool list; the rest is an `Item`."""

    id: str
    name: str
    digest: str
    description: str = ""
    title: str | None = None
    hints: Hints = _NO_HINTS
    fault: str | None = None


@dataclass(frozen=True, slots=True)
class Item:
    """The bulky part of one action: the server's own words, and the repaired input schema."""

    tool: JsonObject = EMPTY
    shown: JsonObject = EMPTY

    @property
    def input_schema(self) -> JsonObject:
        """The original input schema, an empty object where it is none."""
        schema = self.tool.get("inputSchema")
        return schema if isinstance(schema, dict) else EMPTY

    @property
    def output_schema(self) -> JsonObject | None:
        """The output schema, None where there is none that could be used."""
        schema = self.tool.get("outputSchema")
        return schema if isinstance(schema, dict) else None

    @property
    def extra(self) -> JsonObject:
        """Every field that has no attribute of its own."""
        return {key: value for key, value in self.tool.items() if key not in _OWN}


@dataclass(frozen=True, slots=True)
class Reading:
    """The usable items of a tool list in the server's order, the position of each, and a warning for all else."""

    entries: tuple[Entry, ...]
    items: tuple[Item, ...]
    positions: tuple[int, ...]
    warnings: tuple[str, ...]

    def without(self, reasons: Mapping[str, str]) -> Reading:
        """The reading without the items of these names, each with the warning that is given for it."""
        kept = [row for row in zip(self.entries, self.items, self.positions, strict=True) if row[0].name not in reasons]
        return _reading(kept, [*self.warnings, *reasons.values()])


# --- bytes


def encode(value: Json, *, canonical: bool = False) -> bytes:
    """A JSON value as bytes without blanks; lone surrogates and huge numbers are fine.

    Args:
        value: the value.
        canonical: sort the keys of every object.

    Raises:
        ValueError: the value is no JSON, or nested too deep to be written.
    """
    try:
        return orjson.dumps(value, option=orjson.OPT_SORT_KEYS if canonical else None)
    except orjson.JSONEncodeError:
        pass
    try:
        return _SLOW + json.dumps(value, sort_keys=canonical, separators=(",", ":"), allow_nan=False).encode()
    except (TypeError, RecursionError) as error:
        raise ValueError("it is nested too deep or is no JSON") from error


def decode(raw: bytes) -> Json:
    """The value that `encode` wrote.

    Raises:
        ValueError: these are other bytes.
    """
    return json.loads(raw) if raw[:1] == _SLOW else orjson.loads(raw)


def digest_of(value: Json) -> str:
    """SHA-256 of a value's canonical bytes, in hex. Raises ValueError as `encode` does."""
    return hashlib.sha256(encode(value, canonical=True)).hexdigest()


# --- reading a list


def read_tools(server: str, tools: Iterable[Json]) -> Reading:
    """Tell the usable items of a tool list from the others.

    Args:
        server: config name.
        tools: the items as sent.
    """
    found: dict[str, Row] = {}
    warnings: list[str] = []
    for position, tool in enumerate(tools):
        fault = item_fault(tool)
        if fault is not None:
            warnings.append(f"tool {_called(tool, position)} is left out: {fault}")
        elif tool["name"] in found:
            warnings.append(f"tool {tool['name']!r} is listed twice; the first is used")
        else:
            entry, item = _read_tool(server, tool)
            found[entry.name] = (entry, item, position)
            warnings.extend(_odd(entry, tool))
    return _reading(list(found.values()), warnings)


Row = tuple[Entry, Item, int]


def _reading(rows: Sequence[Row], warnings: Sequence[str]) -> Reading:
    entries, items, positions = zip(*rows, strict=True) if rows else ((), (), ())
    return Reading(entries, items, positions, tuple(warnings))


def _read_tool(server: str, tool: JsonObject) -> tuple[Entry, Item]:
    annotations = tool.get("annotations")
    notes: JsonObject = annotations if isinstance(annotations, dict) else EMPTY
    repaired = repair(tool.get("inputSchema"))
    entry = Entry(
        id=action_id(server, tool["name"]),
        name=tool["name"],
        digest=digest_of(tool),
        description=text_of(tool.get("description")) or "",
        title=text_of(tool.get("title")) or text_of(notes.get("title")),
        hints=_hints(notes),
        fault=repaired.fault,
    )
    return entry, Item(tool, repaired.shown)


def _hints(annotations: JsonObject) -> Hints:
    said = {name: annotations.get(key) for name, key in _HINTS}
    known = {name: value for name, value in said.items() if isinstance(value, bool)}
    return Hints(**known) if known else _NO_HINTS


def item_fault(tool: Json) -> str | None:
    """Why an item of a tool list cannot be used at all."""
    if not isinstance(tool, dict):
        return "it is no object"
    name = tool.get("name")
    if not isinstance(name, str) or not name:
        return "it has no name"
    if len(name) > LONGEST_NAME:
        return f"its name is longer than {LONGEST_NAME} characters"
    if not is_unicode(name):
        return "its name is no valid text"
    return None if is_json(tool) else "it is nested too deep"


def is_unicode(text: str) -> bool:
    """Whether a text can be written as UTF-8, that is, has no lone surrogates."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def is_json(value: Json) -> bool:
    """Whether a value can be written down."""
    try:
        encode(value)
    except ValueError:
        return False
    return True


def text_of(value: Json) -> str | None:
    """A text that is not empty; None for anything else. Lone surrogates are replaced."""
    if not isinstance(value, str) or not value:
        return None
    return value if is_unicode(value) else value.encode("utf-8", "replace").decode()


def _called(tool: Json, position: int) -> str:
    name = tool.get("name") if isinstance(tool, dict) else None
    return repr(name[:60]) if isinstance(name, str) and name else f"number {position + 1}"


def _odd(entry: Entry, tool: JsonObject) -> Iterable[str]:
    if entry.fault is not None:
        yield f"tool {entry.name!r} cannot be called: {entry.fault}"
    for key in ("title", "description"):
        if not isinstance(tool.get(key), str | None):
            yield f"tool {entry.name!r}: its {key} is no text and is left out"
    for key in ("outputSchema", "annotations"):
        if not isinstance(tool.get(key), dict | None):
            yield f"tool {entry.name!r}: its {key} is no object and is left out"


# --- snapshots as wholes


def completed(read: Snapshot, known: Snapshot | None) -> Snapshot:
    """A snapshot with what could not be read filled in from what was known before.

    Of a list that was read in part, the items that were read replace their namesakes, and the others stay.
    """
    if known is None or not read.partial:
        return read
    lists: dict[str, Any] = {}
    for name, key in LISTS.items():
        if name in read.partial:
            fresh = getattr(read, name)
            keys = {item.get(key) for item in fresh if isinstance(item, dict) and isinstance(item.get(key), str)}
            old = [item for item in getattr(known, name) if not (isinstance(item, dict) and item.get(key) in keys)]
            lists[name] = (*fresh, *old)
    return replace(read, **lists)


def storable(snapshot: Snapshot) -> Snapshot:
    """A snapshot without the items that cannot be written down."""
    lists: dict[str, Any] = {name: tuple(filter(is_json, getattr(snapshot, name))) for name in LISTS}
    return replace(snapshot, **lists)


@dataclass(frozen=True, slots=True)
class About:
    """What a server says of itself."""

    title: str | None = None
    description: str | None = None


def about(snapshot: Snapshot) -> About:
    """Title and description of a server in its own words."""
    info = snapshot.info
    title = text_of(info.get("title")) or text_of(info.get("name"))
    return About(title, text_of(info.get("description")) or text_of(snapshot.instructions))


def reach_of(spec: ServerSpec) -> str:
    """A fingerprint of where a server's entry leads: what is known of one place says nothing of another."""
    url = (spec.url or "").partition("?")[0]
    parts = (spec.transport, spec.command or "", *spec.args, url)
    return hashlib.sha256("\0".join(parts).encode("utf-8", "surrogatepass")).hexdigest()[:16]


def matches(patterns: Sequence[str], entry: Entry) -> bool:
    """Whether patterns choose an action by its name or id: the last one that fits decides, `!` in front means no."""
    chosen = False
    for pattern in patterns:
        glob = pattern.removeprefix("!")
        if fnmatchcase(entry.name, glob) or fnmatchcase(entry.id, glob):
            chosen = glob == pattern
    return chosen


# --- differences

_LIGHT = (
    "description",
    "title",
    "hints",
    "server_title",
    "server_description",
    "tags",
    "pinned",
    "call_s",
    "kind",
    "fault",
)
_BULKY = ("input_schema", "output_schema")


def difference(server: str, before: Mapping[str, Action], after: Mapping[str, Action]) -> CatalogChange:
    """What changed between two states of a server's actions.

    Schemas are looked at only where the digests differ.
    """
    changed = {}
    for identity, action in after.items():
        old = before.get(identity)
        if old is not None and old is not action and (names := changed_fields(old, action)):
            changed[identity] = names
    return CatalogChange(
        server,
        added=tuple(identity for identity in after if identity not in before),
        removed=tuple(identity for identity in before if identity not in after),
        changed=changed,
    )


def changed_lists(before: Snapshot | None, after: Snapshot) -> tuple[str, ...]:
    """Names of the lists beside the tools that differ between two snapshots of a server."""
    former = before or Snapshot(after.server)
    return tuple(
        name for name in ("prompts", "resources", "templates") if getattr(former, name) != getattr(after, name)
    )


def changed_fields(before: Action, after: Action) -> tuple[str, ...]:
    """Names of the fields that differ between two states of one action; those in `extra` under their own names."""
    names = [name for name in _LIGHT if getattr(before, name) != getattr(after, name)]
    if before.digest != after.digest:
        names += [name for name in _BULKY if getattr(before, name) != getattr(after, name)]
        old, new = before.extra, after.extra
        names += [key for key in dict.fromkeys([*old, *new]) if old.get(key) != new.get(key)]
    return tuple(names)
