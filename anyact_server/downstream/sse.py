"""Servers behind the transport of 2024-11-05: one event stream brings everything, messages go by POST to the address
that its first event names."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager

import anyio
import httpx2

from anyact_server.errors import DownstreamError
from anyact_server.telemetry import MASK, logger
from anyact_server.types import JsonObject, Kind, ServerSpec

from . import frames
from .http import EVENTS, JSON, PROTOCOL_VERSION, Failure, is_stream
from .http_client import Clients, Courier, address, too_large
from .http_rules import KEPT_BODY, connection_error, not_mcp, plain_url, status_error
from .wire import Sink

LOG = logger("downstream")


class SseWire:
    """The wire to an endpoint of the old event-stream transport."""

    by_http = False
    pid = None

    def __init__(self, spec: ServerSpec, clients: Clients, *, event_bytes: int) -> None:
        self._spec = spec
        self._clients = clients
        self._limit = event_bytes
        self._url = address(spec)
        self._courier: Courier | None = None
        self._endpoint: httpx2.URL | None = None
        self._named = anyio.Event()
        self._ended: DownstreamError | None = None
        self._headers: dict[str, str] = {}

    @asynccontextmanager
    async def connected(self, sink: Sink) -> AsyncIterator[None]:
        self._courier = await self._clients.courier(self._spec, sink)
        async with anyio.create_task_group() as group:
            group.start_soon(self._listen, sink)
            try:
                await self._named.wait()
                if self._ended is not None:
                    raise self._ended
                yield
            finally:
                group.cancel_scope.cancel()

    async def send(self, frame: JsonObject, headers: Mapping[str, str]) -> None:
        assert self._courier is not None and self._endpoint is not None
        if self._ended is not None:
            raise DownstreamError(
                self._ended.message, server=self._spec.name, kind=Kind.UNAVAILABLE, may_have_run=False
            )
        sent = {"content-type": JSON, **self._headers}
        try:
            async with self._courier.exchange("POST", self._endpoint, sent, frames.write(frame)) as response:
                await self._accept(response)
        except Failure as error:
            raise connection_error(self._spec.name, self._endpoint, error) from error

    def withdraw(self, request: frames.RequestId) -> bool:
        return False

    def established(self, version: str, *, modern: bool) -> None:
        self._headers = {PROTOCOL_VERSION: version}

    async def _accept(self, response: httpx2.Response) -> None:
        if response.is_success:
            return
        body = (await response.aread())[:KEPT_BODY]
        assert self._endpoint is not None
        refused = status_error(
            self._spec.name,
            self._endpoint,
            response.status_code,
            response.headers,
            MASK.mask(body.decode("utf-8", "replace")),
            in_session=True,
            now=time.time(),
        )
        assert refused is not None
        raise refused

    async def _listen(self, sink: Sink) -> None:
        """Read the stream until it ends; its end is the end of the connection."""
        assert self._courier is not None
        reason: DownstreamError | None = None
        try:
            async with self._courier.exchange("GET", self._url, {"accept": EVENTS}) as response:
                await self._check(response)
                async for event in httpx2.EventSource(response, max_event_size=self._limit):
                    self._take(event, sink)
        except DownstreamError as error:
            reason = error
        except httpx2.SSEError:
            reason = too_large(self._spec.name, self._limit)
        except Failure as error:
            reason = connection_error(self._spec.name, self._url, error)
        self._ended = reason or DownstreamError(
            f"server {self._spec.name!r} at {plain_url(self._url)} ended its event stream",
            server=self._spec.name,
            kind=Kind.CRASHED,
        )
        if self._named.is_set():
            sink.close(self._ended)
        self._named.set()

    async def _check(self, response: httpx2.Response) -> None:
        if is_stream(response):
            return
        body = MASK.mask((await response.aread())[:KEPT_BODY].decode("utf-8", "replace"))
        refused = status_error(
            self._spec.name,
            self._url,
            response.status_code,
            response.headers,
            body,
            in_session=False,
            now=time.time(),
        )
        raise refused or not_mcp(self._spec.name, self._url, response.headers.get("content-type", ""), body)

    def _take(self, event: httpx2.ServerSentEvent, sink: Sink) -> None:
        if event.event == "endpoint":
            self._name_endpoint(event.data)
        elif event.event == "message" and event.data:
            found = frames.read_body(event.data)
            if not found:
                sink.warn(f"sent an event that is no JSON-RPC: {frames.shorten(MASK.mask(event.data))}")
            for frame in found:
                sink.receive(frame)

    def _name_endpoint(self, data: str) -> None:
        """Where messages go; another origin would receive this server's credentials."""
        try:
            endpoint = self._url.join(data)
        except httpx2.InvalidURL:
            endpoint = None
        if endpoint is None or (endpoint.scheme, endpoint.host, endpoint.port) != (
            self._url.scheme,
            self._url.host,
            self._url.port,
        ):
            raise DownstreamError(
                f"server {self._spec.name!r} names another origin for its messages: {frames.shorten(data)}",
                server=self._spec.name,
                kind=Kind.PROTOCOL,
                may_have_run=False,
            )
        self._endpoint = endpoint
        self._named.set()
