"""Which time limits hold for a call, and what a time-out then says. Pure."""

from __future__ import annotations

from dataclasses import replace

from anyact_server.errors import InvalidArguments
from anyact_server.types import Action, Call, Kind, Limits, Verdict


def limits_for(call: Call, action: Action, server: Limits) -> tuple[Limits, str | None]:
    """The limits that hold for a call, the nearest setting first: the call's own, the action's, the server's.

    A limit in the user's own files may exceed the ceiling and then raises it; one that a caller asks for may not, and
    gives a note when it was cut.

    Raises:
        InvalidArguments: the caller's limit is not a positive number.
    """
    if call.timeout_s is None and action.call_s is None:
        return server, None
    ceiling = max(server.ceiling_s, action.call_s or 0.0)
    if call.timeout_s is None:
        return replace(server, call_s=action.call_s or server.call_s, ceiling_s=ceiling), None
    if not call.timeout_s > 0:
        raise InvalidArguments(f"timeout_s must be a number above 0, not {call.timeout_s}")
    told = f"the limit of {call.timeout_s:g} s was cut to the ceiling of {ceiling:g} s"
    wanted = min(call.timeout_s, ceiling)
    return replace(server, call_s=wanted, ceiling_s=ceiling), told if call.timeout_s > ceiling else None


def own_fault(verdict: Verdict, call: Call, limits: Limits, usual: float, seconds: float, p95_s: float | None) -> bool:
    """Whether a time-out says more about the caller's short limit than about the action.

    It does when the caller set a limit below the configured one (`usual`) and less time passed than the action may
    fairly take: 3 times its known 95 % latency, at least 5 s, or the configured limit where no latency is known.
    """
    if verdict.kind is not Kind.TIMEOUT or call.timeout_s is None or limits.call_s >= usual:
        return False
    fair = usual if p95_s is None else min(usual, max(5.0, 3.0 * p95_s))
    return seconds < fair
