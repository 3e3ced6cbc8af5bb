"""The OpenAPI 3.1 description of REST: every route, every body, every error."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pydantic import BaseModel

from anyact_server.types import Kind

from .rest_bodies import ArgumentsBody, CallBody, RunBody, SearchBody

Schema = dict[str, Any]
REF = "#/components/schemas/"
BODIES: tuple[type[BaseModel], ...] = (SearchBody, CallBody, ArgumentsBody, RunBody)

STATUSES: Mapping[str, str] = {
    "400": "The request cannot be read, or the action refused it (upstream_4xx, not_supported).",
    "401": "A login is needed: for AnyAct (a valid bearer token) or for the server (kind auth).",
    "403": "Not allowed: this Host or Origin, by a rule, or by the server (kind permission).",
    "404": "Nothing has this name, or it is hidden; the two look alike.",
    "405": "This method is not for this path.",
    "409": "The state of things does not allow it (kind conflict).",
    "413": "The body is larger than the setting body_bytes.",
    "415": "The body is not JSON.",
    "422": "The body or the arguments do not have the right form; the message says what is wanted.",
    "429": "The server asks to be left alone for a while (kind rate_limited); see Retry-After.",
    "499": "The call was cancelled.",
    "502": "The server cannot be reached, died, broke the protocol, or failed by itself.",
    "504": "No answer within the limit (kind timeout).",
}


def _ref(name: str) -> Schema:
    return {"$ref": REF + name}


def _object(required: Sequence[str], **properties: Schema) -> Schema:
    return {"type": "object", "required": list(required), "properties": properties}


def _array(items: Schema) -> Schema:
    return {"type": "array", "items": items}


TEXT: Schema = {"type": "string"}
MAYBE_TEXT: Schema = {"type": ["string", "null"]}
NUMBER: Schema = {"type": "number"}
MAYBE_NUMBER: Schema = {"type": ["number", "null"]}
WHOLE: Schema = {"type": "integer"}
FLAG: Schema = {"type": "boolean"}
ANY: Schema = {}


def _schemas() -> dict[str, Schema]:
    """The schemas of what REST answers, and of what it takes."""
    error = _object(
        ("kind", "message", "retryable"),
        kind={"type": "string", "enum": [kind.value for kind in Kind]},
        message=TEXT,
        hint=MAYBE_TEXT,
        fault=TEXT,
        retryable=FLAG,
        retry=TEXT,
        retry_after_s=NUMBER,
        server=TEXT,
        alternatives=_array(TEXT),
    )
    observation = _object(
        ("id", "status", "summary", "is_error"),
        id=TEXT,
        status={"type": "string", "enum": ["ok", "partial", "error", "pending"]},
        summary=TEXT,
        text=TEXT,
        is_error=FLAG,
        data=ANY,
        blocks=_array({"type": "object"}),
        handle=TEXT,
        error=_ref("Error"),
        suspected=_ref("Error"),
        artifacts=_array({"type": "object"}),
        elided=_array({"type": "object"}),
        tokens={"type": "object"},
        action=TEXT,
        server=TEXT,
        seconds=NUMBER,
    )
    action = _object(
        ("id", "server", "name"),
        id=TEXT,
        server=TEXT,
        name=TEXT,
        title=MAYBE_TEXT,
        description=TEXT,
        kind=TEXT,
        state=TEXT,
        fault=MAYBE_TEXT,
        tags=_array(TEXT),
        hints={"type": "object"},
        input_schema={"type": "object"},
        output_schema={"type": ["object", "null"]},
        digest=TEXT,
        score=NUMBER,
        why=_array(TEXT),
        intents=_array(WHOLE),
        reliability={"type": ["object", "null"]},
    )
    task = _object(
        ("id", "action", "state"), id=TEXT, action=TEXT, state=TEXT, observation=_ref("Observation"), reason=TEXT
    )
    server = _object(
        ("server", "transport", "state", "actions"),
        server=TEXT,
        transport=TEXT,
        state=TEXT,
        actions=WHOLE,
        stale=FLAG,
        since=NUMBER,
        next_try=MAYBE_NUMBER,
        error=MAYBE_TEXT,
        kind=TEXT,
        protocol_version=TEXT,
        pid=WHOLE,
        restarts=WHOLE,
        warnings=_array(TEXT),
    )
    made = {
        "Error": error,
        "ErrorAnswer": _object(("error",), error=_ref("Error"), observation=_ref("Observation")),
        "Observation": observation,
        "ObservationAnswer": _object(("observation",), observation=_ref("Observation")),
        "Action": action,
        "SearchAnswer": _object(
            ("hits", "total"), hits=_array(_ref("Action")), total=WHOLE, degraded=MAYBE_TEXT, neighbours=_array(TEXT)
        ),
        "ActionPage": _object(
            ("actions", "total"), actions=_array(_ref("Action")), total=WHOLE, next_offset={"type": ["integer", "null"]}
        ),
        "Run": _object(
            ("id", "done", "tasks"), id=TEXT, done=FLAG, cancelled=FLAG, seconds=NUMBER, tasks=_array(_ref("Task"))
        ),
        "Task": task,
        "Server": server,
        "ServerList": _object(("servers",), servers=_array(_ref("Server"))),
    }
    for body in BODIES:
        schema = body.model_json_schema(ref_template=REF + "{model}")
        made |= schema.pop("$defs", {})
        made[body.__name__] = schema
    return made


def _answers(schema: str, words: str, *errors: str, also: Mapping[str, str] | None = None) -> Schema:
    answers = {
        status: (schema, words if status == "200" else (also or {})[status]) for status in ("200", *(also or {}))
    }
    shown: Schema = {
        status: {"description": text, "content": {"application/json": {"schema": _ref(name)}}}
        for status, (name, text) in answers.items()
    }
    for status in ("401", "403", *errors):
        shown[status] = {
            "description": STATUSES[status],
            "content": {"application/json": {"schema": _ref("ErrorAnswer")}},
        }
    return shown


def _named(name: str, where: str, schema: Schema, words: str, *, required: bool = False) -> Schema:
    return {"name": name, "in": where, "required": required or where == "path", "schema": schema, "description": words}


def _takes(body: type[BaseModel]) -> Schema:
    return {"required": True, "content": {"application/json": {"schema": _ref(body.__name__)}}}


def _range(low: int, high: int, default: int | None = None) -> Schema:
    schema: Schema = {"type": "integer", "minimum": low, "maximum": high}
    return schema if default is None else {**schema, "default": default}


BODY_ERRORS = ("400", "413", "415", "422")
CALL_ERRORS = (*BODY_ERRORS, "404", "409", "429", "499", "502", "504")
NAME: Schema = {"type": "string", "minLength": 1}
SERVERS: Schema = {"type": "array", "items": TEXT}
SECONDS: Schema = {"type": "number", "minimum": 0, "maximum": 86_400, "default": 0}


def _operation(
    name: str, words: str, answers: Schema, *, parameters: Sequence[Schema] = (), body: Schema | None = None
) -> Schema:
    made: Schema = {"operationId": name, "summary": words, "responses": answers}
    if parameters:
        made["parameters"] = list(parameters)
    if body:
        made["requestBody"] = body
    return made


def _paths() -> dict[str, Schema]:
    found = _answers("SearchAnswer", "The hits, best first.", *BODY_ERRORS)
    called = _answers("ObservationAnswer", "The observation.", *CALL_ERRORS)
    run = _named("id", "path", NAME, "The run's id.")
    server = _named("name", "path", NAME, "The server's name.")
    action = _named("id", "path", NAME, "The action's id.")
    page = (
        _named("offset", "query", _range(0, 10_000_000, 0), "How many to leave out."),
        _named("limit", "query", _range(1, 1000, 100), "How many at most."),
        _named("server", "query", SERVERS, "Only actions of this server; may be given several times."),
    )
    words = (
        _named(
            "q",
            "query",
            {**_array({"type": "string", "pattern": r"\S"}), "minItems": 1, "maxItems": 20},
            "A need, in plain words; once per need.",
            required=True,
        ),
        _named("limit", "query", _range(1, 50, 10), "Hits at most."),
        _named("server", "query", SERVERS, "Only actions of this server; may be given several times."),
    )
    read = (
        _named("handle", "path", NAME, "A handle, from an observation."),
        _named(
            "view",
            "query",
            {
                "type": "string",
                "enum": ["page", "grep", "jsonpath", "head", "tail", "region", "diff", "raw"],
                "default": "page",
            },
            "How to look at it.",
        ),
        _named("query", "query", TEXT, "A pattern, a JSONPath, or another handle, by view."),
        _named("offset", "query", _range(0, 10_000_000_000, 0), "Where to begin."),
        _named("limit", "query", _range(0, 10_000_000, 0), "How much; 0 for as much as fits."),
        _named("budget", "query", _range(100, 1_000_000), "Tokens of the text."),
    )
    started = _answers(
        "Run", "The run is done.", *BODY_ERRORS, "429", "499", also={"202": "The run goes on; read it by its id."}
    )
    return {
        "/v1/search": {
            "post": _operation("search", "Find actions for one or more needs.", found, body=_takes(SearchBody)),
            "get": _operation(
                "searchWords",
                "Find actions for one or more needs.",
                _answers("SearchAnswer", "The hits, best first.", "422"),
                parameters=words,
            ),
        },
        "/v1/actions": {
            "get": _operation(
                "listActions",
                "List the actions that may be seen.",
                _answers("ActionPage", "One page.", "422"),
                parameters=page,
            )
        },
        "/v1/actions/{id}": {
            "get": _operation(
                "describeAction", "One action in full.", _answers("Action", "The action.", "404"), parameters=[action]
            )
        },
        "/v1/actions/{id}/call": {
            "post": _operation(
                "callAction", "Call this action.", called, parameters=[action], body=_takes(ArgumentsBody)
            )
        },
        "/v1/call": {"post": _operation("call", "Call an action.", called, body=_takes(CallBody))},
        "/v1/query": {
            "post": _operation(
                "query",
                "Call an action that is declared read-only; every other is refused.",
                called,
                body=_takes(CallBody),
            )
        },
        "/v1/runs": {"post": _operation("startRun", "Start a run of many calls.", started, body=_takes(RunBody))},
        "/v1/runs/{id}": {
            "get": _operation(
                "readRun",
                "The state of a run.",
                _answers("Run", "The run.", "404", "422"),
                parameters=[run, _named("wait_s", "query", SECONDS, "How long to wait for the end.")],
            ),
            "delete": _operation(
                "cancelRun", "Cancel a run.", _answers("Run", "Its final state.", "404"), parameters=[run]
            ),
        },
        "/v1/observations/{handle}": {
            "get": _operation(
                "readObservation",
                "What an observation did not show.",
                _answers("ObservationAnswer", "That part.", "400", "404", "422"),
                parameters=read,
            )
        },
        "/v1/servers": {
            "get": _operation("listServers", "The state of every server.", _answers("ServerList", "The servers."))
        },
        "/v1/servers/{name}": {
            "get": _operation(
                "readServer", "The state of one server.", _answers("Server", "The server.", "404"), parameters=[server]
            )
        },
        "/v1/servers/{name}/restart": {
            "post": _operation(
                "restartServer",
                "Restart one server.",
                _answers("Server", "Its state afterwards.", "404", "429", "502", "504"),
                parameters=[server],
            )
        },
    }


def document(version: str) -> Schema:
    """The whole document."""
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "AnyAct",
            "version": version,
            "description": "Search, call and run actions of many servers; the same as the tools that MCP clients see.",
            "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"},
        },
        "security": [{"bearer": []}, {}],
        "paths": _paths(),
        "components": {
            "schemas": _schemas(),
            "securitySchemes": {"bearer": {"type": "http", "scheme": "bearer"}},
        },
    }
