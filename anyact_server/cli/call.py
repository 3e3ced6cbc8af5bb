"""`call` and `run`."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import click

from anyact_server.app import App
from anyact_server.catalog import Site
from anyact_server.errors import UsageError
from anyact_server.types import Call, JsonObject, Observation, RunReport, Task

from .common import site_options, with_app
from .output import DONE, FAILED, note, observation_code, show_json


def read_text(source: str) -> str:
    """The text of a file, or of stdin for `-`. Raises UsageError."""
    if source == "-":
        return sys.stdin.read()
    try:
        return Path(source).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"cannot read {source}: {error}") from error


def parse_arguments(text: str | None, pairs: tuple[str, ...]) -> dict[str, Any]:
    """Arguments from a JSON text (`@FILE` and `@-` read it) and from NAME=VALUE pairs, which win.

    A value that is valid JSON is taken as JSON, anything else as a string.

    Raises:
        UsageError: the text is no JSON object, or a pair has no `=`.
    """
    values: dict[str, Any] = {}
    if text:
        raw = read_text(text[1:]) if text.startswith("@") else text
        try:
            values = json.loads(raw)
        except json.JSONDecodeError as error:
            raise UsageError(
                f"the arguments are no JSON: {error}", hint='Write them as \'{"name": "value"}\'.'
            ) from error
        if not isinstance(values, dict):
            raise UsageError("the arguments must be a JSON object", hint='Write them as \'{"name": "value"}\'.')
    for pair in pairs:
        name, equals, value = pair.partition("=")
        if not equals or not name:
            raise UsageError(f"{pair!r} is not NAME=VALUE", hint="Or give all arguments as one JSON object.")
        try:
            values[name] = json.loads(value)
        except json.JSONDecodeError:
            values[name] = value
    return values


def texts_where_wanted(values: dict[str, Any], pairs: tuple[str, ...], schema: JsonObject) -> dict[str, Any]:
    """The arguments, each NAME=VALUE as it was written where the action wants a text: `text=5` is no number there."""
    properties = schema.get("properties")
    written = {name: text for name, _, text in (pair.partition("=") for pair in pairs)}
    wanted = properties if isinstance(properties, dict) else {}

    def is_text(name: str) -> bool:
        return isinstance(wanted.get(name), dict) and wanted[name].get("type") == "string"

    return {name: written[name] if name in written and is_text(name) else value for name, value in values.items()}


def show(observation: Observation) -> None:
    """Print an observation for a person: the body to stdout, everything about it to stderr."""
    click.echo(observation.text or observation.summary)
    what = observation.action or ""
    note(f"[{observation.status}] {what} in {observation.seconds:.2f} s, about {observation.tokens.shown} tokens")


@click.command()
@click.argument("action")
@click.argument("pairs", nargs=-1, metavar="[NAME=VALUE]...")
@click.option(
    "--arguments",
    "-a",
    "text",
    metavar="JSON",
    help="All arguments as one JSON object; @FILE reads it, @- takes stdin.",
)
@click.option("--timeout", "timeout_s", type=click.FloatRange(min=0.1), metavar="SECONDS", help="Limit for this call.")
@click.option("--budget", type=click.IntRange(min=100), metavar="TOKENS", help="Tokens of the observation.")
@click.option("--read-only", is_flag=True, help="Refuse any action that is not declared read-only.")
@site_options
def call(
    site: Site,
    as_json: bool,
    action: str,
    pairs: tuple[str, ...],
    text: str | None,
    timeout_s: float | None,
    budget: int | None,
    read_only: bool,
) -> int:
    """Call one action and print the observation.

    \b
    anyact call time__get_current_time timezone=Europe/Berlin
    anyact call files__read_file -a '{"path": "notes.txt"}'
    """
    arguments = parse_arguments(text, pairs)

    async def work(app: App) -> int:
        known = app.catalog.get(action)
        given = arguments if known is None else texts_where_wanted(arguments, pairs, known.shown_schema)
        observation = await app.space.call(
            action, given, app.caller(), timeout_s=timeout_s, budget=budget, read_only=read_only
        )
        if as_json:
            show_json(observation)
        else:
            show(observation)
        return observation_code(observation)

    # An id says which server it is of: only that one is read, and by the call itself.
    of_one = any(action.startswith(f"{spec.name}__") for spec in site.configs.specs)
    return with_app(site, work, read=not of_one, as_json=as_json)


def parse_tasks(text: str) -> list[Task]:
    """Tasks from JSON: a list, or an object with `tasks`.

    Raises:
        UsageError: not JSON, or a task without an action.
    """
    try:
        document = json.loads(text)
    except json.JSONDecodeError as error:
        raise UsageError(f"the tasks are no JSON: {error}") from error
    entries = document.get("tasks") if isinstance(document, dict) else document
    if not isinstance(entries, list):
        raise UsageError(
            "the tasks must be a list", hint='For example: [{"id": "a", "action": "time__get_current_time"}]'
        )
    tasks = []
    for number, entry in enumerate(entries, 1):
        action = entry.get("action", entry.get("tool")) if isinstance(entry, dict) else None
        if not isinstance(action, str):
            raise UsageError(f"task {number} names no action", hint='Each task needs "action": "<id>".')
        chosen = Call(action, entry.get("arguments"), timeout_s=entry.get("timeout_s"))
        wanted = entry.get("depends_on") or ()
        wanted = (wanted,) if isinstance(wanted, str) else tuple(wanted)
        tasks.append(Task(str(entry.get("id", number)), chosen, wanted, entry.get("on_error", "stop_dependents")))
    return tasks


@click.command()
@click.argument("file", metavar="FILE|-")
@click.option("--max-parallel", type=click.IntRange(1, 64), help="Tasks at the same time.")
@site_options
def run(site: Site, as_json: bool, file: str, max_parallel: int | None) -> int:
    """Run many calls with dependencies, read as JSON from FILE (- for stdin).

    \b
    [{"id": "a", "action": "git__git_log", "arguments": {"repo_path": "."}},
     {"id": "b", "action": "memory__store", "arguments": {"text": {"$anyact": "a"}}, "depends_on": ["a"]}]
    """
    tasks = parse_tasks(read_text(file))

    async def work(app: App) -> RunReport:
        return await app.runs.start(tasks, app.caller(), max_parallel=max_parallel, wait_s=app.settings.ceiling_s)

    report = with_app(site, work, read=True, as_json=as_json)
    if as_json:
        show_json(report)
    else:
        for task in report.tasks:
            colour = "green" if task.state == "done" else "red"
            click.echo(f"{click.style(task.state, fg=colour)} {task.id} ({task.action})")
            if task.observation:
                click.echo(task.observation.text or task.observation.summary)
            elif task.reason:
                click.echo(task.reason)
        note(f"{sum(t.state == 'done' for t in report.tasks)} of {len(report.tasks)} done in {report.seconds:.2f} s")
    return DONE if all(task.state == "done" for task in report.tasks) else FAILED


COMMANDS = {"call": call, "run": run}
