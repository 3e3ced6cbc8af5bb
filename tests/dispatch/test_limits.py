"""Which limits hold for a call, and what a time-out then says."""

from __future__ import annotations

import pytest

from anyact_server.dispatch.limits import limits_for, own_fault
from anyact_server.errors import InvalidArguments
from anyact_server.types import Action, Call, Kind, Limits, Verdict

from .world import action

READ = action("read")


@pytest.mark.case("T1")
def test_the_nearest_limit_wins() -> None:
    """Call, action, server; start and list limits stay apart; a caller's limit ends at the ceiling."""
    server = Limits(start_s=70.0, list_s=30.0, call_s=20.0, ceiling_s=100.0)
    own = action("slow", call_s=45.0)

    def limits(target: Action, timeout_s: float | None) -> tuple[float, float, bool]:
        found, cut = limits_for(Call(target.id, timeout_s=timeout_s), target, server)
        assert (found.start_s, found.list_s) == (70.0, 30.0)
        return found.call_s, found.ceiling_s, cut is not None

    assert limits(READ, None) == (20.0, 100.0, False)
    assert limits(own, None) == (45.0, 100.0, False)
    assert limits(own, 5.0) == (5.0, 100.0, False)
    assert limits(READ, 5000.0) == (100.0, 100.0, True)
    assert limits(action("very_slow", call_s=3600.0), None) == (3600.0, 3600.0, False)
    for wrong in (0, -1.0, float("nan")):
        with pytest.raises(InvalidArguments, match="above 0"):
            limits(READ, wrong)


def test_a_time_out_under_a_callers_own_short_limit_is_the_callers() -> None:
    """Unless more time passed than the action fairly takes."""
    late = Verdict(Kind.TIMEOUT)
    short = Call("x", timeout_s=2.0)

    def blamed(seconds: float, p95_s: float | None, verdict: Verdict = late, asked: Call = short) -> bool:
        limit = Limits(call_s=asked.timeout_s or 60.0)
        return not own_fault(verdict, asked, limit, 60.0, seconds, p95_s)

    assert not blamed(2.0, None)
    assert not blamed(2.0, 30.0)
    assert blamed(6.0, 1.0)
    assert blamed(60.0, None, asked=Call("x"))
    assert blamed(60.0, None, asked=Call("x", timeout_s=90.0))
    assert blamed(2.0, None, verdict=Verdict(Kind.CRASHED))
