"""One door per room: what `__all__` says is there, and nothing reaches past a door from outside the house."""

from __future__ import annotations

import importlib
import pkgutil
from pathlib import Path

import pytest

import anyact_server

ROOMS = (
    "access",
    "catalog",
    "dispatch",
    "downstream",
    "evaluation",
    "gateway",
    "grounding",
    "reliability",
    "retrieval",
)


@pytest.mark.parametrize("room", ROOMS)
def test_a_room_exports_what_its_door_names(room: str) -> None:
    """Every name of `__all__` exists, is given once, and the door says what the room does not know."""
    door = importlib.import_module(f"anyact_server.{room}")
    assert len(set(door.__all__)) == len(door.__all__)
    assert [name for name in door.__all__ if not hasattr(door, name)] == []
    assert door.__doc__ is not None
    assert "not know" in door.__doc__


def test_the_rooms_are_those_of_the_house() -> None:
    """A new folder in the package is a new room and needs a place in the contracts."""
    packages = {info.name for info in pkgutil.iter_modules(anyact_server.__path__) if info.ispkg}
    assert packages - {"types", "cli"} == set(ROOMS)


def test_every_source_file_says_what_it_is_for() -> None:
    """A file without a docstring is a file that a reader has to guess at."""
    root = Path(anyact_server.__file__).parent
    silent = [
        str(path.relative_to(root))
        for path in root.rglob("*.py")
        if not path.read_text(encoding="utf-8").lstrip().startswith('"""')
    ]
    assert silent == []
