"""What servers answer and what becomes of it: sizes, pictures, hidden failures, emptiness, over the whole product."""

from __future__ import annotations

import base64
import io
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from .product import ROUTES, Answer, McpFace, Route, listed, over_stdio, product, raw, script, tool
from .test_streams import told

pytestmark = pytest.mark.anyio

CEILING = 50_000
"""Bytes of an answer, whatever the result is."""
BULKY = """
import json, sys
TEN = "line of a log with some words in it %07d\\n"
def text(size): return "".join(TEN % n for n in range(size // 45))
KINDS = {
    "one": lambda: {"content": [{"type": "text", "text": text(10_000_000)}]},
    "many": lambda: {"content": [{"type": "text", "text": text(1024)} for _ in range(10_000)]},
    "failed": lambda: {"content": [{"type": "text", "text": text(10_000_000)}], "isError": True},
    "data": lambda: {"content": [], "structuredContent": {"rows": [{"n": n, "t": "x" * 80} for n in range(100_000)]}},
}
for line in sys.stdin:
    frame = json.loads(line)
    method, ident = frame.get("method"), frame.get("id")
    if ident is None:
        continue
    answer = {"error": {"code": -32601, "message": "no"}}
    if method == "initialize":
        answer = {"result": {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}},
                             "serverInfo": {"name": "bulky", "version": "1"}}}
    elif method == "tools/list":
        answer = {"result": {"tools": [{"name": name, "inputSchema": {"type": "object"}} for name in KINDS]}}
    elif method == "tools/call":
        answer = {"result": KINDS[frame["params"]["name"]]()}
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", "id": ident, **answer}) + "\\n")
    sys.stdout.flush()
"""


@pytest.mark.case("B1")
@pytest.mark.parametrize(
    ("name", "routes"),
    [
        ("one", ("http-legacy", "rest")),
        ("many", ("http-modern", "rest-run")),
        ("failed", ("run", "rest")),
        ("data", ("http-modern", "rest")),
    ],
)
async def test_ten_megabytes_become_an_answer_of_a_set_size_on_every_route(
    name: str, routes: tuple[Route, ...], tmp_path: Path
) -> None:
    """As text, many blocks, a failure, data alone: under the ceiling, with a handle that leads to all of it."""
    async with (
        product(tmp_path, {"bulky": script(BULKY)}) as running,
        running.faces(*routes) as faces,
        running.mcp() as mcp,
    ):
        for route, face in faces.items():
            answer = await face.call(f"bulky__{name}", {})
            assert answer.is_error == (name == "failed"), route
            assert answer.bytes < CEILING, (route, answer.bytes)
            handle = answer.facts["handle"]  # an older session's own, else the local principal's
            reader = face if isinstance(face, McpFace) else mcp
            for view in ({"view": "tail", "limit": 5}, {"view": "page"}):
                shown = await reader.tool("read_observation", handle=handle, **view)
                assert shown.bytes < CEILING and not shown.is_error, (route, view, shown.text[:300])


@pytest.mark.case("B1")
async def test_ten_megabytes_over_a_pipe_are_capped_too(tmp_path: Path) -> None:
    """`anyact serve --stdio`, the older era."""
    async with over_stdio(tmp_path, {"bulky": script(BULKY)}, "legacy") as mcp:
        await told(mcp, "bulky", "ready", "idle")
        answer = await mcp.call("bulky__one", {})
        assert answer.bytes < CEILING and "handle" in answer.facts


def picture(width: int, height: int) -> str:
    """A PNG that does not compress, as base64."""
    file = io.BytesIO()
    Image.effect_noise((width, height), 90).convert("RGB").save(file, "PNG")
    return base64.b64encode(file.getvalue()).decode()


def longest_word(value: Any) -> int:
    """The longest run of letters without a blank in any text of a value, the data of blocks apart."""
    if isinstance(value, str):
        return max((len(word) for word in value.split()), default=0)
    if isinstance(value, dict):
        return max((longest_word(part) for name, part in value.items() if name not in ("data", "blob")), default=0)
    return max((longest_word(part) for part in value), default=0) if isinstance(value, list) else 0


PICTURED: tuple[tuple[Route, tuple[str, ...]], ...] = (
    ("http-legacy", ("block", "failed")),
    ("http-modern", ("copied", "wide")),
    ("rest", ("resource", "failed", "wide")),
)


@pytest.mark.case("B2")
async def test_pictures_stay_pictures_within_limits_on_every_route(tmp_path: Path) -> None:
    """As a block, beside its copy in the data, in a resource, on a failure, very wide: one scaled image, no base64."""
    png = picture(1800, 100)
    block = {"type": "image", "data": png, "mimeType": "image/png"}
    resource = {"type": "resource", "resource": {"uri": "x://p.png", "mimeType": "image/png", "blob": png}}
    results = {
        "block": {"content": [{**block, "data": picture(1800, 930)}]},  # 5 MB
        "copied": {"content": [block], "structuredContent": {"picture": png, "n": 1}},
        "resource": {"content": [resource]},
        "failed": {"content": [{"type": "text", "text": "cannot"}, block], "isError": True},
        "wide": {"content": [{**block, "data": picture(12_000, 20)}]},
    }
    async with product(tmp_path, {"pics": answering(tmp_path / "pics", results)}) as running, running.faces() as faces:
        for route, names in PICTURED:
            for name in names:
                answer = await faces[route].call(f"pics__{name}", {})
                assert answer.is_error == (name == "failed"), (route, name)
                images = [shown for shown in answer.blocks if shown["type"] == "image"]
                assert len(images) == 1, (route, name, answer.text)
                size = Image.open(io.BytesIO(base64.b64decode(images[0]["data"]))).size
                assert max(size) <= 2000 and answer.bytes < 3_000_000, (route, name, size)
                rest_of_it = {key: value for key, value in answer.facts.items() if key != "blocks"}
                assert longest_word(answer.text) < 1000 and longest_word(rest_of_it) < 1000, (route, name)
                assert name != "wide" or "12000" in answer.text.replace(",", ""), (route, answer.text)


def answering(file: Path, results: dict[str, Any]) -> dict[str, Any]:
    """A server that answers with these results."""
    return listed(file, [tool(name) for name in results], results)


HIDDEN = {
    "claims": {"content": [{"type": "text", "text": "Error: not found"}]},
    "status": {"content": [{"type": "text", "text": '{"status": "error", "message": "no such user"}'}]},
    "read_log": {
        "content": [{"type": "text", "text": "Error: disk full at 12:01\nretrying\n12:02 all is well\n" * 20}]
    },
}


@pytest.mark.case("O2")
async def test_a_success_that_says_it_failed_is_marked_and_passed_unchanged(tmp_path: Path) -> None:
    """On every route, with the ground of the suspicion; a log that begins with the word is no failure of its reader."""
    servers = {"s": answering(tmp_path / "s", HIDDEN)}
    async with product(tmp_path, servers) as running, running.faces() as faces:
        for route, face in faces.items():
            for name in ("claims", "status"):
                answer = await face.call(f"s__{name}", {})
                assert not answer.is_error and answer.kind is None, (route, name)
                assert answer.suspected, (route, name, answer.text)
                assert answer.status in (200, 202)
                words = ("not found",) if name == "claims" else ("error", "no such user")
                assert all(word in answer.text for word in words), (route, name, answer.text)
            log = await face.call("s__read_log", {"path": f"/{route}"})
            assert not log.is_error and not log.suspected, (route, log.text)


@pytest.mark.case("O2")
async def test_the_same_failing_call_again_and_again_is_pointed_out(tmp_path: Path) -> None:
    """Thirty identical calls: later answers say so; suspected failures are counted apart from reported ones."""
    async with product(tmp_path, {"s": answering(tmp_path / "s", HIDDEN)}) as running, running.rest() as rest:
        first = await rest.call("s__claims", {"q": 1})
        answers = [await rest.call("s__claims", {"q": 1}) for _ in range(29)]
        assert len(answers[-1].text) > len(first.text)
        assert "same" in answers[-1].text.lower() or "times" in answers[-1].text.lower()
        estimate = (await rest.get("/v1/actions/s__claims"))["reliability"]
        assert estimate["success"] > 0.5, estimate


SHAPES: dict[str, Any] = {
    "empty": {"content": []},
    "data_only": {"content": [], "structuredContent": {"n": 7}},
    "no_key": {"structuredContent": {"n": 7}},
    "null": {"content": None},
    "blank": {"content": [{"type": "text", "text": ""}]},
    "old": {"toolResult": {"n": 7}},
    "nothing": {},
}


@pytest.mark.case("O4")
async def test_empty_and_odd_results_are_told_as_what_they_are_on_every_route(tmp_path: Path) -> None:
    """No crash; data is shown; an empty success says so and stays a success."""
    async with product(tmp_path, {"s": answering(tmp_path / "s", SHAPES)}) as running, running.faces() as faces:
        for route, face in faces.items():
            for name in SHAPES:
                answer = await face.call(f"s__{name}", {})
                assert not answer.is_error, (route, name, answer.text)
                if name in ("data_only", "no_key", "old"):
                    assert "7" in answer.text or answer.value == {"n": 7}, (route, name, answer.text)
                else:
                    words = answer.text.lower()
                    assert "empty" in words or "nothing" in words or "no content" in words, (route, name, words)


@pytest.mark.case("O1")
async def test_the_flag_of_a_failure_survives_and_differs_from_a_protocol_error(tmp_path: Path) -> None:
    """With text, a picture and data; a JSON-RPC error is told apart, on every route."""
    image = {"type": "image", "data": picture(8, 8), "mimeType": "image/png"}
    results = {
        "words": {"content": [{"type": "text", "text": "disk is full"}], "isError": True},
        "picture": {"content": [image], "isError": True},
        "data": {"content": [], "structuredContent": {"reason": "full"}, "isError": True},
    }
    servers = {"s": answering(tmp_path / "s", results), "raw": raw()}
    async with product(tmp_path, servers) as running, running.faces() as faces:
        for route in ROUTES:
            answers: dict[str, Answer] = {name: await faces[route].call(f"s__{name}", {}) for name in results}
            assert all(answer.is_error for answer in answers.values()), route
            assert "disk is full" in answers["words"].text and answers["picture"].blocks, route
            assert "full" in answers["data"].text or answers["data"].value == {"reason": "full"}, route
            refused = await faces[route].call("raw__odd-error", {"error": {"code": -32603, "message": "inner"}})
            assert refused.is_error and refused.kind and "inner" in refused.text, route
