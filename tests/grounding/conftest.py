"""What the tests of grounding share: a clock moved by hand, a grounder over a fresh folder, pictures."""

from __future__ import annotations

import base64
import io
import random
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest
from PIL import Image

from anyact_server.grounding import ArtifactStore, Grounder, open_store
from anyact_server.settings import Settings
from anyact_server.types import LOCAL, Action, Json, Observation


@dataclass
class HandClock:
    """Time that stands until it is moved."""

    time: float = 1_800_000_000.0

    def now(self) -> float:
        return self.time

    def monotonic(self) -> float:
        return self.time


@dataclass(frozen=True)
class Ground:
    """A grounder with its store and clock, and the whole way of one result."""

    grounder: Grounder
    store: ArtifactStore
    clock: HandClock
    home: Path

    def observe(self, result: Json, action: Action | None = None, budget: int | None = None) -> Observation:
        verdict = self.grounder.judge(result, action)
        return self.grounder.observe(result, verdict, action=action, principal=LOCAL, budget=budget)


@pytest.fixture
def clock() -> HandClock:
    return HandClock()


@pytest.fixture
def ground(tmp_path: Path, clock: HandClock) -> Ground:
    """A grounder with the default settings."""
    store = open_store(tmp_path, Settings(), clock)
    return Ground(Grounder(store, Settings(), clock), store, clock, tmp_path)


def encoded(image: Image.Image, form: str = "PNG") -> str:
    """A picture as base64."""
    buffer = io.BytesIO()
    image.save(buffer, form)
    return base64.b64encode(buffer.getvalue()).decode()


@pytest.fixture
def picture() -> Callable[..., str]:
    """Makes a picture of a size, as base64; `noise` makes it large in bytes."""

    def make(width: int, height: int, form: str = "PNG", *, noise: bool = False) -> str:
        if noise:
            image = Image.frombytes("RGB", (width, height), random.Random(1).randbytes(width * height * 3))
        else:
            image = Image.new("RGB", (width, height), "navy")
        return encoded(image, form)

    return make


def text_result(text: str, **more: Json) -> dict[str, Json]:
    """A result of one text block."""
    return {"content": [{"type": "text", "text": text}], **more}
