"""What the front is made of."""

from __future__ import annotations

import pytest

from anyact_server.gateway import ready

from .twins import world

pytestmark = pytest.mark.anyio


async def test_parts_that_stand_are_given_at_once_and_always_the_same() -> None:
    """Everybody who waits gets the same parts."""
    parts = world().parts
    give = ready(parts)
    assert await give() is parts
    assert await give() is parts
