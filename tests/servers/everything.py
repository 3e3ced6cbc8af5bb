"""A server on the SDK's low level that offers everything the official conformance suite asks for, and nothing else.

Run it as `python -m tests.servers.everything --stdio` or `--http PORT` (streamable HTTP at `/mcp`; port 0 takes a free
one; the first line on stderr is `listening on PORT`). `--era legacy` answers only the handshake, `--era modern` only
the modern protocol. `build()` gives the server itself.
"""

from __future__ import annotations

import argparse
import sys
import warnings
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import anyio
import mcp_types as types
from mcp.server.streamable_http import EventCallback, EventId, EventMessage, EventStore, StreamId
from mcp.server.streamable_http_manager import StreamableHTTPASGIApp, StreamableHTTPSessionManager
from mcp.server.subscriptions import ListenHandler
from mcp.server.transport_security import TransportSecuritySettings
from mcp.shared.exceptions import MCPDeprecationWarning, MCPError
from mcp_types import methods
from starlette.applications import Starlette
from starlette.routing import Route
from starlette.types import ASGIApp

from .everything_tools import BODIES, TOOLS, Answer, Context, NeedsInput, State, ask, form, modern, png
from .plain import Plain, listening, of_era, serve_stdio

RESOURCES: list[dict[str, Any]] = [
    {
        "uri": "test://static-text",
        "name": "Static text",
        "description": "A text that never changes",
        "mimeType": "text/plain",
    },
    {
        "uri": "test://static-binary",
        "name": "Static picture",
        "description": "A picture that never changes",
        "mimeType": "image/png",
    },
    {
        "uri": "test://watched-resource",
        "name": "Watched",
        "description": "A text that clients may watch",
        "mimeType": "text/plain",
    },
]
TEMPLATE = "test://template/{id}/data"
PROMPTS: list[dict[str, Any]] = [
    {"name": "test_simple_prompt", "description": "A prompt without arguments"},
    {
        "name": "test_prompt_with_arguments",
        "description": "A prompt with two arguments",
        "arguments": [
            {"name": "arg1", "description": "First test argument", "required": True},
            {"name": "arg2", "description": "Second test argument", "required": True},
        ],
    },
    {
        "name": "test_prompt_with_embedded_resource",
        "description": "A prompt that holds a resource",
        "arguments": [{"name": "resourceUri", "description": "URI of the resource to embed", "required": True}],
    },
    {"name": "test_prompt_with_image", "description": "A prompt that holds a picture"},
    {"name": "test_input_required_result_prompt", "description": "A prompt that asks for its context"},
]


class Memory(EventStore):
    """Keeps events of streams in memory, so that a client may come back for what it missed."""

    def __init__(self) -> None:
        self._events: list[tuple[StreamId, Any]] = []

    async def store_event(self, stream_id: StreamId, message: Any) -> EventId:
        self._events.append((stream_id, message))
        return str(len(self._events))

    async def replay_events_after(self, last_event_id: EventId, send_callback: EventCallback) -> StreamId | None:
        first = int(last_event_id)
        stream = self._events[first - 1][0]
        for number, (owner, message) in enumerate(self._events[first:], first + 1):
            if owner == stream and message is not None:
                await send_callback(EventMessage(message, str(number)))
        return stream


def whole(handler: Callable[[Context, Any], Awaitable[Answer]]) -> Callable[[Context, Any], Awaitable[Any]]:
    """The handler, its results with what the modern era wants on each."""

    async def handle(ctx: Context, params: Any) -> Any:
        found = await handler(ctx, params)
        if not modern(ctx):
            return found
        kept: Answer = {"ttlMs": 0, "cacheScope": "public"} if ctx.method in methods.CACHEABLE_METHODS else {}
        return {"resultType": "complete", **kept, **found}

    return handle


class Handlers:
    """The request handlers, over one state."""

    def __init__(self, state: State) -> None:
        self.state = state

    async def list_tools(self, ctx: Context, params: Any) -> Answer:
        added = [{"name": name, "inputSchema": {"type": "object"}} for name in self.state.extra_tools]
        return {"tools": [*TOOLS, *({**tool, "description": "Added at run time"} for tool in added)]}

    async def call_tool(self, ctx: Context, params: types.CallToolRequestParams) -> Answer:
        body = BODIES.get(params.name)
        if body is None:
            raise MCPError(types.INVALID_PARAMS, f"Unknown tool: {params.name}")
        try:
            return await body(self.state, ctx, params.arguments or {})
        except NeedsInput as question:
            return question.result()

    async def list_resources(self, ctx: Context, params: Any) -> Answer:
        return {"resources": RESOURCES}

    async def list_templates(self, ctx: Context, params: Any) -> Answer:
        template = {"uriTemplate": TEMPLATE, "name": "Template", "description": "Data by id"}
        return {"resourceTemplates": [{**template, "mimeType": "application/json"}]}

    async def read_resource(self, ctx: Context, params: types.ReadResourceRequestParams) -> Answer:
        uri = str(params.uri)
        return {"contents": [{"uri": uri, **content(uri)}]}

    async def subscribe(self, ctx: Context, params: types.SubscribeRequestParams) -> Answer:
        self.state.watched.add(str(params.uri))
        return {}

    async def unsubscribe(self, ctx: Context, params: types.UnsubscribeRequestParams) -> Answer:
        self.state.watched.discard(str(params.uri))
        return {}

    async def list_prompts(self, ctx: Context, params: Any) -> Answer:
        added = [{"name": name, "description": "Added at run time"} for name in self.state.extra_prompts]
        return {"prompts": [*PROMPTS, *added]}

    async def get_prompt(self, ctx: Context, params: types.GetPromptRequestParams) -> Answer:
        try:
            return {"messages": await messages(ctx, params.name, dict(params.arguments or {}))}
        except NeedsInput as question:
            return question.result()

    async def complete(self, ctx: Context, params: types.CompleteRequestParams) -> Answer:
        words = [word for word in ("paris", "park", "party") if word.startswith(params.argument.value)]
        return {"completion": {"values": words, "total": len(words), "hasMore": False}}

    async def set_level(self, ctx: Context, params: types.SetLevelRequestParams) -> Answer:
        return {}


def content(uri: str) -> Answer:
    """What stands in a resource."""
    if uri == "test://static-text":
        return {"mimeType": "text/plain", "text": "This is the content of the static text resource."}
    if uri == "test://static-binary":
        return {"mimeType": "image/png", "blob": png()}
    if uri == "test://watched-resource":
        return {"mimeType": "text/plain", "text": "Watched"}
    head, _, tail = TEMPLATE.partition("{id}")
    if uri.startswith(head) and uri.endswith(tail):
        ident = uri.removeprefix(head).removesuffix(tail)
        text = f'{{"id":"{ident}","templateTest":true,"data":"Data for ID: {ident}"}}'
        return {"mimeType": "application/json", "text": text}
    raise MCPError(types.INVALID_PARAMS, "Resource not found", {"uri": uri})


async def messages(ctx: Context, name: str, arguments: dict[str, str]) -> list[Answer]:
    """The messages of a prompt."""

    def user(block: Answer) -> Answer:
        return {"role": "user", "content": block}

    def line(text: str) -> Answer:
        return user({"type": "text", "text": text})

    if name == "test_simple_prompt":
        return [line("This is a simple prompt for testing.")]
    if name == "test_prompt_with_arguments":
        return [line(f"Prompt with arguments: arg1='{arguments.get('arg1')}', arg2='{arguments.get('arg2')}'")]
    if name == "test_prompt_with_embedded_resource":
        inner = {"uri": arguments.get("resourceUri"), "mimeType": "text/plain"}
        embedded = {"type": "resource", "resource": {**inner, "text": "Embedded resource content for testing."}}
        return [user(embedded), line("Please process the embedded resource above.")]
    if name == "test_prompt_with_image":
        return [
            user({"type": "image", "data": png(), "mimeType": "image/png"}),
            line("Please analyze the image above."),
        ]
    if name == "test_input_required_result_prompt":
        question = form("What context should the prompt use?", context={"type": "string"})
        answer = await ask(ctx, "user_context", "elicitation/create", question)
        return [line(f"Context: {(answer.get('content') or {}).get('context')}")]
    raise MCPError(types.INVALID_PARAMS, f"Unknown prompt: {name}")


def build(state: State | None = None) -> Plain:
    """The server, over a state of its own unless one is given."""
    state = state or State()
    own = Handlers(state)
    schemas = {tool["name"]: tool["inputSchema"] for tool in TOOLS}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", MCPDeprecationWarning)
        return Plain(
            "everything",
            version="1.0.0",
            title="Everything",
            instructions="Offers what the conformance suite asks for.",
            get_tool_input_schema=schemas.get,
            on_list_tools=whole(own.list_tools),
            on_call_tool=whole(own.call_tool),
            on_list_resources=whole(own.list_resources),
            on_list_resource_templates=whole(own.list_templates),
            on_read_resource=whole(own.read_resource),
            on_subscribe_resource=whole(own.subscribe),
            on_unsubscribe_resource=whole(own.unsubscribe),
            on_subscriptions_listen=ListenHandler(state.bus),
            on_list_prompts=whole(own.list_prompts),
            on_get_prompt=whole(own.get_prompt),
            on_completion=whole(own.complete),
            on_set_logging_level=whole(own.set_level),
        )


def web(server: Plain, era: str = "auto") -> ASGIApp:
    """The server over streamable HTTP at `/mcp`, with streams that a client may come back to."""
    local = ["127.0.0.1:*", "localhost:*"]
    manager = StreamableHTTPSessionManager(
        server,
        event_store=Memory(),
        retry_interval=100,
        security_settings=TransportSecuritySettings(
            allowed_hosts=local, allowed_origins=[f"http://{host}" for host in local]
        ),
    )

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        async with manager.run():
            yield

    app = Starlette(routes=[Route("/mcp", endpoint=StreamableHTTPASGIApp(manager))], lifespan=lifespan)
    return of_era(app, era)


async def serve_http(server: Plain, era: str, port: int) -> None:
    """Serve over HTTP until the process is stopped."""
    async with listening(web(server, era), port=port) as bound:
        print(f"listening on {bound}", file=sys.stderr, flush=True)
        await anyio.sleep_forever()


def main() -> None:
    """Read the command line and serve."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--stdio", action="store_true")
    parser.add_argument("--http", type=int, metavar="PORT")
    parser.add_argument("--era", choices=["auto", "legacy", "modern"], default="auto")
    options = parser.parse_args()
    if options.http is not None:
        anyio.run(serve_http, build(), options.era, options.http)
    else:
        anyio.run(serve_stdio, build(), options.era)


if __name__ == "__main__":
    main()
