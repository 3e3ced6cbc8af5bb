"""The OpenAPI 3.1 description of REST: every route, every body, every error."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pydantic import BaseModel

from .openapi_schemas import FLAG, OBJECT, TEXT, Schema, listed, ref, schemas, words
from .rest_bodies import ArgumentsBody, CallBody, RunBody, SearchBody

STATUSES: Mapping[str, str] = {
    "400": "The request cannot be read, a text in it is too long, or the action refused it (upstream_4xx).",
    "401": "A login is needed: for AnyAct (a valid bearer token) or for the server (kind auth).",
    "403": "Not allowed: this Host or Origin, by a rule, or by the server (kind permission).",
    "404": "Nothing has this name, or it is hidden; the two look alike.",
    "405": "This method is not for this path; see Allow.",
    "409": "The state of things does not allow it (kind conflict).",
    "413": "The body is larger than the setting body_bytes.",
    "415": "The body is not JSON.",
    "422": "A parameter, the body or the arguments do not have the right form; the message says what is wanted.",
    "429": "The server asks to be left alone for a while (kind rate_limited), or too many runs; see Retry-After.",
    "499": "The call was cancelled.",
    "502": "The server cannot be reached, died, broke the protocol, or failed by itself.",
    "504": "No answer within the limit (kind timeout).",
}
"""What each status of an error means."""
ALWAYS = ("401", "403", "422")
BODY_ERRORS = ("400", "413", "415")
SERVER_ERRORS = ("400", "404", "409", "429", "499", "502", "504")
NAME: Schema = {"type": "string", "minLength": 1}
NAMES: Schema = listed(TEXT)
SECONDS: Schema = {"type": "number", "minimum": 0, "maximum": 86_400, "default": 0}
Operation = dict[str, Schema]


def _content(name: str, text: str) -> Schema:
    return {"description": text, "content": {"application/json": {"schema": ref(name)}}}


def _answers(schema: str, text: str, *errors: str, also: Mapping[str, str] | None = None) -> Schema:
    """The answers of an operation: its success, further successes of the same form, and errors."""
    good = {"200": text} | dict(also or {})
    shown = {status: _content(schema, why) for status, why in good.items()}
    return shown | {status: _content("ErrorAnswer", STATUSES[status]) for status in sorted({*ALWAYS, *errors})}


def _named(name: str, where: str, schema: Schema, text: str, *, required: bool = False) -> Schema:
    return {"name": name, "in": where, "required": required or where == "path", "schema": schema, "description": text}


def _takes(body: type[BaseModel], *, required: bool = True) -> Schema:
    return {"required": required, "content": {"application/json": {"schema": ref(body.__name__)}}}


def _range(low: int, high: int, default: int | None = None) -> Schema:
    schema: Schema = {"type": "integer", "minimum": low, "maximum": high}
    return schema if default is None else {**schema, "default": default}


def _operation(
    name: str, text: str, answers: Schema, *, parameters: Sequence[Schema] = (), body: Schema | None = None
) -> Schema:
    made: Schema = {"operationId": name, "summary": text, "responses": answers}
    if parameters:
        made["parameters"] = list(parameters)
    if body:
        made["requestBody"] = body
    return made


def _only() -> tuple[Schema, ...]:
    return (
        _named("server", "query", NAMES, "Only actions of this server; may be given several times."),
        _named("tag", "query", NAMES, "Only actions of servers with this tag; may be given several times."),
        _named("read_only", "query", FLAG, "Only actions declared read-only, or only the others."),
    )


def _search() -> Operation:
    needs = {**listed({"type": "string", "pattern": r"\S"}), "minItems": 1, "maxItems": 20}
    parameters = (
        _named("q", "query", needs, "A need, in plain words; once per need.", required=True),
        _named("limit", "query", _range(1, 50, 10), "Hits at most."),
        _named("offset", "query", _range(0, 10_000, 0), "Hits to leave out."),
        _named("detail", "query", {**words("cards", "schemas", "full"), "default": "cards"}, "How much of each hit."),
        *_only(),
    )
    found, text = "The hits, best first.", "Find actions for one or more needs."
    return {
        "post": _operation("search", text, _answers("SearchAnswer", found, *BODY_ERRORS), body=_takes(SearchBody)),
        "get": _operation("searchWords", text, _answers("SearchAnswer", found), parameters=parameters),
    }


def _actions() -> dict[str, Operation]:
    page = (
        _named("offset", "query", _range(0, 10_000_000, 0), "How many to leave out."),
        _named("limit", "query", _range(1, 1000, 100), "How many at most."),
        *_only(),
    )
    action = [_named("id", "path", NAME, "The action's id.")]
    whole = _answers("Action", "The action.", "404")
    called = _answers("ObservationAnswer", "The observation.", *BODY_ERRORS, *SERVER_ERRORS)
    optional = _takes(ArgumentsBody, required=False)
    read_only = "Call an action that is declared read-only; every other is refused."
    return {
        "/v1/actions": {
            "get": _operation(
                "listActions",
                "List the actions that may be seen.",
                _answers("ActionPage", "One page."),
                parameters=page,
            )
        },
        "/v1/actions/{id}": {"get": _operation("describeAction", "One action in full.", whole, parameters=action)},
        "/v1/actions/{id}/call": {
            "post": _operation("callAction", "Call this action.", called, parameters=action, body=optional)
        },
        "/v1/call": {"post": _operation("call", "Call an action.", called, body=_takes(CallBody))},
        "/v1/query": {"post": _operation("query", read_only, called, body=_takes(CallBody))},
    }


def _runs() -> dict[str, Operation]:
    goes_on = {"202": "The run goes on; read it by its id, or where Location says."}
    started = _answers("Run", "The run is done.", *BODY_ERRORS, "429", "499", "502", also=goes_on)
    run = _named("id", "path", NAME, "The run's id.")
    waits = _named("wait_s", "query", SECONDS, "How long to wait for the end.")
    read = _answers("Run", "The run.", "404", "499")
    ended = _answers("Run", "Its final state.", "404")
    return {
        "/v1/runs": {"post": _operation("startRun", "Start a run of many calls.", started, body=_takes(RunBody))},
        "/v1/runs/{id}": {
            "get": _operation("readRun", "The state of a run.", read, parameters=[run, waits]),
            "delete": _operation("cancelRun", "Cancel a run.", ended, parameters=[run]),
        },
    }


def _observations() -> dict[str, Operation]:
    views = words("page", "grep", "jsonpath", "head", "tail", "region", "diff", "raw")
    parameters = (
        _named("handle", "path", NAME, "A handle, from an observation."),
        _named("view", "query", {**views, "default": "page"}, "How to look at it."),
        _named("query", "query", TEXT, "A pattern, a JSONPath, or another handle, by view."),
        _named("offset", "query", _range(0, 10_000_000_000, 0), "Where to begin."),
        _named("limit", "query", _range(0, 10_000_000, 0), "How much; 0 for as much as fits."),
        _named("budget_tokens", "query", _range(100, 1_000_000), "Tokens of the text."),
    )
    part = _answers("ObservationAnswer", "That part.", "400", "404")
    return {
        "/v1/observations/{handle}": {
            "get": _operation("readObservation", "What an observation did not show.", part, parameters=parameters)
        }
    }


def _servers() -> dict[str, Operation]:
    server = [_named("name", "path", NAME, "The server's name.")]
    one = _answers("Server", "The server.", "404")
    after = _answers("Server", "Its state afterwards.", *SERVER_ERRORS)
    return {
        "/v1/servers": {
            "get": _operation("listServers", "The state of every server.", _answers("ServerList", "The servers."))
        },
        "/v1/servers/{name}": {"get": _operation("readServer", "The state of one server.", one, parameters=server)},
        "/v1/servers/{name}/restart": {
            "post": _operation("restartServer", "Restart one server.", after, parameters=server)
        },
    }


def _about() -> dict[str, Operation]:
    this = {"description": "This document.", "content": {"application/json": {"schema": OBJECT}}}
    return {
        "/v1/health": {
            "get": _operation("health", "How AnyAct is, in counts.", _answers("Health", "Counts, no names."))
        },
        "/openapi.json": {"get": _operation("openapi", "What REST offers.", {**_answers("Health", ""), "200": this})},
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
        "servers": [{"url": "/"}],
        "security": [{"bearer": []}, {}],
        "paths": {"/v1/search": _search()} | _actions() | _runs() | _observations() | _servers() | _about(),
        "components": {
            "schemas": schemas(),
            "securitySchemes": {
                "bearer": {"type": "http", "scheme": "bearer", "description": "Made by: anyact token create NAME."}
            },
        },
    }
