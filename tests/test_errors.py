"""The errors: each with one kind, a message, and a cure."""

from __future__ import annotations

import pytest

from anyact_server import errors
from anyact_server.types import Kind, Origin


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (errors.AnyActError("m", hint="h"), Kind.INTERNAL),
        (errors.ConfigError("m", hint="h", origin=Origin("f", 3), entry="e"), Kind.INVALID_ARGS),
        (errors.UsageError("m", hint="h"), Kind.INVALID_ARGS),
        (errors.UnknownAction("m", hint="h", suggestions=["a"]), Kind.UNKNOWN_ACTION),
        (errors.UnknownServer("m", hint="h"), Kind.NOT_FOUND),
        (errors.UnknownHandle("m", hint="h"), Kind.NOT_FOUND),
        (errors.InvalidArguments("m", hint="h", problems=["p"]), Kind.INVALID_ARGS),
        (errors.PolicyRefused("m", hint="h"), Kind.REFUSED_BY_POLICY),
        (errors.DownstreamError("m", hint="h", server="s", kind=Kind.TIMEOUT), Kind.TIMEOUT),
        (errors.NeedsLogin("m", hint="h", server="s"), Kind.AUTH),
        (errors.IndexMismatch("m", hint="h"), Kind.INTERNAL),
        (errors.EncoderError("m", hint="h"), Kind.INTERNAL),
    ],
)
def test_an_error_carries_kind_message_and_cure(error: errors.AnyActError, kind: Kind) -> None:
    """And prints as its message alone."""
    assert (error.kind, str(error), error.message, error.hint) == (kind, "m", "m", "h")


def test_what_surely_never_ran_is_told_apart() -> None:
    """Only then may a call be sent again."""
    assert errors.DownstreamError("m", server="s", kind=Kind.CRASHED).may_have_run
    assert not errors.NeedsLogin("m", server="s").may_have_run


def test_a_servers_own_error_keeps_code_and_data() -> None:
    """As it was sent."""
    error = errors.RemoteError(-32050, "m", {"a": 1}, server="s")
    assert (error.code, error.data, error.server) == (-32050, {"a": 1}, "s")
