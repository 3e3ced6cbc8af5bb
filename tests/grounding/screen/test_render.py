"""A screen as lines."""

from __future__ import annotations

from anyact_server.grounding.screen import Element, Line, Screen, Word, render_screen


def test_text_and_elements_come_in_reading_order() -> None:
    """An element stands for the text in it."""
    lines = (
        Line((Word("Settings", (10, 10, 60, 22)),)),
        Line((Word("Save", (20, 60, 50, 72)),)),
        Line((Word("Note", (10, 100, 40, 112)),)),
    )
    elements = (
        Element("button", "Save", (10, 50, 80, 80), "e1"),
        Element("textbox", "Name", (10, 30, 80, 45), "e2", "Ingrid", states=("focused",)),
        Element("link", "Elsewhere", None, "e3"),
    )
    shown = render_screen(Screen((100, 120), lines, elements)).splitlines()
    assert shown == ["Settings", "e2 textbox Name focused = Ingrid", "e1 button Save", "Note", "e3 link Elsewhere"]
