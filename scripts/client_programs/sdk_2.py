"""The official SDK, version 2, as a client: `sdk_2.py TARGET [MODE]`.

TARGET is JSON, `{"url": ...}`, `{"sse": ...}` or `{"command": [...]}`; MODE is auto, legacy or a protocol version.
Prints what a model would be shown, as one JSON document.
"""

import json
import sys

import anyio
from mcp import Client, StdioServerParameters
from mcp.client.sse import sse_client


async def main() -> None:
    """List, search, call."""
    target, mode = json.loads(sys.argv[1]), (sys.argv[2:] or ["auto"])[0]
    if "url" in target:
        transport = target["url"]
    elif "sse" in target:
        transport = sse_client(target["sse"])
    else:
        transport = StdioServerParameters(command=target["command"][0], args=target["command"][1:])
    async with Client(transport, mode=mode) as client:
        tools = [tool.name for tool in (await client.list_tools()).tools]
        found = await client.call_tool("search_actions", target["search"])
        answer = await client.call_tool("call_action", target["call"])
        seen = {"protocol": client.protocol_version, "tools": tools}
        print(json.dumps({**seen, "search": text(found), "answer": text(answer)}))


def text(result: object) -> str:
    """The text blocks of a result."""
    return "\n".join(block.text for block in result.content)


anyio.run(main)
