"""Where clients keep their files, and how AnyAct stands in each."""

from __future__ import annotations

from pathlib import Path

import pytest

from anyact_server.catalog.clients import CLIENTS, Target, client, own_entry, places
from anyact_server.errors import UsageError

HOME = Path("/home/me")
STDIO = Target("/bin/anyact", ("serve", "--stdio"), {"A": "b"})
URL = Target(url="http://127.0.0.1:8484/mcp", headers={"Authorization": "Bearer t"})


def files(
    platform: str, environment: dict[str, str] | None = None, project: Path | None = None
) -> dict[str, list[str]]:
    """The files by client."""
    found: dict[str, list[str]] = {}
    for place in places(platform, HOME, environment or {}, project):
        found.setdefault(place.client.name, []).append(str(place.file))
    return found


def test_linux_files_follow_the_folder_for_configurations() -> None:
    """`~/.config`, or where the user moved it."""
    found = files("linux")
    assert found["claude-desktop"] == ["/home/me/.config/Claude/claude_desktop_config.json"]
    assert found["claude-code"] == ["/home/me/.claude.json"]
    assert found["cursor"] == ["/home/me/.cursor/mcp.json"]
    assert found["vscode"] == ["/home/me/.config/Code/User/mcp.json", "/home/me/.config/Code/User/settings.json"]
    assert found["windsurf"] == ["/home/me/.codeium/windsurf/mcp_config.json"]
    assert found["cline"][0].endswith("Code/User/globalStorage/saoudrizwan.claude-dev/settings/cline_mcp_settings.json")
    assert found["zed"] == ["/home/me/.config/zed/settings.json"]
    assert files("linux", {"XDG_CONFIG_HOME": "/cfg"})["zed"] == ["/cfg/zed/settings.json"]


def test_macos_and_windows_have_folders_of_their_own() -> None:
    """Application Support, and the roaming profile."""
    mac = files("darwin")
    assert mac["claude-desktop"] == ["/home/me/Library/Application Support/Claude/claude_desktop_config.json"]
    assert mac["zed"] == ["/home/me/.config/zed/settings.json"]
    windows = files("win32", {"APPDATA": "/roaming"})
    assert windows["claude-desktop"] == ["/roaming/Claude/claude_desktop_config.json"]
    assert windows["vscode"][0] == "/roaming/Code/User/mcp.json"
    assert windows["zed"] == ["/roaming/Zed/settings.json"]
    assert files("win32")["claude-desktop"] == ["/home/me/AppData/Roaming/Claude/claude_desktop_config.json"]


def test_a_project_has_files_of_its_own() -> None:
    """Beside the user's; Claude Code's also inside the user's file."""
    found = files("linux", project=Path("/p"))
    assert found["claude-code"] == ["/home/me/.claude.json", "/home/me/.claude.json", "/p/.mcp.json"]
    assert found["vscode"][-1] == "/p/.vscode/mcp.json"
    assert found["cursor"][-1] == "/p/.cursor/mcp.json"
    local = places("linux", HOME, {}, Path("/p"), [client("claude-code")])[1]
    assert local.root == ("projects", "/p", "mcpServers") and not local.written


def test_a_variable_of_the_client_moves_its_folder() -> None:
    """As its own documentation says."""
    assert files("linux", {"CLAUDE_CONFIG_DIR": "/cc"})["claude-code"] == ["/cc/.claude.json"]
    assert files("linux", {"CODEX_HOME": "/cx"})["codex"] == ["/cx/config.toml"]


def test_clients_are_found_by_any_spelling_of_their_name() -> None:
    """And an unknown one gets the list."""
    assert client("Claude Desktop").name == client("claude_desktop").name == "claude-desktop"
    assert client("ClaudeCode").name == "claude-code"
    assert client("VS Code").name == "vscode"
    with pytest.raises(UsageError, match="no client is named 'emacs'") as caught:
        client("emacs")
    assert "cursor" in str(caught.value.hint)


def test_anyact_stands_in_each_client_as_it_wants_it() -> None:
    """By command and by URL, in every dialect."""
    assert own_entry(client("claude-desktop"), STDIO) == {
        "command": "/bin/anyact",
        "args": ["serve", "--stdio"],
        "env": {"A": "b"},
    }
    assert own_entry(client("vscode"), STDIO)["type"] == "stdio"
    assert own_entry(client("vscode"), URL) == {"type": "http", "url": URL.url, "headers": dict(URL.headers)}
    assert own_entry(client("windsurf"), URL)["serverUrl"] == URL.url
    assert own_entry(client("gemini"), URL)["httpUrl"] == URL.url
    assert own_entry(client("codex"), URL) == {"url": URL.url, "http_headers": dict(URL.headers)}
    assert own_entry(client("opencode"), STDIO) == {
        "type": "local",
        "enabled": True,
        "command": ["/bin/anyact", "serve", "--stdio"],
        "environment": {"A": "b"},
    }
    assert own_entry(client("cursor"), Target(url="http://h/")) == {"url": "http://h/"}
    with pytest.raises(UsageError, match="Claude Desktop only runs commands"):
        own_entry(client("claude-desktop"), URL)


def test_every_client_has_a_name_a_title_and_a_file() -> None:
    """The table is whole, and no name stands twice."""
    assert len({one.name for one in CLIENTS}) == len(CLIENTS) >= 12
    for one in CLIENTS:
        assert one.title and one.root and one.user
