"""The breaker of a server, step by step."""

from __future__ import annotations

import pytest

from anyact_server.reliability import Breaker
from anyact_server.reliability.breaker import CLOSED, PAUSES_S, TRIAL_S, WAIT_S, admitted, after, revived
from anyact_server.types import Kind

from .outcomes import START, outcome


def broken(kind: Kind = Kind.UNAVAILABLE, at: float = START) -> Breaker:
    """A breaker after the first hard fault."""
    return after(CLOSED, outcome(kind, at=at, by="transport"))


@pytest.mark.parametrize("kind", [Kind.UNAVAILABLE, Kind.CRASHED])
def test_a_hard_fault_opens_it_at_once(kind: Kind) -> None:
    """Refused connections and dead processes."""
    assert broken(kind).phase == "open"
    assert broken(kind).reason == "it said so"


@pytest.mark.parametrize("kind", [kind for kind in Kind if kind not in (Kind.UNAVAILABLE, Kind.CRASHED)])
def test_nothing_else_opens_it(kind: Kind) -> None:
    """Not the caller's mistakes, not logins, not time-outs of one action."""
    assert after(CLOSED, outcome(kind, by="transport")) is CLOSED


def test_a_tool_that_says_unavailable_does_not_open_it() -> None:
    """The connection worked: the word came through it."""
    assert after(CLOSED, outcome(Kind.UNAVAILABLE, by="isError")) is CLOSED


@pytest.mark.case("A3")
def test_a_missing_login_never_trips_it() -> None:
    """Not even twenty at once; and it closes an open one, since the server answered."""
    state = CLOSED
    for _ in range(20):
        state = after(state, outcome(Kind.AUTH, by="http_status"))
    assert state is CLOSED
    assert after(broken(), outcome(Kind.AUTH, by="http_status")).phase == "closed"


def test_after_a_first_crash_the_next_call_is_the_trial() -> None:
    """A server that worked and died once gets its chance at once."""
    state, admission = admitted(broken(Kind.CRASHED), START)
    assert admission.allowed
    assert admission.trial
    assert state.phase == "half_open"


def test_an_unreachable_server_is_left_alone_for_a_second() -> None:
    """Then one call tries it."""
    state, admission = admitted(broken(), START + 0.5)
    assert not admission.allowed
    assert admission.retry_after_s == pytest.approx(0.5)
    assert admitted(state, START + 1.0)[1].trial


def test_while_the_trial_runs_others_wait() -> None:
    """They are told to ask again soon; a trial that never ends holds them back for a minute at most."""
    state, _ = admitted(broken(Kind.CRASHED), START)
    state, admission = admitted(state, START + 1.0)
    assert not admission.allowed
    assert admission.retry_after_s == WAIT_S
    assert admitted(state, START + TRIAL_S)[1].trial


def test_an_answer_closes_it() -> None:
    """Any answer, even one that blames the caller."""
    for kind in (Kind.OK, Kind.NOT_FOUND, Kind.UPSTREAM_5XX):
        state, _ = admitted(broken(Kind.CRASHED), START)
        assert after(state, outcome(kind, at=START + 1.0)).phase == "closed"
    assert after(broken(), outcome(Kind.OK, by="local")).phase == "closed"


def test_an_answer_whose_verdict_is_local_counts_as_life_only_when_it_is_a_result() -> None:
    """The grounder calls an ordinary success local; so is what was refused here."""
    for kind in (Kind.OK, Kind.OK_EMPTY, Kind.PARTIAL):
        assert after(broken(), outcome(kind, by="local")).phase == "closed"
    for kind in (Kind.CONFLICT, Kind.CANCELLED):
        assert after(broken(), outcome(kind, by="local")).phase == "open"


def test_what_was_never_sent_does_not_close_it() -> None:
    """Arguments refused here say nothing about the server."""
    for state in (broken(), admitted(broken(Kind.CRASHED), START)[0]):
        assert after(state, outcome(Kind.INVALID_ARGS, by="local")) is state


def test_failed_trials_make_the_pause_grow_to_a_minute() -> None:
    """1, 2, 4 ... 60 s."""
    now, state, pauses = START, broken(), []
    for _ in range(9):
        pauses.append(state.until - now)
        now = state.until
        state, _ = admitted(state, now)
        now += 0.5
        state = after(state, outcome(Kind.UNAVAILABLE, at=now, by="transport"))
    assert pauses == pytest.approx([1, 2, 4, 8, 16, 32, 60, 60, 60])


def test_faults_of_calls_that_died_with_the_server_count_once() -> None:
    """Twenty calls in flight at a crash are one crash."""
    state = broken(Kind.CRASHED)
    for _ in range(19):
        state = after(state, outcome(Kind.CRASHED, at=START + 0.01, by="transport"))
    assert state == broken(Kind.CRASHED)


def test_a_late_fault_of_an_old_call_does_not_fail_the_trial() -> None:
    """It began before the trial did."""
    state, _ = admitted(broken(Kind.CRASHED), START + 1.0)
    late = outcome(Kind.CRASHED, at=START + 1.5, seconds=5.0, by="transport")
    assert after(state, late) is state


def test_a_server_that_relapses_keeps_short_pauses() -> None:
    """One action that kills it again and again must not shut out the others for long."""
    now, state = START, CLOSED
    for _ in range(6):
        state = after(state, outcome(Kind.CRASHED, at=now, by="transport"))
        assert state.until - now <= 2.0
        now = state.until + 1.0
        state, _ = admitted(state, now)
        state = after(state, outcome(at=now))
        now += 1.0


def test_a_long_calm_forgets_the_trouble() -> None:
    """The next crash starts at the first level again."""
    state, _ = admitted(broken(), START + 1.0)
    state = after(state, outcome(at=START + 2.0))
    state = after(state, outcome(Kind.CRASHED, at=START + 100.0, by="transport"))
    assert state.until == START + 100.0


def test_a_cancelled_trial_passes_the_trial_on() -> None:
    """The next call tries at once."""
    state, _ = admitted(broken(), START + 1.0)
    state = after(state, outcome(Kind.CANCELLED, at=START + 2.0, by="local"))
    assert state.phase == "open"
    assert admitted(state, START + 2.0)[1].trial


def test_a_trial_that_timed_out_waits_for_another() -> None:
    """Silence is no sign of life."""
    state, _ = admitted(broken(), START + 1.0)
    state = after(state, outcome(Kind.TIMEOUT, at=START + 30.0, by="transport"))
    assert state.phase == "open"
    assert state.until - (START + 30.0) == PAUSES_S[1]


def test_an_open_breaker_ignores_silence() -> None:
    """A time-out of an older call neither opens nor closes."""
    state = broken()
    assert after(state, outcome(Kind.TIMEOUT, by="transport")) is state


def test_reviving_makes_the_next_call_the_trial() -> None:
    """A server that was restarted by hand need not sit out its pause."""
    state = revived(broken(), START + 0.1)
    assert admitted(state, START + 0.1)[1].trial
    assert revived(CLOSED, START) is CLOSED
