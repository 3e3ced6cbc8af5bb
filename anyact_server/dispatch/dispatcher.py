"""The action space: everything a caller can do, wired over the parts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

import anyio

from anyact_server.interfaces import Caller, Catalog, Clock, Downstreams, Grounder, Policy, Reliability, Searcher
from anyact_server.settings import Settings
from anyact_server.types import (
    EMPTY,
    Action,
    Call,
    Estimate,
    Hit,
    Json,
    Observation,
    Principal,
    Query,
    SearchAnswer,
)

from .calling import Acted, Calling
from .repeats import Repeats
from .resolve import resolve
from .schemas import Schemas


class Permissive:
    """The policy of an instance without rules: everything is visible, everything may be called."""

    def visible(self, principal: Principal, actions: Sequence[Action], version: int) -> frozenset[str] | None:
        """None: all."""
        return None

    def refusal(self, principal: Principal, action: Action) -> str | None:
        """None: it may."""
        return None


class Beliefs(Mapping[str, Estimate]):
    """The estimates of all actions for one search, each made when it is first looked at."""

    def __init__(self, catalog: Catalog, reliability: Reliability) -> None:
        self._catalog = catalog
        self._reliability = reliability
        self._made: dict[str, Estimate] = {}

    def __getitem__(self, action_id: str) -> Estimate:
        made = self._made.get(action_id)
        if made is None:
            action = self._catalog.get(action_id)
            if action is None:
                raise KeyError(action_id)
            made = self._reliability.estimate(action.id, action.server)
            self._made[action_id] = made
        return made

    def __iter__(self) -> Iterator[str]:
        return (action.id for action in self._catalog.actions())

    def __len__(self) -> int:
        return len(self._catalog.actions())


class Dispatcher:
    """Implements `interfaces.ActionSpace` over the parts it is given.

    Args:
        catalog: what actions exist.
        downstreams: the connections.
        searcher: finds actions.
        reliability: takes outcomes, gives estimates.
        grounder: makes observations.
        policy: who may see and call what; everybody everything by default.
        settings: the instance's settings.
        clock: time.
    """

    def __init__(
        self,
        catalog: Catalog,
        downstreams: Downstreams,
        searcher: Searcher,
        reliability: Reliability,
        grounder: Grounder,
        policy: Policy | None,
        settings: Settings,
        clock: Clock,
    ) -> None:
        self._calling = Calling(
            catalog,
            downstreams,
            searcher,
            reliability,
            grounder,
            policy or Permissive(),
            settings,
            clock,
            Schemas(),
            Repeats(),
        )

    async def search(self, query: Query, principal: Principal) -> SearchAnswer:
        """Find actions; only those that the principal may see, each with its estimate."""
        parts = self._calling
        visible = self.visible(principal)
        if query.visible is not None:
            visible = query.visible if visible is None else visible & query.visible
        beliefs = Beliefs(parts.catalog, parts.reliability)
        wanted = replace(query, visible=visible)
        answer = await anyio.to_thread.run_sync(lambda: parts.searcher.search(wanted, estimates=beliefs))
        return replace(answer, hits=tuple(self._with_estimate(hit) for hit in answer.hits))

    def _with_estimate(self, hit: Hit) -> Hit:
        if hit.estimate is not None:
            return hit
        return replace(hit, estimate=self._calling.reliability.estimate(hit.action.id, hit.action.server))

    def describe(self, action_ids: Sequence[str], principal: Principal) -> Sequence[tuple[Action, Estimate]]:
        """Actions with their estimates, in the order asked.

        Raises:
            UnknownAction: for the first id that is unknown or hidden.
        """
        parts = self._calling
        actions = [resolve(name, parts.catalog, parts.policy, principal) for name in action_ids]
        return [(action, parts.reliability.estimate(action.id, action.server)) for action in actions]

    async def call(
        self,
        action: str,
        arguments: Json,
        caller: Caller,
        *,
        timeout_s: float | None = None,
        budget: int | None = None,
        read_only: bool = False,
    ) -> Observation:
        """Do one call; every failure is an observation, only cancellation is raised.

        Args:
            action: an id, or a bare name that only one visible server offers.
            arguments: as the caller sent them; `arguments.py` says what is taken.
            caller: who waits.
            timeout_s: the caller's own call limit, at most the ceiling.
            budget: tokens of the observation.
            read_only: refuse every action that is not declared read-only.
        """
        acted = await self.act(Call(action, arguments, timeout_s, budget, read_only), caller)
        return acted.observation

    async def act(self, call: Call, caller: Caller, values: Mapping[str, Json] = EMPTY) -> Acted:
        """Do one call and keep its raw result; `values` are what references to task ids stand for."""
        return await self._calling.act(call, caller, values)

    def visible(self, principal: Principal) -> frozenset[str] | None:
        """Ids that the principal may see; None means all."""
        parts = self._calling
        return parts.policy.visible(principal, parts.catalog.actions(), parts.catalog.version)

    def locate(self, name: str, principal: Principal) -> Action:
        """The action that `name` means to the principal.

        Raises:
            UnknownAction: none, several, or one that is hidden.
        """
        return resolve(name, self._calling.catalog, self._calling.policy, principal)

    def expected_s(self, action: Action) -> float:
        """Seconds that a call of the action usually takes; 1 where nothing is known."""
        p50_s = self._calling.reliability.estimate(action.id, action.server).p50_s
        return 1.0 if p50_s is None else p50_s

    def width(self, server: str) -> int:
        """Calls of one run to the server at the same time: one where the server is marked serial."""
        parts = self._calling
        return 1 if parts.catalog.spec(server).serial else parts.settings.server_parallel
