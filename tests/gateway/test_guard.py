"""Web pages kept away."""

from __future__ import annotations

import httpx2
import pytest
from starlette.types import Message, Scope

from anyact_server.errors import UsageError
from anyact_server.gateway import Gate, Guard, listen_check, wide
from anyact_server.gateway.guard import host_name, is_loopback

from .clients import Tokens
from .twins import action, world
from .web import asking, served, web_app

pytestmark = pytest.mark.anyio

ROUTES = ("/mcp", "/sse", "/messages/", "/healthz", "/v1/health", "/v1/search", "/v1/call", "/openapi.json", "/nope")
FOREIGN = (
    "evil.example",
    "localhost.evil.example",
    "127.0.0.1.evil.example",
    "evil.example:8484",
    "192.168.1.5",
    "localhost/evil.example",
    "evil.example@localhost",
    "localhost evil.example",
    "[::1",
    "0.0.0.0",
    "",
)
OWN = ("localhost", "LOCALHOST", "localhost:8484", "localhost.", "127.0.0.1:1", "127.9.9.9", "[::1]", "[::1]:8484")


@pytest.mark.parametrize(
    ("header", "name"),
    [
        ("LocalHost:80", "localhost"),
        ("[::1]:80", "::1"),
        ("example.org.", "example.org"),
        ("a b", ""),
        ("[::1", ""),
        ("a:b", ""),
        ("user@host", ""),
        ("ⓛocalhost", ""),
        ("", ""),
    ],
)
def test_the_name_in_a_host_header_is_read_strictly(header: str, name: str) -> None:
    """What is malformed has no name, so that two programs cannot read it differently."""
    assert host_name(header) == name


def test_loopback_is_known_by_name_and_by_address() -> None:
    """And nothing else is."""
    assert all(is_loopback(name) for name in ("localhost", "127.0.0.1", "127.8.8.8", "::1"))
    assert not any(is_loopback(name) for name in ("0.0.0.0", "::", "localhost.example", "10.0.0.1", ""))


@pytest.mark.case("X1")
@pytest.mark.parametrize("host", OWN)
def test_loopback_hosts_are_answered_whatever_the_port(host: str) -> None:
    """Names and addresses, also behind a mapped port."""
    assert Gate("127.0.0.1").refusal(host, None) is None


@pytest.mark.case("X1")
@pytest.mark.parametrize("host", FOREIGN)
def test_foreign_and_malformed_hosts_are_refused(host: str) -> None:
    """A page whose name was made to point here cannot choose its Host header."""
    assert Gate("127.0.0.1").refusal(host, None) == "this Host is not served here"


@pytest.mark.case("X1")
@pytest.mark.parametrize(
    ("origin", "fits"),
    [
        (None, True),
        ("http://localhost:3000", True),
        ("https://127.0.0.1", True),
        ("http://[::1]:5173", True),
        ("null", False),
        ("", False),
        ("https://evil.example", False),
        ("http://localhost.evil.example", False),
        ("http://[::1", False),
        ("http://localhost:80/path", False),
        ("file://localhost", False),
        ("localhost", False),
    ],
)
def test_only_pages_of_this_machine_are_answered(origin: str | None, fits: bool) -> None:
    """A program sends no Origin; a malformed one is foreign, not an error."""
    assert (Gate("127.0.0.1").refusal("localhost", origin) is None) is fits


def test_what_is_allowed_by_name_is_answered() -> None:
    """Names of hosts without regard to ports, origins as a whole."""
    gate = Gate("10.0.0.7", ["Proxy.Example:443"], ["https://App.example/"])
    assert gate.refusal("10.0.0.7:8484", None) is None
    assert gate.refusal("proxy.example", "https://app.example") is None
    assert gate.refusal("proxy.example", "https://app.example:8443") is not None
    assert gate.refusal("10.0.0.8", None) is not None
    assert gate.names_origin("https://APP.example") and not gate.names_origin("http://localhost")


def test_listening_everywhere_any_address_is_answered_but_no_unknown_name() -> None:
    """A literal address cannot be made to point elsewhere; and a token is required there."""
    for bound in ("0.0.0.0", "::"):
        gate = Gate(bound)
        assert gate.refusal("192.168.1.5:8484", None) is None
        assert gate.refusal("[fe80::1]", None) is None
        assert gate.refusal("evil.example", None) is not None


@pytest.mark.case("X1")
def test_requests_that_browsers_mark_as_cross_site_are_refused_without_an_origin_too() -> None:
    """Pictures and links of a page carry no Origin."""
    gate = Gate("127.0.0.1", origins=["https://app.example"])
    assert gate.refusal("localhost", None, "cross-site") is not None
    assert gate.refusal("localhost", None, "none") is None
    assert gate.refusal("localhost", "https://app.example", "cross-site") is None


@pytest.mark.case("X1")
@pytest.mark.parametrize("path", ROUTES)
async def test_every_route_refuses_foreign_hosts_and_origins_before_any_work(path: str) -> None:
    """On a real port, with the one error body; no token is looked at."""
    made = world([action("demo", "echo")])
    headers: tuple[dict[str, str], ...] = (
        {"Host": "evil.example"},
        {"Origin": "https://evil.example"},
        {"Origin": "null"},
        {"Sec-Fetch-Site": "cross-site"},
    )
    async with served(web_app(made.parts, tokens=Tokens(secret="ada"))) as url, httpx2.AsyncClient() as http:
        for wrong in headers:
            for method in ("GET", "POST", "OPTIONS", "DELETE"):
                refused = await http.request(method, url + path, headers=wrong)
                assert refused.status_code == 403
                assert refused.json()["error"]["kind"] == "refused_by_policy"
                assert "access-control-allow-origin" not in refused.headers
        right = await http.get(f"{url}/healthz", headers={"Origin": "http://localhost:3000"})
        assert right.status_code == 200
    assert not made.space.calls and not made.space.queries


@pytest.mark.case("X1")
async def test_two_host_headers_are_refused() -> None:
    """Each program would choose another one."""
    async with asking(web_app(world().parts)) as http:
        pairs = [("host", "localhost"), ("host", "localhost")]
        assert (await http.get("/healthz", headers=pairs)).status_code == 403


@pytest.mark.case("X1")
async def test_only_origins_allowed_by_name_may_read_answers() -> None:
    """Their preflight is answered; no answer has a wildcard, none mirrors what it was sent."""
    gate = Gate("127.0.0.1", origins=["https://app.example"])
    ask = {"Access-Control-Request-Method": "POST", "Access-Control-Request-Headers": "authorization"}
    async with asking(web_app(world().parts, gate=gate, tokens=Tokens(secret="ada"))) as http:
        named = {"Origin": "https://app.example"}
        preflight = await http.options("/v1/call", headers={**named, **ask})
        assert preflight.status_code == 204
        assert preflight.headers["access-control-allow-origin"] == "https://app.example"
        assert "authorization" in preflight.headers["access-control-allow-headers"]
        plain = await http.get("/v1/servers", headers={**named, "Authorization": "Bearer secret"})
        assert plain.headers["access-control-allow-origin"] == "https://app.example"
        assert plain.headers["vary"] == "Origin"
        refused = await http.get("/v1/servers", headers=named)
        assert (refused.status_code, refused.headers["access-control-allow-origin"]) == (401, "https://app.example")
        local = await http.options("/v1/call", headers={"Origin": "http://localhost:3000", **ask})
        assert local.status_code in (401, 405)
        assert "access-control-allow-origin" not in local.headers


async def test_websockets_are_closed_and_the_lifespan_passes() -> None:
    """Nothing here speaks websockets, and browsers open them across sites without asking."""
    seen: list[str] = []
    sent: list[Message] = []

    async def app(scope: Scope, receive: object, send: object) -> None:
        seen.append(scope["type"])

    async def receive() -> Message:
        return {"type": "websocket.connect"}

    async def send(message: Message) -> None:
        sent.append(message)

    guard = Guard(app, Gate("127.0.0.1"))
    await guard({"type": "websocket", "headers": []}, receive, send)
    await guard({"type": "lifespan"}, receive, send)
    assert seen == ["lifespan"]
    assert sent == [{"type": "websocket.close", "code": 1008}]


@pytest.mark.case("X1")
@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.168.1.5", "example.org", ""])
def test_listening_wider_than_loopback_needs_a_token(host: str) -> None:
    """Else whoever reaches the address could call everything."""
    assert wide(host)
    with pytest.raises(UsageError, match="refusing to listen on") as refused:
        listen_check(host, tokens_exist=False)
    assert "anyact token create" in str(refused.value.hint)
    listen_check(host, tokens_exist=True)


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "::1", "127.1.2.3"])
def test_loopback_needs_no_token(host: str) -> None:
    """Only this machine reaches it."""
    assert not wide(host)
    listen_check(host, tokens_exist=False)
