"""Recall of the product and of its rivals on labelled sets."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from anyact_server.evaluation.retrieval import Labelled, Report, difference, evaluate, read_actions, read_requests
from anyact_server.interfaces import Encoder, Searcher
from anyact_server.retrieval import Index, VectorStore
from anyact_server.retrieval.documents import encoded_text
from anyact_server.retrieval.vectors import text_key
from anyact_server.types import Action
from benchmarks.report import say

from .rivals import Dense, Plain, Reciprocal, as_fastmcp, everything, name_and_description

SETS = ("stabletoolbench", "sealtools", "metatool")
REQUESTS = Path(__file__).parent / "requests"
"""Frozen requests for the actions of real servers, which are in a file of `catalogs`."""
QUICK = 60
SHOWN = ("recall@1", "recall@5", "recall@10", "all@10", "ndcg@10", "cpu_ms", "cpu_ms_p95")


def folders(data: Path | None) -> Mapping[str, tuple[Path, Path]]:
    """The labelled sets: those under `data` (or its folder `retrieval`), and those beside this file."""
    own = Path(__file__).parent / "small"
    found = {"small": (own / "tools.jsonl", own / "queries.jsonl")}
    for name in SETS:
        for place in () if data is None else (data / name, data / "retrieval" / name):
            if (place / "queries.jsonl").is_file():
                found[name] = (place / "tools.jsonl.gz", place / "queries.jsonl")
    real = None if data is None else data / "catalogs" / "real_tools.jsonl"
    if real is not None and real.is_file():
        found |= {queries.stem: (real, queries) for queries in sorted(REQUESTS.glob("*.jsonl"))}
    return found


def named_tools(data: Path | None) -> Path:
    """The file whose actions are asked for by name: those of real servers where they are there."""
    sets = folders(data)
    return sets.get("one_need", sets["small"])[0]


def contenders(actions: Sequence[Action], encoder: Encoder, store: VectorStore) -> dict[str, Searcher]:
    """The product, its parts alone, and its rivals, all over the same actions and the same encoder."""
    own = Index(encoder, store=store)
    own.rebuild(actions)
    keywords = Index(None)
    keywords.rebuild(actions)
    plain, full, fastmcp = Plain(name_and_description), Plain(everything), Plain(as_fastmcp)
    dense = Dense(encoder, vectors(actions, encoder, store))
    rivals: dict[str, Searcher] = {
        "anyact, keywords alone": keywords,
        "hybrid RRF(60)": Reciprocal(full, dense),
        "dense": dense,
        "BM25": full,
        "BM25, name and description": plain,
        "BM25 as FastMCP": fastmcp,
    }
    for rival in rivals.values():
        rival.rebuild(actions)
    return {"anyact": own, **rivals}


def vectors(actions: Sequence[Action], encoder: Encoder, store: VectorStore) -> np.typing.NDArray[np.float32]:
    """The vectors of the actions in the product's text form, from the store where it has them."""
    keys = [text_key(encoder.digest, encoded_text(action)) for action in actions]
    known = store.get(keys)
    return np.stack([known[key] for key in keys])


def measure(
    name: str, tools: Path, queries: Path, encoder: Encoder, store: VectorStore, *, quick: bool
) -> dict[str, Any]:
    """The measures of every contender on one set, and the product's lead over the usual hybrid with its interval."""
    say(f"{name}: indexing")
    actions = read_actions(tools)
    requests: Sequence[Labelled] = read_requests(queries)
    if quick:
        requests = requests[:: max(1, len(requests) // QUICK)]
    reports: dict[str, Report] = {}
    for rival, searcher in contenders(actions, encoder, store).items():
        say(f"{name}: {rival}")
        reports[rival] = evaluate(searcher, requests, actions=len(actions))
    lead = difference(reports["hybrid RRF(60)"], reports["anyact"])
    return {
        "actions": len(actions),
        "requests": len(requests),
        "contenders": {rival: report.values() for rival, report in reports.items()},
        "lead over hybrid RRF(60)": {measure: lead[measure] for measure in ("recall@5", "recall@10", "all@10")},
    }


def table(name: str, figures: Mapping[str, Any]) -> str:
    """The figures of one set for a terminal."""
    head = f"{name}: {figures['actions']} actions, {figures['requests']} requests"
    lines = [head, f"  {'':26}" + "".join(f"{measure:>11}" for measure in SHOWN)]
    for rival, values in figures["contenders"].items():
        lines.append(f"  {rival:26}" + "".join(f"{values[measure]:>11.3f}" for measure in SHOWN))
    low, high = figures["lead over hybrid RRF(60)"]["recall@10"][1:]
    return "\n".join([*lines, f"  lead over the hybrid, recall@10: {low:+.3f} to {high:+.3f} (95 %)"])
