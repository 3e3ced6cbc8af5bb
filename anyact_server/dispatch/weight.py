"""How much work a result makes: whether it is understood beside the event loop. Pure."""

from __future__ import annotations

from collections.abc import Mapping

from anyact_server.types import Json

HEAVY_CHARS = 32 * 1024
"""Characters of texts (pictures too, as base64) from which on a thread costs less than the others' waiting."""
HEAVY_VALUES = 2_000
"""The same for single values."""


def heavy(result: Json) -> bool:
    """Whether a result holds many characters or values; looks no further than it must, whatever its size and depth."""
    chars, values, waiting = 0, 0, [result]
    while waiting:
        value = waiting.pop()
        values += 1
        if isinstance(value, str):
            chars += len(value)
        elif isinstance(value, Mapping):
            waiting += list(value.values())
        elif isinstance(value, list | tuple):
            waiting += value
        if chars > HEAVY_CHARS or values + len(waiting) > HEAVY_VALUES:
            return True
    return False
