"""Unified differences: every file with what was added and removed, then the changed lines as far as there is room."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from .lines import taken

_START = re.compile(r"diff --git a/(.+?) b/(.+)$")
_HUNK = re.compile(r"@@ -\d+(?:,(\d+))? \+\d+(?:,(\d+))? @@")


_LEAST = 160
"""Characters of a file's changes; less says nothing."""


@dataclass(slots=True)
class _File:
    name: str = ""
    what: str = ""
    added: int = 0
    removed: int = 0
    lines: list[str] = field(default_factory=list)


def diff_outline(text: str, where: str) -> Callable[[int], tuple[str, int]] | None:
    """How to show a difference in a given room; None where no file is named in it."""
    files = read_diff(text.split("\n"))
    if not files:
        return None
    added, removed = sum(one.added for one in files), sum(one.removed for one in files)
    plural = "file" if len(files) == 1 else "files"
    head = f"[difference, {len(files):,} {plural}, +{added:,} -{removed:,}; {where}]"
    listed = [f"{one.what}{one.name} +{one.added} -{one.removed}" for one in files]

    def make(room: int) -> tuple[str, int]:
        names = taken(listed, int((room - len(head)) * 0.6))
        parts = [head, *names]
        if len(names) < len(listed):
            parts.append(f"[… {len(listed) - len(names):,} more files]")
        left = room - sum(map(len, parts)) - len(parts)
        shown, body = 0, []
        for at, one in enumerate(files):
            fair = max(_LEAST, left // (len(files) - at))
            if fair > left:
                break
            changes = [line for line in one.lines if line[:1] in ("+", "-", "@")]
            lines = taken(changes, fair - len(one.name) - 30)
            if not lines:
                continue
            rest = len(changes) - len(lines)
            body += [f"--- {one.name}", *lines, *([f"[… {rest:,} more lines of it]"] if rest else [])]
            used = sum(map(len, lines)) + len(lines)
            shown += used
            left -= used + len(one.name) + 30
        return "\n".join([*parts, *body]), shown

    return make


def read_diff(lines: Sequence[str]) -> list[_File]:
    """The files of a unified difference, with the lines of their hunks."""
    files: list[_File] = []
    old = new = 0
    for line in lines:
        if old > 0 or new > 0:
            sign = line[:1]
            old -= sign in (" ", "-", "")
            new -= sign in (" ", "+", "")
            files[-1].added += sign == "+"
            files[-1].removed += sign == "-"
            files[-1].lines.append(line)
            continue
        start = _START.match(line)
        hunk = _HUNK.match(line)
        if start is not None:
            files.append(_File(start[2], "" if start[1] == start[2] else f"{start[1]} => "))
        elif hunk is not None and files:
            old, new = int(hunk[1] or 1), int(hunk[2] or 1)
            files[-1].lines.append(line)
        elif line.startswith("new file"):
            files[-1].what = "new: "
        elif line.startswith("deleted file"):
            files[-1].what = "deleted: "
        elif line.startswith("--- ") and (not files or files[-1].lines):
            files.append(_File(_path(line)))
        elif line.startswith("+++ ") and files and not files[-1].lines:
            name = _path(line)
            files[-1].name = files[-1].name if name == "/dev/null" else name
    return [one for one in files if one.name]


def _path(line: str) -> str:
    path = line[4:].partition("\t")[0].strip()
    return path[2:] if path[:2] in ("a/", "b/") else path
