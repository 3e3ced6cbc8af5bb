"""Arguments as models really send them, made into the object that the action's schema checks.

What is taken, on every route alike:

- omitted, null and a blank string are the empty object;
- a string that holds a JSON object is that object;
- a list, a number, a boolean, any other string: refused as invalid arguments;
- the call's own envelope inside the arguments is taken off: `{"arguments": {...}}`, `{"name": "<the action>",
  "arguments": {...}}`, `{"<the action>": {...}}`, `{"action": "<the action>", ...}`; but never a property that the
  schema declares, and only where the inner object fits better;
- an explicit null for an optional property is passed on untouched, also where its type does not name null.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import orjson

from anyact_server.errors import InvalidArguments
from anyact_server.types import Action, Json

from .problems import NOT_A_PROPERTY, Finding, near, sentences
from .schemas import Compiled
from .shapes import NESTING, example, nested_within, properties, shortened, signature, type_name

NAME_KEYS = ("action", "action_id", "tool", "tool_name", "name", "function")
"""Keys under which models repeat the name of the action inside its arguments."""

BODY_KEYS = ("arguments", "args", "parameters", "params", "input", "tool_input")
"""Keys under which models nest the arguments once more."""


@dataclass(frozen=True, slots=True)
class Accepted:
    """Arguments ready to send.

    Attributes:
        value: what the server receives.
        notes: what the caller should read.
        quiet: what is only kept with the observation.
    """

    value: dict[str, Json]
    notes: tuple[str, ...] = ()
    quiet: tuple[str, ...] = ()


def as_object(value: Json) -> dict[str, Json]:
    """The object that `value` stands for.

    Raises:
        InvalidArguments: it is neither an object, nor null, nor a string holding an object.
    """
    if isinstance(value, str):
        value = _parsed(value)
    if value is None:
        return {}
    if isinstance(value, Mapping):
        return dict(value)
    raise InvalidArguments(
        f"arguments must be a JSON object, not {type_name(value)} {shortened(value)}",
        problems=(f"given {type_name(value)}, wanted object",),
    )


def _parsed(text: str) -> Json:
    if not text.strip():
        return None
    try:
        value = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise InvalidArguments(
            f"arguments must be a JSON object; the string {shortened(text)} is not JSON",
            problems=(f"the string is not JSON: {str(error)[:120]}",),
        ) from error
    return value if isinstance(value, Mapping) or value is None else _refused_text(value)


def _refused_text(value: Json) -> Json:
    raise InvalidArguments(
        f"arguments must be a JSON object; the string holds {type_name(value)} {shortened(value)}",
        problems=(f"given a string holding {type_name(value)}, wanted object",),
    )


def unwrapped(value: Mapping[str, Json], action: Action) -> dict[str, Json] | None:
    """The arguments inside a repeated envelope; None when `value` is no envelope."""
    body: Json = None
    if len(value) == 1:
        (mark,) = value
        if mark not in (action.id, action.name, *BODY_KEYS):
            return None
        body = value[mark]
    else:
        names = (action.id, action.name)
        mark = next((key for key in NAME_KEYS if key in value and value[key] in names), "")
        if not mark:
            return None
        body = {key: part for key, part in value.items() if key != mark}
    if mark in properties(action.input_schema):
        return None
    try:
        inside = as_object(body)
    except InvalidArguments:
        return None
    deeper = unwrapped(inside, action)
    return inside if deeper is None else deeper


def accept(action: Action, value: Json, schema: Compiled, resolve: Callable[[Json], Json]) -> Accepted:
    """Make arguments ready to send.

    Args:
        action: the action that is to receive them.
        value: whatever the caller gave.
        schema: the action's compiled original schema.
        resolve: replaces references by what they stand for.

    Raises:
        InvalidArguments: they do not fit; the message says what was given and what is wanted.
    """
    try:
        given = as_object(value)
    except InvalidArguments as error:
        raise InvalidArguments(error.message, problems=error.problems, hint=_hint(action, schema)) from error
    _check_depth(given)
    inner = unwrapped(given, action)
    outer, findings = _checked(resolve(given), schema)
    chosen, problems = outer, findings
    if inner is not None:
        _check_depth(inner)
        chosen, problems = _better(action, (outer, findings), _checked(resolve(inner), schema))
    if problems:
        raise _refused(action, chosen, problems, schema)
    return _with_notes(action, chosen, schema)


def _check_depth(value: Json) -> None:
    if not nested_within(value, NESTING):
        raise InvalidArguments(f"arguments are nested deeper than {NESTING} levels")


def _better(
    action: Action,
    outer: tuple[dict[str, Json], tuple[Finding, ...]],
    inner: tuple[dict[str, Json], tuple[Finding, ...]],
) -> tuple[dict[str, Json], tuple[Finding, ...]]:
    """The envelope or its content: the content wherever the envelope does not fit, or the content is all declared."""
    if outer[1]:
        return inner
    declared = properties(action.input_schema)
    return inner if not inner[1] and declared and inner[0].keys() <= declared.keys() else outer


def _checked(value: dict[str, Json], schema: Compiled) -> tuple[dict[str, Json], tuple[Finding, ...]]:
    findings = _errors(value, schema)
    if findings and has_null(value):
        strangers = tuple(one for one in findings if one.rule in NOT_A_PROPERTY)
        findings = strangers or _errors(without_nulls(value), schema)
    return value, findings


def _errors(value: Json, schema: Compiled) -> tuple[Finding, ...]:
    try:
        return schema.errors(value)
    except ValueError as error:
        raise InvalidArguments(f"arguments are not plain JSON: {str(error)[:160]}") from error


def _refused(
    action: Action, value: dict[str, Json], findings: tuple[Finding, ...], schema: Compiled
) -> InvalidArguments:
    problems = sentences(findings, action.input_schema, value)
    message = f"arguments do not fit {action.id}: " + "; ".join(problems)
    return InvalidArguments(message, problems=problems, hint=_hint(action, schema))


def _hint(action: Action, schema: Compiled) -> str:
    wanted = signature(action.input_schema)
    if not wanted:
        return "This action takes no arguments: send {}."
    sample = example(action.input_schema)
    fits = isinstance(sample, dict) and not _errors(sample, schema)
    shown = f" Example: {json.dumps(sample, ensure_ascii=False)}" if fits and sample else ""
    return f"Wanted: {{{wanted}}}.{shown}"


def _with_notes(action: Action, value: dict[str, Json], schema: Compiled) -> Accepted:
    quiet = (f"arguments were not checked: {schema.fault}",) if schema.fault else ()
    notes = []
    usual = action.input_schema.get("properties")
    if isinstance(usual, Mapping) and value.keys() <= usual.keys():
        return Accepted(value, (), quiet)
    declared = properties(action.input_schema)
    if declared:
        for name in value.keys() - declared.keys():
            meant = near(name, declared.keys() - value.keys())
            if meant:
                notes.append(f"`{name}` is not in the schema; perhaps `{meant}` was meant")
    return Accepted(value, tuple(sorted(notes)), quiet)


def whole_text(accepted: Accepted) -> Accepted:
    """The arguments as valid Unicode: lone surrogates become U+FFFD, noted."""
    if not _broken(accepted.value):
        return accepted
    note = "lone surrogates in the arguments were replaced by U+FFFD"
    value = _mended(accepted.value)
    return replace(accepted, value=value, notes=(*accepted.notes, note))


def _broken(value: Json) -> bool:
    try:
        orjson.dumps(value)
    except TypeError:  # also raised for integers beyond 64 bits, so look again without that limit
        try:
            json.dumps(value, ensure_ascii=False).encode("utf-8")
        except UnicodeEncodeError:
            return True
    return False


def _mended(value: Json) -> Any:
    if isinstance(value, str):
        return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    if isinstance(value, Mapping):
        return {_mended(key): _mended(part) for key, part in value.items()}
    if isinstance(value, list):
        return [_mended(part) for part in value]
    return value


def has_null(value: Json) -> bool:
    """Whether some property, at any depth, is null."""
    if isinstance(value, Mapping):
        return any(part is None or has_null(part) for part in value.values())
    return isinstance(value, list) and any(has_null(part) for part in value)


def without_nulls(value: Json) -> Json:
    """The value without the properties that are null."""
    if isinstance(value, Mapping):
        return {key: without_nulls(part) for key, part in value.items() if part is not None}
    return [without_nulls(part) for part in value] if isinstance(value, list) else value
