"""How one server stands: its state in words, why, since when, and when it may be tried again. No I/O."""

from __future__ import annotations

import random
from collections.abc import Callable

from anyact_server.errors import DownstreamError, NeedsLogin
from anyact_server.interfaces import Clock
from anyact_server.telemetry import MASK
from anyact_server.types import Kind, ServerSpec, ServerState, ServerStatus

from .backoff import pause
from .wire import Unreachable

FIRST_PAUSE_S = 1.0
LONGEST_PAUSE_S = 300.0
STEADY_S = 60.0
"""A connection that lived for so long was sound; its end counts as the first failure again."""


class Standing:
    """What is known of one server right now."""

    def __init__(self, spec: ServerSpec, clock: Clock, chance: Callable[[], float] = random.random) -> None:
        self.spec = spec
        self._clock = clock
        self._chance = chance
        self._state = ServerState.DISABLED if spec.disabled else ServerState.IDLE
        self._since = clock.now()
        self._error: str | None = None
        self._kind: Kind | None = None
        self._hint: str | None = None
        self._failures = 0
        self._try_at: float | None = None
        self._ready_at: float | None = None
        self._ever_ready = False
        self._starts = 0
        self.protocol_version: str | None = None
        self.actions = 0
        self.list_fault: str | None = None
        self.warnings: list[str] = []
        if spec.fault is not None:
            self._state, self._error, self._kind = ServerState.FAILED, spec.fault, Kind.UNAVAILABLE

    def refusal(self) -> DownstreamError | None:
        """Why the server cannot be tried now; None when it can."""
        name = self.spec.name
        if self.spec.disabled:
            return Unreachable(f"server {name!r} is disabled", server=name, hint="Remove `disabled` from its entry.")
        if self.spec.fault is not None:
            return Unreachable(f"server {name!r} cannot be started: {self.spec.fault}", server=name)
        left = self.pause_left()
        if left is None:
            return None
        error = Unreachable(
            f"server {name!r} is {self._state.value}: {self._error}; next try in {left:.0f} s",
            server=name,
            kind=self._kind or Kind.UNAVAILABLE,
            hint=self._hint,
        )
        error.retry_after_s = left
        return error

    def pause_left(self) -> float | None:
        """Seconds until the next try; None when it may be tried at once."""
        left = None if self._try_at is None else self._try_at - self._clock.monotonic()
        return left if left is not None and left > 0 else None

    def starting(self) -> None:
        """A connection is being opened."""
        self._starts += 1
        self._enter(ServerState.STARTING)

    def ready(self, protocol_version: str) -> None:
        """A connection is open."""
        self.protocol_version = protocol_version
        self._ready_at = self._clock.monotonic()
        self._ever_ready = True
        self._try_at = None
        self._enter(ServerState.READY)

    def answered(self) -> bool:
        """A request was answered: whatever was wrong before is over. True if that changes the state."""
        self._failures = 0
        if self._state not in (ServerState.DOWN, ServerState.NEEDS_LOGIN):
            return False
        self._enter(ServerState.READY)
        return True

    def idle(self) -> None:
        """The last connection was closed on purpose."""
        self._enter(ServerState.DISABLED if self.spec.disabled else ServerState.IDLE)

    def shaken(self, error: DownstreamError) -> None:
        """A request was lost although the connection may still serve."""
        self._enter(ServerState.DOWN, error)

    def lost(self, error: DownstreamError) -> None:
        """An open connection broke.

        The first time it may be opened again at once, then with growing pauses.
        """
        steady = self._ready_at is not None and self._clock.monotonic() - self._ready_at >= STEADY_S
        self._failures = 1 if steady else self._failures + 1
        self._pause(self._failures - 1)
        self._enter(ServerState.DOWN, error)

    def failed(self, error: DownstreamError) -> None:
        """A connection could not be opened."""
        if isinstance(error, NeedsLogin):
            self._enter(ServerState.NEEDS_LOGIN, error)
            return
        self._failures += 1
        self._pause(self._failures)
        self._enter(ServerState.DOWN if self._ever_ready else ServerState.FAILED, error)

    def needs_login(self, error: NeedsLogin) -> None:
        """A request was refused until somebody logs in."""
        self._enter(ServerState.NEEDS_LOGIN, error)

    def forgive(self) -> None:
        """Forget failures and pauses."""
        self._failures = 0
        self._try_at = None

    def warn(self, text: str) -> None:
        """Note something odd about the server."""
        if text not in self.warnings:
            self.warnings.append(text)

    def status(self, pid: int | None) -> ServerStatus:
        """The standing as a value."""
        left = self.pause_left()
        if left is None and self._state in (ServerState.DOWN, ServerState.FAILED):
            left = 0.0
        unsound = self._state is ServerState.READY and self.list_fault is not None
        return ServerStatus(
            server=self.spec.name,
            transport=self.spec.transport,
            state=ServerState.FAILED if unsound else self._state,
            actions=self.actions,
            stale=self.list_fault is not None,
            since=self._since,
            next_try=None if left is None else self._clock.now() + left,
            error=self.list_fault if unsound else self._error,
            kind=self._kind,
            protocol_version=self.protocol_version,
            pid=pid,
            restarts=max(0, self._starts - 1),
            warnings=tuple(self.warnings),
        )

    def _pause(self, failures: int) -> None:
        seconds = (
            pause(failures, first_s=FIRST_PAUSE_S, longest_s=LONGEST_PAUSE_S, chance=self._chance())
            if failures
            else 0.0
        )
        self._try_at = self._clock.monotonic() + seconds

    def _enter(self, state: ServerState, error: DownstreamError | None = None) -> None:
        if state is not self._state:
            self._since = self._clock.now()
        self._state = state
        if state is ServerState.STARTING:
            return
        self._error = None if error is None else MASK.mask(error.message)
        self._kind = None if error is None else error.kind
        self._hint = None if error is None or error.hint is None else MASK.mask(error.hint)
