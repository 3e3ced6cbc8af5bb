"""Measuring how failures are recognised."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from anyact_server.errors import UsageError
from anyact_server.evaluation.results import Report, evaluate
from anyact_server.grounding import Grounder, open_store
from anyact_server.settings import Settings
from anyact_server.types import Json


class Clock:
    """Time that stands."""

    def now(self) -> float:
        return 0.0

    def monotonic(self) -> float:
        return 0.0


def text(words: str, **more: Json) -> Json:
    return {"content": [{"type": "text", "text": words}], **more}


def record(number: int, result: Json, outcome: str, kind: str = "none", fault: str = "none") -> Json:
    label = {"outcome": outcome, "kind": kind, "fault": fault}
    return {"id": str(number), "server": "s", "tool": "act", "result": result, "label": label}


RECORDS: list[Json] = [
    record(1, text("fine"), "ok"),
    record(2, text("Error: 404 Not Found"), "failed", "not_found", "caller"),
    record(3, text("429 Too Many Requests", isError=True), "failed", "rate_limited", "downstream"),
    record(4, text("quiet failure"), "failed", "internal", "downstream"),
    record(5, text("Error: this is fine"), "ok"),
    record(6, text("Permission denied", isError=True), "failed", "auth", "environment/auth"),
    record(7, text("spawn x ENOENT", isError=True), "failed", "unavailable", "downstream"),
    record(8, None, "ok_empty"),
    {
        "id": "9",
        "server": "s",
        "tool": "t",
        "rpc_error": {"code": "x", "message": "Unknown tool: t"},
        "label": {"outcome": "failed", "kind": "not_found", "fault": "caller"},
    },
]


def measured(file: Path, home: Path) -> Report:
    return evaluate(file, Grounder(open_store(home, Settings(), Clock()), Settings(), Clock()))


@pytest.mark.parametrize("packed", [False, True])
def test_the_shares_are_counted_over_a_file(tmp_path: Path, packed: bool) -> None:
    """Plain or compressed; every record tells what was wrong with it."""
    data = "\n\n".join(json.dumps(one) for one in RECORDS).encode()
    file = tmp_path / "results.jsonl"
    file.write_bytes(gzip.compress(data) if packed else data)
    report = measured(file, tmp_path)
    assert report.measures == {
        "precision": pytest.approx(5 / 6),
        "recall": pytest.approx(5 / 6),
        "kind_accuracy": pytest.approx(4 / 5),
        "fault_accuracy": pytest.approx(4 / 5),
        "records": 9.0,
    }
    wrong = {judged.id: judged.wrong for judged in report.records if judged.wrong}
    assert wrong == {"4": "missed", "5": "false alarm", "6": "kind", "7": "fault"}


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "holds no records"),
        (b"{", "results.jsonl:1 is no JSON"),
        (b"\n[1]", "results.jsonl:2 has no label"),
        (b'{"label": {"outcome": "great"}}', "has no label with an outcome"),
        (b"\x1f\x8b broken", "cannot be read"),
    ],
)
def test_a_bad_file_is_refused_with_its_line(tmp_path: Path, content: bytes, message: str) -> None:
    """One clear message."""
    file = tmp_path / "results.jsonl"
    file.write_bytes(content)
    with pytest.raises(UsageError, match=message):
        measured(file, tmp_path)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    """With its path."""
    with pytest.raises(UsageError, match="cannot be read"):
        measured(tmp_path / "none.jsonl", tmp_path)


def test_nothing_to_count_gives_zero() -> None:
    """No division by zero."""
    assert Report(()).measures["precision"] == 0.0
