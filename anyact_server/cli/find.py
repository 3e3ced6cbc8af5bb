"""`search`, `list` and `describe`."""

from __future__ import annotations

from typing import Any

import click

from anyact_server.app import App
from anyact_server.catalog import Site
from anyact_server.types import LOCAL, Action, Query, plain

from .common import site_options, with_app
from .output import DONE, FAILED, counted, note, show_json, table


@click.command()
@click.argument("intents", nargs=-1, required=True)
@click.option("--limit", "-n", default=10, show_default=True, type=click.IntRange(1, 50), help="Hits at most.")
@click.option("--server", "-s", "servers", multiple=True, metavar="NAME", help="Only actions of this server.")
@click.option("--tag", "tags", multiple=True, help="Only actions of servers with this tag.")
@click.option("--read-only", is_flag=True, help="Only actions that are declared read-only.")
@site_options
def search(
    site: Site,
    as_json: bool,
    intents: tuple[str, ...],
    limit: int,
    servers: tuple[str, ...],
    tags: tuple[str, ...],
    read_only: bool,
) -> int:
    """Find actions for one or more needs, in plain words: one argument per need."""
    query = Query(intents, limit=limit, servers=servers, tags=tags, read_only=True if read_only else None)

    async def work(app: App) -> int:
        answer = await app.space.search(query, LOCAL)
        if as_json:
            show_json(
                {
                    "hits": [hit_json(hit) for hit in answer.hits],
                    "degraded": answer.degraded,
                    "total": answer.total,
                    "unmet": list(answer.unmet),
                }
            )
        else:
            rows = [(hit.action.id, f"{hit.score:.3f}", first_line(hit.action)) for hit in answer.hits]
            table(("ACTION", "SCORE", "WHAT IT DOES"), rows)
            if answer.degraded:
                note(f"note: {answer.degraded}")
            if answer.hits and answer.unmet:
                note(
                    f"nothing clearly fits {', '.join(repr(intents[at]) for at in answer.unmet)}; these are the nearest"
                )
            if not answer.hits:
                note("nothing fits; `anyact list` shows what there is")
        return DONE if answer.hits else FAILED

    return with_app(site, work, read=True, as_json=as_json)


@click.command(name="list")
@click.option("--server", "-s", "servers", multiple=True, metavar="NAME", help="Only actions of this server.")
@site_options
def list_(site: Site, as_json: bool, servers: tuple[str, ...]) -> int:
    """List the actions of the catalog; only servers that were never read are started."""

    async def work(app: App) -> int:
        for name in servers:
            app.catalog.spec(name)
        chosen = [action for action in app.catalog.actions() if not servers or action.server in servers]
        if as_json:
            show_json({"actions": [brief(action) for action in chosen]})
        else:
            table(("ACTION", "STATE", "WHAT IT DOES"), [(a.id, a.state, first_line(a)) for a in chosen])
            of = counted(len({action.server for action in chosen}), "server")
            note(f"{counted(len(chosen), 'action')} of {of}")
        return DONE

    return with_app(site, work, read=True, as_json=as_json)


@click.command()
@click.argument("actions", nargs=-1, required=True)
@site_options
def describe(site: Site, as_json: bool, actions: tuple[str, ...]) -> int:
    """Show actions in full: schemas, hints, reliability with its reasons."""

    async def work(app: App) -> int:
        found = app.space.describe(actions, LOCAL)
        if as_json:
            show_json({"actions": [{**plain(action), "reliability": plain(estimate)} for action, estimate in found]})
            return DONE
        for action, estimate in found:
            click.echo(click.style(action.id, bold=True))
            click.echo(f"  server       {action.server} (calls it {action.name!r})")
            click.echo(f"  what         {action.description.strip() or '-'}")
            click.echo(f"  effects      {effects(action)}")
            click.echo(f"  reliability  {estimate.words}")
            if action.fault:
                click.echo(f"  not callable {action.fault}")
            click.echo("  arguments")
            for line in argument_lines(action):
                click.echo(f"    {line}")
        return DONE

    return with_app(site, work, read=True, as_json=as_json)


def first_line(action: Action) -> str:
    """The first line of what an action says about itself, at most 90 characters."""
    line = (action.description or action.title or "").strip().partition("\n")[0].strip()
    return line if len(line) <= 90 else line[:89] + "…"


def effects(action: Action) -> str:
    """An action's hints in words."""
    if action.hints.read_only:
        return "only reads"
    words = ["destructive" if action.hints.destructive is not False else "changes things, destroys nothing"]
    if action.hints.idempotent:
        words.append("safe to repeat")
    return ", ".join(words)


def argument_lines(action: Action) -> list[str]:
    """One line per argument of an action: name, type, whether it must be given, description."""
    properties = action.shown_schema.get("properties")
    required = action.shown_schema.get("required") or ()
    if not isinstance(properties, dict) or not properties:
        return ["(none)"]
    lines = []
    for name, schema in properties.items():
        schema = schema if isinstance(schema, dict) else {}
        need = "required" if name in required else "optional"
        text = str(schema.get("description", "")).strip().partition("\n")[0]
        lines.append(f"{name}  {schema.get('type', 'any')}, {need}  {text}".rstrip())
    return lines


def brief(action: Action) -> dict[str, Any]:
    """An action without its schemas."""
    return {
        "id": action.id,
        "server": action.server,
        "name": action.name,
        "description": action.description,
        "state": action.state,
        **({"fault": action.fault} if action.fault else {}),
    }


def hit_json(hit: Any) -> dict[str, Any]:
    """A hit without its schemas."""
    return {
        **brief(hit.action),
        "score": round(hit.score, 4),
        "why": list(hit.why),
        "intents": list(hit.intents),
        "reliability": plain(hit.estimate) if hit.estimate else None,
        "helper": plain(hit.helper) if hit.helper else None,
    }


COMMANDS = {"search": search, "list": list_, "describe": describe}
