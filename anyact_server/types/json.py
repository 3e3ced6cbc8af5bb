"""JSON as Python sees it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from dataclasses import fields, is_dataclass
from enum import Enum
from typing import Any, NoReturn

Json = Any
"""Any JSON value. Typed as `Any`: JSON that crosses a process boundary is checked where it is used."""

JsonObject = Mapping[str, Any]


class _Empty(dict[str, Any]):
    """An empty object that stays empty, so that it can be a default of frozen values."""

    def __hash__(self) -> int:  # type: ignore[override]  # dataclasses refuse unhashable defaults
        return 0

    def __setitem__(self, key: str, value: Any) -> NoReturn:
        raise TypeError("the shared empty object cannot be changed")


EMPTY: JsonObject = _Empty()
"""The empty object, as a frozen default."""


def plain(value: Any) -> Json:
    """A value of this package as plain JSON: frozen values become objects without None fields, sets sorted lists."""
    if isinstance(value, Enum):
        return value.value
    if value is None or isinstance(value, str | int | float | bool):
        return value
    if is_dataclass(value) and not isinstance(value, type):
        pairs = ((item.name, getattr(value, item.name)) for item in fields(value))
        return {name: plain(part) for name, part in pairs if part is not None}
    if isinstance(value, Mapping):
        return {str(name): plain(part) for name, part in value.items()}
    if isinstance(value, Set):
        return sorted(plain(part) for part in value)
    if isinstance(value, Sequence):
        return [plain(part) for part in value]
    return str(value)
