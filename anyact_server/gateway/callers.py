"""The client behind a request, as the rest of AnyAct sees it.

`ClientCaller` is made for each request. A client of the handshake era is asked over its own connection; a client of the
modern era cannot be asked in mid-call, so its questions go through a `Questions` bridge, or are refused properly.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextvars import ContextVar
from typing import Any, Protocol, cast, get_args

import anyio
import mcp_types as wire
from mcp.server import ServerRequestContext
from mcp.server.connection import Connection
from mcp.shared.exceptions import MCPError
from mcp.shared.message import ServerMessageMetadata
from mcp_types.version import MODERN_PROTOCOL_VERSIONS
from pydantic import BaseModel, ConfigDict, ValidationError

from anyact_server.errors import RemoteError
from anyact_server.telemetry import logger
from anyact_server.types import EMPTY, JsonObject, Principal

LOG = logger("gateway")
PRINCIPAL_KEY = "anyact.principal"
"""Where the HTTP entry leaves the principal in the ASGI scope."""
STDIO = Principal("stdio", "stdio")
ABILITIES = ("elicitation", "sampling", "roots")
LEVELS: tuple[str, ...] = get_args(wire.LoggingLevel)
"""Log levels, least severe first, as the protocol declares them."""
LEVEL_STATE = "anyact.log_level"
PIPE: ContextVar[str] = ContextVar("anyact.pipe", default="pipe")
"""Key of the pipe that a client without HTTP came by; set by whoever serves the pipe, for both eras."""

Context = ServerRequestContext[Any, Any]


class Questions(Protocol):
    """Puts a server's question to a client of the modern era by way of an `input_required` result."""

    async def ask(self, method: str, params: JsonObject) -> JsonObject:
        """The client's answer.

        Raises:
            RemoteError: refused, not possible, or too late.
        """


class _Question(BaseModel):
    """A request to the client, sent as it is."""

    method: str
    params: dict[str, Any] | None = None


class _Answer(BaseModel):
    """Any result of a client."""

    model_config = ConfigDict(extra="allow")


def modern(context: Context) -> bool:
    """Whether the request came in the modern era."""
    return context.protocol_version in MODERN_PROTOCOL_VERSIONS


def connection_of(context: Context) -> Connection:
    """The connection of a request.

    The context gives no public way to it, and its `state` and `exit_stack` are made for handlers.
    """
    return context.session._connection


def principal_of(context: Context) -> Principal:
    """Who sends the request: what the HTTP entry found, narrowed to the old-era session where nobody is named."""
    if context.request is None:
        return STDIO
    found = context.request.scope.get(PRINCIPAL_KEY)
    principal = found if isinstance(found, Principal) else Principal("local")
    session = session_of(context)
    if principal.origin == "local" and session is not None:
        return Principal(f"session:{session}", "session", principal.scopes)
    return principal


def session_of(context: Context) -> str | None:
    """Key of the pipe or of the old-era session; None for a modern client over HTTP, which has none."""
    if context.request is None:
        return PIPE.get()
    if modern(context):
        return None
    headers, query = context.request.headers, context.request.query_params
    return headers.get("mcp-session-id") or connection_of(context).session_id or query.get("session_id")


def client_of(context: Context) -> str | None:
    """The name by which the client introduced itself; None when it did not."""
    told = context.session.client_params
    return told.client_info.name if told is not None else None


class ClientCaller:
    """The caller of one request.

    Implements `interfaces.Caller`.
    """

    def __init__(self, context: Context, questions: Questions | None = None) -> None:
        self._context = context
        self._questions = questions
        self._modern = modern(context)
        self.principal = principal_of(context)
        self.session = session_of(context)
        self.passes_input_required = False

    @property
    def abilities(self) -> JsonObject:
        """What the client declared that a server may ask of it; nothing where no question can reach it."""
        declared = self._context.session.client_capabilities
        if declared is None or (self._modern and self._questions is None):
            return EMPTY
        told = declared.model_dump(by_alias=True, mode="json", exclude_none=True)
        return {name: told[name] for name in ABILITIES if name in told}

    @property
    def headers(self) -> Mapping[str, str]:
        """The HTTP headers of the request; empty over stdio."""
        return cast("Mapping[str, str]", EMPTY if self._context.request is None else self._context.request.headers)

    async def progress(self, progress: float, total: float | None, message: str | None) -> None:
        """Report progress under the client's own token; nothing when it gave none or went away."""
        try:
            await self._context.session.report_progress(progress, total, message)
        except (anyio.ClosedResourceError, anyio.BrokenResourceError, MCPError) as error:
            LOG.debug("progress was lost: %r", error)

    async def log(self, params: JsonObject) -> None:
        """Pass a log message on, if the client wants messages of its level."""
        level = params.get("level")
        if level not in LEVELS or LEVELS.index(level) < wanted_level(self._context):
            return
        try:
            note = wire.LoggingMessageNotification.model_validate(
                {"method": "notifications/message", "params": dict(params)}
            )
            await self._context.session.send_notification(note, related_request_id=self._context.request_id)
        except (anyio.ClosedResourceError, anyio.BrokenResourceError, ValidationError) as error:
            LOG.debug("a log message was lost: %r", error)

    async def ask(self, method: str, params: JsonObject) -> JsonObject:
        """Put a question to this very client.

        Raises:
            RemoteError: it did not declare the ability, refused, answered nonsense, or went away.
        """
        ability = ability_for(method)
        if ability not in self.abilities:
            raise RemoteError(wire.METHOD_NOT_FOUND, f"the client cannot answer {method}", server="client")
        if self._questions is not None:
            return await self._questions.ask(method, params)
        question = _Question(method=method, params=dict(params) or None)
        metadata = ServerMessageMetadata(related_request_id=self._context.request_id)
        try:
            answer = await self._context.session.send_request(
                cast("wire.ServerRequest", question), _Answer, metadata=metadata
            )
        except MCPError as error:
            raise RemoteError(error.error.code, error.error.message, error.error.data, server="client") from error
        except ValidationError as error:
            raise RemoteError(
                wire.INVALID_REQUEST, f"the client's answer to {method} is malformed", server="client"
            ) from error
        return answer.model_dump(by_alias=True, mode="json")


def ability_for(method: str) -> str:
    """The capability that a client needs to answer a question."""
    return {"elicitation/create": "elicitation", "sampling/createMessage": "sampling", "roots/list": "roots"}.get(
        method, method
    )


def wanted_level(context: Context) -> int:
    """Index of the least severe log level that the client wants to see during this request.

    The modern era asks request by request, and silence means none; a client of the handshake era gets `info` and above
    until it sets a level.
    """
    if modern(context):
        asked = (context.meta or {}).get(wire.LOG_LEVEL_META_KEY)
        return LEVELS.index(asked) if asked in LEVELS else len(LEVELS)
    return int(connection_of(context).state.get(LEVEL_STATE, LEVELS.index("info")))


def set_level(context: Context, level: str) -> None:
    """Remember the log level that a client of the handshake era wants."""
    connection_of(context).state[LEVEL_STATE] = LEVELS.index(level)
