"""What `tools/list` gives: the eight tools, actions as tools, or both, page by page.

Lists are built once per version of the catalog and set of visible ids, and served from there.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import orjson

from anyact_server.errors import UsageError
from anyact_server.settings import Settings
from anyact_server.types import Action, Principal

from . import tools
from .parts import Parts
from .render import BYTES_PER_TOKEN
from .sight import Sight, may_know

PAGE_BYTES = 700_000
"""Bytes of one page of a list: clients cap a server-sent event at 1 MiB, and many read the first page only."""
KEPT = 32
"""Lists kept at the same time; each set of visible ids has its own."""


def is_direct(settings: Settings, actions: Sequence[Action]) -> bool:
    """Whether actions are shown as tools of their own.

    Under `auto` they are while their definitions stay under `auto_tokens`, estimated by bytes.
    """
    if settings.exposure != "auto":
        return settings.exposure == "direct"
    room = settings.auto_tokens * BYTES_PER_TOKEN
    for action in actions:
        room -= len(orjson.dumps(tools.shown_as_tool(action)))
        if room < 0:
            return False
    return True


def listed_tools(settings: Settings, actions: Sequence[Action], summary: str) -> list[dict[str, Any]]:
    """The whole list for one exposure: the same bytes for the same catalog.

    Directly shown actions come with `read_observation`, for their answers may hold handles. Actions that cannot be
    called are left out.
    """
    eight = tools.definitions(summary)
    sound = [action for action in actions if action.fault is None]
    if is_direct(settings, sound):
        reader = [tool for tool in eight if tool["name"] == tools.READ]
        return [tools.shown_as_tool(action) for action in sound] + reader
    return [*eight, *(tools.shown_as_tool(action) for action in sound if action.pinned)]


def pages(items: Iterable[dict[str, Any]], most: int = PAGE_BYTES) -> list[list[dict[str, Any]]]:
    """Items in pages of at most `most` bytes; an item that is larger has a page of its own."""
    found: list[list[dict[str, Any]]] = [[]]
    room = most
    for item in items:
        room -= len(orjson.dumps(item)) + 1
        if room < 0 and found[-1]:
            found.append([])
            room = most - len(orjson.dumps(item))
        found[-1].append(item)
    return found


def page(found: Sequence[list[dict[str, Any]]], cursor: object) -> tuple[list[dict[str, Any]], str | None]:
    """One page and the cursor of the next.

    Raises:
        UsageError: the cursor is none that was given out.
    """
    if cursor is None or cursor == "":
        place = 0
    elif isinstance(cursor, str) and cursor.isascii() and cursor.isdigit() and len(cursor) < 8:
        place = int(cursor)
    else:
        raise UsageError("Unknown cursor.", hint="Begin again without a cursor.")
    if place >= len(found):
        if place == 0:
            return [], None
        raise UsageError("The cursor is past the end: the list became shorter.", hint="Begin again without a cursor.")
    return found[place], str(place + 1) if place + 1 < len(found) else None


class Lists:
    """The pages of `tools/list`, by version of the catalog and visible ids."""

    def __init__(self) -> None:
        self._version = -1
        self._sight = Sight()
        self._pages: dict[frozenset[str] | None, list[list[dict[str, Any]]]] = {}

    def tools(self, parts: Parts, principal: Principal) -> list[list[dict[str, Any]]]:
        """The pages that this principal sees."""
        if parts.catalog.version != self._version:
            self._version = parts.catalog.version
            self._pages.clear()
        visible = parts.space.visible(principal)
        found = self._pages.get(visible)
        if found is None:
            found = self._build(parts, visible, principal)
            if len(self._pages) >= KEPT:
                self._pages.pop(next(iter(self._pages)))
            self._pages[visible] = found
        return found

    def _build(self, parts: Parts, visible: frozenset[str] | None, principal: Principal) -> list[list[dict[str, Any]]]:
        actions = parts.catalog.actions()
        if visible is not None:
            actions = [action for action in actions if action.id in visible]
        unread = [name for name in self._sight.unread(parts) if may_know(parts, name, principal)]
        summary = tools.summarize(actions, parts.catalog.specs(), unread=unread)
        return pages(listed_tools(parts.settings, actions, summary))
