"""What form a text has, told by its first lines: markup, a table, a difference, a log, a stack trace, prose."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator
from typing import Literal

Form = Literal["html", "xml", "table", "diff", "trace", "log", "markdown", "text"]

_HTML = re.compile(
    r"(?:<!--.*?-->\s*)*"
    r"<(?:!doctype html|html|head|body|main|article|section|div|table|ul|ol|nav|form|p|h[1-6])\b[^<]*>",
    re.IGNORECASE | re.DOTALL,
)
_XML = re.compile(r"<\?xml\b|<!DOCTYPE (?!html)|<[A-Za-z_][\w.:-]*(?:\s+[\w.:-]+\s*=\s*[\"'][^\"']*[\"'])*\s*>")
_DIFF = re.compile(r"^(?:diff --git .+|--- .+\n\+\+\+ .+\n@@ )", re.MULTILINE)
_TRACE = re.compile(
    r"^(?:Traceback \(most recent call last\):|goroutine \d+ \[|panic: |thread '.+' panicked"
    r"|(?:Uncaught )?(?:[a-zA-Z_][\w$]*\.)*[A-Z]\w*(?:Error|Exception|Throwable)\b.*\n\s+at )",
    re.MULTILINE,
)
_STAMP = re.compile(
    r"\[?\d{4}[-/]\d\d[-/]\d\d[T ]\d\d:\d\d|\[?\d\d:\d\d:\d\d|[A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d|\S+ \S+ \S+ \[\d\d/"
    r"|\[?(?:TRACE|DEBUG|INFO|NOTICE|WARN(?:ING)?|ERROR|FATAL|CRITICAL)\b|time=|level=|ts=|I\d{4} |W\d{4} |E\d{4} "
)
_HEADING = re.compile(r"^(?:#{1,6} \S|```|[-*] \S|\|.+\|$)", re.MULTILINE)
_LOOKED_AT = 4000


def form_of(text: str, mime: str = "") -> Form:
    """The form of a text; a media type that is declared is believed where the text can be of it."""
    head = text[:_LOOKED_AT].lstrip("\ufeff \t\r\n")
    if head.startswith("<"):
        if _HTML.match(head) or (mime.startswith("text/html") and "</" in text):
            return "html"
        if _XML.match(head) and text.rstrip()[-1:] == ">":
            return "xml"
    if _DIFF.search(head):
        return "diff"
    if _is_log(head):
        return "log"
    if _TRACE.match(head):
        return "trace"
    if not mime.startswith("text/markdown") and delimiter_of(text, mime) is not None:
        return "table"
    if mime.startswith("text/markdown") or len(_HEADING.findall(head)) >= 2:
        return "markdown"
    return "text"


def _is_log(head: str) -> bool:
    lines = [line for line in head.split("\n")[:40] if line.strip()]
    return len(lines) >= 3 and sum(_STAMP.match(line) is not None for line in lines) * 2 >= len(lines)


def delimiter_of(text: str, mime: str = "") -> str | None:
    """The sign between the cells of a table of texts (comma, tab, semicolon, bar), None where it is no table.

    A table has a head of short, different names and the same number of cells in each of its first rows.
    """
    head = text[:20_000]
    whole = len(text) <= len(head)
    declared = mime.startswith(("text/csv", "text/tab-separated"))
    for delimiter in ("\t", ",", ";", "|"):
        if head.partition("\n")[0].count(delimiter) == 0:
            continue
        rows = list(_first_rows(head, delimiter, whole))
        if len(rows) < (2 if declared else 4):
            continue
        width = len(rows[0])
        alike = sum(len(row) == width for row in rows)
        names = [name.strip() for name in rows[0]]
        sound = all(name and len(name) <= 60 and not name.endswith(".") for name in names)
        spaced = sum(cell.startswith(" ") for row in rows[1:] for cell in row[1:])
        prose = not declared and delimiter == "," and spaced * 2 > sum(len(row) - 1 for row in rows[1:])
        if sound and not prose and width >= 2 and len(set(names)) == width and alike >= len(rows) * 0.95:
            return delimiter
    return None


def _first_rows(head: str, delimiter: str, whole: bool) -> Iterator[list[str]]:
    """The rows of the start of a table; the last, which may be cut off, is not given."""
    lines = head.splitlines()
    try:
        for number, row in enumerate(csv.reader(lines if whole else lines[:-1], delimiter=delimiter)):
            if number >= 60:
                return
            if row:
                yield row
    except csv.Error:  # a cell longer than the library takes
        return
