"""What REST answers."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from anyact_server.errors import (
    AnyActError,
    ConfigError,
    DownstreamError,
    InvalidArguments,
    NeedsLogin,
    PolicyRefused,
    RemoteError,
    StorageError,
    UnknownAction,
    UnknownHandle,
    UnknownServer,
    UsageError,
)
from anyact_server.gateway.rest_answers import (
    DATA_BYTES_PER_TOKEN,
    Refused,
    encoded,
    error_body,
    masked,
    observation_json,
    observed,
    of_error,
    of_refusal,
    run_json,
    shallow,
)
from anyact_server.telemetry import MASK
from anyact_server.types import KINDS, ErrorInfo, Fault, Kind, Observation, RunReport, TaskReport

from .twins import failure, observation

SECRET = "sk-rest-51b9"


@pytest.fixture
def secret() -> Iterator[str]:
    """A string that must not be shown."""
    kept = MASK._secrets
    MASK.protect([SECRET])
    yield SECRET
    MASK._secrets = kept


def nested(levels: int) -> Any:
    """A list in a list, so many levels deep."""
    value: Any = []
    for _ in range(levels - 1):
        value = [value]
    return value


@pytest.mark.case("E1")
@pytest.mark.parametrize(
    ("value", "sent"),
    [
        ({"a": [1, None, True, "é"]}, {"a": [1, None, True, "é"]}),
        ({"n": 2**70}, {"n": 2**70}),
        ({"s": "a\ud800b"}, {"s": "a\ufffdb"}),
        ({"s": "\ud83d\ude00"}, {"s": "😀"}),
        ({"n": 2**70, "x": math.inf, "l": [math.nan, 1.5]}, {"n": 2**70, "x": None, "l": [None, 1.5]}),
        ({"x": math.nan}, {"x": None}),
    ],
)
def test_whatever_came_is_sent_as_valid_json(value: Any, sent: Any) -> None:
    """In UTF-8, with integers of any size."""
    assert json.loads(encoded(value).decode("utf-8")) == sent


def test_depth_is_measured_without_depth() -> None:
    """A value nested a hundred thousand times costs no stack."""
    assert shallow(nested(200)) and shallow({"a": 1}) and shallow("x")
    assert not shallow(nested(202))
    assert not shallow(nested(100_000))
    assert not shallow({"a": nested(300)})


@pytest.mark.case("O7")
@pytest.mark.parametrize("kind", list(Kind))
def test_every_kind_has_one_status_and_the_one_body(kind: Kind) -> None:
    """The status is that of the table; only successes are below 400."""
    if KINDS[kind].status < 400:
        return
    answer = observed(failure(kind, "it went wrong"))
    body = json.loads(bytes(answer.body))
    assert answer.status_code == KINDS[kind].status
    assert body["error"]["kind"] == kind.value
    assert body["observation"]["is_error"] is True
    assert error_body(kind, "m", None)["error"]["kind"] == kind.value


@pytest.mark.case("O7")
@pytest.mark.parametrize(
    ("error", "status", "kind"),
    [
        (UnknownAction("no such", suggestions=["a__b"]), 404, "unknown_action"),
        (UnknownServer("no such"), 404, "not_found"),
        (UnknownHandle("no such"), 404, "not_found"),
        (InvalidArguments("wrong"), 422, "invalid_args"),
        (UsageError("wrong"), 400, "invalid_args"),
        (ConfigError("wrong"), 422, "invalid_args"),
        (PolicyRefused("no"), 403, "refused_by_policy"),
        (NeedsLogin("log in", server="s"), 401, "auth"),
        (DownstreamError("slow", server="s", kind=Kind.TIMEOUT), 504, "timeout"),
        (DownstreamError("busy", server="s", kind=Kind.RATE_LIMITED, retry_after_s=2.2), 429, "rate_limited"),
        (DownstreamError("gone", server="s", kind=Kind.UNAVAILABLE), 502, "unavailable"),
        (RemoteError(-32000, "raised", server="s"), 502, "internal"),
        (StorageError("disk"), 502, "internal"),
        (AnyActError("else"), 502, "internal"),
    ],
)
def test_every_error_has_the_status_of_its_kind(error: AnyActError, status: int, kind: str) -> None:
    """None is a bare 500."""
    answer = of_error(error)
    body = json.loads(bytes(answer.body))["error"]
    assert (answer.status_code, body["kind"]) == (status, kind)
    assert body["message"] == error.message
    if kind == "rate_limited":
        assert answer.headers["retry-after"] == "3"
        assert body["retry_after_s"] == 2.2 and body["retryable"] is True
    if isinstance(error, UnknownAction):
        assert body["alternatives"] == ["a__b"]
    assert body.get("server") == getattr(error, "server", None)


def test_a_usage_error_of_another_kind_keeps_its_status() -> None:
    """Such as an action that cannot be called at all."""
    error = UsageError("too many runs")
    error.kind = Kind.RATE_LIMITED
    assert of_error(error).status_code == 429


def test_a_refusal_has_the_one_body_too() -> None:
    """With what to do, and the headers of its status."""
    answer = of_refusal(Refused(405, "not for this path", "Use GET.", headers={"Allow": "GET"}))
    assert answer.headers["allow"] == "GET"
    assert json.loads(bytes(answer.body))["error"] == {
        "kind": "invalid_args",
        "message": "not for this path",
        "hint": "Use GET.",
        "fault": "caller",
        "retryable": False,
        "retry": "after_change",
    }
    assert json.loads(bytes(of_refusal(Refused(404, "nothing here")).body))["error"]["kind"] == "not_found"


def test_a_failure_that_is_counted_a_success_is_still_no_success() -> None:
    """A tool that says it failed never answers 200."""
    info = ErrorInfo(Kind.PARTIAL, "half", Fault.NONE, False, "no", retry_after_s=5)
    answer = observed(observation("half", status="error", is_error=True, error=info))
    assert (answer.status_code, answer.headers["retry-after"]) == (422, "5")


@pytest.mark.case("O2")
def test_a_suspected_failure_stays_a_success() -> None:
    """Marked, never substituted."""
    info = ErrorInfo(Kind.NOT_FOUND, "it says not found", Fault.CALLER, False, "after_change")
    answer = observed(observation("not found", suspected=info))
    body = json.loads(bytes(answer.body))
    assert answer.status_code == 200 and "error" not in body
    assert body["observation"]["suspected"]["kind"] == "not_found"


@pytest.mark.case("B1")
def test_data_is_whole_or_left_out_with_its_size() -> None:
    """By the budget, so that one that asks for more gets more."""
    small = observation("x", data={"a": 1}, handle="obs_h")
    assert observation_json(small)["data"] == {"a": 1}
    data = {"rows": ["y" * 100] * 1000}
    large = observation_json(replace(small, data=data))
    assert "data" not in large
    assert large["data_bytes"] == len(encoded(data)) > DATA_BYTES_PER_TOKEN * 4000
    assert "budget_tokens" in large["data_left_out"] and large["handle"] == "obs_h"
    deep = observation_json(replace(small, data=nested(500)))
    assert "data" not in deep and "nested" in deep["data_left_out"]


@pytest.mark.case("A1")
def test_no_failure_shows_a_secret(secret: str) -> None:
    """Servers repeat what they were sent; results that are no failures are the user's own data."""
    info = ErrorInfo(Kind.AUTH, f"bad token {secret}", Fault.ENVIRONMENT, False, "after_login", hint=secret)
    shown = observed(observation(f"said {secret}", is_error=True, error=info, data={"sent": [secret]}))
    assert secret.encode() not in bytes(shown.body)
    for error in (DownstreamError(f"bad {secret}", server="s", kind=Kind.AUTH, hint=f"not {secret}"),):
        assert secret.encode() not in bytes(of_error(error).body)
    assert masked({"a": [secret, 1]}) == {"a": ["***", 1]}
    assert secret in json.dumps(observation_json(observation(secret)))
    assert secret in json.dumps(
        observation_json(observation(secret, suspected=replace(info, message="odd", hint=None)))
    )


def test_messages_have_an_end() -> None:
    """However much a server says."""
    body = error_body(Kind.INTERNAL, "m" * 100_000, "h" * 100_000, server=None)["error"]
    assert len(body["message"]) == len(body["hint"]) == 2000
    assert "server" not in body


def test_a_run_has_one_entry_per_task(secret: str) -> None:
    """With the observation where there is one, the reason where there is none."""
    done = TaskReport("1", "a__b", "done", Observation("obs_1", "ok", "fine"), 0.0, 1.5)
    skipped = TaskReport("2", "a__c", "skipped", reason=f"1 failed with {secret}")
    shown = run_json(RunReport("run_1", True, [done, skipped], False, 1.5))
    assert shown["tasks"][0]["observation"]["summary"] == "fine"
    assert shown["tasks"][1] == {"id": "2", "action": "a__c", "state": "skipped", "reason": "1 failed with ***"}
    assert (shown["id"], shown["done"], shown["cancelled"], shown["seconds"]) == ("run_1", True, False, 1.5)
