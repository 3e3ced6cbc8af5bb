"""The eight tools at work, over the Protocols of the rooms behind.

`Front.call` takes the name of a tool and its arguments as a client sent them and gives a plain `tools/call` result. It
knows nothing of MCP sessions or transports; who asks comes as a `Caller`.
"""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from typing import Literal, cast

from anyact_server.errors import AnyActError, PolicyRefused, UnknownAction, UnknownServer, UsageError
from anyact_server.interfaces import Caller
from anyact_server.telemetry import MASK
from anyact_server.types import (
    Action,
    Call,
    Estimate,
    Json,
    JsonObject,
    OnError,
    Principal,
    Query,
    ReadRequest,
    ServerStatus,
    Task,
)

from . import tools
from .parts import Parts, Ready
from .reading import Reading, objects, read
from .render import descriptions, search_text
from .reports import RUN_BUDGETS, Result, direct, failed, listed, observed, ran, told
from .sight import Sight, may_know, seen, visible_servers

View = Literal["page", "grep", "jsonpath", "head", "tail", "region", "diff", "raw"]
ACTION_KEYS = ("tool", "action_id", "tool_name", "name", "id")
"""Other names under which models give the action."""
MOST_INTENTS = 20
"""Intents of one search that are used; more is no list of needs."""


class Front:
    """Answers the eight tools, and actions that are tools of their own."""

    def __init__(self, ready: Ready) -> None:
        self._ready = ready
        self._sight = Sight()
        self._tools: Mapping[str, Callable[[Parts, Reading, Caller], Awaitable[Result]]] = {
            tools.SEARCH: self._search,
            tools.DESCRIBE: self._describe,
            tools.QUERY: self._query,
            tools.CALL: self._call,
            tools.RUN: self._run,
            tools.READ_RUN: self._read_run,
            tools.READ: self._read,
            tools.SERVERS: self._servers,
        }

    async def call(self, name: str, arguments: object, caller: Caller) -> Result | None:
        """Answer a tool call.

        Returns:
            A `tools/call` result; None when no tool or action of this name is there for this principal.
        """
        parts = await self._ready()
        handler = self._tools.get(name)
        if handler is None:
            return await self._call_directly(parts, name, arguments, caller)
        try:
            return await handler(parts, read(name, arguments), caller)
        except AnyActError as error:
            return failed(error)

    async def _call_directly(self, parts: Parts, name: str, arguments: object, caller: Caller) -> Result | None:
        action = parts.catalog.get(name)
        if action is None or not seen(parts, action, caller.principal):
            return None
        return direct(await parts.space.call(name, arguments, caller))

    # --- the tools

    async def _search(self, parts: Parts, reading: Reading, caller: Caller) -> Result:
        intents = reading.texts("intents", "intent", "query", "queries", required=True)
        limit = reading.whole("limit", "max_results", "top_k", low=1, high=tools.MAX_HITS) or 10
        servers = reading.texts("servers", "server")
        detail = reading.choice("detail", tools.DETAILS)
        if len(intents) > MOST_INTENTS:
            reading.notes.append(f"Only the first {MOST_INTENTS} of {len(intents)} intents were used.")
            intents = intents[:MOST_INTENTS]
        reading.notes += _unknown_servers(parts, servers, caller.principal)
        reading.notes += unread_notes(parts, self._sight.unread(parts), caller.principal)
        answer = await parts.space.search(Query(intents, limit=limit, servers=servers), caller.principal)
        text, shown = search_text(
            answer,
            detail=detail,
            tokens=parts.settings.search_tokens,
            notes=reading.close(),
            intents=len(intents),
        )
        ids = [hit.action.id for hit in answer.hits]
        status = "partial" if answer.degraded else "ok"
        facts: dict[str, Json] = {
            "status": status,
            "actions": ids,
            "shown": shown,
            "total": max(answer.total, len(ids)),
        }
        return told(text, facts, budget=parts.settings.search_tokens)

    async def _describe(self, parts: Parts, reading: Reading, caller: Caller) -> Result:
        names = reading.texts("actions", "action", "ids", "id", "tool", "tools", "name", "names", required=True)
        found: list[tuple[Action, Estimate]] = []
        for name in dict.fromkeys(names):
            try:
                found += parts.space.describe([name], caller.principal)
            except UnknownAction as error:
                if len(names) == 1:
                    raise
                reading.notes.append(error.message)
        if not found:
            raise UnknownAction(" ".join(reading.notes), hint="Find ids with search_actions.")
        text = descriptions(found, tokens=parts.settings.search_tokens, notes=reading.close())
        ids = [action.id for action, _ in found]
        return told(text, {"status": "ok", "actions": ids}, budget=parts.settings.search_tokens)

    async def _query(self, parts: Parts, reading: Reading, caller: Caller) -> Result:
        return await self._act(parts, reading, caller, read_only=True)

    async def _call(self, parts: Parts, reading: Reading, caller: Caller) -> Result:
        return await self._act(parts, reading, caller, read_only=False)

    async def _act(self, parts: Parts, reading: Reading, caller: Caller, *, read_only: bool) -> Result:
        call = read_call(reading, read_only=read_only)
        observation = await parts.space.call(
            call.action,
            call.arguments,
            caller,
            timeout_s=call.timeout_s,
            budget=call.budget_tokens,
            read_only=read_only,
        )
        return observed(observation, reading.close())

    async def _run(self, parts: Parts, reading: Reading, caller: Caller) -> Result:
        tokens = parts.settings.budget_tokens * RUN_BUDGETS
        cancel = reading.text("cancel")
        if cancel is not None:
            report = await parts.runs.cancel(cancel, caller.principal)
            return ran(report, tokens=tokens, notes=reading.close())
        tasks = read_tasks(reading)
        report = await parts.runs.start(
            tasks,
            caller,
            max_parallel=reading.whole("max_parallel", low=1, high=parts.settings.run_parallel),
            wait_s=reading.number("wait_s"),
        )
        return ran(report, tokens=tokens, notes=reading.close())

    async def _read_run(self, parts: Parts, reading: Reading, caller: Caller) -> Result:
        run = reading.text("run", "run_id", "id", required=True)
        wait = reading.number("wait_s") or 0.0
        only = reading.texts("tasks", "task")
        report = await parts.runs.read(str(run), caller.principal, wait_s=wait)
        return ran(report, tokens=parts.settings.budget_tokens * RUN_BUDGETS, only=only, notes=reading.close())

    async def _read(self, parts: Parts, reading: Reading, caller: Caller) -> Result:
        handle = reading.text("handle", "id", required=True)
        request = ReadRequest(
            str(handle),
            view=cast("View", reading.choice("view", tools.VIEWS)),
            query=reading.text("query", "pattern", "path"),
            offset=reading.whole("offset", low=0) or 0,
            limit=reading.whole("limit", low=1),
            budget=parts.settings.budget_tokens,
        )
        return observed(parts.grounder.read(request, caller.principal), reading.close())

    async def _servers(self, parts: Parts, reading: Reading, caller: Caller) -> Result:
        server = reading.text("server", "name")
        restart = reading.flag("restart")
        known = visible_servers(parts, caller.principal)
        if server is not None and server not in known:
            raise UnknownServer(f"No server is called {server[:80]!r}.", hint=f"Servers: {', '.join(sorted(known))}.")
        if restart:
            await self._restart(parts, server)
        statuses = server_statuses(parts, known if server is None else frozenset({server}))
        answer = listed(statuses, now=time.time(), notes=reading.close(), alone=server is not None)
        answer["content"][0]["text"] = MASK.mask(answer["content"][0]["text"])
        return answer

    async def _restart(self, parts: Parts, server: str | None) -> None:
        if server is None:
            raise UsageError("servers: `restart` needs `server`.", hint="Name the one server to restart.")
        if not parts.settings.restart_allowed:
            raise PolicyRefused("Restarting a server is not allowed here.", hint="The setting is restart_allowed.")
        await parts.downstreams.restart(server)


# --- what models send


def read_call(reading: Reading, *, read_only: bool = False) -> Call:
    """The call that `call_action` asks for.

    The arguments stay as they came: dispatch unwraps and checks them for every route alike. When no `arguments` are
    given, keys that nothing asked for are taken as the arguments, for models flatten them.

    Raises:
        UsageError: no action is named, or a limit is no number.
    """
    action = reading.text("action", *ACTION_KEYS)
    nested = reading.given.get("arguments")
    if action is None and isinstance(nested, Mapping) and any(key in nested for key in ("action", *ACTION_KEYS)):
        reading.given = dict(nested)
    if action is None:
        action = reading.text("action", *ACTION_KEYS, required=True)
    arguments = reading.take("arguments", "args", "parameters", "params", "input")
    timeout = reading.number("timeout_s", "timeout")
    budget = reading.whole("budget_tokens", "budget", low=100)
    if arguments is None and reading.rest():
        arguments = reading.rest()
        reading.taken |= set(arguments)
        reading.notes.append("The arguments stood beside `action`; put them inside `arguments`.")
    return Call(str(action), arguments, timeout or None, budget, read_only)


def read_tasks(reading: Reading) -> tuple[Task, ...]:
    """The tasks that `run_actions` asks for; a task without an id gets its number.

    Raises:
        UsageError: there are none, or one is malformed; the message names it.
    """
    given = objects(reading, "tasks") or objects(reading, "calls")
    if not given:
        raise UsageError("run_actions: `tasks` is missing.", hint='Give a list of {"id", "action", "arguments"}.')
    return tuple(_task(place, item, reading) for place, item in enumerate(given, 1))


def _task(place: int, item: JsonObject, parent: Reading) -> Task:
    part = Reading(f"run_actions, task {place}", dict(item))
    named = part.text("action", *ACTION_KEYS[:3])
    name = part.text("id", "name")
    if named is None:
        raise UsageError(f"{part.tool}: `action` is missing.", hint="Give the id that search_actions gave.")
    task = Task(
        name or str(place),
        Call(
            named,
            part.take("arguments", "args", "parameters", "params", "input"),
            part.number("timeout_s", "timeout") or None,
            part.whole("budget_tokens", low=100),
        ),
        depends_on=part.texts("depends_on", "dependsOn"),
        on_error=cast("OnError", part.choice("on_error", tools.ON_ERROR)),
    )
    parent.notes += part.close()
    return task


# --- servers


def server_statuses(parts: Parts, servers: frozenset[str]) -> list[ServerStatus]:
    """The state of these servers, in the order of the configuration, with what the catalog knows of their actions."""
    found = []
    for status in parts.downstreams.statuses():
        if status.server in servers:
            actions = parts.catalog.of_server(status.server)
            stale = any(action.state == "stale" for action in actions)
            warnings = (*status.warnings, *parts.catalog.warnings(status.server))
            found.append(replace(status, actions=len(actions), stale=status.stale or stale, warnings=warnings))
    return found


def _unknown_servers(parts: Parts, servers: Sequence[str], principal: Principal) -> list[str]:
    if not servers:
        return []
    known = visible_servers(parts, principal)
    unknown = [name[:80] for name in servers if name not in known]
    return [f"No such server: {', '.join(unknown)}. Servers: {', '.join(sorted(known))}."] if unknown else []


def unread_notes(parts: Parts, unread: Sequence[str], principal: Principal) -> list[str]:
    """What to tell of servers whose actions cannot be found yet."""
    waiting = [name for name in unread if may_know(parts, name, principal)]
    if not waiting:
        return []
    states = {status.server: status.state.value for status in parts.downstreams.statuses()}
    told = [f"{name} ({states.get(name, 'idle')})" for name in waiting[:5]]
    more = f" and {len(waiting) - 5} more" if len(waiting) > 5 else ""
    return [f"Not read yet, so nothing of them is found: {', '.join(told)}{more}. Search again in a moment."]
