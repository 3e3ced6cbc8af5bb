"""Reading lists: every page, once each, and as much as can be had of those that misbehave."""

from __future__ import annotations

import json
from typing import Any

import pytest

from anyact_server.downstream.eras import Agreement
from anyact_server.downstream.listing import LISTS, read_everything, read_list
from anyact_server.errors import DownstreamError, RemoteError
from anyact_server.types import JsonObject, Kind, ServerState

from .kit import limits, raw, world

pytestmark = pytest.mark.anyio
TOOLS = LISTS[0]


def names(items: tuple[JsonObject, ...]) -> list[Any]:
    """The names of items."""
    return [item.get("name") for item in items]


@pytest.mark.case("G1")
@pytest.mark.parametrize(
    ("pages", "expected", "partial"),
    [
        ("101", [f"t{n}" for n in range(101)], None),
        ("empty-first", ["t0"], None),
        ("loop", ["tfirst", "tagain"], "circle"),
        ("twice", ["a", "b", "c"], None),
        ("none", [], None),
        ("late", ["t0"], None),
    ],
)
async def test_all_pages_are_read_once_each(pages: str, expected: list[str], partial: str | None) -> None:
    """From a real process: 101 tools at fifty a page, an empty first page, a circle, a tool on two pages."""
    async with world(raw("--pages", pages)) as w:
        snapshot = await w.pool.take_snapshot("raw")
        assert names(snapshot.tools) == expected
        assert (partial in snapshot.partial["tools"]) if partial else not snapshot.partial
        status = w.pool.status("raw")
        assert (status.actions, status.state) == (len(expected), ServerState.READY)
        assert any("circle" in warning for warning in status.warnings) is bool(partial)


@pytest.mark.case("G1")
async def test_a_page_that_fails_keeps_what_was_read() -> None:
    """The snapshot says that it is not whole, and why."""
    async with world(raw("--pages", "broken")) as w:
        snapshot = await w.pool.take_snapshot("raw")
        assert len(snapshot.tools) > 20 and "page 2 failed: Invalid cursor" in snapshot.partial["tools"]


@pytest.mark.case("G3")
async def test_a_list_that_cannot_be_read_is_an_error_and_not_healthy() -> None:
    """Refused or silent: the state says so while the connection is up, and a later success heals it."""
    async with world(raw("--pages", "refused"), raw("--pages", "silent", name="mute", limits=limits(list_s=0.3))) as w:
        with pytest.raises(DownstreamError, match="refused to list its tools: not today"):
            await w.pool.take_snapshot("raw")
        with pytest.raises(DownstreamError, match=r"0\.3 s \(list limit\)"):
            await w.pool.take_snapshot("mute")
        for server in ("raw", "mute"):
            status = w.pool.status(server)
            assert status.state is ServerState.FAILED and status.stale and status.error is not None
            assert w.pool.connected(server)
        assert await w.text("raw", "echo") == "{}"


@pytest.mark.case("S1")
@pytest.mark.case("O4")
async def test_odd_items_are_kept_as_they_are() -> None:
    """Schemas of any shape, items without a name: none costs the rest; what is no object is no item."""
    async with world(raw("--pages", "odd")) as w:
        tools = (await w.pool.take_snapshot("raw")).tools
        assert names(tools) == ["s", "n", "a", "sound", None, None]
        assert tools[1]["inputSchema"] is None and "inputSchema" not in tools[2]


@pytest.mark.case("O4")
@pytest.mark.parametrize(
    "result",
    [{"content": []}, {"content": [], "structuredContent": {"a": 1}}, {}, {"content": None}, {"toolResult": [1]}],
)
async def test_results_of_any_shape_pass_as_they_are(result: JsonObject) -> None:
    """No model is laid over them."""
    async with world(raw()) as w:
        assert await w.call("raw", "given", result=result) == result


@pytest.mark.case("H1")
async def test_only_declared_lists_are_asked_for() -> None:
    """Tools alone; prompts that are declared but not there count as none; resources alone."""
    declared: list[dict[str, Any]] = [{"tools": {}}, {"tools": {}, "prompts": {}}, {"resources": {}}, {}]
    asked = [
        ["tools/list"],
        ["tools/list", "prompts/list"],
        ["resources/list", "resources/templates/list"],
        [],
    ]
    specs = [raw("--capabilities", json.dumps(given), name=f"s{n}") for n, given in enumerate(declared)]
    async with world(*specs) as w:
        for spec, given, methods in zip(specs, declared, asked, strict=True):
            snapshot = await w.pool.take_snapshot(spec.name)
            assert snapshot.capabilities == given and not snapshot.partial
            seen = (await w.data(spec.name, "seen"))["methods"]
            assert [method for method in seen if method.endswith("/list")] == methods


async def test_a_list_that_is_none_is_named() -> None:
    """A member of the wrong type is no empty list."""
    async with world(raw("--pages", "no-list")) as w:
        assert (await w.pool.take_snapshot("raw")).partial["tools"] == "it is no list"


async def test_pages_without_end_are_cut() -> None:
    """A thousand pages are enough."""
    count = 0

    async def fetch(method: str, params: JsonObject) -> JsonObject:
        nonlocal count
        count += 1
        return {"tools": [], "nextCursor": str(count)}

    reading = await read_list(TOOLS, fetch)
    assert count == 1000 and reading.fault is not None and "1000 pages" in reading.fault


async def test_a_lost_connection_is_not_waited_for() -> None:
    """Only an empty or refused list is read again, and only over a fresh connection."""
    asked: list[str] = []

    async def fetch(method: str, params: JsonObject) -> JsonObject:
        asked.append(method)
        raise DownstreamError("gone", server="s", kind=Kind.UNAVAILABLE)

    agreement = Agreement("x", False, {"tools": {}, "prompts": {}})
    snapshot, fault = await read_everything("s", agreement, fetch, taken_at=1.0, first=True)
    assert asked == ["tools/list", "prompts/list"]
    assert fault is not None and fault.kind is Kind.UNAVAILABLE and set(snapshot.partial) == {"tools", "prompts"}


async def test_an_empty_list_is_read_once_over_an_old_connection() -> None:
    """There it settles at once."""
    asked: list[str] = []

    async def fetch(method: str, params: JsonObject) -> JsonObject:
        asked.append(method)
        if method == "prompts/list":
            raise RemoteError(-32601, "Method not found", server="s")
        return {"tools": []}

    agreement = Agreement("x", False, {"tools": {}, "prompts": {}})
    snapshot, fault = await read_everything("s", agreement, fetch, taken_at=1.0, first=False)
    assert asked == ["tools/list", "prompts/list"] and fault is None and not snapshot.partial
