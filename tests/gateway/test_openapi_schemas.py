"""The schemas of the description."""

from __future__ import annotations

from typing import Any

import pytest
from jsonschema_rs import Draft202012Validator

from anyact_server.gateway.openapi_schemas import REF, listed, ref, schemas, words
from anyact_server.gateway.rest_answers import error_body, observation_json, run_json
from anyact_server.gateway.rest_views import action_card, action_whole
from anyact_server.types import Estimate, Kind, RunReport, TaskReport, plain

from .twins import action, failure, observation, world


def _fits(name: str, value: Any) -> bool:
    root = {"$ref": f"#/$defs/{name}", "$defs": schemas()}
    return bool(Draft202012Validator(_local(root)).is_valid(value))


def _local(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _local(part) for name, part in value.items()}
    if isinstance(value, list):
        return [_local(part) for part in value]
    return value.replace(REF, "#/$defs/") if isinstance(value, str) else value


def test_the_pieces_of_schemas() -> None:
    """References, lists, words."""
    assert ref("Error") == {"$ref": "#/components/schemas/Error"}
    assert listed(ref("Error"))["items"] == ref("Error")
    assert words(Kind.OK, "other") == {"type": "string", "enum": ["ok", "other"]}


def test_every_reference_leads_somewhere() -> None:
    """And every schema has a name of its own."""
    made = schemas()

    def refs(value: Any) -> list[str]:
        if isinstance(value, dict):
            here = [value["$ref"]] if isinstance(value.get("$ref"), str) else []
            return here + [found for part in value.values() for found in refs(part)]
        return [found for part in value for found in refs(part)] if isinstance(value, list) else []

    assert {found.removeprefix(REF) for found in refs(made)} <= made.keys()
    assert {"SearchBody", "CallBody", "ArgumentsBody", "RunBody", "TaskBody", "ErrorAnswer"} <= made.keys()


def test_what_is_answered_has_the_form_that_is_described() -> None:
    """Every form, as the code makes it."""
    shown = action("demo", "echo")
    estimate = Estimate("demo__echo", 0.9, 0.5, 1.0)
    report = RunReport("run_1", True, [TaskReport("1", "a", "done", observation("x")), TaskReport("2", "a", "skipped")])
    assert _fits("Action", action_card(shown))
    assert _fits("Action", action_whole(shown, estimate))
    assert _fits("Observation", observation_json(observation("x", data={"a": 1})))
    assert _fits("Observation", observation_json(failure(Kind.TIMEOUT, "slow")))
    assert _fits("ErrorAnswer", error_body(Kind.NOT_FOUND, "no such", None))
    assert _fits("Run", run_json(report))
    for status in plain(world([shown]).downstreams.states):
        assert _fits("Server", status)


@pytest.mark.parametrize("name", ["Error", "Observation", "Action", "Run", "Server", "SearchAnswer", "Health"])
def test_a_form_is_not_just_anything(name: str) -> None:
    """An empty object is none of them."""
    assert not _fits(name, {})
