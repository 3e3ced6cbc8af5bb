"""Cut copies of values: what is left out is named, long lists are described."""

from __future__ import annotations

from typing import Any

import pytest

from anyact_server.grounding.binaries import Code
from anyact_server.grounding.pruning import Cut, Facts, Pruner, TooMuch
from anyact_server.types import Json

ROWS: list[dict[str, Json]] = [
    {
        "id": at,
        "amount": float(at * 37 % 101),
        "status": "failed" if at == 61 else "open",
        "who": {"name": f"p{at % 3}"},
    }
    for at in range(200)
]


def pruned(value: Json, items: int = 8, chars: int = 200, deepest: int = 40) -> tuple[Any, Pruner]:
    pruner = Pruner(items, chars, lambda pointer, code: _named(pointer, code), 1 << 30, deepest, Facts())
    return pruner.prune(value, "", 0), pruner


def _named(pointer: str, code: Code) -> str:
    return f"[{code.size} at {pointer}]"


def test_a_long_list_is_described_and_shows_what_stands_out() -> None:
    """The one failed row, the extremes, the counts; the gaps together are one."""
    copy, pruner = pruned({"rows": ROWS})
    rows = copy["rows"]
    first = next(row for row in rows if isinstance(row, Cut))
    assert "status: open 199, failed 1" in first.about
    assert "who.name: p0 67, p1 67, p2 66" in first.about
    assert ROWS[61] in rows
    assert max(ROWS, key=lambda row: row["amount"]) in rows
    assert rows[-1] == ROWS[-1]
    shown = sum(not isinstance(row, Cut) for row in rows)
    assert [(gap.pointer, gap.count) for gap in pruner.gaps] == [("/rows", 200 - shown)]
    assert sum(row.gap.count for row in rows if isinstance(row, Cut)) == 200 - shown


def test_plain_values_are_described_too() -> None:
    """Numbers by their range and sum."""
    copy, _ = pruned([at * 7 % 100 for at in range(100)])
    assert "sum 4950" in str(copy[8])
    copy, _ = pruned([[1, 2]] * 100)
    assert str(copy[8]) == "… 91 more items (8 to 98): /"


def test_what_is_too_deep_is_told_by_its_size_and_first_keys() -> None:
    """Of an object; of a list the number of its items."""
    copy, pruner = pruned(
        {"a": {"b": {f"k{at}": at for at in range(9)}}, "l": {"m": [1, 2, 3]}, "e": {"n": {}}}, deepest=2
    )
    assert str(copy["a"]["b"]) == "… 9 more keys (k0, k1, k2, k3, k4, …): /a/b"
    assert str(copy["l"]["m"]) == "… 3 more items: /l/m"
    assert copy["e"]["n"] == {}
    assert [gap.pointer for gap in pruner.gaps] == ["/a/b", "/l/m"]


def test_a_copy_that_grows_too_long_is_given_up() -> None:
    """So that a huge value costs no more than its preview."""
    pruner = Pruner(1000, 1000, _named, 500, 40, Facts())
    with pytest.raises(TooMuch):
        pruner.prune([f"some words {at}" for at in range(900)], "", 0)


def test_the_facts_of_a_list_are_found_once() -> None:
    """However many copies are made."""
    facts = Facts()
    assert facts.of(ROWS) is facts.of(ROWS)
    assert facts.of([1, "a"]) == []
    assert facts.of([{"a": 1}, 2]) == []
