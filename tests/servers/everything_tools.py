"""The tools of the fixture server `everything`, each with the exact answer that the conformance suite looks for."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import secrets
import struct
import zlib
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, cast

import anyio
import mcp_types as types
from mcp.server import ServerRequestContext
from mcp.server.subscriptions import InMemorySubscriptionBus, PromptsListChanged, ServerEvent, ToolsListChanged
from mcp.shared.exceptions import MCPError
from mcp.shared.message import ServerMessageMetadata
from mcp_types.version import MODERN_PROTOCOL_VERSIONS
from pydantic import BaseModel, ConfigDict

Context = ServerRequestContext[Any, Any]
Answer = dict[str, Any]
Params = Mapping[str, Any]
OPTIONS = ["option1", "option2", "option3"]
PAUSE_S = 0.05


class Raw(BaseModel):
    """A message or a result, sent and read as it is."""

    model_config = ConfigDict(extra="allow")


@dataclass
class State:
    """What the server remembers: who watches what, tools and prompts added at run time, the key of its states."""

    bus: InMemorySubscriptionBus = field(default_factory=InMemorySubscriptionBus)
    watched: set[str] = field(default_factory=set)
    extra_tools: list[str] = field(default_factory=list)
    extra_prompts: list[str] = field(default_factory=list)
    key: bytes = field(default_factory=lambda: secrets.token_bytes(16))


class NeedsInput(Exception):
    """A question that a client of the modern era has to answer first."""

    def __init__(self, requests: dict[str, Any], state: str | None = None) -> None:
        super().__init__("input required")
        self.requests = requests
        self.state = state

    def result(self) -> Answer:
        """The `input_required` result."""
        found: Answer = {"resultType": "input_required", "inputRequests": self.requests}
        return found if self.state is None else {**found, "requestState": self.state}


Body = Callable[[State, Context, Params], Awaitable[Answer]]
BODIES: dict[str, Body] = {}
TOOLS: list[dict[str, Any]] = []


def tool(description: str, schema: dict[str, Any] | None = None, *, name: str | None = None) -> Callable[[Body], Body]:
    """Register a tool under its function's name; properties come as JSON Schema."""

    def register(body: Body) -> Body:
        named = name or body.__name__
        shape = schema if schema is not None and "type" in schema else {"type": "object", "properties": schema or {}}
        TOOLS.append({"name": named, "description": description, "inputSchema": shape})
        BODIES[named] = body
        return body

    return register


def text(value: str, **more: Any) -> Answer:
    """A result of one text block."""
    return {"content": [{"type": "text", "text": value}], **more}


def png() -> str:
    """A red picture of one pixel, base64."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    head = chunk(b"IHDR", struct.pack(">IIBBBBB", 1, 1, 8, 2, 0, 0, 0))
    body = chunk(b"IDAT", zlib.compress(b"\x00\xff\x00\x00"))
    return base64.b64encode(b"\x89PNG\r\n\x1a\n" + head + body + chunk(b"IEND", b"")).decode()


def wav() -> str:
    """Two silent samples, base64."""
    form = b"WAVEfmt " + struct.pack("<IHHIIHH", 16, 1, 1, 8000, 8000, 1, 8) + b"data" + struct.pack("<I", 2)
    data = form + b"\x80\x80"
    return base64.b64encode(b"RIFF" + struct.pack("<I", len(data)) + data).decode()


def modern(ctx: Context) -> bool:
    """Whether the request came in the modern era."""
    return ctx.protocol_version in MODERN_PROTOCOL_VERSIONS


def able(ctx: Context, ability: str) -> bool:
    """Whether the client declared a capability."""
    declared = ctx.session.client_capabilities
    return declared is not None and getattr(declared, ability, None) is not None


async def ask(ctx: Context, key: str, method: str, params: dict[str, Any]) -> Answer:
    """The client's answer: over its connection in the older era, out of the request in the modern one."""
    if modern(ctx):
        answers = (ctx.params or {}).get("inputResponses")
        found = answers.get(key) if isinstance(answers, Mapping) else None
        if not isinstance(found, dict) or not sound(method, found):
            raise NeedsInput({key: {"method": method, "params": params}})
        return found
    question = Raw.model_validate({"method": method, "params": params})
    metadata = ServerMessageMetadata(related_request_id=ctx.request_id)
    answer = await ctx.session.send_request(cast("types.ServerRequest", question), Raw, metadata=metadata)
    return answer.model_dump(mode="json")


def sound(method: str, answer: Answer) -> bool:
    """Whether an answer has the shape that its question asks for."""
    wanted = {"elicitation/create": "action", "sampling/createMessage": "content", "roots/list": "roots"}[method]
    return wanted in answer


def form(message: str, **properties: dict[str, Any]) -> dict[str, Any]:
    """The params of an elicitation whose fields are all required, unless they have a default."""
    required = [name for name, schema in properties.items() if "default" not in schema]
    return {
        "message": message,
        "requestedSchema": {"type": "object", "properties": properties, "required": required},
    }


def sample(prompt: str, most: int = 100) -> dict[str, Any]:
    """The params of a sampling request."""
    return {"messages": [{"role": "user", "content": {"type": "text", "text": prompt}}], "maxTokens": most}


def told(answer: Answer) -> str:
    """What an elicitation came to."""
    return f"action={answer.get('action')}, content={json.dumps(answer.get('content') or {})}"


async def publish(state: State, ctx: Context, event: ServerEvent, method: str) -> None:
    """Tell clients of both eras that a list changed."""
    await state.bus.publish(event)
    if not modern(ctx):
        await ctx.session.send_notification(cast("types.ServerNotification", Raw.model_validate({"method": method})))


async def say(ctx: Context, data: Any) -> None:
    """Send a log message at level info, as part of the request."""
    await ctx.session.send_log_message("info", data, logger="everything", related_request_id=ctx.request_id)


# --- content


@tool("Gives one line of text")
async def test_simple_text(state: State, ctx: Context, args: Params) -> Answer:
    return text("This is a simple text response for testing.")


@tool("Gives a picture")
async def test_image_content(state: State, ctx: Context, args: Params) -> Answer:
    return {"content": [{"type": "image", "data": png(), "mimeType": "image/png"}]}


@tool("Gives a sound")
async def test_audio_content(state: State, ctx: Context, args: Params) -> Answer:
    return {"content": [{"type": "audio", "data": wav(), "mimeType": "audio/wav"}]}


@tool("Gives a resource inside the result")
async def test_embedded_resource(state: State, ctx: Context, args: Params) -> Answer:
    inner = {"uri": "test://embedded-resource", "mimeType": "text/plain"}
    return {
        "content": [{"type": "resource", "resource": {**inner, "text": "This is an embedded resource content."}}],
    }


@tool("Gives text, a picture and a resource")
async def test_multiple_content_types(state: State, ctx: Context, args: Params) -> Answer:
    inner = {"uri": "test://mixed-content-resource", "mimeType": "application/json"}
    return {
        "content": [
            {"type": "text", "text": "Multiple content types test:"},
            {"type": "image", "data": png(), "mimeType": "image/png"},
            {"type": "resource", "resource": {**inner, "text": '{"test":"data","value":123}'}},
        ]
    }


@tool("Says that it failed")
async def test_error_handling(state: State, ctx: Context, args: Params) -> Answer:
    return text("This tool intentionally returns an error for testing", isError=True)


@tool("Gives fields that no protocol version names", {"nothing": {"type": "null"}})
async def test_unknown_fields(state: State, ctx: Context, args: Params) -> Answer:
    meta = {"example.org/kept": {"deep": [None, 1]}, "example.org/seen": dict((ctx.params or {}).get("_meta") or {})}
    return text("strange", structuredContent={"a": None}, _meta=meta)


@tool(
    "Tool with JSON Schema 2020-12 features",
    {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "object",
        "$defs": {
            "address": {
                "$anchor": "addressDef",
                "type": "object",
                "properties": {"street": {"type": "string"}, "city": {"type": "string"}},
            }
        },
        "properties": {
            "name": {"type": "string"},
            "address": {"$ref": "#/$defs/address"},
            "contactMethod": {"type": "string", "enum": ["phone", "email"]},
            "phone": {"type": "string"},
            "email": {"type": "string"},
        },
        "allOf": [{"anyOf": [{"required": ["phone"]}, {"required": ["email"]}]}],
        "if": {"properties": {"contactMethod": {"const": "phone"}}, "required": ["contactMethod"]},
        "then": {"required": ["phone"]},
        "else": {"required": ["email"]},
        "additionalProperties": False,
    },
)
async def json_schema_2020_12_tool(state: State, ctx: Context, args: Params) -> Answer:
    return text(json.dumps(dict(args)))


@tool(
    "Takes arguments that are mirrored into HTTP headers",
    {
        "region": {"type": "string", "x-mcp-header": "Region"},
        "priority": {"type": "integer", "x-mcp-header": "Priority"},
        "verbose": {"type": "boolean", "x-mcp-header": "Verbose"},
        "query": {"type": "string"},
    },
)
async def test_x_mcp_header(state: State, ctx: Context, args: Params) -> Answer:
    return text(json.dumps(dict(args)))


# --- progress, log, news


@tool("Reports progress three times")
async def test_tool_with_progress(state: State, ctx: Context, args: Params) -> Answer:
    for step in (0, 50, 100):
        await ctx.session.report_progress(step, 100)
        await anyio.sleep(PAUSE_S)
    return text("Tool with progress executed")


@tool("Sends three log messages")
async def test_tool_with_logging(state: State, ctx: Context, args: Params) -> Answer:
    for line in ("Tool execution started", "Tool processing data", "Tool execution completed"):
        await say(ctx, line)
        await anyio.sleep(PAUSE_S)
    return text("Tool with logging executed")


@tool("Sends one log message")
async def test_logging_tool(state: State, ctx: Context, args: Params) -> Answer:
    await say(ctx, {"logged": True, "nothing": None})
    return text("logged")


@tool("Adds a tool to the list")
async def test_trigger_tool_change(state: State, ctx: Context, args: Params) -> Answer:
    state.extra_tools.append(f"test_added_{len(state.extra_tools) + 1}")
    await publish(state, ctx, ToolsListChanged(), "notifications/tools/list_changed")
    return text("tools changed")


@tool("Adds a prompt to the list")
async def test_trigger_prompt_change(state: State, ctx: Context, args: Params) -> Answer:
    state.extra_prompts.append(f"test_added_prompt_{len(state.extra_prompts) + 1}")
    await publish(state, ctx, PromptsListChanged(), "notifications/prompts/list_changed")
    return text("prompts changed")


@tool("Closes its own event stream, so that the client has to come back for the result")
async def test_reconnection(state: State, ctx: Context, args: Params) -> Answer:
    if ctx.close_sse_stream is not None:
        await ctx.close_sse_stream()
        await anyio.sleep(2 * PAUSE_S)
    return text("Reconnection test completed")


# --- questions in mid-call


@tool("Has the client's model answer", {"prompt": {"type": "string"}})
async def test_sampling(state: State, ctx: Context, args: Params) -> Answer:
    answer = await ask(ctx, "sample", "sampling/createMessage", sample(str(args.get("prompt", ""))))
    return text(f"LLM response: {(answer.get('content') or {}).get('text', '')}")


@tool("Asks the user for a name and an address", {"message": {"type": "string"}})
async def test_elicitation(state: State, ctx: Context, args: Params) -> Answer:
    question = form(
        str(args.get("message", "")),
        username={"type": "string", "description": "User's response"},
        email={"type": "string", "description": "User's email address"},
    )
    return text(f"User response: {told(await ask(ctx, 'user', 'elicitation/create', question))}")


@tool("Asks for values that all have defaults")
async def test_elicitation_sep1034_defaults(state: State, ctx: Context, args: Params) -> Answer:
    question = form(
        "Please review these values",
        name={"type": "string", "default": "John Doe"},
        age={"type": "integer", "default": 30},
        score={"type": "number", "default": 95.5},
        status={"type": "string", "enum": ["active", "inactive", "pending"], "default": "active"},
        verified={"type": "boolean", "default": True},
    )
    return text(f"Elicitation completed: {told(await ask(ctx, 'values', 'elicitation/create', question))}")


@tool("Asks for choices of every kind")
async def test_elicitation_sep1330_enums(state: State, ctx: Context, args: Params) -> Answer:
    titled = [
        {"const": f"value{n}", "title": f"{word} Option"} for n, word in enumerate(("First", "Second", "Third"), 1)
    ]
    question = form(
        "Please choose",
        untitledSingle={"type": "string", "enum": OPTIONS},
        titledSingle={"type": "string", "oneOf": titled},
        legacyEnum={
            "type": "string",
            "enum": ["opt1", "opt2", "opt3"],
            "enumNames": ["Option One", "Option Two", "Option Three"],
        },
        untitledMulti={"type": "array", "items": {"type": "string", "enum": OPTIONS}},
        titledMulti={"type": "array", "items": {"anyOf": titled}},
    )
    return text(f"Elicitation completed: {told(await ask(ctx, 'choices', 'elicitation/create', question))}")


# --- questions as results


def name_form() -> dict[str, Any]:
    """The question for a name."""
    return form("What is your name?", name={"type": "string"})


@tool("Greets who answers")
async def test_input_required_result_elicitation(state: State, ctx: Context, args: Params) -> Answer:
    answer = await ask(ctx, "user_name", "elicitation/create", name_form())
    return text(f"Hello, {(answer.get('content') or {}).get('name', 'stranger')}!")


@tool("Asks the client's model for a capital")
async def test_input_required_result_sampling(state: State, ctx: Context, args: Params) -> Answer:
    question = sample("What is the capital of France?")
    answer = await ask(ctx, "capital_question", "sampling/createMessage", question)
    return text(str((answer.get("content") or {}).get("text", "")))


@tool("Tells the client's roots")
async def test_input_required_result_list_roots(state: State, ctx: Context, args: Params) -> Answer:
    answer = await ask(ctx, "client_roots", "roots/list", {})
    return text(" ".join(str(root.get("uri")) for root in answer["roots"]))


def sealed(state: State, step: str) -> str:
    """A request state that says how far the call is."""
    return f"{step}.{hmac.new(state.key, step.encode(), hashlib.sha256).hexdigest()}"


def step_of(state: State, ctx: Context) -> str:
    """How far a call is, by the state that the client brought back; refuses one that was tampered with."""
    found = (ctx.params or {}).get("requestState")
    if found is None:
        return ""
    step = str(found).partition(".")[0]
    if not hmac.compare_digest(str(found), sealed(state, step)):
        raise MCPError(types.INVALID_PARAMS, "requestState failed its integrity check")
    return step


async def confirm(state: State, ctx: Context) -> Answer:
    """Ask for a confirmation that comes with a state."""
    step = step_of(state, ctx)
    try:
        await ask(ctx, "confirm", "elicitation/create", form("Please confirm", ok={"type": "boolean"}))
    except NeedsInput as question:
        raise NeedsInput(question.requests, sealed(state, "confirm")) from None
    return text("state-ok" if step == "confirm" or not modern(ctx) else "state-missing")


@tool("Asks with a state")
async def test_input_required_result_request_state(state: State, ctx: Context, args: Params) -> Answer:
    return await confirm(state, ctx)


@tool("Asks with a state that must not be changed")
async def test_input_required_result_tampered_state(state: State, ctx: Context, args: Params) -> Answer:
    return await confirm(state, ctx)


async def ask_all(ctx: Context, questions: dict[str, tuple[str, dict[str, Any]]]) -> dict[str, Answer]:
    """The answers to several questions, asked together where the era allows it."""
    answers: dict[str, Answer] = {}
    missing: dict[str, Any] = {}
    for key, (method, params) in questions.items():
        try:
            answers[key] = await ask(ctx, key, method, params)
        except NeedsInput as question:
            missing |= question.requests
    if missing:
        raise NeedsInput(missing)
    return answers


@tool("Asks three things at once")
async def test_input_required_result_multiple_inputs(state: State, ctx: Context, args: Params) -> Answer:
    step_of(state, ctx)
    questions = {
        "user_name": ("elicitation/create", name_form()),
        "greeting": ("sampling/createMessage", sample("Generate a greeting", 50)),
        "client_roots": ("roots/list", {}),
    }
    try:
        answers = await ask_all(ctx, questions)
    except NeedsInput as question:
        raise NeedsInput(question.requests, sealed(state, "all")) from None
    return text(f"answers: {', '.join(sorted(answers))}")


@tool("Asks two things, one after the other")
async def test_input_required_result_multi_round(state: State, ctx: Context, args: Params) -> Answer:
    step = step_of(state, ctx)
    name = form("Step 1: What is your name?", name={"type": "string"})
    color = form("Step 2: What is your favorite color?", color={"type": "string"})
    try:
        if step != "two":
            await ask(ctx, "step1", "elicitation/create", name)
    except NeedsInput as question:
        raise NeedsInput(question.requests, sealed(state, "one")) from None
    try:
        answer = await ask(ctx, "step2", "elicitation/create", color)
    except NeedsInput as question:
        raise NeedsInput(question.requests, sealed(state, "two")) from None
    return text(f"favorite color: {(answer.get('content') or {}).get('color')}")


@tool("Asks only what the client can answer")
async def test_input_required_result_capabilities(state: State, ctx: Context, args: Params) -> Answer:
    questions: dict[str, tuple[str, dict[str, Any]]] = {}
    if able(ctx, "elicitation"):
        questions["user_name"] = ("elicitation/create", name_form())
    if able(ctx, "sampling"):
        questions["greeting"] = ("sampling/createMessage", sample("Generate a greeting", 50))
    answers = await ask_all(ctx, questions)
    return text(f"answers: {', '.join(sorted(answers))}")


@tool("Needs a client that can sample")
async def test_missing_capability(state: State, ctx: Context, args: Params) -> Answer:
    if not able(ctx, "sampling"):
        missing: dict[str, Any] = {"requiredCapabilities": {"sampling": {}}}
        raise MCPError(
            types.MISSING_REQUIRED_CLIENT_CAPABILITY, "Missing required client capability: sampling", missing
        )
    return text("the client can sample")


@tool("Asks after it has reported progress")
async def test_streaming_elicitation(state: State, ctx: Context, args: Params) -> Answer:
    await ctx.session.report_progress(1, 2)
    return text(told(await ask(ctx, "user_name", "elicitation/create", name_form())))
