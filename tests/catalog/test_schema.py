"""The published schema of configuration files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest

from anyact_server.catalog import dialects, read_configs
from anyact_server.catalog.schema import config_schema, schema_text

PUBLISHED = Path(__file__).parent.parent.parent / "docs" / "config.schema.json"

ACCEPTED: dict[str, Any] = {
    "claude desktop": {"mcpServers": {"a": {"command": "npx", "args": ["-y", "x"], "env": {"K": "v"}}}},
    "claude code": {
        "mcpServers": {
            "a": {"type": "stdio", "command": "${CMD:-npx}", "args": [], "env": {}},
            "b": {"type": "http", "url": "https://h/mcp", "headers": {"Authorization": "Bearer ${T:-t}"}},
            "c": {"type": "sse", "url": "${BASE:-https://h}/sse"},
        }
    },
    "cursor": {
        "mcpServers": {"a": {"command": "x", "envFile": "${workspaceFolder}/.env"}, "b": {"url": "https://h/sse"}}
    },
    "vs code": {
        "inputs": [{"type": "promptString", "id": "t", "description": "Token", "password": True, "default": "d"}],
        "servers": {"a": {"type": "stdio", "command": "x", "cwd": "${workspaceFolder}", "env": {"T": "${input:t}"}}},
    },
    "vs code settings": {"mcp": {"servers": {"a": {"command": "x"}}}, "editor.tabSize": 2},
    "cline": {"mcpServers": {"a": {"command": "x", "disabled": False, "timeout": 60, "autoApprove": ["y"]}}},
    "roo": {
        "mcpServers": {
            "a": {"url": "https://h/mcp", "alwaysAllow": ["y"], "disabledTools": ["z"], "type": "streamable-http"}
        }
    },
    "windsurf": {"mcpServers": {"a": {"serverUrl": "https://h/mcp", "headers": {"X": "y"}}}},
    "gemini": {
        "mcpServers": {
            "a": {
                "httpUrl": "https://h/mcp",
                "timeout": 5000,
                "trust": True,
                "includeTools": ["x"],
                "excludeTools": ["y"],
            }
        }
    },
    "inspector": {"mcpServers": {"a": {"transport": "stdio", "command": "x", "description": "d", "auth": "t"}}},
    "ours": {
        "anyact": {"exposure": "auto", "call_s": 5, "allow": ["a__*"], "_why": "a remark"},
        "mcpServers": {
            "a": {
                "command": "x",
                "title": "T",
                "description": "D",
                "tags": ["t"],
                "serial": True,
                "per_client": True,
                "pin": True,
                "disabled_actions": ["x*", "!xy"],
                "overrides": {"y": {"name": "N", "description": "D", "timeout": 3}},
                "timeouts": {"start": 1, "list": 2, "call": 3, "idle": 4, "ceiling": 5, "question": 6},
                "trust": "network",
                "era": "auto",
            },
            "b": {
                "url": "https://h/mcp",
                "anyact": {"pin": ["x"], "forward_headers": ["X-A"], "ca_file": "c.pem", "verify_tls": False},
            },
        },
    },
}
REFUSED: dict[str, Any] = {
    "no way to reach it": {"mcpServers": {"a": {"args": []}}},
    "a text for an entry": {"mcpServers": {"a": "npx"}},
    "an unknown transport": {"mcpServers": {"a": {"type": "bogus", "url": "https://h"}}},
    "args as a text": {"mcpServers": {"a": {"command": "x", "args": "-y"}}},
    "another scheme": {"mcpServers": {"a": {"url": "ftp://h"}}},
    "an unknown setting": {"anyact": {"colour": "red"}},
    "a list of servers": {"mcpServers": []},
    "a negative limit": {"mcpServers": {"a": {"command": "x", "timeouts": {"call": -1}}}},
}


def test_the_published_schema_is_that_of_the_code() -> None:
    """`scripts/config-schema` writes it anew."""
    assert PUBLISHED.read_text(encoding="utf-8") == schema_text()


def test_the_schema_is_sound() -> None:
    """By the rules of its own dialect."""
    jsonschema_rs.meta.validate(config_schema())


@pytest.mark.case("C1")
@pytest.mark.parametrize("name", ACCEPTED)
def test_every_dialect_fits_the_schema_and_is_read_without_a_word(name: str, tmp_path: Path) -> None:
    """What the schema accepts is used, and nothing in it is complained of."""
    jsonschema_rs.validator_for(config_schema()).validate(ACCEPTED[name])
    file = tmp_path / "c.json"
    file.write_text(json.dumps(ACCEPTED[name]), encoding="utf-8")
    (tmp_path / ".env").write_text("", encoding="utf-8")
    found = read_configs([file], {})
    assert [str(problem) for problem in found.problems] == []
    assert [spec.fault for spec in found.specs] == [None] * len(found.specs)


@pytest.mark.parametrize("name", REFUSED)
def test_mistakes_do_not_fit_the_schema(name: str) -> None:
    """An editor marks them while they are written."""
    assert not jsonschema_rs.validator_for(config_schema()).is_valid(REFUSED[name])


def test_every_field_that_is_read_is_in_the_schema() -> None:
    """And every transport."""
    server = config_schema()["$defs"]["server"]["properties"]
    described = {dialects.FIELDS.get(dialects.comparable(name)) for name in server}
    assert set(dialects.FIELDS.values()) <= described
    assert all(dialects.transport_of(word) for word in server["type"]["enum"])
