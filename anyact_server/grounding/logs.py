"""Logs and stack traces: how many lines of which level, the troubles with their line numbers, the two ends."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence
from itertools import islice

from .lines import clip, last_taken, taken

_READ = 8_000_000
"""Characters of a log that are read line by line."""
_LEVEL = re.compile(
    r"\b(TRACE|DEBUG|INFO|NOTICE|WARN(?:ING)?|ERROR|FATAL|CRITICAL|PANIC)\b"
    r"|\b(trace|debug|info|notice|warn(?:ing)?|error|fatal|critical|panic)\b(?=[\]:\"|]|$)"
)
_ALARM = re.compile(
    r"\b(?:error|err|fail(?:ed|ure|s)?|fatal|exception|traceback|panic|critical|warn(?:ing)?|denied|refused|timed out"
    r"|timeout|aborted|killed)\b|\" 5\d\d |[a-z]Error\b|[a-z]Exception\b",
    re.IGNORECASE,
)
_GRAVE = re.compile(
    r"\b(?:error|fatal|exception|traceback|panic|critical)\b|[a-z]Error\b|[a-z]Exception\b", re.IGNORECASE
)
_VARIES = re.compile(r"0x[0-9a-f]+|[0-9a-f]{8}-[0-9a-f-]{27}|\d+(?:[.:,]\d+)*", re.IGNORECASE)
_SPACES = re.compile(r"\s+")
_KNOWN = {"WARNING": "WARN"}
_ORDINARY = 4
"""Shapes of ordinary lines that are told with their count."""
_SHAPED = 4_000
"""Lines whose shapes are counted; of a longer log evenly spaced ones, their counts multiplied."""


def log_outline(text: str, where: str) -> Callable[[int], tuple[str, int]] | None:
    """How to show a log in a given room."""
    looked = text[:_READ]
    lines = looked.split("\n")
    if lines and not lines[-1].strip():
        lines.pop()
    if len(lines) < 8:
        return None
    levels, troubles = _read(lines)
    shapes = _shapes(lines, {at for at, _ in troubles})
    total = f"{len(lines):,} lines" if len(looked) == len(text) else f"the first {len(lines):,} lines are counted here"
    counts = ", ".join(f"{name} {count:,}" for name, count in levels.most_common())
    head = f"[log, {total}{f'; {counts}' if counts else ''}; {where}]"

    about = "about " if len(lines) >= 2 * _SHAPED else ""

    def make(room: int) -> tuple[str, int]:
        left = room - len(head)
        folded = _folded(troubles)
        first = taken(lines, int(left * (0.14 if folded else 0.4)))
        last = last_taken(lines[len(first) :], int(left * (0.16 if folded else 0.35)))
        left -= sum(map(len, first)) + sum(map(len, last))
        found = _chosen(folded, left - 60)
        left -= sum(map(len, found))
        parts = [head, *first]
        between = len(lines) - len(first) - len(last)
        if between > 0:
            parts.append(f"[… {between:,} lines ({len(first) + 1:,} to {len(first) + between:,}) left out]")
        if found:
            share = "" if len(found) == len(folded) else f", {len(found)} of {len(folded)} kinds"
            parts += [f"[troubles, by line number{share}]", *found]
        common = taken([f"{about}{count:,} x {shape}" for shape, count in shapes], max(0, left - 40), 160)
        if common:
            parts += ["[most frequent other lines, # for what varies]", *common]
        if last:
            parts += ["[the end]", *last] if between > 0 else last
        return "\n".join(parts), sum(map(len, first)) + sum(map(len, last)) + sum(map(len, found))

    return make


def _read(lines: Sequence[str]) -> tuple[Counter[str], list[tuple[int, str]]]:
    """How many lines have which level, and the lines that tell of trouble."""
    levels: Counter[str] = Counter()
    troubles: list[tuple[int, str]] = []
    for at, line in enumerate(lines):
        start = line[:200]
        match = _LEVEL.search(start)
        name = ""
        if match is not None:
            name = match[0].upper()
            name = _KNOWN.get(name, name)
            levels[name] += 1
        if name in ("INFO", "DEBUG", "TRACE", "NOTICE"):
            continue
        if name or _ALARM.search(start):
            troubles.append((at, line))
    return levels, troubles


def _shape(line: str) -> str:
    return _SPACES.sub(" ", _VARIES.sub("#", line[:160])).strip()


def _shapes(lines: Sequence[str], skip: set[int]) -> list[tuple[str, int]]:
    """The most frequent shapes of ordinary lines, where they recur."""
    step = max(1, len(lines) // _SHAPED)
    sample = islice(enumerate(lines), 0, None, step)
    found = Counter(_shape(line) for at, line in sample if at not in skip and line.strip())
    return [(shape, count * step) for shape, count in found.most_common(_ORDINARY) if count >= 3]


def _folded(troubles: Sequence[tuple[int, str]]) -> list[tuple[int, str, int, int]]:
    """Troubles of one shape as one: (first line, its text, how many, last line), grave ones first."""
    kinds: dict[str, list[tuple[int, str]]] = {}
    for at, line in troubles:
        kinds.setdefault(_shape(line), []).append((at, line))
    folded = [(found[0][0], found[0][1], len(found), found[-1][0]) for found in kinds.values()]
    return sorted(folded, key=lambda one: (_GRAVE.search(one[1]) is None, one[0]))


def _chosen(folded: Sequence[tuple[int, str, int, int]], room: int) -> list[str]:
    """As many kinds of trouble as fit, in the order of the log."""
    chosen: list[tuple[int, str]] = []
    for at, line, count, last in folded:
        again = f" [{count:,} such lines, the last {last + 1:,}]" if count > 1 else ""
        told = f"{at + 1}: {clip(line)}{again}"
        room -= len(told) + 1
        if room < 0:
            break
        chosen.append((at, told))
    return [told for _, told in sorted(chosen)]


_FRAME = re.compile(r"\s*(?:at |File \"|in |\d+: |goroutine |#\d+ )|\s{4,}\S")


def trace_outline(text: str, where: str) -> Callable[[int], tuple[str, int]] | None:
    """How to show a stack trace in a given room: every line that is no frame, then frames from the two ends."""
    lines = text.rstrip().split("\n")
    if len(lines) < 8:
        return None
    telling = [at for at, line in enumerate(lines) if line.strip() and not _FRAME.match(line)]
    frames = len(lines) - len(telling)
    head = f"[stack trace, {len(lines):,} lines, {frames:,} of frames; {where}]"

    def make(room: int) -> tuple[str, int]:
        left = room - len(head)
        chosen: set[int] = set()
        spread = [
            *telling[-8:][::-1],
            *telling[:8],
            *range(len(lines) - 1, len(lines) // 2, -1),
            *range(len(lines) // 2),
        ]
        for at in spread:
            if at in chosen:
                continue
            left -= len(clip(lines[at])) + 1
            if left < 0:
                break
            chosen.add(at)
        parts, before = [head], -1
        for at in sorted(chosen):
            if at > before + 1:
                parts.append(f"[… {at - before - 1:,} lines left out]")
            parts.append(clip(lines[at]))
            before = at
        if before < len(lines) - 1:
            parts.append(f"[… {len(lines) - 1 - before:,} lines left out]")
        return "\n".join(parts), sum(len(lines[at]) for at in islice(chosen, len(chosen)))

    return make
