"""REST under `/v1`: the eight tools for programs, with the same visibility and the same kinds of outcome.

One error body everywhere: `{"error": {kind, message, hint, retryable, retry, ...}}`, beside the observation where there
is one. The status follows the kind (`types.KINDS`); nothing that happens downstream becomes a bare 500.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, TypeVar, cast

import anyio
import orjson
from pydantic import BaseModel, ValidationError
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from anyact_server import __version__
from anyact_server.dispatch import Silent
from anyact_server.errors import AnyActError, DownstreamError, PolicyRefused, UnknownAction, UnknownServer, UsageError
from anyact_server.settings import Settings
from anyact_server.telemetry import MASK
from anyact_server.types import (
    KINDS,
    LOCAL,
    Action,
    Estimate,
    Hit,
    Json,
    Kind,
    Observation,
    Principal,
    ReadRequest,
    plain,
)

from .callers import PRINCIPAL_KEY
from .front import server_statuses
from .openapi import document
from .parts import Parts, Ready
from .rest_bodies import ArgumentsBody, CallBody, RunBody, SearchBody
from .sight import visible_servers

VIEWS = ("page", "grep", "jsonpath", "head", "tail", "region", "diff", "raw")
PAGE = 100
MOST = 1000
ECHO_CHARS = 80
"""Characters of a name that an error repeats."""

B = TypeVar("B", bound=BaseModel)
Handler = Callable[[Parts, Request, Principal], Awaitable[Response]]


class Refused(Exception):
    """A request that cannot be taken as it is; becomes an error body."""

    def __init__(self, status: int, message: str, hint: str | None = None) -> None:
        super().__init__(message)
        self.status = status
        self.hint = hint


def rest_routes(ready: Ready, settings: Settings) -> list[BaseRoute]:
    """All routes of REST, and the catch-all that gives unknown paths the one error body."""
    handlers: list[tuple[str, dict[str, Handler]]] = [
        ("/v1/search", {"GET": _search_words, "POST": _search}),
        ("/v1/actions", {"GET": _actions}),
        ("/v1/actions/{id:path}/call", {"POST": _call_path}),
        ("/v1/actions/{id:path}", {"GET": _action}),
        ("/v1/call", {"POST": _call}),
        ("/v1/query", {"POST": _query}),
        ("/v1/runs", {"POST": _run}),
        ("/v1/runs/{id}", {"GET": _read_run, "DELETE": _cancel_run}),
        ("/v1/observations/{handle:path}", {"GET": _read}),
        ("/v1/servers", {"GET": _servers}),
        ("/v1/servers/{name:path}/restart", {"POST": _restart}),
        ("/v1/servers/{name:path}", {"GET": _server}),
        ("/openapi.json", {"GET": _openapi}),
    ]
    routes: list[BaseRoute] = [Route(path, _endpoint(by, ready, settings), methods=METHODS) for path, by in handlers]
    routes.append(Route("/v1{rest:path}", _endpoint({}, ready, settings), methods=METHODS))
    return routes


METHODS = ["GET", "POST", "PUT", "PATCH", "DELETE"]


def _endpoint(by: Mapping[str, Handler], ready: Ready, settings: Settings) -> Callable[[Request], Awaitable[Response]]:
    async def answer(request: Request) -> Response:
        request.state.body_bytes = settings.body_bytes
        handler = by.get("GET" if request.method == "HEAD" else request.method)
        try:
            if not by:
                raise Refused(404, f"nothing is at {request.url.path[:ECHO_CHARS]}", "See /openapi.json.")
            if handler is None:
                raise Refused(405, f"{request.method} is not for this path", f"Use {', '.join(by)}.")
            return await handler(await ready(), request, request.scope.get(PRINCIPAL_KEY, LOCAL))
        except Refused as refused:
            headers = {"Allow": ", ".join(by)} if refused.status == 405 else None
            kind = Kind.NOT_FOUND if refused.status == 404 else Kind.INVALID_ARGS
            return _error(kind, str(refused), refused.hint, status=refused.status, headers=headers)
        except AnyActError as error:
            return _of_error(error)
        except ClientDisconnect:
            return _error(Kind.CANCELLED, "the client left", None)

    return answer


# --- answers


def _json(value: Json, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    body = orjson.dumps(plain(value)) if not isinstance(value, bytes) else value
    return Response(body, status, headers, "application/json")


def error_body(kind: Kind, message: str, hint: str | None, **more: Json) -> dict[str, Json]:
    """The one error body, without an observation."""
    facts = KINDS[kind]
    shown: dict[str, Json] = {
        "kind": kind.value,
        "message": MASK.mask(message)[:2000],
        "hint": MASK.mask(hint) if hint else None,
        "fault": facts.fault.value,
        "retryable": facts.retry in ("after_pause", "if_safe"),
        "retry": facts.retry,
    }
    return {"error": shown | {name: value for name, value in more.items() if value is not None}}


def _error(
    kind: Kind,
    message: str,
    hint: str | None,
    *,
    status: int | None = None,
    headers: Mapping[str, str] | None = None,
    **more: Json,
) -> Response:
    return _json(error_body(kind, message, hint, **more), status or KINDS[kind].status, headers)


def _of_error(error: AnyActError) -> Response:
    alternatives = list(error.suggestions) if isinstance(error, UnknownAction) else None
    wait = error.retry_after_s if isinstance(error, DownstreamError) else None
    server = error.server if isinstance(error, DownstreamError) else None
    headers = {"Retry-After": str(max(1, round(wait)))} if wait else None
    status = 400 if isinstance(error, UsageError) else None
    return _error(
        error.kind,
        error.message,
        error.hint,
        status=status,
        headers=headers,
        alternatives=alternatives,
        retry_after_s=wait,
        server=server,
    )


def _observed(observation: Observation) -> Response:
    """An observation, with the status of its kind; a failure has the error body beside the observation."""
    error = observation.error
    if error is None:
        return _json({"observation": plain(observation)})
    status = KINDS[error.kind].status
    headers = {"Retry-After": str(max(1, round(error.retry_after_s)))} if error.retry_after_s else None
    return _json({"error": plain(error), "observation": plain(observation)}, status if status >= 400 else 422, headers)


# --- what a request says


async def _body(request: Request, model: type[B]) -> B:
    """The body as a model.

    Raises:
        Refused: too large (413), no JSON (400, 415), or not of this form (422).
    """
    kind = request.headers.get("content-type", "application/json").partition(";")[0].strip().lower()
    if kind != "application/json" and not kind.endswith("+json"):
        raise Refused(415, f"the body is {kind[:ECHO_CHARS]}", "Send application/json.")
    raw = await _bytes(request, request.state.body_bytes)
    try:
        value = orjson.loads(raw)
    except orjson.JSONDecodeError as error:
        raise Refused(400, f"the body is no JSON: {error.msg} at byte {error.pos}") from error
    try:
        return model.model_validate(value)
    except ValidationError as error:
        first = error.errors(include_input=False, include_url=False)[0]
        place = ".".join(str(part) for part in first["loc"])[:ECHO_CHARS] or "the body"
        raise Refused(422, f"{place}: {first['msg']}", "See /openapi.json for the form of this body.") from error


async def _bytes(request: Request, most: int) -> bytes:
    declared = request.headers.get("content-length", "")
    too_large = Refused(413, f"the body is larger than {most} bytes", "The setting is body_bytes.")
    if declared.isdigit() and int(declared) > most:
        raise too_large
    parts, size = [], 0
    async for part in request.stream():
        size += len(part)
        if size > most:
            raise too_large
        parts.append(part)
    return b"".join(parts)


def _whole(request: Request, name: str, default: int, low: int, high: int) -> int:
    text = request.query_params.get(name)
    if text is None:
        return default
    if (
        not text.lstrip("-").isascii()
        or not text.lstrip("-").isdigit()
        or len(text) > 12
        or not low <= int(text) <= high
    ):
        raise Refused(422, f"{name} must be a whole number from {low} to {high}")
    return int(text)


def _seconds(request: Request, name: str) -> float:
    text = request.query_params.get(name, "0")
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0 <= value <= 86_400:
        raise Refused(422, f"{name} must be seconds from 0 to 86400")
    return value


# --- search and actions


async def _search(parts: Parts, request: Request, principal: Principal) -> Response:
    body = await _body(request, SearchBody)
    return await _found(parts, body, principal)


async def _search_words(parts: Parts, request: Request, principal: Principal) -> Response:
    words = [word for word in request.query_params.getlist("q") if word.strip()]
    if not 0 < len(words) <= 20:
        raise Refused(422, "q must be given once per need, 1 to 20 times", "For example: /v1/search?q=send+a+mail")
    body = SearchBody(
        intents=words, limit=_whole(request, "limit", 10, 1, 50), servers=request.query_params.getlist("server")
    )
    return await _found(parts, body, principal)


async def _found(parts: Parts, body: SearchBody, principal: Principal) -> Response:
    answer = await parts.space.search(body.query(), principal)
    return _json(
        {
            "hits": [hit_json(hit, full=body.detail == "full") for hit in answer.hits],
            "total": max(answer.total, len(answer.hits)),
            "degraded": answer.degraded,
            "neighbours": list(answer.neighbours),
        }
    )


def action_json(action: Action, *, full: bool) -> dict[str, Json]:
    """An action; with its schemas and everything else when `full`."""
    brief = {
        "id": action.id,
        "server": action.server,
        "name": action.name,
        "title": action.title,
        "description": action.description,
        "kind": action.kind,
        "state": action.state,
        "fault": action.fault,
        "tags": list(action.tags),
        "hints": plain(action.hints),
    }
    if full:
        brief |= {
            "input_schema": plain(action.shown_schema),
            "output_schema": plain(action.output_schema),
            "digest": action.digest,
        }
    return brief


def hit_json(hit: Hit, *, full: bool) -> dict[str, Json]:
    """A hit: the action, its score, why it is there."""
    return {
        **action_json(hit.action, full=full),
        "score": round(hit.score, 6),
        "why": list(hit.why),
        "intents": list(hit.intents),
        "reliability": _estimate(hit.estimate),
    }


def _estimate(estimate: Estimate | None) -> Json:
    return None if estimate is None else plain(estimate)


async def _actions(parts: Parts, request: Request, principal: Principal) -> Response:
    offset, limit = _whole(request, "offset", 0, 0, 10_000_000), _whole(request, "limit", PAGE, 1, MOST)
    servers = request.query_params.getlist("server")
    visible = parts.space.visible(principal)
    chosen = [
        action
        for action in parts.catalog.actions()
        if (visible is None or action.id in visible) and (not servers or action.server in servers)
    ]
    page = chosen[offset : offset + limit]
    following = offset + limit if offset + limit < len(chosen) else None
    return _json(
        {
            "actions": [action_json(action, full=False) for action in page],
            "total": len(chosen),
            "next_offset": following,
        }
    )


async def _action(parts: Parts, request: Request, principal: Principal) -> Response:
    ((action, estimate),) = parts.space.describe([request.path_params["id"]], principal)
    return _json({**action_json(action, full=True), "reliability": plain(estimate)})


# --- calls


async def _call(parts: Parts, request: Request, principal: Principal) -> Response:
    body = await _body(request, CallBody)
    return await _act(parts, request, principal, body.action, body)


async def _query(parts: Parts, request: Request, principal: Principal) -> Response:
    body = await _body(request, CallBody)
    return await _act(parts, request, principal, body.action, body, read_only=True)


async def _call_path(parts: Parts, request: Request, principal: Principal) -> Response:
    return await _act(parts, request, principal, request.path_params["id"], await _body(request, ArgumentsBody))


async def _act(
    parts: Parts, request: Request, principal: Principal, action: str, body: ArgumentsBody, *, read_only: bool = False
) -> Response:
    async def work() -> Observation:
        return await parts.space.call(
            action,
            body.arguments,
            Silent(principal),
            timeout_s=body.timeout_s,
            budget=body.budget_tokens,
            read_only=read_only,
        )

    return _observed(await _while_connected(request, work))


T = TypeVar("T")


async def _while_connected(request: Request, work: Callable[[], Awaitable[T]]) -> T:
    """The result of the work, which is cancelled when the client leaves.

    Raises:
        ClientDisconnect: the client left first.
    """
    result: list[T] = []

    async def watch(scope: anyio.CancelScope) -> None:
        while (await request.receive())["type"] != "http.disconnect":
            pass
        scope.cancel()

    async with anyio.create_task_group() as group:
        group.start_soon(watch, group.cancel_scope)
        result.append(await work())
        group.cancel_scope.cancel()
    if not result:
        raise ClientDisconnect
    return result[0]


# --- runs and results


async def _run(parts: Parts, request: Request, principal: Principal) -> Response:
    body = await _body(request, RunBody)
    tasks = [task.task() for task in body.tasks]

    async def work() -> Any:
        return await parts.runs.start(tasks, Silent(principal), max_parallel=body.max_parallel, wait_s=body.wait_s)

    report = await _while_connected(request, work)
    return _json(report, 200 if report.done else 202)


async def _read_run(parts: Parts, request: Request, principal: Principal) -> Response:
    return _json(await parts.runs.read(request.path_params["id"], principal, wait_s=_seconds(request, "wait_s")))


async def _cancel_run(parts: Parts, request: Request, principal: Principal) -> Response:
    return _json(await parts.runs.cancel(request.path_params["id"], principal))


async def _read(parts: Parts, request: Request, principal: Principal) -> Response:
    asked = request.query_params
    view = asked.get("view", "page")
    if view not in VIEWS:
        raise Refused(422, f"view must be one of {', '.join(VIEWS)}")
    limit = _whole(request, "limit", 0, 0, 10_000_000)
    read = ReadRequest(
        request.path_params["handle"],
        view=cast("Any", view),
        query=asked.get("query"),
        offset=_whole(request, "offset", 0, 0, 10_000_000_000),
        limit=limit or None,
        budget=_whole(request, "budget", parts.settings.budget_tokens, 100, 1_000_000),
    )
    return _observed(parts.grounder.read(read, principal))


# --- servers


async def _servers(parts: Parts, request: Request, principal: Principal) -> Response:
    statuses = server_statuses(parts, visible_servers(parts, principal))
    return _json({"servers": [plain(status) for status in statuses]})


async def _server(parts: Parts, request: Request, principal: Principal) -> Response:
    (status,) = server_statuses(parts, frozenset({_known(parts, request, principal)}))
    return _json(status)


async def _restart(parts: Parts, request: Request, principal: Principal) -> Response:
    name = _known(parts, request, principal)
    if not parts.settings.restart_allowed:
        raise PolicyRefused("restarting a server is not allowed here", hint="The setting is restart_allowed.")
    await parts.downstreams.restart(name)
    (status,) = server_statuses(parts, frozenset({name}))
    return _json(status)


def _known(parts: Parts, request: Request, principal: Principal) -> str:
    name: str = request.path_params["name"]
    if name not in visible_servers(parts, principal):
        raise UnknownServer(f"no server is called {name[:ECHO_CHARS]!r}", hint="See /v1/servers.")
    return name


async def _openapi(parts: Parts, request: Request, principal: Principal) -> Response:
    return _json(document(__version__))
