"""From content to a body: what is shown, what is named, what is kept."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable

import pytest

from anyact_server.grounding import estimate
from anyact_server.grounding.blocks import read_content
from anyact_server.grounding.compose import Body, compose
from anyact_server.types import Json

from .conftest import text_result

HANDLE = "obs_0123456789abcdef_fedcba9876543210"
CODE = "Zm9vQmFyMTIz" * 60
ROWS: list[Json] = [{"id": i, "name": f"item {i}"} for i in range(2000)]


def body(result: Json, budget: int = 4000) -> Body:
    return compose(read_content(result), budget, HANDLE)


def image(data: str, **more: Json) -> dict[str, Json]:
    return {"type": "image", "data": data, "mimeType": "image/png", **more}


def test_a_small_text_is_shown_as_it_is() -> None:
    """Not a byte more, nothing kept."""
    made = body(text_result("hello\nworld"))
    assert (made.text, made.altered, made.data) == ("hello\nworld", False, None)


def test_json_in_a_text_is_data_in_its_cheapest_form() -> None:
    """Half the tokens of indented JSON, and the value for references."""
    made = body(text_result(json.dumps(ROWS[:50], indent=2)))
    assert made.data == ROWS[:50] and not made.altered
    assert estimate(made.text) < made.raw / 2


@pytest.mark.parametrize("texts", [['{"a": 1, "b": "two"}'], ["plain"], ["x", "[1]"]])
def test_a_mirror_of_the_structured_part_is_not_billed_twice(texts: list[str]) -> None:
    """Object, wrapped text, wrapped list."""
    structured: Json = (
        {"a": 1, "b": "two"} if "two" in texts[0] else {"result": "plain" if len(texts) == 1 else ["x", [1]]}
    )
    made = body({"content": [{"type": "text", "text": text} for text in texts], "structuredContent": structured})
    assert made.text in ('{"a":1,"b":"two"}', "plain", '["x",[1]]')
    assert made.data == structured


def test_texts_that_say_more_stay_beside_the_structured_part() -> None:
    """Words first, then the value."""
    made = body({"content": [{"type": "text", "text": "2 of 3 done"}], "structuredContent": {"left": ["a"]}})
    assert made.text == '2 of 3 done\n{"left":["a"]}'


@pytest.mark.case("O4")
@pytest.mark.parametrize("result", [{"content": []}, text_result(" "), {"content": [], "structuredContent": []}, {}])
def test_nothing_is_empty(result: Json) -> None:
    """And needs no text."""
    made = body(result)
    assert made.empty and made.text == ""


@pytest.mark.case("B1")
def test_ten_thousand_blocks_are_one_text() -> None:
    """With head, tail and size."""
    blocks = [{"type": "text", "text": f"block {i} " + "y" * 1000} for i in range(10_000)]
    made = body({"content": blocks})
    assert estimate(made.text) <= 4000 and made.altered
    assert "10,000 text blocks" in made.notes[0]
    assert made.text.startswith("block 0 ")
    beside = body({"content": blocks[:60], "structuredContent": {"a": 1}}, 500)
    assert "all" in beside.parts and '{"a":1}' in beside.text


def test_a_few_large_parts_share_the_budget_by_priority() -> None:
    """Small ones stay whole; the one that matters more gets more."""
    long = "some words of a line\n" * 3000
    notes = [{"priority": 1.0}, {"priority": 0.0}]
    blocks: list[Json] = [{"type": "text", "text": "tiny"}]
    blocks += [{"type": "text", "text": f"{i}{long}", "annotations": one} for i, one in enumerate(notes)]
    made = body({"content": blocks}, 1000)
    assert estimate(made.text) <= 1200 and made.text.startswith("tiny\n0some")
    first, _, second = made.text.partition("\n1some")
    assert len(first) > 2 * len(second)
    assert set(made.parts) == {"c1", "c2"}


def test_what_is_for_the_person_alone_is_kept_out_of_the_text() -> None:
    """Named and kept, not shown."""
    made = body(
        {
            "content": [
                {"type": "text", "text": "secret note", "annotations": {"audience": ["user"]}},
                image("AA", annotations={"audience": ["user"]}),
            ]
        }
    )
    assert "secret note" not in made.text and not made.blocks
    assert [gap.what for gap in made.elided] == ["block for the person alone"] * 2
    assert made.parts["c0"]["pointer"] == "/content/0/text"


@pytest.mark.case("B2")
def test_a_picture_stays_a_picture_and_its_copies_are_named(picture: Callable[..., str]) -> None:
    """As image block within the limits; no base64 in text or data."""
    data = picture(1600, 1000, noise=True)
    made = body(
        {
            "content": [image(data), {"type": "text", "text": f"shot: {data}"}],
            "structuredContent": {"image": data, "n": 1},
        }
    )
    assert len(made.blocks) == 1 and made.blocks[0]["type"] == "image"
    assert "scaled from 1600x1000" in made.text and f"original: {HANDLE}.c0]" in made.text
    assert data[:100] not in made.text and data[:100] not in json.dumps(made.data)
    assert made.data["n"] == 1 and made.data["image"].startswith("[image/png, ")
    assert {"c0", "x1", "x2"} <= set(made.parts)
    assert made.media_tokens > 1000


def test_a_picture_in_its_limits_needs_nothing_kept(picture: Callable[..., str]) -> None:
    """A wrong declaration is noted."""
    made = body({"content": [image(picture(64, 64, "JPEG"))]})
    assert not made.altered and made.notes == ["a picture declared as image/png is image/jpeg"]


def test_pictures_over_the_budget_are_named(picture: Callable[..., str]) -> None:
    """The first is always shown."""
    made = body({"content": [image(picture(800, 800))] * 6}, 1500)
    assert len(made.blocks) == 1
    assert made.text.count("over the budget") == 5


@pytest.mark.parametrize(
    ("data", "why"),
    [
        ("not base64!", "the data of the picture is no base64"),
        ("", "it is empty"),
        (base64.b64encode(b"words").decode(), "no picture that can be read"),
        (base64.b64encode(b"<svg xmlns='x'/>").decode(), "a drawing in SVG"),
    ],
)
def test_what_cannot_be_shown_is_explained(data: str, why: str) -> None:
    """And kept."""
    made = body({"content": [image(data)]})
    assert why in made.text and not made.blocks and "c0" in made.parts


def test_resources_carry_their_address() -> None:
    """Text under its label, binaries and sounds with kind and size."""
    blob = base64.b64encode(b"PK\x03\x04" + bytes(500)).decode()
    made = body(
        {
            "content": [
                {"type": "resource", "resource": {"uri": "f:///a", "text": "inside", "mimeType": "text/x"}},
                {"type": "resource", "resource": {"uri": "f:///b", "blob": blob}},
                {"type": "resource", "resource": {"uri": "f:///c", "blob": "!"}},
            ]
        }
    )
    assert "[resource f:///a (text/x)]\ninside" in made.text
    assert f"[binary f:///b: application/zip, 504 bytes; {HANDLE}.c1]" in made.text
    assert "blob not shown: the data of the blob is no base64" in made.text


def test_a_picture_declared_as_a_binary_is_shown(picture: Callable[..., str]) -> None:
    """By its first bytes."""
    made = body({"content": [{"type": "resource", "resource": {"uri": "f:///a", "blob": picture(20, 20)}}]})
    assert len(made.blocks) == 1


def test_short_sounds_pass_and_long_ones_are_named() -> None:
    """As audio block, or by handle."""
    short, long = (base64.b64encode(b"OggS" + bytes(size)).decode() for size in (1000, 1_200_000))
    made = body(
        {"content": [{"type": "audio", "data": short, "mimeType": "audio/ogg"}, {"type": "audio", "data": long}]}
    )
    assert [block["type"] for block in made.blocks] == ["audio"]
    assert f"[sound: audio/ogg, 1,200,004 bytes; {HANDLE}.c1]" in made.text


def test_links_are_listed_and_folded() -> None:
    """Address, title and facts; twenty at most."""
    links = [
        {"type": "resource_link", "uri": f"f:///{i}", "name": f"n{i}", "mimeType": "x/y", "size": 5000}
        for i in range(30)
    ]
    made = body({"content": links})
    assert "[link n0: f:///0 (x/y,5,000 bytes)]" in made.text or "[link n0: f:///0" in made.text
    assert "[… 10 more links]" in made.text and made.altered
    assert len(made.artifacts) == 30


def test_unknown_blocks_are_shown_as_what_they_are() -> None:
    """Their JSON, so that nothing is lost."""
    made = body({"content": [{"type": "chart", "points": [1, 2]}, 7]})
    assert made.text == '{"type":"chart","points":[1,2]}\n7'


def test_codes_in_json_texts_and_plain_texts_are_named() -> None:
    """With a part that leads to them."""
    made = body({"content": [{"type": "text", "text": json.dumps({"a": CODE})}]})
    assert CODE[:50] not in made.text and CODE[:50] not in json.dumps(made.data)
    assert made.parts["x1"]["pointer"] == "/content/0/text" and made.parts["x1"]["inner"] == "/a"
    plain = body(text_result(f"see {CODE} there"))
    assert plain.text == f"see [encoded data, 720 characters: {HANDLE}.x1] there"
    assert plain.altered


def test_codes_at_the_end_of_a_long_text_keep_their_place() -> None:
    """The part leads to the same characters of the original."""
    text = "some words\n" * 30_000 + CODE + " end"
    made = body(text_result(text))
    part = made.parts["x1"]
    assert text[part["start"] : part["end"]] == CODE


def test_what_was_cleaned_is_noted_and_kept() -> None:
    """Colours of a terminal, say."""
    made = body(text_result("\x1b[31mred\x1b[0m"))
    assert (made.text, made.notes, made.altered) == ("red", ["terminal colours removed"], True)


@pytest.mark.case("B1")
def test_large_structured_content_is_previewed() -> None:
    """With its gaps as elisions."""
    made = body({"content": [], "structuredContent": {"rows": ROWS}}, 800)
    assert estimate(made.text) <= 800
    assert made.elided[0].pointer == "/rows" and made.elided[0].handle == HANDLE
    assert made.data == {"rows": ROWS}


def test_many_odd_lines_stay_within_the_budget() -> None:
    """Hundreds of binaries cost no more than a third."""
    blocks = [{"type": "resource", "resource": {"uri": f"f:///{i}", "blob": "AAAA"}} for i in range(2000)]
    made = body({"content": blocks}, 1000)
    assert estimate(made.text) <= 1000 and len(made.parts) == 2000
