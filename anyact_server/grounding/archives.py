"""What is inside an archive, without unpacking it: zip and tar, also compressed, bounded against bombs."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import tarfile
import zipfile
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import IO, cast

_MEMBERS = 5_000
"""Members that are listed."""
_UNPACKED = 64 * 1024 * 1024
"""Bytes that are unpacked at most, of a compressed tar to list it and of one member to read it."""
_RATIO = 200
"""A zip that claims to grow more than this is called so."""
_FAULTS = (
    zipfile.BadZipFile,
    tarfile.TarError,
    EOFError,
    OSError,
    zlib.error,
    lzma.LZMAError,
    ValueError,
    NotImplementedError,
    RuntimeError,  # zipfile's word for a member that needs a password
    IndexError,
)


@dataclass(frozen=True, slots=True)
class Member:
    """One member: its path, its size unpacked in bytes, whether it is a folder."""

    name: str
    size: int
    folder: bool = False


@dataclass(frozen=True, slots=True)
class Listing:
    """What an archive holds; `limit` says why the listing ends early, empty when it is whole."""

    kind: str
    members: tuple[Member, ...]
    limit: str = ""

    def written(self) -> str:
        """The listing as lines: what it is, then size and path of every member."""
        files = [member for member in self.members if not member.folder]
        total = sum(member.size for member in files)
        more = f"; {self.limit}" if self.limit else ""
        head = f"[{self.kind} archive: {len(files):,} files, {total:,} bytes unpacked{more}]"
        return "\n".join([head, *(f"{member.size} {_plain(member.name)}" for member in files)])


class _Bomb(ValueError):
    """More would be unpacked than is allowed."""


class _Bounded(io.RawIOBase):
    """A stream that ends with an error after so many bytes."""

    def __init__(self, inner: IO[bytes], most: int) -> None:
        self._inner = inner
        self._left = most

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1) -> bytes:
        data = self._inner.read(min(size, self._left + 1) if size >= 0 else self._left + 1)
        self._left -= len(data)
        if self._left < 0:
            raise _Bomb(f"more than {_UNPACKED:,} bytes unpacked")
        return data


def list_archive(data: bytes, mime: str) -> Listing | None:
    """The members of an archive; None where it is none or cannot be read."""
    try:
        if mime == "application/zip":
            return _zip(data)
        return _tar(data, mime)
    except _FAULTS:
        return None


def member_bytes(data: bytes, mime: str, name: str) -> bytes | None:
    """One member of an archive, None where there is none of that name, it is too large or cannot be read."""
    try:
        if mime == "application/zip":
            with zipfile.ZipFile(io.BytesIO(data)) as archive, archive.open(name) as file:
                return _Bounded(file, _UNPACKED).read()
        with tarfile.open(fileobj=_opened(data, mime), mode="r|") as tape:
            for number, entry in enumerate(tape):
                if number >= _MEMBERS:
                    return None
                if entry.name == name and entry.isfile():
                    opened = tape.extractfile(entry)
                    return opened.read() if opened is not None else None
    except (*_FAULTS, KeyError):
        return None
    return None


def unpacked(data: bytes) -> bytes | None:
    """What a single gzip, bzip2 or xz file holds, None where it is none or holds too much."""
    try:
        return _Bounded(cast("IO[bytes]", _stream(data)), _UNPACKED).read()
    except _FAULTS:
        return None


def _zip(data: bytes) -> Listing:
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        infos = archive.infolist()
    members = tuple(Member(info.filename, info.file_size, info.is_dir()) for info in infos[:_MEMBERS])
    limit = f"the first {_MEMBERS:,} of {len(infos):,} are listed" if len(infos) > _MEMBERS else ""
    packed = max(1, len(data))
    if sum(info.file_size for info in infos) > packed * _RATIO:
        limit = "; ".join(filter(None, (limit, f"it claims to unpack to more than {_RATIO} times its size")))
    return Listing("zip", members, limit)


def _tar(data: bytes, mime: str) -> Listing | None:
    found: list[Member] = []
    limit = ""
    try:
        for member in _tape(data, mime):
            if len(found) >= _MEMBERS:
                limit = f"the first {_MEMBERS:,} are listed"
                break
            found.append(member)
    except _Bomb as error:
        limit = f"listed until {error}"
    return Listing("tar", tuple(found), limit) if found or mime == "application/x-tar" else None


def _tape(data: bytes, mime: str) -> Iterator[Member]:
    with tarfile.open(fileobj=_opened(data, mime), mode="r|") as tape:
        for entry in tape:
            yield Member(entry.name, entry.size, entry.isdir())


def _opened(data: bytes, mime: str) -> IO[bytes]:
    stream = io.BytesIO(data) if mime == "application/x-tar" else _stream(data)
    return cast("IO[bytes]", _Bounded(cast("IO[bytes]", stream), _UNPACKED))


def _stream(data: bytes) -> object:
    if data[:2] == b"\x1f\x8b":
        return gzip.GzipFile(fileobj=io.BytesIO(data))
    if data[:3] == b"BZh":
        return bz2.BZ2File(io.BytesIO(data))
    if data[:6] == b"\xfd7zXZ\x00":
        return lzma.LZMAFile(io.BytesIO(data))
    raise ValueError("not compressed in a known way")


def _plain(name: str) -> str:
    return "".join(char if char.isprintable() else "?" for char in name)[:300]
