"""A copy of a value in which what is too long is cut, every cut named by JSON pointer, long lists described."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

from anyact_server.types import Json

from .binaries import LONGEST, Code, ends, replace_codes
from .columns import Column, column, columns_of, standing_out, told
from .parts import escape


@dataclass(frozen=True, slots=True)
class Gap:
    """Something left out: where it is (JSON pointer), what, and how many."""

    pointer: str
    what: str
    count: int

    def __str__(self) -> str:
        return f"… {self.count:,} more {self.what}: {self.pointer or '/'}"


class Cut:
    """Stands in a pruned tree for a gap; orjson writes its text."""

    __slots__ = ("about", "gap", "words")

    def __init__(self, gap: Gap, words: str | None = None, about: str = "") -> None:
        self.gap = gap
        self.words = words or str(gap)
        self.about = about

    def __str__(self) -> str:
        return f"{self.words}; {self.about}" if self.about else self.words


Name = Callable[[str, Code], str]
"""Says in a few words what stands in place of a long code: (JSON pointer of the string, the code) to text."""


class TooMuch(Exception):
    """A preview has become longer than it may be."""


class Facts:
    """What the columns of long lists hold; found once, however often a value is copied."""

    def __init__(self) -> None:
        self._known: dict[int, list[Column]] = {}

    def of(self, value: Sequence[Json]) -> list[Column]:
        """The columns of a list of like objects, or the one of a list of plain values; empty for any other list."""
        key = id(value)
        if key not in self._known:
            self._known[key] = _described(value)
        return self._known[key]


def _described(value: Sequence[Json]) -> list[Column]:
    kinds = set(map(type, value))
    if kinds == {dict}:
        return columns_of(value)
    if kinds <= _PLAIN and len(value) >= _DESCRIBED:
        return [column("", value)]
    return []


_PLAIN = frozenset({int, float, str, bool, type(None)})
_DESCRIBED = 6
"""Plain values in a list from which on they are described."""


class Pruner:
    """Copies a value with long lists, objects and strings cut; `gaps` holds every cut, and it stands in the copy.

    Args:
        items: of a list that are shown; of an object at least 12 keys, twice as many.
        chars: of a string that are shown.
        name: names long codes.
        limit: characters of the copy, roughly.
        deepest: levels below which objects and lists are told by their size alone.
        facts: of the value's lists.
    """

    def __init__(self, items: int, chars: int, name: Name, limit: int, deepest: int, facts: Facts) -> None:
        self._facts = facts
        self._left = limit
        self._items = items
        self._keys = max(12, items * 2)
        self._chars = chars
        self._name = name
        self._deepest = deepest
        self.gaps: list[Gap] = []

    def prune(self, value: Json, pointer: str, depth: int) -> Json:
        if isinstance(value, str):
            text = value if len(value) <= _SHORT else self._text(value, pointer)
            self._left -= len(text) if isinstance(text, str) else len(text.words)
            if self._left < 0:
                raise TooMuch
            return text
        self._left -= 3
        if isinstance(value, Mapping):
            return (
                self._whole(value, "keys", pointer) if depth >= self._deepest else self._object(value, pointer, depth)
            )
        if isinstance(value, Sequence):
            return self._whole(value, "items", pointer) if depth >= self._deepest else self._list(value, pointer, depth)
        return value

    def _cut(self, pointer: str, what: str, count: int, words: str | None = None) -> Cut:
        gap = Gap(pointer, what, count)
        self.gaps.append(gap)
        return Cut(gap, words)

    def _whole(self, value: Mapping[str, Any] | Sequence[Any], what: str, pointer: str) -> Json:
        """An object or a list below the last level, as its size and, of an object, its first keys."""
        if not value:
            return value
        words = None
        if isinstance(value, Mapping):
            names = ", ".join(str(key)[:_SHORT] for key in islice(value, _NAMED))
            more = ", …" if len(value) > _NAMED else ""
            words = f"… {len(value):,} more keys ({names}{more}): {pointer or '/'}"
        return self._cut(pointer, what, len(value), words)

    def _text(self, value: str, pointer: str) -> Json:
        if len(value) > LONGEST:
            head, tail = ends(value, _LOOKED_AT, _LOOKED_AT // 4)
            named = replace_codes(head, lambda code: self._name(pointer, code))
            if not tail and (named != value and len(named) <= max(_SHORT * 8, self._chars * 1.25)):
                return named
            value = named if not tail else f"{named}{value[len(head) :]}"
        if len(value) <= self._chars * 1.25:
            return value
        left = len(value) - self._chars
        room = int(self._chars * 0.75)
        gap = Gap(pointer, "characters", left)
        words = f"{value[:room]} [{gap}] {value[len(value) - (self._chars - room) :]}"
        return self._cut(pointer, "characters", left, words)

    def _object(self, value: Mapping[str, Any], pointer: str, depth: int) -> Json:
        shown: dict[str, Json] = {}
        for key, part in value.items():
            if len(shown) >= self._keys:
                shown["…"] = self._cut(pointer, "keys", len(value) - self._keys)
                break
            if type(key) is str and len(key) > LONGEST:
                key = f"{key[:60]}…"  # such a key is data, and may be a code
            kind = type(part)
            if kind in _SCALARS or (kind is str and len(part) <= _SHORT):
                shown[key] = part
                self._left -= 8
            else:
                shown[key] = self.prune(part, f"{pointer}/{escape(str(key))}", depth + 1)
        return shown

    def _list(self, value: Sequence[Any], pointer: str, depth: int) -> Json:
        if len(value) <= self._items + 1:
            return [self.prune(part, f"{pointer}/{index}", depth + 1) for index, part in enumerate(value)]
        return self._cut_list(value, pointer, depth)

    def _cut_list(self, value: Sequence[Json], pointer: str, depth: int) -> list[Json]:
        """The first items, those that stand out, and the last, with words for each gap between them."""
        last = len(value) - 1
        columns = self._facts.of(value)
        odd = standing_out(columns, range(self._items), min(8, self._items // 2)) if columns else []
        places = [*range(self._items), *(at for at in odd if at != last), last]
        gap = Gap(pointer, "items", len(value) - len(places))
        self.gaps.append(gap)
        about = told(columns, min(_ABOUT, self._chars * 6))
        self._left -= len(about)
        shown: list[Json] = []
        before = -1
        for at in places:
            if at > before + 1:
                left = at - before - 1
                words = f"… {left:,} more items ({before + 1} to {at - 1}): {pointer or '/'}"
                shown.append(Cut(Gap(pointer, "items", left), words, about))
                about = ""
            shown.append(self.prune(value[at], f"{pointer}/{at}", depth + 1))
            before = at
        return shown


_ABOUT = 1600
"""Characters in which the columns of one list are told."""
_SCALARS = frozenset({int, float, bool, type(None)})
_SHORT = 24
_NAMED = 5
_LOOKED_AT = 200_000
"""Characters of one string that are searched for codes."""
