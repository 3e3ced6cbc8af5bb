"""What outcomes do to the belief in an action."""

from __future__ import annotations

import random
from collections.abc import Iterable
from dataclasses import replace

import pytest

from anyact_server.reliability import Belief
from anyact_server.reliability.estimates import (
    FLOOR,
    HALF_LIFE_S,
    MEAN,
    Numbers,
    Pool,
    capped,
    estimate,
    failed_share,
    numbers,
    pooled,
    trial_due,
    trial_pause,
    updated,
)
from anyact_server.types import KINDS, Estimate, Fault, Kind, Outcome

from .outcomes import START, outcome

DOWNSTREAM = [kind for kind, facts in KINDS.items() if facts.fault is Fault.DOWNSTREAM and facts.weight == 1.0]
INNOCENT = [
    kind
    for kind, facts in KINDS.items()
    if facts.fault in (Fault.CALLER, Fault.ENVIRONMENT, Fault.OVERLOAD) or kind in (Kind.CANCELLED, Kind.SKIPPED)
]


def after(outcomes: Iterable[Outcome], belief: Belief | None = None) -> Belief:
    """The belief after a series of outcomes."""
    current = belief or Belief()
    for one in outcomes:
        current = updated(current, one)
    return current


def seen(belief: Belief, now: float = START) -> Numbers:
    """The posterior where the action is the only one of its server."""
    return numbers(belief, pooled([belief], now), now)


def shown(belief: Belief, now: float = START) -> Estimate:
    """The estimate likewise."""
    return estimate("git__log", belief, seen(belief, now), now, "")


def test_an_action_never_called_is_as_good_as_the_prior() -> None:
    """Nothing known: the mean of all servers, a wide interval, not pruned."""
    found = shown(Belief())
    assert found.success == pytest.approx(MEAN)
    assert found.low < 0.55
    assert found.high > 0.99
    assert not found.pruned
    assert (found.calls, found.p50_s, found.suspected) == (0, None, 0.0)


@pytest.mark.parametrize("kind", DOWNSTREAM)
def test_faults_of_the_server_lower_the_estimate(kind: Kind) -> None:
    """Each kind of the downstream's own failures counts."""
    assert seen(after([outcome(kind)])).mean < 0.7


@pytest.mark.parametrize("kind", INNOCENT)
def test_faults_of_others_leave_the_estimate_alone(kind: Kind) -> None:
    """Bad arguments, missing logins, rate limits and cancelling say nothing about the action."""
    before = after([outcome() for _ in range(5)])
    assert seen(after([outcome(kind)] * 20, before)).mean == pytest.approx(seen(before).mean)


def test_evidence_of_whose_fault_it_was_beats_the_table() -> None:
    """A "not found" that was the server's own counts; an internal error that the caller provoked does not."""
    assert failed_share(outcome(Kind.NOT_FOUND, fault=Fault.DOWNSTREAM)) == 1.0
    assert failed_share(outcome(Kind.INTERNAL, fault=Fault.CALLER)) is None
    assert failed_share(outcome(suspected=Kind.NOT_FOUND, fault=Fault.CALLER)) == 0.0
    assert shown(after([outcome(Kind.INTERNAL, fault=Fault.ENVIRONMENT)])).needs_login


def test_half_failures_count_half() -> None:
    """A result that does not fit its schema lies between a success and a failure."""
    good, half, bad = (
        seen(after([outcome(kind)] * 5)).mean for kind in (Kind.OK, Kind.SCHEMA_MISMATCH, Kind.UPSTREAM_5XX)
    )
    assert bad < half < good
    assert half == pytest.approx((good + bad) / 2, abs=0.15)


def test_partial_results_count_by_the_share_that_failed() -> None:
    """A quarter failed is a quarter of a failure."""
    assert failed_share(outcome(Kind.PARTIAL, share_failed=0.25)) == 0.25
    mostly, hardly = (seen(after([outcome(Kind.PARTIAL, share_failed=share)] * 5)).mean for share in (0.9, 0.1))
    assert mostly < 0.5 < hardly


def test_suspected_failures_are_counted_apart() -> None:
    """A success that says it failed leaves the success estimate as it is and shows in a number of its own."""
    honest = after([outcome() for _ in range(10)])
    lying = after([outcome(suspected=Kind.NOT_FOUND, confidence=0.8) for _ in range(10)])
    assert seen(lying).mean == pytest.approx(seen(honest).mean)
    assert shown(honest).suspected == 0.0
    assert shown(lying).suspected == pytest.approx(0.8)


def test_calls_that_were_never_sent_are_not_remembered() -> None:
    """Arguments refused here are no call to the action, nor is a server that could not be reached its fault."""
    assert updated(Belief(), outcome(Kind.INVALID_ARGS, by="local")) == Belief()
    unsent = replace(outcome(Kind.UNAVAILABLE, by="transport"), sent=False)
    assert updated(Belief(), unsent) == Belief()
    assert failed_share(unsent) is None
    login = replace(outcome(Kind.AUTH, by="http_status"), sent=False)
    assert updated(Belief(), login).needs_login


def test_a_login_that_is_missing_is_marked_until_a_call_succeeds() -> None:
    """401 and 403 mark the action; a success unmarks it, another caller's mistake does not."""
    for kind in (Kind.AUTH, Kind.PERMISSION):
        refused = after([outcome(kind)])
        assert shown(refused).needs_login
        assert shown(updated(refused, outcome(Kind.NOT_FOUND))).needs_login
        assert not shown(updated(refused, outcome())).needs_login


def test_a_rate_limit_moves_latency_and_the_hold_only() -> None:
    """The wait counts as slowness; the hold ends after what the server asked for, at most a minute."""
    belief = after([outcome(Kind.RATE_LIMITED, retry_after_s=20.0)])
    assert belief.held_until == START + 20.0
    assert belief.latency.quantile(0.5) == pytest.approx(20.1, rel=0.06)
    assert seen(belief).mean == pytest.approx(MEAN)
    assert after([outcome(Kind.RATE_LIMITED, retry_after_s=9999.0)]).held_until == START + 60.0
    assert after([outcome(Kind.RATE_LIMITED)]).held_until == 0.0


def test_quick_failures_do_not_count_as_speed() -> None:
    """An error after a millisecond is no fast answer; a time-out is at least as slow as it took."""
    assert after([outcome(Kind.UPSTREAM_5XX, seconds=0.001)]).latency.quantile(0.5) is None
    assert after([outcome(seconds=0.0)]).latency.quantile(0.5) is None
    assert after([outcome(Kind.TIMEOUT, seconds=60.0)]).latency.quantile(0.5) == pytest.approx(60.0, rel=0.06)


@pytest.mark.parametrize("before, most", [(0, 7), (50, 9)])
def test_an_action_that_always_fails_is_soon_pruned(before: int, most: int) -> None:
    """Whether it is new or worked for long."""
    belief = after([outcome() for _ in range(before)])
    calls = 0
    while not seen(belief).poor:
        belief = updated(belief, outcome(Kind.UPSTREAM_5XX))
        calls += 1
        assert calls <= most
    assert shown(belief).pruned
    assert seen(belief).high < FLOOR


def test_a_sound_action_is_never_pruned() -> None:
    """At a failure rate of 3 % nothing is hidden in 20,000 calls."""
    random.seed(1)
    belief = Belief()
    for _ in range(20_000):
        belief = updated(belief, outcome(Kind.TIMEOUT if random.random() < 0.03 else Kind.OK))
        assert not seen(belief).poor


def test_a_pruned_action_is_shown_again_for_a_trial() -> None:
    """Hidden for a growing pause of at most a minute after each failure, then visible until the next one."""
    belief = after([outcome(Kind.CRASHED)] * 8)
    due = trial_due(belief)
    assert shown(belief, due - 0.1).pruned
    assert not shown(belief, due).pruned
    pauses = [trial_pause(streak) for streak in range(1, 40)]
    assert pauses == sorted(pauses)
    assert pauses[0] == 5.0
    assert pauses[-1] == 60.0


def test_one_success_after_an_outage_brings_an_action_back() -> None:
    """And further ones restore its name quickly."""
    broken = after([outcome(Kind.TIMEOUT)] * 30)
    back = updated(broken, outcome())
    later = after([outcome()] * 5, back)
    assert seen(broken).mean < 0.1
    assert seen(later).mean > 0.6
    assert not seen(later).poor
    assert back.recovering
    assert not updated(later, outcome(Kind.TIMEOUT)).recovering


def test_beliefs_fade_with_time() -> None:
    """After a few half-lives without calls the action is as good as unknown again."""
    belief = after([outcome(Kind.UPSTREAM_5XX)] * 12)
    assert seen(belief).poor
    later = START + 8 * HALF_LIFE_S
    assert seen(belief, later).mean > 0.85
    assert not shown(belief, later).pruned


def test_a_clock_that_goes_back_does_no_harm() -> None:
    """Masses never grow by it."""
    belief = after([outcome(at=START), outcome(at=START - 1000.0)])
    assert belief.at == START
    assert belief.successes < 2.0


def test_a_changed_action_gets_a_fair_start() -> None:
    """Another digest forgets what the former one did."""
    broken = after([outcome(Kind.UPSTREAM_5XX)] * 20)
    assert seen(updated(broken, outcome(digest="two"))).mean > 0.9
    assert updated(broken, outcome(digest="")).calls == 21


def test_an_unknown_action_of_a_poor_server_starts_lower() -> None:
    """The prior is drawn from the siblings, and one broken sibling alone does not condemn the rest."""
    bad = after([outcome(Kind.UPSTREAM_5XX)] * 50)
    good = after([outcome()] * 50)
    all_bad = numbers(Belief(), pooled([bad] * 5, START), START).mean
    one_bad = numbers(Belief(), pooled([bad, good, good, good], START), START).mean
    assert all_bad < 0.15
    assert one_bad > 0.65


def test_an_action_does_not_stand_in_its_own_prior() -> None:
    """Its own failures count once."""
    belief = after([outcome(Kind.UPSTREAM_5XX)] * 4)
    alone = numbers(belief, Pool(), START)
    assert seen(belief).mean == pytest.approx(alone.mean, abs=0.01)


def test_shares_of_the_pool_are_capped_in_proportion() -> None:
    """Many outcomes weigh like ten."""
    assert capped(3.0, 1.0) == (3.0, 1.0)
    assert capped(30.0, 10.0) == pytest.approx((7.5, 2.5))


def test_one_bad_caller_does_not_condemn_a_sound_action() -> None:
    """Thirty failures in a row by a caller who never had a success, while others do well."""
    belief = after([outcome(who="ann")] * 20)
    belief = after([outcome(Kind.UPSTREAM_5XX, who="bob")] * 30, belief)
    assert belief.streak == 0
    assert not seen(belief).poor
    assert seen(after([outcome(who="ann")] * 5, belief)).mean > 0.6


def test_an_outage_seen_by_those_who_had_success_counts_in_full() -> None:
    """The rule about bad callers does not protect an action that really broke."""
    belief = after([outcome(who="ann"), outcome(who="bob")] * 10)
    belief = after([outcome(Kind.UPSTREAM_5XX, who="ann"), outcome(Kind.UPSTREAM_5XX, who="bob")] * 5, belief)
    assert seen(belief).poor


def test_updating_is_deterministic() -> None:
    """The same outcomes give the same belief."""
    random.seed(7)
    series = [outcome(random.choice(list(Kind)), at=START + position) for position in range(200)]
    assert after(series) == after(series)
