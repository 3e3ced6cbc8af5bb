"""JSON values as lines: tables for like objects, `key: value` lines around them, compact JSON for the rest.

Every node takes the cheapest of these forms that loses nothing; what stands for a gap is written as its words.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import orjson

from anyact_server.types import Json

from .encoding import dumps
from .pruning import Cut

TABLE_ROWS = 3
"""Fewer like objects than this stay JSON."""
_PLAIN_CELL = re.compile(r"(?![\s\"])[^\x00-\x1f|\"]*(?<!\s)")
_READS_AS_OTHER = re.compile(r"-?\d|true$|false$|null$|[\[{]|…")


def encode(value: Json) -> str:
    """The whole value as text, in the cheapest lossless form."""
    return value if isinstance(value, str) else _node(value, "")


def _node(value: Json, indent: str) -> str:
    """A node in its cheapest form; `indent` is the blank space before its lines."""
    flat = as_json(value)
    if len(flat) < 60:
        return flat
    if isinstance(value, list):
        table = _table(value, indent)
        return table if table is not None and len(table) < len(flat) else _list(value, flat, indent)
    if isinstance(value, dict):
        lines = _lines(value, indent)
        return lines if lines is not None and len(lines) < len(flat) else flat
    return flat


def as_json(value: Json) -> str:
    """A value, gaps in it too, as compact JSON."""
    try:
        return orjson.dumps(value, default=_plain, option=_OPTIONS).decode()
    except TypeError:
        return dumps(value).decode()


_OPTIONS = orjson.OPT_NON_STR_KEYS | orjson.OPT_PASSTHROUGH_DATACLASS


def _plain(value: Any) -> str:
    return str(value)


def _list(value: list[Json], flat: str, indent: str) -> str:
    """A list whose items hold tables, as lines; else JSON."""
    if len(flat) < 400 or not any(isinstance(item, dict | list) for item in value):
        return flat
    inner = indent + "  "
    items = [str(item) if isinstance(item, Cut) else f"- {_node(item, inner)}" for item in value]
    text = f"[{sum(not isinstance(item, Cut) for item in value)}]:\n" + "\n".join(f"{indent}{item}" for item in items)
    return text if len(text) < len(flat) else flat


def _lines(value: dict[str, Json], indent: str) -> str | None:
    """An object as `key: value` lines, or None where a key could be misread."""
    inner = indent + "  "
    lines: list[str] = []
    for key, part in value.items():
        if not _KEY.fullmatch(str(key)):
            return None
        if isinstance(part, Cut):
            lines.append(f"{key}: {part}" if key != "…" else str(part))
        elif isinstance(part, str):
            lines.append(f"{key}: {_cell(part)}")
        else:
            body = _node(part, inner)
            nested = isinstance(part, dict) and "\n" in body and not body.startswith("[")
            lines.append(f"{key}:\n{inner}{body}" if nested else f"{key}: {body}")
    return f"\n{indent}".join(lines)


_KEY = re.compile(r"[^\s:\"][^:\n\"]*")


def _cell(value: Json) -> str:
    """A scalar in a line or a table: bare where it reads back as itself, else JSON."""
    if isinstance(value, str):
        if value and _PLAIN_CELL.fullmatch(value) and not _READS_AS_OTHER.match(value):
            return value
        return as_json(value)
    if isinstance(value, Cut):
        return as_json(str(value)) if "\n" in str(value) or "|" in str(value) else str(value)
    return as_json(value)


def _table(rows: list[Json], indent: str) -> str | None:
    """Like objects as a table, or None where they are not alike."""
    objects = [row for row in rows if isinstance(row, dict)]
    if len(objects) < TABLE_ROWS or any(not isinstance(row, dict | Cut) for row in rows):
        return None
    dotted = any("." in str(key) for row in objects for key in row)
    flat = [dict(row) if dotted else _flatten(row) for row in objects]
    columns: dict[str, int] = {}
    for row in flat:
        for key in row:
            columns[key] = columns.get(key, 0) + 1
    if not columns or sum(columns.values()) < 0.6 * len(flat) * len(columns):
        return None
    if any(not _COLUMN.fullmatch(str(key)) for key in columns):
        return None
    same = {key: flat[0][key] for key, count in columns.items() if count == len(flat) and _constant(flat, key)}
    cuts = [row for row in rows if isinstance(row, Cut)]
    about = cuts[0].about if cuts else ""
    if about:  # it tells what holds for every row, shown or not
        same = {key: part for key, part in same.items() if f"{key}: always " in about}
    varying = [key for key in columns if key not in same]
    if not varying:
        return None
    total = len(objects) + sum(row.gap.count for row in rows if isinstance(row, Cut))
    head = f"[{total}] {'|'.join(varying)}"
    if about:
        head += f"\n{indent}columns: {about}"
    elif same:
        told = "; ".join(f"{key}={_cell(part)}" for key, part in same.items())
        head += f"\n{indent}every row{' shown' if cuts else ''}: {told}"
    lines: list[str] = []
    cells = iter(flat)
    for row in rows:
        if isinstance(row, Cut):
            lines.append(row.words)
            continue
        values = next(cells)
        lines.append("|".join(_cell(values[key]) if key in values else "" for key in varying))
    return head + "".join(f"\n{indent}{line}" for line in lines)


_COLUMN = re.compile(r"[^\s|;=\".][^|;=\"\n]*")


def _constant(rows: list[dict[str, Json]], key: str) -> bool:
    first = rows[0][key]
    kind = type(first)
    return all(type(row[key]) is kind and row[key] == first for row in rows) and not isinstance(first, Cut)


def _flatten(row: Mapping[str, Json]) -> dict[str, Json]:
    """A row with nested small objects as `a.b` columns; an object with unfit keys stays one cell."""
    flat: dict[str, Json] = {}
    for key, part in row.items():
        if isinstance(part, dict) and part and all(isinstance(k, str) and k and "." not in k for k in part):
            for inner, value in part.items():
                flat[f"{key}.{inner}"] = value
        else:
            flat[str(key)] = part
    return flat
