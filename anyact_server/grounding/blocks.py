"""The content of a `tools/call` result, read tolerantly: whatever a server sends becomes blocks and plain notes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from anyact_server.types import Json, JsonObject

BlockKind = Literal["text", "image", "audio", "blob", "link", "unknown"]


@dataclass(frozen=True, slots=True)
class Block:
    """One piece of content.

    Attributes:
        kind: what it is; an embedded resource is a text, an image, an audio or a blob by what it holds.
        pointer: JSON pointer of the string that holds the content, from the root of the result.
        text: the text of a text block, the base64 of a binary one.
        audience_user: the server means it for the person alone.
        priority: 0 (least) to 1 (needed), as the server annotated it.
        size: bytes, as a link declares them.
        raw: what a block of unknown form is.
    """

    kind: BlockKind
    pointer: str
    text: str = ""
    mime: str = ""
    uri: str | None = None
    title: str = ""
    audience_user: bool = False
    priority: float | None = None
    size: int | None = None
    raw: Json = None


@dataclass(frozen=True, slots=True)
class Content:
    """A whole result: its blocks, its structured part, its flag, and what was wrong with its form."""

    blocks: tuple[Block, ...] = ()
    structured: Json = None
    has_structured: bool = False
    is_error: bool = False
    pending: bool = False
    faults: tuple[str, ...] = ()

    @property
    def texts(self) -> tuple[str, ...]:
        """The texts of the text blocks, in order."""
        return tuple(block.text for block in self.blocks if block.kind == "text")


def read_content(result: Json) -> Content:
    """Read a result of any shape; never raises.

    Args:
        result: the raw result as the server sent it; anything but an object is taken as the content itself.
    """
    if not isinstance(result, Mapping):
        if isinstance(result, list) and any(isinstance(item, Mapping) and "type" in item for item in result):
            blocks, faults = _blocks_of(result, "")
        else:
            blocks, faults = (
                (Block("text", "", result) if isinstance(result, str) else Block("unknown", "", raw=result),),
                (),
            )
        return Content(blocks, faults=("the result is not an object", *faults))
    structured = result.get("structuredContent")
    has_structured = structured is not None
    blocks, faults = _content_of(result, has_structured)
    if not blocks and not has_structured and result.get("toolResult") is not None:
        legacy = result["toolResult"]
        faults = ("the result has the form of 2024 (`toolResult`)",)
        if isinstance(legacy, str):
            blocks = (Block("text", "/toolResult", legacy),)
        else:
            structured, has_structured = legacy, True
    flag = result.get("isError")
    if flag is not None and not isinstance(flag, bool):
        faults = (*faults, f"isError is {_name(flag)}, not a boolean")
    return Content(
        blocks=blocks,
        structured=structured,
        has_structured=has_structured,
        is_error=is_flagged(result),
        pending=result.get("resultType") in ("task", "input_required"),
        faults=faults,
    )


def is_flagged(result: Json) -> bool:
    """Whether the server says of a result that it is a failure."""
    flag = result.get("isError") if isinstance(result, dict) else None
    return flag is True or (isinstance(flag, str) and flag.lower() == "true")


def _content_of(result: JsonObject, has_structured: bool) -> tuple[tuple[Block, ...], tuple[str, ...]]:
    if "content" not in result:
        known = has_structured or "toolResult" in result or result.get("resultType") not in (None, "complete")
        return (), () if known else ("the result has no content",)
    content = result["content"]
    if content is None:
        return (), ("content is null, not a list",)
    return _blocks_of(content, "/content")


def _blocks_of(content: Json, pointer: str) -> tuple[tuple[Block, ...], tuple[str, ...]]:
    if isinstance(content, str):
        return (Block("text", pointer, content),), ("content is a string, not a list",)
    if isinstance(content, Mapping):
        block, fault = _block(content, pointer)
        return (block,), ("content is an object, not a list", *([fault] if fault else ()))
    if not isinstance(content, Sequence):
        return (Block("unknown", pointer, raw=content),), (f"content is {_name(content)}, not a list",)
    blocks: list[Block] = []
    faults: dict[str, int] = {}
    for index, item in enumerate(content):
        block, fault = _block(item, f"{pointer}/{index}")
        blocks.append(block)
        if fault:
            faults[fault] = faults.get(fault, 0) + 1
    return tuple(blocks), tuple(f"{fault} ({count} times)" if count > 1 else fault for fault, count in faults.items())


def _block(item: Json, pointer: str) -> tuple[Block, str | None]:
    """One block and what is wrong with it."""
    if isinstance(item, str):
        return Block("text", pointer, item), "a content block is a bare string"
    if not isinstance(item, Mapping):
        return Block("unknown", pointer, raw=item), f"a content block is {_name(item)}, not an object"
    kind = item.get("type")
    reader = _READERS.get(kind) if isinstance(kind, str) else None
    if reader is None:
        return _untyped(item, pointer)
    return reader(item, pointer)


def _untyped(item: JsonObject, pointer: str) -> tuple[Block, str | None]:
    """A block of no known type: a text where it has one, else kept as it is."""
    kind = item.get("type")
    fault = f"a content block has the unknown type {kind!r:.40}" if "type" in item else "a content block has no type"
    if isinstance(item.get("text"), str):
        return Block("text", f"{pointer}/text", item["text"], **_marks(item)), fault
    return Block("unknown", pointer, raw=item, **_marks(item)), fault


def _text(item: JsonObject, pointer: str) -> tuple[Block, str | None]:
    text = item.get("text")
    if isinstance(text, str):
        return Block("text", f"{pointer}/text", text, **_marks(item)), None
    if text is None:
        return Block("text", f"{pointer}/text", "", **_marks(item)), "a text block has no text"
    return Block("unknown", f"{pointer}/text", raw=text, **_marks(item)), f"the text of a text block is {_name(text)}"


def _media(item: JsonObject, pointer: str) -> tuple[Block, str | None]:
    kind: Literal["image", "audio"] = "image" if item["type"] == "image" else "audio"
    data, mime = item.get("data"), item.get("mimeType")
    if not isinstance(data, str):
        return Block("unknown", pointer, raw=item, **_marks(item)), f"an {kind} block has no data"
    known = mime if isinstance(mime, str) else ""
    if data.startswith("data:") and ";base64," in data[:200]:
        head, _, data = data.partition(";base64,")
        known = known or head[5:]
    return Block(kind, f"{pointer}/data", data, known, **_marks(item)), None


def _resource(item: JsonObject, pointer: str) -> tuple[Block, str | None]:
    inner = item.get("resource")
    if not isinstance(inner, Mapping):
        return Block("unknown", pointer, raw=item, **_marks(item)), "a resource block has no resource"
    mime = inner["mimeType"] if isinstance(inner.get("mimeType"), str) else ""
    uri = inner["uri"] if isinstance(inner.get("uri"), str) else None
    title = next((inner[key] for key in ("title", "name") if isinstance(inner.get(key), str)), "")
    if isinstance(inner.get("text"), str):
        return Block("text", f"{pointer}/resource/text", inner["text"], mime, uri, title, **_marks(item)), None
    if isinstance(inner.get("blob"), str):
        family = mime.partition("/")[0]
        kind: BlockKind = "image" if family == "image" else "audio" if family == "audio" else "blob"
        return Block(kind, f"{pointer}/resource/blob", inner["blob"], mime, uri, title, **_marks(item)), None
    return Block(
        "unknown", pointer, "", mime, uri, title, raw=item, **_marks(item)
    ), "a resource has neither text nor blob"


def _link(item: JsonObject, pointer: str) -> tuple[Block, str | None]:
    uri = item.get("uri")
    title = next((item[key] for key in ("title", "name") if isinstance(item.get(key), str)), "")
    mime = item["mimeType"] if isinstance(item.get("mimeType"), str) else ""
    size = item["size"] if isinstance(item.get("size"), int) and not isinstance(item["size"], bool) else None
    about = item["description"] if isinstance(item.get("description"), str) else ""
    if not isinstance(uri, str):
        return Block(
            "unknown", pointer, about, mime, None, title, raw=item, **_marks(item)
        ), "a resource link has no uri"
    return Block("link", pointer, about, mime, uri, title, size=size, **_marks(item)), None


_READERS = {
    "text": _text,
    "image": _media,
    "audio": _media,
    "resource": _resource,
    "resource_link": _link,
}


def _marks(item: JsonObject) -> dict[str, Json]:
    """Audience and priority of a block, where they are well formed."""
    notes = item.get("annotations")
    if not isinstance(notes, Mapping):
        return {}
    audience, priority = notes.get("audience"), notes.get("priority")
    known = isinstance(priority, int | float) and not isinstance(priority, bool)
    return {
        "audience_user": isinstance(audience, Sequence) and list(audience) == ["user"],
        "priority": float(priority) if known and priority is not None else None,
    }


def _name(value: Json) -> str:
    """What a JSON value is, in words."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "a boolean"
    if isinstance(value, int | float):
        return "a number"
    if isinstance(value, str):
        return "a string"
    return "an object" if isinstance(value, Mapping) else "a list"
