"""Failures that a value tells of by its fields, read at the top level and by value, never by scanning for a word."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from anyact_server.types import Json, JsonObject

from .parts import parse_json
from .patterns import Pattern
from .wording import opening_of


@dataclass(frozen=True, slots=True)
class Sign:
    """A sign of failure.

    Attributes:
        pointer: where it stands, from the root of the value.
        message: what the value says about it.
        code: the code it gives.
        sure: 0 to 1.
        share: how much of the whole failed, 0 to 1.
        fields: the object that speaks, for further reading (waiting times).
    """

    pointer: str
    message: str
    code: Json = None
    sure: float = 0.9
    share: float = 1.0
    fields: Json = None


_FALSE_FLAGS = ("success", "ok", "succeeded", "isSuccess", "is_success", "Success", "successful")
_TRUE_FLAGS = ("isError", "is_error", "hasError", "failed")
_MESSAGES = (
    "message",
    "faultstring",
    "error_message",
    "errorMessage",
    "msg",
    "error_description",
    "status_message",
    "statusMessage",
    "detail",
    "details",
    "reason",
    "description",
    "title",
    "text",
    "hint",
)
_CODES = (
    "error_type",
    "errorType",
    "error_code",
    "errorCode",
    "code",
    "type",
    "name",
    "statusCode",
    "status_code",
    "status",
)
_STATUSES = ("statusCode", "status_code", "httpStatus", "http_status", "status", "code")
_ENVELOPE = frozenset(
    {
        *_FALSE_FLAGS,
        *_TRUE_FLAGS,
        *_MESSAGES,
        *_CODES,
        "error",
        "errors",
        "fault",
        "exception",
        "err",
        "errcode",
        "retryable",
        "retry_after",
        "hint",
        "help",
        "suggestion",
        "suggestions",
        "warning",
        "warnings",
        "timestamp",
        "time",
        "request_id",
        "requestId",
        "trace_id",
        "log_id",
        "path",
        "tool",
        "action",
        "stack",
        "traceback",
        "cause",
        "extensions",
        "errorMessages",
        "documentation_url",
        "url",
        "method",
        "operation",
        "params",
        "arguments",
        "input",
        "query",
        "docs",
        "instance",
        "isRetryable",
        "duration",
    }
)
_KNOWN = frozenset({*_FALSE_FLAGS, *_TRUE_FLAGS, *_MESSAGES, *_CODES, *_STATUSES, *_ENVELOPE})
_NOT_AN_ERROR = frozenset({"", "none", "null", "no", "ok", "false", "0", "no error", "noerror", "success", "n/a", "-"})
_BAD_STATUS = Pattern(
    r"(?:error|fail(?:ed|ure)?|timeout|timed[ _]out|unauthori[sz]ed|forbidden|denied|not[ _]found|invalid"
    r"|rejected|unavailable"
    r"|fatal|rate[ _]?limited|exception)",
    re.IGNORECASE,
)
_INNER = ("response", "result", "data", "output", "body", "return", "value")


def sign_in(value: Json, pointer: str = "", depth: int = 0) -> Sign | None:
    """The sign of failure in a value, None where it tells of none."""
    if isinstance(value, Mapping):
        return _in_object(value, pointer, depth)
    if isinstance(value, Sequence) and not isinstance(value, str) and value and depth < 3:
        return _in_list(value, pointer, depth)
    return None


def _in_object(value: JsonObject, pointer: str, depth: int) -> Sign | None:
    if len(value) > _KEYS:
        return None
    names = {str(key).lower(): str(key) for key in value if str(key) != str(key).lower() and str(key) not in _KNOWN}
    if names:
        lowered = {str(key).lower() if str(key) in names.values() else key: part for key, part in value.items()}
        sign = _in_plain(lowered, pointer, depth)
        return _renamed(sign, pointer, names) if sign is not None else None
    return _in_plain(value, pointer, depth)


_KEYS = 200
"""An object with more keys is no report of a failure."""


def _renamed(sign: Sign, pointer: str, names: Mapping[str, str]) -> Sign:
    """The sign with its pointer in the spelling of the value."""
    step, slash, rest = sign.pointer[len(pointer) + 1 :].partition("/")
    return replace(sign, pointer=f"{pointer}/{names.get(step, step)}{slash}{rest}")


def _in_plain(value: JsonObject, pointer: str, depth: int) -> Sign | None:
    if depth < 3 and len(value) == 1:
        ((key, inner),) = value.items()
        if key in _INNER:
            return sign_in(_opened(inner), f"{pointer}/{key}", depth + 1)
    claims = _claims_success(value)
    data = _has_data(value)
    for check in (_flag, _error, _errors, _items, _status, _code, _words):
        sign = check(value, pointer, claims, data)
        if sign is not None:
            return sign
    return None


def _in_list(value: Sequence[Json], pointer: str, depth: int) -> Sign | None:
    """A list of which every item tells of a failure; one block of text is opened first."""
    if len(value) == 1 and isinstance(value[0], Mapping) and isinstance(value[0].get("text"), str):
        inner = parse_json(value[0]["text"])
        return sign_in(inner, f"{pointer}/0/text", depth + 1) if inner is not None else None
    if len(value) == 1 and isinstance(value[0], Mapping) and _explicit(value[0]):
        return _in_object(value[0], f"{pointer}/0", depth + 1)
    return None


def _opened(value: Json) -> Json:
    """The value of a string that is itself JSON."""
    if isinstance(value, str) and len(value) < 1_000_000:
        inner = parse_json(value)
        return value if inner is None else inner
    return value


def _claims_success(value: JsonObject) -> bool:
    return any(value.get(flag) is True for flag in _FALSE_FLAGS)


def _explicit(value: JsonObject) -> bool:
    return any(value.get(flag) is False for flag in _FALSE_FLAGS) or value.get("error") is True


def _has_data(value: JsonObject) -> bool:
    """Whether an object holds anything besides what belongs to a failure."""
    return any(
        key not in _ENVELOPE and not (part is None or part is False or part in ("", 0, [], {}))
        for key, part in value.items()
    )


def _flag(value: JsonObject, pointer: str, _claims: bool, _data: bool) -> Sign | None:
    for flag in _FALSE_FLAGS:
        said = value.get(flag)
        if said is False or said in ("false", "False") or (type(said) is int and said == 0 and message_of(value)):
            return Sign(f"{pointer}/{flag}", message_of(value), code_of(value), 0.95, fields=value)
    for flag in _TRUE_FLAGS:
        if value.get(flag) is True:
            return Sign(f"{pointer}/{flag}", message_of(value), code_of(value), 0.9, fields=value)
    return None


def _error(value: JsonObject, pointer: str, claims: bool, data: bool) -> Sign | None:
    key = next((name for name in _ERRORS if value.get(name)), "error")
    error = value.get(key)
    if claims or not error or (isinstance(error, str) and error.strip().lower() in _NOT_AN_ERROR):
        return None
    if error is True:
        return Sign(f"{pointer}/{key}", message_of(value), code_of(value), 0.9, fields=value)
    if not isinstance(error, str | Mapping | Sequence):
        return None
    if data and _is_record(value):
        return None
    code = code_of(error) if isinstance(error, Mapping) else None
    return Sign(f"{pointer}/{key}", message_of(value), code or code_of(value), 0.6 if data else 0.9, fields=value)


_ERRORS = ("error", "errorMessage", "fault", "exception", "err")


def _words(value: JsonObject, pointer: str, claims: bool, data: bool) -> Sign | None:
    """An object that holds nothing but a message, which opens like a failure."""
    message = next((value[key] for key in ("message", "detail", "msg", "text") if isinstance(value.get(key), str)), "")
    if claims or data or not message or _is_record(value):
        return None
    opening = opening_of(message, reads=False)
    return Sign(pointer, message_of(value), code_of(value), 0.65, fields=value) if opening is not None else None


def _is_record(value: JsonObject) -> bool:
    """Whether an object looks like a thing described (a job, a row, a log entry), whose error is a property of it."""
    return bool({"id", "name", "key", "uuid", "level", "started_at", "created_at", "job", "run"} & value.keys())


def _errors(value: JsonObject, pointer: str, claims: bool, data: bool) -> Sign | None:
    errors = value.get("errors")
    if isinstance(errors, Mapping) and errors and not claims and not data and "data" not in value:
        return Sign(f"{pointer}/errors", f"invalid input: {_first_of(errors)}", None, 0.7, fields=value)
    if not isinstance(errors, Sequence) or isinstance(errors, str) or not errors or claims:
        return None
    if not all((isinstance(error, Mapping) and message_of(error)) or isinstance(error, str) for error in errors):
        return None
    message = message_of(errors[0]) if isinstance(errors[0], Mapping) else str(errors[0])
    code = code_of(errors[0]) if isinstance(errors[0], Mapping) else None
    if "data" in value:
        whole = value["data"]
        parts = list(whole.values()) if isinstance(whole, Mapping) else []
        missing = sum(part is None for part in parts)
        share = missing / len(parts) if parts and missing < len(parts) else 1.0
        return Sign(f"{pointer}/errors", message, code, 0.95, share if whole else 1.0, value)
    lists = [part for key, part in value.items() if key not in _ENVELOPE and isinstance(part, list) and part]
    if lists:
        done = sum(len(part) for part in lists)
        return Sign(f"{pointer}/errors", message, code, 0.7, len(errors) / (len(errors) + done), value)
    return None if data else Sign(f"{pointer}/errors", message, code, 0.85, fields=value)


def _items(value: JsonObject, pointer: str, _claims: bool, _data: bool) -> Sign | None:
    """Batches: a list of failures, or results of which some say that they failed."""
    shards = value.get("_shards")
    if isinstance(shards, Mapping) and isinstance(shards.get("failed"), int) and 0 < shards["failed"] <= _most(shards):
        message = message_of(shards.get("failures")) or "a part of the index could not be searched: 5xx of shards"
        return Sign(f"{pointer}/_shards", message, 503, 0.8, shards["failed"] / _most(shards), value)
    failures = value.get("failures", value.get("failed"))
    if isinstance(failures, list) and failures and all(isinstance(item, Mapping | str) for item in failures):
        done = next((value[key] for key in ("completed", "succeeded", "successes", "successful") if key in value), None)
        if isinstance(done, list):
            first = failures[0]
            message = message_of(first) if isinstance(first, Mapping) else str(first)
            return Sign(f"{pointer}/failures", message, None, 0.9, len(failures) / (len(failures) + len(done)), value)
    for key in ("results", "responses", "rows", "items"):
        rows = value.get(key)
        if isinstance(rows, list) and len(rows) > 1 and all(isinstance(row, Mapping) for row in rows[:_ROWS]):
            rows = rows[:_ROWS]
            bad = [index for index, row in enumerate(rows) if _explicit(row) or _only_error(row)]
            if bad and any(set(row) & {*_FALSE_FLAGS, "error", "skipped"} for row in rows):
                row = rows[bad[0]]
                return Sign(f"{pointer}/{key}/{bad[0]}", message_of(row), code_of(row), 0.8, len(bad) / len(rows), row)
    return None


def _most(shards: JsonObject) -> int:
    total = shards.get("total")
    return total if isinstance(total, int) and not isinstance(total, bool) else 0


def _first_of(errors: JsonObject) -> str:
    name, said = next(iter(errors.items()))
    return f"{name} {_said(said)}"[:300]


_ROWS = 500
"""Rows of a batch that are looked at."""


def _only_error(row: JsonObject) -> bool:
    return bool(row.get("error")) and isinstance(row["error"], str | Mapping) and not _has_data(row)


def _status(value: JsonObject, pointer: str, claims: bool, data: bool) -> Sign | None:
    for key in _STATUSES:
        status = value.get(key)
        number = int(status) if isinstance(status, str) and status.isdecimal() and len(status) == 3 else status
        if isinstance(number, int) and not isinstance(number, bool) and 400 <= number < 600 and not _is_record(value):
            sure = 0.9 if key != "code" or message_of(value) else 0.6
            return Sign(f"{pointer}/{key}", message_of(value) or f"{key} {number}", number, sure, fields=value)
    status = value.get("status", value.get("state"))
    if isinstance(status, str) and _BAD_STATUS.fullmatch(status):
        if claims and value.get("found") is False and not data:
            return Sign(f"{pointer}/status", message_of(value) or status, status, 0.7, fields=value)
        if not claims and not data:
            return Sign(f"{pointer}/status", message_of(value) or status, code_of(value), 0.85, fields=value)
    return None


def _code(value: JsonObject, pointer: str, claims: bool, data: bool) -> Sign | None:
    named = next((value[key] for key in ("error_code", "errorCode", "errcode") if value.get(key)), None)
    code = value.get("code", named)
    message = message_of(value)
    if claims or data or not message or isinstance(code, bool):
        return None
    if isinstance(code, int) and code != 0 and not 200 <= code < 300:
        return Sign(f"{pointer}/code", message, code, 0.8, fields=value)
    if isinstance(named, str) and named.strip().lower() not in _NOT_AN_ERROR:
        return Sign(pointer, message, named, 0.75, fields=value)
    if isinstance(code, str) and re.fullmatch(r"E_?[A-Z][A-Z0-9_]+|[A-Z][A-Z0-9]*_(?:[A-Z0-9]+_)*[A-Z0-9]+", code):
        return Sign(f"{pointer}/code", message, code, 0.75, fields=value)
    return None


def message_of(value: Json) -> str:
    """What an object says about its failure, put together from its fields; at most 600 characters."""
    if not isinstance(value, Mapping):
        return value[:600] if isinstance(value, str) else ""
    found: list[str] = []
    error = next((value[key] for key in ("error", "fault", "exception", "err") if value.get(key)), None)
    for part in (error, *(value.get(key) for key in _MESSAGES), value.get("errorMessages"), value.get("errors")):
        text = _said(part)
        if text and text not in found:
            found.append(text)
    return "; ".join(found)[:600]


def _said(part: Json) -> str:
    if isinstance(part, str):
        return part.strip()
    if isinstance(part, Mapping):
        return message_of(part)
    if isinstance(part, list) and part:
        return message_of(part[0])
    return ""


def code_of(value: Json) -> Json:
    """The code of a failure: a word or a number among its fields, the most telling first."""
    if not isinstance(value, Mapping):
        return None
    error = value.get("error")
    if isinstance(error, Mapping):
        inner = code_of(error)
        if inner is not None:
            return inner
    for key in _CODES:
        code = value.get(key)
        if isinstance(code, int) and not isinstance(code, bool):
            return code
        if isinstance(code, str) and code and len(code) < 60 and not _BAD_STATUS.fullmatch(code):
            return code
    extensions = value.get("extensions")
    return extensions.get("code") if isinstance(extensions, Mapping) else None
