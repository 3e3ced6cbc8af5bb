"""The JSON Schema of configuration files, for editors and for checking: what is written in our own spelling.

The files are read more leniently than this says (see `dialects`); what this accepts is read without a fault of form.
"""

from __future__ import annotations

import json
from typing import Any

from anyact_server.settings import Settings
from anyact_server.types import JsonObject

from .dialects import ROOTS, SPELLINGS, TIMEOUTS

DIALECT = "https://json-schema.org/draft/2020-12/schema"
_SECONDS = {"type": "number", "exclusiveMinimum": 0}
_VARIABLES = (
    "Variables: ${NAME}, ${env:NAME}, ${NAME:-default}, ${input:id}, ${userHome}, ${workspaceFolder}; $${ for ${."
)
_SCALAR = {"type": ["string", "number", "boolean"]}
_NAMES = {"type": "array", "items": {"type": "string"}}


def _described(schema: JsonObject, text: str) -> dict[str, Any]:
    return {**schema, "description": text}


def _map_of(schema: JsonObject, text: str) -> dict[str, Any]:
    return {"type": "object", "additionalProperties": schema, "description": text}


def _reaching() -> dict[str, Any]:
    """Fields that say how a server is reached, as other programs write them too."""
    url = {"type": "string", "pattern": r"^(https?://|\$\{)"}
    return {
        "type": {
            "description": f"The transport; inferred when missing. Allowed: {SPELLINGS}.",
            "enum": ["stdio", "http", "streamable-http", "streamable_http", "streamableHttp", "sse", "local", "remote"],
        },
        "command": _described({"type": "string", "minLength": 1}, f"The program to start. {_VARIABLES}"),
        "args": _described(
            {"type": "array", "items": _SCALAR}, "Its arguments, handed over exactly; nothing is split and no shell."
        ),
        "env": _map_of(_SCALAR, "Environment variables of the program, beside a small base environment."),
        "envFile": {"type": "string", "description": "A file of NAME=VALUE lines; `env` wins over it."},
        "cwd": {"type": "string", "description": "Folder to start the program in; relative to the workspace folder."},
        "url": _described(url, f"Address of a remote server. {_VARIABLES}"),
        "serverUrl": _described(url, "As `url` (Windsurf)."),
        "httpUrl": _described(url, "As `url`, streamable HTTP (Gemini)."),
        "headers": _map_of(_SCALAR, "HTTP headers that are sent to the server."),
        "auth": {"type": "string", "description": "A bearer token; `oauth` leaves it to a login."},
        "disabled": {"type": "boolean", "description": "Keep the entry, but do not use the server."},
        "enabled": {"type": "boolean", "description": "The opposite of `disabled`."},
        "timeout": _described(_SECONDS, "Limit of one call in seconds; above 3,600 it is read as milliseconds."),
        "disabledTools": _described(_NAMES, "As `disabled_actions`."),
        "excludeTools": _described(_NAMES, "As `disabled_actions` (Gemini)."),
        "includeTools": _described(_NAMES, "Only these tools are offered (Gemini)."),
        "autoApprove": _described(_NAMES, "A client's own matter; passed over."),
        "alwaysAllow": _described(_NAMES, "A client's own matter; passed over."),
    }


def _own() -> dict[str, Any]:
    """Fields that only AnyAct knows."""
    override = {
        "type": "object",
        "additionalProperties": False,
        "properties": {
            "name": {"type": "string", "description": "Its shown name; the id never changes."},
            "description": {"type": "string", "description": "What it does, in place of the server's words."},
            "timeout": _described(_SECONDS, "Limit of one call of this action, in seconds."),
        },
    }
    timeouts = {
        "type": "object",
        "additionalProperties": False,
        "properties": dict.fromkeys(TIMEOUTS, _SECONDS),
        "description": "Limits in seconds: start, list, call, ceiling (progress or not), idle, question.",
    }
    patterns = "names, ids or patterns with * and ?; the last one that fits decides, `!` in front means not"
    return {
        "title": {"type": "string", "description": "A name for people."},
        "description": {"type": "string", "description": "What the server is for; searched."},
        "tags": _described(_NAMES, "Words to search and filter by."),
        "serial": {"type": "boolean", "description": "One call at a time."},
        "per_client": {"type": "boolean", "description": "A connection of its own for every client."},
        "pin": {
            "description": f"Actions shown to clients as tools of their own: true for all, or {patterns}.",
            "anyOf": [{"type": "boolean"}, {"type": "string"}, _NAMES],
        },
        "disabled_actions": _described(_NAMES, f"Actions that are switched off: {patterns}."),
        "overrides": _map_of(override, "Changes to single actions, by the server's own names."),
        "timeouts": timeouts,
        "trust": {
            "description": "`network`: addresses of this machine and of private networks are refused.",
            "anyOf": [{"enum": ["local", "network"]}, {"type": "boolean"}],
        },
        "era": {"enum": ["auto", "legacy", "modern"], "description": "The protocol's era; found out when `auto`."},
        "forward_headers": _described(_NAMES, "Headers of the client that are passed on to this server."),
        "ca_file": {"type": "string", "description": "Certificates to trust beside the system's."},
        "verify_tls": {"type": "boolean", "description": "Whether certificates are checked."},
    }


def _server() -> dict[str, Any]:
    own = _own()
    return {
        "type": "object",
        "properties": {
            **_reaching(),
            **own,
            "anyact": {
                "type": "object",
                "additionalProperties": False,
                "properties": own,
                "description": "AnyAct's own fields, where other programs read the file too.",
            },
        },
        "anyOf": [{"required": [name]} for name in ("command", "url", "serverUrl", "httpUrl")],
    }


def _settings() -> dict[str, Any]:
    body = Settings.model_json_schema()
    properties = {name: {k: v for k, v in part.items() if k != "title"} for name, part in body["properties"].items()}
    return {
        "type": "object",
        "additionalProperties": False,
        "properties": properties,
        "patternProperties": {"^(_|\\$|//|#|x-)": True},
        "description": "Settings of AnyAct.",
    }


def config_schema() -> dict[str, Any]:
    """The schema of a configuration file, JSON Schema 2020-12."""
    servers = _map_of({"$ref": "#/$defs/server"}, "The servers by name.")
    entry = {
        "type": "object",
        "required": ["id"],
        "properties": {
            "id": {"type": "string"},
            "type": {"type": "string"},
            "description": {"type": "string"},
            "default": {"type": "string"},
            "password": {"type": "boolean"},
        },
    }
    properties: dict[str, Any] = {route[0]: servers for route in ROOTS if len(route) == 1}
    properties["mcp"] = {"type": "object", "properties": {"servers": servers}}
    properties["inputs"] = {
        "type": "array",
        "items": entry,
        "description": "Questions whose answers `${input:id}` stands for (VS Code); "
        "answered by ANYACT_INPUT_<ID>, else by the default.",
    }
    properties["anyact"] = _settings()
    return {
        "$schema": DIALECT,
        "title": "AnyAct configuration",
        "description": "Servers behind AnyAct, and its settings. Comments and trailing commas are allowed.",
        "type": "object",
        "properties": properties,
        "$defs": {"server": _server()},
    }


def schema_text() -> str:
    """The schema as the file `docs/config.schema.json` holds it."""
    return json.dumps(config_schema(), indent=2, ensure_ascii=False) + "\n"
