"""The words that configuration files use, and what each means here.

There is no standard: every client has its own spellings. A field's name is compared without case, `_` and `-`; several
words may mean the same field. Fields that only concern a client's own screens are known and passed over.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from anyact_server.types import Json, JsonObject, Transport

Shape = Literal["text", "texts", "map", "truth", "seconds", "any"]

ROOTS: tuple[tuple[str, ...], ...] = (
    ("mcpServers",),
    ("servers",),
    ("mcp", "servers"),
    ("context_servers",),
    ("mcp_servers",),
)
"""Where the servers stand: most clients; VS Code; VS Code's settings; Zed; Codex."""

TRANSPORTS: Mapping[str, Transport] = {
    "stdio": "stdio",
    "local": "stdio",
    "http": "http",
    "streamablehttp": "http",
    "remote": "http",
    "sse": "sse",
}
SPELLINGS = "stdio, http, streamable-http, streamableHttp, sse"
"""The transports as a message lists them."""

FIELDS: Mapping[str, str] = {
    "type": "transport",
    "transport": "transport",
    "transporttype": "transport",
    "command": "command",
    "cmd": "command",
    "args": "args",
    "arguments": "args",
    "env": "env",
    "environment": "env",
    "envfile": "env_file",
    "cwd": "cwd",
    "workingdirectory": "cwd",
    "url": "url",
    "serverurl": "url",
    "httpurl": "http_url",
    "headers": "headers",
    "httpheaders": "headers",
    "auth": "auth",
    "title": "title",
    "displayname": "title",
    "description": "description",
    "tags": "tags",
    "disabled": "disabled",
    "enabled": "enabled",
    "timeout": "timeout",
    "timeouts": "timeouts",
    "disabledtools": "disabled_actions",
    "excludetools": "disabled_actions",
    "disabledactions": "disabled_actions",
    "includetools": "only",
    "enabledtools": "only",
    "serial": "serial",
    "perclient": "per_client",
    "pin": "pin",
    "overrides": "overrides",
    "trust": "trust",
    "era": "era",
    "forwardheaders": "forward_headers",
    "cafile": "ca_file",
    "verifytls": "verify_tls",
    "anyact": "anyact",
}
"""Comparable name of a field to its name here."""

FOREIGN = frozenset(
    (
        "alwaysallow",
        "autoapprove",
        "autostart",
        "cache",
        "category",
        "comment",
        "comments",
        "config",
        "dev",
        "extensionname",
        "gallery",
        "homepage",
        "icon",
        "icons",
        "id",
        "info",
        "installed",
        "kind",
        "logo",
        "manifest",
        "metadata",
        "name",
        "note",
        "notes",
        "oauth",
        "oauthscopes",
        "provider",
        "registry",
        "repository",
        "required",
        "sandbox",
        "sandboxenabled",
        "scope",
        "scopes",
        "source",
        "startuptimeoutms",
        "startuptimeoutsec",
        "tools",
        "version",
        "vendor",
    )
)
"""Fields of other programs that mean nothing to a gateway: approvals, icons, where an entry came from."""

SHAPES: Mapping[str, Shape] = {
    "transport": "text",
    "command": "any",
    "args": "texts",
    "env": "map",
    "env_file": "text",
    "cwd": "text",
    "url": "text",
    "http_url": "text",
    "headers": "map",
    "auth": "any",
    "title": "text",
    "description": "text",
    "tags": "texts",
    "disabled": "truth",
    "enabled": "truth",
    "timeout": "seconds",
    "timeouts": "any",
    "disabled_actions": "texts",
    "only": "texts",
    "serial": "truth",
    "per_client": "truth",
    "pin": "any",
    "overrides": "any",
    "trust": "any",
    "era": "text",
    "forward_headers": "texts",
    "ca_file": "text",
    "verify_tls": "truth",
}
"""What each field holds."""

VITAL = frozenset(
    (
        "transport",
        "command",
        "args",
        "env",
        "env_file",
        "cwd",
        "url",
        "http_url",
        "headers",
        "disabled",
        "enabled",
        "disabled_actions",
        "only",
        "serial",
        "per_client",
        "trust",
        "era",
        "forward_headers",
        "ca_file",
        "verify_tls",
        "auth",
    )
)
"""Fields without which a server would run otherwise than meant: a fault in one keeps the server from being started.
A fault in any other field costs that field alone."""

TIMEOUTS: Mapping[str, str] = {
    "start": "start_s",
    "list": "list_s",
    "call": "call_s",
    "ceiling": "ceiling_s",
    "idle": "idle_s",
    "question": "question_s",
}
LONGEST_SECONDS = 3600.0
"""A client's `timeout` above this is meant in milliseconds: hosts that count seconds allow an hour at most."""


def comparable(name: str) -> str:
    """A field's name without case, `_` and `-`."""
    return name.replace("_", "").replace("-", "").lower()


def is_remark(name: str) -> bool:
    """Whether a field is a remark that some people put into JSON (`_comment`, `//`, `$schema`, `x-...`)."""
    return name.startswith(("_", "$", "/", "#", "x-")) or name == ""


def transport_of(word: str) -> Transport | None:
    """The transport that a spelling means."""
    return TRANSPORTS.get(comparable(word))


def inferred_transport(fields: JsonObject) -> Transport | None:
    """The transport of an entry that names none.

    A command means stdio; `httpUrl` streamable HTTP; a URL with a path segment `sse` SSE, any other streamable HTTP
    (which falls back to SSE by itself).
    """
    if "command" in fields:
        return "stdio"
    if "http_url" in fields:
        return "http"
    url = fields.get("url")
    if url is None:
        return None
    path = str(url).partition("?")[0].partition("#")[0]
    return "sse" if "sse" in path.lower().split("/")[3:] else "http"


def looks_like_server(value: Json) -> bool:
    """Whether a value is an entry of a server: for files that hold entries without any root."""
    return isinstance(value, dict) and any(
        FIELDS.get(comparable(key)) in ("command", "url", "http_url") for key in value
    )


def unwrapped_command(command: Json) -> tuple[Json, list[Json], Json]:
    """A command in its longer spellings as (command, first arguments, env).

    A list holds the command and its arguments; an object has `path`, `args` and `env`.
    """
    if isinstance(command, list) and command:
        return command[0], command[1:], None
    if isinstance(command, dict) and "path" in command:
        args = command.get("args")
        return command["path"], args if isinstance(args, list) else [], command.get("env")
    return command, [], None
