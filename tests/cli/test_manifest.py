"""`manifest list|pull|check|diff`."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from anyact_server.cli.manifest import change_lines
from anyact_server.types import CatalogChange

from .kit import ROOT, Shell, script_entry


@pytest.fixture
def folder(tmp_path: Path, address: str) -> Path:
    """A folder of manifests: the fixture server, one that needs a key, one that dies."""
    place = tmp_path / "own"
    place.mkdir()
    starts = {
        "fixture": {"transport": "http", "url": address},
        "dies": script_entry("import sys; sys.exit('no luck')"),
    }
    for name, start in starts.items():
        body = {"name": name, "title": name.title(), "description": f"The {name} server", "start": [start]}
        (place / f"{name}.json").write_text(json.dumps(body), encoding="utf-8")
    return place


def test_known_servers_are_listed_and_narrowed_by_words(shell: Shell) -> None:
    """What they are for and what they need."""
    every = shell("manifest", "list", "--json").json["manifests"]
    assert len(every) > 60
    assert {"name", "title", "description", "tags", "starts", "needs"} <= set(every[0])
    found = shell("manifest", "list", "time", "zone")
    assert found.code == 0
    assert found.out.splitlines()[1].startswith("time ")
    assert shell("manifest", "list", "no-such-thing").code == 1


def test_a_folder_of_your_own_is_listed_too(shell: Shell, folder: Path) -> None:
    """A file in it that is wrong is named."""
    (folder / "bad.json").write_text("{", encoding="utf-8")
    found = shell("manifest", "list", "fixture", "--manifests", str(folder))
    assert "fixture" in found.out
    assert "left out: bad.json is not JSON" in found.err


def test_the_shipped_manifests_are_in_order(shell: Shell) -> None:
    """All of them."""
    checked = shell("manifest", "check", str(ROOT / "manifests"))
    assert checked.code == 0
    assert "files are in order" in checked.err


def test_a_wrong_file_is_named_with_field_and_cure(shell: Shell, folder: Path) -> None:
    """Exit code 1; a missing path is a wrong use."""
    (folder / "bad.json").write_text('{"name": "bad", "strat": []}', encoding="utf-8")
    checked = shell("manifest", "check", str(folder / "bad.json"))
    assert checked.code == 1
    assert "strat" in checked.out
    assert "cure: " in checked.out
    files = shell("manifest", "check", str(folder), "--json").json["files"]
    assert {one["name"] for one in files if one["ok"]} == {"fixture", "dies"}
    assert shell("manifest", "check", str(folder / "none.json")).code == 2


def test_a_snapshot_of_a_known_server_is_kept(shell: Shell, folder: Path) -> None:
    """So that it is searched as soon as it is added, without being started."""
    options = ("--manifests", str(folder))
    pulled = shell("manifest", "pull", "fixture", *options)
    assert pulled.code == 0
    assert "fixture: 18 actions (18 added)" in pulled.out
    assert shell("list").out == ""
    assert shell("add", "fixture", "--no-check", *options).code == 0
    listed = shell("list")
    assert "fixture__echo" in listed.out
    assert "reading servers" not in listed.err


def test_one_that_fails_costs_only_itself(shell: Shell, folder: Path) -> None:
    """Per server: what became of it; exit code 1."""
    pulled = shell("manifest", "pull", "fixture", "dies", "nobody", "--manifests", str(folder), "--json")
    assert pulled.code == 1
    fixture, dies, nobody = pulled.json["servers"]
    assert (fixture["actions"], fixture["error"]) == (18, None)
    assert "no luck" in dies["error"]["message"]
    assert nobody["error"]["kind"] == "not_found"
    words = shell("manifest", "pull", "nobody", "--manifests", str(folder))
    assert "failed  nobody" in words.out


def test_an_interrupted_pull_goes_on(shell: Shell, folder: Path, address: str) -> None:
    """`--missing` leaves alone what is kept; without a name, the configured servers are read."""
    shell.configure(plain={"url": address})
    assert "plain: 18 actions (18 added)" in shell("manifest", "pull").out
    assert "plain: 18 actions (unchanged)" in shell("manifest", "pull").out
    again = shell("manifest", "pull", "--missing")
    assert (again.code, again.out) == (0, "kept    plain: 18 actions\n")


def test_pulling_nothing_is_a_wrong_use(shell: Shell) -> None:
    """And so are names together with `--all`."""
    assert "anyact manifest pull time" in shell("manifest", "pull").err
    assert shell("manifest", "pull", "time", "--all").code == 2


@pytest.mark.case("G2")
def test_what_changed_since_is_told(shell: Shell, address: str) -> None:
    """Exit code 1 when something did; nothing is stored by looking."""
    shell.configure(plain={"url": address})
    assert shell("manifest", "diff", "plain").code == 3
    shell("manifest", "pull", "plain")
    same = shell("manifest", "diff", "plain")
    assert (same.code, same.out) == (0, "")
    shell("call", "plain__change", "name=extra")
    shell("call", "plain__change", "name=extra")
    assert shell("manifest", "diff", "plain", "--json").json == {
        "server": "plain",
        "added": [],
        "removed": [],
        "changed": {},
        "lists": [],
    }


def test_a_difference_is_one_line_per_action() -> None:
    """Added, removed, changed with what, other lists."""
    change = CatalogChange("s", ("s__a",), ("s__b",), {"s__c": ("description",)}, ("prompts",))
    assert [line[-20:].lstrip() for line in map(plain_text, change_lines(change))] == [
        "+ s__a",
        "- s__b",
        "~ s__c: description",
        "~ prompts",
    ]


def plain_text(line: str) -> str:
    """A line without its colours."""
    return line.replace("\x1b[32m", "").replace("\x1b[31m", "").replace("\x1b[33m", "").replace("\x1b[0m", "")


def test_an_unknown_server_has_no_difference(shell: Shell) -> None:
    """Exit code 3, and near names."""
    found = shell("manifest", "diff", "tiem")
    assert found.code == 3
    assert "time" in found.err
    assert sys.executable not in found.err
