"""What the front is made of, and how it waits for it.

A client is greeted before the catalog is read: the front is given a `Ready` that yields the parts once they stand.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from anyact_server.interfaces import ActionSpace, Caller, Catalog, Downstreams, Grounder, Policy, Reliability
from anyact_server.settings import Settings
from anyact_server.types import Principal, RunReport, Task


class Runs(Protocol):
    """Runs of many actions.

    Implemented by `dispatch.Runs`.
    """

    async def start(
        self, tasks: Sequence[Task], caller: Caller, *, max_parallel: int | None = None, wait_s: float | None = None
    ) -> RunReport:
        """Start a run and wait for it up to `wait_s` seconds (None: until it is done)."""

    async def read(self, run_id: str, principal: Principal, *, wait_s: float = 0.0) -> RunReport:
        """The state of a run, waiting up to `wait_s` seconds for its end.

        Raises:
            UnknownHandle: no such run for this principal.
        """

    async def cancel(self, run_id: str, principal: Principal) -> RunReport:
        """Cancel a run; gives its final state.

        Raises:
            UnknownHandle: no such run for this principal.
        """


@dataclass(frozen=True, slots=True)
class Parts:
    """The parts behind the front, each by its Protocol."""

    space: ActionSpace
    catalog: Catalog
    downstreams: Downstreams
    grounder: Grounder
    reliability: Reliability
    runs: Runs
    settings: Settings
    name_of: Callable[[str, str], str]
    """The exposed name of a server's own name, such as `catalog.action_id`."""
    policy: Policy | None = None
    """Decides about servers of which no action is known; all of them may be seen when there is none."""


Ready = Callable[[], Awaitable[Parts]]
"""Yields the parts; waits while they are being made. Every call yields the same parts."""


def ready(parts: Parts) -> Ready:
    """A `Ready` for parts that stand already."""

    async def give() -> Parts:
        return parts

    return give
