"""`servers`: the state of every server; with `--check`, after reading each anew."""

from __future__ import annotations

import time

import click

from anyact_server.app import App
from anyact_server.catalog import Site
from anyact_server.types import ServerStatus

from .common import site_options, with_app
from .output import DONE, FAILED, note, show_json, table


def row(status: ServerStatus, now: float) -> tuple[str, ...]:
    """A server's line in the table."""
    since = f"{_age(now - status.since)} ago" if status.since else "-"
    pause = None if status.next_try is None else status.next_try - now
    wait = "" if pause is None else f"next try in {_age(pause)}" if pause > 0 else "next try with the next call"
    words = "; ".join(part for part in (status.error, wait) if part)
    state = f"{status.state.value}{' (stale)' if status.stale else ''}"
    return (status.server, status.transport, state, str(status.actions), since, words)


def _age(seconds: float) -> str:
    for unit, name in ((86400, "d"), (3600, "h"), (60, "min")):
        if seconds >= unit:
            return f"{seconds / unit:.0f} {name}"
    return f"{max(seconds, 0):.0f} s"


@click.command()
@click.argument("names", nargs=-1)
@click.option("--check", is_flag=True, help="Start each server and read what it offers now.")
@site_options
def servers(site: Site, as_json: bool, names: tuple[str, ...], check: bool) -> int:
    """Show the servers: transport, state, number of actions, last error."""

    async def work(app: App) -> int:
        for name in names:
            app.catalog.spec(name)
        chosen = [spec.name for spec in app.catalog.specs() if not names or spec.name in names]
        if check:
            await app.read_servers(chosen)
        statuses = [app.status(name) for name in chosen]
        if as_json:
            show_json({"servers": statuses})
        else:
            now = time.time()
            table(
                ("SERVER", "TRANSPORT", "STATE", "ACTIONS", "SINCE", "WHAT IS KNOWN"), [row(s, now) for s in statuses]
            )
            if not statuses:
                note("no servers are configured; add one: anyact add time")
        broken = [s for s in statuses if s.state.value in ("failed", "down", "needs login")]
        return FAILED if check and broken else DONE

    return with_app(site, work)


COMMANDS = {"servers": servers}
