"""Text as a model can read it: cleaned of what no reader sees, and shortened to head, findings and tail."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable
from dataclasses import dataclass

from .binaries import ends, find_codes
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
    """A text within a budget; `characters` says how many were left out, 0 when none were."""

    text: str
    characters: int = 0


def shorten(text: str, budget: int, where: str, polish: Callable[[str], str] | None = None) -> Shortened:
    """Fit a text into a budget: its head, lines that sound like trouble, and its tail.

    Args:
        text: the text.
        budget: tokens.
        where: how the rest can be read, said at the gap.
        polish: makes the parts of the text fit to be shown; of a long text only the two ends are ever polished.
    """
    head, tail = (text, "") if len(text) <= _WHOLE else ends(text, _HEAD, _TAIL)
    whole = len(head) + len(tail) == len(text)
    if polish is not None:
        head, tail = polish(head), polish(tail) if tail else ""
    if whole:
        text = head = head + tail
        tail = ""
        if len(text) <= budget or (len(text) <= budget * 8 and estimate(text) <= budget):
            return Shortened(text)
    per_token = max(1.0, len(head[:4000]) / max(1, estimate(head[:4000])))
    shown = Shortened(text)
    for room in (0.92, 0.8, 0.66, 0.5, 0.3, 0.15, 0.06, 0.03):
        shown = _cut(text, head, tail, max(12, int(budget * per_token * room)), where)
        if estimate(shown.text) <= budget:
            return shown
    return shown


def cut(text: str, room: int, where: str) -> Shortened:
    """Head, findings and tail of a text in about `room` characters, unpolished."""
    head, tail = (text, "") if len(text) <= _WHOLE else ends(text, _HEAD, _TAIL)
    return _cut(text, head, tail, room, where)


_WHOLE = 100_000
"""Characters of a text that is polished whole."""
_HEAD = 120_000
_TAIL = 40_000


def _cut(text: str, head: str, tail: str, room: int, where: str) -> Shortened:
    """Head and tail of about `room` characters together, cut at line ends where there are any near.

    `tail` is empty where `head` is the whole text.
    """
    upper = head[: _line_end(head, int(room * 0.62))]
    lower = (tail or head[len(upper) :])[_line_start(tail or head[len(upper) :], int(room * 0.26)) :]
    left = len(text) - len(upper) - len(lower)
    if left <= 0:
        return Shortened(upper + lower)
    findings = _findings(text, len(upper), len(text) - len(lower), int(room * 0.12))
    total = text.count("\n") + 1
    first = upper.count("\n") + 1
    last = total - lower.count("\n")
    span = f", lines {first:,} to {last:,} of {total:,}" if last > first else ""
    gap = f"[… {left:,} of {len(text):,} characters left out{span}; {where}]"
    if findings:
        gap += f"\nnoticed between:\n{findings}\n[…]"
    upper, lower = upper.rstrip("\n"), lower.lstrip("\n")
    return Shortened("\n".join(part for part in (upper, gap, lower) if part), left)


def _line_end(text: str, at: int) -> int:
    """The end of a line shortly before `at`, or `at` itself where lines are long."""
    found = text.rfind("\n", int(at * 0.7), at)
    return found + 1 if found >= 0 else at


def _line_start(text: str, room: int) -> int:
    """Where the last `room` characters begin, at the start of a line where one is near."""
    at = max(0, len(text) - room)
    found = text.find("\n", at, at + int(room * 0.3))
    return found + 1 if found >= 0 else at


_SEARCHED = 200_000
"""Characters after the head and before the tail that are searched for lines that sound like trouble."""


def _findings(text: str, start: int, end: int, room: int) -> str:
    """Lines of the left-out middle that sound like trouble, numbered, folded when they repeat, within `room`."""
    if room < 80:
        return ""
    number = text.count("\n", 0, start) + 1
    found: list[str] = []
    seen: set[str] = set()
    used, position = 0, start
    for begin, stop in ((start, min(end, start + _SEARCHED)), (max(start + _SEARCHED, end - _SEARCHED), end)):
        for match in _ALARM.finditer(text, begin, max(begin, stop)):
            if match.start() < position:
                continue
            line_at = max(text.rfind("\n", start, match.start()) + 1, start)
            number += text.count("\n", position, line_at)
            line_end = text.find("\n", match.start(), end)
            line_end = end if line_end < 0 else line_end
            position = line_at
            line = text[line_at : min(line_end, line_at + 160)].strip()
            key = re.sub(r"\d+", "0", line)
            if key not in seen and not find_codes(line):
                seen.add(key)
                used += len(line) + 8
                if used > room:
                    return "\n".join(found)
                found.append(f"{number}: {line}")
            number += text.count("\n", position, min(line_end + 1, len(text)))
            position = line_end + 1
    return "\n".join(found)
