"""The pages of the rooms say what the code says: kinds of outcome, defaults of settings, examples, links."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from anyact_server.catalog import read_configs
from anyact_server.cli.call import parse_tasks
from anyact_server.settings import Settings
from anyact_server.types import KINDS, Kind

DOCS = Path(__file__).resolve().parent.parent / "docs"
PAGES = ("gateway", "dispatch", "catalog", "downstream", "reliability", "troubleshooting")
RETRIES = {
    "no": "no",
    "after a change": "after_change",
    "after a login": "after_login",
    "after the pause": "after_pause",
    "if safe": "if_safe",
}


def rows(page: str) -> list[list[str]]:
    """The cells of every row of every table of a page."""
    lines = (DOCS / f"{page}.md").read_text(encoding="utf-8").splitlines()
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines if line.startswith("|")]


@pytest.mark.case("O7")
def test_the_table_of_kinds_is_the_one_the_code_uses() -> None:
    """Every kind once, with its fault, when to try again, and its HTTP status."""
    told: dict[str, list[str]] = {}
    for cells in rows("dispatch"):
        kinds = re.findall(r"`(\w+)`", cells[0])
        if len(cells) == 5 and kinds and all(kind in set(Kind) for kind in kinds):
            told.update(dict.fromkeys(kinds, cells[1:]))
    assert set(told) == {kind.value for kind in Kind}
    for kind, facts in KINDS.items():
        fault, counts, retry, status = told[kind.value]
        assert (fault, int(status)) == (facts.fault.value, facts.status), kind
        assert RETRIES[retry or "no"] == facts.retry, kind
        assert counts.startswith({0.0: ("no", "by"), 0.5: ("half",), 1.0: ("yes",)}[facts.weight]), kind


@pytest.mark.parametrize("page", PAGES)
def test_defaults_of_settings_are_true(page: str) -> None:
    """Where a table names a setting with its default, that is its default."""
    for cells in rows(page):
        name = cells[0].strip("`")
        field = Settings.model_fields.get(name)
        if field is None or len(cells) < 3 or not re.fullmatch(r"[\d.]+|true|false|none|`\w+`", cells[1]):
            continue
        default = field.default
        told = "none" if default == () else str(default).lower() if isinstance(default, bool) else str(default)
        assert cells[1].strip("`").removesuffix(".0") == told.removesuffix(".0"), (page, name)


@pytest.mark.parametrize("page", PAGES)
def test_json_examples_work(page: str, tmp_path: Path) -> None:
    """Configurations load without a problem; tasks are read."""
    text = (DOCS / f"{page}.md").read_text(encoding="utf-8")
    for body in re.findall(r"```json\n(.*?)```", text, re.DOTALL):
        if "tasks" in json.loads(body):
            assert parse_tasks(body)
            continue
        file = tmp_path / "config.json"
        file.write_text(body, encoding="utf-8")
        found = read_configs([file], {})
        assert found.specs and not found.problems
