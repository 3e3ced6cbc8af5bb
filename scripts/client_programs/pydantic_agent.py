"""A pydantic-ai agent as a client: `pydantic_agent.py TARGET`, as `sdk_1.py`.

Its model is a function: it searches, calls what it found, and answers with what it was shown.
"""

import asyncio
import json
import sys

from fastmcp.client.transports import StdioTransport
from pydantic_ai import Agent
from pydantic_ai.mcp import MCPToolset
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolCallPart, ToolReturnPart
from pydantic_ai.models.function import AgentInfo, FunctionModel
from pydantic_ai.models.test import TestModel

TARGET = json.loads(sys.argv[1])
LIMIT_S = 60


def model(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
    """Search, then call, then tell what the two showed."""
    shown = [part for message in messages for part in message.parts if isinstance(part, ToolReturnPart)]
    if not shown:
        return ModelResponse([ToolCallPart("search_actions", TARGET["search"])])
    if len(shown) == 1:
        return ModelResponse([ToolCallPart("call_action", TARGET["call"])])
    names = [tool.name for tool in info.function_tools]
    found, answer = (part.model_response_str() for part in shown)
    return ModelResponse([TextPart(json.dumps({"tools": names, "search": found, "answer": answer}))])


def toolset() -> MCPToolset:
    """The tools behind the target."""
    if "url" in TARGET:
        return MCPToolset(TARGET["url"], init_timeout=LIMIT_S)
    return MCPToolset(StdioTransport(TARGET["command"][0], TARGET["command"][1:]), init_timeout=LIMIT_S)


async def main() -> None:
    """Run the agent with a model that chooses, and with the library's own test model."""
    agent = Agent(FunctionModel(model), toolsets=[toolset()])
    output = (await agent.run("add two numbers")).output
    tested = Agent(TestModel(call_tools=["servers"]), toolsets=[toolset()])
    if "plain" not in (await tested.run("which servers are there?")).output:
        sys.exit("the test model did not see the server")
    print(output)


asyncio.run(main())
