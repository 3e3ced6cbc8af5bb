"""Values made of bytes, for a fuzzer that changes bytes and watches which code they reach. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

NAMES = ("a", "b", "name", "id", "type", "x-y", "ns:T", "", "ä", "$ref", "\ud83d", "a/b", "~", "path", "arguments")
TEXTS = ("", "a", "0", "true", " ", "ä\u2028", "\ud83d", "2020-01-01", "[1]", '{"a": 1}', "null", "x" * 70)
NUMBERS = (0, 1, -1, 2, 0.5, 1e308, 2**53, 2**64, -(2**63), 10**30, 100)
KINDS = ("object", "string", "integer", "number", "boolean", "array", "null", "any", "String", "file", "")
REFERENCES: tuple[str, ...] = (
    "#",
    "#/$defs/a",
    "#/$defs/b",
    "#/definitions/ns:T",
    "#/properties/a",
    "#/$defs/missing",
    "http://x/y",
)
REFERENCES += ("#a", "#/$defs/a~1b", "#/$defs/%61", "", "#/", "#/$defs")
PARTS = ("properties", "$defs", "definitions", "patternProperties", "dependentSchemas", "dependencies")
BRANCHES = ("anyOf", "oneOf", "allOf", "prefixItems", "items")
SINGLE = ("items", "additionalProperties", "not", "if", "then", "else", "contains", "propertyNames")
BOUNDS = ("minimum", "maximum", "exclusiveMinimum", "minLength", "maxItems", "minProperties", "multipleOf")
TEXTUAL = ("pattern", "format", "description", "title", "$schema", "$id", "$anchor")
WORDED: tuple[str, ...] = ("^a", "[", "(a+)+$", "uri", "x" * 30, "https://json-schema.org/draft/2020-12/schema")
WORDED += ("http://json-schema.org/draft-07/schema#", "a")


class Draw:
    """Choices read from bytes, the first choice for ever once they are used up."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0

    @property
    def spent(self) -> bool:
        """Whether every byte was used."""
        return self._at >= len(self._data)

    def byte(self) -> int:
        """The next byte."""
        if self.spent:
            return 0
        self._at += 1
        return self._data[self._at - 1]

    def below(self, most: int) -> int:
        """A number from 0 to `most` - 1."""
        return self.byte() % most

    def of(self, choices: Sequence[Any]) -> Any:
        """One of several."""
        return choices[self.below(len(choices))]

    def text(self) -> str:
        """A text: a known one, or the next bytes as they are."""
        kind = self.below(len(TEXTS) + 3)
        if kind < len(TEXTS):
            return TEXTS[kind]
        return self.taken(self.below(40)).decode("utf-8", "surrogateescape")

    def taken(self, count: int) -> bytes:
        """The next bytes as they are."""
        found = self._data[self._at : self._at + count]
        self._at += count
        return found

    def rest(self) -> bytes:
        """All bytes that are left."""
        return self.taken(len(self._data))

    def json(self, depth: int = 0) -> Any:
        """Any JSON."""
        kind = self.below(6 if depth > 5 else 9)
        if kind == 6:
            return [self.json(depth + 1) for _ in range(self.below(4))]
        if kind > 6:
            return {self.name(): self.json(depth + 1) for _ in range(self.below(5))}
        return (None, True, False, self.of(NUMBERS), self.text(), self.byte())[kind]

    def name(self) -> str:
        """The name of a member."""
        kind = self.below(len(NAMES) + 2)
        return NAMES[kind] if kind < len(NAMES) else self.text()

    def schema(self, depth: int = 0) -> Any:
        """A schema, more or less: most words hold what they may hold, some hold anything."""
        if self.below(16) == 15 or depth > 5:
            return self.json(depth)
        return {word: value for _ in range(self.below(6)) for word, value in self._word(depth)}

    def _word(self, depth: int) -> list[tuple[str, Any]]:
        kind = self.below(12)
        if kind < 3:
            part = {self.name(): self.schema(depth + 1) for _ in range(self.below(4))}
            return [(self.of(PARTS) if kind else "properties", part)]
        if kind == 3:
            return [(self.of(BRANCHES), [self.schema(depth + 1) for _ in range(self.below(4))])]
        if kind == 4:
            return [(self.of(SINGLE), self.schema(depth + 1))]
        if kind == 5:
            return [("$ref", self.of(REFERENCES))]
        if kind == 6:
            return [("required", [self.name() for _ in range(self.below(4))])]
        if kind == 7:
            return [(self.of(BOUNDS), self.of(NUMBERS))]
        if kind == 8:
            return [(self.of(TEXTUAL), self.of(WORDED))]
        if kind == 9:
            return [("enum", [self.json(depth + 3) for _ in range(self.below(3))])]
        if kind == 10:
            return [(self.of(("const", "default", "required", "type", "properties", "enum")), self.json(depth + 2))]
        return [("type", self.of(KINDS) if self.below(4) else [self.of(KINDS) for _ in range(self.below(3))])]
