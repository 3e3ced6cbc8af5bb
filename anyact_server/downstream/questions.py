"""Questions that servers put to clients in mid-call: who can answer, and the rounds of the 2026 era."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, Protocol, TypeVar

import anyio

from anyact_server.errors import DownstreamError, RemoteError
from anyact_server.interfaces import Caller
from anyact_server.types import JsonObject, Kind

ABILITY = {
    "elicitation/create": "elicitation",
    "sampling/createMessage": "sampling",
    "roots/list": "roots",
}
"""The capability that a client needs to answer each kind of question."""
RELAYED: JsonObject = {"elicitation": {"form": {}, "url": {}}, "sampling": {}, "roots": {}}
"""What is declared to a server whose connection many clients share: everything that can be relayed to one of them."""
DECLARED = (*RELAYED, "extensions", "experimental")
"""What of a client's own capabilities is declared to a server in its name, where it comes in that name alone."""
MOST_ROUNDS = 10
"""Rounds of questions in one call, as in the official SDKs."""
FIRST_WAIT_S = 0.05
LONGEST_WAIT_S = 0.25
"""Pauses while a server says only that it is not done yet."""
CANCELLED: JsonObject = {"action": "cancel"}
"""The answer to an elicitation that nobody can answer."""


class Asked(Protocol):
    """A request in flight, as far as questions are concerned."""

    @property
    def id(self) -> int: ...

    @property
    def caller(self) -> Caller | None: ...


AskedT = TypeVar("AskedT", bound=Asked)


def relayed(abilities: JsonObject) -> dict[str, Any]:
    """Of a client's abilities, those that can be declared to a server."""
    return {name: abilities[name] for name in DECLARED if isinstance(abilities.get(name), Mapping)}


def can_answer(abilities: JsonObject, method: str, params: JsonObject) -> bool:
    """Whether a client with these abilities can answer a question."""
    ability = abilities.get(ABILITY.get(method, ""))
    if not isinstance(ability, Mapping):
        return False
    if method == "elicitation/create" and params.get("mode") == "url":
        return "url" in ability
    return True


def choose(flights: Sequence[AskedT], related: object, method: str, params: JsonObject) -> AskedT | None:
    """The request in flight whose caller gets a question.

    That is the one on whose stream the question came; else the only one; else the latest whose caller can answer.
    """
    asked = [flight for flight in flights if flight.caller is not None]
    for flight in asked:
        if flight.id == related:
            return flight
    able = [f for f in asked if f.caller is not None and can_answer(f.caller.abilities, method, params)]
    return able[-1] if able else None


async def answer_all(result: JsonObject, caller: Caller, *, server: str, question_s: float) -> dict[str, Any] | None:
    """Put every question of an `input_required` result to the caller, at once; None when it holds none.

    Raises:
        RemoteError: the caller cannot answer or refused something other than an elicitation.
        DownstreamError: the questions have no readable form.
    """
    requests = result.get("inputRequests")
    if not requests:
        return None
    if not isinstance(requests, Mapping) or not all(isinstance(item, Mapping) for item in requests.values()):
        raise DownstreamError(
            f"server {server!r} asks for input in a form that cannot be read", server=server, kind=Kind.PROTOCOL
        )
    answers: dict[str, Any] = {}
    refused: list[RemoteError] = []

    async def put(key: str, item: Mapping[str, Any]) -> None:
        method, params = str(item.get("method")), item.get("params") or {}
        try:
            answers[key] = await ask(caller, method, params, server=server, question_s=question_s)
        except RemoteError as error:
            if method == "elicitation/create":
                answers[key] = CANCELLED
            else:
                refused.append(error)

    async with anyio.create_task_group() as group:
        for key, item in requests.items():
            group.start_soon(put, key, item)
    if refused:
        raise refused[0]
    return answers


async def ask(caller: Caller, method: str, params: JsonObject, *, server: str, question_s: float) -> JsonObject:
    """Put one question to a caller.

    Raises:
        RemoteError: it cannot answer, refused, or did not answer in time.
    """
    if not can_answer(caller.abilities, method, params):
        raise RemoteError(-32601, f"the client cannot answer {method}", server=server)
    try:
        with anyio.fail_after(question_s):
            return await caller.ask(method, params)
    except TimeoutError:
        raise RemoteError(-32001, f"the client did not answer within {question_s:g} s", server=server) from None


async def rounds(
    first: JsonObject,
    answers: Callable[[JsonObject], Awaitable[dict[str, Any] | None]],
    again: Callable[[dict[str, Any]], Awaitable[JsonObject]],
    *,
    server: str,
) -> JsonObject:
    """Answer `input_required` results until there is another one.

    Args:
        first: the first result.
        answers: gives the answers to a result's questions, None where it has none.
        again: sends the request once more with these additional params.
        server: config name.

    Raises:
        DownstreamError: the server never has enough.
        RemoteError: as `answers` and `again`.
    """
    result, wait_s = first, FIRST_WAIT_S
    for _ in range(MOST_ROUNDS):
        if result.get("resultType") != "input_required":
            return result
        given = await answers(result)
        if given is None:
            await anyio.sleep(wait_s)
        wait_s = FIRST_WAIT_S if given is not None else min(wait_s * 2, LONGEST_WAIT_S)
        more: dict[str, Any] = {} if given is None else {"inputResponses": given}
        if result.get("requestState") is not None:
            more["requestState"] = result["requestState"]
        result = await again(more)
    if result.get("resultType") != "input_required":
        return result
    raise DownstreamError(
        f"server {server!r} asked for input more than {MOST_ROUNDS} times in one call",
        server=server,
        kind=Kind.PROTOCOL,
    )
