"""What a wire and a peer may expect of each other."""

from __future__ import annotations

from anyact_server.downstream.wire import SessionLost, Unreachable, WrongTransport, fresh
from anyact_server.errors import DownstreamError
from anyact_server.types import Kind


def test_each_waiter_gets_an_error_of_its_own() -> None:
    """Class, words and cause are the same; what holds for one waiter alone may differ."""
    cause = ValueError("inner")
    shared = DownstreamError("gone", server="s", kind=Kind.CRASHED, retry_after_s=3, status=500, hint="h")
    shared.__cause__ = cause
    own = fresh(shared, may_have_run=False)
    assert own is not shared and type(own) is DownstreamError and own.__cause__ is cause
    assert (str(own), own.message, own.retry_after_s, own.status, own.hint) == ("gone", "gone", 3, 500, "h")
    assert (own.may_have_run, shared.may_have_run) == (False, True)
    assert fresh(SessionLost("x", server="s", status=404)).status == 404


def test_what_surely_did_not_run_says_so() -> None:
    """A lost session, an address where nothing is, a transport that is not spoken."""
    errors: list[DownstreamError] = [
        SessionLost("x", server="s"),
        Unreachable("x", server="s"),
        WrongTransport("x", server="s", status=405),
    ]
    assert not any(error.may_have_run for error in errors)
    assert [error.kind for error in errors] == [Kind.UNAVAILABLE, Kind.UNAVAILABLE, Kind.PROTOCOL]
