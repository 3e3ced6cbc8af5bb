"""Pictures at a size that a model sees whole, and what binaries really are."""

from __future__ import annotations

import base64
import io
import struct
import zlib
from collections.abc import Callable

import pytest
from PIL import Image

from anyact_server.grounding.media import (
    LONGEST_EDGE,
    MOST_BYTES,
    MOST_PIXELS,
    Picture,
    decode,
    describe_sound,
    fit_picture,
    size_of,
    sniff,
)

from .conftest import encoded

Maker = Callable[..., str]


def fitted(data: str, region: tuple[int, int, int, int] | None = None) -> Picture:
    made = fit_picture(base64.b64decode(data), region)
    assert isinstance(made, Picture), made
    return made


@pytest.mark.parametrize(
    ("head", "mime"),
    [
        (b"\x89PNG\r\n\x1a\n", "image/png"),
        (b"RIFF\x00\x00\x00\x00WEBP", "image/webp"),
        (b"RIFF\x00\x00\x00\x00WAVE", "audio/wav"),
        (b"PK\x03\x04", "application/zip"),
        (b"%PDF-1.7", "application/pdf"),
        (b"\x00" * 257 + b"ustar", "application/x-tar"),
        (b"<?xml?><svg xmlns=", "image/svg+xml"),
        (b"words", None),
    ],
)
def test_the_first_bytes_prove_the_kind(head: bytes, mime: str | None) -> None:
    """Whatever the server declared."""
    assert sniff(head) == mime


@pytest.mark.parametrize("text", ["AAEC", "AAEC\n", "AA EC", "AAE", "_-8=", "_-8"])
def test_base64_is_read_in_all_its_forms(text: str) -> None:
    """With breaks, URL-safe, without padding."""
    assert decode(text) in (b"\x00\x01\x02", b"\x00\x01", b"\xff\xef")


@pytest.mark.parametrize("text", ["A", "no base64!", "AAAA=A", "ä"])
def test_what_is_no_base64_gives_none(text: str) -> None:
    """Never an exception."""
    assert decode(text) is None


def test_a_small_picture_is_sent_as_it_is(picture: Maker) -> None:
    """Byte for byte, without a note."""
    data = picture(640, 400)
    made = fitted(data)
    assert (made.data, made.mime, made.note) == (data, "image/png", "")
    assert (made.width, made.full_width) == (640, 640)


@pytest.mark.case("B2")
@pytest.mark.parametrize(("width", "height"), [(3000, 2000), (12_000, 200), (200, 12_000), (1568, 1568)])
def test_a_large_picture_is_scaled_and_says_so(picture: Maker, width: int, height: int) -> None:
    """Within edge and area, the shape kept, the original size and the factor named."""
    made = fitted(picture(width, height))
    assert max(made.width, made.height) <= LONGEST_EDGE
    assert made.width * made.height <= MOST_PIXELS
    assert abs(made.width / made.height - width / height) / (width / height) < 0.05
    assert f"scaled from {width}x{height} to {made.width}x{made.height} (factor " in made.note
    assert (made.full_width, made.full_height) == (width, height)


@pytest.mark.case("B2")
def test_a_heavy_picture_is_encoded_smaller(picture: Maker) -> None:
    """Few pixels can still be many bytes."""
    data = picture(1000, 1000, noise=True)
    assert len(data) * 3 // 4 > MOST_BYTES
    made = fitted(data)
    assert len(base64.b64decode(made.data)) <= MOST_BYTES
    assert made.mime == "image/jpeg" and made.note == "encoded anew"


def test_a_region_is_cut_out_in_pixels_of_the_original(picture: Maker) -> None:
    """Clipped to the picture; outside of it there is nothing."""
    made = fitted(picture(12_000, 200), (11_000, 50, 4000, 400))
    assert made.region == (11_000, 50, 1000, 150)
    assert (made.width, made.height) == (1000, 150)
    outside = fit_picture(base64.b64decode(picture(10, 10)), (20, 0, 5, 5))
    assert isinstance(outside, str) and "outside the picture of 10x10" in outside


def test_a_turned_photograph_stands_upright() -> None:
    """The EXIF turn is applied, and the full size is that of the upright picture."""
    image = Image.new("RGB", (40, 20), "red")
    exif = image.getexif()
    exif[0x0112] = 6
    buffer = io.BytesIO()
    image.save(buffer, "JPEG", exif=exif)
    made = fit_picture(buffer.getvalue())
    assert isinstance(made, Picture)
    assert (made.width, made.height, made.full_width) == (20, 40, 20)


def test_odd_colour_forms_become_what_models_take() -> None:
    """Bitmaps, palettes with transparency, moving pictures."""
    bitmap = fitted(encoded(Image.new("1", (30, 30)), "BMP"))
    assert bitmap.mime == "image/png"
    palette = Image.new("P", (2000, 100))
    palette.info["transparency"] = 0
    assert fitted(encoded(palette, "PNG")).mime == "image/png"
    frames = io.BytesIO()
    colours = [Image.new("RGB", (1700, 10), colour) for colour in ("red", "blue")]
    colours[0].save(frames, "GIF", save_all=True, append_images=colours[1:])
    moving = fit_picture(frames.getvalue())
    assert isinstance(moving, Picture) and "first of 2 frames" in moving.note


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b"no picture", "no picture that can be read"),
        (b"", "no picture that can be read"),
        (b"\x89PNG\r\n\x1a\n" + b"\x00" * 30, "no picture|cannot be read"),
    ],
)
def test_what_is_no_picture_is_explained(data: bytes, why: str) -> None:
    """A reason in words, never an exception."""
    made = fit_picture(data)
    assert isinstance(made, str)
    assert any(part in made for part in why.split("|"))


def test_a_broken_picture_is_explained(picture: Maker) -> None:
    """A file that ends in the middle."""
    data = base64.b64decode(picture(2000, 2000, noise=True))
    made = fit_picture(data[: len(data) // 2])
    assert isinstance(made, str) and "cannot be read" in made


@pytest.mark.parametrize("side", [12_000, 60_000])
def test_a_picture_bomb_is_not_opened(side: int) -> None:
    """A tiny file that claims enormous dimensions."""
    header = struct.pack(">IIBBBBB", side, side, 8, 2, 0, 0, 0)

    def chunk(kind: bytes, body: bytes) -> bytes:

        return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))

    bomb = b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", b"") + chunk(b"IEND", b"")
    made = fit_picture(bomb)
    assert isinstance(made, str) and "opened safely" in made


def test_a_size_is_read_without_decoding(picture: Maker) -> None:
    """None for what is no picture."""
    assert size_of(base64.b64decode(picture(31, 17))) == (31, 17)
    assert size_of(b"words") is None


def test_a_sound_is_described() -> None:
    """Length and rate of WAV; nothing for other formats or broken files."""
    form = struct.pack("<HHIIHH", 1, 1, 8000, 16_000, 2, 16)
    sound = (
        b"RIFF\x00\x00\x00\x00WAVEfmt "
        + struct.pack("<I", 16)
        + form
        + b"data"
        + struct.pack("<I", 32_000)
        + bytes(32_000)
    )
    assert describe_sound(sound) == "2.0 s at 8,000 Hz"
    assert describe_sound(sound[:30]) == ""
    assert describe_sound(b"OggS") == ""
