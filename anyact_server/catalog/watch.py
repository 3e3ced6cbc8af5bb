"""Follows the configuration files: tells when what stands in them has changed.

Only contents count: a file that is saved unchanged, or touched, or read, changes nothing, so a reload can never set off
another one. Saves in quick succession count as one.
"""

from __future__ import annotations

import hashlib
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import anyio.to_thread

from anyact_server.errors import AnyActError
from anyact_server.telemetry import logger

LOG = logger("catalog")
DEBOUNCE_MS = 200
"""Quiet time after which saves are taken together."""
LOOK_MS = 3000
"""The files are looked at this often even when the system tells of no change, as on some network drives."""


def stamps(files: Sequence[Path]) -> Mapping[Path, str]:
    """A fingerprint of the contents of each file; empty where it cannot be read."""
    found: dict[Path, str] = {}
    for file in files:
        try:
            found[file] = hashlib.sha256(file.read_bytes()).hexdigest()
        except OSError:
            found[file] = ""
    return found


def folders_of(files: Sequence[Path]) -> list[Path]:
    """The folders to watch: those of the files and of what they link to; for a missing one the nearest there is."""
    found: dict[Path, None] = {}
    for file in files:
        for path in (file.absolute(), file.resolve()):
            folder = path.parent
            while not folder.is_dir() and folder != folder.parent:
                folder = folder.parent
            found[folder] = None
    return list(found)


class Watch:
    """Calls `reload` after the contents of the files changed.

    Args:
        files: gives the files to watch; asked again after every reload.
        reload: reads them; an error of ours is logged and the old configuration stays.
    """

    def __init__(self, files: Callable[[], Sequence[Path]], reload: Callable[[], Awaitable[None]]) -> None:
        self._files = files
        self._reload = reload
        self._known = stamps(files())
        self.problem: str | None = None
        """Why the last reload failed; None when it did not."""

    def note(self) -> None:
        """Take the files as they are now as known: whoever wrote them has already made them current."""
        self._known = stamps(self._files())

    async def run(self) -> None:
        """Watch until cancelled."""
        while True:
            folders = await anyio.to_thread.run_sync(folders_of, self._files())
            async for _ in _looks(folders):
                if await self.look() and folders_of(self._files()) != folders:
                    break

    async def look(self) -> bool:
        """Reload if anything changed; whether it did."""
        now = await anyio.to_thread.run_sync(stamps, self._files())
        if now == self._known:
            return False
        self._known = now
        try:
            await self._reload()
            self.problem = None
        except AnyActError as error:
            self.problem = error.message
            LOG.warning("the configuration stays as it was: %s", error.message)
        known = dict(self._known)
        self._known = {file: known[file] if file in known else stamps([file])[file] for file in self._files()}
        return True


async def _looks(folders: Sequence[Path]) -> AsyncIterator[None]:
    """Yields whenever something in the folders changed, and now and then."""
    awatch = _load_awatch()
    async for _ in awatch(
        *folders,
        watch_filter=None,
        debounce=DEBOUNCE_MS,
        step=50,
        recursive=False,
        rust_timeout=LOOK_MS,
        yield_on_timeout=True,
        ignore_permission_denied=True,
    ):
        yield


def _load_awatch() -> Any:
    """The watcher, loaded on first use: most commands watch nothing."""
    from watchfiles import awatch

    return awatch
