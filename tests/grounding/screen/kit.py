"""Screens that the tests draw themselves, and the truth about them."""

from __future__ import annotations

import io
from dataclasses import dataclass, field

import numpy as np
from PIL import Image, ImageDraw, ImageFont

from anyact_server.grounding.screen import Box
from anyact_server.grounding.screen.pixels import Pixels


@dataclass
class Page:
    """A page to draw on; it remembers where each word went."""

    width: int = 640
    height: int = 320
    ground: str = "#ffffff"
    words: list[tuple[str, Box]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.image = Image.new("RGB", (self.width, self.height), self.ground)
        self.draw = ImageDraw.Draw(self.image)

    def write(self, left: int, top: int, text: str, size: float = 16, colour: str = "#202124") -> Page:
        """Put a line of words down."""
        font = ImageFont.load_default(size)
        at = float(left)
        for word in text.split():
            self.draw.text((at, top), word, colour, font)
            self.words.append((word, tuple(map(float, self.draw.textbbox((at, top), word, font)))))  # type: ignore[arg-type]  # four numbers
            at += self.draw.textlength(word + " ", font)
        return self

    def button(self, box: tuple[int, int, int, int], text: str, fill: str = "#1a73e8", ink: str = "#ffffff") -> Page:
        """A filled button with its text in the middle."""
        self.draw.rounded_rectangle(box, 5, fill)
        font = ImageFont.load_default(15)
        wide = self.draw.textlength(text, font)
        return self.write(int((box[0] + box[2] - wide) / 2), (box[1] + box[3]) // 2 - 9, text, 15, ink)

    @property
    def pixels(self) -> Pixels:
        return np.array(self.image)

    @property
    def png(self) -> bytes:
        buffer = io.BytesIO()
        self.image.save(buffer, "PNG")
        return buffer.getvalue()


def settings_page(ground: str = "#ffffff", ink: str = "#202124") -> Page:
    """A small page of text in three columns and sizes."""
    page = Page(ground=ground)
    page.write(24, 20, "Workspace settings", 26, ink)
    page.write(24, 70, "Choose who may read the documents of this team.", 15, ink)
    page.write(24, 110, "Members", 14, ink).write(220, 110, "Last seen", 14, ink).write(440, 110, "Total", 14, ink)
    page.write(24, 140, "Ingrid Larsen", 14, ink).write(220, 140, "Monday", 14, ink).write(
        440, 140, "1,204.50", 14, ink
    )
    page.button((24, 200, 160, 236), "Save changes")
    return page
