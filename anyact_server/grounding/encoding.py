"""JSON that always comes out: any value of any depth, with lone surrogates and large numbers, as valid UTF-8."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

import orjson

from anyact_server.types import Json

DEPTH = 200
"""Deeper nesting than this is replaced by a short text, for reading alike and for keeping."""
TOO_DEEP = "(nested too deeply to show)"
_SURROGATE = re.compile("[\ud800-\udfff]")
_DIGITS = bytes(0x30 if 0x30 <= code <= 0x39 else 0x20 for code in range(256))
_LONG_NUMBER = b"0" * 19
"""As many digits make a number that the fast parser may round."""


def dumps(value: Json) -> bytes:
    """A value as compact JSON in UTF-8; never raises.

    Lone surrogates become U+FFFD, not-a-number null, keys text, unknown objects their text, and nesting below `DEPTH`
    a remark.
    """
    try:
        return orjson.dumps(value, default=str, option=orjson.OPT_NON_STR_KEYS)
    except TypeError:
        text = json.dumps(_tame(value, 0), ensure_ascii=False, separators=(",", ":"), allow_nan=False)
        return text.encode("utf-8")


def compact(value: Json) -> str:
    """`dumps` as text."""
    return dumps(value).decode("utf-8")


def loads(text: str) -> Json:
    """Parse JSON without losing digits of long integers.

    Raises:
        ValueError: the text is no JSON, or is nested too deeply.
    """
    data = text.encode("utf-8", "surrogatepass")
    if data.translate(_DIGITS).find(_LONG_NUMBER) >= 0:
        try:
            return json.loads(text, parse_constant=_no_constant)
        except RecursionError as error:
            raise ValueError("nested too deeply") from error
    return orjson.loads(data)


def whole_surrogates(text: str) -> str:
    """The text with every lone surrogate replaced by U+FFFD; pairs become the character they stand for."""
    if text.isascii() or not _SURROGATE.search(text):
        return text
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _no_constant(name: str) -> Json:
    raise ValueError(f"{name} is no JSON")


def _tame(value: Any, depth: int) -> Json:
    """The value as something that the standard encoder takes."""
    if isinstance(value, str):
        return whole_surrogates(value)
    if value is None or isinstance(value, bool | int):
        return value
    if isinstance(value, float):
        return value if value == value and abs(value) != float("inf") else None
    if depth > DEPTH:
        return TOO_DEEP
    if isinstance(value, Mapping):
        return {whole_surrogates(str(key)): _tame(part, depth + 1) for key, part in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, bytes):
        return [_tame(part, depth + 1) for part in value]
    return whole_surrogates(str(value))
