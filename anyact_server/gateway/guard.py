"""Keeps web pages away: every request's Host and Origin are checked before any work, on every route.

A page that a user visits can make the browser send requests to loopback (DNS rebinding, cross-site posts). It cannot
choose the Host header freely nor drop the Origin header, so these two tell it apart.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Iterable

from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from anyact_server.errors import UsageError
from anyact_server.types import Kind

from .rest_answers import answer, error_body

LOOPBACK_NAMES = frozenset({"localhost", "127.0.0.1", "::1"})
ALLOWED_METHODS = "GET, POST, DELETE, OPTIONS"
ALLOWED_HEADERS = (
    "authorization, content-type, accept, last-event-id, mcp-session-id, mcp-protocol-version, mcp-method, mcp-name"
)


HOST = re.compile(r"(?:\[([0-9a-f:.]+)\]|([a-z0-9_.-]+))(?::[0-9]*)?", re.ASCII)
"""A Host header, lower case: a name or an address, IPv6 in brackets, then perhaps a port."""


def host_name(header: str) -> str:
    """The name in a Host header, lower case, without port, brackets and final dot; empty when it is malformed."""
    found = HOST.fullmatch(header.strip().lower())
    return (found[1] or found[2]).rstrip(".") if found else ""


def wide(host: str) -> bool:
    """Whether listening on a host lets other machines in."""
    return not is_loopback(host_name(f"[{host}]" if ":" in host else host))


def is_loopback(name: str) -> bool:
    """Whether a host name or address means this machine only."""
    if name in LOOPBACK_NAMES:
        return True
    try:
        return ipaddress.ip_address(name).is_loopback
    except ValueError:
        return False


def listen_check(host: str, *, tokens_exist: bool) -> None:
    """Refuse to listen wider than loopback without a token.

    Raises:
        UsageError: anybody who reaches the address could call everything.
    """
    if tokens_exist or not wide(host):
        return
    raise UsageError(
        f"refusing to listen on {host} without a token: whoever reaches it could call everything",
        hint="Make one (anyact token create NAME), set ANYACT_TOKEN, or listen on 127.0.0.1.",
    )


class Gate:
    """The decision: which hosts and origins are answered. Pure.

    Args:
        bound: the address that is listened on.
        hosts: further names that the Host header may carry (a reverse proxy's, say).
        origins: origins of web pages that may call, such as `https://app.example.org`.
    """

    def __init__(self, bound: str, hosts: Iterable[str] = (), origins: Iterable[str] = ()) -> None:
        everywhere = bound in ("0.0.0.0", "::", "")
        own = set() if everywhere else {host_name(f"[{bound}]" if ":" in bound else bound)}
        self._hosts = frozenset((own | {host_name(host) for host in hosts}) - {""})
        self._origins = frozenset(origin.rstrip("/").lower() for origin in origins)
        self._any_address = everywhere

    def refusal(self, host: str | None, origin: str | None, site: str | None = None) -> str | None:
        """Why a request is refused; None when it is answered.

        Args:
            host: the Host header.
            origin: the Origin header.
            site: the Sec-Fetch-Site header, by which browsers mark the requests that carry no Origin, such as those
                for a picture of a page.
        """
        name = host_name(host or "")
        if not name or not self._host_fits(name):
            return "this Host is not served here"
        if origin is not None:
            return None if self.allows_origin(origin) else "this Origin may not call here"
        return "pages of other sites may not call here" if site == "cross-site" else None

    def names_origin(self, origin: str) -> bool:
        """Whether the origin was allowed by name: only such pages may read answers (CORS)."""
        return origin.rstrip("/").lower() in self._origins

    def allows_origin(self, origin: str) -> bool:
        """Whether a page of this origin is answered: a named one, or one served from this very machine."""
        if self.names_origin(origin):
            return True
        scheme, _, rest = origin.partition("://")
        return scheme.lower() in ("http", "https") and is_loopback(host_name(rest))

    def _host_fits(self, name: str) -> bool:
        if is_loopback(name) or name in self._hosts:
            return True
        # Listening on every address, a token is required, and a literal address cannot be rebound by a name server.
        return self._any_address and _is_address(name)


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True


class Guard:
    """ASGI middleware around the whole application; answers preflights of allowed origins itself."""

    def __init__(self, app: ASGIApp, gate: Gate) -> None:
        self.app = app
        self._gate = gate

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "websocket":
            # Nothing here speaks it, and browsers open it across sites without asking.
            await send({"type": "websocket.close", "code": 1008})
        elif scope["type"] != "http":
            await self.app(scope, receive, send)
        else:
            await self._checked(scope, receive, send)

    async def _checked(self, scope: Scope, receive: Receive, send: Send) -> None:
        origin = _header(scope, b"origin")
        refusal = self._gate.refusal(_header(scope, b"host"), origin, _header(scope, b"sec-fetch-site"))
        if refusal is not None:
            await _refused(refusal)(scope, receive, send)
        elif origin is None or not self._gate.names_origin(origin):
            await self.app(scope, receive, send)
        elif scope["method"] == "OPTIONS":
            await Response(status_code=204, headers=_cors(origin))(scope, receive, send)
        else:
            await self.app(scope, receive, _with_headers(send, _cors(origin)))


def _header(scope: Scope, name: bytes) -> str | None:
    values = [value for key, value in scope["headers"] if key.lower() == name]
    # Two Host headers are an attempt to be read differently by two programs.
    return values[0].decode("latin-1") if len(values) == 1 else "" if values else None


def _refused(reason: str) -> Response:
    hint = "Allow it with --allow-host or --allow-origin if it is yours."
    return answer(error_body(Kind.REFUSED_BY_POLICY, reason, hint), 403)


def _cors(origin: str) -> dict[str, str]:
    return {
        "Access-Control-Allow-Origin": origin,
        "Access-Control-Allow-Methods": ALLOWED_METHODS,
        "Access-Control-Allow-Headers": ALLOWED_HEADERS,
        "Access-Control-Expose-Headers": "location, mcp-session-id, mcp-protocol-version, retry-after",
        "Vary": "Origin",
    }


def _with_headers(send: Send, headers: dict[str, str]) -> Send:
    extra = [(name.lower().encode("latin-1"), value.encode("latin-1")) for name, value in headers.items()]

    async def sending(message: Message) -> None:
        if message["type"] == "http.response.start":
            message = {**message, "headers": [*message.get("headers", []), *extra]}
        await send(message)

    return sending
