"""Reads the arguments of the eight tools as models really send them.

Pure. A bare string stands for a list of one, an object may come as a JSON string, well-known other names are taken for
the right ones, and keys that mean nothing are reported, never fatal.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import orjson

from anyact_server.errors import UsageError
from anyact_server.types import Json, JsonObject

LONGEST_LINE = 2000
"""Characters of one intent that are used; a longer text is no one-line need."""


@dataclass(slots=True)
class Reading:
    """The arguments of one tool call, taken out one by one; `notes` says what was odd about them."""

    tool: str
    given: dict[str, Json]
    notes: list[str] = field(default_factory=list)
    taken: set[str] = field(default_factory=set)

    def take(self, name: str, *others: str) -> Json:
        """The value under `name`, else under the first of `others` that is there; None when absent or null."""
        for key in (name, *others):
            if key in self.given:
                self.taken.add(key)
                if self.given[key] is not None:
                    return self.given[key]
        return None

    def texts(self, name: str, *others: str, required: bool = False) -> tuple[str, ...]:
        """A list of strings; a bare string is a list of one, or a list when it holds a JSON list."""
        value = self.take(name, *others)
        if isinstance(value, str):
            value = _list_inside(value)
        if value is None:
            value = ()
        if isinstance(value, Mapping) or not isinstance(value, Sequence):
            raise self.fault(name, "must be a list of strings", value)
        found = tuple(text for item in value if (text := _line(item)))
        if required and not found:
            raise UsageError(f"{self.tool}: `{name}` is missing.", hint=f"Give `{name}` as a list of strings.")
        return found

    def text(self, name: str, *others: str, required: bool = False) -> str | None:
        """One string; a list of one string counts."""
        value = self.take(name, *others)
        if isinstance(value, list) and len(value) == 1:
            value = value[0]
        if value is None or value == "":
            if required:
                raise UsageError(f"{self.tool}: `{name}` is missing.", hint=f"Give `{name}` as a string.")
            return None
        if not isinstance(value, str):
            raise self.fault(name, "must be a string", value)
        return value

    def choice(self, name: str, allowed: Sequence[str]) -> str:
        """One of the allowed words; the first of them when absent."""
        value = self.text(name)
        if value is None:
            return allowed[0]
        word = value.strip().lower()
        if word not in allowed:
            raise UsageError(f"{self.tool}: `{name}` is {value[:40]!r}.", hint=f"Allowed: {', '.join(allowed)}.")
        return word

    def number(self, name: str, *others: str) -> float | None:
        """A number that is not negative; a numeric string counts."""
        value = self.take(name, *others)
        if value is None or value == "":
            return None
        if isinstance(value, str):
            try:
                value = float(value)
            except ValueError:
                raise self.fault(name, "must be a number", value) from None
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise self.fault(name, "must be a number", value)
        if not math.isfinite(value) or value < 0:
            raise self.fault(name, "must be a number that is not negative", value)
        return float(value)

    def whole(self, name: str, *others: str, low: int, high: int | None = None) -> int | None:
        """A whole number, brought within its bounds with a note."""
        value = self.number(name, *others)
        if value is None:
            return None
        bounded = max(low, int(value)) if high is None else min(max(low, int(value)), high)
        if bounded != value:
            self.notes.append(f"`{name}` {value:g} was taken as {bounded}.")
        return bounded

    def flag(self, name: str) -> bool:
        """A truth value; the words true and false count."""
        value = self.take(name)
        if isinstance(value, str) and value.strip().lower() in ("true", "false", ""):
            value = value.strip().lower() == "true"
        if value is None:
            return False
        if not isinstance(value, bool):
            raise self.fault(name, "must be true or false", value)
        return value

    def rest(self) -> dict[str, Json]:
        """What nothing asked for, by name."""
        return {name: value for name, value in self.given.items() if name not in self.taken}

    def close(self) -> tuple[str, ...]:
        """Every note, with the keys that nothing asked for among them."""
        unknown = [name[:40] for name in self.rest()]
        if unknown:
            self.notes.append(f"Ignored, {self.tool} knows no such argument: {', '.join(unknown[:10])}.")
        return tuple(self.notes)

    def fault(self, name: str, wish: str, value: Json) -> UsageError:
        """The error for a value of the wrong type."""
        return UsageError(f"{self.tool}: `{name}` {wish}, not {_kind(value)}.")


def read(tool: str, arguments: Json) -> Reading:
    """Begin to read the arguments of a tool: an object, a JSON string that holds one, or nothing.

    Raises:
        UsageError: anything else.
    """
    if isinstance(arguments, str):
        arguments = _object_inside(arguments) if arguments.strip() else None
    if arguments is None:
        return Reading(tool, {})
    if not isinstance(arguments, Mapping):
        raise UsageError(f"{tool}: the arguments must be an object, not {_kind(arguments)}.")
    return Reading(tool, dict(arguments))


def objects(reading: Reading, name: str) -> tuple[JsonObject, ...]:
    """A list of objects; a single object is a list of one, a JSON string is unwrapped first.

    Raises:
        UsageError: anything else.
    """
    value = reading.take(name)
    if isinstance(value, str):
        value = _parsed(value)
    if value is None:
        return ()
    if isinstance(value, Mapping):
        value = [value]
    if not isinstance(value, list):
        raise reading.fault(name, "must be a list of objects", value)
    unwrapped = [_parsed(item) if isinstance(item, str) else item for item in value]
    for place, item in enumerate(unwrapped):
        if not isinstance(item, Mapping):
            raise reading.fault(f"{name}[{place}]", "must be an object", item)
    return tuple(unwrapped)


def _parsed(text: str) -> Json:
    try:
        return orjson.loads(text)
    except orjson.JSONDecodeError:
        return text


def _object_inside(text: str) -> Json:
    return _parsed(text) if text.lstrip().startswith("{") else text


def _list_inside(text: str) -> Json:
    found = _parsed(text) if text.lstrip().startswith("[") else text
    return found if isinstance(found, list) else [text]


def _line(item: Json) -> str:
    text = item if isinstance(item, str) else "" if item is None else str(item)
    return " ".join(text[:LONGEST_LINE].split())


def _kind(value: Json) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "a truth value"
    if isinstance(value, int | float):
        return "a number"
    if isinstance(value, str):
        return "a string"
    return "an object" if isinstance(value, Mapping) else "a list"
