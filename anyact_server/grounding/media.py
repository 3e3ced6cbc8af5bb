"""Pictures, sound and other binaries: what they really are, and pictures at a size that a model sees whole.

Pillow is loaded with the first picture that has to be looked into.
"""

from __future__ import annotations

import base64
import binascii
import io
import re
import struct
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

from .tokens import of_picture

if TYPE_CHECKING:
    from PIL.Image import Image

LONGEST_EDGE = 1568
"""Pixels. Vision models shrink larger pictures themselves, and then nobody knows the scale."""
MOST_PIXELS = 1_150_000
MOST_BYTES = 1_000_000
"""Bytes of one picture as sent; larger ones are encoded again."""
MOST_SOUND_BYTES = 1_000_000
_BOMB_PIXELS = 64_000_000
"""A file may claim any size; more pixels than this (200 MB decoded) are never decoded."""
_SHOWN = {"png": "image/png", "jpeg": "image/jpeg", "gif": "image/gif", "webp": "image/webp"}
"""Kinds that vision models take as they are."""

_MAGIC: tuple[tuple[bytes, int, str], ...] = (
    (b"\x89PNG\r\n\x1a\n", 0, "image/png"),
    (b"\xff\xd8\xff", 0, "image/jpeg"),
    (b"GIF8", 0, "image/gif"),
    (b"WEBP", 8, "image/webp"),
    (b"BM", 0, "image/bmp"),
    (b"II*\x00", 0, "image/tiff"),
    (b"MM\x00*", 0, "image/tiff"),
    (b"\x00\x00\x01\x00", 0, "image/x-icon"),
    (b"WAVE", 8, "audio/wav"),
    (b"ID3", 0, "audio/mpeg"),
    (b"\xff\xfb", 0, "audio/mpeg"),
    (b"OggS", 0, "audio/ogg"),
    (b"fLaC", 0, "audio/flac"),
    (b"%PDF-", 0, "application/pdf"),
    (b"PK\x03\x04", 0, "application/zip"),
    (b"\x1f\x8b", 0, "application/gzip"),
    (b"BZh", 0, "application/x-bzip2"),
    (b"\xfd7zXZ\x00", 0, "application/x-xz"),
    (b"ustar", 257, "application/x-tar"),
    (b"7z\xbc\xaf'\x1c", 0, "application/x-7z-compressed"),
    (b"SQLite format 3\x00", 0, "application/vnd.sqlite3"),
    (b"\x7fELF", 0, "application/x-elf"),
    (b"ftyp", 4, "video/mp4"),
)
"""First bytes of common formats, where they stand, and the media type they prove."""
_BASE64 = re.compile(r"[A-Za-z0-9+/_-]*={0,2}")


def sniff(head: bytes) -> str | None:
    """The media type that the first bytes (300 are enough) prove; None when they prove nothing."""
    for magic, at, mime in _MAGIC:
        if head[at : at + len(magic)] == magic:
            return mime
    return "image/svg+xml" if b"<svg" in head[:300] else None


def decode(text: str) -> bytes | None:
    """The bytes of a base64 text, plain or URL-safe, with or without padding and line breaks; None when it is none."""
    plain = "".join(text.split()) if any(c in text[:200] or c in text[-2:] for c in " \r\n\t") else text
    if not _BASE64.fullmatch(plain):
        plain = "".join(plain.split())
        if not _BASE64.fullmatch(plain):
            return None
    bare = plain.rstrip("=").replace("-", "+").replace("_", "/")
    if len(bare) % 4 == 1:
        return None
    try:
        return base64.b64decode(bare + "=" * (-len(bare) % 4))
    except binascii.Error:
        return None


@dataclass(frozen=True, slots=True)
class Picture:
    """A picture ready for a model.

    Attributes:
        data: base64 of what is sent.
        width: pixels of what is sent; `full_width` those of the original. The same for the heights.
        region: the part of the original that is shown (left, top, width, height in its pixels).
        note: what was changed, in words; empty when the original is sent as it is.
    """

    data: str
    mime: str
    width: int
    height: int
    full_width: int
    full_height: int
    region: tuple[int, int, int, int]
    note: str = ""

    @property
    def tokens(self) -> int:
        return of_picture(self.width, self.height)


def fit_picture(data: bytes, region: tuple[int, int, int, int] | None = None) -> Picture | str:
    """A picture within what models see whole.

    Args:
        data: the file.
        region: only this part (left, top, width, height), in pixels of the original after its EXIF turn.

    Returns:
        The picture, or why there is none, in words.
    """
    opened = _open(data)
    if isinstance(opened, str):
        return opened
    with opened as image:
        try:
            return (_as_it_is(image, data) if region is None else None) or _resized(image, region)
        except (OSError, ValueError, SyntaxError, struct.error) as error:
            return f"the picture cannot be read ({str(error)[:80]})"


def _as_it_is(image: Image, data: bytes) -> Picture | None:
    """The picture unchanged, None where it is too large, turned, or of a kind that models do not take."""
    width, height = image.size
    fits = max(width, height) <= LONGEST_EDGE and width * height <= MOST_PIXELS and len(data) <= MOST_BYTES
    mime = _SHOWN.get((image.format or "").lower())
    if not fits or mime is None or image.getexif().get(_TURN, 1) != 1:
        return None
    return Picture(base64.b64encode(data).decode(), mime, width, height, width, height, (0, 0, width, height))


_TURN = 0x0112
"""The EXIF field that says how a photograph is turned."""


def size_of(data: bytes) -> tuple[int, int] | None:
    """Width and height of a picture in pixels, None when it is none."""
    opened = _open(data)
    if isinstance(opened, str):
        return None
    with opened as image:
        return image.size


def describe_sound(data: bytes) -> str:
    """Length and rate of a WAV file in words; empty for other formats."""
    if sniff(data[:16]) != "audio/wav":
        return ""
    at = 12
    rate = bytes_per_second = 0
    while at + 8 <= len(data):
        chunk, size = data[at : at + 4], struct.unpack_from("<I", data, at + 4)[0]
        if chunk == b"fmt " and at + 20 <= len(data):
            rate, bytes_per_second = struct.unpack_from("<II", data, at + 12)
        if chunk == b"data" and bytes_per_second:
            return f"{min(size, len(data)) / bytes_per_second:.1f} s at {rate:,} Hz"
        at += 8 + size + size % 2
    return ""


@cache
def _pillow() -> Any:
    """Pillow with its limit set; imported here and nowhere else."""
    from PIL import Image, ImageOps, UnidentifiedImageError

    Image.MAX_IMAGE_PIXELS = None  # Pillow's own check warns or raises at other sizes; ours comes before any decoding
    return Image, ImageOps, UnidentifiedImageError


def _open(data: bytes) -> Image | str:
    """The picture with its header read, or why it cannot be opened."""
    pictures, _, unidentified = _pillow()
    try:
        image: Image = pictures.open(io.BytesIO(data))
    except unidentified:
        return "the data is no picture that can be read"
    except (OSError, ValueError, SyntaxError, struct.error) as error:
        return f"the picture cannot be read ({str(error)[:80]})"
    if image.size[0] * image.size[1] > _BOMB_PIXELS:
        image.close()
        return f"the picture has {image.size[0]:,} x {image.size[1]:,} pixels, too many to be opened safely"
    return image


def _resized(image: Image, region: tuple[int, int, int, int] | None) -> Picture:
    pictures, turning, _ = _pillow()
    frames = getattr(image, "n_frames", 1)
    if region is None and image.format == "JPEG":
        image.draft("RGB", (LONGEST_EDGE, LONGEST_EDGE))
    full = image.size
    image.load()
    upright: Image = turning.exif_transpose(image)
    if upright.size != image.size and full == image.size:
        full = upright.size
    left, top, width, height = _inside(region, full)
    if region is not None:
        upright = upright.crop((left, top, left + width, top + height))
    shown = upright.convert("RGBA" if "A" in upright.getbands() or "transparency" in upright.info else "RGB")
    scale = min(1.0, LONGEST_EDGE / max(shown.size), (MOST_PIXELS / (shown.size[0] * shown.size[1])) ** 0.5)
    target = (max(1, int(shown.size[0] * scale)), max(1, int(shown.size[1] * scale)))
    if target != shown.size:
        shown = shown.resize(target, pictures.Resampling.LANCZOS, reducing_gap=2.0)
    data, mime = _encoded(shown)
    notes = []
    if (width, height) != target:
        notes.append(f"scaled from {width}x{height} to {target[0]}x{target[1]} (factor {target[0] / width:.4g})")
    if frames > 1:
        notes.append(f"first of {frames} frames")
    if not notes and region is None:
        notes.append("encoded anew")
    encoded = base64.b64encode(data).decode()
    return Picture(encoded, mime, *target, *full, (left, top, width, height), "; ".join(notes))


def _encoded(image: Image) -> tuple[bytes, str]:
    """PNG where that is small enough, else JPEG of falling quality."""
    buffer = io.BytesIO()
    image.save(buffer, "PNG")
    if buffer.tell() <= MOST_BYTES // 2:
        return buffer.getvalue(), "image/png"
    flat = image.convert("RGB")
    for quality in (85, 70, 50):
        buffer = io.BytesIO()
        flat.save(buffer, "JPEG", quality=quality)
        if buffer.tell() <= MOST_BYTES:
            break
    return buffer.getvalue(), "image/jpeg"


def _inside(region: tuple[int, int, int, int] | None, full: tuple[int, int]) -> tuple[int, int, int, int]:
    """The region cut to the picture.

    Raises:
        ValueError: nothing of it lies inside.
    """
    if region is None:
        return (0, 0, *full)
    left, top, width, height = region
    right, bottom = min(left + width, full[0]), min(top + height, full[1])
    left, top = max(0, left), max(0, top)
    if right <= left or bottom <= top:
        raise ValueError(f"the region lies outside the picture of {full[0]}x{full[1]} pixels")
    return left, top, right - left, bottom - top
