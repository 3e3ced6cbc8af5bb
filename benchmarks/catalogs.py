"""What servers offer, for benches: from data sets that are not part of the repository, from its own servers, made up.

An *offer* is one server with its tools as the server sent them. `install` puts offers into a home, as snapshots that
were taken before, so that none of the servers is started.
"""

from __future__ import annotations

import gzip
import json
import re
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby, islice
from pathlib import Path
from typing import Any

from anyact_server.catalog import Catalog, Store, read_configs
from anyact_server.types import Snapshot
from benchmarks.calls.processes import PYTHON
from benchmarks.report import ROOT
from benchmarks.retrieval.speed import actions

Tool = Mapping[str, Any]
REAL = Path("catalogs") / "real_tools.jsonl"
PUBLIC = ("toucan", "dockermcp", "sealtools", "stabletoolbench")
"""Data sets of tools, in the order in which they fill a catalog."""
STARTED = {"command": PYTHON, "args": ["-m", "benchmarks.calls.small", "stdio"], "cwd": str(ROOT)}
"""How the servers of a home would be started; they are searched, and not called."""


@dataclass(frozen=True, slots=True)
class Offer:
    """One server: its name, its tools as `tools/list` gives them, what it says of itself."""

    server: str
    tools: tuple[Tool, ...]
    info: Mapping[str, Any]
    instructions: str | None = None


def real(data: Path | None) -> list[Offer]:
    """What real servers answered to `tools/list`; nothing when the data set is not there."""
    path = data / REAL if data else None
    if path is None or not path.exists():
        return []
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    return [Offer(row["server"], tuple(row["tools"]), row["serverInfo"], row.get("instructions")) for row in rows]


def public(data: Path | None) -> Iterator[Offer]:
    """Servers of public data sets of tools, each named after its set."""
    for name in PUBLIC:
        path = data / "retrieval" / name / "tools.jsonl.gz" if data else None
        if path is None or not path.exists():
            continue
        with gzip.open(path, "rt", encoding="utf-8") as file:
            rows = sorted((json.loads(line) for line in file), key=lambda row: str(row["server"]))
        for server, group in groupby(rows, key=lambda row: str(row["server"])):
            yield _offer(f"{name}-{server}", list(group))


def _offer(server: str, rows: Sequence[Mapping[str, Any]]) -> Offer:
    names = dict.fromkeys(row["name"] for row in rows)
    found = {row["name"]: row for row in rows}
    tools = tuple(
        {"name": name, "description": found[name]["description"], "inputSchema": _schema(found[name]["input_schema"])}
        for name in names
    )
    return Offer(re.sub(r"[^A-Za-z0-9_-]+", "-", server), tools, {"name": rows[0]["server_title"], "version": "1"})


def _schema(given: Mapping[str, Any]) -> Mapping[str, Any]:
    return given if given.get("type") == "object" else {"type": "object"}


def made(count: int) -> Iterator[Offer]:
    """Made-up servers with so many tools in all."""
    for server, group in groupby(actions(count), key=lambda action: action.server):
        tools = tuple(
            {"name": one.name, "description": one.description, "inputSchema": dict(one.input_schema)} for one in group
        )
        yield Offer(server, tools, {"name": server, "version": "1"})


def fixtures() -> list[Offer]:
    """What the repository's own servers for tests offer."""
    from tests.servers import everything_tools, plain  # tests are not there where only the wheel is

    plain_tools = [
        entry.tool.model_dump(mode="json", by_alias=True, exclude_none=True) for entry in plain.TOOLS.values()
    ]
    return [
        Offer("plain", tuple(plain_tools), {"name": "plain", "version": "1"}),
        Offer("everything", tuple(everything_tools.TOOLS), {"name": "everything", "version": "1"}),
    ]


def filled(offers: Iterable[Offer], count: int) -> list[Offer]:
    """Offers with exactly `count` tools in all, filled up with made-up ones; names of servers occur once."""
    chosen: dict[str, Offer] = {}
    left = count
    for offer in offers:
        if not left:
            break
        name = offer.server
        while name in chosen:
            name += "-2"
        chosen[name] = replace(offer, server=name, tools=tuple(islice(offer.tools, left)))
        left -= len(chosen[name].tools)
    if left:
        chosen |= {offer.server: offer for offer in made(left)}
    return list(chosen.values())


def install(offers: Sequence[Offer], folder: Path) -> tuple[Path, Path]:
    """A home that knows what the servers offer, and its configuration.

    Args:
        offers: the servers.
        folder: where both are made.

    Returns:
        The configuration file and the home folder.
    """
    config, home = folder / "servers.json", folder / "home"
    entries = {offer.server: STARTED for offer in offers}
    config.write_text(json.dumps({"mcpServers": entries}), encoding="utf-8")
    home.mkdir()
    catalog = Catalog(Store(home), read_configs([config], {}).specs)
    try:
        for offer in offers:
            snapshot = Snapshot(
                offer.server, offer.tools, info=offer.info, instructions=offer.instructions, taken_at=time.time()
            )
            catalog.record_snapshot(snapshot)
    finally:
        catalog.close()
    return config, home
