"""Base64 and other long codes hidden in text: found, and replaced by a short name."""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Callable
from dataclasses import dataclass

from .media import sniff

LONGEST = 200
"""Characters of code that may stay in a text."""
_RUN = re.compile(
    r"(?:data:(?P<mime>[\w.+/-]{1,80})(?:;[\w=.-]{1,60})*;base64,)?"
    r"(?P<code>(?:[A-Za-z0-9+/_-]{60,}+\r?\n){2,}+[A-Za-z0-9+/_-]*+={0,2}|[A-Za-z0-9+/_-]{201,}+={0,2})"
)
_MAYBE = re.compile(r"[A-Za-z0-9+/_-]{60}")
_HEX = re.compile(r"[0-9a-f\r\n]+|[0-9A-F\r\n]+")


@dataclass(frozen=True, slots=True)
class Code:
    """A code found in a text: where, how long, and what it holds as far as its first bytes tell."""

    start: int
    end: int
    mime: str

    @property
    def size(self) -> int:
        return self.end - self.start


_SIGNS = bytes(0x61 if (chr(c).isalnum() and c < 128) or chr(c) in "+/_-=\\\r\n" else 0x20 for c in range(256))
_LONG_RUN = b"a" * LONGEST


def may_hold_code(data: bytes) -> bool:
    """Whether a text or a JSON document has an unbroken run long enough to be a code; fast, and never misses one."""
    return data.translate(_SIGNS).find(_LONG_RUN) >= 0


def find_codes(text: str) -> list[Code]:
    """Every base64 or hexadecimal code of more than 200 characters, in order."""
    if len(text) <= LONGEST or not may_hold_code(text.encode("utf-8", "surrogatepass")):
        return []
    found: list[Code] = []
    for match in _RUN.finditer(text):
        code = match["code"]
        if match["mime"] is not None or _is_code(code):
            found.append(Code(match.start(), match.end(), sniff_base64(code) or match["mime"] or ""))
    return found


def ends(text: str, head: int, tail: int) -> tuple[str, str]:
    """The first and the last part of a long text, about `head` and `tail` characters, cut between words only."""
    after = _BLANK.search(text, head)
    head_end = after.start() if after is not None else len(text)
    start = max(head_end, len(text) - tail)
    before = max(text.rfind(" ", head_end, start), text.rfind("\n", head_end, start))
    return text[:head_end], text[max(head_end, before) :]


_BLANK = re.compile(r"\s")


def replace_codes(text: str, name: Callable[[Code], str]) -> str:
    """The text with every long code replaced by what `name` says of it."""
    codes = find_codes(text)
    if not codes:
        return text
    parts: list[str] = []
    at = 0
    for code in codes:
        parts += [text[at : code.start], name(code)]
        at = code.end
    return "".join([*parts, text[at:]])


def is_code(text: str) -> bool:
    """Whether a whole string is one long code."""
    if not _MAYBE.search(text[:300]):
        return False
    codes = find_codes(text)
    return len(codes) == 1 and codes[0].size >= len(text.strip())


def sniff_base64(code: str) -> str | None:
    """The media type that the first bytes of a base64 text prove."""
    head = "".join(code[:420].split())[:400].replace("-", "+").replace("_", "/")
    try:
        return sniff(base64.b64decode(head[: len(head) // 4 * 4]))
    except (binascii.Error, ValueError):
        return None


def _is_code(run: str) -> bool:
    """Whether a long unbroken run is a code and not a long word, a path or a rule of dashes."""
    sample = run[:2000]
    if len(set(sample)) < 3:
        return sample.startswith("AAAA")
    if _HEX.fullmatch(sample):
        return len(set(sample) - {"\r", "\n"}) >= 8
    if not any(c.isupper() for c in sample) or not any(c.islower() or c.isdigit() for c in sample):
        return sample.count("A") * 2 > len(sample) or sniff_base64(run) is not None
    steps = [part for part in re.split(r"[/_-]", sample) if part]
    return not (len(steps) > 1 and len(sample) / len(steps) < 16)
