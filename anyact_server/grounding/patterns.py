"""Regular expressions that are compiled when they are first used, so that loading the room costs nothing."""

from __future__ import annotations

import re


class Pattern:
    """A regular expression, compiled on first use.

    Args:
        text: the expression.
        flags: those of `re`.
    """

    __slots__ = ("_compiled", "_flags", "_text")

    def __init__(self, text: str, flags: int = 0) -> None:
        self._text = text
        self._flags = flags
        self._compiled: re.Pattern[str] | None = None

    def compiled(self) -> re.Pattern[str]:
        """The expression, ready to be used."""
        if self._compiled is None:
            self._compiled = re.compile(self._text, self._flags)
        return self._compiled

    def match(self, text: str) -> re.Match[str] | None:
        """A match at the start of the text."""
        return self.compiled().match(text)

    def search(self, text: str) -> re.Match[str] | None:
        """The first match anywhere in the text."""
        return self.compiled().search(text)

    def fullmatch(self, text: str) -> re.Match[str] | None:
        """A match of the whole text."""
        return self.compiled().fullmatch(text)

    def sub(self, by: str, text: str) -> str:
        """The text with every match replaced."""
        return self.compiled().sub(by, text)
