"""The eight tools: names, annotations, schemas and the texts that tell a model how to use them.

Pure and byte-stable: the definitions depend on the catalog alone. Schemas are flat objects without `$ref` and unions,
so that every provider takes them; together the definitions stay under `CEILING_BYTES`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from anyact_server.types import Action, JsonObject, ServerSpec

from .render import counted

CEILING_BYTES = 8 * 1024
"""Most that the serialized definitions take together (design, "What a client sees")."""
SUMMARY_BYTES = 900
"""Most that the summary of what is behind takes."""

SEARCH = "search_actions"
DESCRIBE = "describe_actions"
QUERY = "query_action"
CALL = "call_action"
RUN = "run_actions"
READ_RUN = "read_run"
READ = "read_observation"
SERVERS = "servers"
NAMES = (SEARCH, DESCRIBE, QUERY, CALL, RUN, READ_RUN, READ, SERVERS)

VIEWS = ("page", "grep", "jsonpath", "head", "tail", "region", "diff", "raw")
DETAILS = ("cards", "schemas", "full")
ON_ERROR = ("stop_dependents", "continue", "cancel_run")
MAX_HITS = 50
"""Most hits of one search (design's table of values)."""


def _text(description: str, **more: Any) -> dict[str, Any]:
    return {"type": "string", "description": description, **more}


def _texts(description: str) -> dict[str, Any]:
    return {"type": "array", "items": {"type": "string"}, "description": description}


def _seconds(description: str) -> dict[str, Any]:
    return {"type": "number", "minimum": 0, "description": description}


def _schema(required: Sequence[str], **properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": list(required)}


def _tool(name: str, title: str, description: str, schema: dict[str, Any], **hints: bool) -> dict[str, Any]:
    return {
        "name": name,
        "title": title,
        "description": description,
        "inputSchema": schema,
        "annotations": {"title": title, **hints},
    }


_ACTION = "Id of the action, as search_actions gives it."
_READS = {"readOnlyHint": True, "openWorldHint": False}
_ACTS = {"readOnlyHint": False, "destructiveHint": True, "idempotentHint": False, "openWorldHint": True}


def _call_schema() -> dict[str, Any]:
    return _schema(
        ["action"],
        action=_text(_ACTION),
        arguments={"type": "object", "description": "Arguments that fit the action's schema.", "properties": {}},
        timeout_s=_seconds("Limit for this call, in seconds."),
        budget_tokens={
            "type": "integer",
            "minimum": 100,
            "description": "Most tokens of the answer; the rest by handle.",
        },
    )


def _search(summary: str) -> dict[str, Any]:
    return _tool(
        SEARCH,
        "Search actions",
        "Find actions (tools of many servers) for what you need to do. Search here before you say that something "
        "cannot be done: the actions are not in your tool list. Give one short intent per separate need; each hit "
        "has an id for call_action, a signature and how reliable it is; the best has its full schema.\n" + summary,
        _schema(
            ["intents"],
            intents=_texts('One line per need, e.g. ["create a GitHub issue", "current time in Oslo"].'),
            limit={"type": "integer", "minimum": 1, "maximum": MAX_HITS, "description": "Most hits; 10 if not given."},
            servers=_texts("Only actions of these servers."),
            detail=_text("cards: short; schemas: with schemas; full: with everything.", enum=list(DETAILS)),
        ),
        **_READS,
    )


def _describe() -> dict[str, Any]:
    return _tool(
        DESCRIBE,
        "Describe actions",
        "Full input schema, annotations and reliability of actions found by search_actions. Use it before a call "
        "whose arguments the search did not show.",
        _schema(["actions"], actions=_texts("Ids of actions.")),
        **_READS,
    )


def _query() -> dict[str, Any]:
    return _tool(
        QUERY,
        "Call a read-only action",
        "Call one action that its server declares read-only; every other action is refused here. Otherwise the same "
        "as call_action.",
        _call_schema(),
        readOnlyHint=True,
        openWorldHint=True,
    )


def _call() -> dict[str, Any]:
    return _tool(
        CALL,
        "Call an action",
        "Call one action by its id. Gives an observation: the result within a token budget, a handle for what is not "
        "shown (read_observation), and on failure what to change and which actions would do instead. An argument "
        'value {"$anyact": "<handle>", "path": "<JSONPath>"} is replaced by that part of an earlier observation.',
        _call_schema(),
        **_ACTS,
    )


def _run() -> dict[str, Any]:
    task = _schema(
        ["id", "action"],
        id=_text("Your name for the task."),
        action=_text(_ACTION),
        arguments={"type": "object", "description": "Arguments of the action.", "properties": {}},
        depends_on=_texts("Ids of tasks that must end first."),
        on_error=_text("What a failure of this task does; stop_dependents if not given.", enum=list(ON_ERROR)),
    )
    return _tool(
        RUN,
        "Run many actions",
        "Run several actions at once: independent tasks in parallel, depends_on in order. Prefer it to several calls "
        'in a row. An argument value {"$anyact": "<task id>", "path": "<JSONPath>"} takes data from the result of a '
        "task that this one depends on. Gives one observation per task, in order, and a run id.",
        _schema(
            [],
            tasks={"type": "array", "items": task, "description": "Tasks, at most 500."},
            max_parallel={"type": "integer", "minimum": 1, "description": "Tasks at the same time."},
            wait_s=_seconds("Answer after so many seconds even if tasks still run; read_run gives the rest."),
            cancel=_text("Id of a run to cancel, instead of tasks."),
        ),
        **_ACTS,
    )


def _read_run() -> dict[str, Any]:
    return _tool(
        READ_RUN,
        "Read a run",
        "State and observations of the tasks of a run that run_actions started.",
        _schema(
            ["run"],
            run=_text("Id of the run."),
            wait_s=_seconds("Wait up to so many seconds for its end."),
            tasks=_texts("Show only these tasks, whole."),
        ),
        **_READS,
    )


def _read() -> dict[str, Any]:
    return _tool(
        READ,
        "Read an observation",
        "Read what an observation did not show, by its handle.",
        _schema(
            ["handle"],
            handle=_text("Handle from an observation."),
            view=_text(
                "page if not given. grep and jsonpath take query; region takes x,y,w,h in query.", enum=list(VIEWS)
            ),
            query=_text("Pattern, JSONPath or region, for the views that take one."),
            offset={
                "type": "integer",
                "minimum": 0,
                "description": "Where to begin; the last answer says how to go on.",
            },
            limit={"type": "integer", "minimum": 1, "description": "Most lines or items."},
        ),
        **_READS,
    )


def _servers() -> dict[str, Any]:
    return _tool(
        SERVERS,
        "Servers",
        "State of the servers behind the actions: ready, idle, starting, failed and why. restart starts one anew.",
        _schema(
            [],
            server=_text("Only this server, in detail."),
            restart={"type": "boolean", "description": "Restart that server, where the user allows it."},
        ),
        readOnlyHint=True,
        openWorldHint=False,
    )


def definitions(summary: str) -> tuple[dict[str, Any], ...]:
    """The eight tools as `tools/list` gives them, `summary` inside the description of `search_actions`."""
    return (_search(summary), _describe(), _query(), _call(), _run(), _read_run(), _read(), _servers())


def shown_as_tool(action: Action) -> dict[str, Any]:
    """An action as a tool of its own: its id as the name, the shown schema, the server's annotations and extras."""
    hints = action.hints
    told = {
        "title": action.title,
        "readOnlyHint": hints.read_only,
        "destructiveHint": hints.destructive,
        "idempotentHint": hints.idempotent,
        "openWorldHint": hints.open_world,
    }
    tool: dict[str, Any] = {
        "name": action.id,
        "description": action.description,
        "inputSchema": dict(action.shown_schema),
    }
    if action.title:
        tool["title"] = action.title
    annotations = {name: value for name, value in told.items() if value is not None}
    if annotations:
        tool["annotations"] = annotations
    for name in ("icons", "_meta"):
        if name in action.extra:
            tool[name] = action.extra[name]
    return tool


def summarize(
    actions: Iterable[Action], specs: Iterable[ServerSpec], *, unread: Sequence[str] = (), ceiling: int = SUMMARY_BYTES
) -> str:
    """One paragraph on what is behind the search: how many actions, of which servers, on what.

    Servers come with the most actions first; what does not fit in `ceiling` UTF-8 bytes is counted, not named. `unread`
    names servers whose actions are not known yet.
    """
    unread_text = f" Not read yet: {', '.join(unread[:3])}{f' and {len(unread) - 3} more' if len(unread) > 3 else ''}."
    counts: Counter[str] = Counter()
    said: dict[str, str] = {}
    for action in actions:
        counts[action.server] += 1
        said.setdefault(action.server, action.server_description or action.server_title or "")
    if not counts and not unread:
        return "Nothing is behind it: no server with actions is configured."
    if not counts:
        return f"Nothing is known to be behind it yet.{unread_text} Search again in a moment."
    tail = unread_text if unread else ""
    about = {spec.name: _cut(spec.description or ", ".join(spec.tags) or said.get(spec.name, "")) for spec in specs}
    order = sorted(counts, key=lambda name: (-counts[name], name))
    head = f"Behind it now: {counted(counts.total(), 'action')} of {counted(len(order), 'server')}: "
    return head + _fitted(order, counts, about, ceiling - len(head.encode()) - len(tail.encode())) + tail


def _fitted(order: Sequence[str], counts: Mapping[str, int], about: Mapping[str, str], room: int) -> str:
    short = [f"{name} ({counts[name]})" for name in order]
    long = [
        f"{name} ({counts[name]}: {about[name]})" if about.get(name) else f"{name} ({counts[name]})" for name in order
    ]
    pieces = long if len("; ".join(long).encode()) < room else short
    kept: list[str] = []
    left = room - len(" and 999999 more servers.")
    for piece in pieces:
        left -= len(piece.encode()) + 2
        if left < 0:
            break
        kept.append(piece)
    hidden = len(pieces) - len(kept)
    tail = f" and {hidden} more servers." if hidden else "."
    return "; ".join(kept) + tail


def _cut(text: str) -> str:
    text = " ".join(text.split())
    return text if len(text) <= 60 else text[:59].rstrip() + "…"


def tool_names(tools: Iterable[JsonObject]) -> list[str]:
    """The names of listed tools, in their order."""
    return [str(tool["name"]) for tool in tools]
