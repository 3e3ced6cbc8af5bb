"""Whether a success brought nothing: blank, an empty list, a count of zero, or words that say so."""

from __future__ import annotations

import re

from anyact_server.types import Json

from .blocks import Content
from .parts import parse_json, unwrapped
from .patterns import Pattern

_PARSED = 1_000_000
"""Texts longer than this are not parsed: an answer that says nothing is short."""


def is_empty(content: Content) -> bool:
    """Whether a success brought nothing."""
    if content.pending or any(block.kind != "text" for block in content.blocks):
        return False
    value = unwrapped(content.structured) if content.has_structured else None
    texts = [text.strip() for text in content.texts if text.strip()]
    if value is not None and not _nothing(value):
        return _says_nothing(value) if isinstance(value, str) else _no_items(value)
    if value is not None:
        return all(_says_nothing(text) for text in texts)
    return all(_says_nothing(text) for text in texts)


def _nothing(value: Json) -> bool:
    return value is None or value in ("", [], {})


def _no_items(value: Json) -> bool:
    """An object whose lists of finds are all empty and whose counts are zero, or that says `found: false`.

    Empty lists of faults (`issues`, `errors`) are good news, not an empty result.
    """
    if not isinstance(value, dict) or not value:
        return False
    if value.get("found") is False and not value.get("data"):
        return True
    lists = {key: part for key, part in value.items() if isinstance(part, list)}
    if not lists or any(lists.values()) or any(_FAULTS.search(str(key)) for key in lists):
        return False
    nested = [part for key, part in value.items() if isinstance(part, dict) and part and not _ABOUT.match(str(key))]
    counts = [part for key, part in value.items() if _COUNT.fullmatch(str(key)) and isinstance(part, int)]
    return not nested and not any(counts)


_FAULTS = Pattern(
    r"issue|error|problem|warning|violation|unused|diagnostic|fault|finding|conflict|missing", re.IGNORECASE
)
_ABOUT = Pattern(r"meta|page|pagination|query|links|request|params|filters", re.IGNORECASE)
_COUNT = Pattern(r"total(?:_?(?:count|results|hits|items))?|count|num_?\w+|hits|\w+_count|\w+Count", re.IGNORECASE)
_NO_FINDS = Pattern(
    r"\W{0,6}(?:result\W+)?(?:no (?!errors?\b|issues?\b|problems?\b|warnings?\b)(?:[\w'-]+ ){0,4}?"
    r"(?:found|results?|matches|match|data|items?|records?|rows?|entries|available|exist|yet)\b"
    r"|no (?:active|open|running|saved|stored|pending|recent)\b|nothing (?:found|matches|to show)|found (?:0|no)\b"
    r"|0 (?:[\w'-]+ ){0,2}?(?:found|results?|matches|rows?|items?|records?)\b|none found|empty\b|\(empty\)"
    r"|\(no [\w ]+\)"
    r"|there are no\b|null$|none$)|.{0,60}\b(?:total: 0\b|0 total\b|affected_rows'?\"?: 0\b|no more content)",
    re.IGNORECASE | re.DOTALL,
)


def _says_nothing(text: str) -> bool:
    """Whether a text says that there is nothing, or is an empty value itself."""
    if len(text) <= _PARSED:
        value = parse_json(text)
        if value is not None:
            return _nothing(value) or _no_items(value)
    return not text or (len(text) <= 400 and _NO_FINDS.match(text) is not None)
