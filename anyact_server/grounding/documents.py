"""The text of binaries that hold some: archives as listings, compressed texts, PDF with the extra `pdf`."""

from __future__ import annotations

import io
import logging
import struct
import zlib
from functools import cache
from typing import Any

from anyact_server.telemetry import logger

ARCHIVES = frozenset(
    {"application/zip", "application/x-tar", "application/gzip", "application/x-bzip2", "application/x-xz"}
)
_PAGES = 200
"""Pages of a PDF that are read."""
_CHARACTERS = 400_000
_PDF_BYTES = 64_000_000


def text_of(data: bytes, mime: str) -> str | None:
    """What a binary says, as text; None where it says nothing that can be read."""
    if mime in ARCHIVES:
        archives = _archives()
        listing = archives.list_archive(data, mime)
        if listing is not None:
            return str(listing.written())
        inner = archives.unpacked(data) if mime not in ("application/zip", "application/x-tar") else None
        return None if inner is None else plain_text(inner)
    if mime == "application/pdf":
        return _pdf(data)
    return plain_text(data)


def plain_text(data: bytes) -> str | None:
    """The text that bytes are, in UTF-8 or, with a mark, UTF-16; None where they are none."""
    encoding = "utf-16" if data[:2] in (b"\xff\xfe", b"\xfe\xff") else "utf-8-sig"
    try:
        text = data.decode(encoding)
    except UnicodeDecodeError:
        return None
    return None if "\x00" in text[:4000] or not text else text


def member_of(data: bytes, mime: str, name: str) -> bytes | None:
    """One file of an archive; None where there is none of that name, or it is too large."""
    found: bytes | None = _archives().member_bytes(data, mime, name)
    return found


@cache
def _archives() -> Any:
    """The reader of archives, loaded with the first one."""
    from . import archives

    return archives


def why_unread(mime: str) -> str:
    """What would be needed to read a binary of this kind; empty where nothing would help."""
    if mime == "application/pdf" and _pypdf() is None:
        return "its text is read where the extra anyact-server[pdf] is installed"
    return ""


def _pdf(data: bytes) -> str | None:
    """The text of a PDF, page by page, the title first; None without the library or where it cannot be read."""
    library = _pypdf()
    if library is None or len(data) > _PDF_BYTES:
        return None
    try:
        reader = library.PdfReader(io.BytesIO(data))
        count = len(reader.pages)
        title = str((reader.metadata or {}).get("/Title") or "").strip()
        parts = [f"[PDF, {count:,} pages{f', title: {title[:200]}' if title else ''}]"]
        used = 0
        for number in range(min(count, _PAGES)):
            text = (reader.pages[number].extract_text() or "").strip()
            parts.append(f"[page {number + 1}]\n{text}" if text else f"[page {number + 1}: no text]")
            used += len(text)
            if used > _CHARACTERS or number + 1 == _PAGES:
                if number + 1 < count:
                    parts.append(f"[… pages {number + 2:,} to {count:,} are not read]")
                break
        return "\n".join(parts)
    except (library.errors.PyPdfError, *_STUMBLES) as error:
        logger("grounding").info("a PDF cannot be read: %s", str(error)[:200])
        return None


_STUMBLES: tuple[type[Exception], ...] = (
    ArithmeticError,
    AssertionError,
    AttributeError,
    LookupError,
    OSError,
    RecursionError,
    struct.error,
    NotImplementedError,
    TypeError,
    ValueError,
    zlib.error,
)
"""What a broken file makes the library stumble over besides its own errors."""


@cache
def _pypdf() -> Any:
    """The PDF library, None where it is not installed; imported here and nowhere else."""
    try:
        import pypdf
    except ImportError:
        return None
    logging.getLogger("pypdf").setLevel(logging.CRITICAL)
    return pypdf
