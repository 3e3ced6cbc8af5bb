"""HTML as markdown that a model reads: headings, lists, tables, links, forms; without scripts, styles and wrapping."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from html.parser import HTMLParser

_MOST = 2_000_000
"""Characters of a page that are read."""
_DROPPED = frozenset({"script", "style", "noscript", "template", "svg", "iframe", "object", "canvas"})
_BLOCKS = frozenset(
    (
        *("address", "article", "aside", "blockquote", "body", "dd", "details", "div", "dl", "dt", "fieldset"),
        *("figcaption", "figure", "footer", "form", "header", "html", "legend", "li", "main", "nav", "ol", "p"),
        *("section", "summary", "table", "tbody", "td", "tfoot", "th", "thead", "tr", "ul", "video"),
    )
)
_HEADINGS = {f"h{level}": "#" * level for level in range(1, 7)}
_VOID = frozenset(
    ("area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "param", "source", "wbr")
)
_MARKS = {"strong": "**", "b": "**", "em": "*", "i": "*", "code": "`", "kbd": "`", "samp": "`", "del": "~~", "s": "~~"}
_HIDDEN = re.compile(r"display\s*:\s*none|visibility\s*:\s*hidden")
_BLANKS = re.compile(r"[ \t\r\f\v\u00a0]*\n\s*|[ \t\r\f\v\u00a0]+")
_SECTION = re.compile(r"<!\[(?:CDATA\[|[^>\[\]]{0,200}\]>)|\]\]>")
"""Marked sections and conditional comments, which the parser refuses."""
_GAPS = re.compile(r"\n{3,}")
_LONG_LINK = 300


@dataclass(slots=True)
class _Table:
    rows: list[list[str]] = field(default_factory=list)
    head: bool = False
    caption: str = ""


def to_markdown(html: str) -> str:
    """A page as markdown. Pieces of any form are taken; nothing is raised for markup that is broken."""
    reader = _Reader()
    reader.feed(_SECTION.sub("", html[:_MOST]).replace("<![", "&lt;!["))
    reader.close()
    return reader.written()


class _Reader(HTMLParser):
    """Collects the text of a page, block by block."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self._out: list[str] = []
        self._stack: list[str] = []
        self._dropped = 0
        self._dropped_tag = ""
        self._lists: list[list[int | None]] = []
        self._tables: list[_Table] = []
        self._sinks: list[tuple[str, int]] = []
        self._links: list[tuple[int, str]] = []
        self._pre = 0
        self._options: list[str] = []
        self._title = ""

    # --- what the parser calls

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        facts = {name: value or "" for name, value in attrs}
        if self._dropped:
            self._dropped += tag == self._dropped_tag and tag not in _VOID
            return
        if tag not in _VOID and (tag in _DROPPED or _is_hidden(facts)):
            self._dropped, self._dropped_tag = 1, tag
            return
        if tag in _BLOCKS or tag in _HEADINGS:
            self._line()
        starter = getattr(self, f"_start_{tag}", None)
        if tag in _HEADINGS:
            self._blank()
            self._out.append(f"{_HEADINGS[tag]} ")
        elif starter is not None:
            starter(facts)
        elif tag in _MARKS and not self._pre:
            self._out.append(_MARKS[tag])

    def handle_endtag(self, tag: str) -> None:
        if self._dropped:
            self._dropped -= tag == self._dropped_tag
            return
        ender = getattr(self, f"_end_{tag}", None)
        if ender is not None:
            ender()
        elif tag in _MARKS and not self._pre:
            self._close_mark(_MARKS[tag])
        if tag in _HEADINGS or tag == "p":
            self._blank()
        elif tag in _BLOCKS:
            self._line()

    def handle_data(self, data: str) -> None:
        if self._dropped or not data:
            return
        if self._pre:
            self._out.append(data)
            return
        text = _BLANKS.sub(" ", data)
        if text == " " and (not self._out or self._out[-1][-1:] in (" ", "\n")):
            return
        if text[0] == " " and (not self._out or self._out[-1][-1:] in (" ", "\n")):
            text = text[1:]
        self._out.append(text)

    def written(self) -> str:
        """Everything collected; tables left open are closed."""
        while self._tables:
            self._end_table()
        return _GAPS.sub("\n\n", "\n".join(line.rstrip() for line in "".join(self._out).split("\n"))).strip()

    # --- lines

    def _line(self) -> None:
        if self._out and self._out[-1][-1:] != "\n":
            self._out.append("\n")

    def _blank(self) -> None:
        self._line()
        if self._out and not self._tables:
            self._out.append("\n")

    def _close_mark(self, mark: str) -> None:
        if self._out and self._out[-1] == mark:  # nothing was inside
            self._out.pop()
            return
        if self._out and self._out[-1].endswith(" ") and self._out[-1].strip():
            self._out[-1] = self._out[-1].rstrip() + mark + " "
            return
        self._out.append(mark)

    def _take(self, start: int) -> str:
        """What was written since `start`, taken back, as one line."""
        text = "".join(self._out[start:])
        del self._out[start:]
        return " ".join(text.split())

    # --- titles and links and pictures

    def _start_title(self, _facts: dict[str, str]) -> None:
        self._sinks.append(("title", len(self._out)))

    def _end_title(self) -> None:
        if self._sinks:
            title = self._take(min(self._sinks.pop()[1], len(self._out)))
            if title:
                self._out.append(f"title: {title}\n")

    def _start_a(self, facts: dict[str, str]) -> None:
        self._links.append((len(self._out), facts.get("href", "").strip()))

    def _end_a(self) -> None:
        if not self._links:
            return
        start, address = self._links.pop()
        text = self._take(min(start, len(self._out)))
        before = self._out[-1][-1:] if self._out else "\n"
        space = " " if text and before.isalnum() else ""
        if not address or address.startswith(("#", "javascript:", "data:")) or len(address) > _LONG_LINK:
            self._out.append(f"{space}{text}")
        elif text:
            self._out.append(f"{space}[{text}]({address})")

    def _start_img(self, facts: dict[str, str]) -> None:
        about = " ".join(facts.get("alt", "").split())
        if about:
            self._out.append(f"![{about}]")

    def _start_br(self, _facts: dict[str, str]) -> None:
        self._out.append(" " if self._tables else "\n")

    def _start_hr(self, _facts: dict[str, str]) -> None:
        self._line()
        self._out.append("---\n")

    def _start_pre(self, _facts: dict[str, str]) -> None:
        self._line()
        self._pre += 1
        self._out.append("```\n")

    def _end_pre(self) -> None:
        if self._pre:
            self._pre -= 1
            self._line()
            self._out.append("```\n")

    def _start_blockquote(self, _facts: dict[str, str]) -> None:
        self._out.append("> ")

    # --- lists

    def _start_ul(self, _facts: dict[str, str]) -> None:
        self._lists.append([None])

    def _start_ol(self, facts: dict[str, str]) -> None:
        start = facts.get("start", "1")
        self._lists.append([int(start) if start.isdecimal() and len(start) < 9 else 1])

    def _end_ul(self) -> None:
        if self._lists:
            self._lists.pop()

    _end_ol = _end_ul

    def _start_li(self, _facts: dict[str, str]) -> None:
        depth = "  " * (len(self._lists) - 1)
        number = self._lists[-1][0] if self._lists else None
        if number is None:
            self._out.append(f"{depth}- ")
            return
        self._lists[-1][0] = number + 1
        self._out.append(f"{depth}{number}. ")

    def _start_dd(self, _facts: dict[str, str]) -> None:
        self._out.append(": ")

    # --- tables

    def _start_table(self, _facts: dict[str, str]) -> None:
        self._tables.append(_Table())
        self._sinks.append(("table", len(self._out)))

    def _start_tr(self, _facts: dict[str, str]) -> None:
        if self._tables:
            self._close_cell()
            self._tables[-1].rows.append([])

    def _start_td(self, _facts: dict[str, str]) -> None:
        if self._tables:
            self._close_cell()
            if not self._tables[-1].rows:
                self._tables[-1].rows.append([])
            self._sinks.append(("cell", len(self._out)))

    def _start_th(self, facts: dict[str, str]) -> None:
        if self._tables:
            self._tables[-1].head = self._tables[-1].head or len(self._tables[-1].rows) <= 1
        self._start_td(facts)

    def _close_cell(self) -> None:
        if self._tables and self._sinks and self._sinks[-1][0] == "cell":
            text = self._take(min(self._sinks.pop()[1], len(self._out)))
            self._tables[-1].rows[-1].append(text.replace("|", "\\|"))

    _end_td = _end_th = _end_tr = _close_cell

    def _end_table(self) -> None:
        if not self._tables:
            return
        self._close_cell()
        table = self._tables.pop()
        while self._sinks and self._sinks.pop()[0] != "table":
            pass
        rows = [row for row in table.rows if any(row)]
        if self._tables:  # a table inside a cell: its text
            self._out.append(" ".join(" ".join(row) for row in rows))
            return
        self._line()
        if all(len(row) == 1 for row in rows):  # a table for the layout only
            self._out.extend(f"{row[0]}\n" for row in rows)
            return
        width = max(map(len, rows))
        for at, row in enumerate(rows):
            self._out.append(f"| {' | '.join(row + [''] * (width - len(row)))} |\n")
            if at == 0:
                self._out.append(f"|{'---|' * width}\n")

    # --- forms

    def _start_input(self, facts: dict[str, str]) -> None:
        kind = facts.get("type", "text").lower()
        if kind == "hidden":
            return
        name = facts.get("aria-label") or facts.get("placeholder") or facts.get("name") or facts.get("id", "")
        if kind in ("submit", "button", "reset"):
            self._out.append(f"[button {facts.get('value') or name or kind}] ")
            return
        states = [state for state in ("checked", "disabled", "required") if state in facts]
        value = "" if kind == "password" or kind in ("checkbox", "radio") else facts.get("value", "")
        told = " ".join(part for part in (kind, name, f"= {value}" if value else "", *states) if part)
        self._out.append(f"[{told}] ")

    def _start_button(self, _facts: dict[str, str]) -> None:
        self._out.append("[button ")

    def _end_button(self) -> None:
        self._out.append("] ")

    def _start_select(self, facts: dict[str, str]) -> None:
        name = facts.get("aria-label") or facts.get("name") or facts.get("id", "")
        self._out.append(f"[choice {name}: " if name else "[choice: ")

    def _start_option(self, facts: dict[str, str]) -> None:
        self._out.append("; *" if "selected" in facts else "; ")

    def _end_select(self) -> None:
        self._out.append("] ")


def _is_hidden(facts: dict[str, str]) -> bool:
    return "hidden" in facts or facts.get("aria-hidden") == "true" or _HIDDEN.search(facts.get("style", "")) is not None
