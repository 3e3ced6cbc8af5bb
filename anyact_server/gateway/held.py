"""Calls that are held while a client of the modern era makes up its mind.

A server of the handshake era asks its question in mid-call and waits; a client of the modern era can only be asked by
ending its request with an `input_required` result, and answers by sending the request again with `inputResponses`.
Between the two the downstream call is held: it runs in a task of its own, goes on when the answers come, and is
cancelled when they do not come in time. The `requestState` that leads back to it is signed, and good for one principal,
one request and one round in this very process.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import secrets
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from types import TracebackType
from typing import Any, Generic, TypeVar

import anyio
import anyio.abc

from anyact_server.errors import RemoteError, UsageError
from anyact_server.interfaces import Caller
from anyact_server.telemetry import logger
from anyact_server.types import JsonObject, Principal

LOG = logger("gateway")
MARK = "anyact1"
"""First part of every request state made here, so that a server's own state is never mistaken for ours."""
INPUT_REQUIRED = "input_required"
METHOD_NOT_FOUND = -32601
REQUEST_TIMEOUT = -32001
OVERLOADED = -32000
PATIENCE = 0.98
"""Share of the time for a question after which its call is cancelled: a little before the connection to the server
gives up the question by itself, and the call with nobody waiting for it would go on."""
ABILITY_OF: Mapping[str, str] = {
    "elicitation/create": "elicitation",
    "sampling/createMessage": "sampling",
    "roots/list": "roots",
}
"""The client's capability that each question needs."""
VARYING = frozenset({"_meta", "inputResponses", "requestState"})
"""Parameters in which the retry of a request may differ from the request."""

T = TypeVar("T")
Work = Callable[[Caller], Awaitable[T]]


def fingerprint(method: str, params: JsonObject) -> str:
    """A digest of a request that its retries share: everything but `_meta`, the answers and the state."""
    kept = {name: value for name, value in params.items() if name not in VARYING}
    text = json.dumps([method, kept], sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


class Seal:
    """Makes request states and checks them.

    The key lives as long as the process: a state from another instance or from before a restart does not hold.
    """

    def __init__(self) -> None:
        self._key = secrets.token_bytes(32)

    def state(self, call: str, round_: int, principal: Principal, request: str) -> str:
        """The state of one round of one held call."""
        return f"{MARK}.{call}.{round_}.{self._sign(call, str(round_), principal, request)}"

    def check(self, state: str, principal: Principal, request: str) -> tuple[str, int] | None:
        """The call and the round that a state names; None when it was not made here for this principal and request."""
        parts = state.split(".")
        if len(parts) != 4:
            return None
        _, call, round_, signature = parts
        sound = hmac.compare_digest(signature.encode(), self._sign(call, round_, principal, request).encode())
        return (call, int(round_)) if sound else None

    def _sign(self, *parts: str | Principal) -> str:
        words = [f"{part.origin}:{part.name}" if isinstance(part, Principal) else part for part in parts]
        return hmac.new(self._key, json.dumps(words).encode(), hashlib.sha256).hexdigest()


class ByResult:
    """The way of questions for a `ClientCaller` whose request `HeldCalls` serves: they travel in its results.

    Giving one to a `ClientCaller` says that its client can be asked. The held call asks; the request itself never does.
    """

    async def ask(self, method: str, params: JsonObject) -> JsonObject:
        """Refuses: who comes this way does not hold its call.

        Raises:
            RemoteError: always.
        """
        raise RemoteError(METHOD_NOT_FOUND, f"{method} cannot be asked outside of a held call", server="client")


BY_RESULT = ByResult()


class _Question:
    """A question that waits for its answer."""

    def __init__(self, method: str, params: JsonObject) -> None:
        self.method = method
        self.params = params
        self.answered = anyio.Event()
        self.answer: JsonObject | None = None

    def request(self) -> dict[str, Any]:
        """The question as an `inputRequests` entry."""
        return {"method": self.method, "params": dict(self.params)}


class _Ending(Generic[T]):
    """How a piece of work ended; raises its exception where the result is wanted, not where it ran."""

    def __init__(self) -> None:
        self.value: list[T] = []
        self.error: Exception | None = None

    def __enter__(self) -> _Ending[T]:
        return self

    def __exit__(self, _: type[BaseException] | None, error: BaseException | None, __: TracebackType | None) -> bool:
        self.error = error if isinstance(error, Exception) else None
        return self.error is not None

    def give(self) -> T:
        """The result.

        Raises whatever the work raised.
        """
        if self.error is not None:
            raise self.error
        return self.value[0]


class _Held(Generic[T]):
    """One call in flight, and the `Caller` that its work sees."""

    def __init__(self, caller: Caller, key: str, request: str, *, passes: bool, question_s: float) -> None:
        self.key = key
        self.request = request
        self.principal = caller.principal
        self.session = caller.session
        self.abilities = caller.abilities
        self.headers = caller.headers
        self.passes_input_required = passes
        self.round = 0
        self.ending: _Ending[T] = _Ending()
        self.done = False
        self.fetched = anyio.Event()
        self.scope = anyio.CancelScope()
        self.questions: dict[str, _Question] = {}
        self._question_s = question_s
        self._client: Caller | None = None
        self._news = anyio.Event()
        self._asked = 0

    async def progress(self, progress: float, total: float | None, message: str | None) -> None:
        """Report to the request that the client has open; between two rounds there is none."""
        if self._client is not None:
            await self._client.progress(progress, total, message)

    async def log(self, params: JsonObject) -> None:
        """Pass a log message to the request that the client has open; between two rounds there is none."""
        if self._client is not None:
            await self._client.log(params)

    async def ask(self, method: str, params: JsonObject) -> JsonObject:
        """Hold the call until the client has answered.

        Raises:
            RemoteError: the client cannot answer this kind of question, or did not answer in time.
        """
        if ABILITY_OF.get(method, method) not in self.abilities:
            raise RemoteError(METHOD_NOT_FOUND, f"the client cannot answer {method}", server="client")
        self._asked += 1
        key, question = f"q{self._asked}", _Question(method, params)
        self.questions[key] = question
        self.stir()
        try:
            with anyio.move_on_after(self._question_s * PATIENCE):
                await question.answered.wait()
        finally:
            self.questions.pop(key, None)
        if question.answer is None:
            LOG.warning("a question was not answered within %g s: its call is cancelled", self._question_s)
            self.scope.cancel()
            reason = f"the client did not answer {method} within {self._question_s:g} s"
            raise RemoteError(REQUEST_TIMEOUT, reason, server="client")
        return question.answer

    def answer(self, responses: JsonObject) -> None:
        """Hand answers to the questions that they belong to; unknown keys are ignored."""
        for key, response in responses.items():
            question = self.questions.get(key)
            if question is not None and isinstance(response, Mapping):
                del self.questions[key]
                question.answer = response
                question.answered.set()

    def stir(self) -> None:
        """Wake the client's open request: the call ended, or a question is there."""
        self._news.set()

    async def attend(self, client: Caller) -> None:
        """Wait until the call ends or asks; a client that leaves takes its call with it."""
        self._client = client
        try:
            while not self.done and not self.questions:
                self._news = anyio.Event()
                await self._news.wait()
        except anyio.get_cancelled_exc_class():
            self.scope.cancel()
            self.fetched.set()
            raise
        finally:
            self._client = None


class HeldCalls:
    """All calls of clients of the modern era that a server may ask about.

    Args:
        question_s: how long a question waits for its answer, seconds.
        limit: how many calls may be in flight or held at the same time.
    """

    def __init__(self, *, question_s: float = 300.0, limit: int = 1024) -> None:
        self._question_s = question_s
        self._limit = limit
        self._seal = Seal()
        self._calls: dict[str, _Held[Any]] = {}
        self._tasks: anyio.abc.TaskGroup | None = None

    def __len__(self) -> int:
        return len(self._calls)

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Holds calls while entered; those still held at the end are cancelled."""
        async with anyio.create_task_group() as tasks:
            self._tasks = tasks
            try:
                yield
            finally:
                self._tasks = None
                tasks.cancel_scope.cancel()

    async def call(
        self, caller: Caller, method: str, params: JsonObject, work: Work[T], *, passes: bool = False
    ) -> T | dict[str, Any]:
        """Do the work of a request, or go on with it when the request brings answers to a call that is held.

        Args:
            caller: the client's request; for a `ClientCaller`, made with `BY_RESULT`.
            method: its method.
            params: its params; `requestState` and `inputResponses` are read here.
            work: what to do, with the caller to do it for; run once per call, not per round.
            passes: whether a server's own `input_required` result may come back from the work as it is.

        Returns:
            What the work gave, or an `input_required` result.

        Raises:
            UsageError: the state is forged, foreign, spent, or its call is no longer held.
            RemoteError: too many calls are held.
        """
        request, state = fingerprint(method, params), params.get("requestState")
        if isinstance(state, str) and state.startswith(f"{MARK}."):
            held: _Held[T] = self._resume(state, caller, request, params.get("inputResponses"))
        else:
            held = self._start(caller, request, work, passes)
        await held.attend(caller)
        if held.done:
            held.fetched.set()
            return held.ending.give()
        return {
            "resultType": INPUT_REQUIRED,
            "inputRequests": {key: question.request() for key, question in held.questions.items()},
            "requestState": self._seal.state(held.key, held.round, held.principal, request),
        }

    def _start(self, caller: Caller, request: str, work: Work[T], passes: bool) -> _Held[T]:
        if self._tasks is None:
            raise RuntimeError("HeldCalls.call needs HeldCalls.running")
        if len(self._calls) >= self._limit:
            raise RemoteError(
                OVERLOADED, f"{self._limit} calls are in flight already; try again later", server="anyact"
            )
        held: _Held[T] = _Held(caller, secrets.token_hex(16), request, passes=passes, question_s=self._question_s)
        self._calls[held.key] = held
        self._tasks.start_soon(self._run, held, work)
        return held

    def _resume(self, state: str, caller: Caller, request: str, responses: object) -> _Held[Any]:
        found = self._seal.check(state, caller.principal, request)
        if found is None:
            raise UsageError("requestState does not belong to this request", hint="Send the request again without it.")
        held = self._calls.get(found[0])
        if held is None or held.round != found[1]:
            raise UsageError(
                "the call that this answer belongs to is over or already answered",
                hint="Call again from the start.",
            )
        held.round += 1
        held.answer(responses if isinstance(responses, Mapping) else {})
        return held

    async def _run(self, held: _Held[T], work: Work[T]) -> None:
        try:
            with held.scope, held.ending:
                held.ending.value.append(await work(held))
            if held.scope.cancelled_caught:
                held.ending.error = UsageError("the call was cancelled while it waited for an answer")
            held.done = True
            held.stir()
            with anyio.move_on_after(0 if held.scope.cancelled_caught else self._question_s):
                await held.fetched.wait()
        finally:
            self._calls.pop(held.key, None)
