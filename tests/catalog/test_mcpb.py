"""Bundles: looking in, starting them, unpacking safely."""

from __future__ import annotations

import json
import stat
import zipfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from anyact_server.catalog import mcpb
from anyact_server.catalog.mcpb import Bundle, bundle_manifest, read_bundle, unpack
from anyact_server.catalog.recipes import fill
from anyact_server.errors import ConfigError, StorageError

NODE = {
    "manifest_version": "0.3",
    "name": "my-thing",
    "display_name": "My Thing",
    "version": "1.0.0",
    "description": "Does things.",
    "server": {
        "type": "node",
        "entry_point": "server/index.js",
        "mcp_config": {
            "command": "node",
            "args": ["${__dirname}/server/index.js", "${user_config.folders}", "--level=${user_config.level}"],
            "env": {"API_KEY": "${user_config.api-key}", "HERE": "${HOME}${/}x", "N": 3},
            "platform_overrides": {"win32": {"command": "node.exe", "env": {"WIN": "1"}}},
        },
    },
    "user_config": {
        "folders": {"type": "directory", "title": "Folders", "multiple": True, "default": ["${HOME}/Documents"]},
        "level": {"type": "number", "default": 2},
        "api-key": {"type": "string", "description": "Key.", "sensitive": True, "required": True},
        "unused": {"type": "boolean", "default": True},
    },
}


def bundle(tmp_path: Path, manifest: Any = NODE, files: dict[str, str] | None = None) -> Path:
    """A bundle file."""
    path = tmp_path / "x.mcpb"
    with zipfile.ZipFile(path, "w") as archive:
        text = manifest if isinstance(manifest, str) else json.dumps(manifest)
        archive.writestr("manifest.json", text)
        for name, body in (files or {"server/index.js": "1"}).items():
            archive.writestr(name, body)
    return path


def test_a_bundle_says_how_it_starts_and_what_it_asks(tmp_path: Path) -> None:
    """Its own placeholders are put in, what the user decides becomes variables."""
    found = read_bundle(bundle(tmp_path))
    assert found.name == "my-thing"
    manifest = bundle_manifest(found, Path("/b"), Path("/home/me"), "linux")
    assert (manifest.title, manifest.description) == ("My Thing", "Does things.")
    filled = fill(manifest.start[0], manifest.variables, {"api_key": "secret"}, data="/d").recipe
    assert filled.command == "node"
    assert filled.args == ("/b/server/index.js", "/home/me/Documents", "--level=2")
    assert filled.env == {"API_KEY": "secret", "HERE": "/home/me/x", "N": "3"}
    assert [(one.name, one.secret, one.required, one.several) for one in manifest.variables] == [
        ("folders", False, False, True),
        ("level", False, False, False),
        ("api_key", True, True, False),
    ]
    assert manifest.variables[0].description == "Folders"


def test_a_platform_has_its_own_start(tmp_path: Path) -> None:
    """Overrides replace the command and add to the environment."""
    manifest = bundle_manifest(read_bundle(bundle(tmp_path)), Path("/b"), Path("/h"), "win32")
    assert manifest.start[0].command == "node.exe"
    assert manifest.start[0].env["WIN"] == "1" and "HERE" in manifest.start[0].env


@pytest.mark.parametrize(
    ("kind", "command", "args"),
    [
        ("python", "python", ("/b/main.py",)),
        ("uv", "uv", ("run", "--directory", "/b", "main.py")),
        ("binary", "/b/main.py", ()),
        ("node", "node", ("/b/main.py",)),
    ],
)
def test_a_type_alone_is_enough_to_start(tmp_path: Path, kind: str, command: str, args: tuple[str, ...]) -> None:
    """Each type has its usual start."""
    body = {"name": "x", "server": {"type": kind, "entry_point": "main.py"}}
    recipe = bundle_manifest(read_bundle(bundle(tmp_path, body)), Path("/b"), Path("/h")).start[0]
    assert (recipe.command, recipe.args) == (command, args)


def test_a_bundle_for_another_platform_or_without_a_start_is_refused(tmp_path: Path) -> None:
    """It says what it needs."""
    other = {**NODE, "compatibility": {"platforms": ["darwin", "win32"]}}
    with pytest.raises(ConfigError, match="runs on darwin, win32, not on linux"):
        bundle_manifest(read_bundle(bundle(tmp_path, other)), Path("/b"), Path("/h"), "linux")
    with pytest.raises(ConfigError, match="it says no command"):
        bundle_manifest(read_bundle(bundle(tmp_path, {"name": "x", "server": {}})), Path("/b"), Path("/h"))


def test_an_optional_list_without_default_leaves_its_argument_out(tmp_path: Path) -> None:
    """An empty list is no argument."""
    body = json.loads(json.dumps(NODE))
    body["user_config"]["folders"]["default"] = []
    manifest = bundle_manifest(read_bundle(bundle(tmp_path, body)), Path("/b"), Path("/h"), "linux")
    assert fill(manifest.start[0], manifest.variables, {}, data="/d").recipe.args == ("/b/server/index.js", "--level=2")


@pytest.mark.parametrize(
    ("manifest", "said"),
    [
        ("{", "is not JSON"),
        ([], "needs `name` and `server`"),
        ({"name": " ", "server": {}}, "needs `name` and `server`"),
        ({"name": "x"}, "needs `name` and `server`"),
    ],
)
def test_an_unusable_manifest_is_refused(tmp_path: Path, manifest: Any, said: str) -> None:
    """With the file's name and the reason."""
    with pytest.raises(ConfigError, match=said):
        read_bundle(bundle(tmp_path, manifest))


def test_a_file_that_is_no_bundle_is_refused(tmp_path: Path) -> None:
    """No zip file, no manifest, a manifest of absurd size."""
    path = tmp_path / "x.mcpb"
    path.write_text("hello", encoding="utf-8")
    with pytest.raises(ConfigError, match="cannot be opened as a zip file"):
        read_bundle(path)
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("other.json", "{}")
    with pytest.raises(ConfigError, match="holds no manifest"):
        read_bundle(path)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("manifest.json", " " * (mcpb.MANIFEST_BYTES + 1))
    with pytest.raises(ConfigError, match="larger than"):
        read_bundle(path)


def test_unpacking_writes_every_file_for_the_owner_alone_once(tmp_path: Path) -> None:
    """Programs stay programs; a second time nothing is touched."""
    path = tmp_path / "x.mcpb"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("manifest.json", json.dumps(NODE))
        archive.writestr("empty/", "")
        for name, mode in (("bin/run", 0o755), ("data.txt", 0o644)):
            info = zipfile.ZipInfo(name)
            info.external_attr = (stat.S_IFREG | mode) << 16
            archive.writestr(info, "x")
    folder = tmp_path / "out" / "thing"
    unpack(read_bundle(path), folder)
    assert stat.S_IMODE((folder / "bin" / "run").stat().st_mode) == 0o700
    assert stat.S_IMODE((folder / "data.txt").stat().st_mode) == 0o600
    assert (folder / "empty").is_dir()
    (folder / "mark").touch()
    unpack(read_bundle(path), folder)
    assert (folder / "mark").exists()
    assert [one.name for one in folder.parent.iterdir()] == ["thing"]


@pytest.mark.parametrize("name", ["../out.txt", "/etc/x", "a/../../x", "C:/x", "..\\x", "a\\..\\..\\x"])
def test_a_member_that_leaves_the_folder_stops_everything(tmp_path: Path, name: str) -> None:
    """Nothing is written, inside or outside."""
    folder = tmp_path / "out" / "thing"
    with pytest.raises(StorageError, match="is not safe"):
        unpack(read_bundle(bundle(tmp_path, files={"a.txt": "1", name: "2"})), folder)
    assert list((tmp_path / "out").iterdir()) == []


def test_a_link_in_a_bundle_stops_everything(tmp_path: Path) -> None:
    """A symbolic link could lead anywhere."""
    path = bundle(tmp_path)
    with zipfile.ZipFile(path, "a") as archive:
        info = zipfile.ZipInfo("link")
        info.external_attr = (stat.S_IFLNK | 0o777) << 16
        archive.writestr(info, "/etc/passwd")
    with pytest.raises(StorageError, match="is a link"):
        unpack(read_bundle(path), tmp_path / "out" / "thing")


def test_a_bundle_that_unpacks_without_end_is_stopped(tmp_path: Path) -> None:
    """The sum of real bytes counts, and the number of files."""
    found = read_bundle(bundle(tmp_path, files={"a": "x" * 2000, "b": "y" * 2000}))
    with pytest.raises(StorageError, match="more than 3000 bytes"):
        unpack(found, tmp_path / "out" / "thing", most_bytes=3000)
    with pytest.raises(StorageError, match="more than 2 files"):
        unpack(found, tmp_path / "out" / "thing", most_files=2)


def test_a_damaged_member_is_reported(tmp_path: Path) -> None:
    """A checksum that does not fit."""
    path = bundle(tmp_path, files={"a.txt": "hello hello"})
    found = read_bundle(path)
    path.write_bytes(path.read_bytes().replace(b"hello hello", b"hellO hello"))
    with pytest.raises(StorageError, match="cannot be unpacked"):
        unpack(found, tmp_path / "out" / "thing")


LEAVES = (
    st.none() | st.booleans() | st.integers(-9, 9) | st.text(max_size=5) | st.sampled_from(["node", "${user_config.a}"])
)
FIELDS = st.sampled_from(
    [
        "type",
        "entry_point",
        "mcp_config",
        "command",
        "args",
        "env",
        "platform_overrides",
        "linux",
        "a",
        "default",
        "multiple",
    ]
)
ODD = st.recursive(
    LEAVES, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(FIELDS, inner, max_size=5), max_leaves=20
)


@settings(max_examples=150, deadline=None)
@given(st.dictionaries(FIELDS, ODD, max_size=6), ODD, ODD)
def test_no_manifest_however_odd_ends_in_anything_but_a_start_or_an_error_of_ours(
    server: Any, asked: Any, platforms: Any
) -> None:
    """Every field with every type of value in it."""
    body = {"name": "x", "server": server, "user_config": asked, "compatibility": platforms}
    try:
        manifest = bundle_manifest(Bundle(Path("x.mcpb"), body, "0"), Path("/b"), Path("/h"), "linux")
    except ConfigError:
        return
    fill(manifest.start[0], manifest.variables, {}, data="/d")
