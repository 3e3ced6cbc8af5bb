"""The models of the extra, taken out of the package that carries them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from anyact_server.errors import ScreenError
from anyact_server.grounding.screen import models


def test_the_models_are_found_and_run() -> None:
    """A detector that gives one value per pixel, a recogniser that gives one per letter and step."""
    assert models.installed()
    files = models.load_files()
    assert files.letters[0] == "" and files.letters[-1] == " "
    assert {"A", "z", "7", "ß", "中"} <= set(files.letters)
    seen = models.Network(files.detector)(np.zeros((1, 3, 64, 96), np.float32))
    assert seen.shape == (1, 1, 64, 96)
    steps = models.Network(files.recogniser)(np.zeros((1, 3, 48, 160), np.float32))
    assert steps.shape == (1, 20, len(files.letters))


@pytest.mark.parametrize(
    "content", [b"nothing here" * 40, b"\x08\x07\x12\x01a" + b"PaddlePaddle Graph in PIR mode" * 2]
)
def test_a_library_without_models_is_refused(tmp_path: Path, content: bytes) -> None:
    """With the way to mend it."""
    library = tmp_path / "library.so"
    library.write_bytes(content)
    with pytest.raises(ScreenError, match="holds no models") as caught:
        models.load_files(library)
    assert caught.value.hint is not None and "anyact-server[screen]" in caught.value.hint


def test_a_missing_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """With the command that installs it."""
    monkeypatch.setattr(models, "CARRIER", "no_such_package")
    assert not models.installed()
    with pytest.raises(ScreenError, match="no models"):
        models.load_files()
