"""Holds the house to its measures: sizes of files and functions, a test file for every source file, no registry hosts.

Prints one line per finding and exits with 1 when there is any.
"""

from __future__ import annotations

import ast
import re
import statistics
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FILE_LINES = 500
FUNCTION_LINES = 60
REGISTRIES = (("pypi", "org"), ("registry", "npmjs"), ("python", "hosted"), ("deb", "debian"))
FORBIDDEN = re.compile("|".join(rf"{first}\.{second}|{first}{second}\." for first, second in REGISTRIES))
"""Hosts of package registries, which nothing in the repository names."""


def tracked(suffix: str = "") -> list[Path]:
    """Files that git tracks or would track, with this suffix."""
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        check=True,
        capture_output=True,
        encoding="utf-8",
    )
    return [ROOT / name for name in listed.stdout.splitlines() if name.endswith(suffix) and (ROOT / name).is_file()]


def sizes(files: list[Path]) -> Iterator[str]:
    """Files and functions that are too long, and the medians when they drift."""
    lengths, functions = [], []
    for file in files:
        text = file.read_text(encoding="utf-8")
        length = text.count("\n")
        if length > FILE_LINES:
            yield f"{file.relative_to(ROOT)}: {length} lines, at most {FILE_LINES}"
        if "anyact_server" not in file.parts:
            continue
        lengths.append(length)
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                span = (node.end_lineno or node.lineno) - node.lineno + 1
                functions.append(span)
                if span > FUNCTION_LINES:
                    place = f"{file.relative_to(ROOT)}:{node.lineno}"
                    yield f"{place}: {node.name} has {span} lines, at most {FUNCTION_LINES}"
    if lengths and functions:
        print(
            f"house: {len(lengths)} source files, median {statistics.median(lengths):.0f} lines;"
            f" {len(functions)} functions, median {statistics.median(functions):.0f} lines"
        )


def mirrored(files: list[Path]) -> Iterator[str]:
    """Source files that have no test file of their own."""
    for file in files:
        parts = file.relative_to(ROOT).parts
        if parts[0] != "anyact_server" or len(parts) < 3 or file.name == "__init__.py" or parts[1] == "types":
            continue
        test = ROOT / "tests" / Path(*parts[1:-1]) / f"test_{file.name}"
        if not test.is_file():
            yield f"{file.relative_to(ROOT)}: no {test.relative_to(ROOT)}"


def hosts(files: list[Path]) -> Iterator[str]:
    """Places that name the host of a package registry."""
    for file in files:
        if file.suffix in {".onnx", ".png", ".faiss"} or file == Path(__file__).resolve():
            continue
        for number, line in enumerate(file.read_text(encoding="utf-8", errors="replace").splitlines(), 1):
            if FORBIDDEN.search(line):
                yield f"{file.relative_to(ROOT)}:{number}: names the host of a package registry"


def main() -> int:
    """Print every finding; the exit code."""
    sources = tracked(".py")
    findings = [*sizes(sources), *mirrored(sources), *hosts(tracked())]
    print("\n".join(findings) if findings else "house: in order")
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
