"""Ids of actions, and names that come near a mistaken one. Pure functions.

The id of an action depends on nothing but the config name of its server and its original name, so it is the same in
every home, replica and index, whatever else is configured and in whatever order.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable
from dataclasses import dataclass

LONGEST = 48
"""Characters of an id: function names are capped at 64 by the model APIs, and clients put a prefix of their own in
front."""
SEPARATOR = "__"
HASH_DIGITS = 8
MOST_COMPARED = 200
"""Letters of a mistaken name that is compared with others at all."""

_CLEAN = re.compile(r"[a-zA-Z0-9_-]+\Z")
_HASHED = re.compile(r"_[0-9a-f]{8}\Z")
_DIRT = re.compile(r"[^a-zA-Z0-9_-]+")
_SERVER_ROOM = 16
_FOLD = {code: None for code in range(128) if not chr(code).isalnum()}
_NOT_PLAIN = re.compile(r"[^a-z0-9]+")


def action_id(server: str, name: str) -> str:
    """The id of an action: `server__name` where that is clean, else a cleaned stem and eight digits of a hash.

    Clean means: at most 48 characters of `[a-zA-Z0-9_-]`; no `__` in the server's name and no `_` at its end, so that
    no two pairs share an id; and no ending that looks like the hash of another id.

    Args:
        server: the config name of the server.
        name: what the server itself calls the action.
    """
    plain = f"{server}{SEPARATOR}{name}"
    if name and len(plain) <= LONGEST and _is_plain(server) and _CLEAN.match(name) and not _HASHED.search(name):
        return plain
    return f"{_stem(server, name)}_{_digest(server, name)}"


def _is_plain(server: str) -> bool:
    return _CLEAN.match(server) is not None and SEPARATOR not in server and not server.endswith("_")


def _digest(server: str, name: str) -> str:
    """Hash of the pair; the length in front keeps ("a", "bc") and ("ab", "c") apart."""
    first, second = (part.encode("utf-8", "surrogatepass") for part in (server, name))
    return hashlib.sha256(b"%d:%s%s" % (len(first), first, second)).hexdigest()[:HASH_DIGITS]


def _stem(server: str, name: str) -> str:
    room = LONGEST - HASH_DIGITS - 1
    front = _DIRT.sub("_", server).strip("_-")[:_SERVER_ROOM].rstrip("_-") or "server"
    back = _DIRT.sub("_", name).strip("_-") or "action"
    return f"{front}{SEPARATOR}{back[: room - len(front) - len(SEPARATOR)].rstrip('_-')}"


def folded(name: str) -> str:
    """A name without case and separators, for comparing spellings: its ASCII letters and digits."""
    return name.lower().translate(_FOLD) if name.isascii() else _NOT_PLAIN.sub("", name.lower())


def distance(left: str, right: str, most: int) -> int:
    """Edits (insert, delete, replace, swap of neighbours) between two texts; `most + 1` as soon as there are more.

    The restricted Damerau-Levenshtein distance, row by row.
    """
    if abs(len(left) - len(right)) > most:
        return most + 1
    before: list[int] = []
    last = list(range(len(right) + 1))
    for row, first in enumerate(left, 1):
        line = [row]
        for column, second in enumerate(right, 1):
            cost = min(last[column] + 1, line[column - 1] + 1, last[column - 1] + (first != second))
            if row > 1 and column > 1 and first == right[column - 2] and left[row - 2] == second:
                cost = min(cost, before[column - 2] + 1)
            line.append(cost)
        if min(line) > most:
            return most + 1
        before, last = last, line
    return last[-1]


@dataclass(frozen=True, slots=True)
class Known:
    """A name prepared for comparing: folded, with the set of its letters as bits."""

    name: str
    folded: str
    letters: int


def prepared(names: Iterable[str]) -> list[Known]:
    """Names ready for `closest`."""
    found = []
    for name in names:
        flat = folded(name)
        found.append(Known(name, flat, _letters(flat)))
    return found


def closest(word: str, known: Iterable[Known], *, limit: int = 5) -> list[str]:
    """The known names that `word` probably means, the nearest first; empty when none is near.

    Near is: the same without case and separators, or at most a quarter of the letters (at least one, at most four)
    edited.
    """
    wanted = folded(word)
    if not wanted or len(wanted) > MOST_COMPARED:
        return []
    most = min(max(len(wanted) // 4, 1), 4)
    letters = _letters(wanted)
    found: list[tuple[int, str]] = []
    for other in known:
        # An edit changes at most two letters of the set: most names are ruled out by that alone.
        if abs(len(other.folded) - len(wanted)) > most or (other.letters ^ letters).bit_count() > 2 * most:
            continue
        edits = distance(wanted, other.folded, most)
        if edits <= most:
            found.append((edits, other.name))
    return [name for _, name in sorted(found)[:limit]]


_BITS = {chr(code): 1 << (code - 48) for code in range(48, 123)}


def _letters(flat: str) -> int:
    """The set of letters of a folded name, one bit each."""
    return sum(map(_BITS.__getitem__, set(flat)))
