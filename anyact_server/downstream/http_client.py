"""The shared HTTP client: one for all servers with the same demands on certificates and addresses.

Opening a client costs tens of milliseconds for its certificate store, so it happens on first use, once for each kind.
Proxies come from the environment, redirects are followed by the caller's own rule, cookies are kept per connection.
"""

from __future__ import annotations

import ssl
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from http.cookiejar import CookieJar, DefaultCookiePolicy

import anyio
import httpx2

from anyact_server.errors import DownstreamError
from anyact_server.telemetry import logger
from anyact_server.types import Kind, ServerSpec

from .guard import GuardedTransport, checked, proxied
from .http_rules import next_url
from .wire import Sink, Unreachable

LOG = logger("downstream")
CONNECT_S = 10.0
MOST_REDIRECTS = 5
TIMEOUT = httpx2.Timeout(None, connect=CONNECT_S)
"""Only connecting has a limit of its own here; waiting for an answer is bounded by the limits of the call."""
LIMITS = httpx2.Limits(max_connections=None, max_keepalive_connections=100, keepalive_expiry=30.0)


class Clients:
    """Opens clients on first use and closes them all at the end."""

    def __init__(self) -> None:
        self._stack = AsyncExitStack()
        self._clients: dict[tuple[str | None, bool, str | None], httpx2.AsyncClient] = {}

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Close every client when the block ends."""
        async with self._stack:
            yield
        self._clients.clear()

    async def courier(self, spec: ServerSpec, sink: Sink) -> Courier:
        """Who carries the requests of one connection to a server.

        Raises:
            Unreachable: as `for_server`, or a configured header cannot be sent.
        """
        if not spec.verify_tls:
            sink.warn("is trusted whatever certificate it shows: certificates are not checked (`verify_tls` is false)")
        return Courier(spec, await self.for_server(spec))

    async def for_server(self, spec: ServerSpec) -> httpx2.AsyncClient:
        """The client for a server.

        Raises:
            Unreachable: its CA file cannot be read, or its address may not be reached.
        """
        guard = await self._guard(spec)
        key = (spec.ca_file, spec.verify_tls, guard)
        client = self._clients.get(key)
        if client is None:
            client = self._open(spec, guard)
            self._clients[key] = client
            self._stack.push_async_callback(client.aclose)
        return client

    async def _guard(self, spec: ServerSpec) -> str | None:
        """The name under which a server's addresses are checked; None for servers that are trusted."""
        if spec.trust == "local":
            return None
        url = address(spec)
        if not proxied(url):
            return spec.name
        try:
            await checked(url.host, url.port, server=spec.name)
        except OSError:
            LOG.debug("%s: only the proxy can resolve %s", spec.name, url.host)
        return None

    def _open(self, spec: ServerSpec, guard: str | None) -> httpx2.AsyncClient:
        context = tls_context(spec)
        cookies = CookieJar(DefaultCookiePolicy(allowed_domains=[]))
        if guard is None:
            return httpx2.AsyncClient(verify=context, timeout=TIMEOUT, limits=LIMITS, cookies=cookies)
        transport = GuardedTransport(httpx2.AsyncHTTPTransport(verify=context, limits=LIMITS), guard)
        return httpx2.AsyncClient(transport=transport, timeout=TIMEOUT, cookies=cookies)


def address(spec: ServerSpec) -> httpx2.URL:
    """The configured address, exactly as written.

    Raises:
        Unreachable: it is none.
    """
    try:
        url = httpx2.URL(spec.url or "")
    except httpx2.InvalidURL as error:
        raise Unreachable(f"server {spec.name!r}: its url is not valid: {error}", server=spec.name) from error
    if url.scheme not in ("http", "https") or not url.host:
        raise Unreachable(
            f"server {spec.name!r}: its url does not begin with http:// or https:// and a host", server=spec.name
        )
    return url


def tls_context(spec: ServerSpec) -> ssl.SSLContext:
    """How certificates of a server are checked: the system's store, its own CA file in addition, or not at all.

    Raises:
        Unreachable: the CA file cannot be read.
    """
    if not spec.verify_tls:
        return httpx2.create_ssl_context(verify=False)
    context = httpx2.create_ssl_context()
    if spec.ca_file is not None:
        try:
            context.load_verify_locations(cafile=spec.ca_file)
        except OSError as error:
            raise Unreachable(
                f"server {spec.name!r}: its CA file {spec.ca_file} cannot be used: {error.strerror or error}",
                server=spec.name,
                hint="Give a PEM file as `ca_file`.",
            ) from error
    return context


class Courier:
    """Sends the requests of one connection: its headers, its cookies, its rule for redirects."""

    def __init__(self, spec: ServerSpec, client: httpx2.AsyncClient) -> None:
        self._client = client
        self._headers = {name.lower().encode("latin-1"): header_value(spec, name) for name in spec.headers}
        self._cookies = httpx2.Cookies()

    @asynccontextmanager
    async def exchange(
        self, method: str, url: httpx2.URL, headers: dict[str, str], content: bytes | None = None
    ) -> AsyncIterator[httpx2.Response]:
        """Send one request and give its answer, unread; redirects within the origin are followed.

        Raises:
            httpx2.HTTPError, httpx2.InvalidURL: no answer came.
        """
        target = url
        for _ in range(MOST_REDIRECTS + 1):
            encoded = {name.encode(): value.encode("latin-1", "replace") for name, value in headers.items()}
            request = self._client.build_request(method, target, headers={**self._headers, **encoded}, content=content)
            if self._cookies:
                self._cookies.set_cookie_header(request)
            response = await self._client.send(request, stream=True, follow_redirects=False)
            if "set-cookie" in response.headers:
                self._cookies.extract_cookies(response)
            onward = next_url(target, method, response.status_code, response.headers.get("location"))
            if onward is None:
                break
            await response.aclose()
            target = onward
        try:
            yield response
        finally:
            with anyio.CancelScope(shield=True):
                await response.aclose()


def header_value(spec: ServerSpec, name: str) -> bytes:
    """A configured header as it is sent.

    Raises:
        Unreachable: name or value cannot stand in a header.
    """
    try:
        name.encode("ascii")
        return spec.headers[name].strip().encode("latin-1")
    except UnicodeEncodeError:
        raise Unreachable(
            f"server {spec.name!r}: header {name!r} holds letters that HTTP cannot carry", server=spec.name
        ) from None


def too_large(server: str, limit: int) -> DownstreamError:
    """An answer over the limit."""
    return DownstreamError(
        f"server {server!r} sent more than {limit} bytes at once (setting `line_bytes`)",
        server=server,
        kind=Kind.PROTOCOL,
    )
