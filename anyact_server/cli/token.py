"""`token create|list|revoke`."""

from __future__ import annotations

import time

import click

from anyact_server.access import Tokens
from anyact_server.catalog import Site

from .common import site_options
from .output import DONE, note, show_json, table


@click.group()
def token() -> None:
    """Create, list and revoke the bearer tokens of HTTP clients."""


@token.command()
@click.argument("name")
@click.option(
    "--scope",
    "scopes",
    multiple=True,
    metavar="SCOPE",
    help="read-only, allow:RULE or deny:RULE; narrows what the token may see and call.",
)
@site_options
def create(site: Site, as_json: bool, name: str, scopes: tuple[str, ...]) -> int:
    """Make a token and print its secret, this once."""
    secret = Tokens(site.home).create(name, scopes)
    if as_json:
        show_json({"name": name, "token": secret, "scopes": list(scopes)})
    else:
        click.echo(secret)
        note("send it as: Authorization: Bearer <token>; it cannot be shown again")
    return DONE


@token.command(name="list")
@site_options
def list_(site: Site, as_json: bool) -> int:
    """List the tokens: names, ages and scopes, never secrets."""
    infos = Tokens(site.home).names()
    if as_json:
        show_json({"tokens": [{"name": i.name, "created": i.created, "scopes": list(i.scopes)} for i in infos]})
        return DONE
    rows = [
        (i.name, time.strftime("%Y-%m-%d %H:%M", time.localtime(i.created)), " ".join(i.scopes) or "all") for i in infos
    ]
    table(("NAME", "CREATED", "SCOPES"), rows)
    if not infos:
        note("no tokens; make one with: anyact token create NAME")
    return DONE


@token.command()
@click.argument("name")
@site_options
def revoke(site: Site, as_json: bool, name: str) -> int:
    """Remove a token; running servers refuse it at once."""
    Tokens(site.home).revoke(name)
    if as_json:
        show_json({"revoked": name})
    else:
        note(f"revoked {name}")
    return DONE


COMMANDS = {"token": token}
