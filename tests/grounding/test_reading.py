"""Views on what was not shown."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from typing import Any

import pytest

from anyact_server.errors import UnknownHandle, UsageError
from anyact_server.grounding import estimate
from anyact_server.types import LOCAL, Json, Observation, Principal, ReadRequest

from .conftest import Ground, text_result

ROWS: list[Json] = [{"id": i, "name": f"item {i}", "note": "some words " * 5} for i in range(3000)]
LOG = "\n".join(f"line {i} went {'wrong: ERROR' if i % 5000 == 77 else 'well'}" for i in range(60_000))


@pytest.fixture
def rows(ground: Ground) -> Callable[..., Observation]:
    """Reads the kept rows with a view."""
    observation = ground.observe({"content": [], "structuredContent": {"rows": ROWS, "total": 3000}})
    return reader(ground, observation.handle or "")


@pytest.fixture
def log(ground: Ground) -> Callable[..., Observation]:
    """Reads the kept log with a view."""
    return reader(ground, ground.observe(text_result(LOG)).handle or "")


def reader(ground: Ground, handle: str) -> Callable[..., Observation]:
    def read(view: Any = "page", query: str | None = None, **more: int) -> Observation:
        return ground.grounder.read(ReadRequest(handle, view, query, **more), LOCAL)

    return read


def test_pages_of_a_text_follow_each_other(log: Callable[..., Observation]) -> None:
    """Every page names its lines and the next offset; together they are the whole."""
    lines: list[str] = []
    offset = 0
    while offset < 60_000:
        page = log(offset=offset, budget=20_000)
        head, _, body = page.text.partition("\n")
        lines += body.split("\n")
        offset = int(head.rpartition("offset ")[2].rstrip("]")) if "next" in head else 60_000
    assert "\n".join(lines) == LOG


def test_a_page_is_within_its_budget(log: Callable[..., Observation], rows: Callable[..., Observation]) -> None:
    """Whatever is asked for."""
    for read in (log, rows):
        assert estimate(read(limit=100_000, budget=500).text) <= 500
        assert read(limit=2).text


@pytest.mark.case("B1")
def test_head_tail_and_range_of_a_text(log: Callable[..., Observation]) -> None:
    """Any range can be read."""
    assert log("head", limit=2).text == "[lines 1 to 2 of 60,000; next: offset 2]\nline 0 went well\nline 1 went well"
    assert log("tail", limit=1).text == "[lines 60,000 to 60,000 of 60,000]\nline 59999 went well"
    assert log(offset=50_000, limit=1).text.endswith("\nline 50000 went well")


def test_grep_in_a_text_numbers_its_finds(log: Callable[..., Observation]) -> None:
    """Plain words without regard to case, or a regular expression; offset and limit count finds."""
    assert log("grep", "error", limit=2).text == (
        "[matches 1 to 2 of 12; next: offset 2]\n78: line 77 went wrong: ERROR\n5078: line 5077 went wrong: ERROR"
    )
    assert log("grep", r"^line \d+77 .*wrong", offset=10).text.startswith("[matches 11 to 11 of 11]\n55078: ")


@pytest.mark.parametrize("query", [None, "", "(a+)+b", "[", "x" * 400, "nowhere at all", "a{1000}{1000}{1000}"])
def test_a_bad_pattern_is_refused(log: Callable[..., Observation], query: str | None) -> None:
    """Missing, unreadable, endless, or without a find."""
    with pytest.raises(UsageError):
        log("grep", query)


def test_grep_in_json_names_the_places(rows: Callable[..., Observation]) -> None:
    """By JSON pointer."""
    assert rows("grep", "item 2999").text.endswith("/rows/2999/name: name=item 2999")


def test_a_path_selects_and_pages(rows: Callable[..., Observation]) -> None:
    """JSONPath and JSON pointer; offset and limit count items."""
    assert rows("jsonpath", "$.rows[7].name").text == "item 7" or "item 7" in rows("jsonpath", "$.rows[7].name").text
    page = rows("jsonpath", "/rows", offset=1000, limit=3)
    assert page.text.startswith("[items 1000 to 1002 of 3,000; next: offset 1003]")
    assert page.data == ROWS[1000:1003]
    assert "total: 3000" in rows("jsonpath", "$").text or "3000" in rows("jsonpath", "$").text
    assert rows("jsonpath", "$.total").text == "3000"


def test_head_and_tail_of_a_list(ground: Ground) -> None:
    """Items, not lines."""
    observation = ground.observe({"content": [], "structuredContent": {"result": ROWS}})
    read = reader(ground, observation.handle or "")
    assert read("head", limit=2).data == ROWS[:2]
    assert read("tail", limit=2).data == ROWS[-2:]
    assert read(offset=2999).data == ROWS[2999:]


def test_keys_of_an_object_are_paged(ground: Ground) -> None:
    """Wide objects page by key."""
    wide = {f"key_{i}": f"some words {i}" for i in range(5000)}
    read = reader(ground, ground.observe({"content": [], "structuredContent": wide}).handle or "")
    assert read(offset=10, limit=2).data == {"key_10": "some words 10", "key_11": "some words 11"}
    assert read("tail").data == read("page").data


def test_one_item_larger_than_the_budget_is_shown_in_part(ground: Ground) -> None:
    """With its gaps named."""
    observation = ground.observe({"content": [], "structuredContent": {"result": ["word " * 9000, "x"]}})
    page = reader(ground, observation.handle or "")(budget=200)
    assert page.elided and "more characters" in page.text
    assert estimate(page.text) <= 220


def test_a_text_of_endless_lines_is_paged_by_characters(ground: Ground) -> None:
    """Also its end."""
    text = "word " * 100_000
    read = reader(ground, ground.observe(text_result(text)).handle or "")
    assert read(offset=5, limit=4).text == "[characters 5 to 9 of 500,000; next: offset 9]\nword"
    assert "to 500,000 of 500,000]" in read("tail").text
    with pytest.raises(UsageError, match="past the end"):
        read(offset=500_000)


@pytest.mark.parametrize(
    ("view", "more"), [("page", {"offset": 99_999}), ("page", {"offset": -1}), ("page", {"limit": 0})]
)
def test_offsets_outside_are_refused(log: Callable[..., Observation], view: str, more: dict[str, int]) -> None:
    """The message says how much there is."""
    with pytest.raises(UsageError):
        log(view, **more)


def test_views_that_do_not_fit_are_refused(log: Callable[..., Observation], rows: Callable[..., Observation]) -> None:
    """A path into text, a region of no picture, a difference to nothing, past the end of a list."""
    for view, query in (("jsonpath", "$.a"), ("region", "0,0,1,1"), ("diff", None)):
        with pytest.raises(UsageError):
            log(view, query)
    with pytest.raises(UsageError, match="there are 3,000 items"):
        rows("jsonpath", "/rows", offset=5000)


@pytest.mark.case("B1")
def test_raw_gives_the_result_exactly_as_it_came(ground: Ground) -> None:
    """Terminal codes and all, in pages of characters."""
    text = "\x1b[31mred\x1b[0m " * 3
    read = reader(ground, ground.observe(text_result(text)).handle or "")
    assert read("raw").text.partition("\n")[2] == text
    value = {"content": [], "structuredContent": {"rows": ROWS}}
    raw = reader(ground, ground.observe(value).handle or "")("raw", limit=50)
    assert raw.text.partition("\n")[2] == json.dumps(value, separators=(",", ":"))[:50]


@pytest.mark.case("B2")
def test_pictures_are_read_as_pictures(ground: Ground, picture: Callable[..., str]) -> None:
    """Scaled, by region, and the original byte for byte; never as text."""
    data = picture(4000, 300)
    handle = ground.observe({"content": [{"type": "image", "data": data, "mimeType": "image/png"}]}).handle or ""
    read = reader(ground, f"{handle}.c0")
    assert read().blocks[0]["type"] == "image"
    assert "picture 4000x300, shown at 1568x117 (scaled" in read().text
    region = read("region", "3900, 0, 100, 50")
    assert "region 3900,0,100,50, shown at 100x50" in region.text and len(region.blocks) == 1
    assert read("raw").blocks[0]["data"] == data
    with pytest.raises(UsageError, match="left,top,width,height"):
        read("region", "1,2,3")
    with pytest.raises(UsageError, match="outside the picture"):
        read("region", "9000,0,5,5")
    whole = reader(ground, handle)()
    assert whole.blocks and whole.blocks[0]["type"] == "image"


def test_binaries_are_described_and_fetched_in_pieces(ground: Ground) -> None:
    """Kind, size, first bytes; the bytes as a blob."""
    data = b"PK\x03\x04" + bytes(range(256)) * 10
    resource = {"uri": "f:///a.zip", "mimeType": "application/x", "blob": base64.b64encode(data).decode()}
    observation = ground.observe({"content": [{"type": "resource", "resource": resource}]})
    read = reader(ground, f"{observation.handle}.c0")
    assert read().text.startswith("[application/zip, 2,564 bytes; view raw gives them]\nfirst bytes: 50 4b 03 04")
    piece = read("raw", offset=4, limit=3)
    assert piece.text == "[bytes 4 to 7 of 2,564 (application/zip); next: offset 7]"
    assert base64.b64decode(piece.blocks[0]["resource"]["blob"]) == b"\x00\x01\x02"
    with pytest.raises(UsageError, match="past the end"):
        read("raw", offset=9999)
    with pytest.raises(UsageError, match="needs a picture"):
        read("region", "0,0,1,1")


def test_a_binary_that_is_text_is_read_as_text(ground: Ground) -> None:
    """Blobs of UTF-8 page like texts."""
    blob = base64.b64encode("größe\nline two".encode()).decode()
    observation = ground.observe({"content": [{"type": "resource", "resource": {"uri": "f:///a", "blob": blob}}]})
    assert reader(ground, f"{observation.handle}.c0")().text == "[lines 1 to 2 of 2]\ngröße\nline two"


def test_a_difference_shows_what_changed(ground: Ground) -> None:
    """Of two observations of one value; and that nothing did."""
    first = ground.observe({"content": [], "structuredContent": {"rows": ROWS}})
    changed = [{**ROWS[0], "name": "new name"}, *ROWS[1:]]
    second = ground.observe({"content": [], "structuredContent": {"rows": changed}})
    shown = reader(ground, second.handle or "")("diff", first.handle)
    assert "1 lines added, 1 removed" in shown.text
    assert "-/rows/0/name: name=item 0" in shown.text and "+/rows/0/name: name=new name" in shown.text
    assert reader(ground, second.handle or "")("diff", second.handle).text == "nothing changed"


def test_a_difference_of_texts_is_by_line(ground: Ground) -> None:
    """Texts need no structure."""
    first, second = (ground.observe(text_result(LOG + end)) for end in ("\nold end", "\nnew end"))
    shown = reader(ground, second.handle or "")("diff", first.handle)
    assert shown.text


def test_parts_are_read_like_results_of_their_own(ground: Ground) -> None:
    """Structured content beside a text, JSON in one of several texts: by path, by page, as values."""
    beside = ground.observe({"content": [{"type": "text", "text": "words"}], "structuredContent": {"rows": ROWS}})
    (gap,) = beside.elided
    assert gap.handle == f"{beside.handle}.data"
    assert reader(ground, gap.handle)("jsonpath", gap.pointer, offset=2000, limit=2).data == ROWS[2000:2002]
    texts = [{"type": "text", "text": text} for text in (LOG, json.dumps(ROWS))]
    several = ground.observe({"content": texts})
    log, rows = (gap.handle or "" for gap in several.elided)
    assert reader(ground, log)(offset=59_999).text.endswith("line 59999 went well")
    assert reader(ground, rows)(offset=2999).data == ROWS[2999:]
    assert ground.grounder.value(rows, LOCAL) == ROWS


def test_nobody_else_reads(ground: Ground) -> None:
    """Nor by a difference to somebody's handle."""
    handle = ground.observe(text_result(LOG)).handle or ""
    other = Principal("other", "token")
    for view in ("page", "diff"):
        with pytest.raises(UnknownHandle):
            ground.grounder.read(ReadRequest(handle, view, handle), other)
    with pytest.raises(UnknownHandle):
        ground.grounder.value(handle, other)
