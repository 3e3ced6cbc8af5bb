"""JSON as the fewest tokens that lose nothing, and, over a budget, as a preview that names everything it leaves out.

Every node takes the cheapest form: a list of like objects becomes a table (one line per row, columns that never change
on one line above, nested objects as `a.b` columns), an object that holds such a table becomes lines of `key: value`,
and everything else compact JSON. What does not fit is left out by JSON pointer, never in the middle of a value.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

import orjson

from anyact_server.types import Json

from .binaries import LONGEST, Code, ends, replace_codes
from .dialects import Dialect, markdown_value
from .encoding import dumps
from .parts import escape
from .tokens import estimate

TABLE_ROWS = 3
"""Fewer like objects than this stay JSON."""
_PLAIN_CELL = re.compile(r"(?![\s\"])[^\x00-\x1f|\"]*(?<!\s)")
_READS_AS_OTHER = re.compile(r"-?\d|true$|false$|null$|[\[{]|…")


@dataclass(frozen=True, slots=True)
class Gap:
    """Something left out: where it is (JSON pointer), what, and how many."""

    pointer: str
    what: str
    count: int

    def __str__(self) -> str:
        return f"… {self.count:,} more {self.what}: {self.pointer or '/'}"


class Cut:
    """Stands in a pruned tree for a gap; orjson writes its text."""

    __slots__ = ("gap", "words")

    def __init__(self, gap: Gap, words: str | None = None) -> None:
        self.gap = gap
        self.words = words or str(gap)

    def __str__(self) -> str:
        return self.words


@dataclass(frozen=True, slots=True)
class Preview:
    """A value as text; `gaps` is empty when nothing was left out."""

    text: str
    gaps: tuple[Gap, ...] = ()


Name = Callable[[str, Code], str]
"""Says in a few words what stands in place of a long code: (JSON pointer of the string, the code) to text."""


def encode(value: Json) -> str:
    """The whole value as text, in the cheapest lossless form."""
    return value if isinstance(value, str) else _node(value, "")


def fit(value: Json, budget: int, size: int, name: Name, dialect: Dialect = "lines") -> Preview:
    """The value within a budget.

    Args:
        value: any JSON value.
        budget: tokens.
        size: bytes of the value as compact JSON; saves encoding what cannot fit.
        name: names the long codes in its strings, which are never shown.
        dialect: how it is written; in `json` a gap is a string or a key that begins with `…`.
    """
    limit = budget * 8
    if size <= limit or size < 2000:
        whole = _try(value, _WHOLE, name, max(limit, 2000) * 2, dialect)
        if whole is not None and (len(whole.text) <= budget or estimate(whole.text) <= budget):
            return whole
    best, low, high, step = None, 0, len(_STEPS), _FIRST
    while low < high:
        preview = _try(value, _STEPS[step], name, limit, dialect)
        tokens = estimate(preview.text) if preview is not None else budget + 1
        if preview is None or tokens > budget:
            high = step
            step = (low + high) // 2
            continue
        best, low = preview, step + 1
        if not preview.gaps or tokens >= budget * _GOOD:
            return preview
        step = min(high - 1, max(low, _step_for(_STEPS[step][0] * budget * 0.97 / max(1, tokens))))
    if best is None:
        return _shallow(value, budget, name, dialect)
    if low < len(_STEPS):
        for mixed in ((_STEPS[low][0], _STEPS[low - 1][1]), (_STEPS[low - 1][0], _STEPS[low][1])):
            preview = _try(value, mixed, name, limit, dialect)
            if preview is not None and len(preview.text) > len(best.text) and estimate(preview.text) <= budget:
                best = preview
    return best


def _shallow(value: Json, budget: int, name: Name, dialect: Dialect) -> Preview:
    """A value that is too wide and deep for any step: as many levels of it as fit, at least the first."""
    preview = Preview("")
    for deepest in (8, 6, 5, 4, 3, 2, 1):
        found = _try(value, _STEPS[0], name, 1 << 60, dialect, deepest)
        preview = found or preview
        if found is not None and len(found.text) <= budget * 8 and estimate(found.text) <= budget:
            break
    return preview


def _step_for(items: float) -> int:
    """The last step that shows at most so many items."""
    return max(0, bisect_right(_STEPS, (items, 1 << 40)) - 1)


_FIRST = 8
"""The step that is tried first; the next is guessed from what it cost."""
_GOOD = 0.85
"""A preview that uses so much of the budget is good enough."""
_WHOLE = (1 << 40, 1 << 40)
_STEPS = tuple(
    (items, chars)
    for items, chars in (
        (1, 24),
        (1, 40),
        (2, 60),
        (3, 80),
        (4, 110),
        (6, 140),
        (8, 180),
        (11, 240),
        (15, 320),
        (20, 420),
        (28, 560),
        (38, 750),
        (50, 1000),
        (70, 1400),
        (95, 2000),
        (110, 2400),
        (130, 2800),
        (150, 3400),
        (180, 4000),
        (250, 5600),
        (350, 8000),
        (500, 12000),
        (1000, 20000),
        (2000, 40000),
        (5000, 80000),
    )
)
"""Steps of what is shown: items of a list (keys of an object: at least 12, twice as many), characters of a string."""


class _TooMuch(Exception):
    """A preview has become longer than it may be."""


def _try(
    value: Json, step: tuple[int, int], name: Name, limit: int, dialect: Dialect, deepest: int = 40
) -> Preview | None:
    """A preview at a step; None where it would have more than `limit` characters."""
    pruner = _Pruner(step[0], step[1], name, limit, deepest)
    try:
        pruned = pruner.prune(value, "", 0)
    except _TooMuch:
        return None
    text = _WRITERS[dialect](str(pruned) if isinstance(pruned, Cut) else pruned)
    return Preview(text, tuple(pruner.gaps)) if len(text) <= limit or step is _WHOLE else None


def _written(value: Json) -> str:
    return _json(value)


_WRITERS: Mapping[Dialect, Callable[[Json], str]] = {"lines": encode, "json": _written, "markdown": markdown_value}


class _Pruner:
    """Copies a value with long lists, objects and strings cut; `gaps` holds every cut, and it stands in the copy."""

    def __init__(self, items: int, chars: int, name: Name, limit: int, deepest: int) -> None:
        self._left = limit
        self._items = items
        self._keys = max(12, items * 2)
        self._chars = chars
        self._name = name
        self._deepest = deepest
        self.gaps: list[Gap] = []

    def prune(self, value: Json, pointer: str, depth: int) -> Json:
        if isinstance(value, str):
            text = value if len(value) <= _SHORT else self._text(value, pointer)
            self._left -= len(text) if isinstance(text, str) else len(text.words)
            if self._left < 0:
                raise _TooMuch
            return text
        self._left -= 3
        if isinstance(value, Mapping):
            return (
                self._whole(value, "keys", pointer) if depth >= self._deepest else self._object(value, pointer, depth)
            )
        if isinstance(value, Sequence):
            return self._whole(value, "items", pointer) if depth >= self._deepest else self._list(value, pointer, depth)
        return value

    def _cut(self, pointer: str, what: str, count: int, words: str | None = None) -> Cut:
        gap = Gap(pointer, what, count)
        self.gaps.append(gap)
        return Cut(gap, words)

    def _whole(self, value: Mapping[str, Any] | Sequence[Any], what: str, pointer: str) -> Json:
        """An object or a list below the last level, as its size and, of an object, its first keys."""
        if not value:
            return value
        words = None
        if isinstance(value, Mapping):
            names = ", ".join(str(key)[:_SHORT] for key in islice(value, _NAMED))
            more = ", …" if len(value) > _NAMED else ""
            words = f"… {len(value):,} more keys ({names}{more}): {pointer or '/'}"
        return self._cut(pointer, what, len(value), words)

    def _text(self, value: str, pointer: str) -> Json:
        if len(value) > LONGEST:
            head, tail = ends(value, _LOOKED_AT, _LOOKED_AT // 4)
            named = replace_codes(head, lambda code: self._name(pointer, code))
            if not tail and (named != value and len(named) <= max(_SHORT * 8, self._chars * 1.25)):
                return named
            value = named if not tail else f"{named}{value[len(head) :]}"
        if len(value) <= self._chars * 1.25:
            return value
        left = len(value) - self._chars
        room = int(self._chars * 0.75)
        gap = Gap(pointer, "characters", left)
        words = f"{value[:room]} [{gap}] {value[len(value) - (self._chars - room) :]}"
        return self._cut(pointer, "characters", left, words)

    def _object(self, value: Mapping[str, Any], pointer: str, depth: int) -> Json:
        shown: dict[str, Json] = {}
        for key, part in value.items():
            if len(shown) >= self._keys:
                shown["…"] = self._cut(pointer, "keys", len(value) - self._keys)
                break
            if type(key) is str and len(key) > LONGEST:
                key = f"{key[:60]}…"  # such a key is data, and may be a code
            kind = type(part)
            if kind in _SCALARS or (kind is str and len(part) <= _SHORT):
                shown[key] = part
                self._left -= 8
            else:
                shown[key] = self.prune(part, f"{pointer}/{escape(str(key))}", depth + 1)
        return shown

    def _list(self, value: Sequence[Any], pointer: str, depth: int) -> Json:
        if len(value) <= self._items + 1:
            return [self.prune(part, f"{pointer}/{index}", depth + 1) for index, part in enumerate(value)]
        last = len(value) - 1
        shown = [self.prune(value[index], f"{pointer}/{index}", depth + 1) for index in range(self._items)]
        left = last - self._items
        words = f"… {left:,} more items ({self._items} to {last - 1}): {pointer or '/'}"
        shown.append(self._cut(pointer, "items", left, words))
        return [*shown, self.prune(value[last], f"{pointer}/{last}", depth + 1)]


_SCALARS = frozenset({int, float, bool, type(None)})
_SHORT = 24
_NAMED = 5
_LOOKED_AT = 200_000
"""Characters of one string that are searched for codes."""


# --- writing


def _node(value: Json, indent: str) -> str:
    """A node in its cheapest form; `indent` is the blank space before its lines."""
    flat = _json(value)
    if len(flat) < 60:
        return flat
    if isinstance(value, list):
        table = _table(value, indent)
        return table if table is not None and len(table) < len(flat) else _list(value, flat, indent)
    if isinstance(value, dict):
        lines = _lines(value, indent)
        return lines if lines is not None and len(lines) < len(flat) else flat
    return flat


def _json(value: Json) -> str:
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
        return _json(value)
    if isinstance(value, Cut):
        return _json(str(value)) if "\n" in str(value) or "|" in str(value) else str(value)
    return _json(value)


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
    varying = [key for key in columns if key not in same]
    if not varying:
        return None
    total = len(objects) + sum(row.gap.count for row in rows if isinstance(row, Cut))
    head = f"[{total}] {'|'.join(varying)}"
    if same:
        head += "\n" + indent + "every row: " + "; ".join(f"{key}={_cell(part)}" for key, part in same.items())
    lines: list[str] = []
    cells = iter(flat)
    for row in rows:
        if isinstance(row, Cut):
            lines.append(str(row))
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
