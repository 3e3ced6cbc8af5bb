"""Messages, statuses and codes become the kinds of the design's table."""

from __future__ import annotations

import pytest

from anyact_server.grounding.kinds import of_status, read_message, retry_after, status_in
from anyact_server.types import Fault, Json, Kind


@pytest.mark.parametrize(
    ("message", "kind"),
    [
        ("Request failed with status code 404", Kind.NOT_FOUND),
        ("502 Server Error: Bad Gateway for url: http://x", Kind.UPSTREAM_5XX),
        ("Client error '401 Unauthorized' for url 'http://x'", Kind.AUTH),
        ("HTTP 422: name is missing", Kind.UPSTREAM_4XX),
        ("403 API rate limit of 10 exceeded", Kind.RATE_LIMITED),
        ("Too Many Requests", Kind.RATE_LIMITED),
        ("账户请求过于频繁，请稍后再试", Kind.RATE_LIMITED),
        ("Unknown tool: zz", Kind.NOT_FOUND),
        ("1 validation error for call[get]\npath\n  Field required", Kind.INVALID_ARGS),
        ("Only SELECT queries are allowed", Kind.INVALID_ARGS),
        ("Unsupported URI scheme: gopher", Kind.INVALID_ARGS),
        ("Invalid timezone: 'No time zone found with key Mars'", Kind.INVALID_ARGS),
        ("a workspace needs a name", Kind.INVALID_ARGS),
        ("getaddrinfo ENOTFOUND api.example.org", Kind.UNAVAILABLE),
        ("connect ECONNREFUSED 127.0.0.1:3200", Kind.UNAVAILABLE),
        ("Could not connect to Blender. Make sure the addon is running.", Kind.UNAVAILABLE),
        ("spawn ffmpeg ENOENT", Kind.UNAVAILABLE),
        ("Failed to retrieve statistics", Kind.UNAVAILABLE),
        ("The operation timed out after 30 s", Kind.TIMEOUT),
        ("no final state within 60 s, it may still be running", Kind.TIMEOUT),
        ("Invalid API key provided", Kind.AUTH),
        ("password authentication failed for user x", Kind.AUTH),
        ("You are not logged in", Kind.AUTH),
        ("Permission denied (publickey)", Kind.PERMISSION),
        ("Error: EACCES: permission denied, mkdir '/x'", Kind.PERMISSION),
        ("Path not allowed: /etc/hosts. Must be within /ws", Kind.PERMISSION),
        ("table orders already exists", Kind.CONFLICT),
        ("database is locked", Kind.CONFLICT),
        ("This feature is not supported on the free plan", Kind.NOT_SUPPORTED),
        ("ENOENT: no such file or directory, stat '/x'", Kind.NOT_FOUND),
        ("Issue does not exist or you do not have permission to see it.", Kind.NOT_FOUND),
        ("Sheet 'Jobs' has no charts.", Kind.NOT_FOUND),
        ("エラー: 鍵が見つかりません", Kind.NOT_FOUND),
        ("Unexpected return value type: <class 'str'>", Kind.INTERNAL),
        ("tuple index out of range", Kind.INTERNAL),
        ("HTTPError", Kind.UPSTREAM_5XX),
        ("The card was declined.", Kind.UPSTREAM_4XX),
        ("the request was cancelled by the user", Kind.CANCELLED),
        ("boom", Kind.INTERNAL),
        ("", Kind.INTERNAL),
    ],
)
def test_a_message_tells_its_kind(message: str, kind: Kind) -> None:
    """Status first, then words, the cause before its wording."""
    assert read_message(message).kind is kind


@pytest.mark.parametrize(
    ("code", "kind"),
    [
        (404, Kind.NOT_FOUND),
        ("429", Kind.RATE_LIMITED),
        ("RATE_LIMITED", Kind.RATE_LIMITED),
        ("ENOTFOUND", Kind.UNAVAILABLE),
        ("token_revoked", Kind.AUTH),
        ("not_in_channel", Kind.PERMISSION),
        ("VALIDATION", Kind.INVALID_ARGS),
        ("card_declined", Kind.UPSTREAM_4XX),
        ("ALREADY_EXISTS", Kind.CONFLICT),
        ("DEADLINE_EXCEEDED", Kind.TIMEOUT),
        ("NOT_IMPLEMENTED", Kind.NOT_SUPPORTED),
        (7, Kind.INTERNAL),
        (True, Kind.INTERNAL),
        ("zz", Kind.INTERNAL),
    ],
)
def test_a_code_outranks_the_message(code: Json, kind: Kind) -> None:
    """Where it names a kind at all."""
    assert read_message("boom", code).kind is kind


@pytest.mark.parametrize(
    ("message", "fault"),
    [
        ("Command 'libreoffice' not found, please install it", Fault.ENVIRONMENT),
        ("Path not allowed: /etc", Fault.CALLER),
        ("Permission denied", None),
        ("database is locked", Fault.ENVIRONMENT),
        ("connect ECONNREFUSED", None),
        ("script threw: boom", Fault.CALLER),
    ],
)
def test_the_fault_follows_the_evidence(message: str, fault: Fault | None) -> None:
    """None where the kind's usual fault is right."""
    assert read_message(message).fault is fault


def test_statuses_have_kinds() -> None:
    """None outside 400 to 599."""
    assert [of_status(status) for status in (200, 400, 404, 409, 418, 503, 700)] == [
        None,
        Kind.UPSTREAM_4XX,
        Kind.NOT_FOUND,
        Kind.CONFLICT,
        Kind.UPSTREAM_4XX,
        Kind.UPSTREAM_5XX,
        None,
    ]


@pytest.mark.parametrize(
    "text", ["took 404 ms", "port 443", "row 500 of 900", "404,123 items", "version 4.0.4", "id x401y"]
)
def test_other_numbers_are_no_statuses(text: str) -> None:
    """A status counts only where it is named as one."""
    assert status_in(text) is None


@pytest.mark.parametrize(
    ("value", "message", "seconds"),
    [
        ({"retry_after": 30}, "", 30.0),
        ({"retryAfterMs": 1500}, "", 1.5),
        ({"retry_after": True}, "wait", None),
        ({"retry_after": -1}, "", None),
        (None, "please retry in 20 s", 20.0),
        (None, "try again after 2 minutes", 120.0),
        (None, "retry after 500 ms", 0.5),
        (None, "retry later", None),
    ],
)
def test_the_wait_is_read_from_fields_or_words(value: Json, message: str, seconds: float | None) -> None:
    """In seconds, whatever the unit."""
    assert retry_after(value, message) == seconds
