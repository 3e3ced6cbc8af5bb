"""What a column of many rows holds, in a few words: range and sum of numbers, counts of recurring values, what lacks.

A preview shows a few rows of a long table; these words answer what the rows that are not shown have in common, and
`rare` names the rows that stand out.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice
from operator import itemgetter, lt
from typing import Any

from anyact_server.types import Json

RECURRING = 12
"""A column of at most so many different values has them counted."""
_SHOWN_VALUE = 40
_TIME = re.compile(r"\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d\S*)?$")
_NUMBER = re.compile(r"-?(?:0|[1-9]\d{0,14})(?:\.\d{1,12})?$")
_ORDINAL = re.compile(r"(?:.*[_\W])?(?:id|no|nr|num|index|key|pk|year|zip|port|lat|lon|lng)s?$", re.IGNORECASE)
_ABSENT = object()


@dataclass(frozen=True, slots=True)
class Column:
    """One column, described.

    Attributes:
        words: what it holds; empty where nothing can be said of it.
        rare: positions of rows whose value is rare among few recurring ones.
        extremes: positions of the rows with the largest and the smallest number.
    """

    name: str
    words: str = ""
    rare: tuple[int, ...] = ()
    extremes: tuple[int, ...] = ()


def columns_of(rows: Sequence[dict[str, Json]], most: int = 24) -> list[Column]:
    """The columns of like objects, in the order of their first appearance among the first fifty.

    Small objects inside the rows are columns `a.b`, as in a table.
    """
    names: dict[str, None] = {}
    for row in islice(rows, 50):
        names.update(dict.fromkeys(row))
    found: list[Column] = []
    for name in islice(names, most):
        values = _values(rows, name)
        inner: dict[str, None] = {}
        for value in islice(values, 20):
            if isinstance(value, dict):
                inner.update(dict.fromkeys(value))
        if not inner:
            found.append(column(str(name), values))
            continue
        for key in islice(inner, most - len(found)):
            parts = [value.get(key, _ABSENT) if isinstance(value, dict) else _ABSENT for value in values]
            found.append(column(f"{name}.{key}", parts))
    return found


def _values(rows: Sequence[dict[str, Json]], name: str) -> list[Any]:
    """One value per row; quickly where every row has one."""
    try:
        return list(map(itemgetter(name), rows))
    except KeyError:
        return [row.get(name, _ABSENT) for row in rows]


def column(name: str, values: Sequence[Any]) -> Column:
    """One column; `values` are JSON values, in the order of the rows."""
    kinds = set(map(type, values))
    missing = 0
    present = values
    if object in kinds or type(None) in kinds:
        present = [value for value in values if value is not None and value is not _ABSENT]
        missing = len(values) - len(present)
        kinds -= {object, type(None)}
    if not present:
        return Column(name, "always empty")
    words = ""
    rare: tuple[int, ...] = ()
    extremes: tuple[int, ...] = ()
    if kinds <= {int, float}:
        words, rare, extremes = _numbers(name, present, values, missing)
    elif kinds == {str} or kinds <= {str, int, float, bool}:
        words, rare = _texts(present, values)
    elif kinds == {list}:
        lengths = [len(value) for value in present]
        words = f"lists of {min(lengths)} to {max(lengths)}"
    if missing:
        words = f"{words}, {missing:,} missing" if words else f"{missing:,} missing"
    return Column(name, words, rare, extremes)


def text_column(name: str, cells: Sequence[str]) -> Column:
    """One column of a table of texts (CSV): numbers are read where every cell that is filled is one."""
    sample = [cell for cell in islice(cells, 60) if cell.strip()]
    if sample and all(_NUMBER.match(cell.strip()) for cell in sample):
        try:
            return column(name, [_number(cell) if cell.strip() else None for cell in cells])
        except ValueError:
            pass  # a later cell is a word: a column of texts after all
    return column(name, [cell if cell.strip() else None for cell in cells])


def _number(cell: str) -> int | float:
    return float(cell) if "." in cell or "e" in cell.lower() else int(cell)


def _numbers(
    name: str, present: Sequence[Any], values: Sequence[Any], missing: int
) -> tuple[str, tuple[int, ...], tuple[int, ...]]:
    low, high = min(present), max(present)
    if low == high:
        return f"always {_told(low)}", (), ()
    different = len(set(present))
    if different <= 6 < len(present):
        return _counted(present, values)[0], _counted(present, values)[1], ()
    if all(map(lt, present, islice(present, 1, None))):
        return f"{_told(low)} to {_told(high)}, rising", (), ()
    places: tuple[int, ...] = (values.index(high), values.index(low))
    words = f"{_told(low)} (row {places[1]}) to {_told(high)} (row {places[0]})"
    if _ORDINAL.match(name) and different == len(present):
        return f"{words}, all different", (), ()
    total = sum(present)
    return f"{words}, sum {_told(total)}, mean {_told(total / len(present))}", (), places


def _told(number: float) -> str:
    """A number as short as it stays true: whole ones whole, others to the digits that money and measures have."""
    if isinstance(number, int):
        return str(number)
    plain = f"{number:.4f}".rstrip("0").rstrip(".") if 1e-3 <= abs(number) < 1e15 else f"{number:.6g}"
    return plain or "0"


def _texts(present: Sequence[Any], values: Sequence[Any]) -> tuple[str, tuple[int, ...]]:
    different = len(set(present))
    if different == 1:
        return f"always {_value(present[0])}", ()
    if isinstance(present[0], str) and _TIME.match(present[0]):
        try:
            low, high = min(present), max(present)
        except TypeError:  # dates among numbers
            low, high = "", ""
        if low and _TIME.match(low) and _TIME.match(high):
            return f"{low} to {high}", ()
    if different <= RECURRING and different * 3 <= len(present) * 2:
        return _counted(present, values)
    if different == len(present):
        return "all different", ()
    if different * 2 > len(present):
        return f"{different:,} different", ()
    counts = Counter(present)
    most, count = max(counts.items(), key=itemgetter(1))
    return f"{different:,} different, most often {_value(most)} ({count:,})", ()


def _counted(present: Sequence[Any], values: Sequence[Any]) -> tuple[str, tuple[int, ...]]:
    """Every value with its count, the most frequent first, and the rows of the rare ones."""
    counts = Counter(present).most_common()
    words = ", ".join(f"{_value(value)} {count:,}" for value, count in counts)
    few = max(1, len(values) // 50)
    rare = {value for value, count in counts[1:] if count <= min(few, 5)} if len(values) >= 8 else set()
    places = tuple(at for at, value in enumerate(values) if value in rare) if rare else ()
    return words, places[:12]


def _value(value: Json) -> str:
    text = value if isinstance(value, str) else _told(value) if isinstance(value, int | float) else str(value)
    if isinstance(value, bool):
        text = str(value).lower()
    text = " ".join(text.split())
    return text if len(text) <= _SHOWN_VALUE else f"{text[: _SHOWN_VALUE - 1]}…"


def told(columns: Sequence[Column], room: int) -> str:
    """The columns in one line of at most `room` characters; those that do not fit are left out at the end."""
    parts: list[str] = []
    used = 0
    for one in columns:
        if not one.words:
            continue
        part = f"{one.name}: {one.words}" if one.name else one.words
        used += len(part) + 2
        if used > room:
            break
        parts.append(part)
    return "; ".join(parts)


def standing_out(columns: Sequence[Column], skip: range, most: int) -> list[int]:
    """Positions of rows that stand out, rare values before extremes, none of those in `skip`, in rising order."""
    found: dict[int, None] = {}
    for places in (*(one.rare for one in columns), *(one.extremes for one in columns)):
        found.update(dict.fromkeys(at for at in places if at not in skip))
    return sorted(islice(found, most))
