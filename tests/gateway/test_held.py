"""Holding a call while its client answers a question."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import anyio
import anyio.lowlevel
import pytest

from anyact_server.errors import RemoteError, UsageError
from anyact_server.gateway.held import BY_RESULT, HeldCalls, fingerprint
from anyact_server.interfaces import Caller
from anyact_server.types import JsonObject, Principal

pytestmark = pytest.mark.anyio

PARAMS: dict[str, Any] = {"name": "t", "arguments": {"a": 1}}
QUESTION = {"message": "sure?", "requestedSchema": {"type": "object"}}


class Client:
    """The request of a client that can be asked for elicitation; keeps what it is told."""

    def __init__(self, name: str = "ann", abilities: JsonObject | None = None) -> None:
        self.principal = Principal(name, "token")
        self.session = None
        self.abilities: JsonObject = {"elicitation": {}} if abilities is None else abilities
        self.headers: dict[str, str] = {}
        self.passes_input_required = False
        self.told: list[object] = []

    async def progress(self, progress: float, total: float | None, message: str | None) -> None:
        self.told.append(progress)

    async def log(self, params: JsonObject) -> None:
        self.told.append(params["data"])

    async def ask(self, method: str, params: JsonObject) -> JsonObject:
        return await BY_RESULT.ask(method, params)


Work = Callable[[Caller], Awaitable[str]]


async def ask_once(caller: Caller) -> str:
    """Work that asks one question and gives the answer's action."""
    await caller.progress(1, 2, None)
    answer = await caller.ask("elicitation/create", QUESTION)
    await caller.progress(2, 2, None)
    await caller.log({"data": "noted"})
    return str(answer["action"])


def retry(asked: Any, **responses: object) -> dict[str, Any]:
    """The params with which a client answers an `input_required` result."""
    return {**PARAMS, "requestState": asked["requestState"], "inputResponses": responses}


async def test_work_that_asks_nothing_gives_its_result_at_once() -> None:
    """A request without questions costs one call and leaves nothing behind."""
    held = HeldCalls()

    async def work(caller: Caller) -> str:
        return caller.principal.name

    with anyio.fail_after(5):
        async with held.running():
            assert await held.call(Client(), "tools/call", PARAMS, work) == "ann"
            await anyio.lowlevel.checkpoint()
            assert len(held) == 0


@pytest.mark.case("Q1")
async def test_a_question_ends_the_request_and_the_answer_goes_on_with_the_same_call() -> None:
    """The work runs once over two rounds; progress and log lines go to the request that is open."""
    held, first, second, runs = HeldCalls(), Client(), Client(), []

    async def work(caller: Caller) -> str:
        runs.append(1)
        return await ask_once(caller)

    with anyio.fail_after(5):
        async with held.running():
            asked: Any = await held.call(first, "tools/call", PARAMS, work)
            assert asked["resultType"] == "input_required"
            assert asked["inputRequests"] == {"q1": {"method": "elicitation/create", "params": QUESTION}}
            answer = retry(asked, q1={"action": "accept"}, other={})
            assert await held.call(second, "tools/call", answer, work) == "accept"
    assert runs == [1]
    assert first.told == [1]
    assert second.told == [2, "noted"]


async def test_several_questions_at_once_are_asked_together_and_what_is_open_is_asked_again() -> None:
    """An answer to one of two questions brings a result that asks for the other."""
    held, both = HeldCalls(), anyio.Event()

    async def work(caller: Caller) -> str:
        answers: dict[int, Any] = {}

        async def one(number: int) -> None:
            if number == 2:
                both.set()
            answers[number] = await caller.ask("elicitation/create", {"number": number})

        async with anyio.create_task_group() as group:
            group.start_soon(one, 1)
            group.start_soon(one, 2)
        return f"{answers[1]['action']} {answers[2]['action']}"

    with anyio.fail_after(5):
        async with held.running():
            asked: Any = await held.call(Client(), "tools/call", PARAMS, work)
            assert sorted(asked["inputRequests"]) == ["q1", "q2"]
            again: Any = await held.call(Client(), "tools/call", retry(asked, q2={"action": "two"}, q1="junk"), work)
            assert sorted(again["inputRequests"]) == ["q1"]
            assert await held.call(Client(), "tools/call", retry(again, q1={"action": "one"}), work) == "one two"


async def test_an_answer_by_another_principal_or_for_another_request_is_refused() -> None:
    """The state is good for one principal and one request; the call stays held for its owner."""
    held = HeldCalls()
    with anyio.fail_after(5):
        async with held.running():
            asked: Any = await held.call(Client(), "tools/call", PARAMS, ask_once)
            answer = retry(asked, q1={"action": "accept"})
            with pytest.raises(UsageError, match="does not belong"):
                await held.call(Client("eve"), "tools/call", answer, ask_once)
            with pytest.raises(UsageError, match="does not belong"):
                await held.call(Client(), "tools/call", {**answer, "arguments": {"a": 2}}, ask_once)
            assert await held.call(Client(), "tools/call", answer, ask_once) == "accept"


@pytest.mark.parametrize("spoil", [lambda s: s[:-1] + ("0" if s[-1] != "0" else "1"), lambda s: s + ".x"])
async def test_a_tampered_state_is_refused(spoil: Callable[[str], str]) -> None:
    """A state with a wrong signature or shape leads nowhere."""
    held = HeldCalls()
    with anyio.fail_after(5):
        async with held.running():
            asked: Any = await held.call(Client(), "tools/call", PARAMS, ask_once)
            with pytest.raises(UsageError):
                await held.call(
                    Client(), "tools/call", {**PARAMS, "requestState": spoil(asked["requestState"])}, ask_once
                )


async def test_a_state_is_spent_after_its_round() -> None:
    """Answering twice is refused, and runs nothing twice."""
    held = HeldCalls()
    with anyio.fail_after(5):
        async with held.running():
            asked: Any = await held.call(Client(), "tools/call", PARAMS, ask_once)
            answer = retry(asked, q1={"action": "accept"})
            await held.call(Client(), "tools/call", answer, ask_once)
            with pytest.raises(UsageError, match="over or already answered"):
                await held.call(Client(), "tools/call", answer, ask_once)


async def test_a_state_of_another_process_is_refused() -> None:
    """Each process has a key of its own."""
    one, two = HeldCalls(), HeldCalls()
    with anyio.fail_after(5):
        async with one.running(), two.running():
            asked: Any = await one.call(Client(), "tools/call", PARAMS, ask_once)
            with pytest.raises(UsageError, match="does not belong"):
                await two.call(Client(), "tools/call", retry(asked, q1={"action": "accept"}), ask_once)


@pytest.mark.case("Q1")
async def test_a_question_that_nobody_answers_cancels_its_call() -> None:
    """After the limit the server is refused, the call is cancelled and forgotten, and a late answer is told so."""
    held, ended = HeldCalls(question_s=0.05), anyio.Event()

    async def work(caller: Caller) -> str:
        try:
            return await ask_once(caller)
        finally:
            ended.set()

    with anyio.fail_after(5):
        async with held.running():
            asked: Any = await held.call(Client(), "tools/call", PARAMS, work)
            await ended.wait()
            while len(held):
                await anyio.lowlevel.checkpoint()
            with pytest.raises(UsageError, match="over or already answered"):
                await held.call(Client(), "tools/call", retry(asked, q1={"action": "accept"}), work)


@pytest.mark.case("Q1")
async def test_a_client_without_the_ability_is_refused_at_once() -> None:
    """The server gets a proper error instead of a wait."""
    held = HeldCalls()
    with anyio.fail_after(5):
        async with held.running():
            with pytest.raises(RemoteError, match="cannot answer"):
                await held.call(Client(abilities={}), "tools/call", PARAMS, ask_once)


async def test_errors_of_the_work_reach_the_request() -> None:
    """Whatever the work raises is raised where the result is wanted."""
    held = HeldCalls()

    async def work(caller: Caller) -> str:
        raise LookupError("gone")

    with anyio.fail_after(5):
        async with held.running():
            with pytest.raises(LookupError, match="gone"):
                await held.call(Client(), "tools/call", PARAMS, work)
            assert await held.call(Client(), "tools/call", PARAMS, ask_once)


async def test_a_client_that_leaves_takes_its_call_with_it() -> None:
    """Cancelling the open request cancels the work, and the place is free at once."""
    held, started, cancelled = HeldCalls(), anyio.Event(), anyio.Event()

    async def work(caller: Caller) -> str:
        started.set()
        try:
            await anyio.sleep_forever()
        finally:
            cancelled.set()
        return "never"

    with anyio.fail_after(5):
        async with held.running():
            async with anyio.create_task_group() as group:
                group.start_soon(held.call, Client(), "tools/call", PARAMS, work)
                await started.wait()
                group.cancel_scope.cancel()
            await cancelled.wait()
            while len(held):
                await anyio.lowlevel.checkpoint()


async def test_work_that_ends_between_two_rounds_keeps_its_result() -> None:
    """A call that stops waiting for the answer gives its result to the client that comes back."""
    held, over = HeldCalls(), anyio.Event()

    async def work(caller: Caller) -> str:
        with anyio.move_on_after(0.01):
            await caller.ask("elicitation/create", QUESTION)
        await caller.progress(1, None, None)
        await caller.log({"data": "unheard"})
        over.set()
        return "without you"

    with anyio.fail_after(5):
        async with held.running():
            asked: Any = await held.call(Client(), "tools/call", PARAMS, work)
            await over.wait()
            late = Client()
            assert await held.call(late, "tools/call", retry(asked, q1={"action": "accept"}), work) == "without you"
            assert late.told == []


async def test_calls_over_the_limit_are_refused() -> None:
    """The number of calls is bounded; those that are held stay."""
    held = HeldCalls(limit=1)
    with anyio.fail_after(5):
        async with held.running():
            asked: Any = await held.call(Client(), "tools/call", PARAMS, ask_once)
            with pytest.raises(RemoteError, match="1 calls are in flight"):
                await held.call(Client(), "tools/call", PARAMS, ask_once)
            assert (
                await held.call(Client(), "tools/call", retry(asked, q1={"action": "decline"}), ask_once) == "decline"
            )


async def test_nothing_is_held_before_it_runs() -> None:
    """Calling outside of `running` is a mistake of the program."""
    with pytest.raises(RuntimeError):
        await HeldCalls().call(Client(), "tools/call", PARAMS, ask_once)


async def test_the_request_itself_cannot_ask() -> None:
    """A question that does not come from a held call is refused."""
    with pytest.raises(RemoteError):
        await BY_RESULT.ask("roots/list", {})


async def test_the_fingerprint_ignores_what_a_retry_changes() -> None:
    """Answers, state and `_meta` do not count; arguments do, lone surrogates included."""
    same = {**PARAMS, "_meta": {"progressToken": 1}, "requestState": "s", "inputResponses": {}}
    assert fingerprint("tools/call", same) == fingerprint("tools/call", PARAMS)
    assert fingerprint("tools/call", {**PARAMS, "name": "\ud800"}) != fingerprint("tools/call", PARAMS)
