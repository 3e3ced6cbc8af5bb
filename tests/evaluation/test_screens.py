"""Measuring how screens are read, on screens with a truth."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from anyact_server.errors import UsageError
from anyact_server.evaluation.screens import MEASURES, bare, distance, evaluate
from anyact_server.grounding import estimate
from anyact_server.grounding.screen import Element, Line, Screen, Word, render_screen

WORDS = [
    {"text": "Save", "bbox": [10, 10, 40, 24], "ink": [11, 12, 39, 21], "line": 10},
    {"text": "the", "bbox": [44, 10, 64, 24], "line": 10},
    {"text": "file,", "bbox": [68, 10, 100, 24], "line": 10},
    {"text": "Итого", "bbox": [200, 10, 240, 24], "line": 10},
    {"text": "gone", "bbox": [10, 60, 40, 74], "line": 60},
]
ELEMENTS = [
    {"id": "e0", "role": "button", "name": "Save", "bbox": [8, 8, 104, 26], "kind": "text"},
    {"id": "e1", "role": "checkbox", "name": "", "bbox": [300, 8, 313, 21], "kind": "icon"},
]
Keep = Callable[..., Path]


@pytest.fixture
def keep(tmp_path: Path) -> Keep:
    """Writes one screen with its truth; the folder."""

    def write(**changes: Any) -> Path:
        truth = {
            "viewport": [400, 100],
            "words": WORDS,
            "elements": ELEMENTS,
            "ignore": [[0, 50, 400, 80]],
            "page": "form",
        }
        (tmp_path / "form_1.png").write_bytes(b"any")
        (tmp_path / "form_1.json").write_text(json.dumps(truth | changes), encoding="utf-8")
        return tmp_path

    return write


def word(text: str, left: float, right: float, top: float = 12, bottom: float = 21) -> Word:
    return Word(text, (left, top, right, bottom))


def measured(folder: Path, screen: Screen) -> dict[str, Any]:
    """The report of a reader that always gives this screen."""
    return dict(evaluate(folder, lambda data, name: screen, render_screen, estimate).as_json())


def test_words_elements_and_characters_are_counted(keep: Keep) -> None:
    """Every key, overall and per family, size and kind."""
    read = Line((word("Save", 11, 39), word("tha", 44, 64), word("file", 68, 96), word("Итог", 200, 238)))
    elements = (
        Element("link", "Save", (8, 8, 104, 26)),
        Element("icon", "", (298, 6, 315, 23)),
        Element("tab", "", (0, 50, 400, 80)),
    )
    report = measured(keep(), Screen((400, 100), (read,), elements, "mine"))
    assert report["word_recall"] == pytest.approx(2 / 4)
    assert report["word_precision"] == pytest.approx(2 / 4)
    assert report["char_accuracy"] == {"cyrillic": 0.8, "latin": pytest.approx(1 - 2 / 12, abs=1e-4)}
    assert (report["element_recall"], report["element_click"], report["element_precision"]) == (1, 1, 1)
    assert report["role_accuracy"] == 0
    assert report["kinds"]["button/text"]["elements"] == 1
    assert report["families"]["form"]["word_recall"] == report["sizes"]["400x100"]["word_recall"] == 0.5
    assert set(MEASURES) <= set(report) and report["engine"] == "mine" and report["screens"] == 1
    assert report["peak_mb"] > 10 and report["cpu_s"] >= 0 and report["tokens_ratio"] > 0


def test_pages_in_other_letters_have_no_word_measures(keep: Keep) -> None:
    """Their characters are counted; Arabic is read from right to left."""
    words = [
        {"text": "مرحبا", "bbox": [60, 10, 100, 24], "line": 10},
        {"text": "بك", "bbox": [40, 10, 56, 24], "line": 10},
        {"text": "12", "bbox": [300, 10, 320, 24], "line": 10},
    ]
    read = Line((word("بك", 40, 56), word("مرحبا", 60, 100)))
    report = measured(keep(words=words, elements=[]), Screen((400, 100), (read,)))
    assert report["word_recall"] is None and report["element_recall"] is None
    assert report["char_accuracy"] == {"arabic": 1}


def test_a_candidate_counts_once_and_large_ones_do_not_click(keep: Keep) -> None:
    """One for one; a box far larger than an element does not point at it."""
    twice = [{"role": "button", "bbox": [0, 0, 20, 20]}, {"role": "button", "bbox": [100, 0, 120, 20]}]
    both = (
        Element("button", "", (0, 0, 20, 20)),
        Element("button", "", (1, 0, 20, 20)),
        Element("button", "", (90, -10, 130, 30)),
    )
    report = measured(keep(elements=twice), Screen((400, 100), (), both))
    assert report["element_recall"] == 0.5 and report["element_click"] == 0.5
    assert report["element_precision"] == pytest.approx(1 / 3, abs=1e-4)
    assert report["role_accuracy"] == 1


def test_words_are_compared_without_their_edges() -> None:
    """In NFKC; edits are counted."""
    assert bare("(ﬁle),") == "file" and bare("…") == ""
    assert distance("kitten", "sitting") == 3 and distance("", "ab") == 2


@pytest.mark.parametrize(
    ("changes", "told"),
    [({"words": [{"text": "a"}]}, "KeyError"), ({"elements": [{"role": "x", "bbox": [1]}]}, "ValueError")],
)
def test_a_bad_truth_is_named(keep: Keep, changes: dict[str, Any], told: str) -> None:
    """With what is wrong in it."""
    with pytest.raises(UsageError, match=rf"form_1\.json is no truth of a screen: {told}"):
        measured(keep(**changes), Screen((400, 100)))


def test_a_folder_without_screens_is_refused(tmp_path: Path) -> None:
    """As is none at all."""
    with pytest.raises(UsageError, match="holds no screens"):
        measured(tmp_path, Screen((1, 1)))
    with pytest.raises(UsageError, match="cannot be read"):
        measured(tmp_path / "none", Screen((1, 1)))
