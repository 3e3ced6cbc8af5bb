"""What happens inside an instance whose catalog is large; run as a process of its own, for it weighs itself.

python -m benchmarks.scale.inside HOME CONFIG COUNT prints the figures as JSON.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import anyio
import numpy as np

from anyact_server.app import App
from anyact_server.catalog import Site
from anyact_server.types import LOCAL, Query, Snapshot
from benchmarks.retrieval.speed import queries

CHANGED = 20
"""Tools that the change of one server adds."""
LIMIT_S = 120.0


async def searched(app: App, texts: Sequence[str]) -> list[float]:
    """CPU milliseconds of the whole process per search, rules and estimates included; each text is new to it."""
    taken = []
    for text in texts:
        started = time.process_time()
        await app.space.search(Query((text,)), LOCAL)
        taken.append((time.process_time() - started) * 1e3)
    return taken


async def changed(app: App) -> dict[str, float]:
    """Seconds from the moment that one server's new list is known until search finds what is new in it."""
    name = app.catalog.actions()[0].server
    before = app.catalog.snapshot(name)
    assert before is not None
    fresh = tuple(
        {"name": f"zebra_{at}", "description": f"Paint zebra number {at}", "inputSchema": {"type": "object"}}
        for at in range(CHANGED)
    )
    after: Snapshot = replace(before, tools=(*before.tools, *fresh), taken_at=time.time())
    wall, cpu = time.monotonic(), time.process_time()
    change = app.catalog.record_snapshot(after)
    assert len(change.added) == CHANGED
    with anyio.fail_after(LIMIT_S):
        while True:
            answer = await app.space.search(Query(("paint zebra number 7",)), LOCAL)
            if answer.hits and answer.hits[0].action.name == "zebra_7":
                break
            await anyio.sleep(0.01)
    return {"wall_s": round(time.monotonic() - wall, 3), "cpu_s": round(time.process_time() - cpu, 3)}


async def figures(home: str, config: str, count: int) -> dict[str, Any]:
    """Search with new texts, then change one server."""
    app = App(Site.find([config], home, {}, {}))
    async with app.running():
        await app.ready()
        await searched(app, ["warm up the encoder"])
        taken = await searched(app, queries()[:count])
        return {
            "actions": len(app.catalog.actions()),
            "search_cpu_ms_p50": round(float(np.percentile(taken, 50)), 2),
            "search_cpu_ms_p95": round(float(np.percentile(taken, 95)), 2),
            "change": await changed(app),
        }


if __name__ == "__main__":
    print(json.dumps(anyio.run(figures, sys.argv[1], sys.argv[2], int(sys.argv[3]))))
