"""From what a server was seen to offer to actions. Pure.

An item that cannot be used costs nobody else: it is left out with a warning that names it and the reason. Whatever the
server says goes into an action's digest, so that any change of meaning shows, and none of mere key order.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from fnmatch import fnmatchcase
from typing import Any

import orjson

from anyact_server.types import (
    EMPTY,
    Action,
    ActionState,
    CatalogChange,
    Hints,
    Json,
    JsonObject,
    Override,
    ServerSpec,
    Snapshot,
)

from .naming import action_id
from .repair import Repaired, repair

LONGEST_NAME = 512
"""Characters of a name that is accepted; the protocol recommends at most 128."""
LISTS: Mapping[str, str] = {"tools": "name", "prompts": "name", "resources": "uri", "templates": "uriTemplate"}
"""A snapshot's lists, and what tells their items apart."""

_OWN = frozenset(("name", "title", "description", "inputSchema", "outputSchema", "annotations"))
_NO_DIFFERENCE = frozenset(("id", "server", "name", "digest", "state", "shown_schema", "extra"))
_HINTS = (
    ("read_only", "readOnlyHint"),
    ("destructive", "destructiveHint"),
    ("idempotent", "idempotentHint"),
    ("open_world", "openWorldHint"),
)


@dataclass(frozen=True, slots=True)
class Entry:
    """One usable item of a server's tool list, with what is derived from it and worth keeping."""

    id: str
    name: str
    digest: str
    tool: JsonObject
    repaired: Repaired


@dataclass(frozen=True, slots=True)
class Reading:
    """The usable items of a tool list in the server's order, and a warning for everything else."""

    entries: tuple[Entry, ...]
    warnings: tuple[str, ...]


def encode(value: Json) -> bytes:
    """A JSON value as canonical bytes: keys sorted, no blanks. Lone surrogates and huge numbers are fine.

    Raises:
        ValueError: the value is no JSON, or nested too deep to be written.
    """
    try:
        return orjson.dumps(value, option=orjson.OPT_SORT_KEYS)
    except orjson.JSONEncodeError:
        pass
    try:
        return json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False).encode()
    except (TypeError, RecursionError) as error:
        raise ValueError("it is nested too deep or is no JSON") from error


def decode(raw: bytes) -> Json:
    """The value that `encode` wrote.

    Raises:
        ValueError: these are other bytes.
    """
    try:
        return orjson.loads(raw)
    except orjson.JSONDecodeError:
        return json.loads(raw)


def digest_of(value: Json) -> str:
    """SHA-256 of a value's canonical bytes, in hex. Raises ValueError as `encode` does."""
    return hashlib.sha256(encode(value)).hexdigest()


def read_tools(server: str, tools: Iterable[Json], known: Callable[[str], Entry | None] = lambda name: None) -> Reading:
    """Make entries of a tool list.

    Args:
        server: config name.
        tools: the items as sent.
        known: the entry that a name had before; its repaired schema is taken over when nothing changed.
    """
    entries: dict[str, Entry] = {}
    warnings: list[str] = []
    for position, tool in enumerate(tools):
        fault = item_fault(tool)
        if fault is not None:
            warnings.append(f"tool {_called(tool, position)} is left out: {fault}")
            continue
        name = tool["name"]
        if name in entries:
            warnings.append(f"tool {name!r} is listed twice; the first is used")
            continue
        try:
            digest = digest_of(tool)
        except ValueError as error:
            warnings.append(f"tool {name!r} is left out: {error}")
            continue
        before = known(name)
        repaired = before.repaired if before and before.digest == digest else repair(tool.get("inputSchema"))
        entries[name] = Entry(action_id(server, name), name, digest, tool, repaired)
        warnings.extend(_entry_warnings(entries[name]))
    return Reading(tuple(entries.values()), tuple(warnings))


def item_fault(tool: Json) -> str | None:
    """Why an item of a tool list cannot be used at all."""
    if not isinstance(tool, dict):
        return "it is no object"
    name = tool.get("name")
    if not isinstance(name, str) or not name:
        return "it has no name"
    return f"its name is longer than {LONGEST_NAME} characters" if len(name) > LONGEST_NAME else None


def _called(tool: Json, position: int) -> str:
    name = tool.get("name") if isinstance(tool, dict) else None
    return repr(name[:60]) if isinstance(name, str) and name else f"number {position + 1}"


def _entry_warnings(entry: Entry) -> Iterable[str]:
    if entry.repaired.fault is not None:
        yield f"tool {entry.name!r} cannot be called: {entry.repaired.fault}"
    for key in ("title", "description"):
        if not isinstance(entry.tool.get(key), str | None):
            yield f"tool {entry.name!r}: its {key} is no text and is left out"
    for key in ("outputSchema", "annotations"):
        if not isinstance(entry.tool.get(key), dict | None):
            yield f"tool {entry.name!r}: its {key} is no object and is left out"


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
    lists: dict[str, Any] = {name: tuple(item for item in getattr(snapshot, name) if _is_json(item)) for name in LISTS}
    return replace(snapshot, **lists)


def _is_json(item: Json) -> bool:
    try:
        encode(item)
    except ValueError:
        return False
    return True


# --- actions


NO_OVERRIDE = Override()


@dataclass(frozen=True, slots=True)
class About:
    """What is said of a server as a whole."""

    title: str | None
    description: str | None


def about(spec: ServerSpec, snapshot: Snapshot) -> About:
    """Title and description of a server: the user's words, else its own."""
    info = snapshot.info
    title = spec.title or _text(info.get("title")) or _text(info.get("name"))
    return About(title, spec.description or _text(info.get("description")) or snapshot.instructions or None)


def make_action(
    entry: Entry, spec: ServerSpec, said: About, state: ActionState = "current", override: Override = NO_OVERRIDE
) -> Action:
    """An action of what the server says and what the user changed about it."""
    tool = entry.tool
    annotations = tool.get("annotations")
    notes: JsonObject = annotations if isinstance(annotations, dict) else EMPTY
    original = tool.get("inputSchema")
    output = tool.get("outputSchema")
    return Action(
        id=entry.id,
        server=spec.name,
        name=entry.name,
        description=_text(override.description) or _text(tool.get("description")) or "",
        title=override.name or _text(tool.get("title")) or _text(notes.get("title")),
        input_schema=original if isinstance(original, dict) else EMPTY,
        shown_schema=entry.repaired.shown,
        output_schema=output if isinstance(output, dict) else None,
        hints=_hints(notes),
        server_title=said.title,
        server_description=said.description,
        tags=spec.tags,
        pinned=bool(spec.pin) and matches(spec.pin, entry),
        call_s=override.call_s,
        digest=entry.digest,
        state=state,
        fault=entry.repaired.fault,
        extra=_extra(tool),
    )


def matches(patterns: Sequence[str], entry: Entry) -> bool:
    """Whether patterns choose an action by its name or id: the last one that fits decides, `!` in front means no."""
    chosen = False
    for pattern in patterns:
        glob = pattern.removeprefix("!")
        if fnmatchcase(entry.name, glob) or fnmatchcase(entry.id, glob):
            chosen = glob is pattern or glob == pattern
    return chosen


def _text(value: Json) -> str | None:
    return value if isinstance(value, str) and value else None


_NO_HINTS = Hints()


def _hints(annotations: JsonObject) -> Hints:
    if not annotations:
        return _NO_HINTS
    said = {name: annotations.get(key) for name, key in _HINTS}
    return Hints(**{name: value for name, value in said.items() if isinstance(value, bool)})


def _extra(tool: JsonObject) -> JsonObject:
    if tool.keys() <= _OWN:
        return EMPTY
    return {key: value for key, value in tool.items() if key not in _OWN}


# --- differences


_COMPARED = tuple(field.name for field in fields(Action) if field.name not in _NO_DIFFERENCE)


def difference(server: str, before: Mapping[str, Action], after: Mapping[str, Action]) -> CatalogChange:
    """What changed between two states of a server's actions."""
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


def changed_fields(before: Action, after: Action) -> tuple[str, ...]:
    """Names of the fields that differ between two states of one action; those in `extra` under their own names."""
    names = [name for name in _COMPARED if getattr(before, name) != getattr(after, name)]
    keys = dict.fromkeys([*before.extra, *after.extra])
    names += [key for key in keys if before.extra.get(key) != after.extra.get(key)]
    return tuple(names)
