"""Which tests name which case, read from their sources. Pure but for reading the files."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

Tests = dict[str, set[str]]


def ids_in(tree: ast.AST) -> Iterator[str]:
    """The ids of every `pytest.mark.case("ID")` under a node."""
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call) or ast.unparse(node.func) != "pytest.mark.case":
            continue
        for argument in node.args:
            yield str(argument.value) if isinstance(argument, ast.Constant) else ast.unparse(argument)


def marked_in(source: str) -> Iterator[tuple[str, str]]:
    """Pairs of a case's id and the name of a test that names it; a mark of the whole module counts for each test."""
    tree = ast.parse(source)
    loose = [node for node in tree.body if isinstance(node, ast.Assign)]
    common = {
        found
        for node in loose
        if any(isinstance(target, ast.Name) and target.id == "pytestmark" for target in node.targets)
        for found in ids_in(node)
    }
    for node in tree.body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name.startswith("test_"):
            marks = {found for decorator in node.decorator_list for found in ids_in(decorator)}
            yield from ((found, node.name) for found in sorted(common | marks))


def by_case(folder: Path) -> Tests:
    """The tests under a folder by the case that they name, as `path::test`, relative to the folder's parent."""
    found: Tests = {}
    for file in sorted(folder.rglob("test_*.py")):
        for case, name in marked_in(file.read_text(encoding="utf-8")):
            found.setdefault(case, set()).add(f"{file.relative_to(folder.parent).as_posix()}::{name}")
    return found
