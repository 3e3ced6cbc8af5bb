"""Text read by the `tesseract` program, where it is installed: words with boxes, in any script it has a pack for.

The picture is doubled and read as sparse text (page mode 11), which finds most of the small letters of a screen that
the defaults lose.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from functools import cache

from anyact_server.errors import ScreenError

from .pictures import encode_bmp, resized
from .pixels import Pixels
from .values import Line, Word

PROGRAM = "tesseract"
LIMIT_S = 60.0
SCALE = 2
LEAST = 30.0
"""Words less sure than this (of 100) are noise from icons and pictures."""
_SPARSE = "11"


@cache
def languages() -> tuple[str, ...]:
    """The languages that tesseract can read here, English first; empty where the program is not installed."""
    if shutil.which(PROGRAM) is None:
        return ()
    listed = subprocess.run(
        [PROGRAM, "--list-langs"], capture_output=True, encoding="utf-8", timeout=LIMIT_S, check=False
    )
    names = [line.strip() for line in listed.stdout.splitlines()[1:] if line.strip() and not line.startswith("osd")]
    return tuple(sorted(names, key=lambda name: (name != "eng", name)))


def read_text(pixels: Pixels, chosen: tuple[str, ...] = ()) -> list[Line]:
    """The lines of a picture.

    Args:
        pixels: the picture.
        chosen: languages to read in; all that there are when empty.

    Raises:
        ScreenError: the program is not there, fails, or takes more than a minute.
    """
    langs = chosen or languages()
    if not langs:
        raise ScreenError("tesseract is not installed", hint="Install the system package tesseract-ocr.")
    height, width = pixels.shape[:2]
    picture = encode_bmp(resized(pixels, width * SCALE, height * SCALE))
    command = [PROGRAM, "-", "-", "-l", "+".join(langs), "--psm", _SPARSE, "tsv"]
    try:
        done = subprocess.run(
            command,
            input=picture,
            capture_output=True,
            timeout=LIMIT_S,
            check=True,
            env={**os.environ, "OMP_THREAD_LIMIT": "1"},
        )
    except (OSError, subprocess.SubprocessError) as error:
        raise ScreenError(f"tesseract could not read the picture: {error}") from error
    return parse(done.stdout.decode("utf-8", "replace"))


def parse(table: str) -> list[Line]:
    """The lines of tesseract's table of words, boxes back in pixels of the picture."""
    rows: dict[tuple[str, ...], list[Word]] = {}
    for line in table.splitlines()[1:]:
        cells = line.split("\t")
        if len(cells) < 12 or cells[0] != "5" or not cells[11].strip() or float(cells[10]) < LEAST:
            continue
        left, top, width, height = (int(cell) / SCALE for cell in cells[6:10])
        word = Word(cells[11].strip(), (left, top, left + width, top + height), round(float(cells[10]) / 100, 3))
        rows.setdefault(tuple(cells[1:5]), []).append(word)
    return [Line(tuple(words)) for words in rows.values()]
