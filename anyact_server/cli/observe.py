"""`observe`: any file as the observation that it would be, and what an observation did not show."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from anyact_server.catalog import Site
from anyact_server.errors import RemoteError, UsageError
from anyact_server.grounding import Dialect, Grounder, is_handle, open_store, read_source
from anyact_server.telemetry import SystemClock
from anyact_server.types import LOCAL, JsonObject, Observation, ReadRequest

from .common import site_options
from .output import note, observation_code, show_json

VIEWS = ("page", "grep", "jsonpath", "head", "tail", "region", "diff", "raw")


def read_bytes(source: str) -> bytes:
    """What a file holds, or stdin for `-`. Raises UsageError."""
    if source == "-":
        return sys.stdin.buffer.read()
    try:
        return Path(source).expanduser().read_bytes()
    except OSError as error:
        raise UsageError(f"cannot read {source}: {error.strerror or error}") from error


def observed(grounder: Grounder, result: JsonObject, tokens: int | None, dialect: Dialect) -> Observation:
    """A raw result, or a JSON-RPC error under `error`, as an observation."""
    error = result.get("error") if "content" not in result and "structuredContent" not in result else None
    if isinstance(error, dict):
        code = error.get("code")
        raised = RemoteError(
            code if isinstance(code, int) else -32603, str(error.get("message", "")), error.get("data"), server="file"
        )
        return grounder.observe_error(grounder.judge_error(raised), action_id=None, server=None, principal=LOCAL)
    verdict = grounder.judge(result, None)
    return grounder.observe(result, verdict, action=None, principal=LOCAL, budget=tokens, dialect=dialect)


@click.command()
@click.argument("source", metavar="FILE|-|HANDLE")
@click.option("--tokens", type=click.IntRange(min=100), metavar="N", help="Budget of the observation. [default: 4000]")
@click.option(
    "--format",
    "dialect",
    type=click.Choice(("lines", "json", "markdown")),
    default="lines",
    show_default=True,
    help="How the text is written.",
)
@click.option("--view", type=click.Choice(VIEWS), default="page", show_default=True, help="Of a handle: how to look.")
@click.option("--query", metavar="TEXT", help="Of a handle: pattern, path, region, file of an archive or other handle.")
@click.option("--offset", type=click.IntRange(min=0), default=0, help="Of a handle: where to begin.")
@click.option("--limit", type=click.IntRange(min=1), metavar="N", help="Of a handle: how much.")
@site_options
def observe(
    site: Site,
    as_json: bool,
    source: str,
    tokens: int | None,
    dialect: Dialect,
    view: str,
    query: str | None,
    offset: int,
    limit: int | None,
) -> int:
    """Show any file as an observation: text, JSON, tables, HTML, logs, archives, PDF, pictures, saved tool results.

    What is not shown is kept in the home folder; its handle, given in place of a file, reads it.

    \b
    anyact observe report.csv --tokens 1000
    some-command | anyact observe -
    anyact observe HANDLE --view grep --query timeout
    """
    clock = SystemClock()
    grounder = Grounder(open_store(site.make_home(), site.settings, clock), site.settings, clock)
    if is_handle(source) and not Path(source).exists():
        budget = tokens or site.settings.budget_tokens
        request = ReadRequest(source, view, query, offset, limit, budget)  # type: ignore[arg-type]  # one of VIEWS
        observation = grounder.read(request, LOCAL)
    else:
        name = "" if source == "-" else Path(source).name
        observation = observed(grounder, read_source(read_bytes(source), name), tokens, dialect)
    if as_json:
        show_json(observation)
    else:
        click.echo(observation.text or observation.summary)
        note(f"[{observation.status}] about {observation.tokens.shown:,} tokens of {observation.tokens.raw:,}")
    return observation_code(observation)


COMMANDS = {"observe": observe}
