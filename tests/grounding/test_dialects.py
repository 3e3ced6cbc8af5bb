"""The dialects of an observation besides lines."""

from __future__ import annotations

import json
from typing import Any

import pytest

from anyact_server.grounding.dialects import Dialect, json_list, markdown_value
from anyact_server.types import LOCAL, Json, Observation

from .conftest import Ground, text_result

ROWS = [{"id": at, "name": f"customer {at}", "tags": ["a"]} for at in range(500)]
RESULTS: dict[str, Any] = {
    "rows": {"content": [], "structuredContent": {"result": ROWS}},
    "text": text_result("words of a line\n" * 900),
    "both": {
        "content": [{"type": "text", "text": "note"}],
        "structuredContent": {"a": {"b": [1, 2, {"c": "x" * 900}]}},
    },
    "error": text_result("Error: no such file", isError=True),
    "page": text_result(f"<html><body>{'<p>words</p>' * 400}</body></html>"),
    "link": {"content": [{"type": "resource_link", "uri": "https://x/y", "name": "y"}]},
    "nothing": {"content": []},
}


def observed(ground: Ground, result: Json, budget: int, dialect: Dialect) -> Observation:
    verdict = ground.grounder.judge(result, None)
    return ground.grounder.observe(result, verdict, action=None, principal=LOCAL, budget=budget, dialect=dialect)


@pytest.mark.parametrize("budget", [100, 300, 1000])
@pytest.mark.parametrize("name", RESULTS)
def test_json_is_json_within_the_budget(ground: Ground, name: str, budget: int) -> None:
    """Whatever the content; gaps are named by pointer, and the handle is there."""
    observation = observed(ground, RESULTS[name], budget, "json")
    document = json.loads(observation.text)
    assert document["status"] == observation.status
    assert observation.tokens.shown <= budget * 1.25 + 60
    if observation.handle is not None:
        assert document["handle"] == observation.handle
    assert "error" in document if name == "error" else "error" not in document


def test_json_shows_values_as_values(ground: Ground) -> None:
    """Cut lists hold their first items and a word on the rest."""
    document = json.loads(observed(ground, RESULTS["rows"], 400, "json").text)
    assert document["content"][0] == ROWS[0]
    assert document["content"][-1] == ROWS[-1]
    assert any(isinstance(part, str) and "more items" in part for part in document["content"])
    assert any("items at /" in gap for gap in document["left_out"])


def test_markdown_shows_like_objects_as_a_table(ground: Ground) -> None:
    """Within the budget."""
    observation = observed(ground, RESULTS["rows"], 400, "markdown")
    assert observation.text.startswith("| id | name | tags |\n|---|---|---|\n| 0 | customer 0 |")
    assert observation.tokens.shown <= 500


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ({"a": 1, "b": {"c": "x"}}, "- **a**: 1\n- **b**:\n  - **c**: x"),
        ([1, [2, 3]], "- 1\n- item:\n  - 2\n  - 3"),
        ([{"a": "x|y"}, {"a": None}], "| a |\n|---|\n| x\\|y |\n| null |"),
        ([{"a": 1}, {"b": 2}, {"c": 3}], "- item:\n  - **a**: 1\n- item:\n  - **b**: 2\n- item:\n  - **c**: 3"),
        ({"rows": [{"a": 1}, {"a": 2}]}, "- **rows**:\n\n| a |\n|---|\n| 1 |\n| 2 |\n"),
        ("a\nb", "a b"),
        ([], "[]"),
        (True, "true"),
    ],
)
def test_values_become_markdown(value: Json, text: str) -> None:
    """Tables, bullets and plain words."""
    assert markdown_value(value) == text


def test_parts_are_joined_as_json() -> None:
    """One as it is, several as a list, none as nothing."""
    assert (json_list(["1"]), json_list(["1", "2"]), json_list([])) == ("1", "[1,2]", "")
