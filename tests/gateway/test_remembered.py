"""What was offered when the process last knew."""

from __future__ import annotations

from pathlib import Path

import pytest

from anyact_server.gateway.remembered import Remembered
from anyact_server.gateway.sight import OFFERS


def test_what_is_written_is_read_by_the_next_process(tmp_path: Path) -> None:
    """Nothing offered is an answer too; nothing is left beside the file."""
    path = tmp_path / "offers.json"
    for offers in (frozenset({"prompts"}), frozenset[str](), OFFERS):
        Remembered(path).write(offers)
        assert Remembered(path).read() == offers
    assert list(tmp_path.iterdir()) == [path]


def test_the_same_is_not_written_twice(tmp_path: Path) -> None:
    """A change of the catalog rarely changes it."""
    memory = Remembered(tmp_path / "offers.json")
    memory.write(OFFERS)
    (tmp_path / "offers.json").unlink()
    memory.write(OFFERS)
    assert not (tmp_path / "offers.json").exists()


@pytest.mark.parametrize("text", ["", "{", "3", '{"prompts": 1}'])
def test_a_damaged_file_says_that_anything_may_be_offered(tmp_path: Path, text: str) -> None:
    """As a missing one does."""
    path = tmp_path / "offers.json"
    path.write_text(text, encoding="utf-8")
    assert Remembered(path).read() == OFFERS
    assert Remembered(tmp_path / "missing").read() == OFFERS


def test_unknown_names_are_ignored(tmp_path: Path) -> None:
    """A newer AnyAct may write more."""
    path = tmp_path / "offers.json"
    path.write_text('["prompts", "dances", 3]', encoding="utf-8")
    assert Remembered(path).read() == {"prompts"}


def test_a_folder_that_cannot_be_written_costs_only_the_memory(tmp_path: Path) -> None:
    """No error reaches the client."""
    Remembered(tmp_path / "missing" / "offers.json").write(OFFERS)
    assert not (tmp_path / "missing").exists()
