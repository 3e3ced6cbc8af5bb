"""`index build|info|verify`: index folders, made once and used by many."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import click

from anyact_server.app import App
from anyact_server.catalog import Site
from anyact_server.errors import UsageError
from anyact_server.evaluation.retrieval import read_actions
from anyact_server.retrieval import Index, VectorStore, info, load, verify
from anyact_server.types import Action, plain

from .common import site_options, with_app
from .output import DONE, FAILED, note, progress, show_json


@click.group()
def index() -> None:
    """Build, inspect and verify an index folder: a search index that other machines use without encoding anything.

    \b
    anyact index build ./index                     of the catalog
    anyact index build ./index --tools tools.jsonl of a file
    anyact index verify ./index
    anyact serve --http 127.0.0.1:8484 --set indexes=./index
    """


def file_actions(files: Sequence[str]) -> list[Action]:
    """The actions of files, each id once, the first wins. Raises UsageError."""
    found: dict[str, Action] = {}
    for file in files:
        for action in read_actions(Path(file).expanduser()):
            found.setdefault(action.id, action)
    return list(found.values())


@index.command()
@click.argument("folder", type=click.Path(), metavar="DIR")
@click.option(
    "--tools", "files", multiple=True, type=click.Path(), metavar="FILE", help="Actions as JSON lines, also .gz."
)
@site_options
def build(site: Site, as_json: bool, folder: str, files: tuple[str, ...]) -> int:
    """Index the actions of the catalog, or of files, into a folder; an index that is there is replaced in one step."""

    async def known(app: App) -> list[Action]:
        return list(app.catalog.actions())

    actions = file_actions(files) if files else with_app(site, known, read=True, as_json=as_json)
    if not actions:
        raise UsageError(
            "there are no actions to index", hint="Add a server (anyact add time), or name a --tools file."
        )
    target = Path(folder).expanduser().absolute()
    with progress("encoding", len(actions), as_json=as_json) as bar:
        made = Index(
            load(site.settings),
            store=VectorStore(site.make_home() / "vectors.sqlite"),
            progress=lambda done, total: bar.at(done),
        )
        try:
            made.rebuild(actions)
            told = made.export(target)
        finally:
            made.close()
    if as_json:
        show_json({"folder": str(target), **plain(told)})
    else:
        note(f"{target}: {told.actions} actions of {told.servers} servers, {told.vectors} with vectors")
    if told.vectors < told.actions and site.settings.encoder != "off":
        note("the encoder gave no vectors for some actions: they are found by keyword alone")
        return FAILED
    return DONE


@index.command(name="info")
@click.argument("folder", type=click.Path(), metavar="DIR")
@site_options
def info_(site: Site, as_json: bool, folder: str) -> int:
    """Show what an index folder says of itself."""
    told = info(Path(folder).expanduser())
    if as_json:
        show_json(told)
        return DONE
    for name, value in (
        ("actions", told.actions),
        ("servers", told.servers),
        ("vectors", f"{told.vectors} of {told.dimension} numbers ({told.index or 'none'})"),
        ("encoder", told.encoder or "none"),
        ("segments", told.segments),
        ("layout", f"{told.schema}{'' if told.current else ' (of another version)'}"),
    ):
        click.echo(f"{name:<9} {value}")
    return DONE


@index.command(name="verify")
@click.argument("folder", type=click.Path(), metavar="DIR")
@site_options
def verify_(site: Site, as_json: bool, folder: str) -> int:
    """Check an index folder: every file's digest, and whether its vectors are of the encoder that is set."""
    encoder = load(site.settings)
    path = Path(folder).expanduser()
    problems = verify(path, encoder.digest if encoder is not None else None)
    if encoder is None and info(path).encoder is None:
        problems = [problem for problem in problems if not problem.endswith("have no vector")]
    if as_json:
        show_json({"folder": folder, "ok": not problems, "problems": problems})
    else:
        for problem in problems:
            click.echo(f"{click.style('wrong', fg='red')}  {problem}")
        note("the index cannot be used as it is; build it again" if problems else "the index is sound")
    return FAILED if problems else DONE


COMMANDS = {"index": index}
