"""Fine-tune the encoder on (request, action) pairs; resumable, deterministic for a seed.

    scripts/train_encoder.py --data DIR --start MODEL_FOLDER --output FOLDER [--steps N] [--mine] [--bf16]

DIR holds `training/pairs.jsonl.gz`, `training/mcp_requests.jsonl.gz`, `training/catalogs.jsonl.gz` (with `--mine`) and
`retrieval/toucan/tools.jsonl.gz`, in the form that docs/retrieval.md describes. MODEL_FOLDER is a sentence-transformers
model of the MiniLM class. FOLDER receives the tuned model in the same layout, `training.json` for its card, and a
checkpoint every 25 steps from which the same command goes on.

Recipe: multiple negatives ranking loss (Henderson et al. 2017, arXiv:1705.00652) with cosine similarity at scale 20;
AdamW, linear warm-up and decay; documents in the product's own text form, 96 tokens. A batch is made of a few servers
with several pairs each, so that the siblings of an action are its hard negatives; documents that also answer a query
are masked. Sources are capped, because documentation would drown the requests; sources named in `LEFT_OUT` are not
used, so that their test queries stay out of domain. A tenth of the queries gets a typing mistake. A second run with
`--mine` starts from the first one's model and gives every pair a look-alike that this model confuses with the answer.

Needs torch and transformers (`pip install 'anyact-server[training]'`). On two cores about 25 minutes
with `--bf16` on a CPU that has avx512_bf16, about 90 without.
"""

from __future__ import annotations

import argparse
import gzip
import json
import math
import random
import re
import time
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch
from transformers import AutoModel, AutoTokenizer

LEFT_OUT = frozenset({"metatool", "sealtools-dev"})
CAPS = {"tldr-pages": 3500, "aws-api": 3500, "azure-cli": 2000, "apibench": 400, "home-assistant-intents": 250}
REPEATS = {"mcp-requests": 2}
SCALE = 20.0
PEAK_RATE = 4e-5
WARM_UP = 0.1
QUERY_TOKENS = 64
TEXT_TOKENS = 96
TEXT_WORDS = 60
CHECKPOINT_STEPS = 25
DEPTH = 60
LOOK_ALIKES = 8
MARGIN = 0.95
FAINT = 0.15


@dataclass(frozen=True, slots=True)
class Pair:
    """A request and a document that answers it; `group` is where its siblings come from, `negative` a look-alike."""

    query: str
    text: str
    qid: str
    group: str
    negative: str | None = None


def split_name(name: str) -> str:
    """A name's words, lower case."""
    spaced = re.sub(r"([a-z0-9])([A-Z])", r"\1 \2", name)
    return re.sub(r"[^A-Za-z0-9]+", " ", spaced).strip().lower()


def document(server: str | None, name: str, description: str) -> str:
    """The product's text form: `server: split name: description`."""
    head = ": ".join(part for part in (server or "", split_name(name)) if part)
    return f"{head}: {' '.join(description.split()[:TEXT_WORDS])}"


def lines(path: Path) -> Iterator[dict[str, Any]]:
    """The objects of a gzipped JSON lines file."""
    with gzip.open(path, "rt", encoding="utf-8") as file:
        for line in file:
            yield json.loads(line)


def read_pairs(data: Path, rng: random.Random) -> tuple[list[Pair], list[dict[str, Any]]]:
    """All pairs of the recipe, capped and repeated, not yet ordered; for the card, what was taken of which source."""
    by_source: dict[str, list[Pair]] = defaultdict(list)
    licences = {"mcp-requests": "Apache-2.0"}
    for entry in lines(data / "training" / "pairs.jsonl.gz"):
        if entry["source"] not in LEFT_OUT:
            licences[entry["source"]] = entry["licence"]
            tool = entry["tool"]
            text = document(tool["server"], tool["name"], tool["description"])
            group = f"{entry['source']}/{tool['server'] or split_name(tool['name']).partition(' ')[0]}"
            by_source[entry["source"]].append(Pair(entry["query"], text, entry["qid"], group))
    toucan = lines(data / "retrieval" / "toucan" / "tools.jsonl.gz")
    texts = {
        tool["id"]: (
            document(tool["server_title"] or tool["server"], tool["name"], tool["description"] or ""),
            tool["server"],
        )
        for tool in toucan
    }
    for entry in lines(data / "training" / "mcp_requests.jsonl.gz"):
        for gold in [*entry["gold"], *entry["alt"][:1]]:
            if gold in texts:
                text, server = texts[gold]
                by_source["mcp-requests"].append(Pair(entry["query"], text, entry["qid"], f"mcp/{server}"))
    pairs: list[Pair] = []
    taken = []
    for source in sorted(by_source):
        chosen = by_source[source]
        rng.shuffle(chosen)
        kept = chosen[: CAPS.get(source, len(chosen))]
        times = REPEATS.get(source, 1)
        print(f"{source}: {len(kept)} of {len(chosen)} pairs, {times} times")
        taken.append({"source": source, "pairs": len(kept), "times": times, "licence": licences[source]})
        pairs += kept * times
    return pairs, taken


def batches(pairs: list[Pair], size: int, rng: random.Random) -> list[list[Pair]]:
    """Batches in which pairs of the same group stand together, eight at most, so that siblings are negatives."""
    groups: dict[str, list[Pair]] = defaultdict(list)
    for pair in pairs:
        groups[pair.group].append(pair)
    chunks = []
    for name in sorted(groups):
        members = groups[name]
        rng.shuffle(members)
        chunks += [members[i : i + 8] for i in range(0, len(members), 8)]
    rng.shuffle(chunks)
    made: list[list[Pair]] = [[]]
    for chunk in chunks:
        made[-1] += chunk
        while len(made[-1]) >= size:
            full, rest = made[-1][:size], made[-1][size:]
            made[-1] = full
            made.append(rest)
    return [batch for batch in made if len(batch) == size]


def all_texts(data: Path) -> list[str]:
    """The distinct documents of everything that may be a look-alike."""
    found: dict[str, None] = {}
    for entry in lines(data / "training" / "pairs.jsonl.gz"):
        if entry["source"] not in LEFT_OUT:
            tool = entry["tool"]
            found[document(tool["server"], tool["name"], tool["description"])] = None
    for tool in lines(data / "training" / "catalogs.jsonl.gz"):
        if tool["source"] not in LEFT_OUT:
            found[document(tool["server"], tool["name"], tool["description"] or "")] = None
    for tool in lines(data / "retrieval" / "toucan" / "tools.jsonl.gz"):
        found[document(tool["server_title"] or tool["server"], tool["name"], tool["description"] or "")] = None
    return list(found)


def mine(trainer: Trainer, pairs: list[Pair], texts: list[str], kept: Path, rng: random.Random) -> list[Pair]:
    """The pairs, each with a document that looks like its answer to the model and is not nearly as good.

    Chosen at random among the best `LOOK_ALIKES` documents of lower likeness than `MARGIN` times that of the answer
    (the positive-aware margin of Moreira et al. 2024, arXiv:2407.15831, which keeps unlabelled answers out); none
    where all are below `FAINT`. The choice is kept in a file, so that a training that goes on uses the same.
    """
    if kept.exists():
        chosen = json.loads(kept.read_text(encoding="utf-8"))
        return [replace(pair, negative=text) for pair, text in zip(pairs, chosen, strict=True)]
    table = trainer.encode(texts, TEXT_TOKENS)
    answers: dict[str, set[str]] = defaultdict(set)
    for pair in pairs:
        answers[pair.qid].add(pair.text)
    chosen = []
    for first in range(0, len(pairs), 256):
        part = pairs[first : first + 256]
        asked = trainer.encode([pair.query for pair in part], QUERY_TOKENS)
        golden = (asked * trainer.encode([pair.text for pair in part], TEXT_TOKENS)).sum(1)
        best = torch.topk(asked @ table.T, DEPTH)
        for at, pair in enumerate(part):
            ranked = zip(best.values[at].tolist(), best.indices[at].tolist(), strict=True)
            limit = MARGIN * golden[at].item()
            alike = [texts[i] for score, i in ranked if FAINT < score < limit and texts[i] not in answers[pair.qid]]
            chosen.append(rng.choice(alike[:LOOK_ALIKES]) if alike else None)
        print(f"mined {len(chosen)} of {len(pairs)}", flush=True)
    kept.write_text(json.dumps(chosen), encoding="utf-8")
    return [replace(pair, negative=text) for pair, text in zip(pairs, chosen, strict=True)]


def mistype(query: str, rng: random.Random) -> str:
    """The query with one pair of neighbouring letters swapped or one letter lost."""
    if len(query) < 8:
        return query
    at = rng.randrange(1, len(query) - 2)
    if rng.random() < 0.5:
        return query[:at] + query[at + 1] + query[at] + query[at + 2 :]
    return query[:at] + query[at + 1 :]


class Trainer:
    """The model, its tokenizer and one step of the loss."""

    def __init__(self, start: Path, halved: bool) -> None:
        self.halved = halved
        self.tokenizer = AutoTokenizer.from_pretrained(start)
        self.model = AutoModel.from_pretrained(start, add_pooling_layer=False)

    def vectors(self, texts: list[str], tokens: int) -> torch.Tensor:
        """Unit vectors of texts, shape (len(texts), dimension)."""
        fed = self.tokenizer(texts, padding=True, truncation=True, max_length=tokens, return_tensors="pt")
        with torch.autocast("cpu", dtype=torch.bfloat16, enabled=self.halved):
            hidden = self.model(**fed).last_hidden_state.float()
        mask = fed["attention_mask"].unsqueeze(-1).to(hidden.dtype)
        return torch.nn.functional.normalize((hidden * mask).sum(1) / mask.sum(1).clamp(min=1e-9), dim=1)

    def encode(self, texts: list[str], tokens: int) -> torch.Tensor:
        """Unit vectors of any number of texts, without gradients."""
        order = sorted(range(len(texts)), key=lambda at: len(texts[at]))
        found = torch.empty((len(texts), self.model.config.hidden_size))
        with torch.inference_mode():
            for first in range(0, len(order), 128):
                part = order[first : first + 128]
                found[part] = self.vectors([texts[at] for at in part], tokens)
        return found

    def loss(self, batch: list[Pair], rng: random.Random) -> torch.Tensor:
        """The ranking loss of a batch, over its distinct documents."""
        mined = [pair.negative for pair in batch if pair.negative is not None]
        texts = list(dict.fromkeys([*(pair.text for pair in batch), *mined]))
        column = {text: i for i, text in enumerate(texts)}
        answers: dict[str, set[int]] = defaultdict(set)
        for pair in batch:
            answers[pair.qid].add(column[pair.text])
        queries = [mistype(pair.query, rng) if rng.random() < 0.1 else pair.query for pair in batch]
        scores = SCALE * self.vectors(queries, QUERY_TOKENS) @ self.vectors(texts, TEXT_TOKENS).T
        target = torch.tensor([column[pair.text] for pair in batch])
        for row, pair in enumerate(batch):
            for other in answers[pair.qid] - {column[pair.text]}:
                scores[row, other] = -math.inf
        return torch.nn.functional.cross_entropy(scores, target)


def rate(step: int, steps: int) -> float:
    """The learning rate's factor at a step: linear warm-up, then linear decay."""
    warm = max(int(steps * WARM_UP), 1)
    return (step + 1) / warm if step < warm else max((steps - step) / max(steps - warm, 1), 0.02)


def fit(trainer: Trainer, plan: list[list[Pair]], steps: int, seed: int, checkpoint: Path) -> None:
    """Train to the given step, from the checkpoint where there is one."""
    optimizer = torch.optim.AdamW(trainer.model.parameters(), lr=PEAK_RATE, weight_decay=0.01)
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: rate(step, steps))
    first = 0
    if checkpoint.exists():
        saved = torch.load(checkpoint, weights_only=False)
        trainer.model.load_state_dict(saved["model"])
        optimizer.load_state_dict(saved["optimizer"])
        schedule.load_state_dict(saved["schedule"])
        first = saved["step"]
    print(f"{len(plan)} batches; steps {first} to {steps}", flush=True)
    trainer.model.train()
    started = time.time()
    for step in range(first, steps):
        loss = trainer.loss(plan[step], random.Random(seed * 1_000_003 + step))
        optimizer.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]  # torch's own stub
        torch.nn.utils.clip_grad_norm_(trainer.model.parameters(), 1.0)
        optimizer.step()
        schedule.step()
        if (step + 1) % 5 == 0:
            pace = (time.time() - started) / (step + 1 - first)
            print(f"step {step + 1}/{steps} loss {loss.item():.3f} {pace:.1f} s/step", flush=True)
        if (step + 1) % CHECKPOINT_STEPS == 0 or step + 1 == steps:
            state = {
                "model": trainer.model.state_dict(),
                "optimizer": optimizer.state_dict(),
                "schedule": schedule.state_dict(),
                "step": step + 1,
            }
            torch.save(state, checkpoint.with_suffix(".new"))
            checkpoint.with_suffix(".new").replace(checkpoint)


def save(trainer: Trainer, folder: Path, recipe: dict[str, Any], taken: list[dict[str, Any]]) -> None:
    """Write the model, its tokenizer, and what its card says of the training."""
    trainer.model.eval()
    trainer.model.save_pretrained(folder)
    trainer.tokenizer.save_pretrained(folder)
    card = {"recipe": recipe, "data": taken, "left_out": sorted(LEFT_OUT)}
    (folder / "training.json").write_text(json.dumps(card, indent=2) + "\n", encoding="utf-8")
    print(f"saved {folder}")


def main() -> None:
    """Read, train, save."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--start", type=Path, required=True)
    parser.add_argument("--output", type=Path, required=True)
    parser.add_argument("--steps", type=int)
    parser.add_argument("--batch", type=int, default=64)
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument(
        "--bf16", action="store_true", help="compute in bfloat16: three times as fast where the CPU can"
    )
    parser.add_argument(
        "--mine", action="store_true", help="give each pair a look-alike that the start model ranks high"
    )
    options = parser.parse_args()

    torch.manual_seed(options.seed)
    torch.set_num_threads(options.threads)
    rng = random.Random(options.seed)
    pairs, taken = read_pairs(options.data, rng)
    trainer = Trainer(options.start, options.bf16)
    options.output.mkdir(parents=True, exist_ok=True)
    if options.mine:
        pairs = mine(trainer, pairs, all_texts(options.data), options.output / "negatives.json", rng)
    plan = batches(pairs, options.batch, rng)
    steps = min(options.steps or len(plan), len(plan))
    fit(trainer, plan, steps, options.seed, options.output / "checkpoint.pt")
    recipe = {
        "loss": f"multiple negatives ranking, cosine scale {SCALE:g}",
        "steps": steps,
        "batch": options.batch,
        "peak_rate": PEAK_RATE,
        "seed": options.seed,
        "tokens": [QUERY_TOKENS, TEXT_TOKENS],
        "precision": "bfloat16" if options.bf16 else "float32",
        "mined_negatives": options.mine,
    }
    save(trainer, options.output, recipe, taken)


if __name__ == "__main__":
    main()
