"""Observations, runs and servers as the content of a tool result.

Pure. A result is a plain `tools/call` result object: text, media blocks, and structured content that holds only status,
ids, handle, error and token counts.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from anyact_server.errors import AnyActError, UnknownAction
from anyact_server.grounding import estimate, render
from anyact_server.types import (
    KINDS,
    ErrorInfo,
    Json,
    Observation,
    RunReport,
    ServerState,
    ServerStatus,
    TaskReport,
    TokenCount,
)

from .render import BYTES_PER_TOKEN, counted, one_line, size

RUN_BUDGETS = 4
"""A report of a run may take as many tokens as so many observations."""
LEAST_TASK_BYTES = 160
"""Bytes that every task of a report may use however many there are."""

Result = dict[str, Any]


def text_block(text: str) -> dict[str, Any]:
    """A text content block; lone surrogates become question marks, for they cannot be sent."""
    return {"type": "text", "text": text.encode("utf-8", "replace").decode()}


def result(text: str, structured: dict[str, Json], *, is_error: bool = False, blocks: Sequence[Json] = ()) -> Result:
    """A `tools/call` result."""
    return {
        "content": [text_block(text), *(dict(block) for block in blocks)],
        "structuredContent": structured,
        "isError": is_error,
    }


def told(text: str, structured: dict[str, Json], *, budget: int, blocks: Sequence[Json] = ()) -> Result:
    """A result of the front's own, with its tokens counted."""
    tokens = {"shown": estimate(text), "budget": budget}
    return result(text, {**structured, "tokens": tokens}, blocks=blocks)


# --- one observation


def observed(observation: Observation, notes: Sequence[str] = ()) -> Result:
    """An observation as the answer of `call_action` and its siblings."""
    text = "\n".join([render(observation), *notes])
    return result(text, facts(observation), is_error=observation.is_error, blocks=observation.blocks)


def direct(observation: Observation) -> Result:
    """An observation as the answer of an action that is a tool of its own.

    The content is the grounded one; a structured object that was shown whole is passed on, for programs read it.
    """
    answer = observed(observation)
    del answer["structuredContent"]
    whole = isinstance(observation.data, dict) and not observation.elided and not observation.is_error
    if whole:
        answer["structuredContent"] = observation.data
    return answer


def facts(observation: Observation) -> dict[str, Json]:
    """Structured content of an observation."""
    found: dict[str, Json] = {"status": observation.status, "id": observation.id}
    if observation.action:
        found["action"] = observation.action
    if observation.handle:
        found["handle"] = observation.handle
    if observation.error:
        found["error"] = error_facts(observation.error)
    if observation.suspected:
        found["suspected"] = error_facts(observation.suspected)
    found["tokens"] = counts(observation.tokens)
    return found


def counts(tokens: TokenCount) -> dict[str, int]:
    """Token counts as structured content."""
    return {"shown": tokens.shown, "raw": tokens.raw, "budget": tokens.budget}


def error_facts(error: ErrorInfo) -> dict[str, Json]:
    """An error as structured content: what a program branches on."""
    found: dict[str, Json] = {
        "kind": error.kind.value,
        "message": one_line(error.message, 300),
        "retryable": error.retryable,
        "retry": error.retry,
    }
    if error.retry_after_s is not None:
        found["retry_after_s"] = error.retry_after_s
    if error.alternatives:
        found["alternatives"] = list(error.alternatives)
    return found


# --- errors of the front itself


def failed(error: AnyActError) -> Result:
    """An error of AnyAct's own as a tool result: what is wrong, how to mend it, what was perhaps meant."""
    facts_ = KINDS[error.kind]
    lines = [f"{error.kind.value}: {error.message}"]
    if error.hint:
        lines.append(error.hint)
    suggestions = list(error.suggestions) if isinstance(error, UnknownAction) else []
    if suggestions and not all(name in error.message for name in suggestions):
        lines.append(f"Perhaps: {', '.join(suggestions)}")
    shown: dict[str, Json] = {
        "kind": error.kind.value,
        "message": one_line(error.message, 300),
        "retryable": facts_.retry not in ("no", "after_change"),
        "retry": facts_.retry,
    }
    if suggestions:
        shown["alternatives"] = suggestions
    return result("\n".join(lines), {"status": "error", "error": shown}, is_error=True)


# --- runs


def run_text(report: RunReport, *, tokens: int, only: Sequence[str] = (), notes: Sequence[str] = ()) -> str:
    """A report of a run: one entry per task, in the order given.

    Args:
        report: the run.
        tokens: ceiling of the whole; every task may use an equal share, and what small ones leave goes to the others.
        only: show just these tasks, whole.
        notes: what was odd about the request.
    """
    tasks = [task for task in report.tasks if not only or task.id in only]
    bodies = [render(task.observation) if task.observation else task.reason or "" for task in tasks]
    share = (
        max(map(size, bodies), default=0)
        if only
        else fair_share([size(body) for body in bodies], tokens * BYTES_PER_TOKEN)
    )
    entries = [
        f"{task_line(task)}\n{_shortened(body, share, report.id, task.id)}".rstrip()
        for task, body in zip(tasks, bodies, strict=True)
    ]
    missing = [name for name in only if name not in {task.id for task in report.tasks}]
    lost = [f"No such task in this run: {', '.join(missing)}."] if missing else []
    return "\n\n".join([run_line(report), *entries, *lost, *notes])


def run_line(report: RunReport) -> str:
    """The first line of a report: how the run stands."""
    states = [task.state for task in report.tasks]
    known = ", ".join(f"{states.count(state)} {state}" for state in dict.fromkeys(sorted(states)))
    word = "cancelled" if report.cancelled else "done" if report.done else "still running"
    more = "" if report.done else f' read_run(run="{report.id}") gives the rest.'
    tasks = f"{counted(len(states), 'task')}: {known or 'none'}"
    return f"Run {report.id}: {word} after {report.seconds:.1f} s; {tasks}.{more}"


def task_line(task: TaskReport) -> str:
    """The first line of a task's entry."""
    timing = ""
    if task.started_s is not None and task.ended_s is not None:
        timing = f" ({task.started_s:.2f} s to {task.ended_s:.2f} s)"
    return f"[{task.id}] {task.action}: {task.state}{timing}"


def fair_share(sizes: Sequence[int], room: int) -> int:
    """The most bytes each body may use so that all fit in `room`: small ones stay whole, the others share alike."""
    share = room // max(len(sizes), 1)
    for _ in range(8):
        small = [size_ for size_ in sizes if size_ <= share]
        if len(small) == len(sizes):
            return max(sizes, default=0)
        share = max(share, (room - sum(small)) // (len(sizes) - len(small)))
    return max(share, LEAST_TASK_BYTES)


def _shortened(body: str, share: int, run: str, task: str) -> str:
    whole = size(body)
    if whole <= share:
        return body
    kept = body.encode("utf-8", "replace")[: max(share - 100, 60)].decode("utf-8", "ignore")
    return f'{kept}\n… {whole - size(kept):,} of {whole:,} bytes not shown: read_run(run="{run}", tasks=["{task}"])'


def ran(report: RunReport, *, tokens: int, only: Sequence[str] = (), notes: Sequence[str] = ()) -> Result:
    """A run as the answer of `run_actions` and `read_run`; a failed task does not make it an error."""
    structured: dict[str, Json] = {
        "status": "ok" if report.done else "pending",
        "run": report.id,
        "done": report.done,
        "tasks": [_task_facts(task) for task in report.tasks],
    }
    blocks = [
        block
        for task in report.tasks
        if task.observation and (not only or task.id in only)
        for block in task.observation.blocks
    ]
    text = run_text(report, tokens=tokens, only=only, notes=notes)
    return told(text, structured, budget=tokens, blocks=blocks)


def _task_facts(task: TaskReport) -> dict[str, Json]:
    found: dict[str, Json] = {"id": task.id, "state": task.state}
    if task.observation:
        found |= facts(task.observation)
        found["observation"] = found["id"]
        found["id"] = task.id
        found["isError"] = task.observation.is_error
    elif task.reason:
        found["reason"] = one_line(task.reason, 300)
    return found


# --- servers


FEW_WARNINGS = 3
"""Warnings of one server that a table of many shows."""
ALL_WARNINGS = 50
"""Warnings that are shown of a server that is asked for alone."""
TROUBLE = frozenset({ServerState.FAILED, ServerState.DOWN, ServerState.NEEDS_LOGIN})
"""States in which a server cannot be used until something changes."""


def servers_text(
    statuses: Sequence[ServerStatus], *, now: float, notes: Sequence[str] = (), warnings: int = FEW_WARNINGS
) -> str:
    """The state of servers, one line each, with at most `warnings` warnings of each; those in trouble are counted."""
    if not statuses:
        return "\n".join(["No server is configured. Add one to the configuration, or run: anyact add NAME", *notes])
    bad = [status for status in statuses if status.state in TROUBLE]
    head = f"{counted(len(statuses), 'server')}, {len(bad) or 'none'} in trouble."
    return "\n".join([head, *(server_line(status, now=now, warnings=warnings) for status in statuses), *notes])


def server_line(status: ServerStatus, *, now: float, warnings: int = FEW_WARNINGS) -> str:
    """One server: name, state, transport, actions, since when, the last error, the next try."""
    parts = [counted(status.actions, "action") + (" (could not be checked lately)" if status.stale else "")]
    if status.since:
        parts.append(f"for {duration(now - status.since)}")
    if status.restarts:
        parts.append(f"{status.restarts} restarts")
    if status.error:
        parts.append(one_line(status.error, 400))
    if status.next_try is not None:
        pause = status.next_try - now
        parts.append(f"next try in {duration(pause)}" if pause > 0 else "next try with the next call")
    parts += [one_line(f"warning: {warning}", 200) for warning in status.warnings[:warnings]]
    if len(status.warnings) > warnings:
        parts.append(f"{len(status.warnings) - warnings} more warnings: name the server to see them")
    return f"- {status.server} [{status.transport}] {status.state.value}: {'; '.join(parts)}"


def duration(seconds: float) -> str:
    """Seconds in words: 12 s, 5 min, 3 h, 2 days."""
    seconds = max(seconds, 0.0)
    for length, unit in ((86400, "days"), (3600, "h"), (60, "min")):
        if seconds >= 2 * length:
            return f"{seconds / length:.0f} {unit}"
    return f"{seconds:.0f} s"


def listed(statuses: Sequence[ServerStatus], *, now: float, notes: Sequence[str] = (), alone: bool = False) -> Result:
    """Servers as the answer of the tool `servers`; one that is asked for alone comes with its warnings."""
    warnings = ALL_WARNINGS if alone else FEW_WARNINGS
    structured = {
        "status": "ok",
        "servers": [
            {"server": status.server, "state": status.state.value, "actions": status.actions} for status in statuses
        ],
    }
    return result(servers_text(statuses, now=now, notes=notes, warnings=warnings), structured)
