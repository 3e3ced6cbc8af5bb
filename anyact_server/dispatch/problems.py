"""Findings of a schema check as sentences a model can act on: what was given, what is wanted, the nearest name."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches

from anyact_server.types import Json

from .shapes import properties, resolved, shortened, type_name, type_words

MOST = 8
"""Findings that are told one by one; the rest is counted."""


NOT_A_PROPERTY = frozenset({"additionalProperties", "unevaluatedProperties", "falseSchema"})
"""Rules that refuse a name, whatever its value."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that does not fit.

    Attributes:
        rule: the schema keyword that failed.
        path: where in the arguments, as keys and positions.
        value: what was found there.
        detail: what the keyword says (`property`, `unexpected`, `types`, `options`, ...).
        message: the checker's own words.
    """

    rule: str
    path: tuple[str | int, ...]
    value: Json
    detail: Mapping[str, Json] = field(default_factory=dict)
    message: str = ""


def sentences(findings: Sequence[Finding], schema: Json, arguments: Json) -> tuple[str, ...]:
    """One sentence per finding, at most `MOST` and a count of the others."""
    told = list(dict.fromkeys(text for finding in findings for text in _sentences(finding, schema, arguments)))
    if len(told) > MOST:
        told = [*told[:MOST], f"and {len(told) - MOST} more"]
    return tuple(told)


def near(name: str, names: Iterable[str]) -> str | None:
    """The name that was probably meant, None when none is close."""
    by_form = {_form(one): one for one in names}
    close = get_close_matches(_form(name), list(by_form), n=1, cutoff=0.6)
    return by_form[close[0]] if close else None


def _form(name: str) -> str:
    return name.lower().replace("_", "").replace("-", "").replace(" ", "")


def place(path: Sequence[str | int]) -> str:
    """A path as people write it: `items[0].name`."""
    text = ""
    for step in path:
        text += f"[{step}]" if isinstance(step, int) else (f".{step}" if text else str(step))
    return text


def subschema(schema: Json, path: Sequence[str | int]) -> Json:
    """The schema of the value at `path`, as far as properties and items tell; an empty object where they do not."""
    here = resolved(schema, schema)
    for step in path:
        if isinstance(step, int):
            items = here.get("items")
            inner = items[step] if isinstance(items, list) and step < len(items) else items
        else:
            inner = properties(here, schema).get(step)
        here = resolved(inner, schema)
    return here


def _at(arguments: Json, path: Sequence[str | int]) -> Json:
    for step in path:
        arguments = arguments[step]
    return arguments


def _sentences(finding: Finding, schema: Json, arguments: Json) -> list[str]:
    if finding.rule == "required":
        return [_missing(finding, schema, arguments)]
    where = f"`{place(finding.path)}`" if finding.path else "the arguments"
    if finding.rule in NOT_A_PROPERTY:
        names = _strangers(finding, schema, arguments)
        return [_unexpected(name, finding, schema) for name in names] or [f"{where} must not be given"]
    given = f"{shortened(finding.value)} ({type_name(finding.value)})"
    if finding.rule == "type":
        return [f"{where}: given {given}, wanted {' or '.join(finding.detail['types'])}"]
    if finding.rule == "enum":
        return [_not_among(where, finding)]
    if finding.rule in ("anyOf", "oneOf"):
        wanted = type_words(subschema(schema, finding.path), schema)
        return [f"{where}: given {given}, wanted {wanted}"]
    return [f"{where}: {_short(finding.message)}"]


def _strangers(finding: Finding, schema: Json, arguments: Json) -> list[str]:
    """The names that are no properties; the checker does not name them where an object may have none at all."""
    named = finding.detail.get("unexpected")
    if named is not None:
        return list(named)
    given = _at(arguments, finding.path)
    if not isinstance(given, Mapping):
        return []
    declared = properties(subschema(schema, finding.path), schema)
    return [name for name in given if name not in declared]


def _short(message: str) -> str:
    return message if len(message) <= 200 else message[:199] + "…"


def _missing(finding: Finding, schema: Json, arguments: Json) -> str:
    name = str(finding.detail["property"])
    where = place((*finding.path, name))
    declared = properties(subschema(schema, finding.path), schema)
    wanted = type_words(declared.get(name), schema)
    given = _at(arguments, finding.path)
    if isinstance(given, Mapping) and name in given:
        return f"`{where}`: given null, wanted {wanted}"
    strangers = [one for one in given if one not in declared] if isinstance(given, Mapping) else []
    meant = near(name, strangers)
    return f"`{where}` is missing ({wanted})" + (f"; you gave `{meant}`, rename it" if meant else "")


def _unexpected(name: str, finding: Finding, schema: Json) -> str:
    declared = properties(subschema(schema, finding.path), schema)
    where = place((*finding.path, name))
    meant = near(name, declared)
    if meant:
        return f"`{where}` is not a property; did you mean `{meant}`?"
    if not declared:
        return f"`{where}` is not a property; none is taken here"
    known = ", ".join(f"`{one}`" for one in list(declared)[:20])
    return f"`{where}` is not a property; known: {known}"


def _not_among(where: str, finding: Finding) -> str:
    options = finding.detail["options"]
    wanted = type_words({"enum": list(options)}, {})
    text = f"{where}: given {shortened(finding.value)}, wanted {wanted}"
    names = [option for option in options if isinstance(option, str)]
    meant = near(finding.value, names) if isinstance(finding.value, str) else None
    return text + (f'; did you mean "{meant}"?' if meant and len(options) > 2 else "")
