"""MCPB bundles: zip files with a `manifest.json` (versions 0.1 to 0.4) and everything a local server needs.

`read_bundle` looks without unpacking; `unpack` writes the files, refusing every name that leaves its folder. Source:
https://github.com/modelcontextprotocol/mcpb, `MANIFEST.md`.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import stat
import sys
import tempfile
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

from anyact_server.errors import ConfigError, StorageError
from anyact_server.types import EMPTY, Json, Origin

from .recipes import Manifest, Recipe, Variable

SUFFIXES = (".mcpb", ".dxt")
MANIFEST_BYTES = 4 * 1024 * 1024
FILES = 50_000
BYTES = 2 * 1024 * 1024 * 1024
"""Largest sum of unpacked files: a bundle with its own runtime stays under 500 MB."""
_PLACE = re.compile(r"\$\{([\w./-]+)\}")
_SEVERAL = "multiple"


@dataclass(frozen=True, slots=True)
class Bundle:
    """A bundle that was looked into: its file, what it says of itself, and a digest of its content."""

    file: Path
    body: Mapping[str, Any]
    digest: str

    @property
    def name(self) -> str:
        """The name the bundle gives itself."""
        return str(self.body["name"])


def read_bundle(file: Path) -> Bundle:
    """Look into a bundle.

    Raises:
        ConfigError: it is no zip file, or has no usable `manifest.json`.
    """
    try:
        with zipfile.ZipFile(file) as archive:
            member = archive.getinfo("manifest.json")
            if member.file_size > MANIFEST_BYTES:
                raise _wrong(file, f"its manifest.json is larger than {MANIFEST_BYTES} bytes")
            with archive.open(member) as opened:
                body = json.loads(opened.read(MANIFEST_BYTES + 1).decode("utf-8-sig"))
    except (OSError, zipfile.BadZipFile, NotImplementedError, RuntimeError) as error:
        raise _wrong(file, f"it cannot be opened as a zip file: {error}") from error
    except KeyError as error:
        raise _wrong(file, "it holds no manifest.json") from error
    except ValueError as error:
        raise _wrong(file, f"its manifest.json is not JSON: {error}") from error
    server = body.get("server") if isinstance(body, dict) else None
    if not isinstance(server, dict) or not isinstance(body.get("name"), str) or not body["name"].strip():
        raise _wrong(file, "its manifest.json needs `name` and `server`")
    with file.open("rb") as opened:
        digest = hashlib.file_digest(opened, "sha256").hexdigest()
    return Bundle(file, body, digest)


def bundle_manifest(bundle: Bundle, folder: Path, home: Path, platform: str = sys.platform) -> Manifest:
    """How to start the server of a bundle that is unpacked in `folder`.

    Args:
        bundle: what was read.
        folder: where it will be.
        home: the user's home directory, for `${HOME}`, `${DESKTOP}` and the like.
        platform: as in `sys.platform`.

    Raises:
        ConfigError: it says no way to start on this platform.
    """
    body, server = bundle.body, bundle.body["server"]
    platforms = _part(body, "compatibility").get("platforms")
    if isinstance(platforms, list) and platforms and platform not in platforms:
        raise _wrong(bundle.file, f"it runs on {', '.join(map(str, platforms))}, not on {platform}")
    config = {**_default(server), **_part(server, "mcp_config")}
    override = _part(_part(config, "platform_overrides"), platform)
    config = {**config, **override, "env": {**_part(config, "env"), **_part(override, "env")}}
    if not isinstance(config.get("command"), str):
        raise _wrong(bundle.file, "it says no command (server.mcp_config.command)")
    asked = {str(key): about for key, about in _part(body, "user_config").items() if isinstance(about, dict)}
    places = _places(folder, home, asked)

    def put(value: Json) -> str:
        return _PLACE.sub(lambda match: places.get(match[1], match[0]), _word(value))

    args = config.get("args")
    recipe = Recipe(
        command=put(config["command"]),
        args=tuple(put(arg) for arg in args) if isinstance(args, list) else (),
        env={str(key): put(value) for key, value in config["env"].items()},
    )
    used = set(_PLACE.findall(" ".join([*recipe.args, *recipe.env.values()])))
    variables = tuple(_variable(key, about, put) for key, about in asked.items() if _plain(key) in used)
    title = str(body.get("display_name") or bundle.name)
    return Manifest(bundle.name, title, str(body.get("description") or ""), (), (recipe,), variables, str(bundle.file))


def unpack(bundle: Bundle, folder: Path, *, most_bytes: int = BYTES, most_files: int = FILES) -> None:
    """Unpack a bundle into a folder of its own, in one step; does nothing when it is there.

    Args:
        bundle: what was read.
        folder: where it goes.
        most_bytes: largest sum of the unpacked files.
        most_files: largest number of files.

    Raises:
        StorageError: a member would land outside the folder, is a link, or the whole is too large; nothing is left.
    """
    if folder.exists():
        return
    folder.parent.mkdir(parents=True, exist_ok=True)
    work = Path(tempfile.mkdtemp(prefix=".unpack-", dir=folder.parent))
    try:
        with zipfile.ZipFile(bundle.file) as archive:
            _extract(archive, work, bundle.file, most_bytes, most_files)
        os.replace(work, folder)
    except (OSError, zipfile.BadZipFile, EOFError, RuntimeError) as error:
        raise StorageError(f"{bundle.file} cannot be unpacked: {error}", hint="Fetch the bundle again.") from error
    finally:
        shutil.rmtree(work, ignore_errors=True)


def _extract(archive: zipfile.ZipFile, work: Path, file: Path, most_bytes: int, most_files: int) -> None:
    members = archive.infolist()
    if len(members) > most_files:
        raise StorageError(f"{file} holds more than {most_files} files")
    left = most_bytes
    for member in members:
        target = work / _safe(member, file)
        if member.is_dir():
            target.mkdir(parents=True, exist_ok=True)
            continue
        target.parent.mkdir(parents=True, exist_ok=True)
        with archive.open(member) as source, target.open("xb") as written:
            while chunk := source.read(1024 * 1024):
                left -= len(chunk)
                if left < 0:
                    raise StorageError(f"{file} unpacks to more than {most_bytes} bytes")
                written.write(chunk)
        mode = stat.S_IMODE(member.external_attr >> 16)
        target.chmod(0o700 if mode & 0o100 or not mode else 0o600)


def _safe(member: zipfile.ZipInfo, file: Path) -> PurePosixPath:
    """The member's path, known to stay inside."""
    path = PurePosixPath(member.filename.replace("\\", "/"))
    kind = stat.S_IFMT(member.external_attr >> 16)
    outside = path.is_absolute() or ".." in path.parts or ":" in member.filename or "\0" in member.filename
    if outside or not path.parts or kind not in (0, stat.S_IFREG, stat.S_IFDIR):
        raise StorageError(
            f"{file} is not safe: {member.filename[:120]!r} leaves its folder or is a link",
            hint="Do not use this bundle.",
        )
    return path


def _default(server: Mapping[str, Any]) -> dict[str, Any]:
    """How a type of server starts when its bundle does not say."""
    entry = str(server.get("entry_point", ""))
    place = "${__dirname}/" + entry
    starts: dict[str, dict[str, Any]] = {
        "node": {"command": "node", "args": [place]},
        "python": {"command": "python", "args": [place]},
        "uv": {"command": "uv", "args": ["run", "--directory", "${__dirname}", entry]},
        "binary": {"command": place, "args": []},
    }
    return starts.get(str(server.get("type")), {}) if entry else {}


def _places(folder: Path, home: Path, asked: Mapping[str, Any]) -> dict[str, str]:
    """What the placeholders of the format stand for; a user's value becomes a variable of ours."""
    own = {
        "__dirname": str(folder),
        "HOME": str(home),
        "DESKTOP": str(home / "Desktop"),
        "DOCUMENTS": str(home / "Documents"),
        "DOWNLOADS": str(home / "Downloads"),
        "pathSeparator": os.sep,
        "/": os.sep,
    }
    return own | {f"user_config.{key}": "${" + _plain(key) + "}" for key in asked}


def _variable(key: str, about: Mapping[str, Any], put: Any) -> Variable:
    default = about.get("default")
    if isinstance(default, list):
        default = os.pathsep.join(put(item) for item in default) or None
    return Variable(
        _plain(key),
        str(about.get("description") or about.get("title") or ""),
        about.get("required") is True,
        about.get("sensitive") is True,
        None if default is None else put(default),
        about.get(_SEVERAL) is True,
    )


def _plain(key: str) -> str:
    return re.sub(r"\W", "_", key)


def _word(value: Json) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _part(value: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    found = value.get(key)
    return found if isinstance(found, dict) else EMPTY


def _wrong(file: Path, what: str) -> ConfigError:
    return ConfigError(f"{file} is no usable bundle: {what}", origin=Origin(str(file)))
