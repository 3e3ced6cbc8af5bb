"""`manifest list|pull|check|diff`: known servers, and what they were seen to offer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from anyact_server.app import App
from anyact_server.catalog import (
    Checked,
    Progress,
    Pulled,
    Site,
    changes_since,
    check_manifests,
    counted,
    manifest_folders,
    manifest_spec,
    read_manifests,
)
from anyact_server.catalog import pull as pull_snapshots
from anyact_server.errors import AnyActError, UnknownServer, UsageError
from anyact_server.telemetry import MASK
from anyact_server.types import CatalogChange, Json, ServerSpec

from .common import site_options, with_app
from .configure import surroundings
from .output import DONE, FAILED, note, progress, show_json, table

folder_option = click.option("--manifests", multiple=True, metavar="DIR", help="A further folder of manifests.")


@click.group()
def manifest() -> None:
    """Known servers: list, pull, check and compare.

    \b
    anyact manifest list database          what is known, narrowed by words
    anyact manifest pull time git          keep what they offer, to search them without starting them
    anyact manifest diff git               what changed since
    anyact manifest check my-server.json   what is wrong with a file of your own
    """


# --- list


def brief(one: Any) -> dict[str, Json]:
    """A manifest in short: what it is, how it is started, what it needs."""
    return {
        "name": one.name,
        "title": one.title,
        "description": one.description,
        "tags": list(one.tags),
        "starts": [recipe.url or recipe.registry or recipe.command for recipe in one.start],
        "needs": [variable.name for variable in one.variables if variable.required],
    }


@manifest.command(name="list")
@click.argument("words", nargs=-1)
@folder_option
@site_options
def list_(site: Site, as_json: bool, words: tuple[str, ...], manifests: tuple[str, ...]) -> int:
    """List the known servers; words narrow the list to those that speak of all of them."""
    found = read_manifests(manifest_folders(Path(folder) for folder in manifests))
    listed = []
    for one in found.manifests.values():
        text = f"{one.name} {one.title} {one.description} {' '.join(one.tags)}".lower()
        if all(word.lower() in text for word in words):
            listed.append(brief(one))
    if as_json:
        show_json({"manifests": listed, "problems": [problem.message for problem in found.problems]})
        return DONE
    table(("NAME", "NEEDS", "WHAT IT IS FOR"), [(m["name"], ", ".join(m["needs"]) or "-", _line(m)) for m in listed])
    for problem in found.problems:
        note(f"left out: {problem.message}")
    note(f"{len(listed)} known servers; add one: anyact add NAME" if listed else "no known server speaks of that")
    return DONE if listed else FAILED


def _line(one: dict[str, Json]) -> str:
    text = str(one["description"] or one["title"])
    return text if len(text) <= 80 else text[:79] + "…"


# --- check


def checked_json(one: Checked) -> dict[str, Json]:
    """How one file did."""
    problem = one.problem
    return {
        "file": str(one.file),
        "name": one.name,
        "ok": problem is None,
        "problem": problem.message if problem else None,
        "hint": problem.hint if problem else None,
        "line": problem.origin.line or None if problem and problem.origin else None,
    }


@manifest.command()
@click.argument("paths", nargs=-1, required=True, metavar="FILE|DIR...", type=click.Path())
@site_options
def check(site: Site, as_json: bool, paths: tuple[str, ...]) -> int:
    """Check manifest files, and every file of folders; names the field that is wrong and the cure."""
    found = check_manifests([Path(path).expanduser() for path in paths])
    wrong = [one for one in found if one.problem is not None]
    if as_json:
        show_json({"files": [checked_json(one) for one in found]})
    else:
        for one in wrong:
            click.echo(f"{click.style('wrong', fg='red')}  {one.file}: {one.problem.message if one.problem else ''}")
            if one.problem and one.problem.hint:
                click.echo(f"       cure: {one.problem.hint}")
        note(f"{len(found) - len(wrong)} of {len(found)} files are in order")
    return FAILED if wrong or not found else DONE


# --- pull and diff


def with_known(
    site: Site, names: Sequence[str], manifests: tuple[str, ...], as_json: bool
) -> tuple[Site, dict[str, AnyActError]]:
    """The site with servers of manifests beside the configured ones, and why some could not be made ready."""
    configured = {spec.name for spec in site.configs.specs}
    missing = [name for name in names if name not in configured]
    specs: list[ServerSpec] = []
    failed: dict[str, AnyActError] = {}
    around = surroundings(site, manifests) if missing else None
    with progress("preparing", len(missing), as_json=as_json) as bar:
        for done, name in enumerate(missing):

            def tell(step: Progress, name: str = name, done: int = done) -> None:
                bar.at(done, f"{name}: {step.words}")

            try:
                assert around is not None
                spec, addition, _ = manifest_spec(name, around, limits=site.settings.limits(), tell=tell)
                MASK.protect(addition.secrets)
                MASK.protect(spec.secrets)
                specs.append(replace(spec, name=name))
            except AnyActError as error:
                failed[name] = error
            bar.at(done + 1, name)
    return replace(site, configs=replace(site.configs, specs=(*site.configs.specs, *specs))), failed


def pulled_json(one: Pulled) -> dict[str, Json]:
    """How pulling one server ended."""
    error = one.error
    return {
        "server": one.server,
        "actions": one.actions,
        "change": dict(counted(one.change)) if one.change is not None else None,
        "kept": one.kept,
        "error": {"kind": error.kind.value, "message": MASK.mask(error.message), "hint": error.hint} if error else None,
    }


def pulled_line(one: Pulled) -> str:
    """The same for a person."""
    if one.error is not None:
        return f"{click.style('failed', fg='red')}  {one.server}: {MASK.mask(one.error.message)}"
    if one.kept:
        return f"{click.style('kept', fg='blue')}    {one.server}: {one.actions} actions"
    changed = counted(one.change) if one.change is not None else {}
    words = ", ".join(f"{count} {what}" for what, count in changed.items() if count) or "unchanged"
    return f"{click.style('read', fg='green')}    {one.server}: {one.actions} actions ({words})"


@manifest.command()
@click.argument("names", nargs=-1)
@click.option("--all", "every", is_flag=True, help="Every known server that needs nothing to be set.")
@click.option("--missing", is_flag=True, help="Only those of which nothing is kept yet: goes on where a pull stopped.")
@click.option("--parallel", type=click.IntRange(1, 32), default=4, show_default=True, help="Servers at the same time.")
@folder_option
@site_options
def pull(
    site: Site,
    as_json: bool,
    names: tuple[str, ...],
    every: bool,
    missing: bool,
    parallel: int,
    manifests: tuple[str, ...],
) -> int:
    """Start servers once and keep what they offer in the home folder; without a name, those that are configured."""
    if names and every:
        raise UsageError("give names or --all, not both", hint="For example: anyact manifest pull time git")
    wanted = list(names) or [spec.name for spec in site.configs.specs]
    if every:
        known = read_manifests(manifest_folders(Path(folder) for folder in manifests)).manifests
        wanted = [name for name, one in known.items() if not any(variable.required for variable in one.variables)]
    if not wanted:
        raise UsageError("no server to pull", hint="Name one: anyact manifest pull time")
    ready, failed = with_known(site, list(dict.fromkeys(wanted)), manifests, as_json)

    async def work(app: App) -> tuple[Pulled, ...]:
        names = [name for name in wanted if name not in failed]
        with progress("reading", len(names), as_json=as_json) as bar:

            def done(one: Pulled) -> None:
                bar.step(one.server)

            return await pull_snapshots(
                names, app.catalog, app.downstreams, parallel=parallel, again=not missing, done=done
            )

    read = {one.server: one for one in with_app(ready, work, as_json=as_json)}
    ended = [read.get(name) or Pulled(name, error=failed[name]) for name in dict.fromkeys(wanted)]
    if as_json:
        show_json({"servers": [pulled_json(one) for one in ended]})
    else:
        for one in ended:
            click.echo(pulled_line(one))
    return FAILED if any(one.error is not None for one in ended) else DONE


def change_lines(change: CatalogChange) -> list[str]:
    """A difference, one line per action or list."""
    return [
        *(f"{click.style('+', fg='green')} {name}" for name in change.added),
        *(f"{click.style('-', fg='red')} {name}" for name in change.removed),
        *(f"{click.style('~', fg='yellow')} {name}: {', '.join(what)}" for name, what in change.changed.items()),
        *(f"{click.style('~', fg='yellow')} {what}" for what in change.lists),
    ]


@manifest.command()
@click.argument("name")
@folder_option
@site_options
def diff(site: Site, as_json: bool, name: str, manifests: tuple[str, ...]) -> int:
    """Say what a server offers now against what is kept of it; exit code 1 when something changed."""
    ready, failed = with_known(site, [name], manifests, as_json)
    if name in failed:
        raise failed[name]

    async def work(app: App) -> CatalogChange:
        if app.catalog.snapshot(name) is None:
            raise UnknownServer(f"nothing is kept of {name}", hint=f"Read it first: anyact manifest pull {name}")
        return await changes_since(name, app.catalog, app.downstreams)

    change = with_app(ready, work, as_json=as_json)
    if as_json:
        show_json(
            {
                "server": name,
                "added": list(change.added),
                "removed": list(change.removed),
                "changed": {action: list(what) for action, what in change.changed.items()},
                "lists": list(change.lists),
            }
        )
    else:
        for line in change_lines(change):
            click.echo(line)
        if not change:
            note(f"{name} offers what it offered")
    return FAILED if change else DONE


COMMANDS = {"manifest": manifest}
