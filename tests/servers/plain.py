"""A small correct MCP server on the SDK, for tests: tools, resources, prompts, completion, news, questions.

Run it as `python -m tests.servers.plain --stdio` or `--http PORT` (streamable HTTP at `/mcp`, SSE at `/sse`; port 0
takes a free one, and the first line on stderr is `listening on PORT`). `--era legacy` refuses `server/discover`,
`--era modern` refuses `initialize`. `build()` gives the server itself, for use in memory.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import socket
import sys
import warnings
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import anyio
import mcp_types as types
import uvicorn
from mcp.server import NotificationOptions, Server, ServerRequestContext
from mcp.server.models import InitializationOptions
from mcp.server.sse import SseServerTransport
from mcp.server.stdio import stdio_server
from mcp.server.streamable_http_manager import StreamableHTTPASGIApp, StreamableHTTPSessionManager
from mcp.server.subscriptions import InMemorySubscriptionBus, ListenHandler, ResourceUpdated, ToolsListChanged
from mcp.shared._context_streams import ContextSendStream
from mcp.shared.exceptions import MCPDeprecationWarning, MCPError
from mcp.shared.message import ServerMessageMetadata, SessionMessage
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Mount, Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

if TYPE_CHECKING:
    from .certificates import Certificates

Context = ServerRequestContext[Any, Any]
Arguments = dict[str, Any]
Result = types.CallToolResult | types.InputRequiredResult
TEXT_URI = "memo://greeting"


@dataclass
class State:
    """What the server remembers: values per session, tools added at run time, calls received."""

    bus: InMemorySubscriptionBus = field(default_factory=InMemorySubscriptionBus)
    values: dict[int, str] = field(default_factory=dict)
    extra: dict[str, types.Tool] = field(default_factory=dict)
    calls: list[str] = field(default_factory=list)
    cancelled: list[str] = field(default_factory=list)
    greeting: str = "hello"


Body = Callable[["State", Context, Arguments, types.CallToolRequestParams], Awaitable[Result]]


@dataclass(frozen=True)
class Entry:
    """One tool: its definition and its body."""

    tool: types.Tool
    body: Body


TOOLS: dict[str, Entry] = {}


def tool(
    description: str, *, read_only: bool = False, required: tuple[str, ...] = (), **properties: str
) -> Callable[[Body], Body]:
    """Register a tool; properties are given as `name="type"`, its name is the function's."""

    def register(body: Body) -> Body:
        name = body.__name__.rstrip("_")
        schema = {
            "type": "object",
            "properties": {key: {"type": kind} for key, kind in properties.items()},
            "required": list(required),
        }
        hints = types.ToolAnnotations(read_only_hint=True) if read_only else None
        TOOLS[name] = Entry(
            types.Tool(name=name, description=description, input_schema=schema, annotations=hints), body
        )
        return body

    return register


def text(value: str, *, is_error: bool = False) -> types.CallToolResult:
    """A result of one text block."""
    return types.CallToolResult(content=[types.TextContent(type="text", text=value)], is_error=is_error)


@tool("Gives the text back", read_only=True, required=("text",), text="string")
async def echo(state: State, ctx: Context, args: Arguments, params: types.CallToolRequestParams) -> Result:
    return text(str(args.get("text", "")))


@tool("Adds two numbers", read_only=True, required=("a", "b"), a="number", b="number")
async def add(state: State, ctx: Context, args: Arguments, params: types.CallToolRequestParams) -> Result:
    total = args["a"] + args["b"]
    return types.CallToolResult(
        content=[types.TextContent(type="text", text=json.dumps({"sum": total}))], structured_content={"sum": total}
    )


@tool("Answers after so many seconds", seconds="number")
async def slow(state: State, ctx: Context, args: Arguments, params: types.CallToolRequestParams) -> Result:
    try:
        await anyio.sleep(float(args.get("seconds", 1)))
    except anyio.get_cancelled_exc_class():
        state.cancelled.append(str(args.get("label", "slow")))
        raise
    return text("done")


@tool("Says that it failed", text="string")
async def fail(state: State, ctx: Context, args: Arguments, params: types.CallToolRequestParams) -> Result:
    return text(str(args.get("text", "it failed")), is_error=True)


@tool("Answers with a JSON-RPC error", code="integer")
async def error(state: State, ctx: Context, args: Arguments, params: types.CallToolRequestParams) -> Result:
    raise MCPError(int(args.get("code", -32050)), "the tool raised", {"detail": 7})


@tool("Reports progress, then answers", steps="integer", pause="number")
async def progress(state: State, ctx: Context, args: Arguments, params: types.CallToolRequestParams) -> Result:
    steps = int(args.get("steps", 3))
    for step in range(1, steps + 1):
        await anyio.sleep(float(args.get("pause", 0)))
        await ctx.session.report_progress(step, steps, f"step {step}")
    return text("done")


@tool("Sends a log line, then answers", text="string")
async def log(state: State, ctx: Context, args: Arguments, params: types.CallToolRequestParams) -> Result:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", MCPDeprecationWarning)
        await ctx.session.send_log_message("warning", str(args.get("text", "noted")), related_request_id=ctx.request_id)
    return text("logged")


def modern(ctx: Context) -> bool:
    """Whether the request came in the era of 2026-07-28."""
    return ctx.protocol_version >= "2026-07-28"


async def put(
    ctx: Context, params: types.CallToolRequestParams, question: types.InputRequest, kind: type[types.Result]
) -> types.Result | types.InputRequiredResult:
    """Ask the client, in whichever way the era has for it."""
    if modern(ctx):
        if params.input_responses:
            return params.input_responses["q"]
        return types.InputRequiredResult(input_requests={"q": question}, request_state="state-1")
    metadata = ServerMessageMetadata(related_request_id=ctx.request_id)
    return await ctx.session.send_request(question, kind, metadata=metadata)


@tool("Asks the user for a name", question="string")
async def ask(state: State, ctx: Context, args: Arguments, params: types.CallToolRequestParams) -> Result:
    question = types.ElicitRequest(
        params=types.ElicitRequestFormParams(
            message=str(args.get("question", "Your name?")),
            requested_schema={"type": "object", "properties": {"name": {"type": "string"}}},
        )
    )
    answer = await put(ctx, params, question, types.ElicitResult)
    if isinstance(answer, types.InputRequiredResult):
        return answer
    assert isinstance(answer, types.ElicitResult)
    return text(f"{answer.action}: {json.dumps(answer.content)}")


@tool("Asks the client's model", prompt="string")
async def sample(state: State, ctx: Context, args: Arguments, params: types.CallToolRequestParams) -> Result:
    message = types.SamplingMessage(role="user", content=types.TextContent(type="text", text=str(args.get("prompt"))))
    question = types.CreateMessageRequest(params=types.CreateMessageRequestParams(messages=[message], max_tokens=10))
    answer = await put(ctx, params, question, types.CreateMessageResult)
    if isinstance(answer, types.InputRequiredResult):
        return answer
    assert isinstance(answer, types.CreateMessageResult)
    return text(f"{answer.model}: {answer.content.text if isinstance(answer.content, types.TextContent) else ''}")


@tool("Asks the client for its roots")
async def roots(state: State, ctx: Context, args: Arguments, params: types.CallToolRequestParams) -> Result:
    answer = await put(ctx, params, types.ListRootsRequest(), types.ListRootsResult)
    if isinstance(answer, types.InputRequiredResult):
        return answer
    assert isinstance(answer, types.ListRootsResult)
    return text(",".join(str(root.uri) for root in answer.roots))


@tool("Keeps a value for this session", value="string")
async def set_(state: State, ctx: Context, args: Arguments, params: types.CallToolRequestParams) -> Result:
    state.values[id(ctx.session.client_params)] = str(args.get("value"))
    return text("kept")


@tool("Gives the value kept for this session", read_only=True)
async def get(state: State, ctx: Context, args: Arguments, params: types.CallToolRequestParams) -> Result:
    return text(state.values.get(id(ctx.session.client_params), "nothing"))


@tool("Says what the server knows of itself and of its client", read_only=True)
async def about(state: State, ctx: Context, args: Arguments, params: types.CallToolRequestParams) -> Result:
    capabilities = ctx.session.client_capabilities
    facts = {
        "pid": os.getpid(),
        "argv": sys.argv[1:],
        "cwd": os.getcwd(),
        "env": dict(os.environ),
        "protocol": ctx.protocol_version,
        "meta": dict(ctx.meta or {}),
        "abilities": capabilities.model_dump(mode="json", by_alias=True, exclude_none=True) if capabilities else {},
        "headers": dict(ctx.request.headers) if isinstance(ctx.request, Request) else {},
    }
    return types.CallToolResult(
        content=[types.TextContent(type="text", text=json.dumps(facts))], structured_content=facts
    )


@tool("Ends the process at once")
async def die(state: State, ctx: Context, args: Arguments, params: types.CallToolRequestParams) -> Result:
    os._exit(int(args.get("code", 3)))


@tool("Gives a text of so many characters", read_only=True, size="integer")
async def big(state: State, ctx: Context, args: Arguments, params: types.CallToolRequestParams) -> Result:
    return text("x" * int(args.get("size", 1000)))


@tool("Appends a line to a file", path="string", line="string")
async def append(state: State, ctx: Context, args: Arguments, params: types.CallToolRequestParams) -> Result:
    async with await anyio.open_file(str(args["path"]), "a", encoding="utf-8") as file:
        await file.write(f"{args.get('line', 'line')}\n")
    return text("appended")


@tool("Adds or removes a tool and announces it", name="string")
async def change(state: State, ctx: Context, args: Arguments, params: types.CallToolRequestParams) -> Result:
    name = str(args.get("name", "extra"))
    if state.extra.pop(name, None) is None:
        state.extra[name] = types.Tool(name=name, description="added", input_schema={"type": "object"})
    await state.bus.publish(ToolsListChanged())
    if not modern(ctx):
        await ctx.session.send_tool_list_changed()
    return text("changed")


@tool("Changes the greeting and announces it", text="string")
async def greet(state: State, ctx: Context, args: Arguments, params: types.CallToolRequestParams) -> Result:
    state.greeting = str(args.get("text", "hi"))
    await state.bus.publish(ResourceUpdated(uri=TEXT_URI))
    if not modern(ctx):
        await ctx.session.send_resource_updated(TEXT_URI)
    return text("greeted")


class Plain(Server[Any]):
    """The SDK's server, declaring that its lists change."""

    def create_initialization_options(
        self,
        notification_options: NotificationOptions | None = None,
        experimental_capabilities: dict[str, dict[str, Any]] | None = None,
        extensions: dict[str, dict[str, Any]] | None = None,
    ) -> InitializationOptions:
        changes = notification_options or NotificationOptions(True, True, True)
        return super().create_initialization_options(changes, experimental_capabilities, extensions)


def build(state: State | None = None, *, page: int = 100) -> Plain:
    """The server; `page` is how many tools a page of its list holds."""
    known = state or State()

    async def list_tools(ctx: Context, params: types.PaginatedRequestParams | None) -> types.ListToolsResult:
        tools = [*(entry.tool for entry in TOOLS.values()), *known.extra.values()]
        start = int(params.cursor) if params and params.cursor else 0
        more = str(start + page) if start + page < len(tools) else None
        return types.ListToolsResult(tools=tools[start : start + page], next_cursor=more)

    async def call_tool(ctx: Context, params: types.CallToolRequestParams) -> Result:
        known.calls.append(params.name)
        entry = TOOLS.get(params.name)
        if entry is None:
            raise MCPError(types.INVALID_PARAMS, f"Unknown tool: {params.name}")
        return await entry.body(known, ctx, params.arguments or {}, params)

    async def list_resources(ctx: Context, params: types.PaginatedRequestParams | None) -> types.ListResourcesResult:
        return types.ListResourcesResult(resources=[types.Resource(uri=TEXT_URI, name="greeting")])

    async def list_templates(
        ctx: Context, params: types.PaginatedRequestParams | None
    ) -> types.ListResourceTemplatesResult:
        template = types.ResourceTemplate(uri_template="memo://{name}", name="memo")
        return types.ListResourceTemplatesResult(resource_templates=[template])

    async def read_resource(ctx: Context, params: types.ReadResourceRequestParams) -> types.ReadResourceResult:
        contents = types.TextResourceContents(uri=params.uri, text=known.greeting, mime_type="text/plain")
        return types.ReadResourceResult(contents=[contents])

    async def list_prompts(ctx: Context, params: types.PaginatedRequestParams | None) -> types.ListPromptsResult:
        argument = types.PromptArgument(name="topic", required=True)
        return types.ListPromptsResult(prompts=[types.Prompt(name="write", arguments=[argument])])

    async def get_prompt(ctx: Context, params: types.GetPromptRequestParams) -> types.GetPromptResult:
        content = types.TextContent(type="text", text=f"Write about {(params.arguments or {}).get('topic')}")
        return types.GetPromptResult(messages=[types.PromptMessage(role="user", content=content)])

    async def complete(ctx: Context, params: types.CompleteRequestParams) -> types.CompleteResult:
        return types.CompleteResult(completion=types.Completion(values=[f"{params.argument.value}-done"]))

    async def nothing(ctx: Context, params: Any) -> types.EmptyResult:
        return types.EmptyResult()

    server = Plain(
        "plain",
        version="1.0",
        instructions="A server for tests.",
        on_list_tools=list_tools,
        on_call_tool=call_tool,
        on_list_resources=list_resources,
        on_list_resource_templates=list_templates,
        on_read_resource=read_resource,
        on_subscribe_resource=nothing,
        on_unsubscribe_resource=nothing,
        on_subscriptions_listen=ListenHandler(known.bus),
        on_list_prompts=list_prompts,
        on_get_prompt=get_prompt,
        on_completion=complete,
    )
    server.add_request_handler("logging/setLevel", types.SetLevelRequestParams, nothing)
    return server


def refusal(era: str, method: object) -> dict[str, Any] | None:
    """The JSON-RPC error with which a server of one era answers the other era's opening request."""
    if era == "legacy" and method == "server/discover":
        return {"code": types.METHOD_NOT_FOUND, "message": "Method not found"}
    if era == "modern" and method == "initialize":
        data = {"supported": ["2026-07-28"], "requested": "2025-11-25"}
        return {"code": types.UNSUPPORTED_PROTOCOL_VERSION, "message": "Unsupported protocol version", "data": data}
    return None


async def serve_stdio(server: Plain, era: str) -> None:
    """Serve over stdin and stdout."""
    async with stdio_server() as (read, write), anyio.create_task_group() as group:
        inner_send, inner_read = anyio.create_memory_object_stream[SessionMessage | Exception](0)

        async def relay() -> None:
            async with inner_send:
                async for item in read:
                    message = item.message if isinstance(item, SessionMessage) else None
                    if isinstance(message, types.JSONRPCRequest) and (refused := refusal(era, message.method)):
                        reply = types.JSONRPCError(
                            jsonrpc="2.0", id=message.id, error=types.ErrorData.model_validate(refused)
                        )
                        await write.send(SessionMessage(reply))
                    else:
                        await inner_send.send(item)

        group.start_soon(relay)
        assert isinstance(write, ContextSendStream)
        await server.run(inner_read, write, server.create_initialization_options())
        group.cancel_scope.cancel()


def of_era(app: ASGIApp, era: str) -> ASGIApp:
    """The application, refusing the other era's opening request."""

    async def serve(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["method"] != "POST":
            await app(scope, receive, send)
            return
        request = Request(scope, receive)
        body = await request.body()
        message = json.loads(body) if body else None
        if isinstance(message, Mapping) and (refused := refusal(era, message.get("method"))):
            answer = json.dumps({"jsonrpc": "2.0", "id": message.get("id"), "error": refused})
            await Response(answer, 400, media_type="application/json")(scope, receive, send)
            return
        sent = False

        async def replay() -> Message:
            nonlocal sent
            if sent:
                return await receive()
            sent = True
            return {"type": "http.request", "body": body, "more_body": False}

        await app(scope, replay, send)

    return serve


def web(server: Plain, era: str = "auto", *, json_response: bool = False) -> ASGIApp:
    """The server as a web application: `/mcp` and `/sse`."""
    streamable = StreamableHTTPSessionManager(app=server, json_response=json_response)
    sse = SseServerTransport("/sse/messages/")

    async def open_sse(request: Request) -> Response:
        async with sse.connect_sse(request.scope, request.receive, request._send) as (read, write):
            await server.run(read, write, server.create_initialization_options())
        return Response()

    @contextlib.asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        async with streamable.run():
            yield

    routes = [
        Route("/mcp", endpoint=StreamableHTTPASGIApp(streamable)),
        Route("/sse", open_sse),
        Mount("/sse/messages/", app=sse.handle_post_message),
    ]
    return of_era(Starlette(routes=routes, lifespan=lifespan), era)


@contextlib.asynccontextmanager
async def listening(app: ASGIApp, *, port: int = 0, tls: Certificates | None = None) -> AsyncIterator[int]:
    """Serve an application on a loopback port while the block runs; gives the port.

    With `tls` it shows that certificate.
    """
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP) as sock:  # else Nagle delays answers
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        sock.bind(("127.0.0.1", port))
        shown = {"ssl_certfile": tls.certificate, "ssl_keyfile": tls.key} if tls else {}
        config = uvicorn.Config(app, log_level="critical", timeout_graceful_shutdown=1, ws="none", **shown)  # type: ignore[arg-type]
        web_server = uvicorn.Server(config)
        web_server.install_signal_handlers = lambda: None  # type: ignore[attr-defined]
        sock.listen(128)
        async with anyio.create_task_group() as group:
            group.start_soon(web_server._serve, [sock])
            try:
                yield int(sock.getsockname()[1])
            finally:
                web_server.should_exit = True


async def serve_http(server: Plain, era: str, port: int, json_response: bool) -> None:
    """Serve over HTTP until the process is stopped."""
    async with listening(web(server, era, json_response=json_response), port=port) as bound:
        print(f"listening on {bound}", file=sys.stderr, flush=True)
        await anyio.sleep_forever()


def main() -> None:
    """Read the command line and serve."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--stdio", action="store_true")
    parser.add_argument("--http", type=int, metavar="PORT")
    parser.add_argument("--era", choices=["auto", "legacy", "modern"], default="auto")
    parser.add_argument("--page", type=int, default=100)
    parser.add_argument("--json-response", action="store_true")
    options, _ = parser.parse_known_args()
    server = build(page=options.page)
    if options.http is not None:
        anyio.run(serve_http, server, options.era, options.http, options.json_response)
    else:
        anyio.run(serve_stdio, server, options.era)


if __name__ == "__main__":
    main()
