"""The parts of an index. A segment never changes; a change of the catalog adds one and strikes rows of older ones."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from . import dense as dense_index
from . import names as name_index
from . import sparse
from .dense import Dense
from .documents import Document
from .names import Names
from .sparse import Postings

Floats = NDArray[np.float32]
Longs = NDArray[np.int64]
Mask = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Segment:
    """Some actions, indexed.

    Row `i` is the same action in every member. `dense` may hold fewer rows than the segment, the first ones, while the
    others wait for their vectors; None when there are none yet.
    """

    ids: tuple[str, ...]
    keys: tuple[bytes, ...]
    servers: tuple[str, ...]
    postings: Postings
    names: Names
    dense: Dense | None = None

    @property
    def encoded(self) -> int:
        """How many rows have a vector."""
        return self.dense.count if self.dense else 0

    def with_vectors(self, vectors: Floats) -> Segment:
        """The segment with vectors for its first `len(vectors)` rows."""
        return replace(self, dense=dense_index.build(vectors))

    def nearest(self, vector: Floats, limit: int, mask: Mask | None) -> tuple[Longs, Floats]:
        """Rows and cosines of the nearest vectors, best first."""
        if self.dense is None or self.dense.dimension != len(vector):
            return np.zeros(0, np.int64), np.zeros(0, np.float32)
        return self.dense.search(vector, limit, None if mask is None else mask[: self.dense.count])

    def cosines(self, vectors: Floats, rows: Longs) -> Floats:
        """The cosine of each row with each vector, of shape (vectors, rows); not a number where a row has none."""
        found = np.full((len(vectors), len(rows)), np.nan, np.float32)
        if self.dense is not None and self.dense.dimension == vectors.shape[1]:
            known = rows < self.dense.count
            # einsum, not @: the threads of BLAS cost more than they give on so little, most of all on a busy machine
            found[:, known] = np.einsum("vd,rd->vr", vectors, self.dense.rows(rows[known]))
        return found


def build(documents: Sequence[Document], averages: tuple[float, ...] | None = None) -> Segment:
    """Index documents for keyword and name search; vectors come later.

    Args:
        documents: one per row.
        averages: mean field lengths of the index that the segment joins.
    """
    return Segment(
        ids=tuple(document.id for document in documents),
        keys=tuple(document.key for document in documents),
        servers=tuple(document.server for document in documents),
        postings=sparse.build([document.fields for document in documents], averages),
        names=name_index.build([document.names for document in documents]),
    )
