"""What an HTTP answer means to a connection: pure decisions without I/O."""

from __future__ import annotations

import re
import ssl
from collections.abc import Mapping
from email.utils import parsedate_to_datetime

import httpx2

from anyact_server.errors import DownstreamError, NeedsLogin
from anyact_server.types import Kind

from .frames import shorten
from .wire import SessionLost, Unreachable, WrongTransport

SESSION_WORDS = re.compile(
    r"session.{0,40}(?:not found|unknown|invalid|expired|terminated|missing|required|no longer|not exist)"
    r"|(?:no|unknown|invalid|missing|expired|bad|not found|no valid).{0,20}session",
    re.IGNORECASE | re.DOTALL,
)
"""How servers say in a 400 or 401 that they have forgotten the session."""
NEVER_FORWARDED = frozenset(
    {"host", "content-length", "content-type", "connection", "transfer-encoding", "accept", "upgrade", "te", "expect"}
)
"""Headers that belong to one hop, or to the protocol itself (RFC 9110, 7.6.1)."""
KEPT_BODY = 2000


def status_error(
    server: str, url: httpx2.URL, status: int, headers: Mapping[str, str], body: str, *, in_session: bool, now: float
) -> DownstreamError | None:
    """What a status means for the request; None when it is a success.

    Args:
        server: config name.
        url: where the request went.
        status: of the answer.
        headers: of the answer.
        body: the beginning of the answer.
        in_session: whether the request carried a session id.
        now: seconds since the epoch.
    """
    if 200 <= status < 300:
        return None
    where = f"server {server!r} at {plain_url(url)}"
    if in_session and (status == 404 or (status in (400, 401) and SESSION_WORDS.search(body))):
        return SessionLost(f"{where} has forgotten the session (HTTP {status})", server=server, status=status)
    if status in (401, 407):
        return NeedsLogin(
            f"{where} wants a login (HTTP {status}{_said(body)})",
            server=server,
            status=status,
            hint=login_hint(server, headers.get("www-authenticate", "")),
        )
    if 300 <= status < 400:
        return redirect_error(server, url, headers.get("location", ""), status)
    pause = retry_after(headers.get("retry-after", ""), now)
    return _other_error(where, server, status, pause, _said(body))


def _other_error(where: str, server: str, status: int, pause: float | None, said: str) -> DownstreamError:
    if status == 403:
        return DownstreamError(
            f"{where} refuses access (HTTP 403{said})",
            server=server,
            kind=Kind.PERMISSION,
            may_have_run=False,
            status=status,
            hint="Check what the token in `headers` is allowed to do.",
        )
    if status == 429 or (status == 503 and pause is not None):
        return DownstreamError(
            f"{where} is busy (HTTP {status}{said})",
            server=server,
            kind=Kind.RATE_LIMITED,
            may_have_run=False,
            retry_after_s=pause,
            status=status,
        )
    if status in (404, 405):
        return WrongTransport(f"{where} does not speak MCP there (HTTP {status}{said})", server=server, status=status)
    kind = Kind.UPSTREAM_5XX if status >= 500 else Kind.UPSTREAM_4XX
    return DownstreamError(
        f"{where} answered HTTP {status}{said}", server=server, kind=kind, may_have_run=status >= 500, status=status
    )


def redirect_error(server: str, url: httpx2.URL, location: str, status: int) -> DownstreamError:
    """A redirect that is not followed."""
    try:
        target = plain_url(url.join(location))
    except httpx2.InvalidURL:
        target = shorten(location)
    return DownstreamError(
        f"server {server!r} at {plain_url(url)} redirects to {target} (HTTP {status}), which is not followed",
        server=server,
        kind=Kind.PROTOCOL,
        may_have_run=False,
        status=status,
        hint=f"If {target} is the right address, write it as the server's `url`.",
    )


def next_url(sent: httpx2.URL, method: str, status: int, location: str | None) -> httpx2.URL | None:
    """Where to send the same request again, credentials and all; None when a redirect must not be followed.

    Followed are only redirects that keep the method and stay on the same origin, or go from http to https on the same
    host with default ports.
    """
    if location is None or status not in ((301, 302, 303, 307, 308) if method == "GET" else (307, 308)):
        return None
    try:
        target = sent.join(location)
    except httpx2.InvalidURL:
        return None
    if target.userinfo and target.userinfo != sent.userinfo:
        return None
    same = (target.scheme, target.host, target.port) == (sent.scheme, sent.host, sent.port)
    safer = (sent.scheme, target.scheme) == ("http", "https") and target.host == sent.host
    return target if same or (safer and sent.port is None and target.port is None) else None


def connection_error(server: str, url: httpx2.URL, error: Exception) -> DownstreamError:
    """What a failed exchange means: never connected (surely not run), or lost on the way."""
    where = f"server {server!r} at {plain_url(url)}"
    certificate = certificate_fault(error)
    if certificate is not None:
        return Unreachable(
            f"{where} shows a certificate that is not trusted: {certificate}",
            server=server,
            hint="Give the CA that signed it as `ca_file`, or set `verify_tls` to false for this server alone.",
        )
    reason = shorten(str(error)) or type(error).__name__
    if isinstance(error, httpx2.ConnectTimeout):
        return Unreachable(f"{where} did not accept a connection in time", server=server)
    if isinstance(error, httpx2.ConnectError | httpx2.PoolTimeout | httpx2.ProxyError | httpx2.UnsupportedProtocol):
        return Unreachable(f"{where} cannot be reached: {reason}", server=server)
    if isinstance(error, httpx2.InvalidURL | httpx2.LocalProtocolError):
        return Unreachable(f"{where} cannot be asked: {reason}", server=server, kind=Kind.PROTOCOL)
    return DownstreamError(
        f"{where} dropped the connection before it answered: {reason}", server=server, kind=Kind.CRASHED
    )


def certificate_fault(error: BaseException) -> str | None:
    """The certificate's fault among the causes of an error."""
    cause: BaseException | None = error
    for _ in range(10):
        if isinstance(cause, ssl.SSLCertVerificationError):
            return cause.verify_message or str(cause)
        if cause is None:
            break
        cause = cause.__cause__ or cause.__context__
    text = str(error)
    return shorten(text) if "CERTIFICATE_VERIFY_FAILED" in text else None


def not_mcp(server: str, url: httpx2.URL, content_type: str, body: str) -> DownstreamError:
    """A success that holds no JSON-RPC."""
    kind = content_type.partition(";")[0].strip() or "no content type"
    page = "a web page" if "html" in kind or body.lstrip()[:1] == "<" else f"{kind} that is no JSON-RPC"
    return DownstreamError(
        f"server {server!r} at {plain_url(url)} answered with {page} instead of MCP: {shorten(body)}",
        server=server,
        kind=Kind.PROTOCOL,
        hint="Check the `url`; many servers listen at /mcp.",
    )


def login_hint(server: str, challenge: str) -> str:
    """The step to take after a 401, from its WWW-Authenticate header."""
    found = re.search(r'resource_metadata="([^"]+)"', challenge)
    where = f" (its login is described at {shorten(found.group(1))})" if found else ""
    return f"Put a valid token for {server!r} in its `headers`, as `Authorization: Bearer …`{where}."


def retry_after(value: str, now: float) -> float | None:
    """Seconds of a Retry-After header, given as seconds or as a date (RFC 9110, 10.2.3); None when it is neither."""
    text = value.strip()
    if text.isascii() and text.isdigit():
        return float(text[:9])
    try:
        return max(0.0, parsedate_to_datetime(text).timestamp() - now)
    except ValueError:
        return None


def plain_url(url: httpx2.URL) -> str:
    """An address without user part, query and fragment, which may hold secrets."""
    return str(url.copy_with(userinfo=b"", query=None, fragment=None))


def forwarded(headers: Mapping[str, str], names: tuple[str, ...]) -> dict[str, str]:
    """Those of a caller's headers that the server's entry names."""
    wanted = {name.lower() for name in names} - NEVER_FORWARDED
    return {name: headers[name] for name in wanted if name in headers and not name.startswith("mcp-")}


def _said(body: str) -> str:
    text = shorten(re.sub(r"<[^>]*>", " ", body), 120)
    return f": {text}" if text else ""
