"""Fixtures that every room's tests share."""

from __future__ import annotations

import pytest


@pytest.fixture
def anyio_backend() -> str:
    """The event loop that the product runs on."""
    return "asyncio"
