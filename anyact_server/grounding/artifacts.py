"""Where results that were not shown whole are kept: one file per result, bound to a principal, bounded and expiring.

A file holds one line of JSON (whose it is, until when, the names of its parts) and below it the result exactly as the
server sent it. Its name is the SHA-256 of the handle, so that who can list the folder can still not name a handle.
"""

from __future__ import annotations

import hashlib
import os
import re
import secrets
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import orjson

from anyact_server.errors import StorageError, UnknownHandle
from anyact_server.interfaces import Clock
from anyact_server.telemetry import logger
from anyact_server.types import EMPTY, Json, JsonObject, Principal

from .encoding import dumps

_LOG = logger("grounding")
_SUFFIX = ".result"
_ID = re.compile(r"(obs_[0-9a-f]{16}_[0-9a-f]{16})(?:\.([a-z0-9]{1,24}))?")


def new_handle() -> str:
    """A fresh handle: `obs_`, 16 hex digits that are also the observation's id, `_`, and 16 more (128 random bits)."""
    return f"obs_{secrets.token_hex(8)}_{secrets.token_hex(8)}"


def observation_id(handle: str) -> str:
    """The id of the observation that a handle belongs to."""
    return handle[:20]


def is_handle(text: str) -> bool:
    """Whether a text has the form of a handle."""
    return len(text) < 100 and _ID.fullmatch(text.strip()) is not None


def split_handle(handle: str) -> tuple[str, str | None]:
    """A handle as (stored result, name of its part).

    Raises:
        UnknownHandle: it does not have the form of a handle.
    """
    match = _ID.fullmatch(handle.strip()) if len(handle) < 100 else None
    if match is None:
        raise UnknownHandle(
            f"no stored result has the handle {handle[:60]!r}",
            hint="Copy the handle from the observation; it begins with `obs_`.",
        )
    return match[1], match[2]


@dataclass(frozen=True, slots=True)
class Stored:
    """One kept result, as read back.

    Attributes:
        handle: without the name of a part.
        result: the result as the server sent it.
        parts: what each named part is: `pointer` into the result, `mime`, `title`, and for something inside a text
            `start` and `end`.
        expires_at: seconds since the epoch.
    """

    handle: str
    result: Json
    parts: Mapping[str, JsonObject]
    title: str
    expires_at: float


@dataclass(slots=True)
class _Entry:
    size: int
    expires_at: float


class ArtifactStore:
    """Kept results on disk.

    Args:
        folder: where they lie; made on first use, readable by its owner alone.
        limit_bytes: bytes of all kept results together; the oldest make room.
        keep_s: seconds that a result is kept.
        clock: time.
    """

    def __init__(self, folder: Path, *, limit_bytes: int, keep_s: float, clock: Clock) -> None:
        self._folder = folder
        self._limit = limit_bytes
        self._keep_s = keep_s
        self._clock = clock
        self._entries: dict[str, _Entry] | None = None
        self._last: tuple[str, Stored, str] | None = None
        self._lock = threading.RLock()  # large results are kept by threads

    def put(
        self,
        handle: str,
        result: Json,
        principal: Principal,
        *,
        parts: Mapping[str, JsonObject] = EMPTY,
        title: str = "",
    ) -> tuple[float, int] | None:
        """Keep a result; gives (when it expires, its bytes), or None when it is larger than everything allowed.

        Raises:
            StorageError: the folder cannot be written.
        """
        body = dumps(result)
        expires_at = self._clock.now() + self._keep_s
        head = {"owner": _owner(principal), "expires_at": expires_at, "title": title, "parts": dict(parts)}
        payload = dumps(head) + b"\n"
        size = len(payload) + len(body)
        if size > self._limit:
            return None
        with self._lock:
            self._make_room(self._known(), size)
        name = _name(handle)
        try:
            self._write(name, payload, body)
        except OSError as error:
            raise StorageError(
                f"a result cannot be kept in {self._folder}: {error.strerror or error}",
                hint="Free space there, or point --home at a folder that can be written.",
            ) from error
        with self._lock:
            self._known()[name] = _Entry(size, expires_at)
        return expires_at, len(body)

    def get(self, handle: str, principal: Principal) -> tuple[Stored, str | None]:
        """The kept result behind a handle, and the name of the part that the handle means.

        Raises:
            UnknownHandle: unknown, expired, or somebody else's; the three look alike.
        """
        base, part = split_handle(handle)
        with self._lock:
            stored, owner = self._found(base, _name(base))
        if not secrets.compare_digest(owner, _owner(principal)):
            raise _unknown(base)
        if part is not None and part not in stored.parts:
            raise UnknownHandle(
                f"the result has no part {part!r}",
                hint=f"Its parts: {', '.join(stored.parts) or 'none'}; without a part the handle means the whole.",
            )
        return stored, part

    def sweep(self) -> int:
        """Delete what has expired; gives how many results that were."""
        now = self._clock.now()
        with self._lock:
            old = [name for name, entry in self._known().items() if entry.expires_at <= now]
            for name in old:
                self._forget(name)
        return len(old)

    @property
    def total_bytes(self) -> int:
        """Bytes of everything kept."""
        with self._lock:
            return sum(entry.size for entry in self._known().values())

    def _found(self, base: str, name: str) -> tuple[Stored, str]:
        entry = self._known().get(name) or self._found_late(name)
        if entry is None or entry.expires_at <= self._clock.now():
            if entry is not None:
                self._forget(name)
            raise _unknown(base)
        return self._load(base, name)

    def _found_late(self, name: str) -> _Entry | None:
        """A result that another process of the same home has kept since."""
        try:
            facts = (self._folder / f"{name}{_SUFFIX}").stat()
        except OSError:
            return None
        self._known()[name] = _Entry(facts.st_size, facts.st_mtime + self._keep_s)
        return self._known()[name]

    def _load(self, base: str, name: str) -> tuple[Stored, str]:
        if self._last is not None and self._last[0] == name:
            return self._last[1], self._last[2]
        try:
            head, _, body = (self._folder / f"{name}{_SUFFIX}").read_bytes().partition(b"\n")
        except FileNotFoundError:
            self._forget(name)
            raise _unknown(base) from None
        except OSError as error:
            raise StorageError(f"a kept result cannot be read: {error.strerror or error}") from error
        facts = orjson.loads(head)
        stored = Stored(base, orjson.loads(body), facts["parts"], facts["title"], facts["expires_at"])
        if len(body) <= 32 * 1024 * 1024:
            self._last = (name, stored, facts["owner"])
        return stored, facts["owner"]

    def _known(self) -> dict[str, _Entry]:
        """The index of what is kept, read from the folder on first use, oldest first."""
        if self._entries is None:
            found: list[tuple[float, str, int]] = []
            if self._folder.is_dir():
                for file in self._folder.glob(f"*{_SUFFIX}"):
                    facts = file.stat()
                    found.append((facts.st_mtime, file.name.removesuffix(_SUFFIX), facts.st_size))
            self._entries = {name: _Entry(size, made + self._keep_s) for made, name, size in sorted(found)}
        return self._entries

    def _make_room(self, entries: dict[str, _Entry], size: int) -> None:
        self.sweep()
        total = sum(entry.size for entry in entries.values())
        for name in list(entries):
            if total + size <= self._limit:
                return
            total -= entries[name].size
            self._forget(name)

    def _forget(self, name: str) -> None:
        self._known().pop(name, None)
        if self._last is not None and self._last[0] == name:
            self._last = None
        try:
            (self._folder / f"{name}{_SUFFIX}").unlink(missing_ok=True)
        except OSError as error:
            _LOG.warning("an expired result could not be deleted: %s", error)

    def _write(self, name: str, head: bytes, body: bytes) -> None:
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        temporary = self._folder / f"{name}.part"
        try:
            descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
            with open(descriptor, "wb") as file:
                file.write(head)
                file.write(body)
            now = self._clock.now()
            os.utime(temporary, (now, now))
            temporary.replace(self._folder / f"{name}{_SUFFIX}")
        except OSError:
            temporary.unlink(missing_ok=True)
            raise


def _owner(principal: Principal) -> str:
    return f"{principal.origin}:{principal.name}"


def _name(handle: str) -> str:
    return hashlib.sha256(handle.encode()).hexdigest()


def _unknown(handle: str) -> UnknownHandle:
    return UnknownHandle(
        f"no stored result has the handle {handle!r}",
        hint="It may have expired: call the action again.",
    )
