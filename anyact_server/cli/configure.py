"""`add` and `remove`: servers in the user's own configuration."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from anyact_server.app import App
from anyact_server.catalog import (
    Progress,
    Site,
    Surroundings,
    Wish,
    carry_out,
    look,
    manifest_folders,
    shown,
    understand,
)
from anyact_server.catalog import remove as remove_entry
from anyact_server.errors import UsageError
from anyact_server.telemetry import MASK

from .common import site_options, with_app
from .output import DONE, FAILED, counted, note, progress, show_json

RUNNERS = ("npx", "uvx", "pipx", "docker", "private", "remote")


def pairs(values: tuple[str, ...], option: str) -> dict[str, str | None]:
    """NAME=VALUE pairs; a bare NAME refers to the environment. Raises UsageError."""
    given: dict[str, str | None] = {}
    for value in values:
        name, equals, text = value.partition("=")
        if not name:
            raise UsageError(f"{option} {value!r} is not NAME=VALUE")
        given[name] = text if equals else None
    return given


def surroundings(site: Site, manifests: tuple[str, ...]) -> Surroundings:
    """Where a wish is understood: this machine and this home."""
    folders = manifest_folders(Path(folder) for folder in manifests)
    machine = look(site.home / "environments", user=Path.home())
    return Surroundings(folders, machine, site.home, Path.home(), Path.cwd(), os.environ)


class Worded(click.Command):
    """Keeps the words behind `--` apart: they are the command, or go to it, and are never read as ours."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        cut = args.index("--") if "--" in args else len(args)
        rest = super().parse_args(ctx, args[:cut])
        ctx.params["words"] = (*ctx.params["words"], *args[cut + 1 :])
        return rest


@click.command(cls=Worded)
@click.argument("what", required=False)
@click.argument("words", nargs=-1, type=click.UNPROCESSED)
@click.option("--name", metavar="NAME", help="Its name in the configuration. [default: from what is added]")
@click.option(
    "--env",
    "-e",
    "values",
    multiple=True,
    metavar="NAME=VALUE",
    help="A variable; NAME alone refers to the environment.",
)
@click.option("--header", "headers", multiple=True, metavar="NAME=VALUE", help="An HTTP header of a remote server.")
@click.option("--runner", type=click.Choice(RUNNERS), help="What starts it. [default: the first that is there]")
@click.option("--program", metavar="NAME", help="The program of the package, where it brings several.")
@click.option("--transport", type=click.Choice(["http", "sse"]), help="Of a URL. [default: tried out]")
@click.option("--manifests", multiple=True, metavar="DIR", help="A further folder of manifests.")
@click.option("--replace", "overwrite", is_flag=True, help="Replace another entry of the same name.")
@click.option("--dry-run", is_flag=True, help="Show the entry; write and install nothing.")
@click.option("--no-check", is_flag=True, help="Do not start the server to see what it offers.")
@site_options
def add(
    site: Site,
    as_json: bool,
    what: str | None,
    words: tuple[str, ...],
    values: tuple[str, ...],
    headers: tuple[str, ...],
    manifests: tuple[str, ...],
    overwrite: bool,
    dry_run: bool,
    no_check: bool,
    **rest: Any,
) -> int:
    """Add a server: a known name, a package, a command, a URL, or a file.

    \b
    anyact add time                                  a known server (see: anyact manifest list)
    anyact add github -e GITHUB_PERSONAL_ACCESS_TOKEN
    anyact add filesystem -- ~/Documents             words after -- go to the server
    anyact add npm:@scope/package                    or pypi:package, docker:image
    anyact add https://example.com/mcp --header "Authorization=Bearer ..."
    anyact add server.json                           or a bundle: extension.mcpb
    anyact add --name mine -- python my_server.py    any command
    """
    if what is None and not words:
        raise UsageError("say what to add", hint="For example: anyact add time")
    wish = Wish(what, words, values=pairs(values, "--env"), headers=texts(headers, "--header"), **rest)
    addition = understand(wish, surroundings(site, manifests))
    MASK.protect(addition.secrets)
    report: dict[str, Any] = {"name": addition.name, "entry": shown(addition), "file": str(site.own_file)}
    if dry_run:
        show_json(report)
        return DONE
    written = _carry_out(addition, site, overwrite, as_json)
    report |= {"changed": written.changed, "backup": str(written.backup) if written.backup else None}
    code = DONE
    if not no_check and not addition.unset:
        report |= _check(site, addition.name)
        code = FAILED if "error" in report else DONE
    if as_json:
        show_json(report)
        return code
    note(f"{addition.name}: {'written to' if written.changed else 'already in'} {written.file}")
    for variable in addition.unset:
        note(f"{addition.name} needs {variable.name}: {variable.description}")
        note(f"set it in the environment, or give it: -e {variable.name}=...")
    for line in addition.notes:
        note(line)
    if "error" in report:
        note(f"{addition.name} does not answer yet: {report['error']['message']}")
        note(f"see: anyact doctor {addition.name}")
    elif "actions" in report:
        note(f"{addition.name} offers {counted(report['actions'], 'action')}")
    return code


def texts(values: tuple[str, ...], option: str) -> dict[str, str]:
    """NAME=VALUE pairs, each with its value. Raises UsageError."""
    given: dict[str, str] = {}
    for name, text in pairs(values, option).items():
        if text is None:
            raise UsageError(f"{option} {name!r} has no value", hint=f'Write {option} "{name}=VALUE".')
        given[name] = text
    return given


def _carry_out(addition: Any, site: Site, overwrite: bool, as_json: bool) -> Any:
    steps = addition.launch.environment.steps if addition.launch.environment else ()
    with progress(f"installing {addition.name}", len(steps), as_json=as_json) as bar:

        def tell(step: Progress) -> None:
            bar.at(step.done, step.words)

        return carry_out(addition, site.own_file, backups=site.home / "backups", overwrite=overwrite, tell=tell)


def _check(site: Site, name: str) -> dict[str, Any]:
    """Start the fresh server once and see what it offers."""
    fresh = site if site.own_file in site.files else replace(site, files=(*site.files, site.own_file))

    async def work(app: App) -> dict[str, Any]:
        ended = await app.read_servers([name])
        error = ended[name].error if name in ended else None
        if error is not None:
            return {"error": {"kind": error.kind.value, "message": MASK.mask(error.message), "hint": error.hint}}
        return {"actions": len(app.catalog.of_server(name))}

    return with_app(fresh.read(), work)


@click.command()
@click.argument("name")
@site_options
def remove(site: Site, as_json: bool, name: str) -> int:
    """Remove a server from the configuration; a backup stays in the home folder."""
    written = remove_entry(name, site.own_file, backups=site.home / "backups")
    if as_json:
        show_json(
            {"removed": name, "file": str(written.file), "backup": str(written.backup) if written.backup else None}
        )
    else:
        note(f"removed {name} from {written.file}")
    return DONE


COMMANDS = {"add": add, "remove": remove}
