"""Failures that a text tells of by its first line: anchored rules, never a search for a word inside it."""

from __future__ import annotations

import re
from dataclasses import dataclass

from .patterns import Pattern

_DECORATION = Pattern(r"^[\s>*#`\"'\[({_~\-❌⚠️✗✖⛔🚫🔴❗‼️️]+")
_LOUD = Pattern(
    r"(?:an? )?(?:[\w .'`\"/-]{0,60}?\b)?(?:error|exception|failure)\b(?: \([\w -]+\))?\s*[:\]\-–]|"
    r"(?:error|failed|failure|fatal|exception|panic)\b(?:\]|:| -)|there was an error"
    r"|an error (?:has )?occurred|something went wrong|"
    r"\w*(?:Error|Exception)(?:: |\(|$)|ERROR_\w+|Traceback \(most recent call last\)|"
    r"error (?:executing|calling|reading|writing|opening|getting|fetching|checking|searching|creating|turning"
    r"|processing|running|loading|"
    r"parsing|updating|deleting|while|in|during|from|retrieving|listing|connecting)\b|"
    r"failed to \w+|failure to \w+|\[(?:denied|not_found|error|failed|timeout|forbidden)\b|MCP error\b|[エ]ラー"
    r"|错误|錯誤|失败|MCP 工具错误",
    re.IGNORECASE,
)
"""Openings that announce a failure in so many words."""
_TERSE = Pattern(
    r"(?:could not|couldn't|cannot (?!is\b|and\b)|can't|can not|unable to|refusing to|access denied|permission denied"
    r"|unauthori[sz]ed|forbidden|no such"
    r"|not (?:allowed|permitted|found|authori[sz]ed|authenticated|logged in|supported|implemented|available)\b"
    r"|unknown (?:tool|action|command|argument|parameter|id|link|method|file|source|resource|fetch)\b"
    r"|invalid (?:\w+ )?\w+ ?(?:$|[.:,;'\"(\[<]|format|value|for\b|provided)|bad (?:credentials|request|gateway)"
    r"|missing (?:required|argument|parameter|api|access)|(?:request|connection) (?:refused|failed|timed out)"
    r"|timed out\b|timeout(?:$|[:.]| (?:after|while|waiting|exceeded|error))|rate limit|too many requests"
    r"|retry later"
    r"|HTTP (?:error )?[45]\d\d|[45]\d\d (?:bad |unauthori|forbidden|not |method |conflict|gone|payload |too many"
    r"|internal |service |gateway |unprocessable|request )|expected \d+ \w+ but|exact match not found"
    r"|(?:oops|sorry|uh oh)\b.{0,60}\b(?:couldn't|could not|can't|cannot|unable|wrong|error|fail)"
    r"|[\w./-]{1,20}: (?:\w+: )?(?:line \d+: )?(?:error: |fatal: |cannot |can't |permission denied|command not found)"
    r"|[\w./-]{1,20}: .{1,200}(?:No such file or directory|command not found|Permission denied)$"
    r"|(?!.{0,40}\b(?:tests?|checks?|jobs?|runs?|steps?|items?|files?|builds?) )[\w'-]+(?: [\w'-]+){0,3} "
    r"(?:failed|aborted|rejected|refused|errored)(?::| with | because | due to )"
    r"|(?:process |command )?exited with (?:non-zero )?(?:exit )?(?:code|status) [1-9]|未找到|找不到)",
    re.IGNORECASE | re.MULTILINE,
)
"""Openings that tell of a failure where the whole text is short."""
_ZERO = Pattern(r"[\w ]{0,20}(?:errors?|failures?|failed|exceptions?)\W{1,3}(?:0|none|null|nil)\b", re.IGNORECASE)
"""Openings that count failures and find none."""
_VERDICT = Pattern(
    r"(?:^[\w '\"-]{1,40} not found(?::| \(| in| for| at)|\bdo(?:es)? not exist\b|\bdoesn't exist\b"
    r"|\bnot found(?: (?:in|for|at|by|or|with)\b.*)?[.!)]?$|\bnot found or\b|\bis required\b"
    r"|\bis not (?:a valid|valid|allowed|supported|available|writ(?:e)?able|installed|running|configured)\b"
    r"|\bare required\b|\brate limit exceeded\b|\b(?:access|permission) denied\b|\bno active session\b"
    r"|\bmust be (?:one of|between|a |an |at )|\bhas expired\b|\bwas refused\b|\btimed out\b|\balready exists?\b"
    r"|\b(?:token|session|credentials?|key|password|login)\b.{0,20}"
    r"\b(?:expired|revoked|is invalid|missing|not configured|not set|required)\b"
    r"|\bexceeded (?:your|the) (?:\w+ ){0,2}(?:quota|limit)|\boverloaded\b|\btry again later\b"
    r"|仍超时|見つかりません|\bnot found\b.{0,12}$)",
    re.IGNORECASE,
)
"""Endings and turns that tell of a failure where the text is one short line."""
_SIGN_IN = Pattern(
    r"<title[^>]*>[^<]{0,60}\b(?:sign[ -]?in|log[ -]?in|login|single sign|authenticat)|<h1>\s*(?:log|sign) in",
    re.IGNORECASE,
)
_ERROR_PAGE = Pattern(r"<title[^>]*>\s*([45]\d\d)\b[^<]{0,60}", re.IGNORECASE)
_FAULT_CODE = Pattern(r"<(?:\w+:)?(?:Fault|ErrorCode)>\s*(?!0\b|0x0+\b|NoError|Success)([^<]{1,80})", re.IGNORECASE)
_PAGE_STATUS = Pattern(r"^- HTTP status: ([45]\d\d)\b.*$", re.MULTILINE)
_ITEM = Pattern(r"^[^\s:][^:\n]{0,200}?: (?:Error|ERROR|FAILED|Failed)\b[ :-]", re.MULTILINE)
_ITEM_LINE = Pattern(r"^[^\s:][^:\n]{0,200}?: \S", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Opening:
    """A text that tells of a failure: the telling line, how sure (0 to 1), and the share of the whole that failed."""

    line: str
    sure: float
    share: float = 1.0


def opening_of(text: str, *, reads: bool) -> Opening | None:
    """The failure that a text tells of.

    Args:
        text: the text of a result that was declared a success.
        reads: the action gives back texts made by others (files, logs, pages), so that an opening may be quoted.
    """
    body = text.strip()
    if not body:
        return None
    if body.startswith("<"):
        return _in_markup(body)
    items = _in_items(body)
    if items is not None:
        return items
    head = body[:1200]
    first = _DECORATION.sub("", head).partition("\n")[0].strip()
    lines = body.count("\n") + 1
    short = len(body) <= 400 and lines <= 4
    if _ZERO.match(first):
        return None
    if _LOUD.match(first) and not (reads and lines > 2):
        return Opening(first[:300], 0.9 if short else 0.7)
    if _HEADING.match(body) and (not reads or _MISSING.match(first)):
        return Opening(first[:300], 0.6)
    if reads and lines > 1:
        return None
    if (short or (lines <= 30 and len(body) <= 1500)) and _TERSE.match(first):
        return Opening(first[:300], 0.75 if short else 0.6)
    if lines == 1 and len(body) <= 240 and _VERDICT.search(first) and not _LIST.match(first):
        return Opening(first[:300], 0.65)
    return None


def page_status(text: str) -> Opening | None:
    """The bad HTTP status that a browser's report of a visited page states."""
    page = _PAGE_STATUS.search(text[:1200])
    return Opening(page[0], 0.6) if page is not None else None


_HEADING = Pattern(r"#{1,4} [^\n:]{0,80}\b(?:not found|failed|error:|denied|invalid)\b", re.IGNORECASE)
_MISSING = Pattern(r"\w[\w ]{0,20} not found\b", re.IGNORECASE)
_LIST = Pattern(
    r"(?:found|no results|no matches|no matching|0 |\d+ (?:results|matches|items)|success|ok\b|done|deleted"
    r"|created|updated|added|removed|saved|wrote|moved|copied|sent)",
    re.IGNORECASE,
)


def _in_markup(body: str) -> Opening | None:
    head = body[:4000]
    if _SIGN_IN.search(head):
        return Opening("a sign-in page came instead of a result: authentication required", 0.7)
    page = _ERROR_PAGE.search(head)
    if page is not None:
        return Opening(re.sub(r"<[^>]*>", " ", page[0]).strip(), 0.7)
    fault = _FAULT_CODE.search(head)
    if fault is not None:
        return Opening(re.sub(r"\s*<[^>]*>\s*", " ", head[fault.start() : fault.start() + 300]).strip(), 0.8)
    return None


def _in_items(body: str) -> Opening | None:
    """`name: Error - why` lines among `name: …` lines: a batch of which a part failed."""
    if len(body) > 20_000:
        body = body[:20_000]
    lines = [line for line in body.split("\n") if line.strip()]
    if len(lines) < 2:
        return None
    bad = [line for line in lines if _ITEM.match(line)]
    like = [line for line in lines if _ITEM_LINE.match(line)]
    if not bad or len(like) < 2 or lines[0] not in like:
        return None
    if bad[0] not in lines[:12]:
        return None
    return Opening(bad[0][:300], 0.75, len(bad) / len(like))
