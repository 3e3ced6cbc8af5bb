"""Dispatch over the real rooms and real servers."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import anyio
import pytest

from anyact_server.access import Rules
from anyact_server.types import Call, Kind, Limits, Observation, Query, Task

from .whole import Whole, inside, spec, standing
from .world import Listener

pytestmark = pytest.mark.anyio
ANN = Listener(abilities={"elicitation": {}})


async def call(whole: Whole, name: str, arguments: Any = None, **more: Any) -> Observation:
    """One call by Ann."""
    return await whole.space.call(name, arguments, ANN, **more)


def kind(observation: Observation) -> Kind | None:
    """The kind of its error."""
    return observation.error.kind if observation.error else None


@pytest.mark.case("S4")
@pytest.mark.case("O1")
@pytest.mark.case("T1")
async def test_calls_of_every_kind_end_as_observations(tmp_path: Path) -> None:
    """Success, odd arguments, a reported failure, a JSON-RPC error, a question, a time-out, an unknown name."""
    async with standing(tmp_path, inside("plain", Limits(call_s=20.0))) as whole:
        assert (await call(whole, "plain__echo", '{"text": "hi"}')).text == "hi"
        added = await call(whole, "add", {"arguments": {"a": 1, "b": 2}})
        assert added.data == {"sum": 3}
        wrong = await call(whole, "plain__add", {"a": "x"})
        assert kind(wrong) is Kind.INVALID_ARGS
        assert '`b` is missing (number); `a`: given "x" (string), wanted number' in wrong.text
        failed = await call(whole, "plain__fail", {"text": "no such file: a.txt"})
        raised = await call(whole, "plain__error")
        assert failed.is_error
        assert raised.is_error
        assert failed.error is not None
        assert raised.error is not None
        assert (failed.error.detected_by, raised.error.detected_by) == ("isError", "jsonrpc")
        assert (await call(whole, "plain__ask")).text.startswith("accept")
        late = await call(whole, "plain__slow", {"seconds": 30}, timeout_s=0.3)
        assert kind(late) is Kind.TIMEOUT
        assert "0.3 s" in late.text
        unknown = await call(whole, "plain__ecco")
        assert kind(unknown) is Kind.UNKNOWN_ACTION
        assert unknown.error is not None
        assert unknown.error.alternatives[0] == "plain__echo"
        assert whole.ledger.estimate("plain__echo", "plain").calls == 1
        assert whole.ledger.estimate("plain__slow", "plain").success > 0.8


@pytest.mark.case("L1")
@pytest.mark.case("I2")
async def test_a_server_that_dies_takes_nothing_else_with_it(tmp_path: Path) -> None:
    """In one run of eight: the crash is one entry; the next call finds the server restarted."""
    async with standing(tmp_path, spec("mortal"), inside("steady")) as whole:
        calls: list[tuple[str, Any, float | None]] = [
            ("steady__echo", {"text": "1"}, None),
            ("steady__fail", {}, None),
            ("steady__echo", {"text": "3"}, None),
            ("steady__slow", {"seconds": 60}, 0.3),
            ("steady__echo", {"text": "5"}, None),
            ("steady__nothing", {}, None),
            ("steady__echo", {"text": "7"}, None),
            ("mortal__die", {}, None),
        ]
        tasks = [
            Task(str(number), Call(name, arguments, timeout_s))
            for number, (name, arguments, timeout_s) in enumerate(calls)
        ]
        report = await whole.runs.start(tasks, ANN)
        assert [task.id for task in report.tasks] == list("01234567")
        assert [task.state for task in report.tasks] == ["done", "failed"] * 4
        ends = [kind(task.observation) for task in report.tasks if task.observation]
        assert ends[3] is Kind.TIMEOUT
        assert ends[5] is Kind.UNKNOWN_ACTION
        assert ends[7] is Kind.CRASHED
        died = report.tasks[7]
        assert died.observation is not None
        assert "mortal" in died.observation.text
        assert died.observation.error is not None
        assert "Outcome unknown" in (died.observation.error.hint or "")
        assert (await call(whole, "mortal__echo", {"text": "alive"})).text == "alive"
        assert whole.ledger.breaker("mortal").phase == "closed"
        assert whole.ledger.breaker("steady").level == -1


@pytest.mark.case("Y1")
async def test_a_side_effect_happens_once(tmp_path: Path) -> None:
    """The server dies after acting and before answering: one line, and the observation says to check."""
    program = tmp_path / "server.py"
    program.write_text(
        "import os, sys\n"
        "from tests.servers import plain\n"
        "async def append(state, ctx, args, params):\n"
        "    with open(args['path'], 'a', encoding='utf-8') as file:\n"
        "        file.write('line\\n')\n"
        "    os._exit(1)\n"
        "name = 'append'\n"
        "plain.TOOLS[name] = type(plain.TOOLS[name])(plain.TOOLS[name].tool, append)\n"
        "sys.argv = ['plain', '--stdio']\n"
        "plain.main()\n",
        encoding="utf-8",
    )
    target = tmp_path / "lines.txt"
    async with standing(tmp_path / "home", spec("plain", "-c", f"exec(open({str(program)!r}).read())")) as whole:
        found = await call(whole, "plain__append", {"path": str(target)})
        assert kind(found) is Kind.CRASHED
        assert "Outcome unknown" in found.text
        assert await anyio.Path(target).read_text(encoding="utf-8") == "line\n"


@pytest.mark.case("Z2")
async def test_rules_hold_on_every_way_in(tmp_path: Path) -> None:
    """Call, run, search, describe, suggestions: what is hidden is not there; unknown hints are not read-only."""
    policy = Rules(allow=("server:plain & read-only", "plain__append"), deny=("plain__big",))
    async with standing(tmp_path, inside("plain"), policy=policy) as whole:
        hits = (await whole.space.search(Query(("anything",), limit=50), ANN.principal)).hits
        shown = {hit.action.id for hit in hits}
        assert shown == {"plain__echo", "plain__add", "plain__get", "plain__about", "plain__append"}
        hidden, unknown = await call(whole, "plain__big"), await call(whole, "plain__bog")
        assert kind(hidden) is kind(unknown) is Kind.UNKNOWN_ACTION
        assert hidden.text.replace("big", "bog") == unknown.text
        assert "plain__big" not in (await call(whole, "plain__bigg")).text.replace("plain__bigg", "")
        report = await whole.runs.start(
            [Task("a", Call("plain__big")), Task("b", Call("plain__echo", {"text": "x"}))], ANN
        )
        assert [task.state for task in report.tasks] == ["failed", "done"]
        reading = await call(whole, "plain__append", {"path": "/nowhere"}, read_only=True)
        assert kind(reading) is Kind.REFUSED_BY_POLICY


@pytest.mark.case("L1")
async def test_a_server_that_cannot_start_is_named_once_and_then_left_alone(tmp_path: Path) -> None:
    """Its words are in the failure; the calls after it are refused at once, not started one by one."""
    flag = tmp_path / "broken"
    program = (
        f"import os, sys\nif os.path.exists({str(flag)!r}):\n    sys.exit('the key is missing')\n"
        "from tests.servers import plain\nsys.argv = ['plain', '--stdio']\nplain.main()\n"
    )
    async with standing(tmp_path / "home", spec("plain", "-c", program)) as whole:
        await whole.pool.stop("plain")
        flag.touch()
        first = await call(whole, "plain__echo", {"text": "x"})
        assert first.is_error
        assert "the key is missing" in first.text
        report = await whole.runs.start([Task(str(n), Call("plain__echo", {"text": "x"})) for n in range(6)], ANN)
        assert {task.state for task in report.tasks} == {"failed"}
        assert whole.pool.status("plain").restarts <= 4
        assert whole.ledger.breaker("plain").phase != "closed"
        estimate = whole.ledger.estimate("plain__echo", "plain")
        assert estimate.words.startswith("server 'plain' failed")
        assert not estimate.pruned
        flag.unlink()
        whole.ledger.revive("plain")
        await whole.pool.restart("plain")
        assert (await call(whole, "plain__echo", {"text": "well"})).text == "well"
        assert whole.ledger.estimate("plain__echo", "plain").success > 0.85


def test_the_fixture_runs_this_interpreter() -> None:
    """So that these tests need nothing else installed."""
    assert spec("plain").command == sys.executable
