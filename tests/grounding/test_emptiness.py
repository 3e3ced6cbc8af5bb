"""An empty success is known for one."""

from __future__ import annotations

import pytest

from anyact_server.grounding.blocks import read_content
from anyact_server.grounding.emptiness import is_empty
from anyact_server.types import Json

from .conftest import text_result


@pytest.mark.case("O4")
@pytest.mark.parametrize(
    "result",
    [
        {"content": []},
        {},
        text_result(""),
        text_result(" \n"),
        text_result("[]"),
        text_result("No results found for 'x'."),
        text_result("### Result\nNo matches found"),
        text_result("0 rows"),
        text_result("[{'affected_rows': 0}]"),
        text_result('{"results": [], "total": 0, "page": 1}'),
        {"content": [], "structuredContent": {"result": []}},
        {"content": [], "structuredContent": {"result": "No data"}},
        {"content": [], "structuredContent": {"items": [], "count": 0}},
        {"content": [], "structuredContent": {"success": True, "found": False, "data": None}},
        {"content": [{"type": "text", "text": "[]"}], "structuredContent": {"result": []}},
    ],
)
def test_nothing_is_nothing(result: Json) -> None:
    """Blank, empty, zero, or said in words."""
    assert is_empty(read_content(result))


@pytest.mark.parametrize(
    "result",
    [
        text_result("done"),
        text_result("No errors"),
        text_result("null and void"),
        text_result("No results were kept, but " + "here is a long report. " * 40),
        text_result('{"issues": [], "total_issues": 0}'),
        text_result('{"results": [1], "total": 0}'),
        text_result('{"results": [], "total": 7}'),
        text_result('{"results": [], "more": {"a": 1}}'),
        text_result('{"a": 1}'),
        {"content": [{"type": "image", "data": "AA"}]},
        {"resultType": "task"},
        {"content": [], "structuredContent": {"a": {"b": []}}},
        {"content": [{"type": "text", "text": "words"}], "structuredContent": {"result": []}},
    ],
)
def test_something_is_something(result: Json) -> None:
    """Good news, pictures, tasks, counts."""
    assert not is_empty(read_content(result))
