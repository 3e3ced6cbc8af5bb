"""The action space."""

from __future__ import annotations

import pytest

from anyact_server.dispatch import Dispatcher, Permissive
from anyact_server.dispatch.dispatcher import Beliefs
from anyact_server.errors import UnknownAction
from anyact_server.interfaces import ActionSpace, Policy
from anyact_server.types import LOCAL, Estimate, Query, ServerSpec

from .test_resolve import Hiding
from .world import Listener, World, action

pytestmark = pytest.mark.anyio
READ, WRITE = action("read"), action("write")


async def test_it_implements_the_protocol() -> None:
    """Static, and by calling."""
    space: ActionSpace = World(READ).space
    assert (await space.call("read", {"text": "a"}, Listener())).status == "ok"
    assert space.visible(LOCAL) is None


@pytest.mark.case("Z2")
async def test_a_search_sees_only_what_the_caller_may_see() -> None:
    """Narrowed further by the query; every hit has an estimate."""
    world = World(READ, WRITE, action("hide"), policy=Hiding(hidden=["files__hide"]))
    world.reliability.beliefs["files__read"] = Estimate("files__read", 0.4, 0.2, 0.6, calls=5)
    found = await world.space.search(Query(("read",)), LOCAL)
    assert [hit.action.id for hit in found.hits] == ["files__read", "files__write"]
    assert [hit.estimate.success for hit in found.hits if hit.estimate] == [0.4, 0.9]
    narrow = await world.space.search(Query(("x",), visible=frozenset({"files__hide", "files__read"})), LOCAL)
    assert [hit.action.id for hit in narrow.hits] == ["files__read"]
    open_space = World(READ, WRITE).space
    some = await open_space.search(Query(("x",), visible=frozenset({"files__write"})), LOCAL)
    assert [hit.action.id for hit in some.hits] == ["files__write"]


@pytest.mark.case("Z2")
async def test_descriptions_follow_the_same_gate() -> None:
    """Hidden and unknown raise alike; bare names are resolved."""
    world = World(READ, action("hide"), policy=Hiding(hidden=["files__hide"]))
    ((found, estimate),) = world.space.describe(["read"], LOCAL)
    assert (found, estimate.action) == (READ, "files__read")
    for name in ("files__hide", "hide", "files__none"):
        with pytest.raises(UnknownAction, match="no action is called"):
            world.space.describe(["read", name], LOCAL)


async def test_without_a_policy_everything_is_allowed() -> None:
    """The default of an instance without rules."""
    policy: Policy = Permissive()
    assert policy.visible(LOCAL, [READ], 1) is None
    assert policy.refusal(LOCAL, READ) is None
    world = World(READ)
    bare = Dispatcher(
        world.catalog,
        world.downstreams,
        world.searcher,
        world.reliability,
        world.grounder,
        None,
        world.settings,
        world.clock,
    )
    assert (await bare.call("read", {"text": "a"}, Listener())).status == "ok"


def test_beliefs_are_made_when_looked_at_and_once() -> None:
    """A mapping over the whole catalog that costs what is used of it."""
    world = World(READ, WRITE)
    beliefs = Beliefs(world.catalog, world.reliability)
    assert len(beliefs) == 2
    assert list(beliefs) == ["files__read", "files__write"]
    assert beliefs["files__read"] is beliefs["files__read"]
    assert beliefs.get("files__none") is None


def test_runs_learn_server_width_and_expected_time() -> None:
    """A serial server takes one call of a run at a time."""
    world = World(READ, action("x", "one"), specs=[ServerSpec("one", "memory", serial=True)])
    assert world.space.width("files") == 4
    assert world.space.width("one") == 1
    assert world.space.expected_s(world.space.locate("read", LOCAL)) == 1.0
    world.reliability.beliefs["files__read"] = Estimate("files__read", 0.9, 0.5, 1.0, p50_s=0.25)
    assert world.space.expected_s(READ) == 0.25
