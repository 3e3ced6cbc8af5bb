"""How a result or an error is to be understood: the declared flag first, then what its values and words say."""

from __future__ import annotations

import re

from anyact_server.errors import AnyActError, DownstreamError, InvalidArguments, RemoteError
from anyact_server.telemetry import MASK
from anyact_server.types import Action, Json, Kind, Verdict

from .binaries import replace_codes
from .blocks import Content
from .emptiness import is_empty
from .fields import code_of, message_of, sign_in
from .kinds import Reading, read_message, retry_after
from .parts import parse_json, unwrapped
from .suspicion import suspicion_of, unwrapped_message
from .text import clean

_MESSAGE = 600
_CODED = 100_000
"""Characters of a message that are looked at."""
_PARSED = 1_000_000
"""Texts longer than this are not parsed for fields: a failure is short."""


def judge_content(content: Content, action: Action | None) -> Verdict:
    """Understand a result.

    A flagged result takes its kind from its words and fields. An unflagged one stays a success; where its values say
    otherwise, the suspicion is set beside it.
    """
    if content.is_error:
        return _flagged(content)
    suspicion = suspicion_of(content, action)
    empty = is_empty(content)
    if suspicion is None:
        return Verdict(Kind.OK_EMPTY if empty else Kind.OK)
    sign, reading = suspicion.sign, suspicion.reading
    share = max(0.0, min(1.0, sign.share))
    partial = 0.0 < share < 1.0
    return Verdict(
        kind=Kind.PARTIAL if partial else Kind.OK_EMPTY if empty else Kind.OK,
        message=shown(sign.message) or f"the result says that it failed ({sign.pointer})",
        code=_plain_code(sign.code),
        suspected=reading.kind,
        confidence=round(sign.sure, 2),
        detected_by=suspicion.by,
        evidence=sign.pointer,
        retry_after_s=retry_after(sign.fields, sign.message),
        share_failed=share if partial else 0.0,
        fault=reading.fault,
    )


def judge_exception(error: Exception) -> Verdict:
    """Understand an exception: ours by its kind, a JSON-RPC error by its code and words."""
    if isinstance(error, RemoteError):
        return _remote(error)
    if isinstance(error, DownstreamError):
        return Verdict(
            error.kind,
            shown(error.message),
            error.status,
            detected_by="http_status" if error.status is not None else "transport",
            retry_after_s=error.retry_after_s,
            hint=error.hint,
        )
    if isinstance(error, InvalidArguments):
        problems = "; ".join(error.problems)
        message = error.message if not problems or problems in error.message else f"{error.message}: {problems}"
        return Verdict(error.kind, shown(message), hint=error.hint)
    if isinstance(error, AnyActError):
        return Verdict(error.kind, shown(error.message), hint=error.hint)
    if isinstance(error, TimeoutError):
        return Verdict(Kind.TIMEOUT, shown(str(error)) or "no answer came in time", detected_by="transport")
    return Verdict(Kind.INTERNAL, shown(f"{type(error).__name__}: {error}"))


def shown(message: str) -> str:
    """A message fit to be shown: secrets masked, long codes named, blank space folded, at most 600 characters."""
    plain = replace_codes(message[:_CODED], lambda code: f"[{code.mime or 'encoded data'}, {code.size:,} characters]")
    text = MASK.mask(" ".join(clean(plain).text.split()))
    return text if len(text) <= _MESSAGE else f"{text[: _MESSAGE - 1]}…"


_RPC_KINDS = {
    -32700: Kind.PROTOCOL,
    -32600: Kind.PROTOCOL,
    -32601: Kind.NOT_FOUND,
    -32602: Kind.INVALID_ARGS,
    -32001: Kind.TIMEOUT,
    -32000: Kind.UNAVAILABLE,
    -32800: Kind.CANCELLED,
    -32042: Kind.AUTH,
}
"""JSON-RPC codes, used where the words say nothing: -32603 stands for everything in the field."""


def _remote(error: RemoteError) -> Verdict:
    data = error.data
    words = message_of(data)
    message = error.message if not words or words in error.message else f"{error.message}: {words}"
    bare = re.sub(r"^(?:MCP error -?\d+: ?)+", "", message)
    if re.match(r"output validation error|.*structured content (?:and|but)|.*output schema", bare, re.IGNORECASE):
        reading = Reading(Kind.INTERNAL, 0.9)
    else:
        reading = read_message(bare, code_of(data))
    by_code = _RPC_KINDS.get(error.code)
    if by_code is not None and reading.sure < 0.5:
        reading = Reading(by_code, 0.7)
    return Verdict(
        reading.kind,
        shown(message),
        error.code,
        confidence=reading.sure,
        detected_by="jsonrpc",
        evidence="error.message",
        retry_after_s=retry_after(data, message),
        fault=reading.fault,
    )


def _flagged(content: Content) -> Verdict:
    """The kind of a result that the server flagged."""
    value = unwrapped(content.structured) if content.has_structured else None
    texts = [text for text in content.texts if text.strip()]
    parsed = parse_json(texts[0]) if texts and len(texts[0]) <= _PARSED else None
    fields = parsed if isinstance(parsed, dict) else value if isinstance(value, dict) else None
    sign = sign_in(fields) if fields is not None else None
    if sign is not None and sign.message:
        message, code = sign.message, sign.code
    elif fields is not None and message_of(fields):
        message, code = message_of(fields), code_of(fields)
    else:
        message, code = "\n".join(texts)[:4000] if texts else "", code_of(fields)
    reading = read_message(unwrapped_message(message), code)
    if reading.sure < 0.5 and texts and message != texts[0]:
        reading = read_message(texts[0])
    return Verdict(
        reading.kind,
        shown(message) or "the server reports a failure and gives no reason",
        _plain_code(code),
        confidence=reading.sure,
        detected_by="isError",
        evidence=sign.pointer if sign is not None else "/content/0/text" if texts else "/isError",
        retry_after_s=retry_after(fields, message),
        fault=reading.fault,
    )


def _plain_code(code: Json) -> int | str | None:
    return code if isinstance(code, int | str) and not isinstance(code, bool) else None
