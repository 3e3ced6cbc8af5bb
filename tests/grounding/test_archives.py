"""What is inside archives."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import tarfile
import zipfile
from collections.abc import Callable

import pytest

from anyact_server.grounding import archives
from anyact_server.grounding.archives import list_archive, member_bytes, unpacked

ZIP, TAR = "application/zip", "application/x-tar"


def zipped(files: dict[str, bytes]) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in files.items():
            archive.writestr(name, data)
    return buffer.getvalue()


def tarred(files: dict[str, bytes]) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as tape:
        for name, data in files.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(data)
            tape.addfile(entry, io.BytesIO(data))
    return buffer.getvalue()


FILES = {"a.txt": b"hello", "d/b.txt": b"x" * 100}


@pytest.mark.parametrize(
    ("data", "mime", "kind"),
    [
        (zipped(FILES), ZIP, "zip"),
        (tarred(FILES), TAR, "tar"),
        (gzip.compress(tarred(FILES)), "application/gzip", "tar"),
        (bz2.compress(tarred(FILES)), "application/x-bzip2", "tar"),
        (lzma.compress(tarred(FILES)), "application/x-xz", "tar"),
    ],
)
def test_members_are_listed_and_read(data: bytes, mime: str, kind: str) -> None:
    """Of zip and tar, compressed or not."""
    listing = list_archive(data, mime)
    assert listing is not None
    assert listing.written() == f"[{kind} archive: 2 files, 105 bytes unpacked]\n5 a.txt\n100 d/b.txt"
    assert member_bytes(data, mime, "a.txt") == b"hello"
    assert member_bytes(data, mime, "none") is None


@pytest.mark.parametrize("pack", [gzip.compress, bz2.compress, lzma.compress])
def test_a_single_compressed_file_is_unpacked(pack: Callable[[bytes], bytes]) -> None:
    """Where it is no tar."""
    data = pack(b"line\n" * 10)
    assert unpacked(data) == b"line\n" * 10


def test_a_bomb_is_neither_listed_through_nor_unpacked(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a compressed file unpacks to is bounded, and a zip that claims too much is called so."""
    monkeypatch.setattr(archives, "_UNPACKED", 100_000)
    tape = gzip.compress(tarred({"small": b"x", "big": bytes(1_000_000), "late": b"y"}))
    listing = list_archive(tape, "application/gzip")
    assert listing is not None
    assert listing.members[0].name == "small"
    assert "listed until more than 100,000 bytes unpacked" in listing.written()
    assert unpacked(gzip.compress(bytes(200_000))) is None
    assert member_bytes(zipped({"big": bytes(200_000)}), ZIP, "big") is None
    claimed = list_archive(zipped({f"f{at}": bytes(3_000_000) for at in range(20)}), ZIP)
    assert claimed is not None
    assert "more than 200 times its size" in claimed.written()


def test_many_members_are_counted_and_not_all_listed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of either kind."""
    monkeypatch.setattr(archives, "_MEMBERS", 3)
    files = {f"f{at}": b"" for at in range(5)}
    for data, mime, said in ((zipped(files), ZIP, "first 3 of 5"), (tarred(files), TAR, "first 3 are listed")):
        listing = list_archive(data, mime)
        assert listing is not None
        assert len(listing.members) == 3
        assert said in listing.limit
    assert member_bytes(tarred(files), TAR, "f4") is None


@pytest.mark.parametrize("mime", [ZIP, TAR, "application/gzip", "application/x-bzip2"])
@pytest.mark.parametrize("data", [b"", b"PK\x03\x04broken", b"\x1f\x8bbroken", b"BZhbroken", bytes(600)])
def test_broken_archives_are_none(data: bytes, mime: str) -> None:
    """Without an exception."""
    listing = list_archive(data, mime)
    assert listing is None or listing.members == ()
    assert member_bytes(data, mime, "a") is None
    assert unpacked(b"plain") is None


def test_names_are_made_printable() -> None:
    """No terminal codes from inside an archive."""
    listing = list_archive(zipped({"a\x1b[31m.txt": b""}), ZIP)
    assert listing is not None
    assert "\x1b" not in listing.written()
