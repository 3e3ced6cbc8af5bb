"""One target under a fuzzer that is guided by the code that inputs reach, in a process of its own.

python -m benchmarks.fuzz.guided TARGET CASES SEED REPORT

The fuzzer (libFuzzer, through atheris) ends its process itself, so the report is written with the last case.
"""

from __future__ import annotations

import sys
from pathlib import Path

import atheris

with atheris.instrument_imports(include=["anyact_server"]):
    from .targets import TARGETS
from .running import Tally

LONGEST = 1024
"""Bytes of an input: parsers are reached by short ones, and short ones are many."""
HANGING_S = 60


def main() -> None:
    """Fuzz until so many cases were tried."""
    name, cases, seed, report = sys.argv[1], int(sys.argv[2]), sys.argv[3], Path(sys.argv[4])
    target, tally = TARGETS[name], Tally()
    corpus, words = report.with_suffix(".corpus"), report.with_suffix(".dict")
    corpus.mkdir()
    for number, given in enumerate(target.seeds):
        (corpus / str(number)).write_bytes(given)
    quoted = ("".join(f"\\x{byte:02x}" for byte in word) for word in target.words)
    words.write_text("".join(f'"{word}"\n' for word in quoted), encoding="ascii")

    def one(data: bytes) -> None:
        tally.one(target.check, data)
        if tally.cases >= cases:
            tally.write(report, {})

    flags = [f"-runs={cases}", f"-seed={seed}", f"-max_len={LONGEST}", "-len_control=10", f"-timeout={HANGING_S}"]
    flags += [f"-dict={words}"] if target.words else []
    atheris.Setup([sys.argv[0], *flags, f"-artifact_prefix={report}.", str(corpus)], one)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
