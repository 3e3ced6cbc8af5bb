"""What changes while AnyAct runs, and questions of servers to clients, over the whole product."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

import anyio
import mcp_types as types
import pytest

from .limits import PATIENCE_S, lasting, within
from .product import Answer, Product, calls, configure, listed, plain, product, raw, relist, tool

pytestmark = pytest.mark.anyio
Mode = Literal["legacy", "auto"]


# --- C4: the configuration


async def pid_of(running: Product, server: str) -> int:
    """The process of a raw server."""
    async with running.rest() as rest:
        return int((await rest.call(f"{server}__seen", {})).value["pid"])


@pytest.mark.case("C4")
async def test_a_changed_configuration_touches_only_what_changed(tmp_path: Path) -> None:
    """While a call runs on A: D comes, B restarts, C goes. A broken file keeps all; two saves at once are one."""
    servers = {name: raw(env={"MARK": "1"}) for name in "abc"}
    settings = {"encoder": "off"}
    async with product(tmp_path, servers) as running, running.rest() as rest, anyio.create_task_group() as group:
        pids = {name: await pid_of(running, name) for name in servers}
        held: list[Answer] = []

        async def hold() -> None:
            async with running.mcp() as mcp:
                held.append(await mcp.call("a__hold", {"count": 2, "label": "held"}))

        group.start_soon(hold)
        changed = {"a": servers["a"], "b": raw(env={"MARK": "2"}), "d": raw()}
        configure(tmp_path, changed, settings)
        await running.known("d")
        assert (await rest.call("d__echo", {})).status == 200
        assert await pid_of(running, "b") != pids["b"]
        gone = await rest.call("c__echo", {})
        assert gone.status == 404 and gone.kind == "unknown_action"
        (tmp_path / "config.json").write_text('{"mcpServers": {"a": ', encoding="utf-8")
        assert (await rest.call("d__echo", {})).status == 200
        for _ in range(2):
            configure(tmp_path, {**changed, "e": raw()}, settings)
        await running.known("e")
        assert await pid_of(running, "a") == pids["a"] and not held
        assert (await rest.call("a__hold", {"count": 2, "label": "last"})).status == 200
        with anyio.fail_after(PATIENCE_S):
            while not held:
                await anyio.lowlevel.checkpoint()
        assert not held[0].is_error and "held" in held[0].text
        assert running.parts.downstreams.status("a").restarts == 0


# --- G2: the list of a server


BEFORE = [tool("announce"), tool("stays"), tool("goes"), tool("grows", schema={"type": "object", "properties": {}})]
GROWN = {"type": "object", "properties": {"size": {"type": "integer"}}, "required": ["size"]}
AFTER = [tool("announce"), tool("stays"), tool("comes", "brand new thing"), tool("grows", schema=GROWN)]


@pytest.mark.case("G2")
@pytest.mark.parametrize("mode", ["legacy", "auto"])
async def test_an_announced_change_is_seen_at_once_everywhere_and_told_once(mode: Mode, tmp_path: Path) -> None:
    """Within two seconds search and details agree with the server; what is gone says so."""
    file = tmp_path / "s"
    notices: list[str] = []
    heard = anyio.Event()

    async def hear(message: Any) -> None:
        if "tool" in type(message).__name__.lower() or "tools/list_changed" in str(message):
            notices.append(str(message))
            heard.set()

    more: dict[str, Any] = {"message_handler": hear} if mode == "legacy" else {}
    async with (
        product(tmp_path, {"s": listed(file, BEFORE, pin=True)}) as running,
        running.rest() as rest,
        running.mcp(mode, **more) as mcp,
    ):
        assert not (await mcp.call("s__goes", {})).is_error
        await mcp.client.list_tools()
        relist(file, AFTER)
        await mcp.call("s__announce", {})
        with anyio.fail_after(within(2)):
            while not (await rest.get("/v1/search", q="brand new thing"))["hits"]:
                pass
            await running.until(lambda: running.parts.catalog.get("s__goes") is None, "gone", within(2))
        assert (await rest.get("/v1/actions/s__grows"))["input_schema"]["required"] == ["size"]
        assert (await mcp.call("s__grows", {})).kind == "invalid_args"
        gone = await mcp.call("s__goes", {})
        assert gone.is_error and "no longer" in gone.text
        assert len([one for one in calls(file) if one[0] == "goes"]) == 1
        names = {one.name for one in (await mcp.client.list_tools()).tools}
        assert "s__comes" in names and "s__goes" not in names
        if mode == "legacy":
            with anyio.fail_after(PATIENCE_S):
                await heard.wait()
            assert len(notices) == 1


@pytest.mark.case("G2")
async def test_a_change_without_a_word_is_caught_by_a_later_refresh(tmp_path: Path) -> None:
    """The time between two readings is a setting."""
    file = tmp_path / "s"
    async with (
        product(tmp_path, {"s": listed(file, BEFORE)}, refresh_s=lasting(20)) as running,
        running.rest() as rest,
    ):
        assert (await rest.call("s__goes", {})).status == 200
        relist(file, AFTER)
        await running.until(lambda: running.parts.catalog.get("s__comes") is not None, "read again")
        assert (await rest.call("s__goes", {})).status == 404


# --- Q1: questions


async def answer_form(context: Any, params: Any) -> types.ElicitResult:
    """A client that gives a name."""
    return types.ElicitResult(action="accept", content={"name": "Ada"})


async def answer_model(context: Any, params: Any) -> types.CreateMessageResult:
    """A client whose model says hello."""
    return types.CreateMessageResult(
        role="assistant", model="m", content=types.TextContent(type="text", text="from the model")
    )


async def answer_roots(context: Any) -> types.ListRootsResult:
    """A client with one root."""
    return types.ListRootsResult(roots=[types.Root(uri="file:///home/ada")])


ABLE: dict[str, Any] = {
    "elicitation_callback": answer_form,
    "sampling_callback": answer_model,
    "list_roots_callback": answer_roots,
}
QUESTIONS = (("ask", "Ada"), ("sample", "from the model"), ("roots", "file:///home/ada"))


@pytest.mark.case("Q1")
@pytest.mark.parametrize("mode", ["legacy", "auto"])
@pytest.mark.parametrize("era", ["legacy", "modern"])
@pytest.mark.filterwarnings("ignore::mcp.shared.exceptions.MCPDeprecationWarning")
async def test_questions_reach_the_client_whose_call_it_is_across_eras(mode: Mode, era: str, tmp_path: Path) -> None:
    """Elicitation, sampling and roots, while another client that could answer hears nothing."""
    async with (
        product(tmp_path, {"p": plain("--era", era)}, call_s=lasting(200)) as running,
        running.mcp(mode, **ABLE) as mcp,
        running.mcp(mode) as unable,
        running.rest() as rest,
    ):
        for name, wanted in QUESTIONS:
            answer = await mcp.call(f"p__{name}", {})
            assert not answer.is_error and wanted in answer.text, (name, answer.text)
        for name, _ in QUESTIONS:
            with anyio.fail_after(within(3)):
                for answer in (await unable.call(f"p__{name}", {}), await rest.call(f"p__{name}", {})):
                    # A server of the newer era is told that the question was cancelled, and may make do without.
                    assert answer.is_error or "cancel" in answer.text, (name, answer.text)
                    assert answer.status != 500, name


@pytest.mark.case("Q1")
@pytest.mark.parametrize("mode", ["legacy", "auto"])
@pytest.mark.filterwarnings("ignore::mcp.shared.exceptions.MCPDeprecationWarning")
async def test_a_client_that_never_answers_hangs_no_call(mode: Mode, tmp_path: Path) -> None:
    """The question ends at its limit; where the newer era lets the client itself wait, nothing else does."""

    async def never(context: Any, params: Any) -> types.ElicitResult:
        await anyio.sleep_forever()
        raise AssertionError

    limits: dict[str, Any] = {"question_s": lasting(20), "call_s": lasting(40)}
    async with (
        product(tmp_path, {"p": plain()}, **limits) as running,
        running.mcp(mode, elicitation_callback=never) as mcp,
    ):
        with anyio.move_on_after(within(lasting(60) + 1) if mode == "legacy" else lasting(60)) as scope:
            answer = await mcp.call("p__ask", {})
            assert answer.is_error or "cancel" in answer.text
        assert mode == "auto" or not scope.cancelled_caught
        assert not (await mcp.call("p__echo", {"text": "x"})).is_error
