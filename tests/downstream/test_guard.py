"""Servers that came over the network reach public addresses only."""

from __future__ import annotations

import ipaddress

import httpx2
import pytest

from anyact_server.downstream.guard import Forbidden, GuardedTransport, checked, proxied, why_forbidden
from anyact_server.types import Kind

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize(
    ("address", "words"),
    [
        ("127.0.0.1", "this machine"),
        ("::1", "this machine"),
        ("169.254.169.254", "metadata"),
        ("fe80::1", "metadata"),
        ("10.1.2.3", "private"),
        ("172.16.0.1", "private"),
        ("192.168.1.1", "private"),
        ("100.64.0.1", "private"),
        ("fd00:ec2::254", "private"),
        ("0.0.0.0", "no address"),
        ("224.0.0.1", "no address"),
        ("ff02::1", "no address"),
        ("240.0.0.1", "no address"),
        ("::ffff:127.0.0.1", "this machine"),
        ("::ffff:10.0.0.1", "private"),
        ("64:ff9b::7f00:1", "this machine"),
        ("2002:7f00:1::", "this machine"),
    ],
)
def test_addresses_out_of_bounds_are_named(address: str, words: str) -> None:
    """Also where an IPv6 address stands for an IPv4 one."""
    why = why_forbidden(ipaddress.ip_address(address))
    assert why is not None and words in why


@pytest.mark.parametrize("address", ["8.8.8.8", "2606:4700::1111", "::ffff:8.8.8.8"])
def test_public_addresses_are_fine(address: str) -> None:
    """Nothing else is refused."""
    assert why_forbidden(ipaddress.ip_address(address)) is None


async def test_names_are_judged_by_what_they_resolve_to() -> None:
    """`localhost` is this machine however it is spelled."""
    with pytest.raises(Forbidden) as caught:
        await checked("localhost", 80, server="s")
    assert caught.value.kind is Kind.PERMISSION and not caught.value.may_have_run
    assert await checked("8.8.8.8", 443, server="s") == ["8.8.8.8"]


async def test_requests_go_to_the_checked_address_under_the_name() -> None:
    """The address is pinned, the certificate is checked against the name, the Host header stays."""
    seen: list[httpx2.Request] = []

    def answer(request: httpx2.Request) -> httpx2.Response:
        seen.append(request)
        return httpx2.Response(200)

    transport = GuardedTransport(httpx2.MockTransport(answer), "s")
    async with httpx2.AsyncClient(transport=transport) as client:
        await client.get("http://8.8.8.8:81/x")
        assert seen[0].url == "http://8.8.8.8:81/x"
        assert (seen[0].headers["host"], seen[0].extensions["sni_hostname"]) == ("8.8.8.8:81", "8.8.8.8")
        with pytest.raises(Forbidden):
            await client.get("http://127.0.0.1/x")
        with pytest.raises(httpx2.ConnectError):
            await client.get("http://no-such-host.invalid/x")
    assert len(seen) == 1


def test_the_environment_says_what_goes_through_a_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    """`NO_PROXY` counts."""
    monkeypatch.setenv("HTTPS_PROXY", "http://proxy:1")
    monkeypatch.setenv("NO_PROXY", "inside.example")
    assert proxied(httpx2.URL("https://outside.example/"))
    assert not proxied(httpx2.URL("https://inside.example/"))
    assert not proxied(httpx2.URL("http://outside.example/"))
