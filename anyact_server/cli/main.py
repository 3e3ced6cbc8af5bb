"""The top of the command line: which command lives in which file, and what an error turns into."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Sequence

import click

from anyact_server import __version__
from anyact_server.errors import AnyActError

from .output import exit_code, fail

COMMANDS = {
    "serve": ("serve", "Serve MCP (and REST) over stdio or HTTP."),
    "search": ("find", "Find actions for one or more needs."),
    "list": ("find", "List the actions of the catalog."),
    "describe": ("find", "Show actions in full."),
    "call": ("call", "Call one action and print the observation."),
    "run": ("call", "Run many calls with dependencies."),
    "observe": ("observe", "Show any file, saved result or handle as an observation."),
    "servers": ("servers", "Show the state of every server."),
    "doctor": ("doctor", "Tell what is wrong with each server, and the cure."),
    "add": ("configure", "Add a server: a known name, a package, a command, a URL or a file."),
    "remove": ("configure", "Remove a server from the configuration."),
    "import": ("clients", "Read the servers of other clients into the configuration."),
    "connect": ("clients", "Write AnyAct into a client's configuration (and undo it)."),
    "manifest": ("manifest", "Known servers: list, pull, check and compare."),
    "index": ("index", "Build, inspect and verify an index folder."),
    "token": ("token", "Create, list and revoke bearer tokens."),
    "eval": ("evaluate", "Measure retrieval, and the reading of results and screens, on labelled files."),
    "completion": ("completion", "Print the shell completion script."),
}
"""Command → (file that holds it, its line in `anyact --help`)."""


class LazyGroup(click.Group):
    """Loads a command's file when the command is used: the one loader of this room."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        module = importlib.import_module(f"{__package__}.{COMMANDS[cmd_name][0]}")
        command: click.Command = module.COMMANDS[cmd_name]
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, line) for name, (_, line) in COMMANDS.items()])


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110})
@click.version_option(__version__, "-V", "--version", prog_name="anyact")
def root() -> None:
    """AnyAct: one MCP server in front of everything an agent can do.

    \b
    First steps:
      anyact add time                      a public server by name
      anyact search "what time is it"      find an action
      anyact serve --stdio                 the line for your MCP client's config

    \b
    Exit codes: 0 done, 1 the action or the check failed, 2 wrong usage or configuration,
    3 nothing of that name, 4 a server could not be reached, 5 refused or needs a login, 130 interrupted.
    """


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line and leave the process with its exit code."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    as_json = "--json" in words
    try:
        result = root.main(args=words, prog_name="anyact", standalone_mode=False)
    except click.exceptions.Abort:  # click's word for Ctrl-C
        sys.exit(130)
    except click.ClickException as error:
        if as_json:
            fail(error.format_message(), kind="invalid_args", hint="See: anyact --help", as_json=True)
        else:
            error.show()
        sys.exit(2)
    except AnyActError as error:
        fail(error.message, kind=error.kind.value, hint=error.hint, as_json=as_json)
        sys.exit(exit_code(error))
    sys.exit(result if isinstance(result, int) else 0)
