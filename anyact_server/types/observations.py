"""The uniform answer and what hangs on it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from .json import Json, JsonObject
from .kinds import Fault, Kind, Retry


@dataclass(frozen=True, slots=True)
class Elision:
    """Something that was not shown: where (JSON pointer or line range), what, how much, and the handle to read it."""

    pointer: str
    what: str
    count: int
    handle: str | None = None


@dataclass(frozen=True, slots=True)
class Artifact:
    """Something reachable by handle.

    `size` in bytes, `tokens` estimated, `expires_at` seconds since the epoch.
    """

    handle: str
    mime: str
    size: int
    tokens: int = 0
    title: str = ""
    uri: str | None = None
    views: tuple[str, ...] = ("page", "head", "tail", "grep", "raw")
    expires_at: float | None = None
    note: str | None = None


@dataclass(frozen=True, slots=True)
class TokenCount:
    """Estimated tokens: `shown` to the model, `raw` of the source, the `budget` that applied."""

    shown: int = 0
    raw: int = 0
    budget: int = 4000


@dataclass(frozen=True, slots=True)
class ErrorInfo:
    """An error as the caller sees it: kind, whether and when to retry, what to change, what else would do."""

    kind: Kind
    message: str
    fault: Fault
    retryable: bool
    retry: Retry
    retry_after_s: float | None = None
    hint: str | None = None
    server: str | None = None
    detected_by: str = "local"
    confidence: float = 1.0
    evidence: str | None = None
    alternatives: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Observation:
    """The uniform answer.

    Attributes:
        id: `obs_` and 16 hex digits; a prefix of its handles.
        status: ok, partial, error or pending.
        summary: at most 200 characters; the first thing a model reads.
        text: the rendered body, already within the budget.
        blocks: media content blocks (images, audio) that go to the client unchanged in kind, already sized.
        data: the structured value that the server sent, uncut; None when there was none.
        is_error: the flag as downstream said it (or true where the call itself failed).
        handle: address of the whole original result, when it was kept.
        suspected: the failure that a declared success seems to be, marked, never substituted.
    """

    id: str
    status: Literal["ok", "partial", "error", "pending"]
    summary: str
    text: str = ""
    blocks: tuple[JsonObject, ...] = ()
    data: Json = None
    is_error: bool = False
    error: ErrorInfo | None = None
    suspected: ErrorInfo | None = None
    handle: str | None = None
    artifacts: tuple[Artifact, ...] = ()
    elided: tuple[Elision, ...] = ()
    tokens: TokenCount = TokenCount()
    action: str | None = None
    server: str | None = None
    seconds: float = 0.0
    notes: tuple[str, ...] = ()
    untrusted: bool = True
    version: str = "1"


@dataclass(frozen=True, slots=True)
class ReadRequest:
    """One look at something that was not shown."""

    handle: str
    view: Literal["page", "grep", "jsonpath", "head", "tail", "region", "diff", "raw"] = "page"
    query: str | None = None
    offset: int = 0
    limit: int | None = None
    budget: int = 4000
