"""How `scripts/conformance` reads the suite's results and judges them."""

from __future__ import annotations

import json
import sys
from importlib.machinery import SourceFileLoader
from importlib.util import module_from_spec, spec_from_loader
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

SCRIPT = Path(__file__).resolve().parent.parent.parent / "scripts" / "conformance"


@pytest.fixture(scope="module")
def script(tmp_path_factory: pytest.TempPathFactory) -> ModuleType:
    """The script as a module, from a copy, so that no compiled file is left beside it."""
    copy = tmp_path_factory.mktemp("script") / "conformance"
    copy.write_bytes(SCRIPT.read_bytes())
    loader = SourceFileLoader("conformance_script", str(copy))
    spec = spec_from_loader(loader.name, loader)
    assert spec is not None
    module = module_from_spec(spec)
    sys.modules[spec.name] = module
    loader.exec_module(module)
    return module


def write(folder: Path, scenario: str, *checks: dict[str, Any]) -> None:
    """A scenario's results as the suite writes them."""
    inner = folder / f"server-{scenario}-2026-12-01T17-42-20-112Z"
    inner.mkdir(parents=True)
    (inner / "checks.json").write_text(json.dumps(checks), encoding="utf-8")


def test_results_are_read_by_scenario_and_check(script: Any, tmp_path: Path) -> None:
    """Checks that ran twice are told apart; what could not be tested is no failure."""
    write(tmp_path, "ping", {"id": "a", "status": "SUCCESS"}, {"id": "a", "status": "FAILURE"})
    write(tmp_path, "json-schema-2020-12", {"id": "b", "status": "FAILURE", "details": {"untestable": True}})
    assert dict(script.read_checks(tmp_path)) == {
        "ping/a": "SUCCESS",
        "ping/a#2": "FAILURE",
        "json-schema-2020-12/b": "UNTESTABLE",
    }


def test_a_check_that_passes_alone_has_to_pass_through_anyact(script: Any) -> None:
    """Warnings and checks that did not run are losses; an occasion that did not arise is none."""
    alone = dict.fromkeys(("s/a", "s/b", "s/c", "s/d"), "SUCCESS") | {"s/e": "FAILURE"}
    through = {"s/a": "SUCCESS", "s/b": "WARNING", "s/c": "INFO", "s/e": "FAILURE"}
    assert script.lost(alone, through) == ["s/b: WARNING", "s/d: not run"]


def test_each_column_is_judged_by_what_can_be_asked_of_it(script: Any) -> None:
    """The eight tools by what fails, the other era without what it cannot know."""
    impossible = min(script.OTHER_ERA)
    alone = {"ping/a": "SUCCESS", impossible: "SUCCESS"}
    columns = {
        "alone": alone,
        "through AnyAct": {"ping/a": "SUCCESS", impossible: "FAILURE"},
        "legacy server": {"ping/a": "FAILURE", impossible: "FAILURE"},
        "eight tools": {"ping/a": "FAILURE", "ping/b": "WARNING"},
    }
    assert script.judge(columns) == [
        f"through AnyAct: {impossible}: FAILURE",
        "legacy server: ping/a: FAILURE",
        "eight tools: ping/a: FAILURE",
    ]


def test_the_table_counts_what_was_judged(script: Any) -> None:
    """Passed over counted, per scenario and in all."""
    shown = script.table({"alone": {"s/a": "SUCCESS", "s/b": "FAILURE", "s/c": "INFO"}, "other": {"t/a": "SKIPPED"}})
    assert [line.split() for line in shown.splitlines()] == [
        ["scenario", "alone", "other"],
        ["s", "1/2", "-"],
        ["t", "-", "-"],
        ["all", "1/2", "-"],
    ]
