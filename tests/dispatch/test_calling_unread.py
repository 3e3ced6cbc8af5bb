"""Ids of servers that were never read: the server is read first, unless rules hide what there is."""

from __future__ import annotations

from typing import Any

import pytest

from anyact_server.errors import AnyActError, DownstreamError
from anyact_server.types import CatalogChange, Kind, ServerSpec, Snapshot

from .test_calling import READ, call
from .test_resolve import Hiding
from .world import World, action

pytestmark = pytest.mark.anyio


class Unread(World):
    """A world in which nothing of the server `late` is known until it is read."""

    def __init__(self, failure: AnyActError | None = None, **more: Any) -> None:
        super().__init__(READ, specs=[ServerSpec("late", "memory")], **more)
        self.read: list[str] = []
        catalog, downstreams = self.catalog, self.downstreams

        async def take(server: str) -> Snapshot:
            self.read.append(server)
            if failure is not None:
                raise failure
            return Snapshot(server)

        def record(snapshot: Snapshot) -> CatalogChange:
            found = action("go", snapshot.server)
            catalog._actions[found.id] = found
            return CatalogChange(snapshot.server, added=(found.id,))

        downstreams.take_snapshot = take  # type: ignore[method-assign]  # this world's server tells what it offers
        catalog.record_snapshot = record  # type: ignore[method-assign]  # and this world's catalog learns it


async def test_an_id_of_a_server_that_was_never_read_is_read_first() -> None:
    """A saved id works right after a new start; a second call does not read again."""
    world = Unread()
    assert (await call(world, "late__go")).status == "ok"
    assert (await call(world, "late__go")).status == "ok"
    assert world.read == ["late"]


async def test_a_server_that_cannot_be_read_says_so_for_its_ids() -> None:
    """Not "unknown action": the cause is the server."""
    world = Unread(DownstreamError("server 'late' does not start", server="late", kind=Kind.UNAVAILABLE))
    found = await call(world, "late__go")
    assert found.error is not None
    assert found.error.kind is Kind.UNAVAILABLE
    assert "does not start" in found.text


@pytest.mark.case("Z2")
async def test_under_rules_an_unknown_id_reads_nothing() -> None:
    """Whoever may not see everything learns nothing of servers by guessing ids."""
    world = Unread(policy=Hiding(["late__go"]))
    found = await call(world, "late__go")
    assert found.error is not None
    assert found.error.kind is Kind.UNKNOWN_ACTION
    assert world.read == []
