"""One reader for all tests of screens: its models are loaded once."""

from __future__ import annotations

import pytest

from anyact_server.grounding.screen import ScreenReader


@pytest.fixture(scope="session")
def reader() -> ScreenReader:
    """With the models of the extra."""
    reader = ScreenReader("ppocr")
    reader.warm_up()
    return reader
