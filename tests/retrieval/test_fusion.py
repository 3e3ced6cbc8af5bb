"""Scores and orders made one."""

from __future__ import annotations

import numpy as np
import pytest

from anyact_server.retrieval import fusion


def array(*numbers: float) -> fusion.Floats:
    """Scores."""
    return np.array(numbers, np.float32)


def test_meaning_is_half_the_mean_and_half_the_best_clause() -> None:
    """An action may serve the whole request or one of its needs."""
    assert fusion.meaning(np.array([[0.2, 0.5], [0.6, 0.5]], np.float32)) == pytest.approx(array(0.5, 0.5))


def test_a_candidate_without_a_vector_is_neither_lifted_nor_sunk() -> None:
    """While vectors are computed, new actions stand beside the others."""
    found = fusion.meaning(np.array([[0.2, np.nan, 0.4]], np.float32))
    assert found == pytest.approx(array(0.2, 0.3, 0.4))
    assert fusion.meaning(np.array([[np.nan, np.nan]], np.float32)).tolist() == [0.0, 0.0]


def test_the_blend_counts_words_server_and_meaning() -> None:
    """Each part alone lifts a candidate."""
    base = fusion.blend(array(0, 5, 0, 0), array(0, 0, 5, 0), array(0, 0, 0, 0.5), 0.1)
    assert base[0] == 0
    assert (base[1:] > 0).all()
    assert fusion.blend(array(1.0), array(1.0), None, 0.1) == pytest.approx(fusion.KEYWORD + fusion.SERVER)


def test_the_blend_does_not_depend_on_how_far_an_encoder_spreads_its_cosines() -> None:
    """An encoder whose cosines lie twice as far apart gives the same order and the same scores."""
    narrow = fusion.blend(array(3, 1), array(0, 0), array(0.2, 0.3), 0.05)
    wide = fusion.blend(array(3, 1), array(0, 0), array(0.4, 0.6), 0.1)
    assert narrow == pytest.approx(wide)


def test_confidence_is_a_share_that_grows_with_the_score() -> None:
    """Between 0 and 1, one half in the middle."""
    found = fusion.confidence(array(-100, fusion.MIDDLE, 100))
    assert found == pytest.approx(array(0, 0.5, 1), abs=1e-6)


def test_covering_deals_out_the_best_of_every_intent_first() -> None:
    """No intent waits for another's second choice; nothing comes twice."""
    assert fusion.covering([[1, 2, 3], [4, 1], []]) == [1, 4, 2, 3]
    assert fusion.covering([]) == []
