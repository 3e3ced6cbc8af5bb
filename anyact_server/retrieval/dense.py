"""Search by meaning: FAISS over unit vectors, exact while that is quick, a graph above.

Only this file loads FAISS, on first use.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float32]
Longs = NDArray[np.int64]
Kind = Literal["flat", "hnsw"]

FLAT_LIMIT = 150_000
"""Vectors up to which every one is compared: about 1 ms of CPU for each 26,000, where building a graph costs a minute
for 100,000 and saves 2 ms of a search."""
FEWEST = 64
"""Vectors below which the spread of their cosines says nothing."""
TYPICAL_SPREAD = 0.1
"""The spread of the shipped encoder's cosines."""
NEIGHBOURS = 32
"""M of HNSW: links of each vector."""
EFFORT_BUILD = 80
"""efConstruction of HNSW."""
EFFORT_SEARCH = 192
"""efSearch of HNSW."""


@lru_cache(maxsize=1)
def library() -> Any:
    """The FAISS module, held to one thread: its threads spin and slow everything else on a busy machine."""
    import faiss

    faiss.omp_set_num_threads(1)
    return faiss


@dataclass(frozen=True, slots=True)
class Dense:
    """Unit vectors under FAISS; row `i` of the index is row `i` of its segment.

    Components are kept as 8-bit integers, `scale` times their value: a cosine moves by about .001, and search costs a
    third of what 32-bit floats cost. `spread` is the standard deviation of the cosines between texts that have nothing
    to do with each other: encoders differ in it, and only in units of it can a cosine be added to another score.
    """

    kind: Kind
    dimension: int
    count: int
    index: Any
    scale: float = 127.0
    spread: float = 1.0

    def search(self, vector: Floats, limit: int, mask: NDArray[np.bool_] | None = None) -> tuple[Longs, Floats]:
        """Rows of the nearest vectors, best first, and their cosines.

        Args:
            vector: unit vector of shape (dimension,).
            limit: at most so many rows.
            mask: rows that may be given, of shape (count,); all when None.
        """
        if self.count == 0 or limit <= 0:
            return np.zeros(0, np.int64), np.zeros(0, np.float32)
        parameters = self._parameters(mask)
        whole = _whole(vector.reshape(1, -1), self.scale)
        products, rows = self.index.search(whole, min(limit, self.count), params=parameters)
        found = rows[0] >= 0
        return rows[0][found], products[0][found] / np.float32(self.scale**2)

    def rows(self, rows: Longs) -> Floats:
        """The vectors of given rows, of shape (len(rows), dimension), as the index holds them."""
        if not len(rows):
            return np.zeros((0, self.dimension), np.float32)
        return np.asarray(self.index.reconstruct_batch(rows.astype(np.int64)) / self.scale, np.float32)

    def save(self, path: Path) -> None:
        """Write the index to a file."""
        library().write_index(self.index, str(path))

    def _parameters(self, mask: NDArray[np.bool_] | None) -> Any:
        faiss = library()
        selector = None if mask is None else faiss.IDSelectorBitmap(np.packbits(mask, bitorder="little"))
        if self.kind == "hnsw":
            return faiss.SearchParametersHNSW(sel=selector, efSearch=EFFORT_SEARCH)
        return None if selector is None else faiss.SearchParameters(sel=selector)


def _whole(vectors: Floats, scale: float) -> Floats:
    """Vectors scaled and rounded to the whole numbers that an 8-bit index holds."""
    return np.ascontiguousarray(np.clip(np.rint(vectors * np.float32(scale)), -127, 127), np.float32)


def kind_for(count: int) -> Kind:
    """How so many vectors are searched."""
    return "flat" if count <= FLAT_LIMIT else "hnsw"


def build(vectors: Floats, kind: Kind | None = None) -> Dense:
    """Index unit vectors of shape (count, dimension), kept as 8-bit integers.

    Args:
        vectors: one row per document.
        kind: `flat` compares with every vector, `hnsw` walks a graph; by size when None.
    """
    faiss = library()
    count, dimension = vectors.shape
    chosen = kind or kind_for(count)
    scale = 127.0 / max(float(np.abs(vectors).max(initial=0.0)), 1e-3)
    byte = faiss.ScalarQuantizer.QT_8bit_direct_signed
    if chosen == "flat":
        index = faiss.IndexScalarQuantizer(dimension, byte, faiss.METRIC_INNER_PRODUCT)
    else:
        index = faiss.IndexHNSWSQ(dimension, byte, NEIGHBOURS, faiss.METRIC_INNER_PRODUCT)
        index.hnsw.efConstruction = EFFORT_BUILD
    if count:
        rows = _whole(vectors, scale)
        index.train(rows[:1])
        index.add(rows)
    return Dense(chosen, dimension, count, index, scale, _spread(index, count, scale))


def read(path: Path, scale: float) -> Dense:
    """Read an index that `Dense.save` wrote; its file does not hold the scale."""
    faiss = library()
    index = faiss.read_index(str(path))
    kind: Kind = "hnsw" if isinstance(index, faiss.IndexHNSW) else "flat"
    return Dense(kind, int(index.d), int(index.ntotal), index, scale, _spread(index, int(index.ntotal), scale))


def _spread(index: Any, count: int, scale: float) -> float:
    """The spread of cosines, from those between some hundred rows."""
    if count < FEWEST:
        return TYPICAL_SPREAD
    rows = np.linspace(0, count - 1, min(count, 256)).astype(np.int64)
    sample = np.asarray(index.reconstruct_batch(rows), np.float32) / np.float32(scale)
    cosines = sample @ sample.T
    return max(float(cosines[~np.eye(len(rows), dtype=np.bool_)].std()), 1e-3)
