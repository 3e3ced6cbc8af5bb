"""Checking of arguments against the original input schema, with compiled schemas kept.

Remote references are never fetched. A schema that cannot be compiled checks nothing: the call goes through, and the
reason is noted.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, NoReturn

from anyact_server.types import Action, Json

from .libraries import schemas_library
from .problems import Finding

KEPT = 4096
"""Compiled schemas that are kept, the last used stay."""

MOST_FINDINGS = 50
"""Findings that are collected of one check."""

_FORGIVEN = frozenset({"backtrackLimitExceeded", "regexEngineFailure", "referencing"})
"""Failures of the checker itself; they say nothing about the value."""


@dataclass(frozen=True, slots=True)
class Compiled:
    """A schema ready to check: `errors` gives findings, or `fault` says why it cannot check anything."""

    errors: Callable[[Json], tuple[Finding, ...]]
    fault: str | None = None


class Schemas:
    """Compiled input schemas by action and digest."""

    def __init__(self, most: int = KEPT) -> None:
        self._most = most
        self._kept: OrderedDict[tuple[str, str], Compiled] = OrderedDict()

    def of(self, action: Action) -> Compiled:
        """The compiled original input schema of an action."""
        key = (action.id, action.digest)
        known = self._kept.get(key)
        if known is None or not action.digest:
            known = compiled(action.input_schema)
            self._kept[key] = known
            if len(self._kept) > self._most:
                self._kept.popitem(last=False)
        else:
            self._kept.move_to_end(key)
        return known


def compiled(schema: Json) -> Compiled:
    """Compile a schema in the dialect that it names; where that fails, as 2020-12, then as draft 7."""
    library = schemas_library()
    plain = {key: value for key, value in schema.items() if key != "$schema"} if isinstance(schema, Mapping) else schema
    fault = ""
    for make, form in (
        (library.validator_for, schema),
        (library.validator_for, plain),
        (library.Draft7Validator, plain),
    ):
        try:
            validator = make(form, retriever=_refuse)
        except ValueError as error:
            fault = fault or str(getattr(error, "message", error))
        else:
            return Compiled(partial(_findings, validator))
    return Compiled(_nothing, f"its input schema cannot be used for checking ({fault[:160]})")


def _refuse(uri: str) -> NoReturn:
    raise ValueError(f"references to other documents are not followed: {uri}")


def _nothing(_: Json) -> tuple[Finding, ...]:
    return ()


def _findings(validator: Any, value: Json) -> tuple[Finding, ...]:
    if validator.is_valid(value):
        return ()
    found = []
    for error in validator.iter_errors(value):
        if error.kind.name not in _FORGIVEN:
            path = tuple(error.instance_path)
            found.append(Finding(error.kind.name, path, error.instance, error.kind.as_dict(), error.message))
        if len(found) == MOST_FINDINGS:
            break
    return tuple(found)
