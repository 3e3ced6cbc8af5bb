"""FastMCP with its BM25 search over the same tools: what its two tools and its answers cost."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks.calls.systems import FASTMCP
from benchmarks.report import environment

PROGRAM = """
import asyncio, json, sys
from fastmcp import Client, FastMCP
from fastmcp.server.transforms.search import BM25SearchTransform
from fastmcp.tools import Tool

class Known(Tool):
    async def run(self, arguments):
        raise RuntimeError("this tool is only searched")

async def main():
    given = json.load(open(sys.argv[1]))
    server = FastMCP("rival")
    for one in given["tools"]:
        server.add_tool(Known(name=one["name"], description=one["description"], parameters=one["inputSchema"]))
    server.add_transform(BM25SearchTransform(**given["options"]))
    async with Client(server) as client:
        tools = [tool.model_dump(mode="json", by_alias=True, exclude_none=True) for tool in await client.list_tools()]
        found = []
        for query in given["queries"]:
            answer = await client.call_tool("search_tools", {"query": query})
            found.append("\\n".join(block.text for block in answer.content if block.type == "text"))
    print(json.dumps({"tools": tools, "answers": found}))

asyncio.run(main())
"""


def fastmcp(
    tools: Sequence[Mapping[str, Any]], queries: Sequence[str], folder: Path, options: Mapping[str, Any]
) -> dict[str, Any]:
    """Let FastMCP search.

    Args:
        tools: name, description and inputSchema of each.
        queries: what is searched.
        folder: for its program and its input.
        options: of its search; nothing means its defaults.

    Returns:
        `tools`, the definitions that a client is shown, and `answers`, one text per query.
    """
    program, given = folder / "rival.py", folder / "rival.json"
    program.write_text(PROGRAM, encoding="utf-8")
    given.write_text(
        json.dumps({"tools": list(tools), "queries": list(queries), "options": dict(options)}), encoding="utf-8"
    )
    python = str(environment(*FASTMCP) / "python")
    told = subprocess.run([python, program, given], stdout=subprocess.PIPE, encoding="utf-8", check=True, timeout=600)
    return dict(json.loads(told.stdout.splitlines()[-1]))
