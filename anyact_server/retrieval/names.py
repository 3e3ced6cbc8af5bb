"""Finding the action that a name means, in any spelling and with one slip of the keyboard.

Spellings are compared as their letters and digits alone (`words.compact`). A spelling with one slip still equals the
known one in its first or in its last half, so both halves are kept as hashes and only names that share one are looked
at: microseconds among hundreds of thousands.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import blake2b

import numpy as np
from numpy.typing import NDArray

from .words import compact

Hashes = NDArray[np.uint64]
Ints = NDArray[np.int32]
Bytes = NDArray[np.uint8]

SHORTEST_SLIP = 2
"""Letters of the shortest text that can be a name with a slip; see `SHORTEST_SURE`."""
SHORTEST_SURE = 5
"""Letters of the shortest name that is found with a slip in any text. A shorter one is found only where the text is no
word that anybody uses: `list` must not be found by `last`, and must be by `lsit`."""
LONGEST = 160
"""Letters of the longest text that can be a name."""
FEW = 32
"""Spellings with one half up to which each is compared by itself; beyond, all of them at once."""
_MENTION = re.compile(r"[A-Za-z0-9]+(?:[_./:-]+[A-Za-z0-9]+)+|[a-z0-9]+(?:[A-Z][a-z0-9]*)+")
"""A word inside a sentence that is written as names of actions are: with underscores, dots or humps."""


@dataclass(frozen=True, slots=True)
class Names:
    """Spellings of the actions of one segment.

    Attributes:
        letters: every spelling in UTF-8, end to end.
        ends: where spelling `i` ends in `letters`.
        rows: the row of its action.
        whole: hash of each spelling, ascending; `whole_at` says which spelling it is.
        halves: hashes of first and last halves, ascending; `halves_at` likewise.
    """

    letters: Bytes
    ends: NDArray[np.int64]
    rows: Ints
    whole: Hashes
    whole_at: Ints
    halves: Hashes
    halves_at: Ints

    def spelling(self, at: int) -> str:
        """The spelling with this number."""
        start = int(self.ends[at - 1]) if at else 0
        return self.letters[start : int(self.ends[at])].tobytes().decode("utf-8")

    def exact(self, name: str) -> list[int]:
        """Rows of the actions that have exactly this compact spelling."""
        found = _equal(self.whole, self.whole_at, _hash(name))
        return list(dict.fromkeys(int(self.rows[at]) for at in found if self.spelling(at) == name))

    def slipped(self, name: str, shortest: int = SHORTEST_SURE) -> list[int]:
        """Rows of the actions that have a compact spelling one slip away from this one, of so many letters at least."""
        rows: dict[int, None] = {}
        for length in range(max(len(name) - 1, shortest), len(name) + 2):
            for half in _halves(name, length):
                for at in self._near(_equal(self.halves, self.halves_at, _hash(half)), name, length):
                    if int(self.rows[at]) not in rows and one_slip(self.spelling(at), name):
                        rows[int(self.rows[at])] = None
        return list(rows)

    def _near(self, candidates: list[int], name: str, length: int) -> list[int]:
        """Of many spellings of one length, those that share enough of their beginning and end with a name.

        A server of thousands of actions whose names differ in a number has thousands of spellings with one half.
        """
        if len(candidates) <= FEW or not name.isascii():
            return candidates
        at = np.array(candidates)
        starts = np.where(at > 0, self.ends[at - 1], 0)
        plain = self.ends[at] - starts == length
        others, at, starts = at[~plain], at[plain], starts[plain]
        letters = self.letters[starts[:, None] + np.arange(length)]
        given = np.frombuffer(name.encode(), np.uint8)
        shared = min(length, len(given))
        same = _run(letters[:, :shared] == given[:shared])
        same += _run(letters[:, length - shared :][:, ::-1] == given[len(given) - shared :][::-1])
        # two neighbours swapped leave two letters that are in neither run
        return [*others.tolist(), *at[same >= shared - 2].tolist()]


def _run(same: NDArray[np.bool_]) -> NDArray[np.int64]:
    """How many values of each row are true before the first that is not."""
    return np.asarray(np.where(same.all(axis=1), same.shape[1], same.argmin(axis=1)), np.int64)


def _hash(text: str) -> int:
    return int.from_bytes(blake2b(text.encode("utf-8", "replace"), digest_size=8).digest(), "little")


def _equal(hashes: Hashes, numbers: Ints, wanted: int) -> list[int]:
    low = int(np.searchsorted(hashes, np.uint64(wanted), "left"))
    high = int(np.searchsorted(hashes, np.uint64(wanted), "right"))
    return [int(at) for at in numbers[low:high]]


def _halves(name: str, length: int) -> tuple[str, str]:
    """Both halves that a spelling of `length` letters keeps, as read off `name`.

    The two letters in the middle belong to neither, so that two letters swapped across the middle leave both whole.
    """
    middle = length // 2
    first, last = name[: middle - 1], name[max(len(name) - (length - middle - 1), 0) :]
    return f"{length}<{first}", f"{length}>{last}"


def one_slip(known: str, given: str) -> bool:
    """Whether one letter was added, left out or mistaken, or two neighbours swapped; equal texts count too."""
    if abs(len(known) - len(given)) > 1:
        return False
    at = next((i for i, (a, b) in enumerate(zip(known, given, strict=False)) if a != b), min(len(known), len(given)))
    rest_known, rest_given = known[at:], given[at:]
    if len(known) > len(given):
        return rest_known[1:] == rest_given
    if len(known) < len(given):
        return rest_known == rest_given[1:]
    swapped = len(rest_known) > 1 and rest_known[0] == rest_given[1] and rest_known[1] == rest_given[0]
    return rest_known[1:] == rest_given[1:] or (swapped and rest_known[2:] == rest_given[2:])


def build(spellings: Sequence[Sequence[str]]) -> Names:
    """Index the compact spellings of each row."""
    flat = [(name, row) for row, names in enumerate(spellings) for name in names]
    encoded = [name.encode("utf-8", "replace") for name, _ in flat]
    ends = np.cumsum([len(name) for name in encoded], dtype=np.int64)
    whole = np.array([_hash(name) for name, _ in flat], np.uint64)
    halves: list[int] = []
    numbers: list[int] = []
    for at, (name, _) in enumerate(flat):
        if len(name) >= SHORTEST_SLIP:
            halves += map(_hash, _halves(name, len(name)))
            numbers += (at, at)
    half = np.array(halves, np.uint64)
    by_whole, by_half = np.argsort(whole, kind="stable"), np.argsort(half, kind="stable")
    return Names(
        letters=np.frombuffer(b"".join(encoded), np.uint8),
        ends=ends,
        rows=np.array([row for _, row in flat], np.int32),
        whole=whole[by_whole],
        whole_at=by_whole.astype(np.int32),
        halves=half[by_half],
        halves_at=np.array(numbers, np.int32)[by_half],
    )


def spellings_of(query: str) -> tuple[str | None, tuple[str, ...]]:
    """What a query may name: itself as a whole, and the names that stand inside it.

    Returns:
        the compact form of the whole query (None when it is too long to be a name), and the compact forms of words in
        it that are written as names are.
    """
    whole = compact(query[: 4 * LONGEST])
    mentions = (compact(found) for found in _MENTION.findall(query[:2000]))
    return (
        whole if 0 < len(whole) <= LONGEST and len(query) <= 2 * LONGEST else None,
        tuple(dict.fromkeys(name for name in mentions if name != whole and len(name) >= SHORTEST_SURE)),
    )
