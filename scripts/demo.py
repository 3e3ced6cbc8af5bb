"""The demo: public MCP servers behind AnyAct, a request in plain words, an action found, called and observed.

Installs the servers with `anyact add` into a home of its own (`.demo/`), shows the catalog, then connects the official
client to `anyact serve --stdio` and works through it, as any MCP client would.
"""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import anyio
from mcp import Client, StdioServerParameters
from mcp.types import CallToolResult, TextContent

ROOT = Path(__file__).resolve().parent.parent
DEMO = ROOT / ".demo"
HOME = DEMO / "home"
ANYACT = Path(sys.executable).with_name("anyact")
SERVERS: tuple[tuple[str, ...], ...] = (
    ("time",),
    ("git", "--", "--repository", str(DEMO / "project")),
    ("fetch",),
    ("sqlite", "--", "--db-path", str(DEMO / "demo.sqlite")),
)
NODE_SERVERS: tuple[tuple[str, ...], ...] = (("filesystem", "--", str(DEMO / "project")), ("memory",))
REQUESTS: tuple[tuple[str, str, dict[str, Any]], ...] = (
    ("what time is it in Tokyo right now", "get_current_time", {"timezone": "Asia/Tokyo"}),
    ("which commits were made lately", "git_log", {"repo_path": str(DEMO / "project")}),
    ("which tables does my database have", "list_tables", {}),
)
"""(request in plain words, the original name of the action that does it, its arguments)."""


def say(text: str = "") -> None:
    """Print a line at once."""
    print(text, flush=True)


def run(*words: str, quiet: bool = False) -> str:
    """Run a command to its end; its output when `quiet`. Ends the demo when it fails."""
    done = subprocess.run(words, cwd=ROOT, capture_output=quiet, encoding="utf-8", check=False)
    if done.returncode:
        sys.exit(f"{' '.join(words)} failed with exit code {done.returncode}\n{done.stderr or ''}")
    return done.stdout or ""


def make_project() -> None:
    """A small repository and a database for the servers to work on."""
    project = DEMO / "project"
    if not (project / ".git").exists():
        project.mkdir(parents=True, exist_ok=True)
        (project / "notes.md").write_text("# Notes\n\nBuy milk.\n", encoding="utf-8")
        identity = ("-c", "user.name=Demo", "-c", "user.email=demo@example.org")
        run("git", "init", "--quiet", str(project), quiet=True)
        run("git", "-C", str(project), "add", ".", quiet=True)
        run("git", "-C", str(project), *identity, "commit", "--quiet", "-m", "Write down the milk", quiet=True)
    with sqlite3.connect(DEMO / "demo.sqlite") as database:
        database.execute("CREATE TABLE IF NOT EXISTS errands (what TEXT, done INTEGER)")


def chosen_servers() -> list[tuple[str, ...]]:
    """The servers of the demo; those that need Node only where it is."""
    return [*SERVERS, *(NODE_SERVERS if shutil.which("npm") else ())]


def add_servers() -> None:
    """Add each server that is not there yet."""
    config = HOME / "config.json"
    known = json.loads(config.read_text(encoding="utf-8"))["mcpServers"] if config.exists() else {}
    for server in chosen_servers():
        if server[0] not in known:
            say(f"$ anyact add {' '.join(server)}")
            run(str(ANYACT), "add", *server[:1], "--home", str(HOME), *server[1:])


def text_of(result: CallToolResult) -> str:
    """The text of a result."""
    return "\n".join(block.text for block in result.content if isinstance(block, TextContent))


async def work(requests: Sequence[str]) -> None:
    """Find and call through the official client."""
    command = StdioServerParameters(
        command=str(ANYACT), args=["serve", "--stdio", "--home", str(HOME)], env=dict(os.environ)
    )
    started = time.perf_counter()
    async with Client(command) as client:
        listed = await client.list_tools()
        seconds = time.perf_counter() - started
        say(f"\nconnected in {seconds:.1f} s, protocol {client.protocol_version}; {len(listed.tools)} tools are seen:")
        say(f"  {', '.join(tool.name for tool in listed.tools)}")
        for request, name, arguments in REQUESTS:
            if requests:
                continue
            say(f"\n> {request}")
            found = await client.call_tool("search_actions", {"intents": [request], "limit": 5})
            ids = (found.structured_content or {}).get("actions", [])
            say(f"  found: {', '.join(ids)}")
            best = next((one for one in ids if name in one), None)
            if best is None:
                sys.exit(f"{name} was not among the actions found")
            answer = await client.call_tool("call_action", {"action": best, "arguments": arguments})
            say(f"  called {best}:")
            say("    " + text_of(answer).replace("\n", "\n    "))
            if answer.is_error:
                sys.exit("the call failed")
        for request in requests:
            say(f"\n> {request}")
            found = await client.call_tool("search_actions", {"intents": [request], "limit": 5})
            say(text_of(found))


def main() -> None:
    """Run the demo from nothing."""
    DEMO.mkdir(exist_ok=True)
    os.environ["ANYACT_HOME"] = str(HOME)
    # uvx comes with the development tools: it installs a server in seconds, where pip takes half a minute.
    os.environ["PATH"] = os.pathsep.join([str(ANYACT.parent), os.environ.get("PATH", "")])
    make_project()
    add_servers()
    say("\n$ anyact servers --check")
    run(str(ANYACT), "servers", "--check", "--home", str(HOME))
    anyio.run(work, sys.argv[1:])
    say("\ndone. Your turn: this entry puts the servers of this demo into your client.")
    say("Without --home it serves your own, which `anyact add` and `anyact import` collect:")
    entry = {"anyact": {"command": str(ANYACT), "args": ["serve", "--stdio", "--home", str(HOME)]}}
    say(json.dumps({"mcpServers": entry}, indent=2))


if __name__ == "__main__":
    main()
