"""Fixtures that every room's tests share."""

from __future__ import annotations

import pytest
from hypothesis import settings

settings.register_profile("shared", deadline=None)  # the machines that run tests are often busy
settings.load_profile("shared")


@pytest.fixture
def anyio_backend() -> str:
    """The event loop that the product runs on."""
    return "asyncio"
