"""An encoder that cannot hold up a search."""

from __future__ import annotations

import time

import pytest

from anyact_server.retrieval import guard
from anyact_server.retrieval.guard import Guard

from .doubles import BrokenEncoder, HandClock, HangingEncoder, WordEncoder


def test_query_vectors_are_remembered() -> None:
    """The same intent is encoded once."""
    encoder = WordEncoder()
    watched = Guard(encoder)
    first = watched.queries(["send email", "send fax"]).vectors
    again = watched.queries(["send fax", "send email"]).vectors
    assert first is not None
    assert again is not None
    assert (first[::-1] == again).all()
    assert encoder.queries == ["send email", "send fax"]


def test_only_so_many_vectors_are_remembered() -> None:
    """Memory is bounded; the oldest go first."""
    encoder = WordEncoder()
    watched = Guard(encoder, cached=2)
    for text in ("a one", "b two", "a one", "c three", "a one", "b two"):
        watched.queries([text])
    assert encoder.queries == ["a one", "b two", "c three", "b two"]


def test_without_an_encoder_there_are_no_vectors_and_no_complaint() -> None:
    """Switched off is not broken."""
    watched = Guard(None)
    assert watched.queries(["x"]) == watched.documents(["x"]) == guard.Encoded(None)


@pytest.mark.case("F3")
def test_after_a_few_failures_the_encoder_is_left_alone_for_a_while() -> None:
    """A few tries, then a pause that doubles, then healed by the first success."""
    clock, encoder = HandClock(), BrokenEncoder("it refuses")
    watched = Guard(encoder, monotonic=clock)
    for _ in range(10):
        assert "it refuses" in (watched.queries(["x"]).reason or "")
    assert encoder.tries == guard.TRIES
    assert "next try in 30 s" in (watched.documents(["x"]).reason or "")
    clock.seconds += guard.PAUSE_S + 1
    watched.queries(["x"])
    assert encoder.tries == guard.TRIES + 1
    clock.seconds += guard.PAUSE_S + 1
    watched.queries(["x"])
    assert encoder.tries == guard.TRIES + 1
    clock.seconds += 2 * guard.PAUSE_S
    encoder.broken = None
    assert watched.queries(["x"]).vectors is not None
    assert watched.reason is None


@pytest.mark.case("F3")
def test_a_query_never_waits_longer_than_its_limit() -> None:
    """An encoder that hangs is given up, and not asked again while it still hangs."""
    encoder = HangingEncoder()
    watched = Guard(encoder, query_s=0.05)
    started = time.monotonic()
    assert "did not answer within 0.05 s" in (watched.queries(["x"]).reason or "")
    assert "still busy" in (watched.queries(["y"]).reason or "")
    assert time.monotonic() - started < 1
    encoder.released.set()


def test_a_bounded_encoder_answers_and_fails_as_any_other() -> None:
    """The limit changes nothing for one that works, and its own error is the reason."""
    encoder = BrokenEncoder(None)
    watched = Guard(encoder)
    assert watched.queries(["x"]).vectors is not None
    encoder.broken = "it refuses"
    assert watched.queries(["y"]).reason == "keyword search only: it refuses"
    assert watched.queries(["x"]).vectors is not None
