"""Long codes in text are found, and nothing else is taken for one."""

from __future__ import annotations

import base64
import hashlib

import pytest

from anyact_server.grounding.binaries import ends, find_codes, is_code, may_hold_code, replace_codes

BYTES = b"".join(hashlib.sha256(bytes([i])).digest() for i in range(40))
CODE = base64.b64encode(BYTES).decode()
PNG = base64.b64encode(b"\x89PNG\r\n\x1a\n" + BYTES).decode()


@pytest.mark.case("B2")
@pytest.mark.parametrize(
    "code",
    [
        CODE,
        base64.urlsafe_b64encode(BYTES).decode(),
        BYTES.hex(),
        BYTES.hex().upper(),
        base64.encodebytes(BYTES).decode().strip(),
        base64.b64encode(bytes(400)).decode(),
        base64.b64encode(b"\x00\x01" * 300).decode(),
    ],
    ids=["base64", "urlsafe", "hex", "HEX", "wrapped", "zeros", "low-entropy"],
)
def test_a_code_in_a_text_is_replaced(code: str) -> None:
    """The words around it stay."""
    assert replace_codes(f"before {code} after", lambda found: "[code]") == "before [code] after"


@pytest.mark.parametrize(
    "text",
    [
        "x" * 5000,
        "-" * 400,
        "=" * 400,
        "ACGTTGCA" * 100,
        "word " * 200,
        "/usr/lib/python3/Dist/packages/Some/Name" * 10,
        "https://example.org/a/b/c?d=e " * 20,
        "0" * 300,
        CODE[:180],
    ],
)
def test_long_words_rules_and_paths_are_no_codes(text: str) -> None:
    """What merely has no blanks is left to the ordinary shortening."""
    assert find_codes(text) == []


def test_the_kind_of_a_code_is_read_from_its_bytes() -> None:
    """A picture is known for one, with or without a data URI around it."""
    (bare,) = find_codes(PNG)
    (uri,) = find_codes(f"see data:text/plain;charset=x;base64,{PNG}!")
    (unknown,) = find_codes(f"data:application/x-thing;base64,{CODE}")
    assert (bare.mime, uri.mime, unknown.mime) == ("image/png", "image/png", "application/x-thing")
    assert uri.start == 4 and uri.size == len(PNG) + len("data:text/plain;charset=x;base64,")


def test_a_text_without_codes_is_given_back_as_it_is() -> None:
    """The very same object."""
    text = "nothing here " * 50
    assert replace_codes(text, lambda found: "!") is text


def test_a_whole_string_can_be_a_code() -> None:
    """True only where nothing stands around it."""
    assert is_code(CODE)
    assert not is_code(f"the code is {CODE}")
    assert not is_code("short")


def test_the_fast_check_never_misses() -> None:
    """Wrapped codes inside JSON count too."""
    assert may_hold_code(base64.encodebytes(BYTES).replace(b"\n", b"\\n"))
    assert not may_hold_code(b'{"a": "some words"}' * 100)


def test_ends_are_cut_between_words() -> None:
    """A code at the edge is taken in whole."""
    text = "start " + CODE + " middle" * 100 + " end"
    head, tail = ends(text, 10, 10)
    assert head == "start " + CODE
    assert tail == " middle end"
    assert ends("x" * 100, 10, 10) == ("x" * 100, "")
