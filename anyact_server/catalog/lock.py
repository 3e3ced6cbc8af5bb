"""One home, one instance: the lock that the first instance on a home folder holds, and who holds it.

The operating system drops the lock when its holder ends, however it ends, so that no dead holder is ever waited for.
"""

from __future__ import annotations

import json
import os
import time
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import IO, Any

from anyact_server.errors import HomeLocked, StorageError

from .lock_platform import try_lock

FILE = "lock"
NOTE = "holder.json"


@dataclass(frozen=True, slots=True)
class Holder:
    """The instance that holds a home.

    Attributes:
        pid: its process.
        address: where it can be reached (a socket's path, or a URL); None before it says so.
        since: seconds since the epoch.
    """

    pid: int
    address: str | None = None
    since: float = 0.0


class HomeLock:
    """The lock of one home folder; a context manager.

    Args:
        home: the folder; made where it is missing.
    """

    def __init__(self, home: Path) -> None:
        self._home = home
        self._file: IO[bytes] | None = None
        self._since = 0.0

    @property
    def held(self) -> bool:
        """Whether this object holds the lock."""
        return self._file is not None

    def acquire(self) -> None:
        """Take the lock at once.

        Raises:
            HomeLocked: another instance holds it; the message says which.
            StorageError: the folder cannot be used.
        """
        if self._file is not None:
            return
        try:
            self._home.mkdir(parents=True, exist_ok=True)
            file = (self._home / FILE).open("ab")
        except OSError as error:
            raise StorageError(
                f"the home folder {self._home} cannot be used: {error.strerror}",
                hint="Choose another with --home or ANYACT_HOME.",
            ) from error
        if not try_lock(file.fileno()):
            file.close()
            raise HomeLocked(self._taken(), hint="Stop it, or choose another home with --home or ANYACT_HOME.")
        self._file = file
        self._since = time.time()
        self.announce(None)

    def announce(self, address: str | None) -> None:
        """Let others know where this instance can be reached. Only the holder may call this.

        Raises:
            StorageError: the lock is not held, or the note cannot be written.
        """
        if self._file is None:
            raise StorageError(f"the home folder {self._home} is not held by this instance")
        note = json.dumps({"pid": os.getpid(), "address": address, "since": self._since})
        fresh = self._home / f"{NOTE}.{os.getpid()}"
        try:
            fresh.write_text(note, encoding="utf-8")
            os.replace(fresh, self._home / NOTE)
        except OSError as error:
            raise StorageError(f"the home folder {self._home} cannot be written: {error.strerror}") from error

    def holder(self) -> Holder | None:
        """The last instance that said it holds the home; it holds it still when `acquire` fails."""
        try:
            body: Any = json.loads((self._home / NOTE).read_text(encoding="utf-8"))
            return Holder(int(body["pid"]), body["address"], float(body["since"]))
        except (OSError, ValueError, TypeError, KeyError):
            return None

    def release(self) -> None:
        """Give the lock back; does nothing when it is not held."""
        if self._file is not None:
            file, self._file = self._file, None
            (self._home / NOTE).unlink(missing_ok=True)
            file.close()

    def __enter__(self) -> HomeLock:
        self.acquire()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.release()

    def _taken(self) -> str:
        holder = self.holder()
        who = "another instance" if holder is None else f"process {holder.pid}"
        where = f" at {holder.address}" if holder is not None and holder.address else ""
        return f"the home folder {self._home} is in use by {who}{where}"
