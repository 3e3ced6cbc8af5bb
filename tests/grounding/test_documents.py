"""The text that binaries hold."""

from __future__ import annotations

import gzip

import pytest

from anyact_server.grounding import documents
from anyact_server.grounding.documents import member_of, plain_text, text_of, why_unread

from .test_archives import FILES, ZIP, zipped


def pdf(pages: list[str]) -> bytes:
    """A PDF with a line of text on each page."""
    count = len(pages)
    objects = [b"<</Type/Catalog/Pages 2 0 R>>"]
    kids = " ".join(f"{4 + 2 * at} 0 R" for at in range(count))
    objects.append(f"<</Type/Pages/Count {count}/Kids[{kids}]>>".encode())
    objects.append(b"<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>")
    for at, text in enumerate(pages):
        objects.append(
            f"<</Type/Page/Parent 2 0 R/MediaBox[0 0 300 300]/Contents {5 + 2 * at} 0 R"
            "/Resources<</Font<</F1 3 0 R>>>>>>".encode()
        )
        stream = f"BT /F1 12 Tf 20 200 Td ({text}) Tj ET".encode() if text else b""
        objects.append(b"<</Length %d>>stream\n%s\nendstream" % (len(stream), stream))
    objects.append(b"<</Title(A title)>>")
    out, places = b"%PDF-1.4\n", []
    for number, body in enumerate(objects, 1):
        places.append(len(out))
        out += b"%d 0 obj\n%s\nendobj\n" % (number, body)
    table = b"".join(b"%010d 00000 n \n" % place for place in places)
    head = b"xref\n0 %d\n0000000000 65535 f \n" % (len(objects) + 1)
    tail = b"trailer<</Size %d/Root 1 0 R/Info %d 0 R>>\nstartxref\n%d\n%%%%EOF"
    return out + head + table + tail % (len(objects) + 1, len(objects), len(out))


def test_a_pdf_is_read_page_by_page() -> None:
    """With its title and the pages that hold no text."""
    text = text_of(pdf(["Hello there", "", "Third"]), "application/pdf")
    assert text == "[PDF, 3 pages, title: A title]\n[page 1]\nHello there\n[page 2: no text]\n[page 3]\nThird"


def test_a_long_pdf_says_what_was_not_read(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pages and characters are bounded."""
    monkeypatch.setattr(documents, "_PAGES", 2)
    text = text_of(pdf(["one", "two", "three", "four"]), "application/pdf")
    assert text is not None
    assert text.endswith("two\n[… pages 3 to 4 are not read]")


@pytest.mark.parametrize("data", [b"%PDF-1.4 broken", b"%PDF-1.4\n%%EOF", pdf(["x"])[:200]])
def test_a_broken_pdf_says_nothing(data: bytes) -> None:
    """Without an exception."""
    assert text_of(data, "application/pdf") is None


def test_without_the_library_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """The cure for a PDF that is not read."""
    monkeypatch.setattr(documents, "_pypdf", lambda: None)
    assert text_of(pdf(["x"]), "application/pdf") is None
    assert "anyact-server[pdf]" in why_unread("application/pdf")
    assert why_unread("application/x-elf") == ""


def test_archives_are_listed_and_compressed_texts_read() -> None:
    """A compressed binary says nothing."""
    listing = text_of(zipped(FILES), ZIP)
    assert listing is not None
    assert "a.txt" in listing
    assert member_of(zipped(FILES), ZIP, "a.txt") == b"hello"
    assert text_of(gzip.compress(b"a text"), "application/gzip") == "a text"
    assert text_of(gzip.compress(b"\x00\xff\xfe\x00"), "application/gzip") is None
    assert text_of(b"PK\x03\x04broken", ZIP) is None


def test_bytes_are_text_where_they_decode() -> None:
    """UTF-8 with or without a mark, UTF-16 with one."""
    assert plain_text("\ufeffgrün".encode()) == "grün"
    assert plain_text("grün".encode("utf-16")) == "grün"
    assert plain_text(b"a\x00b") is None
    assert plain_text(b"\xff\xfa\x80") is None
    assert plain_text(b"") is None
