"""Text as a model can read it: cleaned of what no reader sees, and shortened to head, findings and tail."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass

from .encoding import whole_surrogates
from .tokens import estimate

_ANSI = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[@-Z\\-_])")
_UNSEEN = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\u200b\u2060\ufeff\ufff9-\ufffb\u202a-\u202e\u2066-\u2069]")
_SUSPECT = re.compile("[\x00-\x08\x0b-\x1f\x7f\u0300-\u036f\u200b\u2060\ufeff\ufff9-\ufffb\u202a-\u202e\u2066-\u2069]")
_ALARM = re.compile(r"\b(?:error|fail(?:ed|ure)?|fatal|exception|traceback|panic|critical|warn(?:ing)?|denied)\b", re.I)
_WORD_JOINERS = re.compile("[\u200c\u200d]")


@dataclass(frozen=True, slots=True)
class Cleaned:
    """A text and what was taken out of it, in words; empty when nothing was."""

    text: str
    removed: tuple[str, ...] = ()


def clean(text: str) -> Cleaned:
    """Strip terminal codes, control and zero-width characters, mend surrogates and line ends, compose to NFC."""
    if text.isascii() and text.isprintable():
        return Cleaned(text)
    removed: list[str] = []
    mended = whole_surrogates(text)
    if "\ufffd" in mended and "\ufffd" not in text:
        removed.append("bad characters replaced")
    if "\x1b" in mended:
        mended, count = _ANSI.subn("", mended)
        if count:
            removed.append("terminal colours removed")
    if "\r" in mended:
        mended = mended.replace("\r\n", "\n").replace("\r", "\n")
    if _SUSPECT.search(mended):
        mended, count = _UNSEEN.subn("", mended)
        if count:
            removed.append("invisible characters removed")
    if not mended.isascii() and not unicodedata.is_normalized("NFC", mended):
        mended = unicodedata.normalize("NFC", mended)
    return Cleaned(mended, tuple(removed))


@dataclass(frozen=True, slots=True)
class Shortened:
    """A text within a budget.

    `lines` and `characters` say how much was left out; 0 and 0 when nothing was.
    """

    text: str
    characters: int = 0
    lines: int = 0


def shorten(text: str, budget: int, where: str) -> Shortened:
    """Fit a text into a budget: its head, lines that sound like trouble, and its tail.

    Args:
        text: the text, cleaned or not; only what is shown is looked at closely.
        budget: tokens.
        where: how the rest can be read, said at the gap.
    """
    if len(text) <= budget or (len(text) <= budget * 8 and estimate(text) <= budget):
        return Shortened(text)
    per_token = max(1.0, len(text[:4000]) / max(1, estimate(text[:4000])))
    for room in (0.92, 0.72, 0.5, 0.3, 0.15, 0.06):
        shown = _cut(text, int(budget * per_token * room), where)
        if estimate(shown.text) <= budget:
            return shown
    return _cut(text, max(20, budget // 3), where)


def _cut(text: str, room: int, where: str) -> Shortened:
    """Head and tail of about `room` characters together, cut at line ends where there are any near."""
    head_end = _line_end(text, int(room * 0.62))
    tail_start = max(head_end, _line_start(text, len(text) - int(room * 0.26)))
    middle = text[head_end:tail_start]
    if not middle:
        return Shortened(text)
    findings = _findings(text, head_end, tail_start, int(room * 0.12))
    lines = middle.count("\n")
    total = text.count("\n") + 1
    first = text.count("\n", 0, head_end) + 1
    span = f", lines {first} to {first + lines} of {total}" if lines else ""
    gap = f"[… {len(middle):,} of {len(text):,} characters left out{span}; {where}]"
    if findings:
        gap += "\n" + findings + "\n[…]"
    head, tail = text[:head_end].rstrip("\n"), text[tail_start:].lstrip("\n")
    return Shortened(f"{head}\n{gap}\n{tail}", len(middle), lines)


def _line_end(text: str, at: int) -> int:
    """The end of a line shortly before `at`, or `at` itself where lines are long; never inside a surrogate pair."""
    found = text.rfind("\n", int(at * 0.7), at)
    return found + 1 if found >= 0 else at


def _line_start(text: str, at: int) -> int:
    span = len(text) - at
    found = text.find("\n", at, at + int(span * 0.3))
    return found + 1 if found >= 0 else at


def _findings(text: str, start: int, end: int, room: int) -> str:
    """Lines of the left-out middle that sound like trouble, numbered, folded when they repeat, within `room`."""
    if room < 80:
        return ""
    found: list[str] = []
    seen: dict[str, int] = {}
    used = 0
    position, number = start, text.count("\n", 0, start) + 1
    limit = min(end, start + 2_000_000)
    for match in _ALARM.finditer(text, start, limit):
        if match.start() < position:
            continue
        begin = text.rfind("\n", start, match.start()) + 1 or start
        stop = text.find("\n", match.start(), limit)
        stop = limit if stop < 0 else stop
        number += text.count("\n", position, begin)
        position = begin
        line = text[begin : min(stop, begin + 160)].strip()
        key = re.sub(r"\d+", "0", line)
        seen[key] = seen.get(key, 0) + 1
        if seen[key] == 1:
            used += len(line) + 8
            if used > room:
                break
            found.append(f"{number}: {line}")
        position, number = stop + 1, number + 1
        if sum(seen.values()) >= 400:
            break
    return "\n".join(found)
