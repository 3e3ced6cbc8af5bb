"""A screen as the lines that a model reads. Pure and byte-stable."""

from __future__ import annotations

from .values import Element, Line, Screen, centre, holds


def render_screen(screen: Screen) -> str:
    """Everything on a screen in reading order, one line per row of text; an element with its id, role and text."""
    rest = [line for line in screen.lines if not any(_within(line, element) for element in screen.elements)]
    placed: list[tuple[float, float, str]] = [(line.box[1], line.box[0], line.text) for line in rest]
    for element in screen.elements:
        box = element.box
        placed.append((box[1], box[0], _element(element)) if box else (1e9, 0.0, _element(element)))
    return "\n".join(text for _, _, text in sorted(placed, key=lambda one: one[:2]))


def _within(line: Line, element: Element) -> bool:
    return element.box is not None and holds(element.box, centre(line.box))


def _element(element: Element) -> str:
    words = [element.id, element.role, element.text, *element.states]
    if element.value is not None:
        words.append(f"= {element.value}")
    return " ".join(word for word in words if word)
