"""Who answers a server's question, and the rounds of the new era."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest

from anyact_server.downstream.questions import CANCELLED, answer_all, ask, can_answer, choose, relayed, rounds
from anyact_server.errors import DownstreamError, RemoteError
from anyact_server.interfaces import Caller
from anyact_server.types import JsonObject

from .kit import Recorder

pytestmark = pytest.mark.anyio
FORM: JsonObject = {"elicitation": {}}


@dataclass
class Asking:
    """A request in flight."""

    id: int
    caller: Caller | None


def test_only_what_can_be_relayed_is_declared() -> None:
    """Other capabilities, and those of the wrong shape, stay here."""
    assert relayed({"roots": {"listChanged": True}, "sampling": None, "tasks": {}}) == {"roots": {"listChanged": True}}


@pytest.mark.parametrize(
    ("abilities", "method", "params", "able"),
    [
        (FORM, "elicitation/create", {}, True),
        (FORM, "elicitation/create", {"mode": "url"}, False),
        ({"elicitation": {"url": {}}}, "elicitation/create", {"mode": "url"}, True),
        (FORM, "sampling/createMessage", {}, False),
        ({"roots": {}}, "roots/list", {}, True),
        ({"roots": {}}, "no/such", {}, False),
    ],
)
def test_abilities_decide_who_can_answer(abilities: JsonObject, method: str, params: JsonObject, able: bool) -> None:
    """A form is not a web page."""
    assert can_answer(abilities, method, params) is able


@pytest.mark.case("Q1")
def test_a_question_goes_to_the_call_it_belongs_to() -> None:
    """By the stream it came on; else to the latest who can answer; else to nobody."""
    able, unable = Recorder(abilities=FORM), Recorder()
    flights = [Asking(1, able), Asking(2, unable), Asking(3, able), Asking(4, None), Asking(5, unable)]
    assert choose(flights, 2, "elicitation/create", {}) is flights[1]
    assert choose(flights, None, "elicitation/create", {}) is flights[2]
    assert choose(flights, 4, "elicitation/create", {}) is flights[2]
    assert choose(flights, None, "roots/list", {}) is None
    assert choose([], None, "roots/list", {}) is None


async def test_a_question_is_refused_by_those_who_cannot_answer() -> None:
    """At once, without bothering them."""
    caller = Recorder()
    with pytest.raises(RemoteError, match="cannot answer"):
        await ask(caller, "roots/list", {}, server="s", question_s=1)
    assert not caller.asked


async def test_a_question_is_held_for_its_limit() -> None:
    """Then the caller's part is cancelled."""
    caller = Recorder(abilities=FORM, silent=True)
    with pytest.raises(RemoteError, match=r"within 0\.05 s"):
        await ask(caller, "elicitation/create", {}, server="s", question_s=0.05)
    assert caller.dropped.is_set()


async def test_all_questions_of_a_round_are_put_at_once() -> None:
    """Answers come back under the server's keys; a refused elicitation is a cancelled one."""
    caller = Recorder(abilities=FORM)
    pending = {
        "inputRequests": {"a": {"method": "elicitation/create", "params": {}}, "b": {"method": "elicitation/create"}}
    }
    assert await answer_all(pending, caller, server="s", question_s=1) == {"a": caller.reply, "b": caller.reply}
    refusing = Recorder(abilities=FORM, reply={"refuse": True})
    assert await answer_all(pending, refusing, server="s", question_s=1) == {"a": CANCELLED, "b": CANCELLED}
    assert await answer_all({}, caller, server="s", question_s=1) is None


async def test_a_round_that_cannot_be_answered_ends_the_call() -> None:
    """Roots that nobody has, and questions without a readable form."""
    with pytest.raises(RemoteError):
        await answer_all({"inputRequests": {"a": {"method": "roots/list"}}}, Recorder(), server="s", question_s=1)
    for odd in ([1], {"a": 1}):
        with pytest.raises(DownstreamError, match="cannot be read"):
            await answer_all({"inputRequests": odd}, Recorder(), server="s", question_s=1)


async def test_rounds_go_on_until_there_is_a_result() -> None:
    """State travels untouched; a server that only needs time is asked again with pauses."""
    results: list[JsonObject] = [
        {"resultType": "input_required", "requestState": "s2"},
        {"resultType": "input_required", "inputRequests": {"a": {}}},
        {"content": []},
    ]
    sent: list[dict[str, Any]] = []

    async def answers(pending: JsonObject) -> dict[str, Any] | None:
        return {"a": 1} if "inputRequests" in pending else None

    async def again(more: dict[str, Any]) -> JsonObject:
        sent.append(more)
        return results.pop(0)

    first = {"resultType": "input_required", "inputRequests": {"a": {}}, "requestState": "s1"}
    assert await rounds(first, answers, again, server="s") == {"content": []}
    assert sent == [
        {"inputResponses": {"a": 1}, "requestState": "s1"},
        {"requestState": "s2"},
        {"inputResponses": {"a": 1}},
    ]


async def test_a_server_that_never_has_enough_is_cut() -> None:
    """After ten rounds the call ends; a result in the last round still counts."""
    count = 0

    async def answers(pending: JsonObject) -> dict[str, Any] | None:
        return {}

    async def again(more: dict[str, Any]) -> JsonObject:
        nonlocal count
        count += 1
        return {"resultType": "complete" if count == 20 else "input_required"}

    with pytest.raises(DownstreamError, match="more than 10 times"):
        await rounds({"resultType": "input_required"}, answers, again, server="s")
    assert await rounds({"resultType": "input_required"}, answers, again, server="s") == {"resultType": "complete"}
