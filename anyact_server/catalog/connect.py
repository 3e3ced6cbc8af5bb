"""Writing AnyAct into a client's file, its other servers moved behind AnyAct, and taking all of it back.

`plan_connect` and `plan_undo` decide from what the files hold; `carry_out_plan` writes. The servers reach AnyAct's own
configuration before they leave the client's file, so that at no moment a server exists nowhere. A journal under the
home folder remembers what was moved, with a copy of the client's file as it was.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from anyact_server.errors import ConfigError, StorageError, UsageError
from anyact_server.types import Json, JsonObject, Origin

from .clients import Client, Place, Target, own_entry
from .clients_read import Imported, Imports, merge, parse_text, read_place
from .edits import Written, drop, put, read_json, read_text, save, section
from .edits_toml import drop_table, put_table

OWN_NAME = "anyact"


@dataclass(frozen=True, slots=True)
class Edit:
    """A file before and after; `before` None when it is not there, `after` None when it is to be removed."""

    file: Path
    before: str | None
    after: str | None
    private: bool = False
    """The new text holds secrets: the file becomes readable for its owner alone."""

    @property
    def changes(self) -> bool:
        return self.before != self.after


@dataclass(frozen=True, slots=True)
class Journal:
    """What a connection did to a client's file, as undoing it needs it.

    `moved` are the client's entries as they stood there, `added` those that AnyAct's configuration gained. `digest` is
    that of the client's file after connecting, `copy` the file as it was; None when there was none.
    """

    file: str
    config: str
    moved: Mapping[str, Json] = field(default_factory=dict)
    added: Mapping[str, Json] = field(default_factory=dict)
    digest: str = ""
    copy: str | None = None


@dataclass(frozen=True, slots=True)
class Plan:
    """What connecting or undoing will do: edits in order, and words for each thing a person should know."""

    client: Client
    place: Place
    edits: tuple[Edit, ...] = ()
    moved: tuple[Imported, ...] = ()
    notes: tuple[str, ...] = ()
    journal: Journal | None = None
    """The journal to write; None removes it (undoing) or leaves it (nothing to do)."""
    undoes: bool = False


def choose_place(places: Sequence[Place], scope: str) -> Place:
    """The file of one client that is written for a scope: the one that is there, else the first.

    Raises:
        UsageError: the client has no file of that scope.
    """
    fitting = [place for place in places if place.scope == scope and (place.written or place.file.exists())]
    fitting = [place for place in fitting if place.root == place.client.root]
    if not fitting:
        title = places[0].client.title if places else "the client"
        raise UsageError(f"{title} has no configuration for one {scope}", hint="Use the other scope.")
    return next((place for place in fitting if place.file.exists()), fitting[0])


def journal_file(home: Path, place: Place) -> Path:
    """Where the journal of a client's file is kept."""
    digest = hashlib.sha256(str(place.file).encode()).hexdigest()[:8]
    return home / "connections" / f"{place.client.name}-{digest}.json"


def take_in(imports: Imports, config: Path, *, backups: Path) -> Written:
    """Write what clients hold into AnyAct's configuration: the servers that it does not have yet, and their inputs.

    Raises:
        ConfigError: the configuration cannot be read or changed safely.
        StorageError: it cannot be written.
    """
    before = read_text(config)
    own_servers(before, config)
    after = before or ""
    key = section(read_json(after, str(config))) if after.strip() else "mcpServers"
    new = [one for one in imports.servers if not one.known]
    for one in new:
        after = put(after, (key, one.name), one.entry, str(config))
    if new and imports.inputs:
        after = _with_inputs(after, imports.inputs, config)
    if after == (before or ""):
        return Written(config, False)
    private = holds_secrets(one.entry for one in new)
    return Written(config, True, save(config, after, backups=backups, private=private))


def plan_connect(
    place: Place, target: Target, config: Path, *, move: bool = True, earlier: Journal | None = None
) -> Plan:
    """Decide how AnyAct comes into a client's file.

    Args:
        place: the client's file.
        target: how the client reaches AnyAct.
        config: AnyAct's own configuration, which takes the client's servers.
        move: whether the client's servers move behind AnyAct.
        earlier: the journal of an earlier connection, which grows.

    Raises:
        ConfigError: one of the files cannot be read or changed safely.
        UsageError: the client cannot reach AnyAct that way.
    """
    client = place.client
    text = read_text(place.file)
    own = own_entry(client, target)
    value = parse_text(text or "", place)
    reading = read_place(place)
    if text and reading.problems and not reading.found and isinstance(reading.problems[0], ConfigError):
        raise reading.problems[0]
    before = read_text(config)
    known = own_servers(before, config)
    movable = [one for one in reading.found if not one.own] if move else []
    moved = merge(movable, known)
    after_config = before or ""
    key = section(read_json(after_config, str(config))) if after_config.strip() else "mcpServers"
    added = {one.name: one.entry for one in moved if not one.known}
    for name, entry in added.items():
        after_config = put(after_config, (key, name), entry, str(config))
    if added and reading.inputs:
        after_config = _with_inputs(after_config, reading.inputs, config)
    after = text or ""
    for one in reading.found:
        if (one.own and one.name != OWN_NAME) or one in movable:
            after = _drop(after, place, one.name)
    current: Json = value
    for step in (*place.root, OWN_NAME):
        current = current.get(step) if isinstance(current, dict) else None
    if current != own:
        after = _put(after, place, OWN_NAME, own)
    private = holds_secrets(added.values())
    edits = (Edit(config, before, after_config if added else before, private), Edit(place.file, text, after))
    notes = tuple(_notes(moved, reading.problems))
    if text is None and not place.file.parent.exists():
        notes += (f"{client.title} was not found here: {place.file} is new",)
    journal = _journal(place, config, edits[1], {one.name: one.raw for one in movable}, added, earlier)
    return Plan(client, place, tuple(edit for edit in edits if edit.changes), moved, notes, journal)


def plan_undo(place: Place, journal: Journal) -> Plan:
    """Decide how a connection is taken back.

    When the client's file is as connecting left it, it becomes again what it was, byte for byte; otherwise AnyAct's
    entry goes and the moved ones come back, next to whatever has changed since.

    Raises:
        ConfigError: one of the files cannot be read or changed safely.
    """
    text = read_text(place.file)
    notes: list[str] = []
    if text is not None and _digest(text) == journal.digest:
        after = read_text(Path(journal.copy)) if journal.copy is not None else None
        whole = journal.copy is None or after is not None
    else:
        after, whole = None, False
    if not whole:
        notes.append(f"{place.file} was changed since: only AnyAct's entry is taken out and the moved ones put back")
        after = _restored(text or "", place, journal.moved)
    config = Path(journal.config)
    before = read_text(config)
    known = own_servers(before, config)
    after_config = before or ""
    for name, entry in journal.added.items():
        if known.get(name) == entry:
            key = section(read_json(after_config, str(config)))
            after_config = drop(after_config, (key, name), str(config))
        elif name in known:
            notes.append(f"{name} was changed in {config} since and stays there too")
    edits = (Edit(place.file, text, after), Edit(config, before, after_config if before is not None else None))
    return Plan(place.client, place, tuple(edit for edit in edits if edit.changes), (), tuple(notes), None, True)


def carry_out_plan(plan: Plan, home: Path) -> tuple[Path, ...]:
    """Write a plan's edits; gives the copies of what was there.

    Raises:
        StorageError: a file cannot be written, or was changed after planning; the files after it are untouched.
    """
    backups = home / "backups"
    kept: list[Path] = []
    copy: str | None = None
    for edit in plan.edits:
        if read_text(edit.file) != edit.before:
            raise StorageError(f"{edit.file} was changed meanwhile", hint="Run the command again.")
        if edit.after is None:
            edit.file.unlink(missing_ok=True)
            continue
        backup = save(edit.file, edit.after, backups=backups, private=edit.private)
        if backup is not None:
            kept.append(backup)
            copy = str(backup) if edit.file == plan.place.file else copy
    journal = journal_file(home, plan.place)
    if plan.undoes:
        journal.unlink(missing_ok=True)
    elif plan.journal is not None and plan.edits:
        body = plan.journal
        known = body.copy if body.copy is not None else copy
        text = json.dumps({**_plain(body), "copy": known}, ensure_ascii=False, indent=2) + "\n"
        save(journal, text, backups=None, private=True)
    return tuple(kept)


def read_journal(home: Path, place: Place) -> Journal | None:
    """The journal of a client's file, None when AnyAct did not connect it.

    Raises:
        StorageError: the journal is damaged.
    """
    file = journal_file(home, place)
    text = read_text(file)
    if text is None:
        return None
    try:
        body = json.loads(text)
        return Journal(**{name: body[name] for name in ("file", "config", "moved", "added", "digest", "copy")})
    except (ValueError, KeyError, TypeError) as error:
        raise StorageError(f"{file} is damaged: {error}", hint=f"Restore from {home / 'backups'} by hand.") from error


def _journal(
    place: Place,
    config: Path,
    edit: Edit,
    moved: Mapping[str, Json],
    added: Mapping[str, Json],
    earlier: Journal | None,
) -> Journal:
    digest = _digest(edit.after or "")
    if earlier is None:
        return Journal(str(place.file), str(config), moved, added, digest)
    untouched = edit.before is not None and _digest(edit.before) == earlier.digest
    moved, added = {**earlier.moved, **moved}, {**earlier.added, **added}
    # Changed by somebody else in between, the file as it first was is no longer what undoing should bring back.
    return Journal(str(place.file), str(config), moved, added, digest if untouched else "", earlier.copy)


def _restored(text: str, place: Place, moved: Mapping[str, Json]) -> str:
    present = read_place(place).found
    for one in present:
        if one.own:
            text = _drop(text, place, one.name)
    names = {one.name for one in present}
    for name, raw in moved.items():
        if name not in names:
            text = _put(text, place, name, raw)
    return text


def _put(text: str, place: Place, name: str, value: Any) -> str:
    change = put_table if place.client.format == "toml" else put
    return change(text, (*place.root, name), value, str(place.file))


def _drop(text: str, place: Place, name: str) -> str:
    change = drop_table if place.client.format == "toml" else drop
    return change(text, (*place.root, name), str(place.file))


def holds_secrets(entries: Iterable[Json]) -> bool:
    """Whether an entry holds a value in its environment or headers that is no mere reference."""
    maps = [entry.get(key) for entry in entries for key in ("env", "environment", "headers")]
    return any(value and "${" not in str(value) for one in maps if isinstance(one, dict) for value in one.values())


def own_servers(text: str | None, config: Path) -> Mapping[str, Json]:
    """The entries of AnyAct's configuration by name, as they stand there.

    Raises:
        ConfigError: it cannot be read.
    """
    value = read_json(text, str(config)) if text and text.strip() else {}
    if not isinstance(value, dict):
        raise ConfigError(f"{config} is no JSON object", origin=Origin(str(config)), hint='Write {"mcpServers": {}}.')
    servers = value.get(section(value))
    return servers if isinstance(servers, dict) else {}


def _with_inputs(text: str, inputs: Sequence[JsonObject], config: Path) -> str:
    """The configuration with VS Code's inputs beside those it has."""
    listed = read_json(text, str(config)).get("inputs")
    present = listed if isinstance(listed, list) else []
    ids = {item.get("id") for item in present if isinstance(item, dict)}
    more = [dict(item) for item in inputs if item.get("id") not in ids]
    return put(text, ("inputs",), [*present, *more], str(config)) if more else text


def _notes(moved: Sequence[Imported], problems: Sequence[Exception]) -> list[str]:
    found = []
    for one in moved:
        source = one.sources[0]
        if one.known:
            found.append(f"{source.name} is already behind AnyAct as {one.name}")
        elif one.name != source.name:
            found.append(f"{source.name} is called {one.name} behind AnyAct: the name was taken")
    return [*found, *(f"{problem}; it stays where it is" for problem in problems)]


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def _plain(journal: Journal) -> dict[str, Any]:
    names = ("file", "config", "moved", "added", "digest", "copy")
    return {name: getattr(journal, name) for name in names}
