"""What was offered when the process last knew, for clients that are greeted before the catalog is read.

A capability is declared once, in the greeting, and the greeting does not wait.
"""

from __future__ import annotations

import json
import os
from pathlib import Path

from anyact_server.telemetry import logger

from .sight import OFFERS

LOG = logger("gateway")


class Remembered:
    """Keeps in a small file which of prompts, resources and completions were offered.

    A file that is missing or unreadable says that anything may be.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._written: frozenset[str] | None = None

    def read(self) -> frozenset[str]:
        """What was offered last."""
        try:
            found = json.loads(self._path.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return OFFERS
        return OFFERS & {name for name in found if isinstance(name, str)} if isinstance(found, list) else OFFERS

    def write(self, offers: frozenset[str]) -> None:
        """Remember what is offered now; a folder that cannot be written costs nothing but the memory."""
        if offers == self._written:
            return
        self._written = offers
        fresh = self._path.with_name(f"{self._path.name}.{os.getpid()}")
        try:
            fresh.write_text(json.dumps(sorted(offers)), encoding="utf-8")
            fresh.replace(self._path)
        except OSError as error:
            LOG.info("what is offered could not be remembered: %s", error)
