"""Retrieval measured on labelled files."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from anyact_server.errors import UsageError
from anyact_server.evaluation import retrieval
from anyact_server.retrieval import VectorStore
from anyact_server.settings import Settings
from anyact_server.types import Action, Hit, Query, SearchAnswer

TOOLS = [
    {"id": "mail/send", "server": "mail", "name": "send_email", "description": "Send a message", "input_schema": {}},
    {"id": "mail/list", "server": "mail", "name": "list_folders", "description": "List folders", "input_schema": None},
    {"id": "sky/forecast", "server": "sky", "name": "get_forecast", "description": "Weather of a city"},
]
QUERIES = [
    {"id": "q1", "query": "send a message", "gold": ["mail/send"]},
    {"id": "q2", "query": "weather and folders", "gold_groups": [["sky/forecast", "sky/other"], ["mail/list"]]},
    {"id": "q3", "intents": ["weather", "folders"], "gold": ["sky/forecast", "mail/list"]},
]
OFF = Settings(encoder="off")


def lines(path: Path, rows: list[Any]) -> Path:
    """A file of JSON lines, compressed where its name says so."""
    content = "\n".join(json.dumps(row) for row in rows).encode() + b"\n\n"
    path.write_bytes(gzip.compress(content) if path.suffix == ".gz" else content)
    return path


def test_a_labelled_set_is_scored_with_every_measure(tmp_path: Path) -> None:
    """The whole way, compressed files too; the JSON has the measures on top."""
    told: list[tuple[str, int, int]] = []
    report = retrieval.run(
        lines(tmp_path / "tools.jsonl.gz", TOOLS),
        lines(tmp_path / "queries.jsonl", QUERIES),
        settings=OFF,
        progress=lambda what, done, total: told.append((what, done, total)),
    )
    found = report.as_json()
    assert found["recall@10"] == found["all@10"] == found["mrr"] == 1.0
    assert {"recall@1", "recall@5", "recall@20", "ndcg@10", "cpu_ms", "cpu_ms_p95"} < set(found)
    assert (found["queries"], found["tools"], found["unknown_gold"]) == (3, 3, 1)
    assert found["intervals"]["recall@10"] == [1.0, 1.0]
    assert told[-1] == ("search", 3, 3)


def test_the_shipped_encoder_is_measured_and_its_vectors_are_kept(tmp_path: Path) -> None:
    """A second run over the same actions computes nothing anew."""
    store = VectorStore(tmp_path / "v.sqlite")
    told: list[str] = []
    for _ in range(2):
        report = retrieval.run(
            lines(tmp_path / "tools.jsonl", TOOLS),
            lines(tmp_path / "queries.jsonl", QUERIES),
            settings=Settings(),
            store=store,
            progress=lambda what, done, total: told.append(what),
        )
        assert report.degraded is None
    store.close()
    assert told == ["encode", "search", "search", "search", "search", "search", "search"]


def test_measures_follow_their_definitions() -> None:
    """Recall counts groups, gain is discounted by place, mrr looks at the first hit of any group."""
    groups = [frozenset({"a", "b"}), frozenset({"z"})]
    values = dict(zip(retrieval.MEASURES, retrieval.measures(["x", "b", "a", "y"], groups), strict=True))
    assert values["recall@1"] == 0
    assert values["recall@5"] == values["recall@20"] == 0.5
    assert values["all@10"] == 0
    assert values["mrr"] == 0.5
    assert values["ndcg@10"] == pytest.approx(0.6309 / 1.6309, abs=1e-3)
    nothing = retrieval.measures([str(at) for at in range(20)], groups)
    assert nothing == (0, 0, 0, 0, 0, 0, 0)


class Fixed:
    """A searcher that always gives the same answer."""

    def __init__(self, *ids: str, degraded: str | None = None) -> None:
        self.ids = ids
        self.degraded = degraded

    def search(self, query: Query, *, estimates: object = None) -> SearchAnswer:
        """The answer."""
        hits = tuple(Hit(Action(id=name, server="s", name=name), 1.0) for name in self.ids)
        return SearchAnswer(hits, len(hits), self.degraded, (), 2.0)

    def update(self, changes: object, actions: object) -> None:
        """Nothing changes."""

    def rebuild(self, actions: object) -> None:
        """Nothing changes."""


def requests(count: int = 40) -> list[retrieval.Labelled]:
    """Requests of which every second wants `a`, the others `b`."""
    return [retrieval.Labelled(f"q{at}", ("x",), (frozenset({"ab"[at % 2]}),)) for at in range(count)]


def test_means_come_with_an_interval_that_holds_them() -> None:
    """Half of the requests are answered: the interval lies around one half."""
    report = retrieval.evaluate(Fixed("a", degraded="no encoder"), requests(), actions=2)
    low, high = report.intervals()["recall@1"]
    assert 0.3 < low < report.values()["recall@1"] == 0.5 < high < 0.7
    assert report.values()["cpu_ms"] == 2.0
    assert report.as_json()["degraded"] == "no encoder"


def test_misses_are_told_with_what_was_found_instead() -> None:
    """As many as asked for."""
    misses = retrieval.evaluate(Fixed("a"), requests(), actions=2).as_json(misses=3)["misses"]
    assert misses[0] == {"id": "q1", "intents": ["x"], "missed": [["b"]], "found": ["a"]}
    assert len(misses) == 3


def test_two_configurations_are_compared_request_by_request() -> None:
    """The growth has an interval of its own; reports about other requests cannot be compared."""
    before = retrieval.evaluate(Fixed("a"), requests(), actions=2)
    after = retrieval.evaluate(Fixed("b", "a"), requests(), actions=2)
    grown = retrieval.difference(before, after)
    assert grown["recall@5"][0] == 0.5
    assert grown["recall@1"][1] < 0 < grown["recall@1"][2]
    with pytest.raises(UsageError, match="same requests"):
        retrieval.difference(before, retrieval.evaluate(Fixed("a"), requests(10), actions=2))


def test_a_catalogue_of_servers_is_read_as_they_list_their_tools(tmp_path: Path) -> None:
    """One server a line, each with its tools."""
    server = {
        "server": "git",
        "serverInfo": {"name": "Git"},
        "tools": [{"name": "log", "description": "Show commits", "inputSchema": {"properties": {}}}, {"name": "diff"}],
    }
    found = retrieval.read_actions(lines(tmp_path / "real.jsonl", [server, {**server, "serverInfo": None}]))
    assert [(one.id, one.server_title, one.description) for one in found] == [
        ("git/log", "Git", "Show commits"),
        ("git/diff", "Git", ""),
    ]
    assert found[0].input_schema == {"properties": {}}


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (b"", "holds no actions"),
        (b"{\n", ":1: not JSON"),
        (b'\n["x"]\n', ":2: not a JSON object"),
        (b'{"id": "x"}\n', ":1: an action needs the fields 'id' and 'name'"),
        (b'{"server": "s", "tools": ["x"]}\n', ":1: an action needs"),
        (b"\x1f\x8bbroken", "cannot be read"),
    ],
)
def test_a_bad_file_of_actions_is_named_with_its_line(tmp_path: Path, content: bytes, told: str) -> None:
    """Cause and place in one message."""
    path = tmp_path / "tools.jsonl"
    path.write_bytes(content)
    with pytest.raises(UsageError, match=told):
        retrieval.read_actions(path)
    with pytest.raises(UsageError, match="cannot be read"):
        retrieval.read_actions(tmp_path / "nowhere.jsonl")


@pytest.mark.parametrize(
    ("row", "told"),
    [
        ({"query": "x"}, "needs 'gold'"),
        ({"query": "x", "gold_groups": [[]]}, "needs 'gold'"),
        ({"query": "x", "gold_groups": ["a"]}, "needs 'gold'"),
        ({"gold": ["a"]}, "needs the field 'query'"),
        ({"intents": "x", "gold": ["a"]}, "needs the field 'query'"),
        ({"query": " ", "gold": ["a"]}, "needs the field 'query'"),
    ],
)
def test_a_bad_request_is_named_with_its_line(tmp_path: Path, row: dict[str, Any], told: str) -> None:
    """Cause and place in one message."""
    with pytest.raises(UsageError, match=f":1: a request {told}"):
        retrieval.read_requests(lines(tmp_path / "queries.jsonl", [row]))


def test_files_of_two_different_sets_are_noticed(tmp_path: Path) -> None:
    """No gold action exists: the files do not belong together."""
    tools = lines(tmp_path / "tools.jsonl", TOOLS)
    with pytest.raises(UsageError, match=r"for example 'other/x'"):
        retrieval.run(tools, lines(tmp_path / "q.jsonl", [{"query": "x", "gold": ["other/x"]}]), settings=OFF)
    with pytest.raises(UsageError, match="holds no requests"):
        retrieval.run(tools, lines(tmp_path / "empty.jsonl", []), settings=OFF)
