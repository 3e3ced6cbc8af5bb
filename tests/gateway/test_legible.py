"""Whatever part of a result a client shows its model, the model can read the answer."""

from __future__ import annotations

from typing import Any

import mcp_types as types
import pytest

from anyact_server.gateway.legible import FACTS_META, legible

from .clients import MODES, Mode, in_memory
from .twins import action, world

FACTS = {"status": "ok", "id": "obs_1", "tokens": {"shown": 3}}
PICTURE = {"type": "image", "data": "AA==", "mimeType": "image/png"}
RESULT: dict[str, Any] = {
    "content": [{"type": "text", "text": "the answer"}, PICTURE],
    "structuredContent": FACTS,
    "isError": False,
}


@pytest.mark.parametrize("client", [None, "mcp", "some new client"])
def test_structured_content_of_the_eight_tools_holds_the_text(client: str | None) -> None:
    """A client that shows its model the structured content alone still shows the answer."""
    answer = legible("call_action", RESULT, client)
    assert answer == {**RESULT, "structuredContent": {**FACTS, "text": "the answer"}}


@pytest.mark.parametrize("client", ["claude-code", "Claude-Code", "Visual Studio Code - Insiders"])
def test_a_client_that_drops_content_beside_structured_content_is_sent_the_content_alone(client: str) -> None:
    """Text and pictures reach the model; what a program branches on stands under `_meta`."""
    answer = legible("call_action", {**RESULT, "_meta": {"a": 1}}, client)
    assert "structuredContent" not in answer
    assert answer["content"] == RESULT["content"]
    assert answer["_meta"] == {"a": 1, FACTS_META: FACTS}


def test_the_data_of_an_action_that_is_a_tool_of_its_own_stays_as_its_server_sent_it() -> None:
    """Nothing is added to structured content that is not AnyAct's."""
    assert legible("plain__add", RESULT, None) == RESULT


def test_a_result_without_structured_content_stays_as_it_is() -> None:
    """There is nothing to choose between."""
    plain = {"content": RESULT["content"], "isError": True}
    assert legible("call_action", plain, "claude-code") == plain
    assert legible("call_action", plain, None) == plain


@pytest.mark.anyio
@pytest.mark.parametrize("mode", MODES)
async def test_the_front_answers_each_client_so_that_its_model_can_read_it(mode: Mode) -> None:
    """The name that a client introduces itself with decides, in both eras."""
    plain, known = types.Implementation(name="any", version="1"), types.Implementation(name="claude-code", version="2")
    there = world([action("git", "log")])
    async with in_memory(there, mode, client_info=plain) as client:
        answer = await client.call_tool("search_actions", {"intents": ["log"]})
        assert isinstance(answer.content[0], types.TextContent)
        assert answer.structured_content is not None
        assert answer.structured_content["text"] == answer.content[0].text
    async with in_memory(there, mode, client_info=known) as client:
        answer = await client.call_tool("search_actions", {"intents": ["log"]})
        assert answer.structured_content is None
        assert (answer.meta or {})[FACTS_META]["actions"] == ["git__log"]
