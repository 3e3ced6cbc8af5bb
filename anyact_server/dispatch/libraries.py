"""The loader of this room: libraries that take long to import are imported on first use, here and nowhere else."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from types import ModuleType
from typing import Any, NamedTuple


@cache
def schemas_library() -> ModuleType:
    """jsonschema-rs, which checks values against JSON Schemas."""
    import jsonschema_rs

    return jsonschema_rs


class Paths(NamedTuple):
    """What is used of jsonpath-ng: the parser with its extensions, and the root of its errors."""

    parse: Callable[[str], Any]
    error: type[Exception]


@cache
def paths_library() -> Paths:
    """jsonpath-ng, which evaluates JSONPath expressions."""
    from jsonpath_ng.exceptions import JSONPathError
    from jsonpath_ng.ext.parser import parse

    return Paths(parse, JSONPathError)
