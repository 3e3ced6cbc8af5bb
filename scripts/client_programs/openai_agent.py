"""An openai-agents agent as a client: `openai_agent.py TARGET`, as `sdk_1.py`.

Its model needs no network: it searches, calls what it found, and answers with what it was shown.
"""

import asyncio
import json
import sys

from agents import Agent, ModelResponse, Runner, Usage, set_tracing_disabled
from agents.mcp import MCPServerSse, MCPServerStdio, MCPServerStreamableHttp
from agents.models.interface import Model
from openai.types.responses import ResponseFunctionToolCall, ResponseOutputMessage, ResponseOutputText

TARGET = json.loads(sys.argv[1])
LIMIT_S = 60


def asked(name: str, arguments: dict) -> ResponseFunctionToolCall:
    """A call that the model wants made."""
    words = json.dumps(arguments)
    return ResponseFunctionToolCall(arguments=words, call_id=f"call_{name}", name=name, type="function_call")


def said(text: str) -> ResponseOutputMessage:
    """A last message of the model."""
    content = [ResponseOutputText(annotations=[], text=text, type="output_text")]
    return ResponseOutputMessage(id="message", content=content, role="assistant", status="completed", type="message")


class Chooser(Model):
    """Searches, then calls, then tells what the two showed."""

    async def get_response(self, system_instructions, input, model_settings, tools, *rest, **more) -> ModelResponse:
        """The next step, by how many results there are."""
        items = [] if isinstance(input, str) else input
        shown = [item["output"] for item in items if item.get("type") == "function_call_output"]
        if not shown:
            step = asked("search_actions", TARGET["search"])
        elif len(shown) == 1:
            step = asked("call_action", TARGET["call"])
        else:
            names = [tool.name for tool in tools]
            step = said(json.dumps({"tools": names, "search": text(shown[0]), "answer": text(shown[1])}))
        return ModelResponse(output=[step], usage=Usage(), response_id=None)

    def stream_response(self, *arguments, **more):
        """Not used here."""
        raise RuntimeError("this model does not stream")


def text(output: object) -> str:
    """The text of a result as the model is given it."""
    return output if isinstance(output, str) else json.dumps(output)


def server() -> object:
    """The tools behind the target."""
    more = {"client_session_timeout_seconds": LIMIT_S}
    if "url" in TARGET:
        return MCPServerStreamableHttp(params={"url": TARGET["url"], "timeout": LIMIT_S}, **more)
    if "sse" in TARGET:
        return MCPServerSse(params={"url": TARGET["sse"]}, **more)
    return MCPServerStdio(params={"command": TARGET["command"][0], "args": TARGET["command"][1:]}, **more)


async def main() -> None:
    """Run the agent."""
    set_tracing_disabled(True)
    async with server() as tools:
        agent = Agent(name="tester", model=Chooser(), mcp_servers=[tools])
        print((await Runner.run(agent, "add two numbers")).final_output)


asyncio.run(main())
