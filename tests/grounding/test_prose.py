"""Running text with headings."""

from __future__ import annotations

from anyact_server.grounding.prose import prose_outline


def test_headings_become_a_table_of_contents() -> None:
    """With line numbers; what stands in fenced code is no heading."""
    text = "# One\ntext\n```\n# no heading\n```\n## Two\n" + "words and words\n" * 300 + "# Three\nend\n"
    make = prose_outline(text, "rest: H")
    assert make is not None
    shown, kept = make(600)
    assert "1: One\n6:   Two\n307: Three" in shown
    assert "no heading" not in shown.split("[headings")[1]
    assert 0 < kept < len(text)


def test_more_headings_than_fit_are_counted() -> None:
    """And a text with fewer than three has no contents."""
    make = prose_outline("".join(f"## Heading number {at}\nx\n" for at in range(200)), "rest")
    assert make is not None
    assert "more headings]" in make(500)[0]
    assert prose_outline("# One\ntext", "rest") is None
