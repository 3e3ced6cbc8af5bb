"""Calls and runs, how they end, and what the ledger believes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

from .json import Json
from .kinds import Fault, Kind
from .observations import Observation


@dataclass(frozen=True, slots=True)
class Verdict:
    """How one result is to be understood.

    `kind` follows what the server declared. `suspected` is set when a declared success says by value that it failed;
    then `confidence` (0 to 1) belongs to the suspicion. `evidence` is a JSON pointer into the result or a short
    quotation.
    """

    kind: Kind
    message: str = ""
    code: int | str | None = None
    suspected: Kind | None = None
    confidence: float = 1.0
    detected_by: Literal[
        "jsonrpc",
        "isError",
        "http_status",
        "structured",
        "text_rule",
        "transport",
        "schema",
        "local",
    ] = "local"
    evidence: str | None = None
    retry_after_s: float | None = None
    hint: str | None = None
    share_failed: float = 0.0
    fault: Fault | None = None
    """Whose fault it is, where the evidence says otherwise than the kind's row in the table."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """One call as the ledger remembers it; `at` is seconds since the epoch, `seconds` the time the downstream took.

    `seconds` is 0 where the time says nothing of the action, as when its server had to be started first. `sent` is
    False when the call surely never reached the server: that says something of the server, nothing of the action.
    """

    action: str
    server: str
    verdict: Verdict
    at: float
    seconds: float
    principal: str = "local"
    tokens: int = 0
    digest: str = ""
    sent: bool = True

    @property
    def kind(self) -> Kind:
        return self.verdict.kind


@dataclass(frozen=True, slots=True)
class Estimate:
    """What the ledger believes of an action.

    Probabilities 0 to 1, latencies in seconds; `words` explains it to a person.
    """

    action: str
    success: float
    low: float
    high: float
    calls: int = 0
    p50_s: float | None = None
    p95_s: float | None = None
    pruned: bool = False
    needs_login: bool = False
    suspected: float = 0.0
    words: str = "not called yet"


@dataclass(frozen=True, slots=True)
class Admission:
    """Whether a call may start now; if not, `retry_after_s` and `reason` say when and why."""

    allowed: bool
    trial: bool = False
    retry_after_s: float | None = None
    reason: str | None = None


OnError = Literal["stop_dependents", "continue", "cancel_run"]
TaskState = Literal["waiting", "running", "done", "failed", "skipped", "cancelled", "refused"]


@dataclass(frozen=True, slots=True)
class Call:
    """An action with arguments, as the caller asked for it (the id may still be a bare name, the arguments a JSON
    string)."""

    action: str
    arguments: Json = None
    timeout_s: float | None = None
    budget_tokens: int | None = None
    read_only: bool = False
    """Refuse any action that is not declared read-only (the tool `query_action`)."""


@dataclass(frozen=True, slots=True)
class Task:
    """One call of a run."""

    id: str
    call: Call
    depends_on: tuple[str, ...] = ()
    on_error: OnError = "stop_dependents"


@dataclass(frozen=True, slots=True)
class TaskReport:
    """The state of one task; seconds are measured from the start of the run."""

    id: str
    action: str
    state: TaskState
    observation: Observation | None = None
    started_s: float | None = None
    ended_s: float | None = None
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class RunReport:
    """The state of a run: one report per task, in the order in which the tasks were given."""

    id: str
    done: bool
    tasks: Sequence[TaskReport] = field(default=())
    cancelled: bool = False
    seconds: float = 0.0
