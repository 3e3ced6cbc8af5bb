"""What an HTTP answer means."""

from __future__ import annotations

import ssl
from typing import Any

import httpx2
import pytest

from anyact_server.downstream.http_rules import (
    certificate_fault,
    connection_error,
    forwarded,
    login_hint,
    next_url,
    not_mcp,
    plain_url,
    redirect_error,
    retry_after,
    status_error,
)
from anyact_server.downstream.wire import SessionLost, Unreachable, WrongTransport
from anyact_server.errors import DownstreamError, NeedsLogin
from anyact_server.types import Kind

URL = httpx2.URL("https://user:secret@host.example/mcp?key=secret#x")


def judged(status: int, body: str = "", *, in_session: bool = False, **headers: str) -> DownstreamError | None:
    """The meaning of an answer."""
    sent = {name.replace("_", "-"): value for name, value in headers.items()}
    return status_error("s", URL, status, sent, body, in_session=in_session, now=1_000.0)


def test_addresses_are_shown_without_what_may_be_secret() -> None:
    """No user part, no query, no fragment."""
    assert plain_url(URL) == "https://host.example/mcp"
    assert "secret" not in str(judged(500))


@pytest.mark.parametrize("status", [200, 202, 204])
def test_a_success_means_nothing(status: int) -> None:
    """There is no error in it."""
    assert judged(status) is None


@pytest.mark.case("R1")
@pytest.mark.parametrize(
    ("status", "body", "in_session", "lost"),
    [
        (404, "", True, True),
        (404, "", False, False),
        (400, "Session not found", True, True),
        (400, "No valid session ID provided", True, True),
        (400, "unknown session", True, True),
        (401, "session has expired", True, True),
        (400, "bad arguments", True, False),
        (401, "invalid token", True, False),
        (500, "session not found", True, False),
    ],
)
def test_a_lost_session_is_told_from_other_refusals(status: int, body: str, in_session: bool, lost: bool) -> None:
    """404 with a session, and 400 or 401 whose body says so."""
    assert isinstance(judged(status, body, in_session=in_session), SessionLost) is lost


@pytest.mark.parametrize(
    ("status", "kind", "of"),
    [
        (401, Kind.AUTH, NeedsLogin),
        (407, Kind.AUTH, NeedsLogin),
        (403, Kind.PERMISSION, DownstreamError),
        (404, Kind.PROTOCOL, WrongTransport),
        (405, Kind.PROTOCOL, WrongTransport),
        (422, Kind.UPSTREAM_4XX, DownstreamError),
        (502, Kind.UPSTREAM_5XX, DownstreamError),
        (302, Kind.PROTOCOL, DownstreamError),
    ],
)
def test_statuses_have_kinds(status: int, kind: Kind, of: type[DownstreamError]) -> None:
    """Each class of status says whose fault it is."""
    error = judged(status, location="/elsewhere")
    assert type(error) is of and error.kind is kind and error.status == status


@pytest.mark.parametrize(
    ("value", "seconds"),
    [("7", 7.0), (" 7 ", 7.0), ("Thu, 01 Jan 1970 00:17:40 GMT", 60.0), ("Thu, 01 Jan 1970 00:00:00 GMT", 0.0)]
    + [(text, None) for text in ("", "soon", "-1")],
)
def test_retry_after_is_seconds_or_a_date(value: str, seconds: float | None) -> None:
    """Anything else says nothing."""
    assert retry_after(value, 1_000.0) == seconds


def test_the_login_hint_names_the_step() -> None:
    """And where the login is described, if the server says so."""
    assert "Authorization: Bearer" in login_hint("s", "")
    assert "https://as.example/x" in login_hint("s", 'Bearer resource_metadata="https://as.example/x"')


@pytest.mark.case("H2")
@pytest.mark.parametrize(
    ("method", "status", "location", "target"),
    [
        ("POST", 307, "/mcp/", "http://h.example/mcp/"),
        ("POST", 308, "http://h.example/x", "http://h.example/x"),
        ("POST", 307, "https://h.example/mcp", "https://h.example/mcp"),
        ("GET", 302, "/x", "http://h.example/x"),
        ("POST", 302, "/x", None),
        ("POST", 307, "http://other.example/x", None),
        ("POST", 307, "http://h.example:81/x", None),
        ("POST", 307, "http://me:pw@h.example/x", None),
        ("POST", 307, "http://h:port/", None),
        ("POST", 307, None, None),
        ("POST", 200, "/x", None),
    ],
)
def test_redirects_are_followed_only_on_the_same_origin(
    method: str, status: int, location: str | None, target: str | None
) -> None:
    """With method, body and credentials, or not at all."""
    found = next_url(httpx2.URL("http://h.example/mcp"), method, status, location)
    assert (None if found is None else str(found)) == target


def test_https_is_never_left_for_http() -> None:
    """A downgrade would show the credentials."""
    assert next_url(httpx2.URL("https://h.example/"), "POST", 307, "http://h.example/") is None


def test_a_redirect_that_is_not_followed_names_its_target() -> None:
    """Without secrets; one that is no address is shown as it came."""
    assert "http://o.example/x" in redirect_error("s", URL, "http://o.example/x?token=1", 307).message
    assert "http://h:port/" in redirect_error("s", URL, "http://h:port/", 307).message


@pytest.mark.parametrize(
    ("error", "of", "kind", "words"),
    [
        (httpx2.ConnectTimeout("t"), Unreachable, Kind.UNAVAILABLE, "in time"),
        (httpx2.ConnectError("refused"), Unreachable, Kind.UNAVAILABLE, "refused"),
        (httpx2.ProxyError("407"), Unreachable, Kind.UNAVAILABLE, "407"),
        (httpx2.LocalProtocolError("bad header"), Unreachable, Kind.PROTOCOL, "bad header"),
        (httpx2.ReadError(""), DownstreamError, Kind.CRASHED, "ReadError"),
        (httpx2.RemoteProtocolError("gone"), DownstreamError, Kind.CRASHED, "gone"),
    ],
)
def test_failed_exchanges_say_whether_they_reached_the_server(
    error: Exception, of: type[DownstreamError], kind: Kind, words: str
) -> None:
    """Never connected means surely not run."""
    found = connection_error("s", URL, error)
    assert type(found) is of and found.kind is kind and words in found.message
    assert found.may_have_run is (of is DownstreamError)


@pytest.mark.case("H3")
def test_a_certificate_fault_is_named_as_such() -> None:
    """Wherever it hides among the causes, also as text alone."""
    inner: Any = ssl.SSLCertVerificationError(1, "x")
    inner.verify_message = "self-signed certificate"
    outer = httpx2.ConnectError("failed")
    outer.__cause__ = inner
    found = connection_error("s", URL, outer)
    assert "self-signed certificate" in found.message and found.hint is not None and "ca_file" in found.hint
    assert certificate_fault(httpx2.ConnectError("[SSL: CERTIFICATE_VERIFY_FAILED] x")) is not None
    assert certificate_fault(httpx2.ConnectError("refused")) is None


def test_an_answer_that_is_no_mcp_shows_its_beginning() -> None:
    """A web page is called one."""
    assert "a web page" in not_mcp("s", URL, "text/html; charset=utf-8", "<html>").message
    assert "text/plain that is no JSON-RPC" in not_mcp("s", URL, "text/plain", "hello").message
    assert "no content type" in not_mcp("s", URL, "", "hello").message


@pytest.mark.case("A2")
def test_only_named_headers_are_forwarded() -> None:
    """Authorization only by name; those of one hop and of the protocol never."""
    sent = {"authorization": "b", "x-a": "1", "host": "h", "mcp-session-id": "s"}
    assert forwarded(sent, ()) == {}
    assert forwarded(sent, ("X-A", "Host", "Mcp-Session-Id", "Missing")) == {"x-a": "1"}
    assert forwarded(sent, ("Authorization",)) == {"authorization": "b"}
