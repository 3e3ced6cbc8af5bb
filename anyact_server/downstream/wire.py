"""Between a peer and its transport: what each may expect of the other.

A *wire* carries JSON-RPC frames to one server and hands what comes back to a *sink* (the peer). It knows bytes,
processes and HTTP; it knows nothing of methods, eras or callers.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractAsyncContextManager
from typing import Protocol, TypeVar

from anyact_server.errors import AnyActError, DownstreamError
from anyact_server.types import JsonObject, Kind

from .frames import RequestId

AnyActErrorT = TypeVar("AnyActErrorT", bound=AnyActError)


class SessionLost(DownstreamError):
    """The server has forgotten the session: the request was refused before it ran, and a new session is needed."""

    def __init__(self, message: str, *, server: str, status: int | None = None) -> None:
        super().__init__(message, server=server, kind=Kind.UNAVAILABLE, may_have_run=False, status=status)


class Unreachable(DownstreamError):
    """The request surely never left: nothing is there to take it."""

    def __init__(self, message: str, *, server: str, kind: Kind = Kind.UNAVAILABLE, hint: str | None = None) -> None:
        super().__init__(message, server=server, kind=kind, may_have_run=False, hint=hint)


class WrongTransport(DownstreamError):
    """The address answers, but not to this transport."""

    def __init__(self, message: str, *, server: str, status: int) -> None:
        super().__init__(message, server=server, kind=Kind.PROTOCOL, may_have_run=False, status=status)


def fresh(error: AnyActErrorT, *, may_have_run: bool | None = None) -> AnyActErrorT:
    """The error as one of its own for one waiter: several may share it, and each adds a traceback.

    Args:
        error: what happened.
        may_have_run: what holds for this waiter's request, where that differs.
    """
    twin = error.__class__.__new__(error.__class__)
    twin.args = error.args
    twin.__dict__.update(error.__dict__)
    twin.__cause__ = error.__cause__
    if may_have_run is not None:
        twin.__dict__["may_have_run"] = may_have_run
    return twin


class Sink(Protocol):
    """Where a wire puts what it reads. Nothing here blocks or raises."""

    def receive(self, frame: JsonObject, related: RequestId | None = None) -> None:
        """Take a frame; `related` is the request on whose own stream it came."""

    def fail(self, request: RequestId, error: DownstreamError) -> None:
        """Learn that the answer to a request will never come."""

    def damaged(self, request: int | None, reason: str) -> None:
        """Learn that an answer seems to have been lost on the way; None when not even its id is known."""

    def warn(self, text: str) -> None:
        """Take note of something odd about the server, worth showing to its owner."""

    def close(self, error: DownstreamError) -> None:
        """Learn that nothing will come any more."""


class Wire(Protocol):
    """Implemented by `StdioWire`, `HttpWire`, `SseWire` and `MemoryWire`."""

    @property
    def pid(self) -> int | None:
        """The process behind the wire, if it was started for it."""

    @property
    def by_http(self) -> bool:
        """Whether every request needs the headers of streamable HTTP."""

    def connected(self, sink: Sink) -> AbstractAsyncContextManager[None]:
        """Connect, feed the sink while the block runs, disconnect in order.

        Raises:
            DownstreamError: the server cannot be reached or started.
        """

    async def send(self, frame: JsonObject, headers: Mapping[str, str]) -> None:
        """Hand a frame over.

        Raises:
            DownstreamError: it surely was not handed over (`may_have_run` is False), or a notification was refused.
        """

    def withdraw(self, request: RequestId) -> bool:
        """Give up a request; True when that alone tells the server (its own stream was closed)."""

    def established(self, version: str, *, modern: bool) -> None:
        """Learn which protocol version was agreed on."""
