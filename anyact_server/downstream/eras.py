"""The two eras of the protocol: finding out which one a server speaks, and dressing requests for it.

Before 2026-07-28 a connection begins with a handshake. Since then there is none: every request carries version, client
and abilities, and `server/discover` tells what a server is. A server that does not know `server/discover` answers it
with any of -32601, -32602, -32600 or an HTTP error, says nothing at all, or dies of it.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import anyio
from mcp_types.version import (
    HANDSHAKE_PROTOCOL_VERSIONS,
    LATEST_HANDSHAKE_VERSION,
    LATEST_MODERN_VERSION,
    MODERN_PROTOCOL_VERSIONS,
)

from anyact_server import __version__
from anyact_server.errors import DownstreamError, RemoteError
from anyact_server.types import EMPTY, Era, JsonObject, Kind

PREFIX = "io.modelcontextprotocol/"
VERSION_KEY = f"{PREFIX}protocolVersion"
CLIENT_KEY = f"{PREFIX}clientInfo"
ABILITIES_KEY = f"{PREFIX}clientCapabilities"
LEVEL_KEY = f"{PREFIX}logLevel"
SERVER_KEY = f"{PREFIX}serverInfo"
OURS = frozenset({VERSION_KEY, CLIENT_KEY, ABILITIES_KEY, "progressToken"})
"""Fields of `_meta` that belong to one connection; a client's own never pass."""
CLIENT: JsonObject = {"name": "anyact", "title": "AnyAct", "version": __version__}
UNSUPPORTED_VERSION = -32022
INVALID_PARAMS = -32602
PATIENCE_S = 3.0
"""How long an old server may be silent about `server/discover` before the handshake is tried beside it."""
Asking = Callable[[str, JsonObject, Mapping[str, str]], Awaitable[JsonObject]]
"""Sends a request of the negotiation: method, params, headers."""
REFUSALS = frozenset({Kind.AUTH, Kind.PERMISSION, Kind.RATE_LIMITED})
"""HTTP refusals that say nothing about the era."""


@dataclass(frozen=True, slots=True)
class Agreement:
    """What was agreed with a server, and what it says of itself."""

    version: str
    modern: bool
    capabilities: JsonObject = EMPTY
    info: JsonObject = EMPTY
    instructions: str | None = None


def dress(
    agreement: Agreement, params: JsonObject | None, abilities: JsonObject, level: str | None = None
) -> dict[str, Any]:
    """The params of a request for this era.

    Args:
        agreement: with the server.
        params: as the client gave them.
        abilities: what can be relayed to the one who waits for the request.
        level: the log level that the client wants, where it asked for one.
    """
    given = params or {}
    meta = {name: value for name, value in _meta(given).items() if name not in OURS}
    if agreement.modern:
        meta |= {VERSION_KEY: agreement.version, CLIENT_KEY: CLIENT, ABILITIES_KEY: abilities}
        if level is not None:
            meta.setdefault(LEVEL_KEY, level)
    else:
        meta.pop(LEVEL_KEY, None)
    rest = {name: value for name, value in given.items() if name != "_meta"}
    return {**rest, "_meta": meta} if meta else rest


def wanted_level(params: JsonObject) -> str | None:
    """The log level that a client of the new era asks for in one request."""
    level = _meta(params).get(LEVEL_KEY)
    return level if isinstance(level, str) else None


async def agree(
    ask: Asking, era: Era, *, abilities: JsonObject, server: str, patience_s: float = PATIENCE_S
) -> Agreement:
    """Find a common version.

    Args:
        ask: sends a request.
        era: the era to speak, or `auto`.
        abilities: declared to a server of the old era for the whole connection.
        server: config name.
        patience_s: see PATIENCE_S.

    Raises:
        DownstreamError: no answer, none that can be read, or no common version.
    """
    if era == "legacy":
        return await _shake_hands(ask, abilities, server)
    if era == "modern":
        try:
            return await _discover(ask, server)
        except RemoteError as error:
            raise _no_agreement(server, error) from error
    return await _either(ask, abilities, server, patience_s)


async def _either(ask: Asking, abilities: JsonObject, server: str, patience_s: float) -> Agreement:
    """Ask what the server is; shake hands as soon as that failed, or beside it when it takes long."""
    found: list[Agreement] = []
    faults: list[DownstreamError | RemoteError] = []
    impatient = anyio.Event()

    async def discover(scope: anyio.CancelScope) -> None:
        try:
            found.append(await _discover(ask, server))
            scope.cancel()
        except (RemoteError, DownstreamError) as error:
            if conclusive(error):
                faults.append(error)
                scope.cancel()
        impatient.set()

    async with anyio.create_task_group() as group:
        group.start_soon(discover, group.cancel_scope)
        with anyio.move_on_after(patience_s):
            await impatient.wait()
        try:
            found.append(await _shake_hands(ask, abilities, server))
            group.cancel_scope.cancel()
        except DownstreamError as error:
            faults.append(error)
            if impatient.is_set() or not modern_evidence(error):
                group.cancel_scope.cancel()
    if found:
        return found[0]
    raise _no_agreement(server, faults[0]) if isinstance(faults[0], RemoteError) else faults[0]


def conclusive(error: DownstreamError | RemoteError) -> bool:
    """Whether a failed `server/discover` settles the matter, so that a handshake would tell nothing new."""
    if isinstance(error, RemoteError):
        supported = supported_versions(error.data)
        return error.code == UNSUPPORTED_VERSION and bool(supported) and not _handshakes(supported)
    return error.kind in REFUSALS or error.kind in (Kind.UNAVAILABLE, Kind.CRASHED, Kind.TIMEOUT)


def modern_evidence(error: DownstreamError) -> bool:
    """Whether a failed handshake says that the server speaks the new era only."""
    cause = error.__cause__
    return isinstance(cause, RemoteError) and cause.code == UNSUPPORTED_VERSION


def supported_versions(data: object) -> list[str]:
    """The versions that a server names in an error."""
    supported = data.get("supported") if isinstance(data, dict) else None
    return [str(version) for version in supported] if isinstance(supported, list) else []


async def _discover(ask: Asking, server: str) -> Agreement:
    method, version = "server/discover", LATEST_MODERN_VERSION
    try:
        result = await ask(method, _envelope(version), _headers(method, version))
    except RemoteError as error:
        mutual = [v for v in MODERN_PROTOCOL_VERSIONS if v in supported_versions(error.data)]
        if error.code != UNSUPPORTED_VERSION or not mutual:
            raise
        result = await ask(method, _envelope(mutual[-1]), _headers(method, mutual[-1]))
    offered = result.get("supportedVersions")
    if not isinstance(offered, list) or not any(v in MODERN_PROTOCOL_VERSIONS for v in offered):
        raise RemoteError(INVALID_PARAMS, "the server offers no version of the new era", server=server)
    agreed = [v for v in MODERN_PROTOCOL_VERSIONS if v in offered][-1]
    info = _meta(result).get(SERVER_KEY) or result.get("serverInfo")
    return _agreement(agreed, True, result, info)


async def _shake_hands(ask: Asking, abilities: JsonObject, server: str) -> Agreement:
    version = LATEST_HANDSHAKE_VERSION
    try:
        try:
            result = await ask("initialize", _greeting(version, abilities), {})
        except RemoteError as error:
            older = _handshakes(supported_versions(error.data))
            if not older:
                raise
            result = await ask("initialize", _greeting(older[-1], abilities), {})
    except RemoteError as error:
        raise _no_agreement(server, error) from error
    agreed = result.get("protocolVersion")
    return _agreement(agreed if isinstance(agreed, str) else version, False, result, result.get("serverInfo"))


def _agreement(version: str, modern: bool, result: JsonObject, info: object) -> Agreement:
    capabilities, instructions = result.get("capabilities"), result.get("instructions")
    return Agreement(
        version,
        modern,
        capabilities if isinstance(capabilities, dict) else {},
        info if isinstance(info, dict) else {},
        instructions if isinstance(instructions, str) else None,
    )


def _no_agreement(server: str, error: RemoteError) -> DownstreamError:
    return DownstreamError(
        f"server {server!r} refused the connection: {error.message} (code {error.code})",
        server=server,
        kind=Kind.PROTOCOL,
        may_have_run=False,
    )


def _greeting(version: str, abilities: JsonObject) -> JsonObject:
    return {"protocolVersion": version, "capabilities": abilities, "clientInfo": CLIENT}


def _envelope(version: str) -> JsonObject:
    return {"_meta": {VERSION_KEY: version, CLIENT_KEY: CLIENT, ABILITIES_KEY: {}}}


def _headers(method: str, version: str) -> dict[str, str]:
    return {"mcp-protocol-version": version, "mcp-method": method}


def _handshakes(versions: Sequence[str]) -> list[str]:
    return [version for version in HANDSHAKE_PROTOCOL_VERSIONS if version in versions]


def _meta(params: JsonObject) -> JsonObject:
    meta = params.get("_meta")
    return meta if isinstance(meta, Mapping) else {}


def remembered(agreement: Agreement) -> Literal["legacy", "modern"]:
    """The era to begin with next time."""
    return "modern" if agreement.modern else "legacy"
