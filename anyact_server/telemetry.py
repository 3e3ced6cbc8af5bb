"""Logs on stderr with secrets masked, and the time: what every part of a process shares."""

from __future__ import annotations

import logging
import re
import sys
import time
from collections.abc import Iterable

ROOT = "anyact"
"""Name of the logger under which every room logs (`anyact.<room>`)."""


_SURE_CHARS = 8
"""A shorter secret may be part of an ordinary word, and is replaced only where no letter or digit stands beside it."""


class Masked(logging.Filter):
    """Replaces secrets in every record by `***` before any handler sees them."""

    def __init__(self) -> None:
        super().__init__()
        self._secrets: tuple[str, ...] = ()

    def protect(self, secrets: Iterable[str]) -> None:
        """Add strings that must never be printed; blank ones and those under 4 characters are ignored."""
        known = {*self._secrets, *(secret for secret in secrets if len(secret.strip()) >= 4)}
        self._secrets = tuple(sorted(known, key=len, reverse=True))

    def mask(self, text: str) -> str:
        """The text with every known secret replaced; one under 8 characters only where it stands alone."""
        for secret in self._secrets:
            if secret not in text:
                continue
            if len(secret) >= _SURE_CHARS:
                text = text.replace(secret, "***")
            else:
                text = re.sub(rf"(?<![^\W_]){re.escape(secret)}(?![^\W_])", "***", text)
        return text

    def filter(self, record: logging.LogRecord) -> bool:
        record.msg = self.mask(record.getMessage())
        record.args = None
        return True


MASK = Masked()
"""The one mask of the process; rooms that learn secrets add to it, whatever prints goes through it."""


def logger(room: str) -> logging.Logger:
    """The logger of a room."""
    return logging.getLogger(f"{ROOT}.{room}")


def start_logging(level: str) -> None:
    """Send logs of `level` and above to stderr, one line each."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(name)s: %(message)s", "%H:%M:%S"))
    handler.addFilter(MASK)
    root = logging.getLogger(ROOT)
    root.handlers[:] = [handler]
    root.setLevel(level.upper())
    root.propagate = False
    logging.getLogger("mcp").setLevel(logging.CRITICAL)


class SystemClock:
    """The time of this machine, as an `interfaces.Clock`."""

    def now(self) -> float:
        """Seconds since the epoch."""
        return time.time()

    def monotonic(self) -> float:
        """Seconds that never go back."""
        return time.monotonic()
