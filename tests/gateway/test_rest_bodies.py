"""What REST takes."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from anyact_server.gateway.rest_bodies import ArgumentsBody, CallBody, RunBody, SearchBody
from anyact_server.types import Query


def test_a_search_takes_one_need_or_several() -> None:
    """A single one may stand alone."""
    assert SearchBody.model_validate({"intents": "send a mail"}).query() == Query(("send a mail",))
    full = SearchBody.model_validate(
        {"intents": ["a", "b"], "limit": 3.0, "offset": 5, "servers": ["s"], "tags": ["t"], "read_only": True}
    )
    assert full.query() == Query(("a", "b"), 3, 5, ("s",), ("t",), True)


@pytest.mark.parametrize(
    "wrong",
    [
        {},
        {"intents": []},
        {"intents": [" "]},
        {"intents": ["a"] * 21},
        {"intents": "a", "limit": 0},
        {"intents": "a", "limit": 51},
        {"intents": "a", "limit": "5"},
        {"intents": "a", "limit": 1.5},
        {"intents": "a", "limit": True},
        {"intents": "a", "limti": 5},
        {"intents": "a", "detail": "all"},
        [],
        "a",
        None,
    ],
)
def test_a_search_of_another_form_is_refused(wrong: Any) -> None:
    """Typing mistakes too: nothing is ignored."""
    with pytest.raises(ValidationError):
        SearchBody.model_validate(wrong)


def test_arguments_may_be_anything_and_limits_may_not() -> None:
    """Arguments are checked where they are checked for every route."""
    assert ArgumentsBody.model_validate({}).arguments is None
    for value in (None, "", {}, '{"a": 1}', [1], 3, {"limit": 3.0}):
        assert CallBody.model_validate({"action": "a", "arguments": value}).arguments == value
    for wrong in ({"timeout_s": 0}, {"timeout_s": -1}, {"budget_tokens": 99}, {"timeout_s": "5"}):
        with pytest.raises(ValidationError):
            ArgumentsBody.model_validate(wrong)


def test_a_number_in_the_arguments_stays_as_it_is() -> None:
    """Only the body's own whole numbers are read as such."""
    kept = ArgumentsBody.model_validate({"arguments": {"limit": 3.0}}).arguments["limit"]
    assert isinstance(kept, float)


def test_tasks_are_named_as_models_name_them() -> None:
    """`tool` for `action`, `name` for `id`, and its number where a task has none."""
    body = RunBody.model_validate(
        {
            "tasks": [
                {"tool": "x", "arguments": {"a": 1}, "timeout_s": 5, "budget_tokens": 200},
                {"name": "second", "action": "y", "depends_on": ["1"], "on_error": "continue"},
            ],
            "wait_s": None,
        }
    )
    first, second = (task.task(number) for number, task in enumerate(body.tasks, 1))
    assert (first.id, first.call.action, first.call.arguments, first.call.timeout_s) == ("1", "x", {"a": 1}, 5)
    assert (second.id, second.depends_on, second.on_error) == ("second", ("1",), "continue")
    with pytest.raises(ValidationError):
        RunBody.model_validate({"tasks": []})
