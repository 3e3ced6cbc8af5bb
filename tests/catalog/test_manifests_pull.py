"""Checking, pulling and comparing manifests."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import anyio
import pytest

from anyact_server.catalog import Catalog, Store
from anyact_server.catalog.additions import Surroundings
from anyact_server.catalog.manifests import shipped_manifests
from anyact_server.catalog.manifests_pull import (
    Pulled,
    changes_since,
    check_manifests,
    counted,
    manifest_spec,
    pull,
    snapshot_difference,
)
from anyact_server.catalog.runners import Machine
from anyact_server.downstream import Pool
from anyact_server.errors import ConfigError, DownstreamError, UnknownServer
from anyact_server.settings import Settings
from anyact_server.types import Limits, ServerSpec, Snapshot

pytestmark = pytest.mark.anyio


def around(tmp_path: Path, environment: dict[str, str] | None = None, folder: Path | None = None) -> Surroundings:
    """A machine with npx alone."""
    machine = Machine(tmp_path / "envs", {"npx": "/usr/bin/npx"}, ())
    folders = (shipped_manifests(), *([folder] if folder else ()))
    return Surroundings(folders, machine, tmp_path / "home", tmp_path, tmp_path, environment or {})


def test_files_and_folders_are_checked_one_by_one(tmp_path: Path) -> None:
    """Every file has its answer, a wrong one with the reason; the schema is no manifest."""
    (tmp_path / "good.json").write_text('{"name": "good", "start": [{"command": "x"}]}', encoding="utf-8")
    (tmp_path / "bad.json").write_text('{"name": "bad", "start": []}', encoding="utf-8")
    (tmp_path / "schema.json").write_text("{}", encoding="utf-8")
    found = check_manifests([tmp_path, tmp_path / "good.json"])
    assert [(one.file.name, one.name) for one in found] == [
        ("bad.json", None),
        ("good.json", "good"),
        ("good.json", "good"),
    ]
    assert "start must be a list" in str(found[0].problem)
    with pytest.raises(ConfigError, match="there is no file or folder"):
        check_manifests([tmp_path / "none"])


def test_a_manifest_becomes_a_server_that_can_be_started(tmp_path: Path) -> None:
    """With the variables of the environment; one that is not set is its fault, as in a configuration."""
    spec, _, _ = manifest_spec("github", around(tmp_path, {"GITHUB_PERSONAL_ACCESS_TOKEN": "ghp_abcdefgh"}))
    assert (spec.name, spec.command, spec.fault) == ("github", "npx", None)
    assert spec.env["GITHUB_PERSONAL_ACCESS_TOKEN"] == "ghp_abcdefgh"
    assert "ghp_abcdefgh" in spec.secrets
    spec, addition, _ = manifest_spec("github", around(tmp_path), limits=Limits(start_s=5.0))
    assert "GITHUB_PERSONAL_ACCESS_TOKEN" in str(spec.fault)
    assert spec.limits.start_s == 5.0 and len(addition.unset) == 1
    assert manifest_spec("memory", around(tmp_path))[0].fault is None
    assert (tmp_path / "home" / "data" / "memory").is_dir()


def specs(count: int) -> list[ServerSpec]:
    """Servers that all run the small fixture server, the last one failing at once."""
    good = [
        ServerSpec(f"s{n}", "stdio", sys.executable, ("-m", "tests.servers.plain", "--stdio")) for n in range(count)
    ]
    return [*good, ServerSpec("dead", "stdio", sys.executable, ("-c", "raise SystemExit('no key')"))]


async def test_pulling_stores_every_snapshot_and_stops_what_it_started() -> None:
    """Real servers over real pipes, a few at once; one that fails costs only itself and says why."""
    catalog = Catalog(Store(), specs(2))
    pool = Pool(catalog.specs(), Settings())
    told: list[str] = []
    with anyio.fail_after(50):
        async with pool.running():
            ended = await pull(
                ["s0", "dead", "s1", "none", "s0"], catalog, pool, parallel=2, done=lambda one: told.append(one.server)
            )
            assert not pool.connected("s0") and not pool.connected("s1")
            kept = await pull(["s0"], catalog, pool, again=False)
            nothing = await changes_since("s0", catalog, pool)
    assert [one.server for one in ended] == ["s0", "dead", "s1", "none"]
    assert ended[0].actions > 0 and ended[0].change is not None
    assert counted(ended[0].change)["added"] == ended[0].actions
    assert isinstance(ended[1].error, DownstreamError) and "no key" in str(ended[1].error)
    assert isinstance(ended[3].error, UnknownServer)
    assert sorted(told) == ["dead", "none", "s0", "s1"]
    assert kept == (Pulled("s0", ended[0].actions, kept=True),)
    assert not nothing
    catalog.close()


def tool(name: str, **parts: Any) -> dict[str, Any]:
    """A tool as a server sends it."""
    return {"name": name, "inputSchema": {"type": "object"}, **parts}


def test_two_snapshots_are_compared_as_the_catalog_would() -> None:
    """Added, removed, and changed with the fields; the order of keys is no change."""
    spec = ServerSpec("s", "stdio", "x")
    before = Snapshot("s", (tool("a"), tool("b", description="old"), tool("c", description="x", title="y")))
    after = Snapshot("s", (tool("b", description="new"), {**tool("c"), "title": "y", "description": "x"}, tool("d")))
    change = snapshot_difference(spec, before, after)
    assert (change.added, change.removed) == (("s__d",), ("s__a",))
    assert dict(change.changed) == {"s__b": ("description",)}
    assert counted(change) == {"added": 1, "removed": 1, "changed": 1}
    assert snapshot_difference(spec, None, after).added == ("s__b", "s__c", "s__d")
