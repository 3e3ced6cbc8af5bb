"""The server behind every system: the smallest that the SDK makes, with one tool.

python -m benchmarks.calls.small stdio | http PORT
"""

from __future__ import annotations

import sys

import anyio
from mcp.server import Server, ServerRequestContext
from mcp.server.stdio import stdio_server
from mcp.types import (
    CallToolRequestParams,
    CallToolResult,
    ListToolsResult,
    PaginatedRequestParams,
    TextContent,
    Tool,
    ToolAnnotations,
)

ECHO = Tool(
    name="echo",
    description="Gives the text back",
    input_schema={"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]},
    annotations=ToolAnnotations(read_only_hint=True),
)


async def list_tools(_: ServerRequestContext, __: PaginatedRequestParams | None) -> ListToolsResult:
    """The one tool."""
    return ListToolsResult(tools=[ECHO])


async def call_tool(_: ServerRequestContext, params: CallToolRequestParams) -> CallToolResult:
    """The text that was given."""
    return CallToolResult(content=[TextContent(type="text", text=str((params.arguments or {}).get("text")))])


def main() -> None:
    """Serve over the transport that the first argument names."""
    server = Server("small", version="1", on_list_tools=list_tools, on_call_tool=call_tool)
    if sys.argv[1] == "stdio":

        async def serve() -> None:
            async with stdio_server() as (reader, writer):
                await server.run(reader, writer, server.create_initialization_options())

        anyio.run(serve)
        return
    import uvicorn  # the stdio start must not pay for the web server

    uvicorn.run(server.streamable_http_app(), host="127.0.0.1", port=int(sys.argv[2]), log_level="error")


if __name__ == "__main__":
    main()
