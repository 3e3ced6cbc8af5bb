"""Which addresses a server that came over the network may not reach (decision 14), and a transport that keeps to it.

Whoever publishes a server's address must not be able to point AnyAct at this machine, its network or the metadata
service of its cloud. Names are resolved here and the checked address itself is connected to, so that a second answer of
the name server cannot slip in between.
"""

from __future__ import annotations

import ipaddress
import socket
from collections.abc import Sequence
from urllib.request import getproxies, proxy_bypass

import anyio
import httpx2

from anyact_server.errors import DownstreamError
from anyact_server.types import Kind

IPAddress = ipaddress.IPv4Address | ipaddress.IPv6Address
NAT64 = ipaddress.IPv6Network("64:ff9b::/96")
"""Well-known prefix of addresses that stand for IPv4 ones (RFC 6052)."""


class Forbidden(DownstreamError):
    """An address that this server may not reach."""

    def __init__(self, host: str, why: str, *, server: str) -> None:
        super().__init__(
            f"server {server!r} may not reach {host}: {why}",
            server=server,
            kind=Kind.PERMISSION,
            may_have_run=False,
            hint="Add the server to your own configuration if you trust this address.",
        )


def why_forbidden(address: IPAddress) -> str | None:
    """Why an address is out of bounds; None when it is a public one."""
    inner = _embedded(address)
    if inner is not None:
        return why_forbidden(inner)
    if address.is_loopback:
        return "it is this machine"
    if address.is_link_local:
        return "it is link-local (metadata services live there)"
    if address.is_multicast or address.is_unspecified or address.is_reserved:
        return "it is no address of a single public machine"
    return None if address.is_global else "it is a private address"


def _embedded(address: IPAddress) -> ipaddress.IPv4Address | None:
    """The IPv4 address that an IPv6 one stands for, if it does."""
    if isinstance(address, ipaddress.IPv4Address):
        return None
    if address in NAT64:
        return ipaddress.IPv4Address(int(address) & 0xFFFFFFFF)
    return address.ipv4_mapped or address.sixtofour


async def checked(host: str, port: int | None, *, server: str) -> Sequence[str]:
    """The addresses of a host, all of them public.

    Raises:
        Forbidden: one of them is not.
        OSError: the name cannot be resolved.
    """
    found = await anyio.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    addresses = list(dict.fromkeys(str(entry[4][0]) for entry in found))
    for text in addresses:
        why = why_forbidden(ipaddress.ip_address(text.partition("%")[0]))
        if why is not None:
            raise Forbidden(host, why, server=server)
    return addresses


def proxied(url: httpx2.URL) -> bool:
    """Whether the environment sends requests for this address through a proxy."""
    proxies = getproxies()
    return bool(proxies.get(url.scheme) or proxies.get("all")) and not proxy_bypass(url.host)


class GuardedTransport(httpx2.AsyncBaseTransport):
    """Connects to checked addresses only; certificates are still checked against the name."""

    def __init__(self, inner: httpx2.AsyncBaseTransport, server: str) -> None:
        self._inner = inner
        self._server = server

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        host = request.url.host
        try:
            addresses = await checked(host, request.url.port, server=self._server)
        except OSError as error:
            raise httpx2.ConnectError(str(error), request=request) from error
        pinned = httpx2.Request(
            request.method,
            request.url.copy_with(host=addresses[0]),
            headers=request.headers,
            stream=request.stream,
            extensions={**request.extensions, "sni_hostname": host},
        )
        return await self._inner.handle_async_request(pinned)

    async def aclose(self) -> None:
        await self._inner.aclose()
