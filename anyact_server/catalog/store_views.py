"""Actions and snapshots whose bulky parts stay in the store until somebody looks at them.

Tens of thousands of schemas as Python objects take hundreds of megabytes and seconds to make, and hardly any is ever
looked at: searches use names and texts. These values look and behave like the plain ones.
"""

from __future__ import annotations

from typing import Any, Protocol

from anyact_server.types import (
    Action,
    ActionState,
    JsonObject,
    Override,
    ServerSpec,
    Snapshot,
)

from .snapshots import About, Entry, Item, matches

NO_OVERRIDE = Override()
_set = object.__setattr__


class Source(Protocol):
    """Where the bulky parts are."""

    def item(self, server: str, name: str) -> Item:
        """The bulky part of an action. Raises StorageError when it is damaged."""

    def whole(self, server: str) -> Snapshot:
        """A whole snapshot. Raises StorageError when it is damaged."""


class StoredAction(Action):
    """An action that reads its schemas from the store."""

    __slots__ = ("_source",)

    _source: Source

    def __new__(cls, *args: Any, **kwargs: Any) -> Action:  # type: ignore[misc]  # a changed copy is a plain action
        """`dataclasses.replace` on a stored action makes a plain one, with everything in it."""
        return Action(*args, **kwargs)

    @property
    def input_schema(self) -> JsonObject:
        return self._source.item(self.server, self.name).input_schema

    @property
    def shown_schema(self) -> JsonObject:
        return self._source.item(self.server, self.name).shown

    @property
    def output_schema(self) -> JsonObject | None:
        return self._source.item(self.server, self.name).output_schema

    @property
    def extra(self) -> JsonObject:
        return self._source.item(self.server, self.name).extra


class StoredSnapshot(Snapshot):
    """A snapshot that reads its lists from the store."""

    __slots__ = ("_source",)

    _source: Source

    def __new__(cls, *args: Any, **kwargs: Any) -> Snapshot:  # type: ignore[misc]  # as above
        """`dataclasses.replace` on a stored snapshot makes a plain one, with everything in it."""
        return Snapshot(*args, **kwargs)


def _whole(field: str) -> property:
    return property(lambda self: getattr(self._source.whole(self.server), field))


for _field in (
    "tools",
    "prompts",
    "resources",
    "templates",
    "info",
    "instructions",
    "capabilities",
    "protocol_version",
    "partial",
):
    setattr(StoredSnapshot, _field, _whole(_field))


def stored_snapshot(server: str, taken_at: float, source: Source) -> Snapshot:
    """The last known snapshot of a server."""
    view = object.__new__(StoredSnapshot)
    _set(view, "server", server)
    _set(view, "taken_at", taken_at)
    _set(view, "_source", source)
    return view


def stored_action(
    entry: Entry, spec: ServerSpec, said: About, state: ActionState, override: Override, source: Source
) -> Action:
    """An action of what the server says and what the user changed about it."""
    view = object.__new__(StoredAction)
    _set(view, "id", entry.id)
    _set(view, "server", spec.name)
    _set(view, "name", entry.name)
    _set(view, "description", override.description or entry.description)
    _set(view, "title", override.name or entry.title)
    _set(view, "hints", entry.hints)
    _set(view, "kind", "tool")
    _set(view, "server_title", spec.title or said.title)
    _set(view, "server_description", spec.description or said.description)
    _set(view, "tags", spec.tags)
    _set(view, "pinned", bool(spec.pin) and matches(spec.pin, entry))
    _set(view, "call_s", override.call_s)
    _set(view, "digest", entry.digest)
    _set(view, "state", state)
    _set(view, "fault", entry.fault)
    _set(view, "_source", source)
    return view
