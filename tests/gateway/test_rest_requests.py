"""What a request says."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import anyio
import pytest
from starlette.requests import ClientDisconnect, Request
from starlette.types import Message

from anyact_server.errors import UsageError
from anyact_server.gateway.rest_answers import Refused
from anyact_server.gateway.rest_bodies import ArgumentsBody, CallBody
from anyact_server.gateway.rest_requests import Asked, read_body, while_connected
from anyact_server.types import EMPTY

pytestmark = pytest.mark.anyio


def request(
    *chunks: bytes,
    query: str = "",
    gone: anyio.Event | None = None,
    read: list[int] | None = None,
    headers: Mapping[str, str] = EMPTY,
) -> Request:
    """A request with this body; its client stays until `gone` is set. `read` counts the chunks that were taken."""
    left = list(chunks) or [b""]

    async def receive() -> Message:
        if left:
            if read is not None:
                read.append(len(left[0]))
            return {"type": "http.request", "body": left.pop(0), "more_body": bool(left)}
        if gone is None:
            await anyio.sleep_forever()
        else:
            await gone.wait()
        return {"type": "http.disconnect"}

    shown = [(name.replace("_", "-").encode(), value.encode()) for name, value in headers.items()]
    scope = {"type": "http", "method": "POST", "path": "/", "headers": shown, "query_string": query.encode()}
    return Request(scope, receive)


async def refusal(*chunks: bytes, most: int = 1_000_000, model: type[Any] = CallBody, **headers: str) -> Refused:
    """Why a body is refused."""
    with pytest.raises(Refused) as refused:
        await read_body(request(*chunks, headers=headers), model, most)
    return refused.value


async def test_a_body_is_read_in_its_form() -> None:
    """With or without a type, in pieces, integers exactly."""
    body = await read_body(request(b'{"action": "a", "argu', b'ments": {"n": 123456789012345678901}}'), CallBody, 1000)
    assert body.arguments == {"n": 123456789012345678901}
    for kind in ("application/json", "Application/JSON; charset=utf-8", "application/vnd.api+json"):
        assert (
            await read_body(request(b'{"action":"a"}', headers={"content_type": kind}), CallBody, 1000)
        ).action == "a"


async def test_no_body_is_no_arguments_where_that_makes_sense() -> None:
    """Only where the path says it all."""
    assert await read_body(request(b" \n"), ArgumentsBody, 1000, optional=True) == ArgumentsBody()
    assert (await refusal(b"")).status == 400


@pytest.mark.case("X2")
@pytest.mark.parametrize(
    ("body", "words"),
    [
        (b"[" * 100_000 + b"]" * 100_000, "recursion limit exceeded at line 1"),
        (b'{"action": "a",\n "arguments": }', "line 2 column 15"),
        (b'{"action": "a"', "EOF while parsing an object at line 1"),
        (b"\xff\xfe", "line 1 column 1"),
        (b'{"action": NaN}', "line 1 column 12"),
        (b'{"action": "\\ud800"}', "line 1"),
        (b"1" * 5000, "number out of range"),
    ],
)
async def test_what_is_no_json_is_refused_with_the_place(body: bytes, words: str) -> None:
    """Bombs of nesting too, at once."""
    with anyio.fail_after(5):
        refused = await refusal(body)
    assert refused.status == 400 and words in refused.message and len(refused.message) < 200


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (b"{}", "action: Field required"),
        (b'{"action": ""}', "action: "),
        (b'{"action": "a", "arg": 1}', "arg: "),
        (b'{"action": "a", "timeout_s": "soon"}', "timeout_s: "),
        (b"[]", "the body: "),
        (b"null", "the body: "),
        (b'{"action": "a", "' + b"k" * 5000 + b'": 1}', "k: "),
    ],
)
async def test_a_body_of_another_form_is_refused_by_the_name_of_its_field(body: bytes, words: str) -> None:
    """Shortened."""
    refused = await refusal(body)
    assert refused.status == 422 and words in refused.message and len(refused.message) < 300


@pytest.mark.case("X2")
async def test_a_text_that_is_too_long_is_not_repeated() -> None:
    """An id of a megabyte, say."""
    refused = await refusal(json.dumps({"action": "x" * 1_000_000}).encode(), most=2_000_000)
    assert refused.status == 400 and len(refused.message) < 200


@pytest.mark.parametrize("kind", ["text/plain", "application/x-www-form-urlencoded", "", "x" * 10_000])
async def test_other_types_are_refused(kind: str) -> None:
    """A form of a web page is one of them."""
    refused = await refusal(b"{}", content_type=kind)
    assert refused.status == 415 and len(refused.message) < 200


@pytest.mark.case("X2")
@pytest.mark.parametrize("length", ["200000000", "9" * 5000])
async def test_a_body_declared_too_large_is_not_read_at_all(length: str) -> None:
    """The answer comes first."""
    read: list[int] = []
    with pytest.raises(Refused) as refused:
        await read_body(request(b"x", read=read, headers={"content_length": length}), CallBody, 1000)
    assert refused.value.status == 413 and not read


@pytest.mark.case("X2")
async def test_a_body_that_grows_too_large_is_read_no_further() -> None:
    """Whatever it declared."""
    read: list[int] = []
    with pytest.raises(Refused) as refused:
        await read_body(request(*[b"x" * 600] * 50, read=read, headers={"content_length": "5"}), CallBody, 1000)
    assert refused.value.status == 413 and len(read) == 2


async def test_parameters_are_read_by_name_and_unknown_ones_refused() -> None:
    """So that no typing mistake is ignored."""
    asked = Asked(request(query="n=5&s=1.5e1&f=true&t=a&t=b&c=two"), "n", "s", "f", "t", "c", "x")
    assert (asked.whole("n", 1, 0, 9), asked.whole("x", 1, 0, 9)) == (5, 1)
    assert (asked.seconds("s"), asked.seconds("x")) == (15.0, 0.0)
    assert (asked.flag("f"), asked.flag("x")) == (True, None)
    assert (asked.texts("t"), asked.text("c"), asked.text("x")) == (["a", "b"], "two", None)
    assert (asked.choice("c", ("one", "two")), asked.choice("x", ("one", "two"))) == ("two", "one")
    with pytest.raises(Refused, match="no parameter is called 'limt'") as refused:
        Asked(request(query="limt=5"), "limit")
    assert refused.value.hint == "Known here: limit."
    with pytest.raises(Refused) as refused:
        Asked(request(query="a=1"))
    assert refused.value.hint == "None is known here."


@pytest.mark.parametrize("text", ["--5", "5.0", "x", "", "-1", "10", "1" * 5000, "٣", " 5"])
async def test_a_number_that_is_none_is_refused(text: str) -> None:
    """With its range."""
    with pytest.raises(Refused, match="n must be a whole number from 0 to 9") as refused:
        Asked(request(query=f"n={text}"), "n").whole("n", 1, 0, 9)
    assert refused.value.status == 422


@pytest.mark.parametrize("text", ["-1", "nan", "inf", "1e999", "86401", "soon", "1_0", ""])
async def test_seconds_that_are_none_are_refused(text: str) -> None:
    """A wait has an end."""
    with pytest.raises(Refused, match="seconds from 0 to 86400"):
        Asked(request(query=f"s={text}"), "s").seconds("s")


async def test_words_that_are_not_known_are_refused() -> None:
    """With those that are."""
    asked = Asked(request(query="f=yes&c=three"), "f", "c")
    with pytest.raises(Refused, match="true or false"):
        asked.flag("f")
    with pytest.raises(Refused, match="one of one, two"):
        asked.choice("c", ("one", "two"))


async def test_work_is_done_while_the_client_waits() -> None:
    """Its result and its own errors come through as they are."""

    async def good() -> str:
        await anyio.lowlevel.checkpoint()
        return "done"

    async def bad() -> str:
        await anyio.lowlevel.checkpoint()
        raise UsageError("wrong")

    asked = request()
    await asked.body()
    assert await while_connected(asked, good) == "done"
    with pytest.raises(UsageError, match="wrong"):
        await while_connected(asked, bad)


async def test_work_is_cancelled_when_the_client_leaves() -> None:
    """Within the moment."""
    gone, begun = anyio.Event(), anyio.Event()
    ended: list[str] = []

    async def work() -> None:
        begun.set()
        try:
            await anyio.sleep_forever()
        finally:
            ended.append("cancelled")

    async def leave() -> None:
        await begun.wait()
        gone.set()

    asked = request(gone=gone)
    with anyio.fail_after(5):
        async with anyio.create_task_group() as group:
            group.start_soon(leave)
            with pytest.raises(ClientDisconnect):
                await while_connected(asked, work)
    assert ended == ["cancelled"]


async def test_stopping_the_server_cancels_the_work_too() -> None:
    """It is no disconnection of the client."""
    asked = request()
    await asked.body()
    with anyio.move_on_after(0.01) as scope:
        await while_connected(asked, anyio.sleep_forever)
    assert scope.cancelled_caught
