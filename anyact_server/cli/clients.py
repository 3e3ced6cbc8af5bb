"""`import` and `connect`: the configurations of other clients."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import click

from anyact_server.catalog import (
    CLIENTS,
    Imports,
    Plan,
    Site,
    Target,
    carry_out_plan,
    choose_place,
    client,
    file_places,
    import_clients,
    own_servers,
    places,
    plan_connect,
    plan_undo,
    read_journal,
    take_in,
)
from anyact_server.errors import AnyActError, UsageError
from anyact_server.settings import home_folder
from anyact_server.types import Json, JsonObject

from .common import site_options
from .configure import texts
from .output import DONE, FAILED, note, show_json, table


def start_of(entry: JsonObject) -> str:
    """What an entry starts or reaches, in a word: the program or the host, never arguments, for they hold secrets."""
    command = entry.get("command")
    if isinstance(command, list):
        command = next(iter(command), None)
    if isinstance(command, str):
        return command
    url = next((entry[key] for key in ("url", "serverUrl", "httpUrl") if isinstance(entry.get(key), str)), None)
    if url is None:
        return "?"
    try:
        return f"{urlsplit(str(url)).scheme}://{urlsplit(str(url)).hostname or '?'}"
    except ValueError:
        return "?"


def problem_json(problem: AnyActError) -> dict[str, Json]:
    """What is wrong in a client's file."""
    return {"message": problem.message, "hint": problem.hint}


def found_json(imports: Imports) -> list[dict[str, Json]]:
    """Every server that was found: its name, what it starts, where it stands, whether AnyAct has it already."""
    return [
        {
            "name": one.name,
            "starts": start_of(one.entry),
            "known": one.known,
            "from": [
                {"client": source.place.client.name, "name": source.name, "at": str(source.origin)}
                for source in one.sources
            ],
        }
        for one in imports.servers
    ]


def show_found(imports: Imports) -> None:
    """Print what was found, and what is wrong."""
    rows = []
    for one in imports.servers:
        where = ", ".join(f"{source.place.client.title} ({source.origin})" for source in one.sources)
        rows.append((one.name, start_of(one.entry), "there already" if one.known else "new", where))
    table(("SERVER", "STARTS", "STATE", "FOUND IN"), rows)
    for problem in imports.problems:
        note(f"left out: {problem.message}")


def chosen(imports: Imports, names: Sequence[str]) -> Imports:
    """What was found, narrowed to servers of these names. Raises UsageError."""
    if not names:
        return imports
    there = {one.name for one in imports.servers}
    for name in names:
        if name not in there:
            raise UsageError(f"no client has a server named {name!r}", hint=f"Found: {', '.join(sorted(there)) or '-'}")
    return Imports(
        tuple(one for one in imports.servers if one.name in names), imports.inputs, imports.problems, imports.files
    )


@click.command(name="import")
@click.argument("names", nargs=-1)
@click.option(
    "--client", "clients", multiple=True, metavar="NAME", help="Only this client; may be given several times."
)
@click.option("--file", "files", multiple=True, type=click.Path(), metavar="FILE", help="A file instead of clients.")
@click.option("--project", type=click.Path(), metavar="DIR", help="Also the clients' files in this project folder.")
@click.option("--dry-run", is_flag=True, help="Show what was found; write nothing.")
@site_options
def import_(
    site: Site,
    as_json: bool,
    names: tuple[str, ...],
    clients: tuple[str, ...],
    files: tuple[str, ...],
    project: str | None,
    dry_run: bool,
) -> int:
    """Read the servers of other clients into the configuration: all of them, or those that are named.

    \b
    anyact import --dry-run                what there is
    anyact import                          everything, each server once
    anyact import --client cursor github   one server of one client
    anyact import --file team.json         any file of servers
    """
    if files:
        looked = tuple(place for file in files for place in file_places(_there(file)))
    else:
        only = tuple(client(name) for name in clients) or CLIENTS
        looked = places(sys.platform, Path.home(), os.environ, _folder(project), only)
    own = site.own_file
    taken = own_servers(own.read_text(encoding="utf-8") if own.exists() else None, own)
    imports = chosen(import_clients(looked, taken), names)
    report: dict[str, Any] = {
        "file": str(own),
        "servers": found_json(imports),
        "problems": [problem_json(problem) for problem in imports.problems],
        "looked_in": [str(file) for file in imports.files],
        "changed": False,
        "backup": None,
    }
    if not dry_run and imports.servers:
        written = take_in(imports, own, backups=site.home / "backups")
        report |= {"changed": written.changed, "backup": str(written.backup) if written.backup else None}
    if as_json:
        show_json(report)
    else:
        show_found(imports)
        new = sum(not one.known for one in imports.servers)
        if not imports.servers:
            note(f"no servers found in {len(imports.files)} files; name one with --file, or add a server: anyact add")
        elif dry_run:
            note(f"{new} would be written to {own}")
        else:
            note(f"{new} written to {own}; see how they do: anyact doctor")
    return DONE if imports.servers else FAILED


def _there(file: str) -> Path:
    path = Path(file).expanduser().absolute()
    if not path.is_file():
        raise UsageError(f"there is no file {file}", hint="Check the path.")
    return path


def _folder(project: str | None) -> Path | None:
    if project is None:
        return None
    path = Path(project).expanduser().absolute()
    if not path.is_dir():
        raise UsageError(f"there is no folder {project}", hint="Check the path.")
    return path


def own_target(site: Site, url: str | None, headers: Mapping[str, str]) -> Target:
    """How a client reaches this AnyAct: by URL, or by the command of this installation on this home."""
    if url is not None:
        if urlsplit(url).scheme not in ("http", "https"):
            raise UsageError(f"{url} is no URL", hint="For example: --http http://127.0.0.1:8484/mcp")
        return Target(url=url, headers=headers)
    if headers:
        raise UsageError("--header goes with --http", hint="A command gets no headers.")
    program = Path(sys.executable).with_name("anyact")
    words = [str(program)] if program.exists() else [sys.executable, "-m", "anyact_server"]
    words += ["serve", "--stdio"]
    if site.named:
        words += [word for file in site.files for word in ("--config", str(file))]
    if site.home != home_folder(None, {}):
        words += ["--home", str(site.home)]
    return Target(words[0], tuple(words[1:]))


def clients_json(site: Site, project: Path | None) -> list[dict[str, Json]]:
    """Every known client: the file that `connect` writes, whether it is there, and whether AnyAct is in it."""
    found: list[dict[str, Json]] = []
    for one in CLIENTS:
        every = places(sys.platform, Path.home(), os.environ, project, (one,))
        for place in every:
            if not place.written or place.root != one.root:
                continue
            found.append(
                {
                    "client": one.name,
                    "title": one.title,
                    "scope": place.scope,
                    "file": str(place.file),
                    "there": place.file.exists(),
                    "connected": read_journal(site.home, place) is not None,
                }
            )
    return found


def _show_clients(listed: Sequence[Mapping[str, Any]]) -> None:
    rows = []
    for one in listed:
        state = "connected" if one["connected"] else "found" if one["there"] else "-"
        rows.append((one["client"], one["scope"], state, one["file"]))
    table(("CLIENT", "SCOPE", "STATE", "FILE"), rows)


def plan_json(plan: Plan, dry_run: bool, backups: Sequence[Path]) -> dict[str, Any]:
    """What connecting or undoing did, or would do."""
    return {
        "client": plan.client.name,
        "file": str(plan.place.file),
        "undone": plan.undoes,
        "changed": [str(edit.file) for edit in plan.edits],
        "moved": [{"name": one.name, "starts": start_of(one.entry), "known": one.known} for one in plan.moved],
        "notes": list(plan.notes),
        "dry_run": dry_run,
        "backups": [str(path) for path in backups],
    }


def _show_plan(plan: Plan, dry_run: bool, backups: Sequence[Path]) -> None:
    for line in plan.notes:
        note(line)
    for one in plan.moved:
        note(f"{'would move' if dry_run else 'moved'} behind AnyAct: {one.name} ({start_of(one.entry)})")
    for edit in plan.edits:
        word = "removed" if edit.after is None else "written"
        note(f"{'would be ' if dry_run else ''}{word}: {edit.file}")
    for path in backups:
        note(f"backup: {path}")
    if not plan.edits:
        note(f"nothing to do: {plan.place.file} is as it should be")
    elif not dry_run:
        note(f"start {plan.client.title} again to use it")


@click.command()
@click.argument("name", metavar="[CLIENT]", required=False)
@click.option("--list", "listing", is_flag=True, help="List the known clients and their files.")
@click.option("--http", "url", metavar="URL", help="Connect to a running `anyact serve --http` instead of a command.")
@click.option("--header", "headers", multiple=True, metavar="NAME=VALUE", help="With --http: an HTTP header.")
@click.option("--project", type=click.Path(), metavar="DIR", help="Write the client's file in this project folder.")
@click.option("--keep", is_flag=True, help="Leave the client's other servers where they are.")
@click.option("--undo", is_flag=True, help="Take AnyAct out again and put the moved servers back.")
@click.option("--dry-run", is_flag=True, help="Tell what would be written; write nothing.")
@site_options
def connect(
    site: Site,
    as_json: bool,
    name: str | None,
    listing: bool,
    url: str | None,
    headers: tuple[str, ...],
    project: str | None,
    keep: bool,
    undo: bool,
    dry_run: bool,
) -> int:
    """Write AnyAct into a client's configuration, its other servers moved behind AnyAct; --undo takes it back.

    \b
    anyact connect --list
    anyact connect cursor --dry-run
    anyact connect claude-desktop
    anyact connect vscode --http http://127.0.0.1:8484/mcp --header "Authorization=Bearer ..."
    anyact connect cursor --undo
    """
    folder = _folder(project)
    if listing:
        listed = clients_json(site, folder)
        if as_json:
            show_json({"clients": listed})
        else:
            _show_clients(listed)
        return DONE
    if name is None:
        raise UsageError("say which client", hint="anyact connect --list shows them.")
    one = client(name)
    place = choose_place(
        places(sys.platform, Path.home(), os.environ, folder, (one,)), "project" if folder is not None else "user"
    )
    journal = read_journal(site.home, place)
    if undo:
        if journal is None:
            raise UsageError(f"AnyAct did not connect {place.file}", hint="anyact connect --list shows what it did.")
        plan = plan_undo(place, journal)
    else:
        target = own_target(site, url, texts(headers, "--header"))
        plan = plan_connect(place, target, site.own_file, move=not keep, earlier=journal)
    backups = () if dry_run else carry_out_plan(plan, site.home)
    if as_json:
        show_json(plan_json(plan, dry_run, backups))
    else:
        _show_plan(plan, dry_run, backups)
    return DONE


COMMANDS = {"import": import_, "connect": connect}
