"""How servers are reached, who calls them, and what they were seen to offer."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Literal

from .json import EMPTY, JsonObject
from .kinds import Kind

Transport = Literal["stdio", "http", "sse", "memory"]
Era = Literal["auto", "legacy", "modern"]
Trust = Literal["local", "network"]
ActionState = Literal["current", "stale", "vanished", "changed"]


@dataclass(frozen=True, slots=True)
class Principal:
    """Who is calling: a named token, the stdio pipe, or an old-era HTTP session."""

    name: str
    origin: Literal["token", "stdio", "session", "local"] = "local"
    scopes: frozenset[str] = frozenset()


LOCAL = Principal("local")


@dataclass(frozen=True, slots=True)
class Limits:
    """Time limits in seconds; the nearest setting wins (call, action, server, settings)."""

    start_s: float = 60.0
    list_s: float = 60.0
    call_s: float = 60.0
    ceiling_s: float = 900.0
    idle_s: float = 600.0
    question_s: float = 300.0


@dataclass(frozen=True, slots=True)
class Override:
    """What the user changes about one action: its shown name, its description, its own call limit."""

    name: str | None = None
    description: str | None = None
    call_s: float | None = None


@dataclass(frozen=True, slots=True)
class Origin:
    """Where a configuration entry was read."""

    file: str
    line: int = 0

    def __str__(self) -> str:
        return f"{self.file}:{self.line}" if self.line else self.file


@dataclass(frozen=True, slots=True)
class ServerSpec:
    """How to reach one server, with every variable already expanded.

    `fault` is set when the entry cannot work as written (a variable that is not set, neither command nor url, an
    unknown transport): such a server is listed as failed with this reason and never started. Values of `env`,
    `headers`, `args` and `url` may hold secrets: `secrets` names the exact strings that must never be printed.
    """

    name: str
    transport: Transport
    command: str | None = None
    args: tuple[str, ...] = ()
    env: Mapping[str, str] = EMPTY
    cwd: str | None = None
    url: str | None = None
    headers: Mapping[str, str] = EMPTY
    title: str | None = None
    description: str | None = None
    tags: tuple[str, ...] = ()
    serial: bool = False
    per_client: bool = False
    disabled: bool = False
    pin: tuple[str, ...] = ()
    disabled_actions: tuple[str, ...] = ()
    overrides: Mapping[str, Override] = EMPTY
    limits: Limits = Limits()
    trust: Trust = "local"
    era: Era = "auto"
    forward_headers: tuple[str, ...] = ()
    ca_file: str | None = None
    verify_tls: bool = True
    secrets: frozenset[str] = frozenset()
    origin: Origin | None = None
    fault: str | None = None


class ServerState(StrEnum):
    """The state of one server, in words a user understands."""

    IDLE = "idle"
    STARTING = "starting"
    READY = "ready"
    NEEDS_LOGIN = "needs login"
    FAILED = "failed"
    DOWN = "down"
    DISABLED = "disabled"


@dataclass(frozen=True, slots=True)
class ServerStatus:
    """What is known of a server right now; times are seconds since the epoch."""

    server: str
    transport: Transport
    state: ServerState
    actions: int = 0
    stale: bool = False
    since: float = 0.0
    next_try: float | None = None
    error: str | None = None
    kind: Kind | None = None
    protocol_version: str | None = None
    pid: int | None = None
    restarts: int = 0
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Snapshot:
    """What a server was seen to offer: its lists exactly as sent, each item as raw JSON.

    `tools` holds every item of `tools/list`, also those the official models would refuse. `capabilities` is what the
    server declared. `taken_at` is seconds since the epoch. `partial` names lists that could not be read whole, with the
    reason.
    """

    server: str
    tools: tuple[JsonObject, ...] = ()
    prompts: tuple[JsonObject, ...] = ()
    resources: tuple[JsonObject, ...] = ()
    templates: tuple[JsonObject, ...] = ()
    info: JsonObject = EMPTY
    instructions: str | None = None
    capabilities: JsonObject = EMPTY
    protocol_version: str | None = None
    taken_at: float = 0.0
    partial: Mapping[str, str] = EMPTY


@dataclass(frozen=True, slots=True)
class Hints:
    """What the server says about an action's effects; None where it says nothing."""

    read_only: bool | None = None
    destructive: bool | None = None
    idempotent: bool | None = None
    open_world: bool | None = None

    @property
    def safe_to_repeat(self) -> bool:
        """True only where the server says that running it twice does no more than running it once."""
        return self.read_only is True or self.idempotent is True


@dataclass(frozen=True, slots=True)
class Action:
    """Anything callable.

    `id` is a pure function of (`server`, `name`). `name` is what the server receives. `input_schema` is the original,
    used to check arguments; `shown_schema` is the repaired form that clients see (equal in meaning). `fault` says why
    the action cannot be called (an input schema that is no object, say); such an action is listed with its reason and
    refused when called. `digest` is a fingerprint of the meaning (not the key order) of everything the server says
    about the action. `extra` keeps every field of the server's entry that has no attribute here (icons, `_meta`,
    execution), unchanged.
    """

    id: str
    server: str
    name: str
    description: str = ""
    title: str | None = None
    input_schema: JsonObject = EMPTY
    shown_schema: JsonObject = EMPTY
    output_schema: JsonObject | None = None
    hints: Hints = Hints()
    kind: Literal["tool", "skill", "operation", "gui"] = "tool"
    server_title: str | None = None
    server_description: str | None = None
    tags: tuple[str, ...] = ()
    pinned: bool = False
    call_s: float | None = None
    digest: str = ""
    state: ActionState = "current"
    fault: str | None = None
    extra: JsonObject = EMPTY


@dataclass(frozen=True, slots=True)
class CatalogChange:
    """The difference between two states of what one server offers.

    `changed` maps an action's id to the names of the fields that differ; `lists` names the other lists that differ
    (`prompts`, `resources`, `templates`).
    """

    server: str
    added: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    changed: Mapping[str, tuple[str, ...]] = EMPTY
    lists: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.added or self.removed or self.changed or self.lists)
