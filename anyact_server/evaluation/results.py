"""How well failures are recognised in labelled results of actions.

A file holds one record per line: `id`, `server`, `tool`, then `result` (a raw `tools/call` result) or `rpc_error` (a
JSON-RPC error), and `label` with `outcome` (ok, ok_empty, partial, failed), `kind` and `fault` (`caller`, `downstream`,
`environment`; `environment/auth` and `overload` count as environment and downstream). The keys of a report:

    precision       of the results taken for a failure (whole or in part, flagged or suspected), the share that are
    recall          of the failures, the share taken for one
    kind_accuracy   of the failures taken for one, the share whose kind is right
    fault_accuracy  of those, the share whose fault is right
"""

from __future__ import annotations

import gzip
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import orjson

from anyact_server.errors import AnyActError, RemoteError, UsageError
from anyact_server.interfaces import Grounder
from anyact_server.types import KINDS, SUCCESSES, Action, Fault, Json, JsonObject, Kind, Verdict

_FAILURES = frozenset({"failed", "partial"})
_OUTCOMES = frozenset({"ok", "ok_empty", *_FAILURES})
_GZIP = b"\x1f\x8b"


@dataclass(frozen=True, slots=True)
class Judged:
    """One record as it was understood; `wrong` says in a word what was not recognised, None when all was."""

    id: str
    server: str
    failed: bool
    taken: bool
    kind: str
    kind_given: str
    fault: str
    fault_given: str

    @property
    def wrong(self) -> str | None:
        if self.failed != self.taken:
            return "missed" if self.failed else "false alarm"
        if not self.failed:
            return None
        if self.kind != self.kind_given:
            return "kind"
        return "fault" if self.fault != self.fault_given else None


@dataclass(frozen=True, slots=True)
class Report:
    """All records of a file and the shares over them."""

    records: tuple[Judged, ...]

    @property
    def measures(self) -> dict[str, float]:
        """The keys of the module's docstring, and how many `records` there were; 0 where there is nothing to count."""
        taken = [record for record in self.records if record.taken]
        failed = [record for record in self.records if record.failed]
        hits = [record for record in taken if record.failed]
        return {
            "precision": _share(len(hits), len(taken)),
            "recall": _share(len(hits), len(failed)),
            "kind_accuracy": _share(sum(hit.kind == hit.kind_given for hit in hits), len(hits)),
            "fault_accuracy": _share(sum(hit.fault == hit.fault_given for hit in hits), len(hits)),
            "records": float(len(self.records)),
        }


def evaluate(file: Path, grounder: Grounder) -> Report:
    """Judge every record of a file (`.jsonl`, also compressed with gzip).

    Raises:
        UsageError: the file cannot be read, or a line is no record; the message names the line.
    """
    return Report(tuple(judge_record(record, grounder) for record in _records(file)))


def judge_record(record: JsonObject, grounder: Grounder) -> Judged:
    """Judge one record and compare it with its label."""
    label = record["label"]
    verdict = _verdict(record, grounder)
    kind = verdict.suspected or verdict.kind
    fault = verdict.fault or KINDS[kind].fault
    return Judged(
        id=str(record.get("id", "")),
        server=str(record.get("server", "")),
        failed=label["outcome"] in _FAILURES,
        taken=verdict.suspected is not None or verdict.kind is Kind.PARTIAL or verdict.kind not in SUCCESSES,
        kind=str(label.get("kind", "none")),
        kind_given=kind.value,
        fault=_fault(str(label.get("fault", "none"))),
        fault_given=_fault(fault.value),
    )


def _verdict(record: JsonObject, grounder: Grounder) -> Verdict:
    server = str(record.get("server", ""))
    error = record.get("rpc_error")
    if isinstance(error, dict):
        code = error.get("code")
        raised: AnyActError = RemoteError(
            code if isinstance(code, int) else -32603, str(error.get("message", "")), error.get("data"), server=server
        )
        return grounder.judge_error(raised)
    name = str(record.get("tool", ""))
    result: Json = record.get("result")
    return grounder.judge(result, Action(f"{server}__{name}", server, name))


def _fault(name: str) -> str:
    """The fault under the name that both sides are compared by."""
    if name.startswith("environment"):
        return Fault.ENVIRONMENT.value
    return Fault.DOWNSTREAM.value if name == Fault.OVERLOAD.value else name


def _records(file: Path) -> Iterator[JsonObject]:
    try:
        data = file.read_bytes()
        if data.startswith(_GZIP):
            data = gzip.decompress(data)
    except (OSError, EOFError) as error:
        raise UsageError(f"{file} cannot be read: {error}") from error
    count = 0
    for number, line in enumerate(data.splitlines(), 1):
        if not line.strip():
            continue
        try:
            record = orjson.loads(line)
        except ValueError as error:
            raise UsageError(f"{file}:{number} is no JSON: {error}") from error
        label = record.get("label") if isinstance(record, dict) else None
        if not isinstance(label, dict) or label.get("outcome") not in _OUTCOMES:
            raise UsageError(
                f"{file}:{number} has no label with an outcome",
                hint=f"A record needs `label.outcome`, one of {', '.join(sorted(_OUTCOMES))}.",
            )
        count += 1
        yield record
    if not count:
        raise UsageError(f"{file} holds no records")


def _share(part: int, whole: int) -> float:
    return part / whole if whole else 0.0
