"""Manifest files: the shipped ones, and what is said of wrong ones."""

from __future__ import annotations

import copy
import json
import re
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest

from anyact_server.catalog.manifests import (
    find_manifest,
    manifest_folders,
    parse_manifest,
    read_manifest,
    read_manifests,
    shipped_manifests,
)
from anyact_server.errors import ConfigError, UnknownServer

SCHEMA = jsonschema_rs.validator_for(json.loads((shipped_manifests() / "schema.json").read_text(encoding="utf-8")))
SHIPPED = sorted(path for path in shipped_manifests().glob("*.json") if path.name != "schema.json")
SOUND: dict[str, Any] = {
    "name": "x",
    "title": "X",
    "start": [{"registry": "npm", "package": "x", "args": ["${A}"]}, {"url": "https://h/mcp"}, {"command": "x"}],
    "variables": {"A": {"description": "a", "required": True, "secret": True, "list": False, "default": "1"}},
}


@pytest.mark.parametrize("path", SHIPPED, ids=lambda path: path.stem)
def test_every_shipped_manifest_is_sound(path: Path) -> None:
    """It fits the schema, is read, and every variable that it refers to is described."""
    value = json.loads(path.read_text(encoding="utf-8"))
    assert [error.message for error in SCHEMA.iter_errors(value)] == []
    manifest = read_manifest(path)
    assert manifest.title and manifest.tags
    assert manifest.description.endswith(".") and len(manifest.description) <= 120
    described = {variable.name for variable in manifest.variables} | {"serverData"}
    assert set(re.findall(r"\$\{(\w+)\}", json.dumps(value["start"]))) <= described
    assert all(variable.description.endswith((".", "…")) for variable in manifest.variables)
    assert all(recipe.command for recipe in manifest.start if recipe.registry in ("npm", "pypi"))


def test_the_shipped_folder_holds_many_known_servers() -> None:
    """At least sixty can be added by name; none is broken."""
    found = read_manifests([shipped_manifests()])
    assert found.problems == ()
    assert len(found.manifests) >= 60
    assert {"time", "github", "filesystem", "sqlite", "playwright", "linear"} <= set(found.manifests)


def wrong(change: str) -> dict[str, Any]:
    """A sound manifest with one thing wrong."""
    value = copy.deepcopy(SOUND)
    exec(change, {"value": value})
    return value


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ("value['name'] = 'Has Blank'", "name is 'Has Blank'"),
        ("value['name'] = 1", "name must be a text"),
        ("del value['name']", "name must be a text"),
        ("value['start'] = []", "start must be a list of at least one recipe"),
        ("value['start'] = {}", "start must be a list"),
        ("value['start'] = ['x']", r"start\[0\] must be an object"),
        ("value['extra'] = 1", "unknown field 'extra'"),
        ("value['title'] = []", "title must be a text"),
        ("value['tags'] = 'x'", "tags must be a list of texts"),
        ("value['tags'] = [1]", r"tags\[0\] must be a text"),
        ("value['start'][0]['registry'] = 'gem'", r"start\[0\]\.registry is 'gem'"),
        ("del value['start'][0]['registry']", "package without a registry"),
        ("value['start'][0]['url'] = 'https://h/'", "one of `package`, `url` and `command`"),
        ("value['start'][0] = {}", "one of `package`, `url` and `command`"),
        ("value['start'][0]['transport'] = 'http'", r"start\[0\]\.transport is http"),
        ("value['start'][1]['transport'] = 'stdio'", r"start\[1\]\.transport is stdio"),
        ("value['start'][1]['transport'] = 'bogus'", "Allowed: stdio, http, sse"),
        ("value['start'][0]['env'] = {'A': 1}", r"start\[0\]\.env\.A must be a text"),
        ("value['start'][0]['env'] = []", r"start\[0\]\.env must be an object"),
        ("value['start'][0]['comand'] = 'x'", "unknown field 'comand'"),
        ("value['variables'] = []", "variables must be an object"),
        ("value['variables']['1A'] = {}", "is no name of a variable"),
        ("value['variables']['A']['secret'] = 'yes'", r"variables\.A\.secret must be true or false"),
        ("value['variables']['A']['default'] = 1", r"variables\.A\.default must be a text"),
    ],
)
def test_what_is_wrong_is_said_with_its_field_and_the_schema_agrees(change: str, said: str) -> None:
    """The reader and the published schema refuse the same files; the reader names the field."""
    value = wrong(change)
    with pytest.raises(ConfigError) as caught:
        parse_manifest(value, "/m/x.json")
    assert re.search(said, f"{caught.value.message} {caught.value.hint}")
    assert caught.value.message.startswith("x.json: ")
    assert not SCHEMA.is_valid(value)


def test_a_sound_manifest_is_read_whole() -> None:
    """Every kind of recipe, and what is left out has its default."""
    assert SCHEMA.is_valid(SOUND)
    manifest = parse_manifest(SOUND, "x.json")
    assert [recipe.transport for recipe in manifest.start] == ["stdio", "http", "stdio"]
    assert manifest.variables[0].secret and manifest.variables[0].default == "1"
    with pytest.raises(ConfigError, match="the file must be an object"):
        parse_manifest([], "x.json")


def write(folder: Path, name: str, text: str) -> Path:
    """A file in a folder."""
    folder.mkdir(exist_ok=True)
    (folder / name).write_text(text, encoding="utf-8")
    return folder / name


@pytest.mark.case("C1")
def test_a_broken_file_costs_only_itself(tmp_path: Path) -> None:
    """The others of the folder are read; the broken ones are named with line and column."""
    write(tmp_path, "x.json", json.dumps(SOUND))
    write(tmp_path, "broken.json", '{\n "name": }')
    write(tmp_path, "named.json", json.dumps(SOUND))
    (tmp_path / "bytes.json").write_bytes(b"\xff")
    found = read_manifests([tmp_path])
    assert list(found.manifests) == ["x"]
    messages = [problem.message for problem in found.problems]
    assert any("broken.json is not JSON" in one and "line 2, column 10" in one for one in messages)
    assert any("named.json: name is 'x'" in one for one in messages)
    assert any("bytes.json cannot be read" in one for one in messages)


def test_a_folder_of_the_user_wins_over_the_shipped_one(tmp_path: Path) -> None:
    """A file of the same name replaces the shipped one."""
    mine = {**SOUND, "name": "time", "title": "Mine"}
    write(tmp_path, "time.json", json.dumps(mine))
    folders = manifest_folders([tmp_path])
    assert find_manifest("time", folders).title == "Mine"
    assert find_manifest("fetch", folders).title == "Fetch"
    assert read_manifests(folders).manifests["time"].title == "Mine"
    with pytest.raises(ConfigError, match="is no folder of manifests"):
        manifest_folders([tmp_path / "none"])


@pytest.mark.parametrize("name", ["tiem", "TIME", "git hub", "schema", "../time", "zzzzzz"])
def test_an_unknown_name_gets_near_names_and_never_leaves_the_folder(name: str) -> None:
    """Nothing is guessed; the schema is no manifest."""
    with pytest.raises(UnknownServer) as caught:
        find_manifest(name, manifest_folders())
    assert caught.value.hint
    if name in ("tiem", "TIME"):
        assert "time" in caught.value.hint


def test_the_documented_manifest_is_sound() -> None:
    """The example of docs/manifests.md is read as it stands."""
    text = (Path(__file__).parents[2] / "docs" / "manifests.md").read_text(encoding="utf-8")
    examples = re.findall(r"```json\n(.*?)```", text, re.DOTALL)
    assert len(examples) == 1
    value = json.loads(examples[0])
    assert SCHEMA.is_valid(value)
    assert parse_manifest(value, "my-database.json").start[0].python == ">=3.10"
