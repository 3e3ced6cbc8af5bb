"""What servers offer and how it is found and called, over the whole product."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import anyio
import pytest
from starlette.applications import Starlette
from starlette.routing import Mount

from tests.servers.plain import listening
from tests.servers.raw_http import RawHttp

from .limits import PATIENCE_S
from .product import ROUTES, Product, calls, listed, product, raw, tool, web

pytestmark = pytest.mark.anyio


async def found(running: Product, words: str, action: str) -> str:
    """The best hit for a few words, once an action is found by them."""
    async with running.rest() as rest:
        with anyio.fail_after(PATIENCE_S):
            while True:
                hits = [hit["id"] for hit in (await rest.get("/v1/search", q=words, limit=50))["hits"]]
                if action in hits:
                    return str(hits[0])


ODD = [
    tool("text", "a text", {"type": "string"}),
    {"name": "null", "inputSchema": None},
    {"name": "absent"},
    tool("typeless", "any value", {"type": "object", "properties": {"x": {"description": "anything"}}}),
    tool("sound", "a sound one", {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}),
]


@pytest.mark.case("S1")
async def test_tools_with_bad_schemas_never_stop_their_sound_neighbours(tmp_path: Path) -> None:
    """Faulty tools are named in the status with their reason; the others are found and called, any value included."""
    servers = {"odd": listed(tmp_path / "odd", ODD), "raw": raw()}
    async with product(tmp_path, servers) as running, running.faces() as faces, running.mcp() as mcp:
        for route, face in faces.items():
            assert not (await face.call("odd__sound", {"n": 1})).is_error, route
            for value in ("a", 1, None, [1], {"y": 2}):
                assert (await face.call("odd__typeless", {"x": value})).value == {"x": value}, route
            assert not (await face.call("raw__echo", {})).is_error, route
        await found(running, "a sound one", "odd__sound")
        await found(running, "any value", "odd__typeless")
        told = (await mcp.tool("servers", server="odd")).text
        assert "text" in told and "string" in told


REFERRING = {
    "type": "object",
    "title": "kept",
    "properties": {
        "who": {"$ref": "#/$defs/Person", "description": "beside"},
        "odd": {"$ref": "#/definitions/ns:Thing"},
    },
    "required": ["who"],
    "additionalProperties": False,
    "$defs": {"Person": {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}},
    "definitions": {"ns:Thing": {"type": "integer"}, "Unused": {"type": "null"}},
}


def references(value: Any) -> list[str]:
    """Every reference in a schema."""
    if isinstance(value, dict):
        own = [value["$ref"]] if isinstance(value.get("$ref"), str) else []
        return own + [found for part in value.values() for found in references(part)]
    return [found for part in value for found in references(part)] if isinstance(value, list) else []


def stands(schema: Any, reference: str) -> bool:
    """Whether a local reference leads somewhere."""
    for part in reference.removeprefix("#/").split("/"):
        if not isinstance(schema, dict) or part not in schema:
            return False
        schema = schema[part]
    return True


@pytest.mark.case("S2")
async def test_no_schema_that_a_caller_sees_has_a_dangling_reference(tmp_path: Path) -> None:
    """Over tools of their own, descriptions and REST; what was sent reaches the server as it was sent."""
    file = tmp_path / "refs"
    servers = {"refs": listed(file, [tool("make", "makes", REFERRING)], pin=True)}
    given = {"who": {"name": "Åda\u2028"}, "odd": 3}
    async with product(tmp_path, servers) as running, running.mcp() as mcp, running.rest() as rest:
        shown = {one.name: one.input_schema for one in (await mcp.client.list_tools()).tools}["refs__make"]
        described = (await rest.get("/v1/actions/refs__make"))["input_schema"]
        for schema in (shown, described):
            assert all(stands(schema, reference) for reference in references(schema))
            assert schema["required"] == ["who"] and schema["additionalProperties"] is False
            assert schema["title"] == "kept"
        assert "name" in (await mcp.tool("describe_actions", actions=["refs__make"])).text
        assert not (await mcp.client.call_tool("refs__make", given)).is_error
        assert not (await rest.call("refs__make", given)).is_error
        refused = await mcp.call("refs__make", {"who": {"nom": "x"}})
        assert refused.kind == "invalid_args" and "name" in refused.text
    assert calls(file) == [["make", given]] * 2


@pytest.mark.case("S4")
async def test_arguments_in_odd_wrapping_are_taken_or_refused_alike_on_every_route(tmp_path: Path) -> None:
    """Nothing, null and a text that holds an object are taken; lists and numbers never reach the server."""
    file = tmp_path / "wrapped"
    schema = {"type": "object", "properties": {"x": {"type": ["string", "null"]}}}
    servers = {"w": listed(file, [tool("take", schema=schema)])}
    async with product(tmp_path, servers) as running, running.faces() as faces:
        for route, face in faces.items():
            assert not (await face.call("w__take")).is_error, route
            for given in ({}, '{"x": "a"}', {"x": None}):
                assert not (await face.call("w__take", given)).is_error, route
            for wrong in ("[1]", [1], 7):
                refused = await face.call("w__take", wrong)
                assert refused.is_error and refused.kind == "invalid_args", route
    assert [arguments for _, arguments in calls(file)] == [{}, {}, {"x": "a"}, {"x": None}] * len(ROUTES)


@pytest.mark.case("S4")
async def test_null_for_all_arguments_is_none_at_all(tmp_path: Path) -> None:
    """Over MCP and REST."""
    file = tmp_path / "null"
    servers = {"w": listed(file, [tool("take")])}
    async with product(tmp_path, servers) as running, running.mcp() as mcp, running.rest() as rest:
        assert not (await mcp.tool("call_action", action="w__take", arguments=None)).is_error
        assert (await rest.post("/v1/call", {"action": "w__take", "arguments": None})).status == 200
    assert calls(file) == [["take", {}]] * 2


@pytest.mark.case("N2")
@pytest.mark.parametrize("order", [("one", "two"), ("two", "one")], ids=["one-first", "two-first"])
async def test_tools_of_one_name_on_two_servers_are_both_reached_and_never_mistaken(
    order: tuple[str, str], tmp_path: Path
) -> None:
    """The order of the servers does not matter; the bare name and a nearby one run nothing and name the ids."""
    servers = {name: listed(tmp_path / name, [tool("search"), tool("send_email")]) for name in order}
    async with product(tmp_path, servers) as running, running.faces() as faces:
        for route, face in faces.items():
            for name in ("one", "two"):
                assert not (await face.call(f"{name}__search", {"from": name})).is_error, route
            bare = await face.call("search", {})
            assert bare.is_error and "one__search" in bare.text and "two__search" in bare.text, route
            near = await face.call("one__serch", {})
            assert near.kind == "unknown_action" and "one__search" in near.text, route
    for name in ("one", "two"):
        assert calls(tmp_path / name) == [["search", {"from": name}]] * len(ROUTES)


@pytest.mark.case("F1")
async def test_the_eight_tools_stay_small_and_flat_whatever_is_behind(tmp_path: Path) -> None:
    """40 servers, 3,000 tools, huge texts and schemas: under 8 KB, no unions, and a search within its ceiling."""
    wide = {f"p{n}": {"type": "string", "description": "y" * 1000} for n in range(50)}
    heavy = tool("heavy", "find heavy things " * 1200, {"type": "object", "properties": wide})
    behind = [RawHttp(tools=[heavy, *(tool(f"t{m}", f"thing {m} of {n}") for m in range(74))]) for n in range(40)]
    app = Starlette(routes=[Mount(f"/{n}", server.app) for n, server in enumerate(behind)])
    async with listening(app) as port:
        servers = {f"s{n}": web(port, f"/{n}/mcp") for n in range(40)}
        await _holds_the_ceilings(tmp_path, servers)


async def _holds_the_ceilings(folder: Path, servers: dict[str, Any]) -> None:
    async with product(folder, servers, parallel_starts=16) as running, running.mcp() as mcp:
        assert len(running.parts.catalog.actions()) == 3000
        await found(running, "heavy", "s0__heavy")
        listing = (await mcp.client.list_tools()).tools
        text = json.dumps([one.model_dump(mode="json", by_alias=True, exclude_none=True) for one in listing])
        assert len(listing) < 10 and len(text.encode()) < 8 * 1024
        assert not any(word in text for word in ('"$ref"', '"anyOf"', '"oneOf"', '"allOf"'))
        for detail in ("cards", "schemas", "full"):
            hits = await mcp.tool("search_actions", intents=["find heavy things"], limit=50, detail=detail)
            assert len(hits.text.encode()) <= 6000 * 4 and hits.facts["tokens"]["shown"] <= 6000
        whole = await mcp.tool("describe_actions", actions=["s0__heavy"])
        assert "p0" in whole.text


@pytest.mark.case("F2")
async def test_the_name_of_a_tool_finds_it_in_every_spelling(tmp_path: Path) -> None:
    """Bare, with blanks, in camel case, as the full id, in capitals: it is first, among a hundred others."""
    others = [tool(f"ask_{n}", f"asks codex about {n}") for n in range(99)]
    async with product(tmp_path, {"agents": listed(tmp_path / "t", [tool("ask_codex", "sends"), *others])}) as running:
        for words in ("ask_codex", "ask codex", "askCodex", "agents__ask_codex", "ASK_CODEX", "AskCodex"):
            assert await found(running, words, "agents__ask_codex") == "agents__ask_codex", words
