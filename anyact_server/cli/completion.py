"""`completion`: the script that a shell sources."""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class


@click.command()
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def completion(shell: str) -> int:
    """Print the completion script of a shell.

    \b
    bash:  eval "$(anyact completion bash)"
    zsh:   eval "$(anyact completion zsh)"
    fish:  anyact completion fish | source
    """
    kind = get_completion_class(shell)
    if kind is None:  # click's registry is open; the choice above is not
        raise click.UsageError(f"no completion for {shell}")
    root = click.get_current_context().find_root().command
    click.echo(kind(root, {}, "anyact", "_ANYACT_COMPLETE").source())
    return 0


COMMANDS = {"completion": completion}
