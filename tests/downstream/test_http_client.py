"""The shared HTTP client: private certificates, proxies, guarded addresses."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from anyio.abc import SocketStream

from anyact_server.downstream.http_client import Clients, address, header_value
from anyact_server.errors import DownstreamError
from anyact_server.types import Kind, ServerSpec
from tests.servers import certificates, plain
from tests.servers.raw_http import RawHttp, sockets

from .kit import web, world

pytestmark = pytest.mark.anyio


@pytest.mark.case("H3")
async def test_a_private_certificate_is_trusted_where_its_ca_is_given(tmp_path: Path) -> None:
    """Only for the server that names the CA; another one gets an error that says it is the certificate."""
    made = certificates.make(tmp_path)
    async with plain.listening(RawHttp().app, tls=made) as port:
        trusting = ServerSpec("trusting", "http", url=f"https://localhost:{port}/mcp", ca_file=str(made.ca))
        strict = replace(trusting, name="strict", ca_file=None)
        careless = replace(strict, name="careless", verify_tls=False)
        async with world(trusting, strict, careless) as w:
            assert await w.data("trusting", "echo", n=1) == {"n": 1}
            with pytest.raises(DownstreamError, match="certificate that is not trusted") as caught:
                await w.call("strict", "echo")
            assert caught.value.hint is not None and "ca_file" in caught.value.hint
            assert not caught.value.may_have_run
            assert await w.data("careless", "echo", n=2) == {"n": 2}
            assert any("certificates are not checked" in text for text in w.pool.status("careless").warnings)
            assert not w.pool.status("trusting").warnings


@pytest.mark.parametrize("content", [None, "no certificate"])
async def test_a_ca_file_that_cannot_be_used_is_named(tmp_path: Path, content: str | None) -> None:
    """Missing or no PEM: the server fails with the file's name."""
    path = tmp_path / "ca.pem"
    if content is not None:
        path.write_text(content, encoding="utf-8")
    async with world(web(1, ca_file=str(path))) as w:
        with pytest.raises(DownstreamError, match=str(path)):
            await w.call("web", "echo")


@pytest.mark.case("H3")
async def test_proxy_variables_are_obeyed(monkeypatch: pytest.MonkeyPatch) -> None:
    """A request goes to the proxy with its whole address; a server in the no-proxy list is reached directly."""
    heard: list[bytes] = []

    async def proxy(stream: SocketStream) -> None:
        heard.append(await stream.receive())
        await stream.send(b"HTTP/1.1 502 Bad Gateway\r\ncontent-length: 0\r\n\r\n")

    async with sockets(proxy) as proxy_port, plain.listening(RawHttp().app) as port:
        monkeypatch.setenv("HTTP_PROXY", f"http://127.0.0.1:{proxy_port}")
        monkeypatch.setenv("NO_PROXY", "127.0.0.1")
        outside = ServerSpec("outside", "http", url="http://outside.invalid/mcp")
        async with world(outside, web(port)) as w:
            with pytest.raises(DownstreamError):
                await w.call("outside", "echo")
            assert heard[0].startswith(b"POST http://outside.invalid/mcp ")
            assert await w.data("web", "echo", n=1) == {"n": 1}


async def test_servers_from_the_network_do_not_reach_this_machine() -> None:
    """Refused before anything is sent, by name and by number."""
    server = RawHttp()
    async with plain.listening(server.app) as port:
        named = ServerSpec("named", "http", url=f"http://localhost:{port}/mcp", trust="network")
        async with world(web(port, trust="network"), named) as w:
            for name in ("web", "named"):
                with pytest.raises(DownstreamError, match="this machine") as caught:
                    await w.call(name, "echo")
                assert caught.value.kind is Kind.PERMISSION
    assert server.frames == []


async def test_the_network_is_guarded_behind_a_proxy_too(monkeypatch: pytest.MonkeyPatch) -> None:
    """What resolves to a private address is not asked of the proxy either; what only the proxy knows is."""
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    monkeypatch.delenv("NO_PROXY", raising=False)
    monkeypatch.delenv("no_proxy", raising=False)
    clients = Clients()
    async with clients.running():
        with pytest.raises(DownstreamError, match="private"):
            await clients.for_server(ServerSpec("s", "http", url="http://10.0.0.1/mcp", trust="network"))
        await clients.for_server(ServerSpec("s", "http", url="http://no-such-host.invalid/mcp", trust="network"))


async def test_servers_with_the_same_demands_share_a_client(tmp_path: Path) -> None:
    """Another CA, or no checks, make another one."""
    ca = str(certificates.make(tmp_path).ca)
    clients = Clients()
    async with clients.running():
        first = await clients.for_server(web(1, name="a"))
        assert await clients.for_server(web(2, name="b")) is first
        assert await clients.for_server(web(1, ca_file=ca)) is not first
        assert await clients.for_server(web(1, verify_tls=False)) is not first


def test_addresses_and_headers_are_taken_as_written() -> None:
    """Slash and query stay; blanks around a header go."""
    assert str(address(web(1, "/mcp/?a=b"))) == "http://127.0.0.1:1/mcp/?a=b"
    assert header_value(web(1, headers={"x": " ü "}), "x") == "ü".encode("latin-1")
