"""Tables of texts (CSV, TSV): their head, what every column holds, the first rows, those that stand out, the last."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterator
from itertools import islice

from anyact_server.types import Json

from .columns import Column, standing_out, text_column, told
from .forms import delimiter_of
from .lines import clip

_READ = 16_000_000
"""Characters of a table that are read for what its columns hold."""
_CELL = 1_000_000
"""Characters of one cell that the reader takes."""


def records(text: str, delimiter: str) -> Iterator[list[str]]:
    """The rows of a table, without blank ones.

    Raises:
        ValueError: a cell is too long, or the quotes do not add up.
    """
    csv.field_size_limit(_CELL)
    try:
        for row in csv.reader(io.StringIO(text, newline=""), delimiter=delimiter):
            if row:
                yield row
    except csv.Error as error:
        raise ValueError(str(error)) from error


def rows_of(text: str, mime: str = "") -> list[dict[str, Json]] | None:
    """A table of texts as objects, one per row; None where the text is none."""
    delimiter = delimiter_of(text, mime)
    if delimiter is None:
        return None
    try:
        every = records(text, delimiter)
        head = [name.strip().lstrip("\ufeff") for name in next(every)]
        return [dict(zip(head, row, strict=False)) for row in every]
    except (ValueError, StopIteration):
        return None


def grid_outline(text: str, where: str) -> Callable[[int], tuple[str, int]] | None:
    """How to show a table in a given room; None where it is no table after all."""
    delimiter = delimiter_of(text) or ","
    looked = text[:_READ]
    try:
        rows = list(records(looked, delimiter))
    except ValueError:
        return None
    if len(rows) < 3:
        return None
    head, body = rows[0], rows[1:]
    if len(looked) < len(text):
        body = body[:-1]
    columns = [
        text_column(name.strip(), [row[at] if at < len(row) else "" for row in body])
        for at, name in enumerate(islice(head, 60))
    ]
    whole = len(looked) == len(text)
    count = f"{len(body):,} rows" if whole else f"the first {len(body):,} rows are counted here"

    def make(room: int) -> tuple[str, int]:
        return _written(_Grid(head, body, columns, delimiter, count, where), room)

    return make


class _Grid:
    """A table that is read."""

    def __init__(
        self, head: list[str], body: list[list[str]], columns: list[Column], delimiter: str, count: str, where: str
    ) -> None:
        self.head, self.body, self.columns = head, body, columns
        self.delimiter, self.count, self.where = delimiter, count, where

    def line(self, row: list[str]) -> str:
        """One row as it is written in such a table."""
        out = io.StringIO()
        csv.writer(out, delimiter=self.delimiter, lineterminator="").writerow(row)
        return clip(" ".join(out.getvalue().split("\n")), 600)


def _written(grid: _Grid, room: int) -> tuple[str, int]:
    head = clip(grid.delimiter.join(grid.head), max(40, room // 3))
    about = told(grid.columns, max(0, int(room * 0.6) - len(head)))
    lines = [f"[table, {grid.count}, {len(grid.head)} columns; rows count from 0; {grid.where}]"]
    if about:
        lines.append(f"[columns: {about}]")
    lines.append(head)
    left = room - sum(map(len, lines))
    last = len(grid.body) - 1
    ending = grid.line(grid.body[last])
    left -= len(ending)
    first = _first(grid, int(left * 0.5))
    shown = len(head) + sum(map(len, first)) + len(ending)
    odd: list[str] = []
    left -= sum(map(len, first))
    for at in standing_out(grid.columns, range(len(first)), 12):
        line = f"{at}: {grid.line(grid.body[at])}"
        left -= len(line) + 1
        if left < 0 or at == last:
            break
        odd.append(line)
        shown += len(line)
    between = last - len(first)
    lines += first
    if between > 0:
        lines.append(f"[… {between:,} rows ({len(first)} to {last - 1}) left out{', but for' if odd else ''}]")
    lines += odd
    if odd:
        lines.append("[last row]")
    lines.append(ending)
    return "\n".join(lines), shown


def _first(grid: _Grid, room: int) -> list[str]:
    found: list[str] = []
    for row in grid.body[:-1]:
        line = grid.line(row)
        room -= len(line) + 1
        if room < 0 and found:
            break
        found.append(line)
        if room < 0:
            break
    return found
