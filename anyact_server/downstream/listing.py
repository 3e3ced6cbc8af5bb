"""Reads all that a server offers, all pages of every list, and loses as little as possible when it misbehaves."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

import anyio

from anyact_server.errors import DownstreamError, RemoteError
from anyact_server.types import JsonObject, Kind, Snapshot

from .eras import Agreement

METHOD_NOT_FOUND = -32601
MOST_PAGES = 1000
AGAIN_S = (0.3, 0.6, 1.2)
"""Pauses before an empty or failed first list of tools is read again: some servers register their tools late."""
Fetch = Callable[[str, JsonObject], Awaitable[JsonObject]]
"""Sends a list request: method, params."""


@dataclass(frozen=True, slots=True)
class ListOf:
    """One kind of list: the capability that declares it, the method that reads it, the member that holds it, and what
    tells two items apart."""

    name: str
    capability: str
    method: str
    key: str


LISTS = (
    ListOf("tools", "tools", "tools/list", "name"),
    ListOf("prompts", "prompts", "prompts/list", "name"),
    ListOf("resources", "resources", "resources/list", "uri"),
    ListOf("templates", "resources", "resources/templates/list", "uriTemplate"),
)
MEMBERS = {"templates": "resourceTemplates"}


@dataclass(frozen=True, slots=True)
class Reading:
    """What was read of one list, and why that is not all of it."""

    items: tuple[JsonObject, ...] = ()
    fault: str | None = None
    error: DownstreamError | RemoteError | None = None


async def read_everything(
    server: str, agreement: Agreement, fetch: Fetch, *, taken_at: float, first: bool
) -> tuple[Snapshot, DownstreamError | None]:
    """Read every list that the server declares.

    Args:
        server: config name.
        agreement: what the server declared.
        fetch: sends a list request.
        taken_at: seconds since the epoch.
        first: whether the connection is fresh, so that an empty list of tools may only be early.

    Returns:
        The snapshot, and the error if no page of the tools could be read.
    """
    found: dict[str, Reading] = {}
    for kind in LISTS:
        if isinstance(agreement.capabilities.get(kind.capability), dict):
            found[kind.name] = await _read_patiently(kind, fetch, first=first and kind.name == "tools")
    snapshot = Snapshot(
        server=server,
        info=agreement.info,
        instructions=agreement.instructions,
        capabilities=agreement.capabilities,
        protocol_version=agreement.version,
        taken_at=taken_at,
        partial={name: reading.fault for name, reading in found.items() if reading.fault is not None},
        **{name: reading.items for name, reading in found.items()},
    )
    tools = found.get("tools", Reading())
    return snapshot, None if tools.items else as_downstream(tools.error, server)


async def _read_patiently(kind: ListOf, fetch: Fetch, *, first: bool) -> Reading:
    """Read a list; on a fresh connection once more, a few times, while it is empty or fails."""
    reading = await read_list(kind, fetch)
    for pause_s in AGAIN_S if first else ():
        if reading.items or not _worth_again(reading):
            break
        await anyio.sleep(pause_s)
        reading = await read_list(kind, fetch)
    return reading


def _worth_again(reading: Reading) -> bool:
    """Whether reading again may help: the list was empty, or the server (not the connection) failed."""
    return reading.error is None or isinstance(reading.error, RemoteError)


async def read_list(kind: ListOf, fetch: Fetch) -> Reading:
    """Read every page of one list: each item once, until there is no cursor, the cursors go round, or a page fails."""
    items: dict[str, JsonObject] = {}
    seen: set[str] = set()
    params: dict[str, Any] = {}
    for _ in range(MOST_PAGES):
        try:
            page = await fetch(kind.method, params)
        except (RemoteError, DownstreamError) as error:
            if isinstance(error, RemoteError) and error.code == METHOD_NOT_FOUND and not seen:
                return Reading()
            return Reading(tuple(items.values()), f"page {len(seen) + 1} failed: {error.message}", error)
        found = page.get(MEMBERS.get(kind.name, kind.name))
        for item in found if isinstance(found, list) else ():
            if isinstance(item, dict):
                items.setdefault(_key(kind, item, len(items)), item)
        cursor = page.get("nextCursor")
        if not isinstance(cursor, str):
            return Reading(tuple(items.values()), None if isinstance(found, list) else "it is no list")
        if cursor in seen:
            return Reading(tuple(items.values()), "its pages go round in a circle")
        seen.add(cursor)
        params = {"cursor": cursor}
    return Reading(tuple(items.values()), f"it has more than {MOST_PAGES} pages")


def _key(kind: ListOf, item: JsonObject, position: int) -> str:
    """What tells an item from others; items without a proper name are all kept."""
    name = item.get(kind.key)
    return f"n:{name}" if isinstance(name, str) else f"p:{position}"


def as_downstream(error: DownstreamError | RemoteError | None, server: str) -> DownstreamError | None:
    """An error of a list as one of the connection."""
    if not isinstance(error, RemoteError):
        return error
    text = f"server {server!r} refused to list its tools: {error.message} (code {error.code})"
    return DownstreamError(text, server=server, kind=Kind.PROTOCOL)
