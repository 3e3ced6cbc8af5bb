"""The short words that are no slips."""

from __future__ import annotations

from anyact_server.retrieval.short_words import SHORT_WORDS


def test_ordinary_words_are_there_and_slips_are_not() -> None:
    """All in lower case, of two to five letters."""
    assert {"mail", "last", "read", "list", "files"} <= SHORT_WORDS
    assert not {"lsit", "tial", "teh", "grpe"} & SHORT_WORDS
    assert all(2 <= len(word) <= 5 and word == word.lower() for word in SHORT_WORDS)
