"""The whole product for a test: every room, served over a real socket, and clients of every route that lead into it."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, Protocol

import anyio
import httpx2
from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamable_http_client

from anyact_server.access import Tokens
from anyact_server.catalog import Site
from anyact_server.cli.serving import Instance, web_face
from anyact_server.gateway import Gate, Parts, listening, serve_http

from .limits import PATIENCE_S

ROOT = Path(__file__).resolve().parents[2]
SERVERS = ROOT / "tests" / "servers"
Route = Literal["http-legacy", "http-modern", "rest", "run", "rest-run"]
ROUTES: tuple[Route, ...] = ("http-legacy", "http-modern", "rest", "run", "rest-run")
Entry = dict[str, Any]


# --- servers as entries of a configuration


def raw(*flags: str, **more: Any) -> Entry:
    """The stdio server that can send any byte."""
    return {"command": sys.executable, "args": [str(SERVERS / "raw.py"), *flags], **more}


def plain(*flags: str, **more: Any) -> Entry:
    """The correct stdio server."""
    return {
        "command": sys.executable,
        "args": ["-m", "tests.servers.plain", "--stdio", *flags],
        "cwd": str(ROOT),
    } | more


def listed(file: Path, tools: Sequence[Any], results: Mapping[str, Any] | None = None, **more: Any) -> Entry:
    """A stdio server that offers exactly these tools; `file` is where it reads them."""
    relist(file, tools, results)
    return {"command": sys.executable, "args": [str(SERVERS / "listed.py"), str(file)], **more}


def relist(file: Path, tools: Sequence[Any], results: Mapping[str, Any] | None = None) -> None:
    """Change what such a server offers."""
    fresh = file.with_suffix(".new")
    fresh.write_text(json.dumps({"tools": tools, "results": results or {}}), encoding="utf-8")
    fresh.replace(file)


def tool(name: str, description: str = "", schema: Any = None, **more: Any) -> dict[str, Any]:
    """A definition of a tool."""
    return {"name": name, "description": description, "inputSchema": schema or {"type": "object"}, **more}


def calls(file: Path) -> list[Any]:
    """The calls that reached a listed server: name and arguments."""
    path = Path(f"{file}.calls")
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()] if path.exists() else []


def web(port: int, path: str = "/mcp", **more: Any) -> Entry:
    """A server at a loopback port."""
    return {"url": f"http://127.0.0.1:{port}{path}", **more}


def script(code: str, **more: Any) -> Entry:
    """A server that is a few lines of Python."""
    return {"command": sys.executable, "args": ["-c", code], **more}


# --- answers, the same whatever the route


@dataclass(frozen=True)
class Answer:
    """What a client got: the flag, the kind of failure, the text, media, and everything else as the route says it."""

    is_error: bool
    kind: str | None
    text: str
    blocks: tuple[Mapping[str, Any], ...]
    facts: Mapping[str, Any]
    bytes: int
    status: int = 200
    """The HTTP status, over REST."""

    @property
    def suspected(self) -> Mapping[str, Any] | None:
        """The failure that a success seems to be."""
        found: Mapping[str, Any] | None = self.facts.get("suspected")
        return found

    @property
    def value(self) -> Any:
        """The JSON in the text."""
        if "data" in self.facts:
            return self.facts["data"]
        lines = self.text.splitlines()
        start = next((number for number, line in enumerate(lines) if line.startswith(("{", "["))), None)
        assert start is not None, f"no JSON in {self.text[:500]!r}"
        return json.JSONDecoder().raw_decode("\n".join(lines[start:]))[0]


def of_mcp(result: Any) -> Answer:
    """The answer in a result of `call_action`."""
    content = [block.model_dump(mode="json", by_alias=True, exclude_none=True) for block in result.content]
    facts = result.structured_content or {}
    kind = (facts.get("error") or {}).get("kind")
    media = tuple(block for block in content if block["type"] != "text")
    text = "\n".join(block["text"] for block in content if block["type"] == "text")
    return Answer(bool(result.is_error), kind, text, media, facts, len(result.model_dump_json()))


def of_task(result: Any) -> Answer:
    """The answer in a result of `run_actions` with one task."""
    whole = of_mcp(result)
    (task,) = whole.facts["tasks"]
    kind = (task.get("error") or {}).get("kind")
    text = whole.text.partition("\n\n")[2].partition("\n")[2]  # after the lines of the run and of the task
    return Answer(bool(task.get("isError")), kind, text, whole.blocks, task, whole.bytes)


def of_rest(status: int, body: Mapping[str, Any], size: int) -> Answer:
    """The answer in a body of REST that holds an observation or an error."""
    shown: Mapping[str, Any] = body.get("observation") or {}
    error = body.get("error") or shown.get("error")
    words = [shown.get("summary", ""), shown.get("text", ""), *shown.get("notes", ())]
    words += [str((error or {}).get(name) or "") for name in ("message", "hint")]
    flag = bool(shown.get("is_error", error is not None))
    text = "\n".join(word for word in words if word)
    return Answer(flag, (error or {}).get("kind"), text, tuple(shown.get("blocks", ())), shown or body, size, status)


class Face(Protocol):
    """A client that calls actions by one route."""

    async def call(self, action: str, arguments: Any = None, **more: Any) -> Answer: ...


@dataclass
class McpFace:
    """An MCP client."""

    client: Client
    in_run: bool = False

    async def call(self, action: str, arguments: Any = None, **more: Any) -> Answer:
        """Call an action; without arguments where they are None."""
        given = {"action": action, **more} | ({} if arguments is None else {"arguments": arguments})
        if self.in_run:
            return of_task(await self.client.call_tool("run_actions", {"tasks": [{"id": "one", **given}]}))
        return of_mcp(await self.client.call_tool("call_action", given))

    async def tool(self, name: str, **arguments: Any) -> Answer:
        """Call one of the eight tools."""
        return of_mcp(await self.client.call_tool(name, arguments))


@dataclass
class RestFace:
    """A program that speaks REST."""

    http: httpx2.AsyncClient
    in_run: bool = False

    async def call(self, action: str, arguments: Any = None, **more: Any) -> Answer:
        """Call an action; without arguments where they are None."""
        given = {"action": action, **more} | ({} if arguments is None else {"arguments": arguments})
        if not self.in_run:
            return await self.post("/v1/call", given)
        answer = await self.http.post("/v1/runs", json={"tasks": [{"id": "one", **given}]})
        body = answer.json()
        if answer.status_code >= 300:
            return of_rest(answer.status_code, body, len(answer.content))
        (task,) = body["tasks"]
        return of_rest(answer.status_code, task, len(answer.content))

    async def post(self, path: str, body: Any = None) -> Answer:
        """Send a body."""
        answer = await self.http.post(path, json=body)
        return of_rest(answer.status_code, answer.json(), len(answer.content))

    async def get(self, path: str, **query: Any) -> Any:
        """Read a path."""
        return (await self.http.get(path, params=query)).json()


# --- the product


@dataclass
class Product:
    """A running instance."""

    url: str
    site: Site
    instance: Instance
    parts: Parts

    @asynccontextmanager
    async def mcp(
        self, mode: Literal["legacy", "auto"] = "auto", path: str = "/mcp", **more: Any
    ) -> AsyncIterator[McpFace]:
        """An MCP client of one era."""
        headers = more.pop("headers", {})
        async with (
            httpx2.AsyncClient(timeout=PATIENCE_S, headers=headers) as http,
            Client(
                streamable_http_client(f"{self.url}{path}", http_client=http), mode=mode, cache=None, **more
            ) as client,
        ):
            yield McpFace(client)

    @asynccontextmanager
    async def rest(self, **headers: str) -> AsyncIterator[RestFace]:
        """A REST client."""
        async with httpx2.AsyncClient(base_url=self.url, timeout=PATIENCE_S, headers=headers) as http:
            yield RestFace(http)

    @asynccontextmanager
    async def face(self, route: Route) -> AsyncIterator[Face]:
        """A client of this route."""
        if route in ("rest", "rest-run"):
            async with self.rest() as rest:
                rest.in_run = route == "rest-run"
                yield rest
        else:
            async with self.mcp("legacy" if route == "http-legacy" else "auto") as mcp:
                mcp.in_run = route == "run"
                yield mcp

    @asynccontextmanager
    async def faces(self, *routes: Route) -> AsyncIterator[dict[Route, Face]]:
        """A client of each route, of all when none is named."""
        async with AsyncExitStack() as open_faces:
            yield {route: await open_faces.enter_async_context(self.face(route)) for route in routes or ROUTES}

    def id(self, server: str, name: str) -> str:
        """The id of an action."""
        return self.parts.name_of(server, name)

    def state(self, server: str) -> str:
        """The state of a server in a word."""
        return self.parts.downstreams.status(server).state.value

    async def until(self, holds: Callable[[], bool], what: str, seconds: float = PATIENCE_S) -> None:
        """Wait until something holds, looking again at every event."""
        news = anyio.Event()
        deaf = [
            self.parts.catalog.listen(lambda _: news.set()),
            self.parts.downstreams.listen(lambda _: news.set()),
        ]
        try:
            with anyio.move_on_after(seconds) as scope:
                while not holds():
                    with anyio.move_on_after(0.05):  # what is no event: files, processes, the index
                        await news.wait()
                    news = anyio.Event()
            assert not scope.cancelled_caught, f"not within {seconds:.1f} s: {what}"
        finally:
            for stop in deaf:
                stop()

    async def known(self, *servers: str) -> None:
        """Wait until what these servers offer is known."""
        await self.until(
            lambda: all(self.parts.catalog.snapshot(name) is not None for name in servers), f"{servers} read"
        )


def configure(folder: Path, servers: Mapping[str, Any], settings: Mapping[str, Any] | None = None) -> Path:
    """Write a configuration file, at one stroke."""
    file = folder / "config.json"
    fresh = folder / "config.new"
    fresh.write_text(json.dumps({"mcpServers": servers, "anyact": settings or {}}), encoding="utf-8")
    fresh.replace(file)
    return file


@asynccontextmanager
async def product(
    folder: Path, servers: Mapping[str, Any], *, read: Sequence[str] | None = None, **settings: Any
) -> AsyncIterator[Product]:
    """The product over HTTP in this process, its home in `folder`.

    Args:
        folder: an empty folder.
        servers: the entries of the configuration.
        read: wait until what these servers offer is known; all of them when None.
        settings: settings that differ from the defaults; the encoder is off unless it is named.
    """
    file = configure(folder, servers, {"encoder": "off", **settings})
    site = Site.find([str(file)], str(folder / "home"), {}, dict(os.environ))
    site.home.mkdir(exist_ok=True)
    instance = Instance(site)
    sock = listening("127.0.0.1", 0)
    port = sock.getsockname()[1]
    web_app = web_face(instance, Tokens(site.home), Gate("127.0.0.1"))
    async with anyio.create_task_group() as group:
        await group.start(lambda *, task_status: serve_http(web_app, sock, signals=False, task_status=task_status))
        try:
            with anyio.fail_after(PATIENCE_S):
                parts = await instance.ready()
            running = Product(f"http://127.0.0.1:{port}", site, instance, parts)
            await running.known(*(servers if read is None else read))
            yield running
        finally:
            group.cancel_scope.cancel()


@asynccontextmanager
async def over_stdio(
    folder: Path, servers: Mapping[str, Any], mode: Literal["legacy", "auto"] = "auto", **settings: Any
) -> AsyncIterator[McpFace]:
    """A client at the pipe of `anyact serve --stdio`, a process of its own; its log is `folder/log`."""
    file = configure(folder, servers, {"encoder": "off", **settings})
    words = ["-m", "anyact_server", "serve", "--stdio", "--config", str(file), "--home", str(folder / "home")]
    start = StdioServerParameters(command=sys.executable, args=words, cwd=ROOT, env=dict(os.environ))
    with (folder / "log").open("w", encoding="utf-8") as log:
        async with Client(stdio_client(start, errlog=log), mode=mode, cache=None) as client:
            yield McpFace(client)
