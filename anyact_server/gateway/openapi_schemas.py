"""The schemas of what REST answers, and of what it takes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, get_args

from pydantic import BaseModel

from anyact_server.types import ActionState, Fault, Kind, Retry, ServerState, TaskState

from .rest_bodies import ArgumentsBody, CallBody, RunBody, SearchBody

Schema = dict[str, Any]
REF = "#/components/schemas/"
BODIES: tuple[type[BaseModel], ...] = (SearchBody, CallBody, ArgumentsBody, RunBody)

TEXT: Schema = {"type": "string"}
MAYBE_TEXT: Schema = {"type": ["string", "null"]}
NUMBER: Schema = {"type": "number"}
MAYBE_NUMBER: Schema = {"type": ["number", "null"]}
WHOLE: Schema = {"type": "integer"}
FLAG: Schema = {"type": "boolean"}
OBJECT: Schema = {"type": "object"}
MAYBE_OBJECT: Schema = {"type": ["object", "null"]}


def ref(name: str) -> Schema:
    """A reference to a schema of this document."""
    return {"$ref": REF + name}


def listed(items: Schema) -> Schema:
    """A list."""
    return {"type": "array", "items": items}


def words(*choices: str) -> Schema:
    """One of several words."""
    return {"type": "string", "enum": [str(choice) for choice in choices]}


def _object(required: Sequence[str], **properties: Schema) -> Schema:
    return {"type": "object", "required": list(required), "properties": properties}


def _error() -> Schema:
    return _object(
        ("kind", "message", "fault", "retryable", "retry"),
        kind=words(*Kind),
        message=TEXT,
        hint={**MAYBE_TEXT, "description": "How to mend it."},
        fault={**words(*Fault), "description": "Who has to change something."},
        retryable={**FLAG, "description": "Whether the same call may be tried again without a change."},
        retry=words(*get_args(Retry)),
        retry_after_s=NUMBER,
        server=TEXT,
        detected_by={**TEXT, "description": "`isError`: the tool said that it failed; `jsonrpc`: the protocol did."},
        confidence=NUMBER,
        evidence=TEXT,
        alternatives={**listed(TEXT), "description": "Ids that were perhaps meant, or that would do as well."},
    )


def _observation() -> Schema:
    return _object(
        ("id", "status", "summary", "is_error"),
        id=TEXT,
        status=words("ok", "partial", "error", "pending"),
        summary=TEXT,
        text=TEXT,
        is_error={**FLAG, "description": "As the server said it."},
        data={"description": "The structured value that the server sent, whole."},
        data_left_out={**TEXT, "description": "Why `data` is not here; the handle leads to it."},
        data_bytes=WHOLE,
        blocks={**listed(OBJECT), "description": "Pictures and sounds, as MCP content blocks."},
        handle={**TEXT, "description": "Address of the whole result: /v1/observations/{handle}."},
        error=ref("Error"),
        suspected={**ref("Error"), "description": "The failure that this success seems to be."},
        artifacts=listed(OBJECT),
        elided={**listed(OBJECT), "description": "What is not shown, where, and how much."},
        tokens=OBJECT,
        action=TEXT,
        server=TEXT,
        seconds=NUMBER,
        notes=listed(TEXT),
        untrusted=FLAG,
        version=TEXT,
    )


def _action() -> Schema:
    return _object(
        ("id", "server", "name"),
        id=TEXT,
        server=TEXT,
        name=TEXT,
        title=MAYBE_TEXT,
        description=TEXT,
        kind=words("tool", "skill", "operation", "gui"),
        state=words(*get_args(ActionState)),
        fault={**MAYBE_TEXT, "description": "Why it cannot be called."},
        tags=listed(TEXT),
        hints=OBJECT,
        input_schema=MAYBE_OBJECT,
        output_schema=MAYBE_OBJECT,
        digest=TEXT,
        pinned=FLAG,
        cut={**OBJECT, "description": "What is shortened or left out here, and how long it is."},
        score=NUMBER,
        why=listed(TEXT),
        intents={**listed(WHOLE), "description": "Positions of the intents that it serves."},
        reliability=MAYBE_OBJECT,
        helper={**MAYBE_OBJECT, "description": "The action that gives an id which this one requires, and as what."},
    )


def _task() -> Schema:
    return _object(
        ("id", "action", "state"),
        id=TEXT,
        action=TEXT,
        state=words(*get_args(TaskState)),
        observation=ref("Observation"),
        reason=TEXT,
        started_s=NUMBER,
        ended_s=NUMBER,
    )


def _server() -> Schema:
    return _object(
        ("server", "transport", "state", "actions"),
        server=TEXT,
        transport=TEXT,
        state=words(*ServerState),
        actions=WHOLE,
        stale=FLAG,
        since=NUMBER,
        next_try=MAYBE_NUMBER,
        error=MAYBE_TEXT,
        kind=words(*Kind),
        protocol_version=TEXT,
        pid=WHOLE,
        restarts=WHOLE,
        warnings=listed(TEXT),
    )


def _answers() -> dict[str, Schema]:
    health = words("starting", "ok", "degraded")
    return {
        "Error": _error(),
        "ErrorAnswer": _object(("error",), error=ref("Error"), observation=ref("Observation")),
        "Observation": _observation(),
        "ObservationAnswer": _object(("observation",), observation=ref("Observation")),
        "Action": _action(),
        "SearchAnswer": _object(
            ("hits", "total", "degraded", "neighbours", "unmet", "notes"),
            hits=listed(ref("Action")),
            total=WHOLE,
            degraded={**MAYBE_TEXT, "description": "Why a part of the search was not available."},
            neighbours={**listed(TEXT), "description": "Ids that nearly made it."},
            unmet={**listed(WHOLE), "description": "Positions of the intents for which nothing seems right."},
            notes=listed(TEXT),
        ),
        "ActionPage": _object(
            ("actions", "total", "next_offset"),
            actions=listed(ref("Action")),
            total=WHOLE,
            next_offset={"type": ["integer", "null"]},
        ),
        "Run": _object(
            ("id", "done", "cancelled", "seconds", "tasks"),
            id=TEXT,
            done=FLAG,
            cancelled=FLAG,
            seconds=NUMBER,
            tasks=listed(ref("Task")),
        ),
        "Task": _task(),
        "Server": _server(),
        "ServerList": _object(("servers",), servers=listed(ref("Server"))),
        "Health": _object(
            ("status", "version"), status=health, version=TEXT, servers=WHOLE, in_trouble=WHOLE, actions=WHOLE
        ),
    }


def schemas() -> dict[str, Schema]:
    """Every schema of the document, by name."""
    made = _answers()
    for body in BODIES:
        schema = body.model_json_schema(ref_template=REF + "{model}")
        made |= schema.pop("$defs", {})
        made[body.__name__] = schema
    return made
