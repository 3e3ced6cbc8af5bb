"""Heavy libraries come in on first use."""

from __future__ import annotations

import subprocess
import sys

from anyact_server.dispatch.libraries import paths_library, schemas_library


def test_importing_the_room_loads_no_heavy_library() -> None:
    """A process that only imports dispatch has neither jsonschema-rs nor jsonpath-ng in memory."""
    program = (
        "import sys, anyact_server.dispatch; print([n for n in ('jsonschema_rs', 'jsonpath_ng') if n in sys.modules])"
    )
    printed = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, encoding="utf-8", check=True, timeout=30
    )
    assert printed.stdout.strip() == "[]"


def test_loaders_give_the_same_library_every_time() -> None:
    """They load once."""
    assert schemas_library() is schemas_library()
    assert paths_library() is paths_library()
    assert issubclass(paths_library().error, Exception)
