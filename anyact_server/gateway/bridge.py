"""What changes on the way between a client and a server that may be of different eras. Pure.

Results pass as they are but for the envelope, which is the era's: the modern one marks every result, says how long it
may be kept and who answers; the older one knows nothing of that. What the strict models of clients would refuse is
mended field by field, and only then.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

import mcp_types as types
from mcp_types import methods
from mcp_types.version import MODERN_PROTOCOL_VERSIONS
from pydantic import BaseModel, ValidationError

from anyact_server.types import Json, JsonObject, Snapshot

from .held import INPUT_REQUIRED

PROTOCOL_META = frozenset(
    {
        "progressToken",
        types.PROTOCOL_VERSION_META_KEY,
        types.CLIENT_INFO_META_KEY,
        types.CLIENT_CAPABILITIES_META_KEY,
    }
)
"""`_meta` keys of a request that belong to one connection and are made anew for the next."""
ENVELOPE = ("resultType", "ttlMs", "cacheScope")
"""Members of a result that only the modern era knows."""
LISTS: Mapping[str, tuple[str, str, type[BaseModel]]] = {
    "tools/list": ("tools", "tools", types.Tool),
    "prompts/list": ("prompts", "prompts", types.Prompt),
    "resources/list": ("resources", "resources", types.Resource),
    "resources/templates/list": ("resourceTemplates", "resources", types.ResourceTemplate),
}
"""Of each list method: the member that holds the items, the capability that declares it, the model of an item."""
ERA_BOUND_EXTENSIONS = frozenset({"io.modelcontextprotocol/tasks"})
"""Extensions whose methods exist in the modern era alone (in the older one `tasks` is a capability of its own)."""


def is_modern(version: str | None) -> bool:
    """Whether a protocol version is of the modern era."""
    return version in MODERN_PROTOCOL_VERSIONS


def offered(snapshot: Snapshot, *, modern: bool) -> dict[str, Any]:
    """The capabilities of a server as a client of one era may see them: what cannot cross eras is left out."""
    declared = dict(snapshot.capabilities)
    if is_modern(snapshot.protocol_version) == modern:
        return declared
    declared.pop("tasks", None)
    extensions = declared.get("extensions")
    if isinstance(extensions, Mapping):
        declared["extensions"] = {name: value for name, value in extensions.items() if name not in ERA_BOUND_EXTENSIONS}
    return declared


def to_server(params: JsonObject, *, log_level: str | None = None) -> dict[str, Any]:
    """The params of a request for the server: without the protocol's own `_meta`, every other field untouched.

    Args:
        params: as the client sent them.
        log_level: the level to ask for with this request, in place of what the client says.
    """
    meta = params.get("_meta")
    kept = (
        {name: value for name, value in meta.items() if name not in PROTOCOL_META} if isinstance(meta, Mapping) else {}
    )
    if log_level is not None:
        kept[types.LOG_LEVEL_META_KEY] = log_level
    sent = {name: value for name, value in params.items() if name != "_meta"}
    if kept:
        sent["_meta"] = kept
    return sent


def to_client(
    method: str, result: JsonObject, *, modern: bool, info: JsonObject, private: bool = False
) -> dict[str, Any]:
    """The result of a request in the client's era.

    Args:
        method: the method that was answered.
        result: as the server sent it.
        modern: the client's era.
        info: the server's own `serverInfo`.
        private: the result was cut to what one principal may see, so that nobody may share it.
    """
    found = dict(result)
    if method == "tools/call" and found.get("resultType") in (None, "complete"):
        found = _whole(found, modern=modern)
    if not modern:
        return _without_envelope(found)
    found.setdefault("resultType", "complete")
    if method in methods.CACHEABLE_METHODS and found["resultType"] != INPUT_REQUIRED:
        found.setdefault("ttlMs", 0)
        found.setdefault("cacheScope", "private")
        if private:
            found["cacheScope"] = "private"
    meta = found.get("_meta")
    if info and (meta is None or isinstance(meta, Mapping)):
        found["_meta"] = {types.SERVER_INFO_META_KEY: dict(info), **(meta or {})}
    return found


def _without_envelope(found: dict[str, Any]) -> dict[str, Any]:
    for name in ENVELOPE:
        found.pop(name, None)
    meta = found.get("_meta")
    if isinstance(meta, Mapping) and types.SERVER_INFO_META_KEY in meta:
        kept = {name: value for name, value in meta.items() if name != types.SERVER_INFO_META_KEY}
        found.pop("_meta")
        if kept:
            found["_meta"] = kept
    return found


def _whole(found: dict[str, Any], *, modern: bool) -> dict[str, Any]:
    """A tool result that strict clients take: `content` is a list; before 2026 `structuredContent` is an object.

    Data that has no place in the client's era becomes text, where the content does not hold it already.
    """
    content = found.get("content")
    homeless: list[Json] = []
    if not isinstance(content, list):
        homeless = [found[name] for name in ("toolResult", "content") if found.get(name) is not None]
        content = found["content"] = []
    structured = found.get("structuredContent")
    if structured is None:
        found.pop("structuredContent", None)
    elif not modern and not isinstance(structured, Mapping):
        del found["structuredContent"]
        homeless += [] if content else [structured]
    if homeless:
        found["content"] = [*content, *({"type": "text", "text": _text(value)} for value in homeless)]
    return found


def _text(value: Json) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def listed(method: str, items: Iterable[Json], *, modern: bool) -> tuple[list[dict[str, Any]], list[str]]:
    """The items of a list as strict clients take them, and what was left out, in words.

    A sound item passes as it is. In others the members that do not fit are taken away one by one; an item whose
    required members do not fit is left out.
    """
    _, __, model = LISTS[method]
    kept, left_out = [], []
    for item in items:
        found = _mended_tool(item, modern=modern) if method == "tools/list" else item
        sound = _mended(found, model)
        if sound is None:
            name = item.get("name") if isinstance(item, Mapping) else None
            left_out.append(f"{name or 'an item without a name'}: not valid in {method}")
        else:
            kept.append(sound)
    return kept, left_out


def _mended(item: Json, model: type[BaseModel]) -> dict[str, Any] | None:
    if not isinstance(item, dict):
        return None
    found = item
    for _ in range(len(item)):
        try:
            model.model_validate(found, by_name=False)
            return found
        except ValidationError as error:
            wrong = {str(detail["loc"][0]) for detail in error.errors() if detail["loc"]}
            if not wrong & found.keys():
                return None
            found = {name: value for name, value in found.items() if name not in wrong}
    return None


def _mended_tool(tool: Json, *, modern: bool) -> Json:
    """A tool whose schemas have an object at the root: added where it is missing, never against what is said."""
    if not isinstance(tool, dict):
        return tool
    found = dict(tool)
    schema = found.get("inputSchema")
    if schema is None:
        found["inputSchema"] = {"type": "object"}
    elif isinstance(schema, Mapping) and schema.get("type") != "object":
        found["inputSchema"] = {**schema, "type": "object"} if _means_object(schema) else None
    if not modern and not _is_object(found.get("outputSchema", {"type": "object"})):
        del found["outputSchema"]
    return found


def _is_object(schema: Json) -> bool:
    return isinstance(schema, Mapping) and schema.get("type") == "object"


def _means_object(schema: Mapping[str, Any]) -> bool:
    kind = schema.get("type")
    return kind is None or (isinstance(kind, list) and "object" in kind)


def empty_list(method: str) -> dict[str, Any]:
    """The answer to a list that the server does not have."""
    return {LISTS[method][0]: []}
