"""What one room needs of another, as Protocols.

The rooms never import each other; `app.py` wires them together. Each Protocol names its implementation. An in-memory
twin ships beside the real thing wherever tests or embedding need one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol, runtime_checkable

from .types import (
    Action,
    Admission,
    CatalogChange,
    Estimate,
    Json,
    JsonObject,
    Limits,
    Observation,
    Outcome,
    Principal,
    Query,
    ReadRequest,
    SearchAnswer,
    ServerSpec,
    ServerStatus,
    Snapshot,
    Verdict,
)


class Clock(Protocol):
    """Time as a dependency, so that tests move it by hand."""

    def now(self) -> float:
        """Seconds since the epoch."""

    def monotonic(self) -> float:
        """Seconds that never go back."""


# --- the caller's side of a call in flight


@runtime_checkable
class Caller(Protocol):
    """The one who waits for a request: where progress, log lines and questions of the server go.

    Implemented in `gateway` for each way a client can connect, and by `dispatch.callers.Silent` for callers that can
    answer nothing.
    """

    @property
    def principal(self) -> Principal: ...

    @property
    def session(self) -> str | None:
        """Key of the caller's session, for servers that keep state per client; None where there is none."""

    @property
    def abilities(self) -> JsonObject:
        """The client's declared capabilities (`elicitation`, `sampling`, `roots`), `{}` when it can answer nothing."""

    @property
    def headers(self) -> Mapping[str, str]:
        """The client's HTTP headers, lower-case names; used only for headers that a server's spec names in
        `forward_headers`."""

    @property
    def passes_input_required(self) -> bool:
        """True when a 2026 `input_required` result may be given to the client as it is."""

    async def progress(self, progress: float, total: float | None, message: str | None) -> None:
        """Tell the client how far its call is.

        Never raises: a client that went away is not the call's fault.
        """

    async def log(self, params: JsonObject) -> None:
        """Pass on a log message that the server sent during the call."""

    async def ask(self, method: str, params: JsonObject) -> JsonObject:
        """Put a server's question (`elicitation/create`, `sampling/createMessage`, `roots/list`) to the client.

        Raises:
            RemoteError: the client refused, cannot answer this kind of question, or did not answer in time.
        """


# --- downstream


@dataclass(frozen=True, slots=True)
class ServerEvent:
    """Something that happened at a server outside any call.

    `what`: `state` (its status changed), `tools`, `prompts`, `resources` (the list changed), `resource` (one resource
    changed; `detail` is its uri), `log` (`params` is the message), `connected` (a fresh connection was made; lists may
    differ from the snapshot), `other` (any further notification; `detail` is its method, `params` as it came).
    """

    server: str
    what: Literal["state", "tools", "prompts", "resources", "resource", "log", "connected", "other"]
    detail: str | None = None
    params: JsonObject | None = None


class Downstreams(Protocol):
    """All connections.

    Implemented by `downstream.Pool`.
    """

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
        """Send one MCP request and give the raw result object, unchanged and unvalidated.

        Starts the server if needed (under its start limit, apart from the call limit). Era differences are translated:
        a question that the server asks in mid-call, or an `input_required` result, goes to `caller.ask` unless
        `caller.passes_input_required`. Progress restarts the call limit up to the ceiling. Cancelling the awaiting
        scope cancels the request at the server.

        Args:
            server: config name.
            method: an MCP method, such as `tools/call`.
            params: its params, without protocol `_meta` (a client's own `_meta` fields pass).
            caller: where progress and questions go.
            limits: overrides the server's own limits.
            repeatable: the request may be sent again after a connection was lost in mid-flight (read-only or
                idempotent).

        Raises:
            UnknownServer, DownstreamError, NeedsLogin, RemoteError.
        """

    async def notify(self, server: str, method: str, params: JsonObject) -> None:
        """Send a notification to a server that is running; does nothing when it is not."""

    async def take_snapshot(self, server: str) -> Snapshot:
        """Connect if needed and read every list of the server, all pages.

        Raises:
            UnknownServer, DownstreamError, NeedsLogin.
        """

    def status(self, server: str) -> ServerStatus:
        """State of one server.

        Raises UnknownServer.
        """

    def statuses(self) -> Sequence[ServerStatus]:
        """State of every configured server, in the order of the configuration."""

    async def restart(self, server: str) -> None:
        """Stop the server if it runs, forget its back-off, and connect anew.

        Raises as `take_snapshot`.
        """

    async def stop(self, server: str) -> None:
        """Stop the server; the next request starts it again."""

    async def apply(self, specs: Sequence[ServerSpec]) -> None:
        """Make `specs` the configuration: start nothing, stop what is gone or differs, leave the others and their calls
        alone."""

    def listen(self, listener: Callable[[ServerEvent], None]) -> Callable[[], None]:
        """Be told of events; the returned function ends it.

        Listeners must not block.
        """

    def connected(self, server: str) -> bool:
        """Whether a connection is up right now."""


# --- catalog


class Catalog(Protocol):
    """All actions known.

    Implemented by `catalog.Catalog`.
    """

    def get(self, action_id: str) -> Action | None:
        """The action with exactly this id, current or stale; None when there is none (or it vanished)."""

    def resolve(self, name: str, *, visible: frozenset[str] | None = None) -> Action:
        """The action that `name` means: an id, else a bare original name that only one visible server offers.

        Raises:
            UnknownAction: with suggestions; never the nearest match. Vanished and ambiguous names say so.
        """

    def actions(self) -> Sequence[Action]:
        """Every callable action: current and stale, not vanished, not disabled."""

    def of_server(self, server: str) -> Sequence[Action]:
        """The actions of one server, in its own order."""

    def specs(self) -> Sequence[ServerSpec]:
        """Every configured server, disabled ones too."""

    def spec(self, server: str) -> ServerSpec:
        """Raises UnknownServer."""

    def snapshot(self, server: str) -> Snapshot | None:
        """The last known snapshot, also of a server that is down."""

    def record_snapshot(self, snapshot: Snapshot) -> CatalogChange:
        """Store what a server offers now and make it current; gives the difference to what was known."""

    def mark_stale(self, server: str, stale: bool) -> None:
        """Say that a server's actions could not be checked; they stay callable and searchable."""

    def warnings(self, server: str) -> Sequence[str]:
        """What is odd in what a server offers: items left out and why, actions that cannot be called and why."""

    def listen(self, listener: Callable[[CatalogChange], None]) -> Callable[[], None]:
        """Be told of changes, one notice per change of a server; the returned function ends it."""

    @property
    def version(self) -> int:
        """Grows with every change; for caches of rendered lists."""


# --- retrieval


class Searcher(Protocol):
    """Finds actions.

    Implemented by `retrieval.Index`.
    """

    def search(self, query: Query, *, estimates: Mapping[str, Estimate] | None = None) -> SearchAnswer:
        """Rank the actions for the intents.

        Pure CPU, at most tens of milliseconds; call it in a worker thread.
        """

    def update(self, changes: Iterable[CatalogChange], actions: Callable[[str], Action | None]) -> None:
        """Bring the index up to date with changes of the catalog; re-encodes only texts that were never seen."""

    def rebuild(self, actions: Sequence[Action]) -> None:
        """Index exactly these actions."""


# --- reliability


class Reliability(Protocol):
    """Outcomes in, estimates out.

    Implemented by `reliability.Ledger`.
    """

    def record(self, outcome: Outcome) -> None:
        """Remember an outcome.

        Returns at once; storing happens behind.
        """

    def estimate(self, action_id: str, server: str) -> Estimate: ...

    def estimates(self, pairs: Iterable[tuple[str, str]]) -> Mapping[str, Estimate]:
        """Estimates of many (action id, server) pairs, by action id."""

    def admit(self, action_id: str, server: str) -> Admission:
        """Whether a call may start: the server's breaker, and whether this call is its trial."""

    def reset(self, action_id: str | None = None, server: str | None = None) -> int:
        """Forget the outcomes of an action or a server (all of them when both are None); gives how many."""


# --- grounding


class Grounder(Protocol):
    """Raw content to observation.

    Implemented by `grounding.Grounder`.
    """

    def judge(self, result: JsonObject, action: Action | None) -> Verdict:
        """Understand a `tools/call` result: its flag, its values, its output schema."""

    def judge_error(self, error: Exception) -> Verdict:
        """Understand an exception of `errors.py`."""

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
        """Ground a result: repair, render within the budget, keep the original where anything was not shown."""

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
        """Ground a failure that came without a result."""

    def read(self, request: ReadRequest, principal: Principal) -> Observation:
        """Show what was not shown.

        Raises UnknownHandle, UsageError.
        """

    def value(self, handle: str, principal: Principal) -> Json:
        """The whole value behind a handle (a JSON value, or text).

        Raises UnknownHandle.
        """


# --- dispatch


class ActionSpace(Protocol):
    """Everything a caller can do.

    Implemented by `dispatch.Dispatcher`; the gateway, the REST routes and chat agents act through it.
    """

    async def search(self, query: Query, principal: Principal) -> SearchAnswer: ...

    def describe(self, action_ids: Sequence[str], principal: Principal) -> Sequence[tuple[Action, Estimate]]:
        """Raises UnknownAction for the first id that is unknown or hidden."""

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
        """Resolve, check, call, ground, record.

        Every failure comes back as an observation; only cancellation is raised.
        """

    def visible(self, principal: Principal) -> frozenset[str] | None:
        """Ids that the principal may see; None means all."""


class Policy(Protocol):
    """Who may see and call what: pure decisions. Implemented by `access.Rules`."""

    def visible(self, principal: Principal, actions: Sequence[Action], version: int) -> frozenset[str] | None:
        """Ids of those `actions` that the principal may see; None means all. `version` is that of the catalog."""

    def refusal(self, principal: Principal, action: Action) -> str | None:
        """Why the principal may not call an action that it may see; None means that it may."""


class Authenticator(Protocol):
    """Tells who sends a request. Implemented by `access.Tokens`."""

    def identify(self, bearer: str | None) -> Principal | None:
        """The principal of a bearer token; for None the anonymous local principal, or None when a token is required."""


class Encoder(Protocol):
    """Texts to unit vectors.

    Implemented by `retrieval.OnnxEncoder` and its siblings. Reading `dimension` or `digest` may load the model.
    """

    @property
    def dimension(self) -> int:
        """Length of a vector."""

    @property
    def digest(self) -> str:
        """Names model and weights exactly, so that vectors of two encoders never mix."""

    def encode(self, texts: Sequence[str], *, query: bool = False) -> Json:
        """A float32 array of shape (len(texts), dimension), rows of unit length.

        Args:
            texts: what to encode.
            query: whether the texts ask for actions or describe them; some models treat the two differently.

        Raises:
            EncoderError: the model cannot be loaded or reached, or its vectors are unusable.
        """
