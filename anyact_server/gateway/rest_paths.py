"""Which handler a path means. Pure.

Paths are split before they are decoded, so that an id may hold anything, a slash or the word `call` too.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar
from urllib.parse import quote, unquote

from starlette.types import Scope

H = TypeVar("H")


@dataclass(frozen=True, slots=True)
class Place(Generic[H]):
    """A path as OpenAPI writes it, with at most one parameter, and its handlers by method.

    The parameter takes one segment; more than one where the slashes between them were not encoded.
    """

    path: str
    by: Mapping[str, H]

    def values(self, segments: Sequence[str]) -> dict[str, str] | None:
        """What the parameter stands for in a path; None when the path is another one."""
        wanted = self.path.split("/")[1:]
        at = next((place for place, part in enumerate(wanted) if part.startswith("{")), None)
        if at is None:
            return {} if wanted == list(segments) else None
        after = len(wanted) - at - 1
        end = len(segments) - after
        if end <= at or wanted[:at] != list(segments[:at]) or wanted[at + 1 :] != list(segments[end:]):
            return None
        return {wanted[at].strip("{}"): "/".join(unquote(part) for part in segments[at:end])}


def segments_of(scope: Scope) -> list[str]:
    """The segments of a request's path, not decoded; slashes at the end do not count."""
    raw = scope.get("raw_path")
    path = raw.decode("latin-1") if raw else quote(scope["path"])
    return str(path).rstrip("/").split("/")[1:]


def find(places: Sequence[Place[H]], segments: Sequence[str]) -> tuple[Place[H], dict[str, str]] | None:
    """The first place that a path means, with what its parameter stands for."""
    for place in places:
        values = place.values(segments)
        if values is not None:
            return place, values
    return None
