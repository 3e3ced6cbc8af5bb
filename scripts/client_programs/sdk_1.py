"""The official SDK, version 1, as a client: `sdk_1.py TARGET`, as `sdk_2.py` without a mode."""

import json
import sys

import anyio
from mcp import ClientSession, StdioServerParameters
from mcp.client.sse import sse_client
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamablehttp_client


def connect(target: dict) -> object:
    """The streams of a target."""
    if "url" in target:
        return streamablehttp_client(target["url"])
    if "sse" in target:
        return sse_client(target["sse"])
    return stdio_client(StdioServerParameters(command=target["command"][0], args=target["command"][1:]))


async def main() -> None:
    """List, search, call."""
    target = json.loads(sys.argv[1])
    async with connect(target) as (read, write, *_), ClientSession(read, write) as session:
        told = await session.initialize()
        tools = [tool.name for tool in (await session.list_tools()).tools]
        found = await session.call_tool("search_actions", target["search"])
        answer = await session.call_tool("call_action", target["call"])
        seen = {"protocol": told.protocolVersion, "tools": tools}
        print(json.dumps({**seen, "search": text(found), "answer": text(answer)}))


def text(result: object) -> str:
    """The text blocks of a result."""
    return "\n".join(block.text for block in result.content)


anyio.run(main)
