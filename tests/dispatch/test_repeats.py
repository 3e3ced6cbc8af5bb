"""Identical calls that fail again and again."""

from __future__ import annotations

from typing import Any

import pytest

from anyact_server.dispatch import repeats
from anyact_server.dispatch.repeats import Repeats, fingerprint, note
from anyact_server.types import Kind, Principal, Verdict

ANN, BOB = Principal("ann"), Principal("bob")
GONE = Verdict(Kind.NOT_FOUND)


def fail(kept: Repeats, arguments: Any = None, who: Principal = ANN, verdict: Verdict = GONE, now: float = 0.0) -> int:
    """One failing call."""
    return kept.count(who, "git__log", arguments, verdict, True, now)


@pytest.mark.case("O2")
def test_thirty_failures_of_one_call_are_counted() -> None:
    """Whatever the order of the keys."""
    kept = Repeats()
    counts = [fail(kept, {"a": 1, "b": 2} if turn % 2 else {"b": 2, "a": 1}) for turn in range(30)]
    assert counts == list(range(1, 31))


@pytest.mark.case("O2")
def test_suspected_failures_are_counted_too() -> None:
    """A success that says the same failure every time."""
    kept = Repeats()
    verdict = Verdict(Kind.OK, suspected=Kind.NOT_FOUND)
    assert [kept.count(ANN, "git__log", {}, verdict, False, 0.0) for _ in range(3)] == [1, 2, 3]
    assert note(3, verdict) is not None


def test_another_caller_other_arguments_or_another_failure_start_anew() -> None:
    """Only identical calls of one principal count together."""
    kept = Repeats()
    assert fail(kept, {"a": 1}) == 1
    assert fail(kept, {"a": 2}) == 1
    assert fail(kept, {"a": 1}, BOB) == 1
    assert fail(kept, {"a": 1}, verdict=Verdict(Kind.CONFLICT)) == 1
    assert fail(kept, {"a": 1}) == 1


def test_a_success_ends_the_streak() -> None:
    """And so does an hour of peace."""
    kept = Repeats()
    fail(kept)
    assert kept.count(ANN, "git__log", None, Verdict(Kind.OK), False, 0.0) == 0
    assert fail(kept) == 1
    assert fail(kept, now=repeats.FORGET_S + 1.0) == 1


def test_what_is_remembered_is_bounded() -> None:
    """The oldest streaks go."""
    kept = Repeats(most=2)
    for number in range(3):
        fail(kept, number)
    assert fail(kept, 2) == 2
    assert fail(kept, 0) == 1


def test_fingerprints_take_anything() -> None:
    """Also what is no JSON; long arguments differ in their last byte."""
    assert fingerprint({1: b"x"}) != fingerprint({1: b"y"})
    assert fingerprint("\ud800") == fingerprint("\ud800")
    assert fingerprint("x" * 10_000 + "a") != fingerprint("x" * 10_000 + "b")


def test_one_more_try_is_left_to_transient_failures() -> None:
    """A time-out may be repeated once without a word, a missing file may not."""
    assert note(1, GONE) is None
    assert "2 times in a row (not_found)" in (note(2, GONE) or "")
    assert note(2, Verdict(Kind.TIMEOUT)) is None
    assert note(3, Verdict(Kind.TIMEOUT)) is not None
