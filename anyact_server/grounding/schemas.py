"""Whether structured content fits the output schema that its action declared."""

from __future__ import annotations

import re
from collections import OrderedDict
from collections.abc import Iterable
from functools import cache
from typing import Any, Protocol

from anyact_server.types import Action, Json, JsonObject

from .binaries import replace_codes
from .blocks import Content
from .encoding import compact, whole_surrogates
from .parts import parse_json, unwrapped

_CACHED = 512
_CHECKED_BYTES = 4_000_000
"""Larger structured content is not checked: a check must never cost more than the call."""


class _Validator(Protocol):
    def is_valid(self, value: Json) -> bool: ...

    def iter_errors(self, value: Json) -> Iterable[Any]: ...


class OutputSchemas:
    """Compiled output schemas, the last 512 of them."""

    def __init__(self) -> None:
        self._compiled: OrderedDict[str, _Validator | str] = OrderedDict()

    def problem(self, content: Content, action: Action) -> str | None:
        """Why a successful result does not fit its action's output schema, None when it does or none is declared.

        A result without structured content fits when its text is JSON that does.
        """
        schema = action.output_schema
        if not schema or content.is_error or content.pending:
            return None
        validator = self._validator(schema)
        if isinstance(validator, str):
            return None
        if content.has_structured:
            return _problem(validator, content.structured)
        for text in content.texts[:1]:
            value = parse_json(text)
            if value is not None and (validator.is_valid(value) or validator.is_valid({"result": value})):
                return None
        return "the action declares an output schema, but the result has no structured content"

    def fault(self, action: Action) -> str | None:
        """Why an action's output schema cannot be used at all, None when it can or there is none."""
        if not action.output_schema:
            return None
        validator = self._validator(action.output_schema)
        return validator if isinstance(validator, str) else None

    def _validator(self, schema: JsonObject) -> _Validator | str:
        key = compact(schema)
        known = self._compiled.get(key)
        if known is None:
            known = _compile(schema)
            self._compiled[key] = known
            if len(self._compiled) > _CACHED:
                self._compiled.popitem(last=False)
        else:
            self._compiled.move_to_end(key)
        return known


def _compile(schema: JsonObject) -> _Validator | str:
    library = _library()
    try:
        validator: _Validator = library.validator_for(dict(schema), retriever=_no_fetching)
    except (ValueError, TypeError, library.ReferencingError, library.ValidationError) as error:
        return f"the output schema cannot be used: {' '.join(str(error).split())[:160]}"
    return validator


def _no_fetching(uri: str) -> Json:
    raise ValueError(f"schemas are not fetched ({uri[:80]})")


def _problem(validator: _Validator, value: Json) -> str | None:
    if isinstance(value, dict | list) and len(compact(value)) > _CHECKED_BYTES:
        return None
    try:
        if validator.is_valid(value):
            return None
        first = next(iter(validator.iter_errors(value)), None)
    except ValueError:
        return None
    if first is None:
        return None
    steps = "/".join(map(str, first.instance_path))
    where = f" at /{steps}" if steps else ""
    inner = unwrapped(value)
    form = " (wrapped in `result`)" if inner is not value else ""
    return f"the structured content{form} does not fit the output schema{where}: {_short(first.message)}"


def _short(message: str) -> str:
    """A validator's message without the value that it quotes at length, and without codes in it."""
    plain = replace_codes(message[:100_000], lambda code: f"[{code.size:,} characters]")
    words = " ".join(whole_surrogates(plain).split())
    return words if len(words) <= 200 else f"{re.split(r' is ', words)[0][:90]}… {words[-100:]}"


@cache
def _library() -> Any:
    """The validator library; imported here and nowhere else in this room, for it is slow to load."""
    import jsonschema_rs

    return jsonschema_rs
