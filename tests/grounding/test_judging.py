"""Verdicts on results and exceptions."""

from __future__ import annotations

import pytest

from anyact_server.errors import DownstreamError, InvalidArguments, NeedsLogin, RemoteError, UnknownAction
from anyact_server.grounding.blocks import read_content
from anyact_server.grounding.judging import judge_content, judge_exception, shown
from anyact_server.telemetry import MASK
from anyact_server.types import Fault, Json, Kind, Verdict

from .conftest import text_result


def judged(result: Json) -> Verdict:
    return judge_content(read_content(result), None)


@pytest.mark.case("O1")
@pytest.mark.parametrize(
    ("result", "kind"),
    [
        (text_result("404 Not Found", isError=True), Kind.NOT_FOUND),
        (text_result('{"message": "x", "code": "RATE_LIMITED"}', isError=True), Kind.RATE_LIMITED),
        ({"content": [], "structuredContent": {"error": "no such table"}, "isError": True}, Kind.NOT_FOUND),
        ({"content": [], "isError": True}, Kind.INTERNAL),
        ({"content": [{"type": "image", "data": "AA"}], "isError": True}, Kind.INTERNAL),
        (text_result('{"a": 1}', isError=True), Kind.INTERNAL),
    ],
)
def test_a_flag_makes_a_failure(result: Json, kind: Kind) -> None:
    """Its kind from words and fields, whatever carries them."""
    verdict = judged(result)
    assert (verdict.kind, verdict.detected_by) == (kind, "isError")
    assert verdict.message and verdict.suspected is None


@pytest.mark.case("O2")
def test_a_hidden_failure_is_a_suspicion_beside_the_success() -> None:
    """The declared status stays; ground and confidence are given."""
    verdict = judged(text_result("Error: not found"))
    assert (verdict.kind, verdict.suspected) == (Kind.OK, Kind.NOT_FOUND)
    assert verdict.detected_by == "text_rule" and verdict.evidence == "/content/0/text"
    assert 0 < verdict.confidence < 1
    fields = judged({"content": [], "structuredContent": {"ok": False, "error": "rate_limited", "retry_after": 30}})
    assert (fields.suspected, fields.retry_after_s) == (Kind.RATE_LIMITED, 30.0)


def test_a_partial_failure_is_partial() -> None:
    """With the share that failed."""
    verdict = judged(
        {"content": [], "structuredContent": {"completed": ["1", "2"], "failures": [{"error": "HTTP 404: Not Found"}]}}
    )
    assert (verdict.kind, verdict.suspected) == (Kind.PARTIAL, Kind.NOT_FOUND)
    assert verdict.share_failed == pytest.approx(1 / 3)


def test_successes_are_plain_or_empty() -> None:
    """No message, no suspicion."""
    assert judged(text_result("fine")) == Verdict(Kind.OK)
    assert judged({"content": []}) == Verdict(Kind.OK_EMPTY)
    silent = judged(text_result('{"success": false}'))
    assert silent.suspected is Kind.INTERNAL and "says that it failed (/content/0/text/success)" in silent.message


@pytest.mark.parametrize(
    ("code", "message", "data", "kind"),
    [
        (-32602, "Unknown tool: x", None, Kind.NOT_FOUND),
        (-32602, "zz", None, Kind.INVALID_ARGS),
        (-32601, "zz", None, Kind.NOT_FOUND),
        (-32001, "zz", None, Kind.TIMEOUT),
        (-32603, "MCP error -32603: getaddrinfo ENOTFOUND x", None, Kind.UNAVAILABLE),
        (-32603, "zz", {"message": "401 Unauthorized"}, Kind.AUTH),
        (-32602, "Output validation error: no structured content", None, Kind.INTERNAL),
        (-32603, "zz", None, Kind.INTERNAL),
    ],
)
def test_a_jsonrpc_error_is_read_by_words_then_code(code: int, message: str, data: Json, kind: Kind) -> None:
    """Codes say little in the field; they decide where words say nothing."""
    verdict = judge_exception(RemoteError(code, message, data, server="s"))
    assert (verdict.kind, verdict.code, verdict.detected_by) == (kind, code, "jsonrpc")


def test_our_own_errors_keep_their_kind() -> None:
    """With hint, status and waiting time."""
    down = judge_exception(DownstreamError("gone", server="s", kind=Kind.CRASHED, retry_after_s=3, hint="wait"))
    assert (down.kind, down.detected_by, down.retry_after_s, down.hint) == (Kind.CRASHED, "transport", 3, "wait")
    login = judge_exception(NeedsLogin("log in", server="s"))
    assert (login.kind, login.code, login.detected_by) == (Kind.AUTH, 401, "http_status")
    wrong = judge_exception(InvalidArguments("bad arguments", problems=["a is missing", "b is no number"]))
    assert (wrong.kind, wrong.message) == (Kind.INVALID_ARGS, "bad arguments: a is missing; b is no number")
    assert judge_exception(InvalidArguments("a is missing", problems=["a is missing"])).message == "a is missing"
    assert judge_exception(UnknownAction("no zz")).kind is Kind.UNKNOWN_ACTION
    assert judge_exception(TimeoutError()).kind is Kind.TIMEOUT
    assert judge_exception(KeyError("x")).message == "KeyError: 'x'"


def test_the_fault_comes_with_the_evidence() -> None:
    """A missing program is not the downstream's fault."""
    assert judged(text_result("spawn ffmpeg ENOENT", isError=True)).fault is Fault.ENVIRONMENT


@pytest.mark.case("A1")
def test_messages_are_masked_folded_and_cut() -> None:
    """No secret, no code, no surrogate, at most 600 characters."""
    MASK.protect(["hunter2-secret"])
    text = shown("token hunter2-secret\n refused \ud83d " + "Zm9vQmFyMTIz" * 40 + " word" * 500)
    assert text.startswith("token *** refused \ufffd [encoded data, 480 characters] word")
    assert len(text) == 600 and text.endswith("…")
