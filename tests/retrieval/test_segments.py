"""The parts of an index."""

from __future__ import annotations

import numpy as np

from anyact_server.retrieval import segments
from anyact_server.retrieval.documents import document

from .doubles import TOOLS, WordEncoder

DOCUMENTS = [document(tool) for tool in TOOLS]
VECTORS = WordEncoder().encode([one.text for one in DOCUMENTS])


def test_a_segment_searches_by_words_and_names_before_it_has_vectors() -> None:
    """Vectors come later; nothing waits for them."""
    part = segments.build(DOCUMENTS)
    assert part.encoded == 0
    assert part.names.exact("sendemail") == [0]
    assert part.postings.frequency("mailbox") == 2
    rows, cosines = part.nearest(VECTORS[0], 3, None)
    assert len(rows) == len(cosines) == 0
    assert np.isnan(part.cosines(VECTORS[:1], np.array([0, 1]))).all()


def test_vectors_may_cover_the_first_rows_only() -> None:
    """While the others are computed, those that are there are found."""
    part = segments.build(DOCUMENTS).with_vectors(VECTORS[:2])
    assert part.encoded == 2
    assert set(part.nearest(VECTORS[4], 5, np.ones(5, np.bool_))[0]) == {0, 1}
    found = part.cosines(VECTORS[:1], np.array([0, 4]))
    assert found[0, 0] > 0.98
    assert np.isnan(found[0, 1])


def test_vectors_of_another_length_are_not_compared() -> None:
    """A query of another encoder finds nothing instead of failing."""
    part = segments.build(DOCUMENTS).with_vectors(VECTORS)
    other = np.ones((1, 7), np.float32)
    assert len(part.nearest(other[0], 3, None)[0]) == 0
    assert np.isnan(part.cosines(other, np.array([0]))).all()
