"""JSON as Python sees it."""

from __future__ import annotations

from collections.abc import Mapping
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
