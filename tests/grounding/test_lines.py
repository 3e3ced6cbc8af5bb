"""Lines as parts of an outline."""

from __future__ import annotations

import base64

from anyact_server.grounding.lines import clip, last_taken, taken


def test_a_long_line_is_cut_and_its_codes_named() -> None:
    """A code is never shown in part."""
    code = base64.b64encode(bytes(range(256)) * 3).decode()
    assert clip(f"picture {code} end") == f"picture [encoded data, {len(code):,} characters] end"
    assert clip("word " * 100, 20) == "word word word word…"
    assert clip("short  ") == "short"


def test_lines_are_taken_from_either_end_within_a_room() -> None:
    """The first may be cut so that something is shown."""
    lines = ["one", "two", "three"]
    assert taken(lines, 9) == ["one", "two"]
    assert last_taken(lines, 10) == ["two", "three"]
    assert taken(["x" * 100], 50) == ["x" * 48 + "…"]
    assert taken(["x" * 100], 10) == []
