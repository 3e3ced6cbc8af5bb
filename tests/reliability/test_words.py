"""Beliefs and breakers in words."""

from __future__ import annotations

from dataclasses import replace

import pytest

from anyact_server.reliability import Belief
from anyact_server.reliability.breaker import CLOSED, admitted, after
from anyact_server.reliability.estimates import numbers, pooled, updated
from anyact_server.reliability.words import barred, duration, explain, percent, span
from anyact_server.types import Kind

from .outcomes import START, outcome


def told(belief: Belief, now: float = START) -> str:
    """The explanation of a belief."""
    return explain(belief, numbers(belief, pooled([belief], now), now), now)


def test_an_action_never_called_says_so() -> None:
    """No numbers out of nothing."""
    assert told(Belief()) == "not called yet"


def test_the_explanation_names_rate_latency_and_last_failure() -> None:
    """Everything a person would ask."""
    belief = Belief()
    for kind in (Kind.OK, Kind.OK, Kind.TIMEOUT):
        belief = updated(belief, outcome(kind, seconds=0.2))
    text = told(belief, START + 180.0)
    assert "% of the time (" in text
    assert "over 3 calls; usually 0.2 s, at worst 0.2 s; last failure 3 min ago: timeout" in text
    assert "over 1 call;" in told(updated(Belief(), outcome()))


def test_the_explanation_names_what_stands_in_the_way() -> None:
    """A missing login, a rate limit, answers that look like failures."""
    belief = updated(Belief(), outcome(Kind.AUTH))
    belief = replace(belief, held_until=START + 30.0)
    for _ in range(2):
        belief = updated(belief, outcome(Kind.NOT_FOUND))
    assert "needs login; rate limited for another 30 s" in told(belief)
    lying = updated(Belief(), outcome(suspected=Kind.INTERNAL, confidence=0.9))
    assert "90 % of its answers look like failures" in told(lying)


def test_the_explanation_says_that_an_action_is_hidden_and_when_it_may_be_tried() -> None:
    """Pruned actions are never hidden without a trace."""
    belief = Belief()
    for _ in range(10):
        belief = updated(belief, outcome(Kind.UPSTREAM_5XX))
    assert "hidden from search for 60 s" in told(belief)
    assert "may be tried again" in told(belief, START + 100.0)


@pytest.mark.parametrize(
    "seconds, text",
    [(0.0, "0 ms"), (0.0042, "4 ms"), (0.23, "0.2 s"), (12.4, "12 s"), (180, "3 min"), (7300, "2 h"), (200000, "2 d")],
)
def test_durations_use_the_unit_a_person_would(seconds: float, text: str) -> None:
    """From milliseconds to days."""
    assert duration(seconds) == text


def test_shares_never_round_to_certainty() -> None:
    """What is only nearly sure is called so."""
    assert [percent(share) for share in (0.999, 1.0, 0.5, 0.001, 0.0)] == [
        "over 99 %",
        "100 %",
        "50 %",
        "under 1 %",
        "0 %",
    ]
    assert span(0.5, 0.9) == "50-90 %"
    assert span(0.999, 1.0) == "almost surely"


def test_a_barred_call_learns_why_and_when() -> None:
    """Both while the breaker is open and while a trial runs."""
    state = after(CLOSED, outcome(Kind.UNAVAILABLE, by="transport", message="connection refused"))
    assert barred("git", state, START) == "server 'git' failed and is tried again in 1.0 s: connection refused"
    assert barred("git", state, START + 1.0) == "server 'git' failed and may be tried again: connection refused"
    state, _ = admitted(state, START + 1.0)
    assert "one call is trying it again: connection refused" in barred("git", state, START)
    assert barred("git", replace(state, reason=""), START).endswith("trying it again")
