"""The dialects of an observation besides lines: JSON that any program reads, and markdown for people. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from anyact_server.types import Json, Observation, plain

from .encoding import compact

Dialect = Literal["lines", "json", "markdown"]

_GAPS = 6
_TABLE_ROWS = 2


def json_document(observation: Observation, body: str) -> str:
    """An observation as one JSON object; `body` is its content as JSON text, empty where there is none.

    Keys: `status`, `summary`, then where they say something `error`, `suspected`, `content`, `notes`, `left_out` (with
    JSON pointers) and `handle`.
    """
    facts: list[tuple[str, Json]] = [("status", observation.status), ("summary", observation.summary)]
    facts += [(name, plain(part)) for name, part in _failures(observation)]
    parts = [f"{compact(name)}:{compact(value)}" for name, value in facts]
    if body:
        parts.append(f'"content":{body}')
    if observation.notes:
        parts.append(f'"notes":{compact(list(observation.notes))}')
    gaps = [f"{gap.count:,} {gap.what} at {gap.pointer or '/'}" for gap in observation.elided[:_GAPS]]
    if len(observation.elided) > _GAPS:
        gaps.append(f"{len(observation.elided) - _GAPS:,} more places")
    if gaps:
        parts.append(f'"left_out":{compact(gaps)}')
    if observation.handle is not None:
        parts.append(f'"handle":{compact(observation.handle)}')
    return f"{{{','.join(parts)}}}"


def _failures(observation: Observation) -> list[tuple[str, Json]]:
    pairs = (("error", observation.error), ("suspected", observation.suspected))
    wanted = ("kind", "message", "retry", "retry_after_s", "hint", "alternatives", "confidence")
    found = []
    for name, error in pairs:
        if error is not None:
            facts = plain(error)
            found.append((name, {key: facts[key] for key in wanted if facts.get(key) not in (None, [])}))
    return found


def json_list(parts: list[str]) -> str:
    """JSON texts as one: the only one as it is, several as a list."""
    return parts[0] if len(parts) == 1 else f"[{','.join(parts)}]" if parts else ""


def markdown_value(value: Json, depth: int = 0) -> str:
    """A JSON value as markdown: like objects as a table, other objects and lists as bullets, the rest as it is."""
    if isinstance(value, list) and value:
        return _table(value) or _bullets([("", part) for part in value], depth)
    if isinstance(value, Mapping) and value:
        return _bullets([(f"**{_inline(key)}**", part) for key, part in value.items()], depth)
    return _inline(value)


def _bullets(pairs: list[tuple[str, Json]], depth: int) -> str:
    blank = "  " * depth
    lines: list[str] = []
    for name, part in pairs:
        if isinstance(part, list | Mapping) and part and depth < 6:
            inner = markdown_value(part, depth + 1)
            table = inner.startswith("|")
            lines.append(f"{blank}- {name or 'item'}:{chr(10) if table else ''}\n{inner}{chr(10) if table else ''}")
        else:
            told = f"{name}: " if name else ""
            lines.append(f"{blank}- {told}{_inline(part)}")
    return "\n".join(lines)


def _table(rows: list[Json]) -> str | None:
    """Like objects with plain values as a table, None where they are something else; gaps become rows of one cell."""
    objects = [row for row in rows if isinstance(row, Mapping)]
    if len(objects) < _TABLE_ROWS or any(isinstance(row, list) for row in rows):
        return None
    names = list(dict.fromkeys(key for row in objects for key in row))
    if len(names) > 30 or sum(map(len, objects)) < 0.6 * len(objects) * len(names):
        return None
    lines = [f"| {' | '.join(map(_inline, names))} |", f"|{'---|' * len(names)}"]
    for row in rows:
        cells = (
            [_inline(row[name]) if name in row else "" for name in names] if isinstance(row, Mapping) else [str(row)]
        )
        lines.append(f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |")
    return "\n".join(lines)


def _inline(value: Json) -> str:
    if isinstance(value, str):
        return " ".join(value.split())
    if value is None or isinstance(value, bool | int | float | list | Mapping):
        return compact(value)
    return " ".join(str(value).split())
