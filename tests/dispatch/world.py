"""A small world around the dispatcher: in-memory parts that implement the Protocols, scripted by each test."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import anyio

from anyact_server import interfaces
from anyact_server.dispatch import Dispatcher, Permissive
from anyact_server.errors import AnyActError, DownstreamError, RemoteError, UnknownAction, UnknownHandle, UnknownServer
from anyact_server.interfaces import Caller, Policy, ServerEvent
from anyact_server.settings import Settings, load
from anyact_server.types import (
    KINDS,
    Action,
    Admission,
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
    SearchAnswer,
    ServerSpec,
    ServerState,
    ServerStatus,
    Snapshot,
    Verdict,
)

Answer = Callable[[JsonObject, Caller], Awaitable[JsonObject]]

ONE_TEXT: JsonObject = {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}


def action(name: str, server: str = "files", schema: JsonObject | None = None, **fields: Any) -> Action:
    """An action of a server; its id is `server__name`."""
    shape = ONE_TEXT if schema is None else schema
    return Action(
        f"{server}__{name}", server, name, input_schema=shape, shown_schema=shape, digest=f"{server}/{name}/1", **fields
    )


def said(text: str, *, is_error: bool = False, data: Json = None) -> JsonObject:
    """A `tools/call` result."""
    result: dict[str, Json] = {"content": [{"type": "text", "text": text}], "isError": is_error}
    if data is not None:
        result["structuredContent"] = data
    return result


class Clock:
    """Time that moves only when a test moves it."""

    def __init__(self) -> None:
        self.seconds = 1_000_000.0

    def now(self) -> float:
        return self.seconds

    def monotonic(self) -> float:
        return self.seconds


class Wall:
    """The event loop's own time."""

    def now(self) -> float:
        return anyio.current_time()

    def monotonic(self) -> float:
        return anyio.current_time()


class Catalog:
    """Actions in a dict."""

    def __init__(self, actions: Iterable[Action], specs: Iterable[ServerSpec] = ()) -> None:
        self._actions = {one.id: one for one in actions}
        servers = {one.server for one in self._actions.values()}
        self._specs = {name: ServerSpec(name, "memory") for name in servers} | {spec.name: spec for spec in specs}
        self.version = 1

    def get(self, action_id: str) -> Action | None:
        return self._actions.get(action_id)

    def resolve(self, name: str, *, visible: frozenset[str] | None = None) -> Action:
        seen = [one for one in self._actions.values() if visible is None or one.id in visible]
        found = [one for one in seen if name in (one.id, one.name)]
        if len(found) == 1:
            return found[0]
        if found:
            ids = sorted(one.id for one in found)
            raise UnknownAction(f"{name!r} is offered by several servers", suggestions=ids)
        near = sorted(one.id for one in seen if one.name[:3] == name[:3])
        raise UnknownAction(f"no action is called {name[:100]!r}", suggestions=near)

    def actions(self) -> Sequence[Action]:
        return tuple(self._actions.values())

    def of_server(self, server: str) -> Sequence[Action]:
        return [one for one in self._actions.values() if one.server == server]

    def specs(self) -> Sequence[ServerSpec]:
        return tuple(self._specs.values())

    def spec(self, server: str) -> ServerSpec:
        if server not in self._specs:
            raise UnknownServer(f"no server is called {server!r}")
        return self._specs[server]

    def drop(self, server: str) -> None:
        """Take a server out of the configuration."""
        del self._specs[server]

    def snapshot(self, server: str) -> Snapshot | None:
        return None

    def record_snapshot(self, snapshot: Snapshot) -> CatalogChange:
        return CatalogChange(snapshot.server)

    def mark_stale(self, server: str, stale: bool) -> None:
        pass

    def warnings(self, server: str) -> Sequence[str]:
        return ()

    def listen(self, listener: Callable[[CatalogChange], None]) -> Callable[[], None]:
        return lambda: None


@dataclass
class Sent:
    """One request that reached a server."""

    server: str
    name: str
    arguments: JsonObject
    limits: Limits | None
    repeatable: bool


class Downstreams:
    """Servers as functions: `answers` maps a tool name to what gives its result or raises."""

    def __init__(self) -> None:
        self.answers: dict[str, Answer] = {}
        self.sent: list[Sent] = []
        self.states: dict[str, ServerState] = {}
        self.cold: set[str] = set()

    def answer(self, name: str, result: JsonObject | AnyActError) -> None:
        """Let a tool always give this result or error."""

        async def give(_: JsonObject, __: Caller) -> JsonObject:
            if isinstance(result, AnyActError):
                raise result
            return result

        self.answers[name] = give

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
        assert method == "tools/call"
        self.sent.append(Sent(server, params["name"], params["arguments"], limits, repeatable))
        answer = self.answers.get(params["name"])
        return await answer(params["arguments"], caller) if answer else said(f"{params['name']} done")

    async def notify(self, server: str, method: str, params: JsonObject) -> None:
        pass

    async def take_snapshot(self, server: str) -> Snapshot:
        return Snapshot(server)

    def status(self, server: str) -> ServerStatus:
        return ServerStatus(server, "memory", self.states.get(server, ServerState.READY))

    def statuses(self) -> Sequence[ServerStatus]:
        return [self.status(server) for server in self.states]

    async def restart(self, server: str) -> None:
        pass

    async def stop(self, server: str) -> None:
        pass

    async def apply(self, specs: Sequence[ServerSpec]) -> None:
        pass

    def listen(self, listener: Callable[[ServerEvent], None]) -> Callable[[], None]:
        return lambda: None

    def connected(self, server: str) -> bool:
        return server not in self.cold


class Searcher:
    """Gives every visible action of the catalog as a hit, in order."""

    def __init__(self, catalog: interfaces.Catalog) -> None:
        self._catalog = catalog
        self.queries: list[Query] = []
        self.fault: AnyActError | None = None

    def search(self, query: Query, *, estimates: Mapping[str, Estimate] | None = None) -> SearchAnswer:
        self.queries.append(query)
        if self.fault is not None:
            raise self.fault
        seen = [one for one in self._catalog.actions() if query.visible is None or one.id in query.visible]
        hits = tuple(Hit(one, 1.0, estimate=estimates[one.id] if estimates else None) for one in seen[: query.limit])
        return SearchAnswer(hits, len(seen))

    def update(self, changes: Iterable[CatalogChange], actions: Callable[[str], Action | None]) -> None:
        pass

    def rebuild(self, actions: Sequence[Action]) -> None:
        pass


class Reliability:
    """Keeps outcomes; admissions and estimates are what the test put in."""

    def __init__(self) -> None:
        self.outcomes: list[Outcome] = []
        self.admissions: list[Admission] = []
        self.beliefs: dict[str, Estimate] = {}

    def record(self, outcome: Outcome) -> None:
        self.outcomes.append(outcome)

    def estimate(self, action_id: str, server: str) -> Estimate:
        return self.beliefs.get(action_id, Estimate(action_id, 0.9, 0.5, 1.0))

    def estimates(self, pairs: Iterable[tuple[str, str]]) -> Mapping[str, Estimate]:
        return {action_id: self.estimate(action_id, server) for action_id, server in pairs}

    def admit(self, action_id: str, server: str) -> Admission:
        return self.admissions.pop(0) if self.admissions else Admission(True)

    def reset(self, action_id: str | None = None, server: str | None = None) -> int:
        return 0


@dataclass
class Grounder:
    """Judges by the flag and by a verdict that the test may fix; renders the texts as they are."""

    verdict: Verdict | None = None
    error_verdict: Verdict | None = None
    values: dict[tuple[str, str], Json] = field(default_factory=dict)

    def judge(self, result: JsonObject, action: Action | None) -> Verdict:
        if self.verdict is not None:
            return self.verdict
        failed = result.get("isError") is True
        return Verdict(Kind.UPSTREAM_5XX if failed else Kind.OK, detected_by="isError" if failed else "local")

    def judge_error(self, error: Exception) -> Verdict:
        if self.error_verdict is not None:
            return self.error_verdict
        if isinstance(error, DownstreamError):
            return Verdict(error.kind, error.message, detected_by="transport", retry_after_s=error.retry_after_s)
        if isinstance(error, RemoteError):
            return Verdict(Kind.INTERNAL, error.message, code=error.code, detected_by="jsonrpc")
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
        text = "\n".join(block.get("text", "") for block in result["content"])
        failed = result.get("isError") is True
        return Observation(
            "obs_0000000000000000",
            "error" if failed else "ok",
            text[:200],
            text,
            data=result.get("structuredContent"),
            is_error=failed,
            error=_info(verdict, ()) if failed else None,
            action=action.id if action else None,
            server=action.server if action else None,
            seconds=seconds,
        )

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
        return Observation(
            "obs_0000000000000000",
            "error",
            verdict.message[:200],
            verdict.message,
            is_error=True,
            error=_info(verdict, alternatives),
            action=action_id,
            server=server,
            seconds=seconds,
        )

    def read(self, request: ReadRequest, principal: Principal) -> Observation:
        raise UnknownHandle("no such handle")

    def value(self, handle: str, principal: Principal) -> Json:
        if (handle, principal.name) not in self.values:
            raise UnknownHandle("no such handle")
        return self.values[handle, principal.name]


def _info(verdict: Verdict, alternatives: Sequence[str]) -> ErrorInfo:
    facts = KINDS[verdict.kind]
    return ErrorInfo(
        verdict.kind,
        verdict.message,
        facts.fault,
        facts.retry != "no",
        facts.retry,
        verdict.retry_after_s,
        verdict.hint,
        alternatives=tuple(alternatives),
    )


@dataclass
class Listener:
    """A caller that notes what it hears and answers questions with what the test put in."""

    principal: Principal = Principal("ann")  # noqa: RUF009  # a frozen value
    session: str | None = None
    abilities: JsonObject = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)
    passes_input_required: bool = False
    heard: list[tuple[float, float | None, str | None]] = field(default_factory=list)
    logged: list[JsonObject] = field(default_factory=list)

    async def progress(self, progress: float, total: float | None, message: str | None) -> None:
        self.heard.append((progress, total, message))

    async def log(self, params: JsonObject) -> None:
        self.logged.append(params)

    async def ask(self, method: str, params: JsonObject) -> JsonObject:
        return {"action": "accept", "asked": method}


class World:
    """All parts and the dispatcher over them."""

    def __init__(
        self,
        *actions: Action,
        specs: Iterable[ServerSpec] = (),
        policy: Policy | None = None,
        settings: Settings | None = None,
        clock: Clock | Wall | None = None,
        grounder: Grounder | None = None,
    ) -> None:
        self.catalog = Catalog(actions, specs)
        self.downstreams = Downstreams()
        self.searcher = Searcher(self.catalog)
        self.reliability = Reliability()
        self.grounder = grounder or Grounder()
        self.clock = clock or Clock()
        self.settings = settings or load([])
        self.policy = policy or Permissive()
        self.space = Dispatcher(
            self.catalog,
            self.downstreams,
            self.searcher,
            self.reliability,
            self.grounder,
            self.policy,
            self.settings,
            self.clock,
        )


READ_ONLY = Hints(read_only=True)
