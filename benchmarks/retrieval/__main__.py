"""`scripts/bench retrieval [--data DIR] [--quick] [--json]`."""

from __future__ import annotations

from anyact_server.evaluation.retrieval import read_actions
from anyact_server.retrieval import OnnxEncoder, VectorStore
from benchmarks import report

from . import names, quality, speed


def main() -> None:
    """Measure quality on every set that is there, then speed at several sizes."""
    chosen = report.options("retrieval", "Recall and speed of search, against other ways of searching.")
    encoder = OnnxEncoder()
    store = VectorStore(report.CACHE / "retrieval-vectors.sqlite")
    sets = {
        name: quality.measure(name, tools, queries, encoder, store, quick=chosen.quick)
        for name, (tools, queries) in quality.folders(chosen.data).items()
    }
    store.close()
    spelled = names.measure(read_actions(quality.named_tools(chosen.data)))
    sizes = [speed.run(size) for size in (speed.QUICK if chosen.quick else speed.SIZES)]
    tables = [quality.table(name, figures) for name, figures in sets.items()]
    figures = {"encoder": encoder.digest, "quality": sets, "names": spelled, "speed": sizes}
    report.publish("retrieval", figures, chosen, "\n\n".join([*tables, names.table(spelled), speed.table(sizes)]))


if __name__ == "__main__":
    main()
