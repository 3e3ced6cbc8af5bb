"""Regular expressions compiled on first use."""

from __future__ import annotations

import re

import pytest

from anyact_server.grounding.patterns import Pattern


def test_a_pattern_behaves_like_a_compiled_one() -> None:
    """At the start, anywhere, as a whole, replaced."""
    pattern = Pattern("b+", re.IGNORECASE)
    assert pattern.match("abb") is None and pattern.match("BBa")
    assert pattern.search("abba") and pattern.search("x") is None
    assert pattern.fullmatch("bb") and pattern.fullmatch("bba") is None
    assert pattern.sub("-", "abBa") == "a-a"
    assert pattern.compiled() is pattern.compiled()


def test_nothing_is_compiled_before_use() -> None:
    """Even a wrong expression is only noticed then."""
    pattern = Pattern("(")
    with pytest.raises(re.error):
        pattern.search("x")
