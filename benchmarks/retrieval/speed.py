"""Speed and memory at several sizes, each in a process of its own.

The texts are made up, with the lengths and the skewed vocabulary of real ones; vectors of documents are drawn at random
around the centres of their servers, for their content does not change the speed. Queries are real text and are encoded
by the shipped encoder, each one new.
"""

from __future__ import annotations

import json
import random
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from anyact_server.retrieval import Index, OnnxEncoder, VectorStore
from anyact_server.types import Action, CatalogChange, Query

SIZES = (1_400, 26_000, 100_000)
QUICK = (1_400,)
VERBS = ("get", "list", "create", "update", "delete", "search", "send", "run", "fetch", "convert", "check", "export")
WORDS = 6_000
QUERIES = 120
WORDS_PER_QUERY = (4, 16)
PLAIN = "find the latest report about sales in europe and send a short summary of it to my team by email"


class Drawn(OnnxEncoder):
    """Queries by the shipped encoder; documents at random around their server's centre."""

    def encode(self, texts: Sequence[str], *, query: bool = False) -> NDArray[np.float32]:
        """Unit vectors of shape (len(texts), dimension)."""
        if query:
            return super().encode(texts, query=True)
        found = np.zeros((len(texts), self.dimension), np.float32)
        for row, text in enumerate(texts):
            centre = np.random.default_rng(crc32(text.partition(":")[0].encode())).standard_normal(self.dimension)
            found[row] = centre + np.random.default_rng(crc32(text.encode())).standard_normal(self.dimension)
        return np.asarray(found / np.linalg.norm(found, axis=1, keepdims=True), np.float32)


def word(dice: random.Random) -> str:
    """A made-up word; low numbers are far more frequent, as in real texts."""
    return f"w{int(WORDS * dice.random() ** 3)}q"


def actions(count: int) -> list[Action]:
    """Made-up actions, nine a server."""
    dice = random.Random(1)
    found = []
    for at in range(count):
        server = f"server{at // 9}"
        name = f"{dice.choice(VERBS)}_{word(dice)}_{at}"
        properties = {word(dice): {"description": " ".join(word(dice) for _ in range(6))} for _ in range(4)}
        found.append(
            Action(
                id=f"{server}__{name}",
                server=server,
                name=name,
                description=" ".join([dice.choice(VERBS), *(word(dice) for _ in range(dice.randint(6, 40)))]),
                input_schema={"type": "object", "properties": properties},
            )
        )
    return found


def queries() -> list[str]:
    """New requests of ordinary words."""
    dice = random.Random(2)
    plain = PLAIN.split()
    return [
        " ".join(dice.choice((*plain, word(dice), dice.choice(VERBS))) for _ in range(dice.randint(*WORDS_PER_QUERY)))
        for _ in range(QUERIES)
    ]


def build(size: int, home: Path) -> dict[str, Any]:
    """Index everything for the first time."""
    known = actions(size)
    started = time.process_time()
    index = Index(Drawn(), store=VectorStore(home / "v.sqlite"), folder=home / "index")
    index.rebuild(known)
    built = time.process_time() - started
    index.close()
    return {"build_without_encoding_s": round(built, 1), "build_peak_mb": peak()}


def use(size: int, home: Path) -> dict[str, Any]:
    """Start on what was built, search, and change one server."""
    known = actions(size)
    wall = time.monotonic()
    index = Index(Drawn(), store=VectorStore(home / "v.sqlite"), folder=home / "index")
    index.rebuild(known)
    index.search(Query(("send an email",)))
    restart = time.monotonic() - wall
    fresh, again = times(index, queries()), times(index, queries())
    changed = [Action(id=f"new__{at}", server="new", name=f"new_{at}", description="New") for at in range(40)]
    found = {action.id: action for action in changed}
    started = time.process_time()
    index.update([CatalogChange("new", added=tuple(found))], found.get)
    update = time.process_time() - started
    return {
        "actions": size,
        "search_ms_p50": percentile(fresh, 50),
        "search_ms_p95": percentile(fresh, 95),
        "without_encoder_ms_p50": percentile(again, 50),
        "without_encoder_ms_p95": percentile(again, 95),
        "restart_to_first_search_s": round(restart, 2),
        "change_of_one_server_s": round(update, 3),
        "use_peak_mb": peak(),
        "million_additions_ms": round(additions()),
    }


def additions() -> float:
    """CPU milliseconds of a plain loop: about 45 on an idle core of 2024, several times that on a crowded one.

    What the other times are worth: they grow by the same factor.
    """
    started = time.thread_time()
    total = 0
    for number in range(1_000_000):
        total += number
    return 1000 * (time.thread_time() - started)


def peak() -> int:
    """The most memory this process ever held, in MB."""
    return round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)


def times(index: Index, texts: Sequence[str]) -> list[float]:
    """CPU milliseconds of one search per text."""
    return [index.search(Query((text,))).cpu_ms for text in texts]


def percentile(values: Sequence[float], share: int) -> float:
    """A percentile, in the unit of the values."""
    return round(float(np.percentile(values, share)), 2)


def run(size: int) -> dict[str, Any]:
    """Build in one process and use in another, so that each has its own memory."""
    figures: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as home:
        for part in ("build", "use"):
            command = [sys.executable, "-m", "benchmarks.retrieval.speed", part, str(size), home]
            told = subprocess.run(command, stdout=subprocess.PIPE, encoding="utf-8", check=True)
            figures.update(json.loads(told.stdout))
    return figures


def table(rows: Sequence[dict[str, Any]]) -> str:
    """The figures for a terminal."""
    lines = [f"  {name:28}" + "".join(f"{row[name]:>12}" for row in rows) for name in rows[0]]
    return "\n".join(["speed (CPU, one thread)", *lines])


if __name__ == "__main__":
    print(json.dumps({"build": build, "use": use}[sys.argv[1]](int(sys.argv[2]), Path(sys.argv[3]))))
