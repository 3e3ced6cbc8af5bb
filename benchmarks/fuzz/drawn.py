"""One target under hypothesis, in a process of its own.

python -m benchmarks.fuzz.drawn TARGET CASES SEED REPORT
"""

from __future__ import annotations

import sys
from pathlib import Path

from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st

from .running import Tally
from .targets import TARGETS, Target

AT_ONCE = 2_000
"""Examples of one round: hypothesis remembers what it tried within one."""


def inputs(target: Target) -> st.SearchStrategy[bytes]:
    """Inputs of a target: any bytes, or its words and seeds in any order with anything between them."""
    anything = st.binary(max_size=400)
    if not target.words:
        return anything
    pieces = st.sampled_from(target.words) | st.text(max_size=6).map(str.encode) | st.binary(max_size=6)
    spoilt = st.sampled_from(target.seeds).flatmap(
        lambda whole: st.tuples(st.integers(0, len(whole)), pieces).map(
            lambda one: whole[: one[0]] + one[1] + whole[one[0] :]
        )
    )
    return st.lists(pieces, max_size=30).map(b"".join) | spoilt


def run(target: Target, cases: int, number: int, tally: Tally) -> None:
    """Try so many inputs, in rounds; the number makes them the same again."""
    settled = settings(
        max_examples=min(cases, AT_ONCE),
        database=None,
        deadline=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    while tally.cases < cases:

        @seed(number + tally.cases)
        @settled
        @given(inputs(target))
        def one(data: bytes) -> None:
            tally.one(target.check, data)

        one()


def main() -> None:
    """Run and write the report."""
    name, cases, number, report = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), Path(sys.argv[4])
    tally = Tally()
    run(TARGETS[name], cases, number, tally)
    tally.write(report, {})


if __name__ == "__main__":
    main()
