"""Text read by a program that prints tesseract's table."""

from __future__ import annotations

import stat
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest

from anyact_server.errors import ScreenError
from anyact_server.grounding.screen import ScreenReader, engines, tesseract

TABLE = (
    "level\tpage_num\tblock_num\tpar_num\tline_num\tword_num\tleft\ttop\twidth\theight\tconf\ttext\n"
    "4\t1\t1\t1\t1\t0\t20\t10\t100\t20\t-1\t\n"
    "5\t1\t1\t1\t1\t1\t20\t10\t40\t20\t96.5\tSave\n"
    "5\t1\t1\t1\t1\t2\t70\t10\t50\t20\t91\tнаш\n"
    "5\t1\t2\t1\t1\t1\t20\t60\t50\t20\t12\t~~\n"
    "5\t1\t2\t1\t1\t2\t20\t60\t50\t20\t90\t \n"
)
Install = Callable[[str], None]


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Install]:
    """Puts a program of this name alone on the path."""
    monkeypatch.setenv("PATH", str(tmp_path))
    tesseract.languages.cache_clear()

    def put(script: str) -> None:
        program = tmp_path / tesseract.PROGRAM
        program.write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
        program.chmod(program.stat().st_mode | stat.S_IXUSR)

    yield put
    tesseract.languages.cache_clear()


def listing(table: str) -> str:
    """A program that lists two languages, else prints a table."""
    return f"if [ \"$1\" = --list-langs ]; then printf 'List:\\nrus\\nosd\\neng\\n'; exit; fi\nprintf '%s' '{table}'"


def test_words_are_read_in_every_language_there_is(install: Install) -> None:
    """English first; boxes in pixels of the picture; noise left out."""
    install(listing(TABLE))
    assert tesseract.languages() == ("eng", "rus")
    assert "tesseract" in engines()
    screen = ScreenReader("tesseract").read(np.zeros((20, 40, 3), np.uint8))
    assert [line.text for line in screen.lines] == ["Save наш"]
    assert [word.box for word in screen.words] == [(10, 5, 30, 15), (35, 5, 60, 15)]
    assert screen.engine == "tesseract"


def test_without_the_program_it_says_so(install: Install) -> None:
    """And how to get it."""
    assert callable(install)
    assert tesseract.languages() == ()
    with pytest.raises(ScreenError, match="not installed"):
        tesseract.read_text(np.zeros((20, 40, 3), np.uint8))
    with pytest.raises(ScreenError, match="tesseract is not installed"):
        ScreenReader("tesseract")


def test_a_program_that_fails_is_told_of(install: Install) -> None:
    """With its exit."""
    install("[ \"$1\" = --list-langs ] && printf 'List:\\neng\\n' && exit\nexit 3")
    with pytest.raises(ScreenError, match="could not read the picture"):
        tesseract.read_text(np.zeros((20, 40, 3), np.uint8))
