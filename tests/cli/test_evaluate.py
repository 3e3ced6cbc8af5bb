"""`eval retrieval` and `eval results`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.grounding.screen.kit import Page

from .kit import Shell
from .test_index import TOOLS

QUERIES: list[dict[str, Any]] = [
    {"id": "q1", "query": "show the commits", "gold": ["s/log"]},
    {"id": "q2", "query": "email somebody", "gold_groups": [["s/send", "other/send"]]},
    {"id": "q3", "query": "gibberish", "gold": ["other/none"]},
]
KEYS = {"recall@1", "recall@5", "recall@10", "recall@20", "all@10", "ndcg@10", "mrr", "cpu_ms"}


def lines(file: Path, rows: list[dict[str, Any]]) -> str:
    """A file of JSON lines; its path."""
    file.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    return str(file)


@pytest.fixture
def files(tmp_path: Path) -> tuple[str, ...]:
    """The options that name tools and queries."""
    tools, queries = lines(tmp_path / "tools.jsonl", TOOLS), lines(tmp_path / "queries.jsonl", QUERIES)
    return ("--tools", tools, "--queries", queries)


def test_retrieval_is_measured_under_the_documented_keys(shell: Shell, files: tuple[str, ...]) -> None:
    """On top of one JSON document."""
    report = shell("eval", "retrieval", *files, "--misses", "5", "--json").json
    assert set(report) >= KEYS
    assert report["recall@1"] == pytest.approx(2 / 3, abs=1e-4)
    assert (report["queries"], report["tools"], report["unknown_gold"]) == (3, 3, 2)
    assert [one["id"] for one in report["misses"]] == ["q3"]


def test_retrieval_is_shown_with_intervals_and_misses(shell: Shell, files: tuple[str, ...]) -> None:
    """And another encoder beside it, with the difference."""
    shown = shell("eval", "retrieval", *files, "--misses", "1", "--compare", "builtin")
    assert shown.code == 0
    head, *rows = shown.out.splitlines()
    assert head.split() == ["MEASURE", "VALUE", "95", "%", "BUILTIN", "DIFFERENCE"]
    assert rows[0].startswith("recall@1 ")
    assert "missed q3: gibberish" in shown.out
    assert "wanted other/none" in shown.out
    assert "3 requests over 3 actions" in shown.err
    assert "2 gold ids are not among the actions" in shown.err


def test_a_degraded_measurement_says_so(shell: Shell, files: tuple[str, ...]) -> None:
    """Its numbers are of keyword search."""
    shown = shell("eval", "retrieval", *files, "--set", "encoder=http://127.0.0.1:9/v1#m")
    assert "degraded: " in shown.err


def test_files_that_cannot_be_used_are_named(shell: Shell, files: tuple[str, ...], tmp_path: Path) -> None:
    """With the line."""
    assert shell("eval", "retrieval", "--tools", "/no/such", "--queries", files[3]).code == 2
    bad = shell("eval", "retrieval", *files[:3], lines(tmp_path / "bad.jsonl", [{"id": 1}]), "--json")
    assert bad.code == 2
    assert "bad.jsonl:1" in bad.json["error"]["message"]


def test_the_reading_of_results_is_measured(shell: Shell, tmp_path: Path) -> None:
    """Shares, and the records that were misjudged."""

    def record(ident: str, text: str, outcome: str, kind: str, fault: str) -> dict[str, Any]:
        result = {"content": [{"type": "text", "text": text}]}
        label = {"outcome": outcome, "kind": kind, "fault": fault}
        return {"id": ident, "server": "s", "tool": "t", "result": result, "label": label}

    file = lines(
        tmp_path / "labelled.jsonl",
        [
            record("1", "fine", "ok", "none", "none"),
            record("2", "Error: 404 Not Found", "failed", "not_found", "caller"),
            record("3", "quiet failure", "failed", "internal", "downstream"),
        ],
    )
    report = shell("eval", "results", file, "--wrong", "3", "--json").json
    assert (report["recall"], report["precision"], report["records"]) == (0.5, 1.0, 3.0)
    assert [one["id"] for one in report["wrong"]] == ["3"]
    shown = shell("eval", "results", file, "--wrong", "3")
    assert "missed: 3 of s" in shown.out
    assert "wrong" not in shell("eval", "results", file, "--json").json
    assert shell("eval", "results", "/no/such").code == 2


def test_the_reading_of_screens_is_measured(shell: Shell, tmp_path: Path) -> None:
    """Per family beside the whole; with `--json` as one document."""
    page = Page().write(40, 40, "Save the document", 18)
    (tmp_path / "one.png").write_bytes(page.png)
    words = [{"text": text, "bbox": list(box)} for text, box in page.words]
    truth = {"page": "form", "viewport": [640, 320], "words": words, "elements": []}
    (tmp_path / "one.json").write_text(json.dumps(truth), encoding="utf-8")
    report = shell("eval", "screens", str(tmp_path), "--json").json
    assert report["word_recall"] == report["word_precision"] == report["families"]["form"]["word_recall"] == 1
    shown = shell("eval", "screens", str(tmp_path), "--engine", "ppocr")
    assert shown.out.splitlines()[0].split() == ["MEASURE", "ALL", "FORM"]
    assert "word_recall" in shown.out and "characters, latin" in shown.out
    assert "1 screens, text read by ppocr" in shown.err
    assert shell("eval", "screens", str(tmp_path / "none")).code == 2
