"""Short waits of a call: for a server on trial, and for one that is about to be started again."""

from __future__ import annotations

import anyio
import pytest

from anyact_server.interfaces import Caller
from anyact_server.types import Admission, JsonObject, Kind

from .test_calling import READ, call, down, kinds
from .world import World, said

pytestmark = pytest.mark.anyio


async def test_a_call_waits_shortly_for_a_server_on_trial() -> None:
    """And goes through when the trial went well."""
    world = World(READ)
    world.reliability.admissions = [Admission(False, retry_after_s=0.001)] * 3
    with anyio.fail_after(5):
        found = await call(world)
    assert found.status == "ok"


async def test_waiting_for_a_trial_ends() -> None:
    """A server that stays barred costs a bounded wait, and says nothing it does not know."""
    world = World(READ)
    world.reliability.admissions = [Admission(False, retry_after_s=0.01), Admission(False)]
    with anyio.fail_after(5):
        found = await call(world)
    assert "'files' is not available now" in found.text


async def test_a_call_that_surely_was_not_sent_is_sent_again_after_a_short_pause() -> None:
    """While the connection says so, within the patience and the call's own limit; then the failure is told."""
    world = World(READ)
    answers = iter([down(Kind.UNAVAILABLE, may_have_run=False, retry_after_s=0.01)] * 2)

    async def recover(_: JsonObject, __: Caller) -> JsonObject:
        for error in answers:
            raise error
        return said("well again")

    world.downstreams.answers["read"] = recover
    with anyio.fail_after(5):
        assert (await call(world)).text == "well again"
        assert kinds(world) == [Kind.OK]
        for error, timeout_s in (
            (down(Kind.UNAVAILABLE, may_have_run=True, retry_after_s=0.01), None),
            (down(Kind.UNAVAILABLE, may_have_run=False), None),
            (down(Kind.UNAVAILABLE, may_have_run=False, retry_after_s=60.0), None),
            (down(Kind.UNAVAILABLE, may_have_run=False, retry_after_s=0.5), 0.4),
            (down(Kind.UNAVAILABLE, may_have_run=False, retry_after_s=0.01), 0.1),
        ):
            world.downstreams.answer("read", error)
            assert (await call(world, timeout_s=timeout_s)).is_error
    assert [outcome.sent for outcome in world.reliability.outcomes] == [True, True, False, False, False, False]
