"""What a result that was declared a success says of a failure, by its values and by its first words."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from anyact_server.types import Action, Json

from .blocks import Content
from .fields import Sign, sign_in
from .kinds import Reading, read_message
from .parts import mirrored, parse_json, unwrapped
from .patterns import Pattern
from .wording import opening_of, page_status

_PARSED = 1_000_000
"""Texts longer than this are not parsed for fields: a failure is short."""
_PLACES = 20
"""Texts of one result that are looked at."""
_READS = Pattern(
    r"(?:^|[_.\-/ ])(?:read|cat|head|tail|logs?|fetch|scrape|crawl|grep|console|messages?|markdown|show|diff"
    r"|blame|contents?"
    r"|extract|download|transcript|get[_-]?file|stdout|stderr|journal)(?:$|[_.\-/ ])",
    re.IGNORECASE,
)
"""Names of actions whose results are texts that others wrote."""
_LISTS = Pattern(r"(?:^|[_.\-/ ])(?:list|search|find|query|browse|filter|lookup|signals)(?:$|[_.\-/ s])", re.IGNORECASE)
"""Names of actions for which finding nothing is an answer."""
_VISITS = Pattern(r"(?:^|[_.\-/ ])(?:navigate|goto|go_to|open|visit|load)(?:$|[_.\-/ ])", re.IGNORECASE)
"""Names of actions that show a page, for which a bad HTTP status of the page is a failure."""


@dataclass(frozen=True, slots=True)
class Suspicion:
    """A failure that a declared success tells of: its sign, how it is read, and by what it was found."""

    sign: Sign
    reading: Reading
    by: Literal["structured", "text_rule"]


@dataclass(frozen=True, slots=True)
class _Manner:
    """What the name of an action tells of its results."""

    reads: bool = False
    lists: bool = False
    visits: bool = False


def suspicion_of(content: Content, action: Action | None) -> Suspicion | None:
    """What an unflagged result says of a failure; None when it says nothing of one."""
    manner = _manner(action.name) if action is not None else _Manner()
    places: list[tuple[Json, str]] = []
    if content.has_structured:
        root = "/structuredContent"
        inner = unwrapped(content.structured)
        places.append((inner, root if inner is content.structured else f"{root}/result"))
    if not (content.has_structured and mirrored(content)):
        places += [(block.text, block.pointer) for block in content.blocks if block.kind == "text"]
    for value, pointer in places[:_PLACES]:
        found = _in_value(value, pointer, manner)
        if found is not None:
            return found
    return None


def _manner(name: str) -> _Manner:
    return _Manner(_READS.search(name) is not None, _LISTS.search(name) is not None, _VISITS.search(name) is not None)


def _in_value(value: Json, pointer: str, manner: _Manner) -> Suspicion | None:
    fields = value
    if isinstance(value, str):
        fields = parse_json(value) if len(value) <= _PARSED else None
        if fields is None:
            return _in_text(value, pointer, manner)
    text = _only_text(fields)
    if text is not None:
        return _in_text(text, pointer, manner)
    sign = sign_in(fields, pointer)
    if sign is None or (manner.reads and isinstance(value, str) and sign.sure <= _QUOTED):
        return None
    if manner.lists and sign.code == "NOT_FOUND" and sign.sure < _QUOTED:
        return None
    return Suspicion(sign, read_message(unwrapped_message(sign.message), sign.code), "structured")


_QUOTED = 0.75
"""A sign no stronger than this may be part of what was read rather than said by the server."""


def _only_text(value: Json) -> str | None:
    """The text of a list that holds one text block and nothing else, as some servers wrap their answers twice."""
    if isinstance(value, Sequence) and not isinstance(value, str) and len(value) == 1 and isinstance(value[0], dict):
        text = value[0].get("text")
        if isinstance(text, str) and value[0].keys() <= {"type", "text"} and parse_json(text) is None:
            return text
    return None


def _in_text(text: str, pointer: str, manner: _Manner) -> Suspicion | None:
    opening = opening_of(text, reads=manner.reads) or (page_status(text) if manner.visits else None)
    if opening is None:
        return _after_heading(text, pointer)
    reading = read_message(unwrapped_message(f"{opening.line}\n{text[:800]}"))
    if manner.reads and reading.sure < 0.5:
        return None
    return Suspicion(Sign(pointer, opening.line, None, opening.sure, opening.share), reading, "text_rule")


def _after_heading(text: str, pointer: str) -> Suspicion | None:
    """A value that stands as JSON below one line of words."""
    first, _, rest = text.partition("\n")
    if not first.rstrip().endswith(":") or rest[:1] not in ("{", "[") or len(rest) > _PARSED:
        return None
    value = parse_json(rest)
    sign = sign_in(value, pointer) if value is not None else None
    if sign is None:
        return None
    return Suspicion(sign, read_message(unwrapped_message(sign.message), sign.code), "structured")


_WRAPPING = Pattern(
    r"^(?:error executing tool [\w./-]+: |error calling tool '[^']*': |tool '[^']*' execution failed: "
    r"|MCP error -?\d+: |error: )+",
    re.I,
)


def unwrapped_message(message: str) -> str:
    """A message without what SDKs put before it."""
    return _WRAPPING.sub("", message.strip())
