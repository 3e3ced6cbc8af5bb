"""What `anyact manifest` does: check files, make servers of manifests, take snapshots of them, say what changed.

A snapshot lies in the home folder's catalog, so that a server is searched without being started. Servers of manifests
that nobody configured are reached for the pull alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import anyio

from anyact_server.errors import AnyActError, ConfigError, DownstreamError, RemoteError, UnknownServer
from anyact_server.interfaces import Catalog as CatalogLike
from anyact_server.interfaces import Downstreams
from anyact_server.types import EMPTY, CatalogChange, Limits, ServerSpec, Snapshot

from .additions import Addition, Surroundings, Wish, understand
from .catalog import Catalog
from .config_entry import Place, Problem, read_entry
from .environments import Progress, prepare
from .manifests import SCHEMA_FILE, read_manifest
from .store import Store
from .variables import Scope


@dataclass(frozen=True, slots=True)
class Checked:
    """What was found in one manifest file: its server, or what is wrong."""

    file: Path
    name: str | None = None
    problem: ConfigError | None = None


@dataclass(frozen=True, slots=True)
class Pulled:
    """How pulling one server ended: its number of actions and what changed, or the error; `kept` when it was known."""

    server: str
    actions: int = 0
    change: CatalogChange | None = None
    error: AnyActError | None = None
    kept: bool = False


def check_manifests(paths: Sequence[Path]) -> tuple[Checked, ...]:
    """Check files, and every file of folders, in the order given.

    Raises:
        ConfigError: a path is neither a file nor a folder.
    """
    found: list[Checked] = []
    for path in paths:
        if not path.exists():
            raise ConfigError(f"there is no file or folder {path}", hint="Check the path.")
        files = sorted(path.glob("*.json")) if path.is_dir() else [path]
        for file in files:
            if file.name == SCHEMA_FILE:
                continue
            try:
                found.append(Checked(file, read_manifest(file).name))
            except ConfigError as error:
                found.append(Checked(file, None, error))
    return tuple(found)


def manifest_spec(
    name: str,
    around: Surroundings,
    *,
    limits: Limits | None = None,
    tell: Callable[[Progress], None] = lambda progress: None,
) -> tuple[ServerSpec, Addition, tuple[Problem, ...]]:
    """The server of a manifest, ready to be started: with its private environment made, if it needs one.

    What it lacks (a token that is not set) makes it a server with a fault, as in a configuration.

    Args:
        name: the manifest's name.
        around: where to look and what there is; its `environment` supplies the variables.
        limits: time limits.
        tell: is told of every step of making an environment.

    Raises:
        UnknownServer, UsageError, ConfigError, StorageError: there is no such manifest, or nothing here can run it.
    """
    addition = understand(Wish(name), around)
    body: dict[str, Any] = dict(addition.entry)
    if addition.launch.environment is not None:
        body["command"] = prepare(addition.launch.environment, tell)
    for folder in addition.folders:
        folder.mkdir(parents=True, exist_ok=True)
    scope = Scope(around.environment, home=str(around.user))
    place = Place(name, f"{name}.json", lambda *_: 1, scope, lambda _: EMPTY)
    spec, problems = read_entry(body, place, limits or Limits())
    return replace(spec, origin=None), addition, tuple(problems)


async def pull(
    servers: Iterable[str],
    catalog: CatalogLike,
    downstreams: Downstreams,
    *,
    parallel: int = 4,
    again: bool = True,
    done: Callable[[Pulled], None] = lambda pulled: None,
) -> tuple[Pulled, ...]:
    """Take and store a snapshot of each server, a few at the same time; one that fails costs only itself.

    Args:
        servers: names that the catalog and the downstreams know.
        catalog: where snapshots are kept.
        downstreams: the connections; each server is stopped after its snapshot, unless it ran before.
        parallel: servers at the same time.
        again: also those that have a snapshot; without it an interrupted pull goes on where it was.
        done: is told of each server as it ends.

    Returns:
        How each ended, in the order given.
    """
    names = tuple(dict.fromkeys(servers))
    ended: dict[str, Pulled] = {}
    limit = anyio.CapacityLimiter(parallel)

    async def one(name: str) -> None:
        async with limit:
            ended[name] = await _pull(name, catalog, downstreams, again)
        done(ended[name])

    async with anyio.create_task_group() as group:
        for name in names:
            group.start_soon(one, name)
    return tuple(ended[name] for name in names)


async def _pull(name: str, catalog: CatalogLike, downstreams: Downstreams, again: bool) -> Pulled:
    try:
        catalog.spec(name)
    except UnknownServer as error:
        return Pulled(name, error=error)
    if not again and catalog.snapshot(name) is not None:
        return Pulled(name, len(catalog.of_server(name)), kept=True)
    ran = downstreams.connected(name)
    try:
        change = catalog.record_snapshot(await downstreams.take_snapshot(name))
    except (DownstreamError, RemoteError) as error:
        return Pulled(name, len(catalog.of_server(name)), error=error)
    finally:
        if not ran:
            with anyio.CancelScope(shield=True):
                await downstreams.stop(name)
    return Pulled(name, len(catalog.of_server(name)), change)


async def changes_since(server: str, catalog: CatalogLike, downstreams: Downstreams) -> CatalogChange:
    """What a server offers now against its stored snapshot; stores nothing.

    Raises:
        UnknownServer, DownstreamError, NeedsLogin, RemoteError: it cannot be read.
    """
    spec = catalog.spec(server)
    before = catalog.snapshot(server)
    return snapshot_difference(spec, before, await downstreams.take_snapshot(server))


def snapshot_difference(spec: ServerSpec, before: Snapshot | None, after: Snapshot) -> CatalogChange:
    """What changed between two snapshots of a server, judged exactly as the catalog would."""
    scratch = Catalog(Store(), [spec])
    try:
        if before is not None:
            scratch.record_snapshot(before)
        return scratch.record_snapshot(after)
    finally:
        scratch.close()


def counted(change: CatalogChange) -> Mapping[str, int]:
    """How many actions were added, removed and changed."""
    return {"added": len(change.added), "removed": len(change.removed), "changed": len(change.changed)}
