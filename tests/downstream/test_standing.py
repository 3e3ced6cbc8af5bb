"""How a server stands, as a machine without I/O."""

from __future__ import annotations

import pytest

from anyact_server.downstream.standing import Standing
from anyact_server.errors import DownstreamError, NeedsLogin
from anyact_server.telemetry import MASK
from anyact_server.types import Kind, ServerSpec, ServerState

from .kit import Clock


def standing(clock: Clock, **fields: object) -> Standing:
    """A server that was never tried, without jitter."""
    return Standing(ServerSpec("s", "stdio", **fields), clock, chance=lambda: 0.0)  # type: ignore[arg-type]


def fault(text: str = "broken", kind: Kind = Kind.CRASHED) -> DownstreamError:
    """A fault with a cure."""
    return DownstreamError(text, server="s", kind=kind, hint="mend it")


def test_failed_starts_are_tried_again_after_growing_pauses() -> None:
    """The refusal meanwhile carries reason, cure and the time of the next try, which is now when the pause is over."""
    clock = Clock()
    server = standing(clock)
    for pause_s in (1.0, 2.0, 4.0):
        server.starting()
        assert server.status(None).state is ServerState.STARTING
        server.failed(fault())
        status = server.status(None)
        assert (status.state, status.error, status.kind) == (ServerState.FAILED, "broken", Kind.CRASHED)
        assert status.next_try == clock.now() + pause_s
        refusal = server.refusal()
        assert refusal is not None and refusal.retry_after_s == pause_s and refusal.hint == "mend it"
        assert refusal.kind is Kind.CRASHED and not refusal.may_have_run
        clock.time += pause_s
        assert server.refusal() is None and server.status(None).next_try == clock.now()
    server.forgive()
    server.failed(fault())
    assert server.pause_left() == 1.0


@pytest.mark.case("L1")
def test_the_first_death_costs_nothing_and_the_next_ones_do() -> None:
    """A connection that lived long was sound; one that dies at once again is not."""
    clock = Clock()
    server = standing(clock)
    for pause_s in (None, 1.0, 2.0):
        server.starting()
        server.ready("2025-06-18")
        server.lost(fault())
        assert server.status(None).state is ServerState.DOWN
        assert server.pause_left() == pause_s
    server.ready("2025-06-18")
    clock.time += 61
    server.lost(fault())
    assert server.pause_left() is None
    server.failed(fault())
    assert server.status(None).state is ServerState.DOWN


def test_an_answer_heals_what_was_wrong() -> None:
    """A lost request and a missing login are over once something is answered."""
    server = standing(Clock())
    server.ready("x")
    assert not server.answered()
    server.shaken(fault())
    assert server.status(None).state is ServerState.DOWN
    assert server.answered() and server.status(None).state is ServerState.READY
    server.needs_login(NeedsLogin("login", server="s"))
    assert server.status(None).state is ServerState.NEEDS_LOGIN and server.refusal() is None
    assert server.answered() and server.status(None).error is None


@pytest.mark.case("A3")
def test_a_login_missing_at_the_start_has_no_pause() -> None:
    """Nothing gets better by waiting, and nothing gets worse by trying."""
    server = standing(Clock())
    server.failed(NeedsLogin("login", server="s"))
    assert server.status(None).state is ServerState.NEEDS_LOGIN and server.pause_left() is None


@pytest.mark.case("G3")
def test_a_server_whose_list_failed_is_not_healthy() -> None:
    """Its connection is up, but the state says what is wrong."""
    server = standing(Clock())
    server.ready("x")
    server.list_fault = "no list"
    status = server.status(7)
    assert (status.state, status.error, status.stale, status.pid) == (ServerState.FAILED, "no list", True, 7)
    server.list_fault = None
    assert server.status(7).state is ServerState.READY


@pytest.mark.case("A1")
def test_secrets_in_errors_are_masked() -> None:
    """In the error and in its cure."""
    MASK.protect(["s3cret-token"])
    server = standing(Clock())
    server.failed(fault("token s3cret-token is wrong"))
    assert server.status(None).error == "token *** is wrong"


def test_disabled_and_faulty_servers_start_nothing() -> None:
    """Each says why."""
    assert standing(Clock(), disabled=True).status(None).state is ServerState.DISABLED
    refusal = standing(Clock(), disabled=True).refusal()
    assert refusal is not None and "disabled" in refusal.message
    refusal = standing(Clock(), fault="no command").refusal()
    assert refusal is not None and "no command" in refusal.message


def test_times_and_counts_are_kept() -> None:
    """Since when, how many restarts, which warnings."""
    clock = Clock()
    server = standing(clock)
    clock.time += 5
    server.starting()
    server.ready("x")
    server.starting()
    server.warn("odd")
    server.warn("odd")
    server.idle()
    status = server.status(None)
    assert (status.since, status.restarts, status.warnings) == (clock.now(), 1, ("odd",))
