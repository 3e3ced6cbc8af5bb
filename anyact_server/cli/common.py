"""How a command gets its site and a running app."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

import anyio

from anyact_server.app import App, Read
from anyact_server.catalog import Site

from .options import Options, shared_options
from .output import note, progress
from .start import find_site, run_async

Result = TypeVar("Result")


def site_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the shared options to a command, which receives a `site` and `as_json`."""

    def wrapped(options: Options, **rest: Any) -> Any:
        return command(site=find_site(options), as_json=options.as_json, **rest)

    wrapped.__name__ = command.__name__
    wrapped.__doc__ = command.__doc__
    wrapped.__click_params__ = getattr(command, "__click_params__", [])  # type: ignore[attr-defined]  # click's own place
    return shared_options(wrapped)


READ_S = 15.0
"""How long a command waits for servers that were never read: one that hangs costs the others no more."""


def with_app(
    site: Site,
    work: Callable[[App], Awaitable[Result]],
    *,
    read: bool = False,
    as_json: bool = False,
    patience_s: float = READ_S,
) -> Result:
    """Open the app, do one piece of work in it, and close it again.

    Args:
        site: where it lives.
        work: what is done.
        read: first read the servers that were never read, with progress; those that cannot be read are named.
        as_json: keep progress off a log.
        patience_s: how long reading may take.
    """

    async def run() -> Result:
        app = App(site)
        async with app.running():
            await app.ready()
            if read:
                await read_unseen(app, as_json, patience_s)
            return await work(app)

    return run_async(run)


async def read_unseen(app: App, as_json: bool, patience_s: float) -> None:
    """Read the servers of which nothing is known yet; those that take too long or fail are named and left out."""
    names = app.unseen()
    if not names:
        return
    waiting = set(names)
    with progress("reading servers", len(names), as_json=as_json) as bar:

        def done(name: str) -> None:
            waiting.discard(name)
            bar.step(name)

        ended: dict[str, Read] = {}
        with anyio.move_on_after(patience_s):
            ended = await app.read_servers(names, done)
    for name, read in ended.items():
        if read.error is not None:
            note(f"{name} could not be read: {read.error.message} (see: anyact doctor {name})")
    if waiting:
        note(f"not read within {patience_s:.0f} s and left out: {', '.join(sorted(waiting))} (see: anyact doctor)")
