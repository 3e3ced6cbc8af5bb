"""Keyword search."""

from __future__ import annotations

import numpy as np
import pytest

from anyact_server.retrieval import sparse


def fields(name: str, description: str = "") -> tuple[str, ...]:
    """One document."""
    return (name, "", description, "", "")


def scores(parts: list[sparse.Postings], *query: str) -> list[float]:
    """The scores of all documents of all parts."""
    weights = sparse.term_weights(parts, query)
    found: list[float] = []
    for part in parts:
        own = np.zeros(part.count, np.float32)
        part.add_scores(weights, own)
        found += own.tolist()
    return found


def test_a_rare_word_weighs_more_than_a_common_one() -> None:
    """The word that few documents hold decides."""
    part = sparse.build([fields("send email"), fields("send parcel"), fields("send fax")])
    first, second, third = scores([part], "send", "email")
    assert first > second == third > 0


def test_a_word_in_the_name_weighs_more_than_in_the_description() -> None:
    """Fields are weighted."""
    part = sparse.build([fields("email", "x"), fields("x", "email")])
    first, second = scores([part], "email")
    assert first > second > 0


def test_repeats_of_a_word_count_less_and_less() -> None:
    """A description that repeats a word ten times does not win ten times over."""
    part = sparse.build([fields("", "email other"), fields("", " ".join(["email"] * 10)), fields("", "none of them")])
    once, often, never = scores([part], "email")
    assert never == 0
    assert once < often < 3 * once


def test_a_word_said_twice_in_the_query_counts_once_and_a_half() -> None:
    """Long requests repeat the topic; it does not drown the rest."""
    part = sparse.build([fields("email"), fields("fax")])
    once, twice = sparse.term_weights([part], ["email"]), sparse.term_weights([part], ["email", "email"])
    assert twice["email"] == pytest.approx(1.5 * once["email"])


def test_several_tables_weigh_words_over_all_their_documents() -> None:
    """A part that was added later scores as if it had been there from the start."""
    documents = [fields("send email"), fields("send fax"), fields("read email")]
    whole = sparse.build(documents)
    parts = [sparse.build(documents[:2], whole.averages), sparse.build(documents[2:], whole.averages)]
    assert scores(parts, "email", "read") == pytest.approx(scores([whole], "email", "read"))


def test_unknown_words_and_empty_tables_give_nothing() -> None:
    """No crash where there is nothing."""
    empty = sparse.build([])
    assert scores([empty], "email") == []
    assert scores([sparse.build([fields("fax")])], "email") == [0.0]
    assert empty.frequency("email") == 0


def test_a_word_that_all_documents_hold_never_counts_against_them() -> None:
    """The weight of a word is never negative."""
    assert sparse.rarity(10, 10) > 0
