"""All actions known: what was stored, what the configuration makes of it, and what changes."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from anyact_server.errors import UnknownAction, UnknownServer
from anyact_server.telemetry import logger
from anyact_server.types import EMPTY, Action, ActionState, CatalogChange, ServerSpec, Snapshot

from .naming import Known, closest, prepared
from .snapshots import Entry, Reading, changed_lists, completed, difference, matches, reach_of, read_tools, storable
from .store import Store, Stored
from .store_approvals import Approval
from .store_views import NO_OVERRIDE, stored_action, stored_snapshot

LOG = logger("catalog")
SHOWN = 100
"""Characters of an unknown name that a message repeats."""
MOST_LISTED = 10
"""Ids that a message about an ambiguous name lists."""


@dataclass(frozen=True, slots=True)
class _Shelf:
    """Everything the catalog holds of one server, made anew whenever anything about it changes."""

    spec: ServerSpec
    stored: Stored | None = None
    stale: bool = False
    actions: Mapping[str, Action] = EMPTY
    off: Mapping[str, str] = EMPTY
    """Names by id of actions that are switched off."""


class Catalog:
    """All actions known. Implements `interfaces.Catalog`; safe to use from several threads.

    Args:
        store: what remembers snapshots and approvals.
        specs: the configured servers.

    Raises:
        StorageError: what is stored is damaged.
    """

    def __init__(self, store: Store, specs: Iterable[ServerSpec] = ()) -> None:
        self._store = store
        self._lock = threading.RLock()
        self._approvals = dict(store.approvals.all())
        self._shelves: dict[str, _Shelf] = {}
        self._table: dict[str, Action] = {}
        self._removed: dict[str, str] = {}
        self._listeners: list[Callable[[CatalogChange], None]] = []
        self._version = 1
        self._listed: tuple[Action, ...] | None = None
        self._near: tuple[int, list[Known]] = (0, [])
        wanted = list(specs)
        known = store.servers(spec.name for spec in wanted)
        for spec in wanted:
            self._place(self._shelf(spec, known.get(spec.name)))

    # --- reading

    @property
    def version(self) -> int:
        """Grows with every change."""
        return self._version

    def get(self, action_id: str) -> Action | None:
        """The action with exactly this id; None when there is none, or it vanished or is switched off."""
        return self._table.get(action_id)

    def actions(self) -> Sequence[Action]:
        """Every callable action, server by server."""
        listed = self._listed
        if listed is None:
            with self._lock:
                listed = self._listed = tuple(
                    action for shelf in self._shelves.values() for action in shelf.actions.values()
                )
        return listed

    def of_server(self, server: str) -> Sequence[Action]:
        """The actions of one server, in its own order; none when it is not configured."""
        shelf = self._shelves.get(server)
        return tuple(shelf.actions.values()) if shelf is not None else ()

    def specs(self) -> Sequence[ServerSpec]:
        """Every configured server, disabled ones too."""
        return tuple(shelf.spec for shelf in self._shelves.values())

    def spec(self, server: str) -> ServerSpec:
        """One configured server.

        Raises:
            UnknownServer: no such server; near names are given.
        """
        shelf = self._shelves.get(server)
        if shelf is None:
            near = closest(server, prepared(self._shelves), limit=3)
            known = near or list(self._shelves)[:MOST_LISTED]
            hint = f"{'Is it one of these' if near else 'Configured are'}: {', '.join(known)}." if known else None
            raise UnknownServer(f"no server is called {server[:SHOWN]!r}", hint=hint)
        return shelf.spec

    def snapshot(self, server: str) -> Snapshot | None:
        """The last known snapshot; None when the server was never read, or its entry now leads elsewhere."""
        shelf = self._shelves.get(server)
        if shelf is None or shelf.stored is None or shelf.stored.reach != reach_of(shelf.spec):
            return None
        return stored_snapshot(server, shelf.stored.taken_at, self._store)

    def is_stale(self, server: str) -> bool:
        """Whether what is known of a server could not be checked."""
        shelf = self._shelves.get(server)
        return shelf is not None and shelf.stale

    def warnings(self, server: str) -> tuple[str, ...]:
        """What is odd in what a server offers: items left out and why, actions that cannot be called and why."""
        shelf = self._shelves.get(server)
        if shelf is None or shelf.stored is None:
            return ()
        return self._store.warnings(server)

    # --- finding by name

    def resolve(self, name: str, *, visible: frozenset[str] | None = None) -> Action:
        """The action that `name` means: an id, else a bare original name that only one visible server offers.

        Raises:
            UnknownAction: with suggestions; never the nearest match.
        """
        action = self._table.get(name)
        if action is not None and (visible is None or name in visible):
            return action
        seen = [other for other in self.actions() if other.name == name and (visible is None or other.id in visible)]
        if len(seen) == 1:
            return seen[0]
        if seen:
            ids = sorted(other.id for other in seen)
            listed = ", ".join(ids[:MOST_LISTED]) + (", …" if len(ids) > MOST_LISTED else "")
            raise UnknownAction(
                f"{len(ids)} servers offer an action called {name[:SHOWN]!r}: {listed}",
                suggestions=ids[:MOST_LISTED],
                hint="Use the id of the one that is meant.",
            )
        raise self._unknown(name, visible)

    def _unknown(self, name: str, visible: frozenset[str] | None) -> UnknownAction:
        near = self._suggestions(name, visible)
        # Under rules of visibility, nothing may tell a hidden action from one that never was.
        lost = self._lost(name) if visible is None else None
        hint = f"Is it one of these: {', '.join(near)}?" if near else "Search for what you need with `search_actions`."
        return UnknownAction(lost or f"no action is called {name[:SHOWN]!r}", suggestions=near, hint=hint)

    def _lost(self, name: str) -> str | None:
        """What became of an action that is not there any more; None when it never was."""
        for server, shelf in self._shelves.items():
            if name in shelf.off:
                why = "is disabled" if shelf.spec.disabled else "has this action switched off"
                return f"{name}: the server {server!r} {why} in the configuration"
            if shelf.stored is not None and name in shelf.stored.vanished:
                return f"{name} is no longer offered by the server {server!r}"
        server_of = self._removed.get(name)
        return f"{name}: the server {server_of!r} was removed from the configuration" if server_of else None

    def _suggestions(self, name: str, visible: frozenset[str] | None) -> list[str]:
        version, known = self._near
        if version != self._version:
            actions = self.actions()
            known = prepared({**dict.fromkeys(a.id for a in actions), **dict.fromkeys(a.name for a in actions)})
            self._near = (self._version, known)
        found: dict[str, None] = {}
        names = closest(name, known, limit=20)
        for near in names:
            if near in self._table:
                found[near] = None
            found.update(dict.fromkeys(other.id for other in self.actions() if other.name == near))
        return [identity for identity in found if visible is None or identity in visible][:5]

    # --- changing

    def record_snapshot(self, snapshot: Snapshot) -> CatalogChange:
        """Store what a server offers now and make it current; gives the difference to what was known.

        A list that could not be read whole keeps its former items, and its actions are stale.

        Raises:
            UnknownServer: the server is not configured.
            StorageError: it cannot be stored; nothing changed.
        """
        with self._lock:
            spec = self.spec(snapshot.server)
            before = self._shelves[snapshot.server]
            known = self._store.whole(spec.name) if before.stored and snapshot.partial else None
            whole = storable(completed(snapshot, known))
            reading = self._own(spec.name, read_tools(spec.name, whole.tools))
            former = _kept(before.actions, reading)
            lists = changed_lists(self.snapshot(spec.name), whole)
            stored = self._store.put(whole, reading, reach_of(spec))
            shelf = self._shelf(spec, stored, stale="tools" in snapshot.partial)
            change = replace(difference(spec.name, former, shelf.actions), lists=lists)
            self._place(shelf)
        self._tell(change)
        return change

    def mark_stale(self, server: str, stale: bool) -> None:
        """Say that a server's actions could not be checked; they stay callable and searchable."""
        with self._lock:
            shelf = self._shelves.get(server)
            if shelf is not None and shelf.stored is not None and shelf.stale != stale:
                self._place(self._shelf(shelf.spec, shelf.stored, stale=stale))

    def reconfigure(self, specs: Iterable[ServerSpec]) -> Sequence[CatalogChange]:
        """Make `specs` the configured servers; servers whose entry did not change are left alone.

        Returns:
            one change per server whose actions differ now.
        """
        with self._lock:
            wanted = {spec.name: spec for spec in specs}
            changes = [self._drop(shelf) for name, shelf in list(self._shelves.items()) if name not in wanted]
            unknown = [name for name in wanted if name not in self._shelves]
            remembered = self._store.servers(unknown) if unknown else {}
            for name, spec in wanted.items():
                before = self._shelves.get(name, _Shelf(spec))
                if name in self._shelves and before.spec == spec:
                    continue
                stored = before.stored or remembered.get(name)
                changes.append(self._replace(before, self._shelf(spec, stored, stale=before.stale)))
            self._shelves = {name: self._shelves[name] for name in wanted}
            self._changed()
        return [change for change in changes if change]

    def forget(self, server: str) -> bool:
        """Forget what a server was seen to offer; whether anything was known. Approvals stay.

        Raises:
            StorageError: it cannot be forgotten.
        """
        with self._lock:
            shelf = self._shelves.get(server)
            if shelf is not None:
                self._replace(shelf, _Shelf(shelf.spec))
            return self._store.forget(server)

    def close(self) -> None:
        """Close the store."""
        self._store.close()

    # --- approval

    def approve(self, ids: Iterable[str]) -> None:
        """Remember the fingerprints of actions as the user saw them; later changes show as the state `changed`.

        Raises:
            UnknownAction: an id is unknown; nothing is approved.
            StorageError: it cannot be stored.
        """
        with self._lock:
            now = time.time()
            chosen = [self.resolve(identity) for identity in ids]
            fresh = {action.id: Approval(action.id, action.digest, now) for action in chosen}
            self._store.approvals.put(fresh.values())
            self._approvals.update(fresh)
            self._refresh({action.server for action in chosen})

    def disapprove(self, ids: Iterable[str]) -> None:
        """Forget the approvals of these actions. Raises StorageError."""
        with self._lock:
            gone = [identity for identity in ids if identity in self._approvals]
            self._store.approvals.drop(gone)
            for identity in gone:
                del self._approvals[identity]
            self._refresh({self._table[identity].server for identity in gone if identity in self._table})

    def approved(self, action_id: str) -> bool | None:
        """Whether an action is as it was when it was approved; None when it never was."""
        approval = self._approvals.get(action_id)
        action = self._table.get(action_id)
        return None if approval is None else action is not None and action.digest == approval.digest

    # --- listeners

    def listen(self, listener: Callable[[CatalogChange], None]) -> Callable[[], None]:
        """Be told of changes, one notice per change of a server; the returned function ends it."""
        self._listeners.append(listener)

        def stop() -> None:
            if listener in self._listeners:
                self._listeners.remove(listener)

        return stop

    # --- shelves

    def _shelf(self, spec: ServerSpec, stored: Stored | None, *, stale: bool = False) -> _Shelf:
        if stored is None:
            return _Shelf(spec)
        stale = stale or stored.reach != reach_of(spec) or spec.fault is not None
        actions: dict[str, Action] = {}
        off: dict[str, str] = {}
        for entry in stored.entries:
            if spec.disabled or (spec.disabled_actions and matches(spec.disabled_actions, entry)):
                off[entry.id] = entry.name
            else:
                override = spec.overrides.get(entry.name, NO_OVERRIDE)
                state = self._state(entry, stale)
                actions[entry.id] = stored_action(entry, spec, stored.about, state, override, self._store)
        return _Shelf(spec, stored, stale, actions, off)

    def _state(self, entry: Entry, stale: bool) -> ActionState:
        approval = self._approvals.get(entry.id)
        if approval is not None and approval.digest != entry.digest:
            return "changed"
        return "stale" if stale else "current"

    def _own(self, server: str, reading: Reading) -> Reading:
        """The items whose ids belong to no other server: an id, once given, is never re-pointed."""
        holders = [self._table.get(entry.id) for entry in reading.entries]
        foreign = {
            entry.name: f"tool {entry.name!r} is left out: its id belongs to the server {holder.server!r}"
            for entry, holder in zip(reading.entries, holders, strict=True)
            if holder is not None and holder.server != server
        }
        return reading.without(foreign) if foreign else reading

    def _replace(self, before: _Shelf, after: _Shelf) -> CatalogChange:
        change = difference(after.spec.name, before.actions, after.actions)
        self._place(after)
        self._tell(change)
        return change

    def _place(self, shelf: _Shelf) -> None:
        before = self._shelves.get(shelf.spec.name)
        for identity in before.actions if before is not None else ():
            if identity not in shelf.actions:
                self._table.pop(identity, None)
        self._table.update(shelf.actions)
        self._shelves[shelf.spec.name] = shelf
        for identity in shelf.actions:
            self._removed.pop(identity, None)
        self._changed()

    def _drop(self, shelf: _Shelf) -> CatalogChange:
        del self._shelves[shelf.spec.name]
        for identity in (*shelf.actions, *shelf.off):
            self._table.pop(identity, None)
            self._removed[identity] = shelf.spec.name
        self._changed()
        change = difference(shelf.spec.name, shelf.actions, {})
        self._tell(change)
        return change

    def _refresh(self, servers: Iterable[str]) -> None:
        for server in servers:
            shelf = self._shelves[server]
            self._place(self._shelf(shelf.spec, shelf.stored, stale=shelf.stale))

    def _changed(self) -> None:
        self._version += 1
        self._listed = None

    def _tell(self, change: CatalogChange) -> None:
        if change:
            for listener in list(self._listeners):
                listener(change)


def _kept(actions: Mapping[str, Action], reading: Reading) -> Mapping[str, Action]:
    """Actions as they are now, with everything in those that are about to change."""
    digests = {entry.id: entry.digest for entry in reading.entries}
    return {
        identity: action if digests.get(identity, action.digest) == action.digest else replace(action)
        for identity, action in actions.items()
    }
