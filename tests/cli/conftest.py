"""The command line on a home of its own, and one fixture server for all of these tests."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from anyact_server.telemetry import ROOT as ROOT_LOGGER

from .kit import Shell, http_server


@pytest.fixture(scope="session")
def address() -> Iterator[str]:
    """The URL of a running fixture server."""
    with http_server() as url:
        yield url


@pytest.fixture
def shell(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Shell]:
    """The command line, in a user's folder where nothing is configured."""
    for name in [name for name in os.environ if name.startswith(("ANYACT_", "XDG_"))]:
        monkeypatch.delenv(name)
    user = tmp_path / "user"
    user.mkdir()
    monkeypatch.setenv("HOME", str(user))
    monkeypatch.setenv("ANYACT_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("ANYACT_ENCODER", "off")
    root = logging.getLogger(ROOT_LOGGER)
    before = (list(root.handlers), root.level, root.propagate)
    yield Shell(tmp_path / "home", user)
    root.handlers[:], root.level, root.propagate = before
