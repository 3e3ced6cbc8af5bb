"""Views on something kept: pages, search, paths, ends, picture regions, differences, the bytes themselves."""

from __future__ import annotations

import base64
import difflib
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from anyact_server.errors import UsageError
from anyact_server.types import Elision, Json, JsonObject, ReadRequest

from .binaries import Code, is_code, replace_codes
from .documents import ARCHIVES, member_of, text_of
from .encoding import compact, dumps
from .legible import data_of, page_text
from .media import decode, fit_picture, size_of, sniff
from .parts import escape, select
from .structured import fit
from .text import clean
from .tokens import estimate
from .writing import encode

_LONG_LINE = 2000
"""Characters; a text with longer lines is paged by characters."""
_GREP_LINES = 200_000
_GREP_MATCHES = 2_000
_SHOWN_LINE = 300
_DIFF_LINES = 4_000
_RAW_BYTES = 8_000_000
"""Bytes of a binary in one raw view where no limit is given; a picture is given whole, for a piece of it is nothing."""


@dataclass(frozen=True, slots=True)
class View:
    """What one look shows; `raw` is the token estimate of the whole thing looked at."""

    text: str
    summary: str
    blocks: tuple[JsonObject, ...] = ()
    data: Json = None
    elided: tuple[Elision, ...] = ()
    raw: int = 0


def read_view(value: Json | bytes, request: ReadRequest, budget: int, *, mime: str = "", whole: Json = None) -> View:
    """One look at a value.

    Args:
        value: JSON, text, or the bytes of a binary.
        request: which view, its query, where to begin and how much.
        budget: tokens.
        mime: the media type of a binary as far as known.
        whole: the whole result, for the raw view of it.

    Raises:
        UsageError: the view does not fit the value, or the query finds nothing.
    """
    if request.offset < 0 or (request.limit is not None and request.limit <= 0):
        raise UsageError("offset must be 0 or more, limit 1 or more")
    if request.view == "raw" and whole is not None and not isinstance(value, bytes):
        text = compact(whole) if not isinstance(value, str) else value
        return _characters(text, request, budget, cleaned=False)
    if isinstance(value, str) and is_code(value):
        data = decode(value)
        value = value if data is None else data
    if isinstance(value, bytes):
        return _binary(value, request, budget, mime)
    if isinstance(value, str) and request.view in ("page", "head", "tail", "grep"):
        return _legible(value, request, budget, mime)
    return _VIEWS[request.view](value, request, budget)


def _legible(text: str, request: ReadRequest, budget: int, mime: str) -> View:
    """A text; a page of HTML as the markdown that an observation shows, its source where only that has the find."""
    view = _VIEWS[request.view]
    page = page_text(text, mime, len(text) // 3)
    if page is None:
        return view(text, request, budget)
    if request.view == "grep" and all(matcher(request.query)(line) is None for line in page.split("\n")):
        return view(text, request, budget)
    return view(page, request, budget)


# --- pages


def _page(value: Json, request: ReadRequest, budget: int) -> View:
    if isinstance(value, str):
        return _text_page(value, request, budget)
    if isinstance(value, list):
        return _items(value, request, budget, "items", lambda part: part)
    if isinstance(value, Mapping) and value:
        pairs = list(value.items())
        return _items(pairs, request, budget, "keys", dict)
    return _whole(value, budget)


def _text_page(text: str, request: ReadRequest, budget: int) -> View:
    lines = text.split("\n")
    if max(map(len, lines)) > _LONG_LINE:
        return _characters(text, request, budget, cleaned=True)
    chosen = lines[request.offset : request.offset + (request.limit or len(lines))]
    if not chosen:
        raise UsageError(f"offset {request.offset} is past the end: the text has {len(lines):,} lines")
    shown = _fitting(chosen, budget)
    first, last = request.offset + 1, request.offset + len(shown)
    return _paged("\n".join(shown), f"lines {first:,} to {last:,} of {len(lines):,}", last, len(lines), estimate(text))


def _characters(text: str, request: ReadRequest, budget: int, *, cleaned: bool) -> View:
    if request.offset >= max(1, len(text)):
        raise UsageError(f"offset {request.offset} is past the end: the text has {len(text):,} characters")
    room = min(request.limit or len(text), budget * 6)
    shown = text[request.offset : request.offset + room]
    while estimate(shown) > budget - 40 and len(shown) > 20:
        shown = shown[: max(20, int(len(shown) * 0.85 * (budget - 40) / max(1, estimate(shown))))]
    last = request.offset + len(shown)
    what = f"characters {request.offset:,} to {last:,} of {len(text):,}"
    body = clean(replace_codes(shown, _say_code)).text if cleaned else shown
    return _paged(body, what, last, len(text), estimate(text))


def _say_code(code: Code) -> str:
    return f"[{code.mime or 'encoded data'}, {code.size:,} characters; view raw shows them]"


def _paged(body: str, what: str, last: int, total: int, raw: int) -> View:
    more = f"; next: offset {last}" if last < total else ""
    return View(f"[{what}{more}]\n{body}", what, raw=raw)


def _fitting(lines: Sequence[str], budget: int) -> list[str]:
    """As many lines from the start as fit, at least one; codes named, cleaned."""
    shown: list[str] = []
    left = budget - 40
    for line in lines:
        plain = clean(replace_codes(line, _say_code)).text
        left -= estimate(plain) + 1
        if left < 0 and shown:
            break
        shown.append(plain)
    return shown


def _items(value: Sequence[Json], request: ReadRequest, budget: int, what: str, build: Callable[[Any], Json]) -> View:
    """Items of a list or keys of an object, as many as fit whole; at least one, in part if need be."""
    if request.offset >= max(1, len(value)):
        raise UsageError(f"offset {request.offset} is past the end: there are {len(value):,} {what}")
    most = min(request.limit or len(value), len(value) - request.offset, max(1, budget))
    low, high = 1, most
    while low < high:
        middle = (low + high + 1) // 2
        text = encode(build(value[request.offset : request.offset + middle]))
        if len(text) <= budget * 8 and estimate(text) <= budget - 60:
            low = middle
        else:
            high = middle - 1
    part = build(value[request.offset : request.offset + low])
    preview = fit(part, budget - 60, len(dumps(part)), lambda pointer, code: _at_code(pointer, code))
    last = request.offset + low
    words = f"{what} {request.offset} to {last - 1} of {len(value):,}" if value else f"no {what}"
    view = _paged(preview.text, words, last, len(value), len(dumps(value)) // 3)
    gaps = tuple(Elision(gap.pointer, gap.what, gap.count, request.handle) for gap in preview.gaps[:50])
    return View(view.text, words, data=part, elided=gaps, raw=view.raw)


def _at_code(pointer: str, code: Code) -> str:
    return f"[{code.mime or 'encoded data'}, {code.size:,} characters: {pointer or '/'}]"


def _whole(value: Json, budget: int) -> View:
    preview = fit(value, budget, len(dumps(value)), _at_code)
    return View(preview.text, "a single value", data=value, raw=estimate(preview.text))


# --- the other views


def _head(value: Json, request: ReadRequest, budget: int) -> View:
    return _page(value, ReadRequest(request.handle, "page", None, 0, request.limit), budget)


def _tail(value: Json, request: ReadRequest, budget: int) -> View:
    if isinstance(value, str):
        lines = value.split("\n")
        if max(map(len, lines)) > _LONG_LINE:
            room = min(request.limit or len(value), budget * 3)
            return _characters(
                value, ReadRequest(request.handle, "page", None, len(value) - room), budget, cleaned=True
            )
        chosen = lines[-(request.limit or len(lines)) :]
        shown = _fitting(chosen[::-1], budget)[::-1]
        words = f"lines {len(lines) - len(shown) + 1:,} to {len(lines):,} of {len(lines):,}"
        return _paged("\n".join(shown), words, len(lines), len(lines), estimate(value))
    if isinstance(value, list) and value:
        room = min(request.limit or 20, len(value))
        return _page(value, ReadRequest(request.handle, "page", None, len(value) - room, room), budget)
    return _page(value, request, budget)


def _jsonpath(value: Json, request: ReadRequest, budget: int) -> View:
    if isinstance(value, str) and request.query not in (None, "", "$", "/"):
        value = data_of(value)
        if value is None:
            raise UsageError("the view jsonpath needs data; this is text", hint="Use the views page or grep.")
    found = select(value, request.query or "$")
    plain = ReadRequest(request.handle, "page", None, request.offset, request.limit)
    return read_view(found, plain, budget)


def _grep(value: Json, request: ReadRequest, budget: int) -> View:
    matches = matcher(request.query)
    lines = _leaves(value, "") if not isinstance(value, str) else _numbered(value)
    total = 0
    shown: list[str] = []
    left = budget - 60
    most = request.limit or _GREP_MATCHES
    full = False
    for place, line in lines:
        at = matches(line)
        if at is None:
            continue
        total += 1
        if total <= request.offset or full:
            continue
        text = f"{place}: {_around(line, at)}"
        left -= estimate(text) + 1
        full = (left < 0 and bool(shown)) or len(shown) >= most
        if not full:
            shown.append(text)
    if not total:
        raise UsageError(f"{(request.query or '')[:80]!r} occurs nowhere", hint="Try a shorter or different pattern.")
    last = request.offset + len(shown)
    words = f"matches {request.offset + 1:,} to {last:,} of {total:,}"
    return _paged("\n".join(shown), words, last, total, 0)


def matcher(query: str | None) -> Callable[[str], int | None]:
    """Where a pattern occurs in a line: a plain text without regard to case, or a regular expression.

    Raises:
        UsageError: no pattern, a pattern that cannot be read, or one that may take for ever.
    """
    if not query:
        raise UsageError("the view grep needs a query", hint="Give a text or a regular expression.")
    if len(query) > 300:
        raise UsageError("the pattern is longer than 300 characters")
    if not re.search(r"[\\^$*+?{}\[\]|()]", query):
        plain = query.lower()

        def find(line: str) -> int | None:
            at = line.lower().find(plain)
            return None if at < 0 else at

        return find
    if re.search(r"\([^()]*[*+}][^()]*\)[*+{]|[*+}]\??\)?[*+{]", query):
        raise UsageError("the pattern repeats a repetition, which may take for ever", hint="Write it without (a+)+.")
    try:
        pattern = re.compile(query, re.IGNORECASE)
    except (re.error, OverflowError) as error:
        raise UsageError(f"the pattern cannot be read: {error}") from error

    def search(line: str) -> int | None:
        match = pattern.search(line[:_LONG_LINE])
        return None if match is None else match.start()

    return search


def _numbered(text: str) -> Iterator[tuple[str, str]]:
    for number, line in enumerate(text.split("\n"), 1):
        if number > _GREP_LINES:
            return
        yield str(number), line


def _leaves(value: Json, pointer: str) -> Iterator[tuple[str, str]]:
    """Every leaf of a JSON value as (pointer, `key: text`)."""
    stack: list[tuple[str, Json]] = [(pointer, value)]
    seen = 0
    while stack and seen < _GREP_LINES:
        here, part = stack.pop()
        if isinstance(part, Mapping):
            stack.extend((f"{here}/{escape(str(key))}", inner) for key, inner in reversed([*part.items()]))
        elif isinstance(part, list):
            stack.extend((f"{here}/{index}", part[index]) for index in range(len(part) - 1, -1, -1))
        else:
            seen += 1
            key = here.rpartition("/")[2]
            yield here or "/", part if isinstance(part, str) and key.isdecimal() else f"{key}={encode(part)}"


def _around(line: str, at: int) -> str:
    """A line, or the surroundings of the find in a long one."""
    if len(line) <= _SHOWN_LINE:
        return clean(line).text
    start = max(0, at - _SHOWN_LINE // 3)
    part = line[start : start + _SHOWN_LINE]
    return clean(f"{'…' if start else ''}{replace_codes(part, _say_code)}…").text


def _region(value: Json, request: ReadRequest, budget: int) -> View:
    del value, request, budget
    raise UsageError(
        "the view region needs a picture", hint="Give the handle of the picture itself (it ends in .c and a number)."
    )


def _raw(value: Json, request: ReadRequest, budget: int) -> View:
    return _characters(value if isinstance(value, str) else compact(value), request, budget, cleaned=False)


def _no_diff(value: Json, request: ReadRequest, budget: int) -> View:
    if not request.query:
        raise UsageError("the view diff needs another handle as its query")
    return _whole("", budget)


_VIEWS: Mapping[str, Callable[[Json, ReadRequest, int], View]] = {
    "page": _page,
    "head": _head,
    "tail": _tail,
    "jsonpath": _jsonpath,
    "grep": _grep,
    "region": _region,
    "raw": _raw,
    "diff": _no_diff,
}


# --- binaries


def _binary(data: bytes, request: ReadRequest, budget: int, mime: str) -> View:
    mime = sniff(data[:300]) or mime or "application/octet-stream"
    if request.view == "raw":
        return _bytes(data, request, mime)
    if mime.startswith("image/") and size_of(data) is not None:
        return _picture(data, request)
    if request.view == "page" and request.query and mime in ARCHIVES:
        return _member(data, request, budget, mime)
    text = text_of(data, mime)
    if text is not None:
        return read_view(text, request, budget)
    if request.view == "region":
        raise UsageError(f"the view region needs a picture; this is {mime}")
    dump = data[:64].hex(" ", 1)
    return View(
        f"[{mime}, {len(data):,} bytes; view raw gives them]\nfirst bytes: {dump}", f"{mime}, {len(data):,} bytes"
    )


def _member(data: bytes, request: ReadRequest, budget: int, mime: str) -> View:
    """One file of an archive, named by the query."""
    inside = member_of(data, mime, request.query or "")
    if inside is None:
        raise UsageError(
            f"the archive has no file {(request.query or '')[:120]!r} that can be read",
            hint="Without a query the view page lists what is in it.",
        )
    plain = ReadRequest(request.handle, "page", None, request.offset, request.limit)
    return _binary(inside, plain, budget, "")


def _picture(data: bytes, request: ReadRequest) -> View:
    region = _box(request.query) if request.view == "region" else None
    made = fit_picture(data, region)
    if isinstance(made, str):
        raise UsageError(made)
    left, top, width, height = made.region
    words = f"picture {made.full_width}x{made.full_height}"
    if region is not None:
        words += f", region {left},{top},{width},{height}"
    note = f" ({made.note})" if made.note else ""
    block = {"type": "image", "data": made.data, "mimeType": made.mime}
    return View(f"[{words}, shown at {made.width}x{made.height}{note}]", words, (block,), raw=made.tokens)


def _box(query: str | None) -> tuple[int, int, int, int]:
    numbers = re.findall(r"-?\d+", query or "")
    if len(numbers) != 4:
        raise UsageError("the view region needs a query `left,top,width,height` in pixels of the original picture")
    left, top, width, height = (int(number) for number in numbers)
    return left, top, width, height


def _bytes(data: bytes, request: ReadRequest, mime: str) -> View:
    """The bytes themselves, as an image block or a blob resource, never as text."""
    if request.offset >= max(1, len(data)):
        raise UsageError(f"offset {request.offset} is past the end: there are {len(data):,} bytes")
    room = request.limit or (len(data) if mime.startswith("image/") else _RAW_BYTES)
    part = data[request.offset : request.offset + room]
    encoded = base64.b64encode(part).decode()
    last = request.offset + len(part)
    words = f"bytes {request.offset:,} to {last:,} of {len(data):,} ({mime})"
    if mime.startswith("image/") and len(part) == len(data):
        block: JsonObject = {"type": "image", "data": encoded, "mimeType": mime}
    else:
        uri = f"anyact://{request.handle}"
        block = {"type": "resource", "resource": {"uri": uri, "mimeType": mime, "blob": encoded}}
    more = f"; next: offset {last}" if last < len(data) else ""
    return View(f"[{words}{more}]", words, (block,))


# --- differences


def difference(old: Json, new: Json, request: ReadRequest, budget: int) -> View:
    """What changed from one value to another, as a unified difference of their lines."""
    before, after = (_diff_lines(value) for value in (old, new))
    if before == after:
        return View("nothing changed", "nothing changed")
    lines = list(difflib.unified_diff(before, after, "before", "after", lineterm="", n=1))[2:]
    added = sum(line.startswith("+") for line in lines)
    removed = sum(line.startswith("-") for line in lines)
    words = f"{added:,} lines added, {removed:,} removed"
    return _text_page("\n".join([words, *lines]), ReadRequest(request.handle, "page", None, request.offset), budget)


def _diff_lines(value: Json) -> list[str]:
    if isinstance(value, str):
        return value.split("\n")[:_DIFF_LINES]
    return [f"{pointer}: {text}" for pointer, text in _leaves(value, "")][:_DIFF_LINES]
