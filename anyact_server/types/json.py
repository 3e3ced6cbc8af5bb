"""JSON as Python sees it."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

Json = Any
"""Any JSON value. Typed as `Any`: JSON that crosses a process boundary is checked where it is used."""

JsonObject = Mapping[str, Any]

EMPTY: JsonObject = MappingProxyType({})
"""The empty object, as a frozen default."""
