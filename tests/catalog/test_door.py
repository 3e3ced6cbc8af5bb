"""The room's door."""

from __future__ import annotations

import subprocess
import sys

import pytest

from anyact_server import catalog


def test_every_name_of_the_door_is_there() -> None:
    """Also those that are loaded on first use."""
    for name in catalog.__all__:
        assert getattr(catalog, name) is not None
    with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
        getattr(catalog, "nothing")  # noqa: B009  # the type checker knows that it is not there


def test_serving_does_not_load_what_only_changes_configurations() -> None:
    """Clients wait for the first answer, so the door stays light."""
    code = (
        "import sys, anyact_server.catalog;"
        " print([m for m in sys.modules if m.startswith('anyact_server.catalog.')"
        " and m.rsplit('.', 1)[1] in {'additions', 'clients', 'connect', 'mcpb', 'runners'}])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, encoding="utf-8")
    assert done.stdout == "[]\n"
