"""What changes between eras, and what does not."""

from __future__ import annotations

from typing import Any

import mcp_types as types
import pytest

from anyact_server.gateway.bridge import empty_list, listed, offered, to_client, to_server
from anyact_server.types import Snapshot

INFO = {"name": "files", "version": "3"}
TOOL = {"name": "t", "inputSchema": {"type": "object"}, "icons": [{"src": "a"}], "x-new": {"deep": [None]}}
OLD, NEW = "2025-11-25", "2026-07-28"


def test_protocol_meta_stays_behind_and_everything_else_goes_to_the_server() -> None:
    """The client's own `_meta` passes; what names its connection does not."""
    meta = {
        "progressToken": 7,
        types.PROTOCOL_VERSION_META_KEY: NEW,
        types.CLIENT_INFO_META_KEY: {},
        types.CLIENT_CAPABILITIES_META_KEY: {},
        types.LOG_LEVEL_META_KEY: "error",
        "traceparent": "00-1",
        "example.org/x": [None],
    }
    kept = {types.LOG_LEVEL_META_KEY: "error", "traceparent": "00-1", "example.org/x": [None]}
    assert to_server({"name": "t", "strange": 1, "_meta": meta}) == {"name": "t", "strange": 1, "_meta": kept}
    assert to_server({"name": "t", "_meta": {"progressToken": 7}}) == {"name": "t"}
    assert to_server({"name": "t", "_meta": "odd"}) == {"name": "t"}


def test_the_level_of_a_session_goes_with_each_request() -> None:
    """It replaces what the request says."""
    asked = to_server({"_meta": {types.LOG_LEVEL_META_KEY: "error"}}, log_level="debug")
    assert asked == {"_meta": {types.LOG_LEVEL_META_KEY: "debug"}}


def test_a_modern_client_gets_the_envelope_that_an_older_server_does_not_send() -> None:
    """Mark, life time and who answers are added; the rest is untouched."""
    found = to_client("tools/list", {"tools": [TOOL], "_meta": {"a": 1}}, modern=True, info=INFO)
    assert found == {
        "tools": [TOOL],
        "resultType": "complete",
        "ttlMs": 0,
        "cacheScope": "private",
        "_meta": {types.SERVER_INFO_META_KEY: INFO, "a": 1},
    }
    assert to_client("x/y", {"a": None}, modern=True, info={}) == {"a": None, "resultType": "complete"}


def test_what_a_modern_server_says_of_its_results_reaches_a_modern_client() -> None:
    """Life time, scope and name are the server's own, unless the list was cut for one principal."""
    sent = {"tools": [], "resultType": "complete", "ttlMs": 9, "cacheScope": "public"}
    sent["_meta"] = {types.SERVER_INFO_META_KEY: {"name": "other"}}
    assert to_client("tools/list", sent, modern=True, info=INFO) == sent
    assert to_client("tools/list", sent, modern=True, info=INFO, private=True)["cacheScope"] == "private"


def test_results_that_ask_for_input_and_extensions_pass_untouched() -> None:
    """Their shape belongs to the protocol or to the extension, not to a tool result."""
    for kind in ("input_required", "task"):
        sent = {"resultType": kind, "taskId": "1"}
        assert to_client("tools/call", sent, modern=True, info={}) == sent


def test_an_older_client_never_sees_the_envelope_of_the_modern_era() -> None:
    """Clients with strict models refuse unknown members of an empty result."""
    sent: dict[str, Any] = {"resultType": "complete", "ttlMs": 9, "cacheScope": "public"}
    sent["_meta"] = {types.SERVER_INFO_META_KEY: INFO}
    assert to_client("ping", sent, modern=False, info=INFO) == {}
    sent["_meta"] = {types.SERVER_INFO_META_KEY: INFO, "a": 1}
    assert to_client("ping", sent, modern=False, info=INFO) == {"_meta": {"a": 1}}


@pytest.mark.case("O1")
@pytest.mark.parametrize("modern", [True, False])
def test_the_flag_and_the_data_of_a_result_survive(modern: bool) -> None:
    """A failure stays a failure, with its picture, its data and its unknown members."""
    sent = {
        "content": [{"type": "image", "data": "AA==", "mimeType": "image/png", "new": 1}],
        "isError": True,
        "structuredContent": {"why": None},
        "x-new": 1,
    }
    found = to_client("tools/call", sent, modern=modern, info={})
    assert {name: found[name] for name in sent} == sent


@pytest.mark.case("O4")
@pytest.mark.parametrize(
    ("sent", "content"),
    [
        ({}, []),
        ({"content": None}, []),
        ({"content": []}, []),
        ({"content": "plain"}, [{"type": "text", "text": "plain"}]),
        ({"toolResult": {"a": 1}}, [{"type": "text", "text": '{"a": 1}'}]),
    ],
)
def test_odd_content_becomes_a_list(sent: dict[str, Any], content: list[Any]) -> None:
    """Old and malformed forms reach strict clients in a form that they take."""
    assert to_client("tools/call", sent, modern=False, info={})["content"] == content


def test_data_that_an_older_client_cannot_take_becomes_text_where_nothing_else_shows_it() -> None:
    """Before 2026 structured content is an object."""
    sent = {"content": [], "structuredContent": [1, 2]}
    assert to_client("tools/call", sent, modern=False, info={}) == {"content": [{"type": "text", "text": "[1, 2]"}]}
    told = {"content": [{"type": "text", "text": "[1,2]"}], "structuredContent": [1, 2]}
    assert to_client("tools/call", told, modern=False, info={}) == {"content": told["content"]}
    assert to_client("tools/call", sent, modern=True, info={})["structuredContent"] == [1, 2]
    assert to_client("tools/call", {"content": [], "structuredContent": None}, modern=False, info={}) == {"content": []}


def test_a_sound_tool_passes_as_it_is() -> None:
    """No member is lost, known or not."""
    assert listed("tools/list", [TOOL], modern=False) == ([TOOL], [])


@pytest.mark.case("S1")
def test_one_bad_tool_never_costs_the_list() -> None:
    """What can be mended is; what cannot be called by anybody is left out and named."""
    items: list[Any] = [
        {"name": "text", "inputSchema": {"type": "string"}},
        {"name": "null", "inputSchema": None},
        {"name": "absent"},
        {"name": "untyped", "inputSchema": {"properties": {"a": {}}}},
        {"name": "several", "inputSchema": {"type": ["object", "null"]}},
        {"name": "annotated", "inputSchema": {"type": "object"}, "annotations": "odd", "title": 7, "icons": []},
        {"inputSchema": {"type": "object"}},
        "no tool",
    ]
    kept, left_out = listed("tools/list", items, modern=True)
    assert kept == [
        {"name": "null", "inputSchema": {"type": "object"}},
        {"name": "absent", "inputSchema": {"type": "object"}},
        {"name": "untyped", "inputSchema": {"properties": {"a": {}}, "type": "object"}},
        {"name": "several", "inputSchema": {"type": "object"}},
        {"name": "annotated", "inputSchema": {"type": "object"}, "icons": []},
    ]
    assert [line.partition(":")[0] for line in left_out] == ["text", "an item without a name", "an item without a name"]


def test_an_output_schema_of_the_modern_era_is_not_shown_to_an_older_client() -> None:
    """Before 2026 it had to be an object; the tool itself stays."""
    tool = {"name": "t", "inputSchema": {"type": "object"}, "outputSchema": {"type": "array"}}
    assert listed("tools/list", [tool], modern=True)[0] == [tool]
    assert listed("tools/list", [tool], modern=False)[0] == [{"name": "t", "inputSchema": {"type": "object"}}]


def test_items_of_other_lists_are_mended_too() -> None:
    """A member that does not fit is taken away; an item without its address is left out."""
    kept, left_out = listed(
        "resources/list", [{"uri": "a://b", "name": "b", "size": "big"}, {"name": "c"}, 7], modern=True
    )
    assert kept == [{"uri": "a://b", "name": "b"}]
    assert len(left_out) == 2


def test_capabilities_pass_whole_within_an_era() -> None:
    """Unknown and experimental ones included."""
    declared: dict[str, Any] = {"tools": {}, "tasks": {}, "experimental": {"x": {}}, "new": {}}
    assert offered(Snapshot("s", capabilities=declared, protocol_version=OLD), modern=False) == declared


def test_capabilities_that_cannot_cross_eras_are_left_out() -> None:
    """Tasks are a capability in one era and an extension in the other."""
    old = Snapshot("s", capabilities={"tools": {}, "tasks": {}}, protocol_version=OLD)
    assert offered(old, modern=True) == {"tools": {}}
    extensions: dict[str, Any] = {"io.modelcontextprotocol/tasks": {}, "io.modelcontextprotocol/ui": {}}
    new = Snapshot("s", capabilities={"extensions": extensions}, protocol_version=NEW)
    assert offered(new, modern=False) == {"extensions": {"io.modelcontextprotocol/ui": {}}}
    assert offered(new, modern=True) == {"extensions": extensions}


def test_an_absent_list_is_empty() -> None:
    """Each list under its own name."""
    assert empty_list("resources/templates/list") == {"resourceTemplates": []}
