"""What REST answers: JSON that can always be sent, and the one error body.

`{"error": {kind, message, hint, fault, retryable, retry, ...}}`, beside the observation where there is one. The status
follows the kind (`types.KINDS`).
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import orjson
from starlette.responses import Response

from anyact_server.errors import AnyActError, DownstreamError, RemoteError, UnknownAction, UsageError
from anyact_server.telemetry import MASK
from anyact_server.types import KINDS, Json, Kind, Observation, RunReport, TaskReport, plain

ECHO_CHARS = 80
"""Characters of a name that an error repeats."""
MESSAGE_CHARS = 2000
"""Characters of a message."""
NESTING = 200
"""Levels of nesting that are answered; what is deeper cannot be read by common parsers."""
DATA_BYTES_PER_TOKEN = 8
"""Bytes of structured data that are sent for every token of the budget: twice what text of that budget takes."""


class Refused(Exception):
    """A request that cannot be taken as it is; becomes an error body."""

    def __init__(
        self, status: int, message: str, hint: str | None = None, *, headers: Mapping[str, str] | None = None
    ) -> None:
        super().__init__(message)
        self.status = status
        self.message = message
        self.hint = hint
        self.headers = headers


# --- JSON


def encoded(value: Json) -> bytes:
    """A plain JSON value as UTF-8, also where it holds integers beyond 64 bits or lone surrogates (made U+FFFD)."""
    try:
        return orjson.dumps(value)
    except TypeError:
        text = json.dumps(_finite(value), ensure_ascii=False, separators=(",", ":"))
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace").encode()


def _finite(value: Json) -> Json:
    """The value without numbers that JSON has not; those become null."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {str(name): _finite(part) for name, part in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(part) for part in value]
    return value


def shallow(value: Json, levels: int = NESTING) -> bool:
    """Whether a value is nested at most so deep; looks level by level, so that depth costs no stack."""
    level = [value]
    for _ in range(levels + 1):
        level = [
            part
            for one in level
            if isinstance(one, Mapping | list | tuple)
            for part in (one.values() if isinstance(one, Mapping) else one)
        ]
        if not level:
            return True
    return False


def masked(value: Json) -> Json:
    """The value with every known secret in its texts replaced."""
    if isinstance(value, str):
        return MASK.mask(value)
    if isinstance(value, Mapping):
        return {name: masked(part) for name, part in value.items()}
    if isinstance(value, list | tuple):
        return [masked(part) for part in value]
    return value


def answer(value: Json, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    """A plain value as a response."""
    return Response(encoded(value), status, headers, "application/json")


# --- errors


def error_body(kind: Kind, message: str, hint: str | None, **more: Json) -> dict[str, Json]:
    """The one error body, without an observation."""
    facts = KINDS[kind]
    shown: dict[str, Json] = {
        "kind": kind.value,
        "message": MASK.mask(message)[:MESSAGE_CHARS],
        "hint": MASK.mask(hint)[:MESSAGE_CHARS] if hint else None,
        "fault": facts.fault.value,
        "retryable": facts.retry in ("after_pause", "if_safe"),
        "retry": facts.retry,
    }
    return {"error": shown | {name: value for name, value in more.items() if value is not None}}


def of_refusal(refused: Refused) -> Response:
    """A request that could not be taken."""
    kind = Kind.NOT_FOUND if refused.status == 404 else Kind.INVALID_ARGS
    return answer(error_body(kind, refused.message, refused.hint), refused.status, refused.headers)


def of_error(error: AnyActError) -> Response:
    """An error of AnyAct's own, or of a server where no observation was made."""
    wait = error.retry_after_s if isinstance(error, DownstreamError) else None
    body = error_body(
        error.kind,
        error.message,
        error.hint,
        server=error.server if isinstance(error, DownstreamError | RemoteError) else None,
        alternatives=list(error.suggestions) if isinstance(error, UnknownAction) else None,
        retry_after_s=wait,
    )
    unreadable = isinstance(error, UsageError) and error.kind is Kind.INVALID_ARGS
    return answer(body, 400 if unreadable else KINDS[error.kind].status, _pause(wait))


def _pause(seconds: float | None) -> dict[str, str] | None:
    return {"Retry-After": str(max(1, math.ceil(seconds)))} if seconds else None


# --- observations and runs


def observation_json(observation: Observation) -> dict[str, Json]:
    """An observation as JSON.

    Its data is whole, or left out where it is larger than the budget allows or nested too deep; then `data_bytes` or
    `data_left_out` says so and the handle leads to it. A failure is masked: servers repeat what they were sent.
    """
    data, why = _data(observation)
    shown: dict[str, Json] = plain(replace(observation, data=None)) | why
    if data is not None:
        shown["data"] = data
    return masked(shown) if observation.error else shown


def _data(observation: Observation) -> tuple[Json, dict[str, Json]]:
    if observation.data is None:
        return None, {}
    if not shallow(observation.data):
        return None, {"data_left_out": f"nested deeper than {NESTING} levels"}
    data = plain(observation.data)
    size, most = len(encoded(data)), DATA_BYTES_PER_TOKEN * observation.tokens.budget
    if size <= most:
        return data, {}
    words = f"larger than {most} bytes; raise budget_tokens or read the handle"
    return None, {"data_left_out": words, "data_bytes": size}


def observed(observation: Observation) -> Response:
    """An observation, with the status of its kind; a failure has the error body beside the observation."""
    shown = observation_json(observation)
    error = observation.error
    if error is None:
        return answer({"observation": shown})
    status = KINDS[error.kind].status
    return answer(
        {"error": shown["error"], "observation": shown}, status if status >= 400 else 422, _pause(error.retry_after_s)
    )


def run_json(report: RunReport) -> dict[str, Any]:
    """A report of a run, one entry per task."""
    return {
        "id": report.id,
        "done": report.done,
        "cancelled": report.cancelled,
        "seconds": report.seconds,
        "tasks": [_task_json(task) for task in report.tasks],
    }


def _task_json(task: TaskReport) -> dict[str, Json]:
    shown = {
        "id": task.id[:MESSAGE_CHARS],
        "action": task.action[:MESSAGE_CHARS],
        "state": task.state,
        "started_s": task.started_s,
        "ended_s": task.ended_s,
        "reason": MASK.mask(task.reason) if task.reason else None,
        "observation": observation_json(task.observation) if task.observation else None,
    }
    return {name: value for name, value in shown.items() if value is not None}
