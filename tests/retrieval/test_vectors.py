"""Vectors checked and stored."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from anyact_server.errors import EncoderError, StorageError
from anyact_server.retrieval.vectors import VectorStore, text_key, unit


def test_vectors_are_scaled_to_unit_length() -> None:
    """Whatever length an encoder gives."""
    assert unit(np.array([[3.0, 4.0]], np.float32), 1, 2).tolist() == [[pytest.approx(0.6), pytest.approx(0.8)]]


@pytest.mark.case("F3")
@pytest.mark.parametrize(
    ("vectors", "told"),
    [
        ([[0.0, 0.0]], "zeros"),
        ([[1.0, float("nan")]], "not finite"),
        ([[1.0, float("inf")]], "not finite"),
        ([[1.0, 2.0, 3.0]], "shape"),
        ([[1.0, 2.0], [1.0, 2.0]], "shape"),
    ],
)
def test_unusable_vectors_are_refused(vectors: list[list[float]], told: str) -> None:
    """Zeros, other dimensions and numbers that are none never reach an index."""
    with pytest.raises(EncoderError, match=told):
        unit(np.array(vectors, np.float32), 1, 2)


def test_stored_vectors_come_back_after_a_restart(tmp_path: Path) -> None:
    """A text that was seen once is never encoded again."""
    path = tmp_path / "home" / "vectors.sqlite"
    keys = [text_key("model", f"text {at}") for at in range(1200)]
    store = VectorStore(path)
    store.put({key: np.full(4, at / 2048, np.float32) for at, key in enumerate(keys)})
    store.close()
    store = VectorStore(path)
    found = store.get([*keys, text_key("model", "unseen")])
    assert len(found) == store.count() == 1200
    assert found[keys[7]].tolist() == [7 / 2048] * 4
    store.close()


def test_vectors_of_two_encoders_never_mix() -> None:
    """The key names the encoder."""
    assert text_key("a", "text") != text_key("b", "text")


def test_a_damaged_store_is_begun_anew(tmp_path: Path) -> None:
    """Vectors can be computed again: a broken file must not keep the program from starting."""
    path = tmp_path / "vectors.sqlite"
    path.write_bytes(b"this is no database, and long enough to be read as one" * 40)
    store = VectorStore(path)
    assert store.count() == 0
    assert path.with_suffix(".damaged").exists()
    store.close()


def test_a_store_that_cannot_be_opened_says_so(tmp_path: Path) -> None:
    """The message names the file."""
    (tmp_path / "file").write_text("", encoding="utf-8")
    with pytest.raises(StorageError, match=r"vectors\.sqlite"):
        VectorStore(tmp_path / "file" / "vectors.sqlite")
    (tmp_path / "folder.sqlite").mkdir()
    with pytest.raises(StorageError, match=r"folder\.sqlite"):
        VectorStore(tmp_path / "folder.sqlite")
