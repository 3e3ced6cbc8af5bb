"""Prints every promise with its tests and, with `--run`, their results.

Exits with 1 when a promise has no test, a test names an unknown case, or a test fails.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections import Counter
from collections.abc import Collection
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FULL_TIMEOUT_S = 600
"""Limit of one test that runs with full times."""


class Results:
    """A plugin of pytest that remembers how tests ended, by test function."""

    def __init__(self) -> None:
        self.outcomes: dict[str, Counter[str]] = {}

    def pytest_runtest_logreport(self, report: object) -> None:
        """Note a report: the call's own, and any failure around it."""
        outcome, when = str(getattr(report, "outcome", "")), getattr(report, "when", "")
        if when == "call" or outcome != "passed":
            name = str(getattr(report, "nodeid", "")).partition("[")[0]
            self.outcomes.setdefault(name, Counter())[outcome] += 1


def run(tests: Collection[str], full: bool) -> dict[str, Counter[str]]:
    """Run tests; how each ended."""
    os.environ.setdefault("CASES_FACTOR", "1" if full else "0.05")
    import pytest  # after the factor is set, which tests read when they are imported

    results = Results()
    limits = [f"--timeout={FULL_TIMEOUT_S}"] if full else []
    pytest.main(["-q", "-m", "case", *limits, *sorted(tests)], plugins=[results])
    return results.outcomes


def main() -> int:
    """Print the list; the exit code."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--run", action="store_true", help="run the tests and print how they ended")
    parser.add_argument("--full", action="store_true", help="run with full times")
    parser.add_argument("--brief", action="store_true", help="print counts of tests, not their names")
    parser.add_argument("ids", nargs="*", help="only these cases")
    options = parser.parse_args()
    os.chdir(ROOT)
    sys.path.insert(0, str(ROOT))
    from tests.cases.promises import PROMISES
    from tests.cases.tie import by_case

    tests = by_case(ROOT / "tests")
    wanted = options.ids or list(PROMISES)
    chosen = {test for case in wanted for test in tests.get(case, ())}
    ended = run(chosen, options.full) if (options.run or options.full) and chosen else {}
    faults = [f"{case}: no such case, named by {', '.join(sorted(tests[case]))}" for case in set(tests) - set(PROMISES)]
    faults += [f"{case}: no such case" for case in wanted if case not in PROMISES]
    for case in wanted:
        if case not in PROMISES:
            continue
        own = sorted(tests.get(case, ()))
        promise = PROMISES[case]
        print(f"{case}  {promise.text} [{' '.join(promise.routes)}] {len(own)} tests")
        faults += [] if own else [f"{case}: no test"]
        for test in own:
            outcome = ended.get(test)
            told = ", ".join(f"{count} {word}" for word, count in outcome.items()) if outcome else ""
            if not options.brief or (outcome and outcome["failed"]):
                print(f"    {test}  {told}".rstrip())
            faults += [f"{case}: {test} failed"] if outcome and outcome["failed"] else []
    print("\n".join(["", *sorted(faults)]) if faults else "cases: every promise has its tests, every test its promise")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
