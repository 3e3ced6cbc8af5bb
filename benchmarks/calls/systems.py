"""The systems under measurement, and how each is reached on each route.

A route names the client's transport and the server's: `stdio→stdio`, `http→stdio`, `http→http`. A *direct* system has
no proxy: its time is that of one hop. A ratio is to the sum of the two direct hops that a route is made of.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks.report import environment

from .processes import PYTHON, free_port

ANYACT = str(Path(PYTHON).with_name("anyact"))
SMALL = [PYTHON, "-m", "benchmarks.calls.small", "stdio"]
FASTMCP = ("fastmcp", "fastmcp==4.2.3")
MCP_PROXY = ("mcp-proxy", "mcp-proxy==0.13.0")
FASTMCP_PROGRAM = """
import json, sys
from fastmcp.server import create_proxy
server = create_proxy(json.load(open(sys.argv[1])))
if sys.argv[2] == "bm25":
    from fastmcp.server.transforms.search import BM25SearchTransform
    server.add_transform(BM25SearchTransform())
if sys.argv[3] == "stdio":
    server.run(show_banner=False)
else:
    server.run(transport="http", host="127.0.0.1", port=int(sys.argv[3]), show_banner=False)
"""


Call = tuple[str, Mapping[str, object]]
ECHO: Call = ("echo", {"text": "hello"})
BY_ID: Call = ("call_action", {"action": "small__echo", "arguments": {"text": "hello"}})
SEARCHED: Call = ("call_tool", {"name": "echo", "arguments": {"text": "hello"}})


@dataclass(frozen=True, slots=True)
class System:
    """One way to reach the small server's tool.

    Attributes:
        name: as in the report.
        route: which hops it has.
        command: of the process that the client talks to (stdio) or that listens (HTTP).
        url: where the client connects; None for stdio.
        call: the tool and its arguments.
        port: where the process listens.
        era: the client's mode: auto or legacy.
        environment: more variables of the process.
    """

    name: str
    route: str
    command: Sequence[str]
    url: str | None = None
    call: Call = ECHO
    port: int = 0
    era: str = "auto"
    environment: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Workshop:
    """Where the configuration files of a run lie, and where the small server listens."""

    folder: Path
    small_port: int

    def config(self, http: bool) -> str:
        """A file that names the small server, behind a pipe or behind HTTP."""
        path = self.folder / ("http.json" if http else "stdio.json")
        entry = {"url": f"http://127.0.0.1:{self.small_port}/mcp"} if http else {"command": SMALL[0], "args": SMALL[1:]}
        path.write_text(json.dumps({"mcpServers": {"small": entry}}), encoding="utf-8")
        return str(path)

    def program(self) -> str:
        """The FastMCP program."""
        path = self.folder / "fastmcp_proxy.py"
        path.write_text(FASTMCP_PROGRAM, encoding="utf-8")
        return str(path)


def systems(shop: Workshop, era: str, rivals: bool) -> list[System]:
    """Every system on every route in one era of the client."""
    made = [
        System("direct", "stdio", SMALL, era=era),
        System("direct", "http", [], f"http://127.0.0.1:{shop.small_port}/mcp", era=era),
    ]
    for front, back in (("stdio", "stdio"), ("http", "stdio"), ("http", "http")):
        made += _anyact(shop, front, back, era)
        if rivals:
            made += _rivals(shop, front, back, era)
    return made


def _anyact(shop: Workshop, front: str, back: str, era: str) -> list[System]:
    config = shop.config(back == "http")
    route = f"{front}→{back}"
    if front == "stdio":
        home = str(shop.folder / f"home-{era}-{back}")
        base = [ANYACT, "serve", "--stdio", "--config", config]
        plain = System("anyact", route, [*base, "--home", f"{home}-p", "--server", "small"], era=era)
        return [plain, System("anyact call_action", route, [*base, "--home", f"{home}-c"], era=era, call=BY_ID)]
    port = free_port()
    home = str(shop.folder / f"home-{era}-http-{back}")
    command = [ANYACT, "serve", "--http", f"127.0.0.1:{port}", "--config", config, "--home", home]
    url = f"http://127.0.0.1:{port}/mcp"
    return [
        System("anyact", route, command, f"{url}/servers/small", port=port, era=era),
        System("anyact call_action", route, command, url, port=port, era=era, call=BY_ID),
    ]


def _rivals(shop: Workshop, front: str, back: str, era: str) -> list[System]:
    config, route = shop.config(back == "http"), f"{front}→{back}"
    fastmcp = str(environment(*FASTMCP) / "python")
    proxy = str(environment(*MCP_PROXY) / "mcp-proxy")
    if front == "stdio":
        base = [fastmcp, shop.program(), config]
        return [
            System("fastmcp proxy", route, [*base, "plain", "stdio"], era=era),
            System("fastmcp bm25 call_tool", route, [*base, "bm25", "stdio"], era=era, call=SEARCHED),
        ]
    made = []
    for name, kind, call in (("fastmcp proxy", "plain", ECHO), ("fastmcp bm25 call_tool", "bm25", SEARCHED)):
        port = free_port()
        command = [fastmcp, shop.program(), config, kind, str(port)]
        made.append(System(name, route, command, f"http://127.0.0.1:{port}/mcp", port=port, era=era, call=call))
    if back == "stdio":
        port = free_port()
        command = [proxy, "--host", "127.0.0.1", "--port", str(port), "--", *SMALL]
        made.append(
            System("mcp-proxy", route, command, f"http://127.0.0.1:{port}/mcp", port=port, era=era, environment=_path())
        )
    return made


def _path() -> dict[str, str]:
    return {"PATH": os.environ.get("PATH", "")}
