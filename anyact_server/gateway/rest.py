"""REST under `/v1`: the eight tools for programs, with the same visibility and the same kinds of outcome.

One error body everywhere (`rest_answers`); nothing that happens downstream becomes a bare 500. There is no route that
adds, changes or removes a server: whoever reaches this port cannot make AnyAct run a command.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from functools import cache, partial
from typing import TypeVar, cast

from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route
from starlette.types import Receive, Scope, Send

from anyact_server import __version__
from anyact_server.dispatch import Silent
from anyact_server.errors import AnyActError, PolicyRefused, UnknownServer
from anyact_server.interfaces import Caller
from anyact_server.settings import Settings
from anyact_server.types import LOCAL, Action, Json, JsonObject, Kind, Principal, ReadRequest, RunReport, plain

from .callers import PRINCIPAL_KEY
from .front import server_statuses, unread_notes
from .openapi import document
from .parts import Parts, Ready
from .rest_answers import (
    ECHO_CHARS,
    Refused,
    answer,
    encoded,
    error_body,
    masked,
    observed,
    of_error,
    of_refusal,
    run_json,
)
from .rest_bodies import ArgumentsBody, CallBody, Detail, RunBody, SearchBody
from .rest_paths import Place, find, segments_of
from .rest_requests import Asked, read_body, while_connected
from .rest_views import action_card, action_whole, hits_json
from .sight import Sight, visible_servers

VIEWS = ("page", "grep", "jsonpath", "head", "tail", "region", "diff", "raw")
DETAILS: tuple[Detail, ...] = ("cards", "schemas", "full")
MOST_INTENTS = 20
PAGE = 100
MOST = 1000
Health = Callable[[], JsonObject]


@dataclass(frozen=True, slots=True)
class Visit:
    """One request: who sends it, what its path names, and what stands behind."""

    request: Request
    principal: Principal
    settings: Settings
    health: Health
    ready: Ready
    sight: Sight
    named: dict[str, str] = field(default_factory=dict)

    @property
    def caller(self) -> Caller:
        """The one who waits: nobody who could answer a question; its headers for servers that ask for them by name."""
        silent = Silent(self.principal)
        silent.headers = dict(self.request.headers)
        return silent


B = TypeVar("B", bound=ArgumentsBody)
Handler = Callable[[Visit], Awaitable[Response]]


def rest_routes(ready: Ready, settings: Settings, health: Health) -> list[BaseRoute]:
    """All routes of REST; paths under `/v1` that mean nothing get the one error body too.

    Args:
        ready: what stands behind.
        settings: the limit of bodies.
        health: what `/v1/health` answers; asked before the rooms stand, too.
    """
    endpoint = Rest(ready, settings, health)
    return [Route(path, endpoint=endpoint) for path in ("/v1{rest:path}", "/openapi.json")]


class Rest:
    """The ASGI application behind every path of REST and every method."""

    def __init__(self, ready: Ready, settings: Settings, health: Health) -> None:
        self._ready = ready
        self._settings = settings
        self._health = health
        self._sight = Sight()
        self._places = places()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        request = Request(scope, receive)
        try:
            response = await self._answer(request)
        except Refused as refused:
            response = of_refusal(refused)
        except AnyActError as error:
            response = of_error(error)
        except ClientDisconnect:
            response = answer(error_body(Kind.CANCELLED, "the client left", None), 499)
        await response(scope, receive, send)

    async def _answer(self, request: Request) -> Response:
        found = find(self._places, segments_of(request.scope))
        if found is None:
            raise Refused(404, f"nothing is at {request.url.path[:ECHO_CHARS]!r}", "See /openapi.json.")
        place, named = found
        handler = place.by.get("GET" if request.method == "HEAD" else request.method)
        if handler is None:
            allowed = ", ".join(place.by)
            method = request.method[:ECHO_CHARS]
            raise Refused(405, f"{method} is not for this path", f"Use {allowed}.", headers={"Allow": allowed})
        principal = request.scope.get(PRINCIPAL_KEY, LOCAL)
        return await handler(Visit(request, principal, self._settings, self._health, self._ready, self._sight, named))


def places() -> list[Place[Handler]]:
    """Every path with its handlers; what is more special stands first."""
    return [
        Place("/v1/health", {"GET": _healthy}),
        Place("/v1/search", {"GET": _search_words, "POST": _search}),
        Place("/v1/actions", {"GET": _actions}),
        Place("/v1/actions/{id}/call", {"POST": _call_path}),
        Place("/v1/actions/{id}", {"GET": _action}),
        Place("/v1/call", {"POST": _call}),
        Place("/v1/query", {"POST": _query}),
        Place("/v1/runs", {"POST": _run}),
        Place("/v1/runs/{id}", {"GET": _read_run, "DELETE": _cancel_run}),
        Place("/v1/observations/{handle}", {"GET": _read}),
        Place("/v1/servers", {"GET": _servers}),
        Place("/v1/servers/{name}/restart", {"POST": _restart}),
        Place("/v1/servers/{name}", {"GET": _server}),
        Place("/openapi.json", {"GET": _openapi}),
    ]


# --- search and actions


async def _search(visit: Visit) -> Response:
    Asked(visit.request)
    body = await read_body(visit.request, SearchBody, visit.settings.body_bytes)
    return await _found(visit, body)


async def _search_words(visit: Visit) -> Response:
    asked = Asked(visit.request, "q", "limit", "offset", "server", "tag", "read_only", "detail")
    words = [word for word in asked.texts("q") if word.strip()]
    if not 0 < len(words) <= MOST_INTENTS:
        raise Refused(
            422, f"q must be given once per need, 1 to {MOST_INTENTS} times", "Such as /v1/search?q=send+a+mail"
        )
    body = SearchBody(
        intents=words,
        limit=asked.whole("limit", 10, 1, 50),
        offset=asked.whole("offset", 0, 0, 10_000),
        servers=asked.texts("server"),
        tags=asked.texts("tag"),
        read_only=asked.flag("read_only"),
        detail=asked.choice("detail", DETAILS),
    )
    return await _found(visit, body)


async def _found(visit: Visit, body: SearchBody) -> Response:
    parts = await visit.ready()
    found = await parts.space.search(body.query(), visit.principal)
    return answer(
        {
            "hits": hits_json(found.hits, body.detail),
            "total": max(found.total, len(found.hits)),
            "degraded": found.degraded,
            "neighbours": list(found.neighbours),
            "unmet": list(found.unmet),
            "notes": [
                *_unknown_servers(parts, body.servers, visit.principal),
                *unread_notes(parts, visit.sight.unread(parts), visit.principal),
            ],
        }
    )


def _unknown_servers(parts: Parts, servers: list[str], principal: Principal) -> list[str]:
    known = visible_servers(parts, principal) if servers else frozenset()
    return [f"no server is called {name[:ECHO_CHARS]!r}" for name in servers if name not in known][:MOST_INTENTS]


async def _actions(visit: Visit) -> Response:
    asked = Asked(visit.request, "offset", "limit", "server", "tag", "read_only")
    offset, limit = asked.whole("offset", 0, 0, 10_000_000), asked.whole("limit", PAGE, 1, MOST)
    fits = partial(_fits, set(asked.texts("server")), set(asked.texts("tag")), asked.flag("read_only"))
    parts = await visit.ready()
    visible = parts.space.visible(visit.principal)
    chosen = [
        action for action in parts.catalog.actions() if (visible is None or action.id in visible) and fits(action)
    ]
    end = offset + limit
    return answer(
        {
            "actions": [action_card(action) for action in chosen[offset:end]],
            "total": len(chosen),
            "next_offset": end if end < len(chosen) else None,
        }
    )


def _fits(servers: set[str], tags: set[str], read_only: bool | None, action: Action) -> bool:
    return (
        (not servers or action.server in servers)
        and (not tags or not tags.isdisjoint(action.tags))
        and (read_only is None or (action.hints.read_only is True) == read_only)
    )


async def _action(visit: Visit) -> Response:
    Asked(visit.request)
    parts = await visit.ready()
    ((action, estimate),) = parts.space.describe([visit.named["id"]], visit.principal)
    return answer(action_whole(action, estimate))


# --- calls


async def _call(visit: Visit) -> Response:
    body = await _call_body(visit, CallBody)
    return await _act(visit, body.action, body)


async def _query(visit: Visit) -> Response:
    body = await _call_body(visit, CallBody)
    return await _act(visit, body.action, body, read_only=True)


async def _call_path(visit: Visit) -> Response:
    return await _act(visit, visit.named["id"], await _call_body(visit, ArgumentsBody, optional=True))


async def _call_body(visit: Visit, model: type[B], *, optional: bool = False) -> B:
    Asked(visit.request)
    return await read_body(visit.request, model, visit.settings.body_bytes, optional=optional)


async def _act(visit: Visit, action: str, body: ArgumentsBody, *, read_only: bool = False) -> Response:
    parts = await visit.ready()
    call = partial(
        parts.space.call,
        action,
        body.arguments,
        visit.caller,
        timeout_s=body.timeout_s,
        budget=body.budget_tokens,
        read_only=read_only,
    )
    return observed(await while_connected(visit.request, call))


# --- runs and results


async def _run(visit: Visit) -> Response:
    Asked(visit.request)
    body = await read_body(visit.request, RunBody, visit.settings.body_bytes)
    tasks = [task.task(number) for number, task in enumerate(body.tasks, 1)]
    parts = await visit.ready()
    start = partial(parts.runs.start, tasks, visit.caller, max_parallel=body.max_parallel, wait_s=body.wait_s)
    return _run_answer(await while_connected(visit.request, start))


def _run_answer(report: RunReport) -> Response:
    """A run that goes on is 202, with the address to ask."""
    if report.done:
        return answer(run_json(report))
    return answer(run_json(report), 202, {"Location": f"/v1/runs/{report.id}"})


async def _read_run(visit: Visit) -> Response:
    seconds = Asked(visit.request, "wait_s").seconds("wait_s")
    parts = await visit.ready()
    read = partial(parts.runs.read, visit.named["id"], visit.principal, wait_s=seconds)
    return answer(run_json(await while_connected(visit.request, read)))


async def _cancel_run(visit: Visit) -> Response:
    Asked(visit.request)
    parts = await visit.ready()
    return answer(run_json(await parts.runs.cancel(visit.named["id"], visit.principal)))


async def _read(visit: Visit) -> Response:
    asked = Asked(visit.request, "view", "query", "offset", "limit", "budget_tokens")
    parts = await visit.ready()
    read = ReadRequest(
        visit.named["handle"],
        view=asked.choice("view", VIEWS),
        query=asked.text("query"),
        offset=asked.whole("offset", 0, 0, 10_000_000_000),
        limit=asked.whole("limit", 0, 0, 10_000_000) or None,
        budget=asked.whole("budget_tokens", parts.settings.budget_tokens, 100, 1_000_000),
    )
    return observed(parts.grounder.read(read, visit.principal))


# --- servers


async def _servers(visit: Visit) -> Response:
    Asked(visit.request)
    parts = await visit.ready()
    return answer({"servers": _status_json(parts, visible_servers(parts, visit.principal))})


async def _server(visit: Visit) -> Response:
    Asked(visit.request)
    parts = await visit.ready()
    (status,) = _status_json(parts, frozenset({_known(parts, visit)}))
    return answer(status)


async def _restart(visit: Visit) -> Response:
    Asked(visit.request)
    parts = await visit.ready()
    name = _known(parts, visit)
    if not parts.settings.restart_allowed:
        raise PolicyRefused("restarting a server is not allowed here", hint="The setting is restart_allowed.")
    await parts.downstreams.restart(name)
    (status,) = _status_json(parts, frozenset({name}))
    return answer(status)


def _known(parts: Parts, visit: Visit) -> str:
    name = visit.named["name"]
    if name not in visible_servers(parts, visit.principal):
        raise UnknownServer(f"no server is called {name[:ECHO_CHARS]!r}", hint="See /v1/servers.")
    return name


def _status_json(parts: Parts, names: frozenset[str]) -> list[Json]:
    return cast("list[Json]", masked(plain(server_statuses(parts, names))))


# --- about AnyAct


async def _healthy(visit: Visit) -> Response:
    Asked(visit.request)
    return answer(dict(visit.health()))


async def _openapi(visit: Visit) -> Response:
    Asked(visit.request)
    return Response(_document(), media_type="application/json")


@cache
def _document() -> bytes:
    return encoded(document(__version__))
