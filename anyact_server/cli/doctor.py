"""`doctor`: what is wrong with each server, and the cure."""

from __future__ import annotations

import click

from anyact_server.app import App
from anyact_server.catalog import Finding, Site

from .common import site_options, with_app
from .output import DONE, FAILED, note, progress, show_json

MARKS = {"ok": ("ok", "green"), "warning": ("warning", "yellow"), "broken": ("broken", "red"), "off": ("off", "blue")}


def show(finding: Finding) -> None:
    """Print a finding."""
    word, colour = MARKS[finding.health]
    click.echo(f"{click.style(word.ljust(8), fg=colour)} {finding.server}: {finding.message}")
    for detail in finding.details:
        click.echo(f"         - {detail}")
    if finding.cure:
        click.echo(f"         cure: {finding.cure}")


@click.command()
@click.argument("names", nargs=-1)
@site_options
def doctor(site: Site, as_json: bool, names: tuple[str, ...]) -> int:
    """Start every server, read what it offers, and tell what is wrong and how to mend it."""

    async def work(app: App) -> int:
        for name in names:
            app.catalog.spec(name)
        chosen = [spec.name for spec in app.catalog.specs() if not names or spec.name in names]
        with progress("looking", len(chosen), as_json=as_json) as bar:
            findings = await app.diagnose(chosen, bar.step)
        problems = [one for one in site.configs.problems if not names or one.entry is None or one.entry in names]
        configuration = [str(problem) for problem in problems]
        if as_json:
            show_json({"configuration": configuration, "findings": findings})
        else:
            for problem in configuration:
                click.echo(f"{click.style('config  ', fg='yellow')} {problem}")
            for finding in findings:
                show(finding)
            if not chosen:
                note("no servers are configured; add one: anyact add time")
        wrong = any(problem.severity == "error" for problem in problems)
        return FAILED if wrong or any(finding.health == "broken" for finding in findings) else DONE

    return with_app(site, work)


COMMANDS = {"doctor": doctor}
