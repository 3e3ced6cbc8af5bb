"""JSON as people write it by hand: comments, trailing commas and a byte order mark are fine; every place is kept.

The grammar is RFC 8259 with the two liberties of the "JSON with comments" that editors use. Whatever is wrong ends in
one `ConfigError` with line, column and the likely cure.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import NoReturn

from anyact_server.errors import ConfigError
from anyact_server.types import Json, Origin

Route = tuple[str | int, ...]
"""The keys and positions that lead to a value."""

DEEPEST = 100
"""Nesting that a configuration may have."""
PLACED = 6
"""Nesting down to which lines are kept: root, servers, entry, field, item, part."""

_GAP = re.compile(r"(?:[ \t\r\n\ufeff]+|//[^\n]*|/\*.*?\*/)+", re.DOTALL)
_STRING = re.compile(r'"((?:[^"\\\x00-\x08\x0a-\x1f]|\\.)*)"')
_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]{0,300})(\.[0-9]+)?([eE][+-]?[0-9]{1,5})?(?![\w.+-])")
_ESCAPE = re.compile(r"\\(?:u([dD][89abAB][0-9a-fA-F]{2})\\u([dD][c-fC-F][0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|(.))")
_PLAIN = {'"': '"', "\\": "\\", "/": "/", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}
_WORDS: Mapping[str, Json] = {"true": True, "false": False, "null": None}
_WORD = re.compile(r"[A-Za-z_$][\w$-]*")
_PYTHON_WORDS = {"True": "true", "False": "false", "None": "null", "undefined": "null", "NaN": "null"}
_BACKSLASH_HINT = 'A backslash is written twice: "C:\\\\folder".'


@dataclass(frozen=True, slots=True)
class Document:
    """A value and the lines on which its parts begin.

    Attributes:
        value: the value as plain JSON.
        lines: line of each part, counted from 1, down to six levels.
        repeated: keys that stand twice in one object, with the line of the later one, which wins.
    """

    value: Json
    lines: Mapping[Route, int] = field(default_factory=lambda: MappingProxyType({}))
    repeated: tuple[tuple[Route, int], ...] = ()

    def line(self, *route: str | int) -> int:
        """The line of a part, or of the nearest part around it."""
        for length in range(len(route), -1, -1):
            line = self.lines.get(route[:length])
            if line is not None:
                return line
        return 1


def parse(text: str, file: str) -> Document:
    """Read one document.

    Args:
        text: the whole text.
        file: the name that errors carry.

    Raises:
        ConfigError: with line and column of the first fault, counted from 1.
    """
    return _Reader(text, file).document()


def decode(raw: bytes, file: str) -> str:
    """Bytes of a configuration file as text: UTF-8, or UTF-16 with a byte order mark, as some editors save.

    Raises:
        ConfigError: the bytes are neither; names the place of the first bad byte.
    """
    encoding = "utf-16" if raw[:2] in (b"\xff\xfe", b"\xfe\xff") else "utf-8-sig"
    try:
        return raw.decode(encoding)
    except UnicodeDecodeError as error:
        before = raw[: error.start].decode("utf-8", "replace")
        line, column = place(before, len(before))
        raise ConfigError(
            f"{file}:{line}:{column}: the file is no {encoding[:6].upper().rstrip('-')} text",
            origin=Origin(file, line),
            column=column,
            hint="Save the file as UTF-8.",
        ) from error


def place(text: str, offset: int) -> tuple[int, int]:
    """Line and column of an offset, both counted from 1."""
    line = text.count("\n", 0, offset) + 1
    return line, offset - (text.rfind("\n", 0, offset) + 1) + 1


class _Reader:
    """One pass over a text."""

    def __init__(self, text: str, file: str) -> None:
        self._text = text
        self._file = file
        self._at = 0
        self._line = 1
        self._counted = 0
        self._lines: dict[Route, int] = {}
        self._repeated: list[tuple[Route, int]] = []

    def document(self) -> Document:
        if self._next() == "":
            self._fail("the file is empty", 'Write at least {"mcpServers": {}}.')
        value = self._value(())
        if self._next() != "":
            self._fail(
                "there is more text after the end of the document", "Remove it, or check for a bracket too many."
            )
        return Document(value, MappingProxyType(self._lines), tuple(self._repeated))

    def _fail(self, what: str, hint: str | None = None, *, at: int | None = None) -> NoReturn:
        line, column = place(self._text, self._at if at is None else at)
        raise ConfigError(
            f"{self._file}:{line}:{column}: {what}", origin=Origin(self._file, line), column=column, hint=hint
        )

    def _next(self) -> str:
        """Skip blanks and comments; the character that follows, empty at the end."""
        gap = _GAP.match(self._text, self._at)
        if gap is not None:
            self._at = gap.end()
        if self._text.startswith("/*", self._at):
            self._fail("a comment is not closed", "Close it with */.")
        return self._text[self._at : self._at + 1]

    def _here(self) -> int:
        """The line of the current place; places only move forward."""
        self._line += self._text.count("\n", self._counted, self._at)
        self._counted = self._at
        return self._line

    def _value(self, route: Route) -> Json:
        if len(route) > DEEPEST:
            self._fail(f"brackets are nested more than {DEEPEST} deep")
        first = self._next()
        if len(route) <= PLACED and not (route and isinstance(route[-1], str)):
            self._lines[route] = self._here()
        if first == "{":
            return self._object(route)
        if first == "[":
            return self._array(route)
        if first == '"':
            return self._string()
        number = _NUMBER.match(self._text, self._at)
        if number is not None:
            self._at = number.end()
            return float(number[0]) if number[1] or number[2] else int(number[0])
        word = _WORD.match(self._text, self._at)
        if word is not None and word[0] in _WORDS:
            self._at = word.end()
            return _WORDS[word[0]]
        self._fail_value(first, word[0] if word else "")

    def _fail_value(self, first: str, word: str) -> NoReturn:
        if word in _PYTHON_WORDS:
            self._fail(f"{word} is no JSON value", f"Write {_PYTHON_WORDS[word]}.")
        if first == "'":
            self._fail("single quotes are no JSON", 'Use double quotes: "text".')
        if first in ("", "}", "]", ","):
            self._fail("a value is missing here" if first else "the file ends in the middle", _ending(first))
        self._fail(f"{(word or first)[:20]!r} is no JSON value", 'Text stands in double quotes: "text".')

    def _object(self, route: Route) -> dict[str, Json]:
        opened = self._at
        self._at += 1
        found: dict[str, Json] = {}
        while (first := self._next()) != "}":
            if first != '"':
                self._fail_key(first, opened)
            self._member(route, found)
            self._comma("}", opened)
        self._at += 1
        return found

    def _member(self, route: Route, found: dict[str, Json]) -> None:
        line = self._here()
        key = self._string()
        inner = (*route, key)
        if len(inner) <= PLACED:
            self._lines[inner] = line
        if key in found:
            self._repeated.append((inner, line))
        if self._next() != ":":
            self._fail(f"a colon is missing after {key[:60]!r}")
        self._at += 1
        found[key] = self._value(inner)

    def _fail_key(self, first: str, opened: int) -> NoReturn:
        if first == "":
            line, column = place(self._text, opened)
            self._fail(
                "the file ends in the middle", f"The brace opened at line {line}, column {column} is not closed."
            )
        if first == "'":
            self._fail("single quotes are no JSON", 'Use double quotes: "name".')
        if first == ",":
            self._fail("a comma too many")
        self._fail("a name in double quotes is wanted here", 'Write "name": value.')

    def _array(self, route: Route) -> list[Json]:
        opened = self._at
        self._at += 1
        found: list[Json] = []
        while (first := self._next()) != "]":
            if first == ",":
                self._fail("a comma too many")
            found.append(self._value((*route, len(found))))
            self._comma("]", opened)
        self._at += 1
        return found

    def _comma(self, closing: str, opened: int) -> None:
        end_of_value = self._at
        first = self._next()
        if first == ",":
            self._at += 1
        elif first == "":
            line, column = place(self._text, opened)
            self._fail(
                "the file ends in the middle", f"The bracket opened at line {line}, column {column} is not closed."
            )
        elif first != closing:
            likely = first in '"{[' or first.isalnum()
            self._fail(
                "a comma is missing here" if likely else f"{first!r} is not expected here",
                f"Write a comma between the values, or {closing} at the end.",
                at=end_of_value if likely else None,
            )

    def _string(self) -> str:
        found = _STRING.match(self._text, self._at)
        if found is None:
            self._fail("a text is not closed on its line", "Close it with a double quote; a line break is written \\n.")
        self._at = found.end()
        raw = found[1]
        return _ESCAPE.sub(lambda match: self._unescape(match, found.start(1)), raw) if "\\" in raw else raw

    def _unescape(self, match: re.Match[str], start: int) -> str:
        high, low, unit, simple = match.groups()
        if high:
            return chr(0x10000 + ((int(high, 16) - 0xD800) << 10) + (int(low, 16) - 0xDC00))
        if unit:
            return "\ufffd" if 0xD800 <= int(unit, 16) < 0xE000 else chr(int(unit, 16))  # half a character is none
        if simple not in _PLAIN:
            self._fail(f"\\{simple} is no JSON escape", _BACKSLASH_HINT, at=start + match.start())
        return _PLAIN[simple]


def _ending(first: str) -> str | None:
    return None if first else "Check that every bracket is closed."
