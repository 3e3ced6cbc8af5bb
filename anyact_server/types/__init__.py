"""Plain values that every room shares. Nothing here does I/O or imports another room.

The words are those of the design: an *action* is anything callable, a *server* a downstream that offers actions, a
*snapshot* what it was seen to offer, an *outcome* how a call ended and whose fault, an *estimate* what the ledger
believes, an *observation* the uniform answer, a *handle* the address of something too large to show, a *principal*
who is calling.
"""

from .calls import Admission, Call, Estimate, OnError, Outcome, RunReport, Task, TaskReport, TaskState, Verdict
from .json import EMPTY, Json, JsonObject, plain
from .kinds import KINDS, SUCCESSES, Fault, Kind, KindFacts, Retry
from .observations import Artifact, Elision, ErrorInfo, Observation, ReadRequest, TokenCount
from .search import Helper, Hit, Query, SearchAnswer
from .servers import (
    LOCAL,
    Action,
    ActionState,
    CatalogChange,
    Era,
    Hints,
    Limits,
    Origin,
    Override,
    Principal,
    ServerSpec,
    ServerState,
    ServerStatus,
    Snapshot,
    Transport,
    Trust,
)

__all__ = [
    "EMPTY",
    "KINDS",
    "LOCAL",
    "SUCCESSES",
    "Action",
    "ActionState",
    "Admission",
    "Artifact",
    "Call",
    "CatalogChange",
    "Elision",
    "Era",
    "ErrorInfo",
    "Estimate",
    "Fault",
    "Helper",
    "Hints",
    "Hit",
    "Json",
    "JsonObject",
    "Kind",
    "KindFacts",
    "Limits",
    "Observation",
    "OnError",
    "Origin",
    "Outcome",
    "Override",
    "Principal",
    "Query",
    "ReadRequest",
    "Retry",
    "RunReport",
    "SearchAnswer",
    "ServerSpec",
    "ServerState",
    "ServerStatus",
    "Snapshot",
    "Task",
    "TaskReport",
    "TaskState",
    "TokenCount",
    "Transport",
    "Trust",
    "Verdict",
    "plain",
]
