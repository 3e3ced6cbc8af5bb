"""`serve`: finds out who serves this home, and serves it or becomes a thin bridge to who does.

It loads what serves only when this process has to, so that a bridge starts at once.
"""

from __future__ import annotations

import importlib
import json
import os
import socket as sockets
import subprocess
import sys
from pathlib import Path
from typing import Any

import anyio
import click

from anyact_server.errors import HomeLocked, UsageError
from anyact_server.settings import home_folder

from .attach import attach
from .options import Options, shared_options
from .output import DONE, bare

SOCKET = "anyact.sock"
INSTANCE = "instance.json"
DEFAULT_ADDRESS = "127.0.0.1:8484"


def address(text: str | None, host: str | None, port: str | None) -> tuple[str, int]:
    """Host and port to listen on: the option, else HOST and PORT of the environment, else 127.0.0.1:8484.

    Raises:
        UsageError: no such form, or no such port.
    """
    if not text:
        return host or "127.0.0.1", _port(port or "8484")
    name, colon, number = text.rpartition(":")
    if not colon:
        return ("127.0.0.1", _port(text)) if text.isdigit() else (text, 8484)
    return name.strip("[]") or "127.0.0.1", _port(number)


def _port(text: str) -> int:
    if not text.isdigit() or not 0 <= int(text) < 65536:
        raise UsageError(f"{text!r} is no port", hint=f"For example: --http {DEFAULT_ADDRESS}")
    return int(text)


def held(home: Path, files: list[str]) -> bool:
    """Whether a live instance serves this home with this configuration.

    Raises:
        HomeLocked: one does, with another configuration.
    """
    probe = sockets.socket(sockets.AF_UNIX)
    try:
        probe.connect(str(home / SOCKET))
    except OSError:
        return False
    finally:
        probe.close()
    told: dict[str, Any] = {}
    path = home / INSTANCE
    if path.exists():
        told = json.loads(path.read_text(encoding="utf-8"))
    theirs = told.get("files")
    if files and theirs is not None and theirs != files:
        raise HomeLocked(
            f"{home} is served by process {told.get('pid')} with other files: {', '.join(theirs) or 'its own'}",
            hint="Give this one a home of its own: --home DIR",
        )
    return True


def named_files(options: Options) -> list[str]:
    """The configuration files that were named, absolute; empty when the home's own file is meant."""
    named = list(options.config) or [part for part in os.environ.get("ANYACT_CONFIG", "").split(os.pathsep) if part]
    return [str(Path(name).expanduser().absolute()) for name in named]


def holder_command(options: Options) -> list[str]:
    """The command that serves the home's socket alone, with the same options."""
    words = [sys.executable, "-m", "anyact_server", "serve", "--socket-only"]
    for name in named_files(options):
        words += ["--config", name]
    if options.home:
        words += ["--home", options.home]
    for value in options.values:
        words += ["--set", value]
    return words


def bridge(home: Path, server: str | None, options: Options) -> None:
    """Be a thin bridge to the instance that serves this home. Raises HomeLocked."""

    def restart() -> None:
        if not held(home, named_files(options)):
            # The new holder outlives this process on purpose: other clients of the home use it too.
            subprocess.Popen(
                holder_command(options), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, start_new_session=True
            )

    try:
        anyio.run(attach, home / SOCKET, server, restart)
    except BaseExceptionGroup as group:
        raise bare(group) from group


@click.command()
@click.option(
    "--stdio", is_flag=True, help="Serve one client over standard input and output: the line for a client's config."
)
@click.option(
    "--http",
    "http",
    is_flag=False,
    flag_value="",
    metavar="HOST:PORT",
    help="Serve MCP at /mcp, REST under /v1. [default: HOST and PORT, else 127.0.0.1:8484]",
)
@click.option("--server", metavar="NAME", help="With --stdio: serve this one server unchanged, through AnyAct.")
@click.option(
    "--socket-only", is_flag=True, help="Serve only the home's own socket, until no client has been there for a minute."
)
@click.option(
    "--allow-host",
    "allow_hosts",
    multiple=True,
    metavar="HOST",
    help="With --http: another Host header that is answered.",
)
@click.option(
    "--allow-origin",
    "allow_origins",
    multiple=True,
    metavar="ORIGIN",
    help="With --http: a web page's origin that is answered.",
)
@shared_options
def serve(
    options: Options,
    stdio: bool,
    http: str | None,
    server: str | None,
    socket_only: bool,
    allow_hosts: tuple[str, ...],
    allow_origins: tuple[str, ...],
) -> int:
    """Serve AnyAct: over stdio to one client, or over HTTP to many.

    \b
    anyact serve --stdio                      for a client's configuration
    anyact serve --http 127.0.0.1:8484        MCP at /mcp, REST under /v1
    anyact serve --stdio --server github      one server as it is, through AnyAct
    """
    if [stdio, http is not None, socket_only].count(True) != 1:
        raise UsageError(
            "say how to serve: --stdio or --http", hint="A client's configuration wants: anyact serve --stdio"
        )
    if server and not stdio:
        raise UsageError("--server goes with --stdio", hint="Over HTTP every server is at /mcp/servers/NAME.")
    home = home_folder(options.home, os.environ)
    if stdio and held(home, named_files(options)):
        bridge(home, server, options)
        return DONE
    serving = importlib.import_module(f"{__package__}.serving")

    def listens() -> bool:
        return held(home, named_files(options))

    try:
        if http is not None:
            host, port = address(http, os.environ.get("HOST"), os.environ.get("PORT"))
            serving.over_http(options, host, port, allow_hosts, allow_origins)
        elif stdio:
            serving.over_stdio(options, server, listens)
        else:
            serving.over_socket(options, listens)
    except HomeLocked:
        # Two started at the same time and the other was faster.
        if not stdio:
            raise
        bridge(home, server, options)
    return DONE


COMMANDS = {"serve": serve}
