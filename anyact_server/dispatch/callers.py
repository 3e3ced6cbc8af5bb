"""Callers that dispatch itself provides: one that can answer nothing, and one that may stop listening."""

from __future__ import annotations

from collections.abc import Mapping

from anyact_server.errors import RemoteError
from anyact_server.interfaces import Caller
from anyact_server.types import EMPTY, LOCAL, JsonObject, Principal

NO_ANSWER = -32601
"""JSON-RPC's "method not found": what a client without an ability answers."""


class Silent:
    """A caller without a client behind it: progress and log go nowhere, every question is refused at once."""

    abilities: JsonObject = EMPTY
    headers: Mapping[str, str] = EMPTY
    passes_input_required = False

    def __init__(self, principal: Principal = LOCAL, session: str | None = None) -> None:
        self.principal = principal
        self.session = session

    async def progress(self, progress: float, total: float | None, message: str | None) -> None:
        """Nobody listens."""

    async def log(self, params: JsonObject) -> None:
        """Nobody listens."""

    async def ask(self, method: str, params: JsonObject) -> JsonObject:
        """Refuse.

        Raises:
            RemoteError: always.
        """
        raise RemoteError(NO_ANSWER, f"nobody is there to answer {method}", server="")


class _Rounded:
    """A caller whose questions are always asked, never passed on as an `input_required` result."""

    passes_input_required = False

    def __init__(self, caller: Caller) -> None:
        self.principal = caller.principal
        self.session = caller.session
        self.headers = caller.headers
        self.abilities = caller.abilities
        self.progress = caller.progress
        self.log = caller.log
        self.ask = caller.ask


def without_rounds(caller: Caller) -> Caller:
    """The caller, such that no result asks it for input: an observation has no place for a protocol round."""
    return _Rounded(caller) if caller.passes_input_required else caller


class Attached:
    """The caller of a run, for as long as its client waits.

    A run outlives the request that started it. While that request waits, log lines and questions of its calls go to the
    client; after `detach` they go nowhere, since a client must hear nothing of a request that was answered. Progress of
    single calls is never passed: the run reports its own. Results that ask for input are not passed through, since a
    run's answer has no place for them.
    """

    passes_input_required = False

    def __init__(self, caller: Caller) -> None:
        self.principal = caller.principal
        self.session = caller.session
        self.headers = caller.headers
        self.abilities = caller.abilities
        self._caller: Caller | None = caller

    def detach(self) -> None:
        """The client waits no longer."""
        self._caller = None
        self.abilities = EMPTY

    async def progress(self, progress: float, total: float | None, message: str | None) -> None:
        """A single call's progress says nothing about the run."""

    async def finished(self, done: int, total: int) -> None:
        """Tell the client how many tasks are finished."""
        if self._caller is not None:
            await self._caller.progress(done, total, f"{done} of {total} tasks")

    async def log(self, params: JsonObject) -> None:
        """Pass on a log line while the client waits."""
        if self._caller is not None:
            await self._caller.log(params)

    async def ask(self, method: str, params: JsonObject) -> JsonObject:
        """Put a question to the client while it waits.

        Raises:
            RemoteError: it waits no longer, or as the client's own caller raises.
        """
        if self._caller is None:
            raise RemoteError(NO_ANSWER, f"the client that started the run no longer waits for {method}", server="")
        return await self._caller.ask(method, params)
