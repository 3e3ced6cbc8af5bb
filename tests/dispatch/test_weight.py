"""Which results are understood beside the event loop."""

from __future__ import annotations

import threading
from typing import Any

import pytest

from anyact_server.dispatch.weight import HEAVY_CHARS, HEAVY_VALUES, heavy
from anyact_server.types import Action, JsonObject, Kind, Observation, Verdict

from .world import Grounder, Listener, World, action, said


def test_results_with_many_characters_or_values_are_heavy() -> None:
    """In one text or in many, at any depth."""
    assert not heavy(said("a text"))
    assert not heavy({"content": [], "structuredContent": {"rows": [1, None, True, 2.5] * 100}})
    assert heavy(said("x" * (HEAVY_CHARS + 1)))
    assert heavy({"content": [{"type": "text", "text": "x" * 64}] * (HEAVY_CHARS // 64 + 1)})
    assert heavy({"structuredContent": {"rows": [0] * HEAVY_VALUES}})
    deep: Any = "x" * (HEAVY_CHARS + 1)
    for _ in range(1_500):
        deep = [deep]
    assert heavy(deep)


class Watched(Grounder):
    """A grounder that remembers which thread it worked in."""

    def __init__(self) -> None:
        super().__init__()
        self.threads: list[int] = []

    def judge(self, result: JsonObject, action: Action | None) -> Verdict:
        self.threads.append(threading.get_ident())
        return super().judge(result, action)

    def observe(self, result: JsonObject, verdict: Verdict, **more: Any) -> Observation:
        self.threads.append(threading.get_ident())
        return super().observe(result, verdict, **more)


@pytest.mark.anyio
@pytest.mark.case("I1")
@pytest.mark.parametrize(("size", "beside"), [(10, False), (HEAVY_CHARS + 1, True)], ids=["small", "large"])
async def test_a_large_result_is_understood_beside_the_event_loop(size: int, beside: bool) -> None:
    """So that no other call waits while it is; a small one costs no thread."""
    world = World(action("read"), grounder=(grounder := Watched()))
    world.downstreams.answer("read", said("x" * size))
    observation = await world.space.call("files__read", {"text": "a"}, Listener())
    assert observation.error is None and observation.status == "ok"
    assert [thread != threading.get_ident() for thread in grounder.threads] == [beside, beside]
    assert [outcome.kind for outcome in world.reliability.outcomes] == [Kind.OK]
