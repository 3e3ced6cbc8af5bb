"""langchain-mcp-adapters as a client: `langchain_tools.py TARGET`, as `sdk_1.py`."""

import asyncio
import json
import sys

from langchain_mcp_adapters.client import MultiServerMCPClient


def connection(target: dict) -> dict:
    """How the adapter is told of a target."""
    if "url" in target:
        return {"transport": "streamable_http", "url": target["url"]}
    if "sse" in target:
        return {"transport": "sse", "url": target["sse"]}
    return {"transport": "stdio", "command": target["command"][0], "args": target["command"][1:]}


async def main() -> None:
    """Make LangChain tools of the server's, then use two of them."""
    target = json.loads(sys.argv[1])
    tools = {tool.name: tool for tool in await MultiServerMCPClient({"anyact": connection(target)}).get_tools()}
    found = await tools["search_actions"].ainvoke(target["search"])
    answer = await tools["call_action"].ainvoke(target["call"])
    print(json.dumps({"tools": list(tools), "search": text(found), "answer": text(answer)}))


def text(content: object) -> str:
    """The text of a tool message's content."""
    return content if isinstance(content, str) else "\n".join(str(block.get("text")) for block in content)


asyncio.run(main())
