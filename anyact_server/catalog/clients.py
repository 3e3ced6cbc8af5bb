"""The clients that keep lists of MCP servers: where their files lie and how each writes an entry.

Pure data and functions of platform, home and environment. Reading stands in `clients_read`, writing in `connect`.
Places and spellings as their makers document them (2026-12); ours are tested on Linux alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from anyact_server.errors import UsageError
from anyact_server.types import EMPTY

Scope = Literal["user", "project"]
Format = Literal["json", "toml"]
Grammar = Literal["none", "braced", "editor", "dollar", "opencode"]
"""How a client's texts name variables: not at all; `${X}`; `${env:X}` and its kin; `$X`; `{env:X}`."""


@dataclass(frozen=True, slots=True)
class Client:
    """A client program.

    Attributes:
        name: what the command line calls it.
        title: what people call it.
        root: the keys that lead to its servers.
        user: its file for the user, with `{support}` (the platform's folder for programs), `{dot}` (the folder of
            dot-configurations), `{code}` (VS Code's user folder) and `~`; the first one is written to.
        project: its file inside a project folder.
        stdio: fields that its entry of a command has besides.
        http: fields that its entry of a URL has besides; None when it can only run commands.
        url: how it spells the URL's field.
        joined: command and arguments are one list.
        moved_by: the environment variable that moves its folder, and the folder that it stands for.
    """

    name: str
    title: str
    root: tuple[str, ...] = ("mcpServers",)
    user: tuple[str, ...] = ()
    project: str | None = None
    format: Format = "json"
    grammar: Grammar = "none"
    stdio: Mapping[str, Any] = EMPTY
    http: Mapping[str, Any] | None = EMPTY
    url: str = "url"
    joined: bool = False
    moved_by: tuple[str, str] | None = None


@dataclass(frozen=True, slots=True)
class Place:
    """One file of a client, and the keys that lead to the servers in it.

    `folder` is the project's, for the files of a project. `written` marks the file that `connect` writes.
    """

    client: Client
    scope: Scope
    file: Path
    root: tuple[str, ...]
    folder: Path | None = None
    written: bool = True


_CLINE = "{code}/globalStorage/saoudrizwan.claude-dev/settings/cline_mcp_settings.json"
_ROO = "{code}/globalStorage/rooveterinaryinc.roo-cline/settings/mcp_settings.json"

CLIENTS: tuple[Client, ...] = (
    Client(
        "claude-desktop",
        "Claude Desktop",
        user=("{support}/Claude/claude_desktop_config.json",),
        http=None,
    ),
    Client(
        "claude-code",
        "Claude Code",
        user=("~/.claude.json",),
        project=".mcp.json",
        grammar="braced",
        stdio={"type": "stdio"},
        http={"type": "http"},
        moved_by=("CLAUDE_CONFIG_DIR", "~"),
    ),
    Client("cursor", "Cursor", user=("~/.cursor/mcp.json",), project=".cursor/mcp.json", grammar="editor"),
    Client(
        "vscode",
        "VS Code",
        ("servers",),
        user=("{code}/mcp.json",),
        project=".vscode/mcp.json",
        grammar="editor",
        stdio={"type": "stdio"},
        http={"type": "http"},
    ),
    Client(
        "windsurf",
        "Windsurf",
        user=("~/.codeium/windsurf/mcp_config.json",),
        grammar="editor",
        url="serverUrl",
    ),
    Client("cline", "Cline", user=(_CLINE,), stdio={"disabled": False}, http={"type": "streamableHttp"}),
    Client(
        "roo",
        "Roo Code",
        user=(_ROO,),
        project=".roo/mcp.json",
        grammar="editor",
        http={"type": "streamable-http"},
    ),
    Client(
        "kiro",
        "Kiro",
        user=("~/.kiro/settings/mcp.json",),
        project=".kiro/settings/mcp.json",
        grammar="braced",
    ),
    Client(
        "zed",
        "Zed",
        ("context_servers",),
        user=("{zed}/settings.json",),
        project=".zed/settings.json",
        stdio={"source": "custom"},
        http={"source": "custom"},
    ),
    Client(
        "gemini",
        "Gemini CLI",
        user=("~/.gemini/settings.json",),
        project=".gemini/settings.json",
        grammar="dollar",
        url="httpUrl",
    ),
    Client(
        "qwen",
        "Qwen Code",
        user=("~/.qwen/settings.json",),
        project=".qwen/settings.json",
        grammar="dollar",
        url="httpUrl",
    ),
    Client(
        "codex",
        "Codex",
        ("mcp_servers",),
        user=("~/.codex/config.toml",),
        project=".codex/config.toml",
        format="toml",
        moved_by=("CODEX_HOME", "~/.codex"),
    ),
    Client(
        "opencode",
        "opencode",
        ("mcp",),
        user=("{dot}/opencode/opencode.json", "{dot}/opencode/opencode.jsonc"),
        project="opencode.json",
        grammar="opencode",
        stdio={"type": "local", "enabled": True},
        http={"type": "remote", "enabled": True},
        joined=True,
    ),
    Client(
        "copilot",
        "Copilot CLI",
        user=("~/.copilot/mcp-config.json",),
        grammar="braced",
        stdio={"type": "local", "tools": ["*"]},
        http={"type": "http", "tools": ["*"]},
        moved_by=("COPILOT_HOME", "~/.copilot"),
    ),
    Client("lmstudio", "LM Studio", user=("~/.lmstudio/mcp.json",)),
    Client("amazonq", "Amazon Q", user=("~/.aws/amazonq/mcp.json",), project=".amazonq/mcp.json", http=None),
)
"""Every client that is known, in the order in which they are looked at."""


def client(name: str) -> Client:
    """The client of this name.

    Raises:
        UsageError: none has it; lists those there are.
    """
    wanted = name.lower().replace(" ", "-").replace("_", "-")
    for one in CLIENTS:
        if wanted in (one.name, one.name.replace("-", ""), one.title.lower().replace(" ", "-")):
            return one
    raise UsageError(
        f"no client is named {name!r}",
        hint=f"Known: {', '.join(one.name for one in CLIENTS)}. For another, put `anyact serve --stdio` into its file.",
    )


def places(
    platform: str,
    home: Path,
    environment: Mapping[str, str],
    project: Path | None = None,
    only: Sequence[Client] = CLIENTS,
) -> tuple[Place, ...]:
    """Every file in which these clients may keep servers, whether it is there or not.

    Args:
        platform: as in `sys.platform`.
        home: the user's home directory.
        environment: for the variables that move folders.
        project: also the files of this project folder.
        only: the clients.
    """
    return tuple(place for one in only for place in _places(one, platform, home, environment, project))


def _places(
    one: Client, platform: str, home: Path, environment: Mapping[str, str], project: Path | None
) -> Iterator[Place]:
    folders = _folders(platform, home, environment)
    for number, template in enumerate(one.user):
        file = _file(one, template, folders, home, environment)
        yield Place(one, "user", file, one.root, written=number == 0)
        if one.name == "claude-code" and project is not None:
            yield Place(one, "project", file, ("projects", str(project), *one.root), project, written=False)
    if one.name == "vscode":
        settings = Path(folders["{code}"]) / "settings.json"
        yield Place(one, "user", settings, ("mcp", "servers"), written=False)
    if one.project is not None and project is not None:
        yield Place(one, "project", project / one.project, one.root, project)


def _folders(platform: str, home: Path, environment: Mapping[str, str]) -> Mapping[str, str]:
    dot = environment.get("XDG_CONFIG_HOME") or str(home / ".config")
    if platform == "darwin":
        support = str(home / "Library" / "Application Support")
        zed = dot
    elif platform == "win32":
        support = environment.get("APPDATA") or str(home / "AppData" / "Roaming")
        dot, zed = str(home / ".config"), support
    else:
        support, zed = dot, dot
    inside = "Zed" if platform == "win32" else "zed"
    return {"{support}": support, "{dot}": dot, "{code}": f"{support}/Code/User", "{zed}": f"{zed}/{inside}"}


def _file(one: Client, template: str, folders: Mapping[str, str], home: Path, environment: Mapping[str, str]) -> Path:
    if one.moved_by is not None and (moved := environment.get(one.moved_by[0])):
        template = template.replace(one.moved_by[1], moved, 1)
    for key, folder in folders.items():
        template = template.replace(key, folder)
    return Path(home / template[2:]) if template.startswith("~/") else Path(template)


@dataclass(frozen=True, slots=True)
class Target:
    """How a client reaches AnyAct: by a command, or by a URL with headers."""

    command: str | None = None
    args: tuple[str, ...] = ()
    env: Mapping[str, str] = EMPTY
    url: str | None = None
    headers: Mapping[str, str] = EMPTY


def own_entry(one: Client, target: Target) -> dict[str, Any]:
    """AnyAct as an entry of this client.

    Raises:
        UsageError: the client only runs commands and the target is a URL.
    """
    if target.url is not None:
        if one.http is None:
            raise UsageError(f"{one.title} only runs commands", hint="Connect it without --url.")
        headers = (
            {"http_headers" if one.format == "toml" else "headers": dict(target.headers)} if target.headers else {}
        )
        return {**one.http, one.url: target.url, **headers}
    made: dict[str, Any] = dict(one.stdio)
    if one.joined:
        made["command"] = [target.command, *target.args]
    else:
        made.update(command=target.command, args=list(target.args))
    if target.env:
        made["environment" if one.name == "opencode" else "env"] = dict(target.env)
    return made
