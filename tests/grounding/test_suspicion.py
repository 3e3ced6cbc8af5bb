"""What a declared success says of a failure."""

from __future__ import annotations

import pytest

from anyact_server.grounding.blocks import read_content
from anyact_server.grounding.suspicion import suspicion_of, unwrapped_message
from anyact_server.types import Action, Json, Kind

from .conftest import text_result


def kind_of(result: Json, name: str = "act") -> Kind | None:
    found = suspicion_of(read_content(result), Action(f"s__{name}", "s", name))
    return found.reading.kind if found is not None else None


@pytest.mark.case("O2")
@pytest.mark.parametrize(
    ("result", "kind"),
    [
        (text_result("Error: not found"), Kind.NOT_FOUND),
        (text_result('{"status": "error", "message": "401 Unauthorized"}'), Kind.AUTH),
        ({"content": [], "structuredContent": {"success": False, "error": "quota exceeded"}}, Kind.RATE_LIMITED),
        ({"content": [], "structuredContent": {"result": "Error: timed out"}}, Kind.TIMEOUT),
        (text_result('[{"type": "text", "text": "Error executing X: ConnectionError"}]'), Kind.UNAVAILABLE),
        (
            text_result('Search results from logs:\n{"_shards": {"total": 2, "failed": 1}, "hits": {"a": 1}}'),
            Kind.UPSTREAM_5XX,
        ),
        (
            {"content": [{"type": "text", "text": "ok so far"}, {"type": "text", "text": "Error: 404 Not Found"}]},
            Kind.NOT_FOUND,
        ),
    ],
)
def test_a_hidden_failure_is_found(result: Json, kind: Kind) -> None:
    """In texts, in structured content, in texts inside lists, below a heading."""
    assert kind_of(result) is kind


@pytest.mark.parametrize(
    "result",
    [
        text_result("all good"),
        text_result('{"rows": [{"id": 1, "error": "x"}]}'),
        text_result("Results:\n{not json"),
        text_result('Results:\n{"a": 1}'),
        {"content": [{"type": "image", "data": "AA"}]},
    ],
)
def test_a_success_is_left_alone(result: Json) -> None:
    """Nothing at the top, nothing at the opening."""
    assert kind_of(result) is None


@pytest.mark.case("O2")
def test_what_an_action_reads_is_not_taken_for_its_own_failure() -> None:
    """A log that begins with Error, a file that holds an error object."""
    assert kind_of(text_result("Error: disk nearly full (last line)"), "log_tail") is None
    assert kind_of(text_result("Error: ENOENT: no such file"), "read_file") is Kind.NOT_FOUND
    assert kind_of(text_result('{"code": "E_FULL", "message": "disk"}'), "read_file") is None
    assert kind_of(text_result('{"code": "E_FULL", "message": "disk"}'), "act") is Kind.INTERNAL


def test_finding_nothing_is_an_answer_of_a_search() -> None:
    """And a failure of a look-up."""
    nothing = text_result('{"success": true, "found": false, "data": null, "status": "NOT_FOUND"}')
    assert kind_of(nothing, "order_get") is Kind.NOT_FOUND
    assert kind_of(nothing, "order_list") is None


def test_the_page_status_counts_for_actions_that_visit() -> None:
    """And not for those that merely show the page they are on."""
    page = text_result("### Page\n- Page URL: x\n- HTTP status: 500 Internal Server Error\n")
    assert kind_of(page, "browser_navigate") is Kind.UPSTREAM_5XX
    assert kind_of(page, "browser_click") is None


def test_without_an_action_the_strict_rules_hold() -> None:
    """A result can be judged alone."""
    assert suspicion_of(read_content(text_result("Error: x not found")), None) is not None


def test_wrapping_by_libraries_is_taken_off() -> None:
    """Before the words are read."""
    assert unwrapped_message("Error executing tool a.b: MCP error -32603: Error: boom") == "boom"
