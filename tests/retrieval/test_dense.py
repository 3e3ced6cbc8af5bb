"""Search by meaning."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from anyact_server.retrieval import dense


def unit_vectors(count: int, dimension: int = 48) -> NDArray[np.float32]:
    """Vectors in every direction."""
    found = np.random.default_rng(7).standard_normal((count, dimension)).astype(np.float32)
    return np.asarray(found / np.linalg.norm(found, axis=1, keepdims=True), np.float32)


@pytest.mark.parametrize("kind", ["flat", "hnsw"])
def test_the_nearest_vectors_come_first_with_their_cosines(kind: dense.Kind) -> None:
    """Both kinds agree with the plain product, within the rounding of 8 bits."""
    vectors = unit_vectors(600)
    index = dense.build(vectors, kind)
    assert index.kind == kind
    for query in vectors[:20]:
        rows, cosines = index.search(query, 10)
        exact = vectors @ query
        assert rows[0] == exact.argmax()
        assert np.all(np.diff(cosines) <= 0)
        assert cosines == pytest.approx(exact[rows], abs=0.02)
        assert len(set(rows) & set(np.argsort(-exact)[:10])) >= 8


@pytest.mark.parametrize("kind", ["flat", "hnsw"])
def test_masked_rows_are_never_given(kind: dense.Kind) -> None:
    """What may not be seen is not found, however near it is."""
    vectors = unit_vectors(200)
    mask = np.ones(200, np.bool_)
    mask[::3] = False
    rows, _ = dense.build(vectors, kind).search(vectors[0], 150, mask)
    assert len(rows) > 100
    assert mask[rows].all()


def test_rows_come_back_as_they_were() -> None:
    """A vector can be read out again, close to what went in."""
    vectors = unit_vectors(40)
    index = dense.build(vectors)
    assert index.rows(np.array([3, 5])) == pytest.approx(vectors[[3, 5]], abs=0.02)
    assert index.rows(np.array([], np.int64)).shape == (0, 48)


def test_an_empty_index_finds_nothing() -> None:
    """No vectors, no rows; nor when none is wanted."""
    rows, cosines = dense.build(np.zeros((0, 8), np.float32)).search(np.ones(8, np.float32), 5)
    assert len(rows) == len(cosines) == 0
    assert len(dense.build(unit_vectors(4)).search(unit_vectors(1)[0], 0)[0]) == 0


@pytest.mark.parametrize("kind", ["flat", "hnsw"])
def test_an_index_is_the_same_after_it_was_written(tmp_path: Path, kind: dense.Kind) -> None:
    """Kind, rows and spread survive the file."""
    vectors = unit_vectors(300)
    before = dense.build(vectors, kind)
    before.save(tmp_path / "x.faiss")
    after = dense.read(tmp_path / "x.faiss", before.scale)
    assert (after.kind, after.dimension, after.count) == (kind, 48, 300)
    assert after.spread == pytest.approx(before.spread)
    assert after.search(vectors[4], 5)[0].tolist() == before.search(vectors[4], 5)[0].tolist()


def test_size_chooses_the_kind() -> None:
    """Exact while that is quick."""
    assert dense.build(unit_vectors(10)).kind == "flat"
    assert dense.kind_for(dense.FLAT_LIMIT) == "flat"
    assert dense.kind_for(dense.FLAT_LIMIT + 1) == "hnsw"


def test_the_spread_is_measured_where_there_are_enough_vectors() -> None:
    """A handful of vectors says nothing: then the shipped encoder's spread is taken."""
    assert dense.build(unit_vectors(10)).spread == dense.TYPICAL_SPREAD
    assert dense.build(unit_vectors(400)).spread == pytest.approx(48**-0.5, rel=0.1)
    assert dense.build(np.repeat(unit_vectors(1), 100, axis=0)).spread > 0
