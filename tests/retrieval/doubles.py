"""Actions and encoders for the tests of this room."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Any
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from anyact_server.errors import EncoderError
from anyact_server.retrieval.words import terms
from anyact_server.types import Action, Hints


def action(name: str, description: str = "", server: str = "box", **rest: Any) -> Action:
    """An action with the id that its server and name give."""
    return Action(id=rest.pop("id", f"{server}__{name}"), server=server, name=name, description=description, **rest)


def many(count: int, server: str = "bulk") -> list[Action]:
    """Actions that differ in one word each."""
    return [action(f"make_item{at}", f"Makes the item called thing{at}", server) for at in range(count)]


TOOLS = (
    action("send_email", "Send a message to somebody's mailbox", "mail", hints=Hints(read_only=False)),
    action("list_folders", "List the folders of a mailbox", "mail", hints=Hints(read_only=True), tags=("office",)),
    action("get_forecast", "Weather of the coming days for a city", "weather", hints=Hints(read_only=True)),
    action("resize_image", "Change width and height of a picture", "pictures"),
    action("ask_codex", "Put a question about code to a model", "codex"),
)


class WordEncoder:
    """Unit vectors from the words of a text, so that shared words mean likeness; counts what it is asked."""

    def __init__(self, dimension: int = 256, digest: str = "words:1") -> None:
        self._dimension = dimension
        self._digest = digest
        self.texts: list[str] = []
        self.queries: list[str] = []

    @property
    def dimension(self) -> int:
        """Length of a vector."""
        return self._dimension

    @property
    def digest(self) -> str:
        """Its name."""
        return self._digest

    def encode(self, texts: Sequence[str], *, query: bool = False) -> NDArray[np.float32]:
        """One vector per text."""
        (self.queries if query else self.texts).extend(texts)
        found = np.full((len(texts), self._dimension), 1e-3, np.float32)
        for row, text in enumerate(texts):
            for term in terms(text):
                found[row, crc32(term.encode()) % self._dimension] += 1.0
        return np.asarray(found / np.linalg.norm(found, axis=1, keepdims=True), np.float32)


class BrokenEncoder(WordEncoder):
    """Fails while `broken` is set, with this message."""

    def __init__(self, broken: str | None = "it is broken") -> None:
        super().__init__()
        self.broken = broken
        self.tries = 0

    def encode(self, texts: Sequence[str], *, query: bool = False) -> NDArray[np.float32]:
        """Vectors, or the error."""
        self.tries += 1
        if self.broken:
            raise EncoderError(self.broken)
        return super().encode(texts, query=query)


class HangingEncoder(WordEncoder):
    """Answers a query only when it is let go; documents at once."""

    def __init__(self) -> None:
        super().__init__()
        self.released = threading.Event()

    def encode(self, texts: Sequence[str], *, query: bool = False) -> NDArray[np.float32]:
        """Vectors, after the wait."""
        if query:
            self.released.wait(10)
        return super().encode(texts, query=query)


class HandClock:
    """Seconds that pass when the test says so."""

    def __init__(self) -> None:
        self.seconds = 100.0

    def __call__(self) -> float:
        """The time."""
        return self.seconds
