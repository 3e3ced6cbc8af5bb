"""Small in-memory parts that implement the Protocols the front is written against."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import anyio

from anyact_server.errors import DownstreamError, RemoteError, UnknownAction, UnknownHandle, UnknownServer
from anyact_server.gateway import Parts
from anyact_server.interfaces import Caller, ServerEvent
from anyact_server.settings import Settings
from anyact_server.types import (
    KINDS,
    Action,
    Admission,
    Call,
    CatalogChange,
    ErrorInfo,
    Estimate,
    Hints,
    Hit,
    Json,
    JsonObject,
    Kind,
    Limits,
    Observation,
    Outcome,
    Principal,
    Query,
    ReadRequest,
    RunReport,
    SearchAnswer,
    ServerSpec,
    ServerState,
    ServerStatus,
    Snapshot,
    Task,
    TaskReport,
    TokenCount,
    Verdict,
)

Behaviour = Callable[[JsonObject, Caller], Awaitable[Observation]]


def action_id(server: str, name: str) -> str:
    """The exposed name, as simply as it can be made."""
    return f"{server}__{name}"


def action(server: str, name: str, **more: Any) -> Action:
    """An action with a schema of one required string, unless told otherwise."""
    schema = more.pop("schema", {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]})
    more.setdefault("description", f"Does {name} on {server}.")
    return Action(action_id(server, name), server, name, input_schema=schema, shown_schema=schema, **more)


READ_ONLY = Hints(read_only=True)


def observation(text: str, **more: Any) -> Observation:
    """A sound observation of a text."""
    more.setdefault("status", "ok")
    return Observation("obs_0123456789abcdef", summary=text[:200], text=text, tokens=TokenCount(3, 3, 4000), **more)


def failure(kind: Kind, message: str) -> Observation:
    """An error observation."""
    facts = KINDS[kind]
    info = ErrorInfo(kind, message, facts.fault, facts.retry == "after_pause", facts.retry)
    return observation(f"{kind.value}: {message}", status="error", is_error=True, error=info)


class TwinCatalog:
    """A catalog whose content a test sets."""

    def __init__(self, actions: Iterable[Action] = (), snapshots: Iterable[Snapshot] = ()) -> None:
        self._actions = {item.id: item for item in actions}
        self._snapshots = {item.server: item for item in snapshots}
        names = dict.fromkeys([item.server for item in self._actions.values()] + list(self._snapshots))
        self.all_specs = [ServerSpec(name, "memory") for name in names]
        for name in names:
            self._snapshots.setdefault(name, Snapshot(name))
        self._listeners: list[Callable[[CatalogChange], None]] = []
        self._version = 1

    def get(self, action_id: str) -> Action | None:
        return self._actions.get(action_id)

    def resolve(self, name: str, *, visible: frozenset[str] | None = None) -> Action:
        found = self._actions.get(name)
        if found is None or (visible is not None and found.id not in visible):
            raise UnknownAction(f"no action is called {name!r}", suggestions=[*self._actions][:2])
        return found

    def actions(self) -> Sequence[Action]:
        return list(self._actions.values())

    def of_server(self, server: str) -> Sequence[Action]:
        return [item for item in self._actions.values() if item.server == server]

    def specs(self) -> Sequence[ServerSpec]:
        return self.all_specs

    def spec(self, server: str) -> ServerSpec:
        for spec in self.all_specs:
            if spec.name == server:
                return spec
        raise UnknownServer(f"no server is called {server!r}")

    def snapshot(self, server: str) -> Snapshot | None:
        return self._snapshots.get(server)

    def record_snapshot(self, snapshot: Snapshot) -> CatalogChange:
        self._snapshots[snapshot.server] = snapshot
        return self.announce(snapshot.server)

    def add(self, *actions: Action) -> None:
        """Add actions and tell whoever listens, once."""
        self._actions |= {item.id: item for item in actions}
        self.announce(actions[0].server, tuple(item.id for item in actions))

    def announce(self, server: str, added: tuple[str, ...] = ()) -> CatalogChange:
        """Say that something changed."""
        self._version += 1
        change = CatalogChange(server, added=added)
        for listener in list(self._listeners):
            listener(change)
        return change

    def forget(self, server: str) -> None:
        """Make a server one that was never read."""
        self._snapshots.pop(server)

    def mark_stale(self, server: str, stale: bool) -> None:
        raise UnknownServer(server)

    def warnings(self, server: str) -> Sequence[str]:
        return ()

    def listen(self, listener: Callable[[CatalogChange], None]) -> Callable[[], None]:
        self._listeners.append(listener)
        return lambda: self._listeners.remove(listener)

    @property
    def version(self) -> int:
        return self._version


class TwinSpace:
    """Finds actions by substring and runs the functions that a test gives."""

    def __init__(self, catalog: TwinCatalog, behaviours: Mapping[str, Behaviour]) -> None:
        self.catalog = catalog
        self.behaviours = dict(behaviours)
        self.calls: list[Call] = []
        self.queries: list[Query] = []
        self.hidden: dict[str, frozenset[str]] = {}
        self.degraded: str | None = None
        self.estimates: dict[str, Estimate] = {}

    async def search(self, query: Query, principal: Principal) -> SearchAnswer:
        self.queries.append(query)
        visible = self.visible(principal)
        words = [word for intent in query.intents for word in intent.lower().split()]
        found = [
            item
            for item in self.catalog.actions()
            if (visible is None or item.id in visible)
            and (not query.servers or item.server in query.servers)
            and any(word in f"{item.id} {item.description}".lower() for word in words)
        ]
        hits = tuple(Hit(item, 1.0, ("name",), (0,), self.estimates.get(item.id)) for item in found[: query.limit])
        near = tuple(item.id for item in found[query.limit : query.limit + 3])
        return SearchAnswer(hits, len(found), self.degraded, near)

    def describe(self, action_ids: Sequence[str], principal: Principal) -> Sequence[tuple[Action, Estimate]]:
        visible = self.visible(principal)
        found = [self.catalog.resolve(name, visible=visible) for name in action_ids]
        return [(item, self.estimates.get(item.id, Estimate(item.id, 0.9, 0.5, 1.0))) for item in found]

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
        self.calls.append(Call(action, arguments, timeout_s, budget, read_only))
        visible = self.visible(caller.principal)
        known = self.catalog.get(action)
        if known is None or (visible is not None and known.id not in visible):
            return failure(Kind.UNKNOWN_ACTION, f"no action is called {action!r}")
        if read_only and known.hints.read_only is not True:
            return failure(Kind.REFUSED_BY_POLICY, f"{action} is not declared read-only")
        if action in self.behaviours:
            return replace(await self.behaviours[action](arguments or {}, caller), action=action)
        return observation(f"{action} was called with {arguments!r}", action=action)

    def visible(self, principal: Principal) -> frozenset[str] | None:
        hidden = self.hidden.get(principal.name)
        if hidden is None:
            return None
        return frozenset(item.id for item in self.catalog.actions()) - hidden


Respond = Callable[[str, JsonObject, Caller], Awaitable[JsonObject]]


class TwinDownstreams:
    """Servers that answer with what a test's function gives."""

    def __init__(self, respond: Respond | None = None, statuses: Iterable[ServerStatus] = ()) -> None:
        self._respond = respond
        self.states = list(statuses)
        self.requests: list[tuple[str, str, JsonObject]] = []
        self.restarted: list[str] = []
        self._listeners: list[Callable[[ServerEvent], None]] = []

    async def request(
        self,
        server: str,
        method: str,
        params: JsonObject,
        *,
        caller: Caller,
        limits: Limits | None = None,
        repeatable: bool = False,
    ) -> JsonObject:
        self.requests.append((server, method, params))
        if self._respond is None:
            raise RemoteError(-32601, "Method not found", server=server)
        return await self._respond(method, params, caller)

    async def notify(self, server: str, method: str, params: JsonObject) -> None:
        self.requests.append((server, method, params))

    async def take_snapshot(self, server: str) -> Snapshot:
        return Snapshot(server)

    def status(self, server: str) -> ServerStatus:
        return next(status for status in self.states if status.server == server)

    def statuses(self) -> Sequence[ServerStatus]:
        return self.states

    async def restart(self, server: str) -> None:
        if server == "broken":
            raise DownstreamError("broken does not start", server=server, kind=Kind.CRASHED)
        self.restarted.append(server)

    async def stop(self, server: str) -> None:
        self.restarted.append(server)

    async def apply(self, specs: Sequence[ServerSpec]) -> None:
        self.restarted.clear()

    def listen(self, listener: Callable[[ServerEvent], None]) -> Callable[[], None]:
        self._listeners.append(listener)
        return lambda: self._listeners.remove(listener)

    def say(self, event: ServerEvent) -> None:
        """Tell of an event."""
        for listener in list(self._listeners):
            listener(event)

    def connected(self, server: str) -> bool:
        return True


class TwinGrounder:
    """Knows one handle."""

    def judge(self, result: JsonObject, action: Action | None) -> Verdict:
        return Verdict(Kind.OK)

    def judge_error(self, error: Exception) -> Verdict:
        return Verdict(Kind.INTERNAL, str(error))

    def observe(
        self,
        result: JsonObject,
        verdict: Verdict,
        *,
        action: Action | None,
        principal: Principal,
        budget: int | None = None,
        seconds: float = 0.0,
    ) -> Observation:
        return observation(str(result))

    def observe_error(
        self,
        verdict: Verdict,
        *,
        action_id: str | None,
        server: str | None,
        principal: Principal,
        alternatives: Sequence[str] = (),
        seconds: float = 0.0,
    ) -> Observation:
        return failure(verdict.kind, verdict.message)

    def read(self, request: ReadRequest, principal: Principal) -> Observation:
        if request.handle != "obs_known":
            raise UnknownHandle(f"no handle {request.handle!r}", hint="It may have expired: call again.")
        return observation(f"{request.view} {request.query} {request.offset} {request.limit}")

    def value(self, handle: str, principal: Principal) -> Json:
        return {"handle": handle}


class TwinReliability:
    """Believes nothing."""

    def record(self, outcome: Outcome) -> None:
        raise UnknownAction(outcome.action)

    def estimate(self, action_id: str, server: str) -> Estimate:
        return Estimate(action_id, 0.9, 0.5, 1.0)

    def estimates(self, pairs: Iterable[tuple[str, str]]) -> Mapping[str, Estimate]:
        return {name: self.estimate(name, server) for name, server in pairs}

    def admit(self, action_id: str, server: str) -> Admission:
        return Admission(True)

    def reset(self, action_id: str | None = None, server: str | None = None) -> int:
        return 0


@dataclass
class TwinRuns:
    """Runs every task at once through the space."""

    space: TwinSpace
    kept: dict[tuple[str, str], RunReport] = field(default_factory=dict)
    asked: list[tuple[tuple[Task, ...], int | None, float | None]] = field(default_factory=list)

    async def start(
        self, tasks: Sequence[Task], caller: Caller, *, max_parallel: int | None = None, wait_s: float | None = None
    ) -> RunReport:
        self.asked.append((tuple(tasks), max_parallel, wait_s))
        reports: dict[str, TaskReport] = {}

        async def one(task: Task) -> None:
            seen = await self.space.call(task.call.action, task.call.arguments, caller)
            state = "failed" if seen.is_error else "done"
            reports[task.id] = TaskReport(task.id, task.call.action, state, seen, 0.0, 0.25)  # type: ignore[arg-type]

        async with anyio.create_task_group() as group:
            for task in tasks:
                group.start_soon(one, task)
        report = RunReport("run_1", True, [reports[task.id] for task in tasks], seconds=0.25)
        self.kept[report.id, caller.principal.name] = report
        return report

    async def read(self, run_id: str, principal: Principal, *, wait_s: float = 0.0) -> RunReport:
        if (run_id, principal.name) not in self.kept:
            raise UnknownHandle(f"no run {run_id!r}")
        return self.kept[run_id, principal.name]

    async def cancel(self, run_id: str, principal: Principal) -> RunReport:
        return replace(await self.read(run_id, principal), cancelled=True)


@dataclass
class World:
    """Parts of twins, each within a test's reach."""

    catalog: TwinCatalog
    space: TwinSpace
    downstreams: TwinDownstreams
    runs: TwinRuns
    settings: Settings

    @property
    def parts(self) -> Parts:
        return Parts(
            self.space,
            self.catalog,
            self.downstreams,
            TwinGrounder(),
            TwinReliability(),
            self.runs,
            self.settings,
            action_id,
        )


def world(
    actions: Iterable[Action] = (),
    *,
    behaviours: Mapping[str, Behaviour] | None = None,
    snapshots: Iterable[Snapshot] = (),
    respond: Respond | None = None,
    statuses: Iterable[ServerStatus] = (),
    **settings: Any,
) -> World:
    """A world with these actions and servers."""
    catalog = TwinCatalog(actions, snapshots)
    space = TwinSpace(catalog, behaviours or {})
    ready = statuses or [
        ServerStatus(spec.name, "memory", ServerState.READY, len(catalog.of_server(spec.name)))
        for spec in catalog.specs()
    ]
    return World(catalog, space, TwinDownstreams(respond, ready), TwinRuns(space), Settings(**settings))


@dataclass
class TwinCaller:
    """A caller that keeps what it is told and answers nothing."""

    principal: Principal = field(default_factory=lambda: Principal("local"))
    session: str | None = None
    abilities: JsonObject = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)
    passes_input_required: bool = False
    told: list[Json] = field(default_factory=list)

    async def progress(self, progress: float, total: float | None, message: str | None) -> None:
        self.told.append((progress, total, message))

    async def log(self, params: JsonObject) -> None:
        self.told.append(params)

    async def ask(self, method: str, params: JsonObject) -> JsonObject:
        raise RemoteError(-32601, f"cannot answer {method}", server="client")
