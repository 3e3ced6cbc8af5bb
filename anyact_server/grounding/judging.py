"""How a result or an error is to be understood: the declared flag first, then what its values and words say."""

from __future__ import annotations

import re
from collections.abc import Sequence

from anyact_server.errors import AnyActError, DownstreamError, InvalidArguments, RemoteError
from anyact_server.telemetry import MASK
from anyact_server.types import Action, Json, Kind, Verdict

from .blocks import Content
from .fields import Sign, code_of, message_of, sign_in
from .kinds import Reading, read_message, retry_after
from .parts import mirrored, parse_json, unwrapped
from .wording import opening_of

_MESSAGE = 600
_PARSED = 1_000_000
"""Texts longer than this are not parsed for fields: a failure is short."""
_READS = re.compile(
    r"(?:^|[_.\-/ ])(?:read|cat|head|tail|logs?|file|files|fetch|scrape|crawl|grep|search|console|messages?"
    r"|convert|markdown|show|diff|blame|"
    r"content|contents|extract|download|transcript|output|query|snapshot|page|document|note|resource|history"
    r"|text)(?:$|[_.\-/ s])",
    re.IGNORECASE,
)
"""Names of actions whose results are texts that others wrote."""


def judge_content(content: Content, action: Action | None) -> Verdict:
    """Understand a result.

    A flagged result takes its kind from its words and fields. An unflagged one stays a success; where its values say
    otherwise, the suspicion is set beside it.
    """
    if content.is_error:
        return _flagged(content)
    suspicion = _suspicion(content, action)
    empty = _is_empty(content)
    if suspicion is None:
        return Verdict(Kind.OK_EMPTY if empty else Kind.OK)
    sign, reading, by = suspicion
    share = max(0.0, min(1.0, sign.share))
    partial = 0.0 < share < 1.0
    return Verdict(
        kind=Kind.PARTIAL if partial else Kind.OK_EMPTY if empty else Kind.OK,
        message=shown(sign.message) or f"the result says that it failed ({sign.pointer})",
        code=_plain_code(sign.code),
        suspected=reading.kind,
        confidence=round(sign.sure, 2),
        detected_by=by,
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
    """A message fit to be shown: secrets masked, blank space folded, at most 600 characters."""
    text = MASK.mask(" ".join(message.split()))
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
    if by_code is not None and (
        reading.sure < 0.5 or (error.code in (-32601, -32602) and reading.kind is Kind.INTERNAL)
    ):
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
    reading = read_message(_unwrapped_message(message), code)
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


_WRAPPING = re.compile(
    r"^(?:error executing tool [\w./-]+: |error calling tool '[^']*': |tool '[^']*' execution failed: "
    r"|MCP error -?\d+: |error: )+",
    re.I,
)


def _unwrapped_message(message: str) -> str:
    """A message without what SDKs put before it."""
    return _WRAPPING.sub("", message.strip())


def _suspicion(content: Content, action: Action | None) -> tuple[Sign, Reading, Json] | None:
    """What an unflagged result says of a failure, how it is read, and by what it was found."""
    reads = action is not None and bool(_READS.search(action.name))
    places: list[tuple[Json, str]] = []
    if content.has_structured:
        root = "/structuredContent"
        inner = unwrapped(content.structured)
        places.append((inner, root if inner is content.structured else f"{root}/result"))
    if not (content.has_structured and mirrored(content)):
        places += [(block.text, block.pointer) for block in content.blocks if block.kind == "text"]
    for value, pointer in places[:20]:
        found = _in_value(value, pointer, reads, alone=len(places) == 1)
        if found is not None:
            return found
    return None


def _in_value(value: Json, pointer: str, reads: bool, *, alone: bool) -> tuple[Sign, Reading, Json] | None:
    fields = value
    if isinstance(value, str):
        fields = parse_json(value) if len(value) <= _PARSED else None
        if fields is None:
            return _in_text(value, pointer, reads)
    text = _only_text(fields)
    if text is not None:
        return _in_text(text, pointer, reads)
    sign = sign_in(fields, pointer)
    if sign is None or (reads and isinstance(value, str) and sign.sure < 0.8 and alone):
        return None
    return sign, read_message(_unwrapped_message(sign.message), sign.code), "structured"


def _only_text(value: Json) -> str | None:
    """The text of a list that holds one text block and nothing else, as some servers wrap their answers twice."""
    if isinstance(value, Sequence) and not isinstance(value, str) and len(value) == 1 and isinstance(value[0], dict):
        text = value[0].get("text")
        if isinstance(text, str) and value[0].keys() <= {"type", "text"} and parse_json(text) is None:
            return text
    return None


def _in_text(text: str, pointer: str, reads: bool) -> tuple[Sign, Reading, Json] | None:
    opening = opening_of(text, reads=reads)
    if opening is None:
        return None
    sign = Sign(pointer, opening.line, None, opening.sure, opening.share)
    return sign, read_message(_unwrapped_message(opening.line)), "text_rule"


def _is_empty(content: Content) -> bool:
    """Whether a success brought nothing."""
    if content.pending or any(block.kind != "text" for block in content.blocks):
        return False
    value = unwrapped(content.structured) if content.has_structured else None
    texts = [text.strip() for text in content.texts if text.strip()]
    if value is not None and not _nothing(value):
        return _says_nothing(value) if isinstance(value, str) else _no_items(value)
    if value is not None:
        return all(_says_nothing(text) for text in texts)
    return all(_says_nothing(text) for text in texts)


def _nothing(value: Json) -> bool:
    return value is None or value in ("", [], {})


def _no_items(value: Json) -> bool:
    """An object whose list of finds is empty and whose count is zero."""
    if not isinstance(value, dict) or not value:
        return False
    lists = [part for part in value.values() if isinstance(part, list | dict)]
    counts = [value[key] for key in value if re.search(r"count|total|size|num|length|hits", str(key), re.IGNORECASE)]
    if lists and any(lists):
        return all(_no_items(part) for part in lists if part) and not any(
            isinstance(part, list) and part for part in lists
        )
    return bool(lists) and all(count in (0, None, False) for count in counts if not isinstance(count, list | dict))


_NO_FINDS = re.compile(
    r"\W{0,4}(?:no (?:[\w'-]+ ){0,4}?(?:found|results?|matches|match|data|items?|records?|rows?|entries"
    r"|available|exist|yet)\b"
    r"|no (?:active|open|running|saved|stored|pending|recent)\b|nothing (?:found|matches|to show)|found (?:0"
    r"|no)\b|0 (?:[\w'-]+ ){0,2}?(?:found|results?|matches|rows?|items?|records?)\b"
    r"|none found|empty\b|\(empty\)|\(no [\w ]+\)|there are no\b|\[\]$|\{\}$|null$|none$|no \w+$)",
    re.IGNORECASE,
)


def _says_nothing(text: str) -> bool:
    """Whether a text says that there is nothing, or is an empty value itself."""
    if len(text) <= _PARSED:
        value = parse_json(text)
        if value is not None:
            return _nothing(value) or _no_items(value)
    return len(text) <= 300 and _NO_FINDS.match(text) is not None


def _plain_code(code: Json) -> int | str | None:
    return code if isinstance(code, int | str) and not isinstance(code, bool) else None
