"""How well actions are found for labelled requests.

A *gold group* holds interchangeable actions: it counts as found when any member is. A request may need several groups.
The measures, each averaged over requests:

    recall@k    share of a request's groups among the first k hits
    all@10      1 when every group is among the first 10
    ndcg@10     discounted gain (Jaervelin, Kekaelaeinen 2002) of each group's first hit, against the best order
    mrr         1 / place of the first hit of any group within 20
    cpu_ms      CPU milliseconds of one search, median; cpu_ms_p95 the 95th percentile
"""

from __future__ import annotations

import gzip
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import orjson
from numpy.typing import NDArray

from anyact_server.errors import UsageError
from anyact_server.interfaces import Searcher
from anyact_server.retrieval import Index, VectorStore, load
from anyact_server.settings import Settings
from anyact_server.types import Action, Json, Query

CUTS = (1, 5, 10, 20)
MEASURES = (*(f"recall@{cut}" for cut in CUTS), "all@10", "ndcg@10", "mrr")
RESAMPLES = 1000
"""Resamples of the bootstrap (Efron 1979) behind each 95 % interval."""
SEED = 20261201
_GZIP = b"\x1f\x8b"


@dataclass(frozen=True, slots=True)
class Labelled:
    """A request with what should be found for it; `intents` is the request itself, or one line per need."""

    id: str
    intents: tuple[str, ...]
    groups: tuple[frozenset[str], ...]


@dataclass(frozen=True, slots=True)
class Scored:
    """One request as it was answered: `found` are the ids of the hits, `values` one number per entry of `MEASURES`."""

    request: Labelled
    found: tuple[str, ...]
    values: tuple[float, ...]
    cpu_ms: float

    @property
    def missed(self) -> tuple[frozenset[str], ...]:
        """The groups that are not among the first 10 hits."""
        return tuple(group for group in self.request.groups if group.isdisjoint(self.found[:10]))


@dataclass(frozen=True, slots=True)
class Report:
    """Every request scored, over how many actions, and why part of the search was unavailable, if it was."""

    scored: tuple[Scored, ...]
    actions: int
    unknown_gold: int = 0
    degraded: str | None = None

    def values(self) -> dict[str, float]:
        """Each measure's mean, and the CPU time."""
        table = self.table()
        means = {name: round(float(mean), 4) for name, mean in zip(MEASURES, table.mean(axis=0), strict=True)}
        times = [one.cpu_ms for one in self.scored]
        means["cpu_ms"] = round(float(np.percentile(times, 50)), 3)
        means["cpu_ms_p95"] = round(float(np.percentile(times, 95)), 3)
        return means

    def intervals(self) -> dict[str, tuple[float, float]]:
        """The 95 % interval of each measure's mean, by resampling the requests."""
        return {name: interval(column) for name, column in zip(MEASURES, self.table().T, strict=True)}

    def table(self) -> NDArray[np.float64]:
        """One row per request, one column per measure."""
        return np.array([one.values for one in self.scored], np.float64)

    def as_json(self, misses: int = 0) -> dict[str, Json]:
        """The report as one JSON object: the measures on top, then counts, intervals and the first `misses` misses."""
        found: dict[str, Json] = {
            **self.values(),
            "queries": len(self.scored),
            "tools": self.actions,
            "intervals": {name: list(pair) for name, pair in self.intervals().items()},
        }
        if self.unknown_gold:
            found["unknown_gold"] = self.unknown_gold
        if self.degraded:
            found["degraded"] = self.degraded
        if misses:
            missed = (one for one in self.scored if one.missed)
            found["misses"] = [
                {
                    "id": one.request.id,
                    "intents": list(one.request.intents),
                    "missed": [sorted(group) for group in one.missed],
                    "found": list(one.found[:10]),
                }
                for one, _ in zip(missed, range(misses), strict=False)
            ]
        return found


def interval(column: NDArray[np.float64]) -> tuple[float, float]:
    """The 95 % bootstrap interval of a mean."""
    random = np.random.default_rng(SEED)
    means = [float(column[random.integers(0, len(column), len(column))].mean()) for _ in range(RESAMPLES)]
    low, high = np.percentile(means, (2.5, 97.5))
    return round(float(low), 4), round(float(high), 4)


def difference(before: Report, after: Report) -> dict[str, tuple[float, float, float]]:
    """How much each measure's mean grew, with the 95 % interval of the growth, over the same requests.

    Raises:
        UsageError: the two reports are not about the same requests.
    """
    if [one.request.id for one in before.scored] != [one.request.id for one in after.scored]:
        raise UsageError("two reports can only be compared when they are about the same requests in the same order")
    grown = after.table() - before.table()
    return {
        name: (round(float(column.mean()), 4), *interval(column))
        for name, column in zip(MEASURES, grown.T, strict=True)
    }


def measures(found: Sequence[str], groups: Sequence[frozenset[str]]) -> tuple[float, ...]:
    """The measures of one answer, in the order of `MEASURES`."""
    places = [next((at for at, name in enumerate(found) if name in group), math.inf) for group in groups]
    recalls = [sum(place < cut for place in places) / len(groups) for cut in CUTS]
    gain = sum(1.0 / math.log2(place + 2) for place in places if place < 10)
    ideal = sum(1.0 / math.log2(place + 2) for place in range(min(len(groups), 10)))
    first = min(places)
    return (
        *recalls,
        float(all(place < 10 for place in places)),
        gain / ideal,
        1.0 / (first + 1) if first < max(CUTS) else 0.0,
    )


def evaluate(
    searcher: Searcher,
    requests: Sequence[Labelled],
    *,
    actions: int,
    unknown_gold: int = 0,
    progress: Callable[[int, int], None] | None = None,
) -> Report:
    """Search for every request and score the answers.

    Args:
        searcher: what is measured.
        requests: with their gold groups.
        actions: how many actions are searched, for the report.
        unknown_gold: how many gold ids are not among them, for the report.
        progress: told how many of how many requests are done.
    """
    scored: list[Scored] = []
    degraded: str | None = None
    for at, request in enumerate(requests):
        answer = searcher.search(Query(request.intents, limit=max(CUTS)))
        found = tuple(hit.action.id for hit in answer.hits)
        scored.append(Scored(request, found, measures(found, request.groups), answer.cpu_ms))
        degraded = degraded or answer.degraded
        if progress:
            progress(at + 1, len(requests))
    return Report(tuple(scored), actions, unknown_gold, degraded)


def run(
    tools: Path,
    queries: Path,
    *,
    settings: Settings,
    store: VectorStore | None = None,
    progress: Callable[[str, int, int], None] | None = None,
) -> Report:
    """Index the actions of one file and score the requests of another.

    Args:
        tools: actions as JSON lines, `.gz` too: id, server, server_title, server_description, name, description,
            input_schema; or one server a line with its `tools` as it lists them.
        queries: requests as JSON lines: id, query (or intents), gold or gold_groups.
        settings: which encoder is used.
        store: vectors that are known already; computed ones are added.
        progress: told what is done ("encode", "search"), how much, of how much.

    Raises:
        UsageError: a file is missing, or a line of it cannot be used; file and line are named.
    """
    actions = read_actions(tools)
    requests = read_requests(queries)
    known = {action.id for action in actions}
    gold = set().union(*(group for request in requests for group in request.groups))
    unknown = gold - known
    if unknown == gold:
        raise UsageError(
            f"no gold action of {queries} is among the actions of {tools}, for example {min(gold)!r}",
            hint="Give the two files of one set.",
        )

    def told(what: str) -> Callable[[int, int], None] | None:
        return None if progress is None else lambda done, total: progress(what, done, total)

    index = Index(load(settings), store=store, progress=told("encode"))
    index.rebuild(actions)
    return evaluate(index, requests, actions=len(actions), unknown_gold=len(unknown), progress=told("search"))


def read_actions(path: Path) -> list[Action]:
    """The actions of a file, each id once.

    Raises:
        UsageError: see `run`.
    """
    found: dict[str, Action] = {}
    for where, line in _lines(path):
        listed = line.get("tools")
        entries = [line] if not isinstance(listed, list) else [_listed(line, tool) for tool in listed]
        for entry in entries:
            action = _action(where, entry)
            found.setdefault(action.id, action)
    if not found:
        raise UsageError(f"{path} holds no actions")
    return list(found.values())


def read_requests(path: Path) -> list[Labelled]:
    """The labelled requests of a file.

    Raises:
        UsageError: see `run`.
    """
    found = [_request(where, line) for where, line in _lines(path)]
    if not found:
        raise UsageError(f"{path} holds no requests")
    return found


def _lines(path: Path) -> Iterator[tuple[str, Mapping[str, Json]]]:
    try:
        content = path.read_bytes()
        if content.startswith(_GZIP):
            content = gzip.decompress(content)
    except (OSError, EOFError) as error:
        raise UsageError(f"{path} cannot be read: {error}") from error
    for number, line in enumerate(content.split(b"\n"), 1):
        if not line.strip():
            continue
        try:
            value = orjson.loads(line)
        except orjson.JSONDecodeError as error:
            raise UsageError(f"{path}:{number}: not JSON: {error}", hint="Write one JSON object a line.") from error
        if not isinstance(value, dict):
            raise UsageError(f"{path}:{number}: not a JSON object", hint="Write one JSON object a line.")
        yield f"{path}:{number}", value


def _listed(server: Mapping[str, Json], tool: Json) -> dict[str, Json]:
    """A tool as a server lists it, in the form of a file of actions."""
    entry = dict(tool) if isinstance(tool, dict) else {}
    name, about = server.get("server"), server.get("serverInfo")
    title = about.get("title") or about.get("name") if isinstance(about, dict) else None
    return {
        "id": f"{name}/{entry.get('name')}",
        "server": name,
        "server_title": title if isinstance(title, str) else None,
        "input_schema": entry.get("inputSchema"),
        **entry,
    }


def _text(entry: Mapping[str, Json], name: str) -> str:
    value = entry.get(name)
    return value if isinstance(value, str) else ""


def _action(where: str, entry: Mapping[str, Json]) -> Action:
    name, schema = _text(entry, "name"), entry.get("input_schema")
    if not name or not _text(entry, "id"):
        raise UsageError(f"{where}: an action needs the fields 'id' and 'name', both texts")
    return Action(
        id=_text(entry, "id"),
        server=_text(entry, "server") or _text(entry, "server_title") or "server",
        name=name,
        title=_text(entry, "title") or None,
        description=_text(entry, "description"),
        input_schema=schema if isinstance(schema, dict) else {},
        server_title=_text(entry, "server_title") or None,
        server_description=_text(entry, "server_description") or None,
    )


def _request(where: str, entry: Mapping[str, Json]) -> Labelled:
    intents = entry.get("intents") or [entry.get("query")]
    if not isinstance(intents, list) or not all(isinstance(text, str) and text.strip() for text in intents):
        raise UsageError(f"{where}: a request needs the field 'query', a text, or 'intents', a list of texts")
    groups = entry.get("gold_groups") or [[name] for name in entry.get("gold") or ()]
    if not groups or not all(isinstance(group, list) and group for group in groups):
        raise UsageError(f"{where}: a request needs 'gold', a list of ids, or 'gold_groups', a list of lists of ids")
    return Labelled(str(entry.get("id", where)), tuple(intents), tuple(frozenset(map(str, group)) for group in groups))
