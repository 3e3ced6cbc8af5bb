"""Finding out which era a server speaks, whatever it answers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import anyio
import pytest

from anyact_server.downstream.eras import Agreement, agree, dress, remembered, supported_versions, wanted_level
from anyact_server.errors import DownstreamError, RemoteError
from anyact_server.types import Era, JsonObject, Kind

from .kit import BOUND_S, raw, world

pytestmark = pytest.mark.anyio
HELLO = {
    "protocolVersion": "2025-06-18",
    "capabilities": {"tools": {}},
    "serverInfo": {"name": "n"},
    "instructions": "i",
}
SELF = {
    "supportedVersions": ["2025-11-25", "2026-07-28"],
    "capabilities": {"tools": {}},
    "_meta": {"io.modelcontextprotocol/serverInfo": {"name": "n"}},
}
Answer = JsonObject | Exception | None


class Server:
    """Answers the two opening requests as a test wants; None is silence."""

    def __init__(self, discover: Answer, initialize: Answer, later: Answer = None) -> None:
        self.answers: dict[str, list[Answer]] = {"server/discover": [discover], "initialize": [initialize, later]}
        self.asked: list[tuple[str, JsonObject, Mapping[str, str]]] = []
        self.told = anyio.Event()

    async def ask(self, method: str, params: JsonObject, headers: Mapping[str, str]) -> JsonObject:
        self.asked.append((method, params, headers))
        answers = self.answers[method]
        answer = answers.pop(0) if len(answers) > 1 else answers[0]
        if answer is None:
            await self.told.wait()
            answer = SELF
        if isinstance(answer, Exception):
            raise answer
        return answer

    async def agree(self, era: Era = "auto", patience_s: float = 5.0) -> Agreement:
        with anyio.fail_after(5):
            return await agree(self.ask, era, abilities={"roots": {}}, server="s", patience_s=patience_s)

    def methods(self) -> list[str]:
        return [method for method, _, _ in self.asked]


def remote(code: int, data: Any = None) -> RemoteError:
    """A JSON-RPC error."""
    return RemoteError(code, "no", data, server="s")


def fault(kind: Kind) -> DownstreamError:
    """A connection's fault."""
    return DownstreamError("fault", server="s", kind=kind)


async def test_a_modern_server_is_found_in_one_round_trip() -> None:
    """The newest version both know, and what the server says of itself."""
    server = Server(SELF, None)
    found = await server.agree()
    assert found == Agreement("2026-07-28", True, {"tools": {}}, {"name": "n"}, None)
    assert server.methods() == ["server/discover"]
    assert server.asked[0][2] == {"mcp-protocol-version": "2026-07-28", "mcp-method": "server/discover"}
    assert remembered(found) == "modern"


@pytest.mark.parametrize(
    "discover",
    [
        remote(-32601),
        remote(-32602),
        remote(-32600),
        remote(-32022, {"supported": ["2025-11-25"]}),
        remote(-32022, "nonsense"),
        {"supportedVersions": ["2025-06-18"]},
        {"anything": "else"},
        fault(Kind.PROTOCOL),
        fault(Kind.UPSTREAM_4XX),
        fault(Kind.UPSTREAM_5XX),
    ],
)
async def test_every_refusal_seen_in_the_field_leads_to_the_handshake(discover: Answer) -> None:
    """Whatever an old server makes of the unknown request."""
    server = Server(discover, HELLO)
    found = await server.agree()
    assert found == Agreement("2025-06-18", False, {"tools": {}}, {"name": "n"}, "i")
    assert server.asked[-1][1]["capabilities"] == {"roots": {}}
    assert remembered(found) == "legacy"


async def test_a_silent_server_is_greeted_beside_the_question() -> None:
    """Patience over, the handshake is tried, and its answer counts."""
    found = await Server(None, HELLO).agree(patience_s=0.05)
    assert not found.modern


async def test_a_slow_modern_server_wins_over_its_refusal_of_the_handshake() -> None:
    """It answers the question first asked, and refuses the greeting that came meanwhile."""
    server = Server(None, remote(-32022, {"supported": ["2026-07-28"]}))
    async with anyio.create_task_group() as group:
        found: list[Agreement] = []

        async def run() -> None:
            found.append(await server.agree(patience_s=0.05))

        group.start_soon(run)
        with anyio.fail_after(5):
            while "initialize" not in server.methods():
                await anyio.lowlevel.checkpoint()
        server.told.set()
    assert found[0].modern


@pytest.mark.parametrize("kind", [Kind.AUTH, Kind.PERMISSION, Kind.RATE_LIMITED, Kind.UNAVAILABLE, Kind.CRASHED])
async def test_a_refusal_that_says_nothing_of_eras_is_final(kind: Kind) -> None:
    """A missing login is not answered with another request."""
    server = Server(fault(kind), HELLO)
    with pytest.raises(DownstreamError) as caught:
        await server.agree()
    assert caught.value.kind is kind and server.methods() == ["server/discover"]


async def test_no_common_version_is_named() -> None:
    """A server of a later era only is refused with its own words."""
    with pytest.raises(DownstreamError, match="refused the connection") as caught:
        await Server(remote(-32022, {"supported": ["2030-01-01"]}), HELLO).agree()
    assert caught.value.kind is Kind.PROTOCOL and not caught.value.may_have_run


async def test_a_refused_handshake_is_named() -> None:
    """Code and words of the server are in the message."""
    with pytest.raises(DownstreamError, match=r"no \(code -32603\)"):
        await Server(remote(-32601), remote(-32603)).agree()


async def test_an_older_version_is_offered_when_the_server_names_one() -> None:
    """Very old servers refuse instead of naming their own version in the answer."""
    server = Server(remote(-32601), remote(-32602, {"supported": ["2024-11-05"]}), {})
    found = await server.agree("legacy")
    assert found.version == "2025-11-25"  # the server's answer named none
    assert server.asked[-1][1]["protocolVersion"] == "2024-11-05"


async def test_a_configured_era_is_not_asked_for() -> None:
    """`legacy` shakes hands at once, `modern` never does."""
    old, new = Server(SELF, HELLO), Server(SELF, HELLO)
    assert not (await old.agree("legacy")).modern and old.methods() == ["initialize"]
    assert (await new.agree("modern")).modern and new.methods() == ["server/discover"]
    with pytest.raises(DownstreamError, match="refused the connection"):
        await Server(remote(-32601), HELLO).agree("modern")


async def test_a_version_that_a_refusal_names_is_tried_once() -> None:
    """The server knows a common version after all; if it refuses that too, it is taken for what it is."""
    refusal = remote(-32022, {"supported": ["2026-07-28"]})
    server = Server(refusal, HELLO)
    server.answers["server/discover"] = [refusal, SELF]
    assert (await server.agree()).modern and server.methods() == ["server/discover"] * 2
    with pytest.raises(DownstreamError, match="refused the connection"):
        await Server(refusal, HELLO).agree()


async def test_odd_answers_to_the_handshake_are_taken_as_far_as_they_go() -> None:
    """Missing or misshapen members cost nothing."""
    found = await Server(None, {"capabilities": [], "serverInfo": "x", "instructions": 7}).agree("legacy")
    assert found == Agreement("2025-11-25", False, {}, {}, None)


def test_requests_are_dressed_for_their_era() -> None:
    """A client's own `_meta` passes, what belongs to its own connection does not."""
    params = {
        "name": "x",
        "_meta": {"mine": 1, "progressToken": 5, "io.modelcontextprotocol/clientInfo": {"name": "client"}},
    }
    modern = dress(Agreement("2026-07-28", True), params, {"roots": {}}, "info")
    assert modern["name"] == "x" and modern["_meta"]["mine"] == 1 and "progressToken" not in modern["_meta"]
    assert modern["_meta"]["io.modelcontextprotocol/clientInfo"]["name"] == "anyact"
    assert modern["_meta"]["io.modelcontextprotocol/clientCapabilities"] == {"roots": {}}
    assert modern["_meta"]["io.modelcontextprotocol/logLevel"] == "info"
    assert dress(Agreement("2025-06-18", False), params, {}) == {"name": "x", "_meta": {"mine": 1}}
    assert dress(Agreement("2025-06-18", False), {"name": "x", "_meta": 7}, {}) == {"name": "x"}


def test_what_a_client_asks_for_is_read_with_care() -> None:
    """Log level and supported versions may be anything."""
    assert wanted_level({"_meta": {"io.modelcontextprotocol/logLevel": "debug"}}) == "debug"
    assert wanted_level({"_meta": {"io.modelcontextprotocol/logLevel": 1}}) is None
    assert supported_versions({"supported": ["a", 1]}) == ["a", "1"]
    assert supported_versions({"supported": "a"}) == supported_versions(None) == []


@pytest.mark.parametrize("discover", ["refuse", "ignore", "die"])
async def test_real_processes_of_the_old_era_are_reached(discover: str) -> None:
    """One refuses the question, one says nothing, one dies of it and is started again for the handshake."""
    async with world(raw("--discover", discover)) as w:
        with anyio.fail_after(BOUND_S):
            assert await w.text("raw", "echo") == "{}"
        assert w.pool.status("raw").protocol_version == "2025-06-18"
        await w.pool.restart("raw")
        assert "server/discover" not in (await w.data("raw", "seen"))["methods"]
