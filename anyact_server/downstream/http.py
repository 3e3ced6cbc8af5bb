"""Servers behind streamable HTTP: every request is a POST whose answer is JSON or an event stream.

Both eras: a session id and a standing GET stream before 2026-07-28, neither since. A request's stream that breaks off
is taken up again where the server numbers its events; a standing stream that ends is opened again with growing pauses.
"""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager

import anyio
import httpx2
from anyio.abc import TaskGroup

from anyact_server.errors import DownstreamError
from anyact_server.telemetry import MASK, logger
from anyact_server.types import JsonObject, Kind, ServerSpec

from . import frames
from .backoff import Pauses
from .http_client import Clients, Courier, address, too_large
from .http_rules import KEPT_BODY, connection_error, not_mcp, plain_url, status_error
from .wire import SessionLost, Sink

LOG = logger("downstream")
SESSION_ID = "mcp-session-id"
PROTOCOL_VERSION = "mcp-protocol-version"
LAST_EVENT_ID = "last-event-id"
JSON = "application/json"
EVENTS = "text/event-stream"
POST_HEADERS = {"accept": f"{JSON}, {EVENTS}", "content-type": JSON}
GOODBYE_S = 2.0
MOST_RESUMPTIONS = 5
"""Times in a row that a broken stream is taken up again without anything new coming."""
LASTING_S = 30.0
"""A standing stream that lived for so long starts its pauses anew."""
METHOD_NOT_FOUND = -32601
OUTRANKING = frozenset({Kind.AUTH, Kind.PERMISSION, Kind.RATE_LIMITED})
"""Refusals that say more by their status than by a JSON-RPC error in their body."""
Failure = (httpx2.HTTPError, httpx2.InvalidURL, httpx2.StreamError)


class HttpWire:
    """The wire to a streamable HTTP endpoint."""

    by_http = True
    pid = None

    def __init__(self, spec: ServerSpec, clients: Clients, *, event_bytes: int) -> None:
        self._spec = spec
        self._clients = clients
        self._limit = event_bytes
        self._url = address(spec)
        self._courier: Courier | None = None
        self._group: TaskGroup | None = None
        self._sink: Sink | None = None
        self._session: str | None = None
        self._version: str | None = None
        self._modern = False
        self._posts: dict[frames.RequestId, anyio.CancelScope] = {}

    @asynccontextmanager
    async def connected(self, sink: Sink) -> AsyncIterator[None]:
        self._sink = sink
        self._courier = await self._clients.courier(self._spec, sink)
        async with anyio.create_task_group() as group:
            self._group = group
            try:
                yield
            finally:
                group.cancel_scope.cancel()
                await self._leave()

    async def send(self, frame: JsonObject, headers: Mapping[str, str]) -> None:
        assert self._group is not None
        if "method" in frame and "id" in frame:
            scope = self._posts[frame["id"]] = anyio.CancelScope()
            self._group.start_soon(self._exchange, frame, frames.write(frame), dict(headers), scope)
        elif not (self._modern and "method" in frame):  # the era of 2026-07-28 has no notifications to servers
            await self._tell(frame, dict(headers))

    def withdraw(self, request: frames.RequestId) -> bool:
        scope = self._posts.get(request)
        if scope is None or not self._modern:
            return self._modern
        scope.cancel()
        return True

    def established(self, version: str, *, modern: bool) -> None:
        self._version, self._modern = version, modern
        if self._session is not None and not modern:
            assert self._group is not None
            self._group.start_soon(self._stand)

    async def _exchange(
        self, frame: JsonObject, content: bytes, headers: dict[str, str], scope: anyio.CancelScope
    ) -> None:
        """Send a request and feed whatever comes back to the sink, until its answer."""
        assert self._sink is not None
        ident = frame["id"]
        try:
            with scope:
                await self._post(frame, content, headers)
        except DownstreamError as error:
            self._sink.fail(ident, error)
        except Failure as error:
            self._sink.fail(ident, connection_error(self._spec.name, self._url, error))
        finally:
            if self._posts.get(ident) is scope:
                del self._posts[ident]

    async def _post(self, frame: JsonObject, content: bytes, headers: dict[str, str]) -> None:
        ident = frame["id"]
        session = None if frame["method"] == "initialize" else self._session
        position = Position()
        async with self._request(content, headers, session) as response:
            if not await self._accepted(response, ident, session):
                return
            if frame["method"] == "initialize":
                self._session = response.headers.get(SESSION_ID)
            kind = response.headers.get("content-type", "").lower()
            if kind.startswith(EVENTS):
                if await self._follow(response, ident, position):
                    return
            else:
                await self._take_body(response, ident, kind)
                return
        await self._resume(ident, position)

    async def _resume(self, ident: frames.RequestId, position: Position) -> None:
        """Take up a request's stream again that ended before its answer, where the server numbers its events."""
        assert self._courier is not None
        pauses = Pauses(first_s=1.0, longest_s=16.0)
        tries = 0
        while position.event_id is not None and tries < MOST_RESUMPTIONS:
            pause_s = pauses.next()
            await anyio.sleep(position.retry_s if tries == 0 and position.retry_s else max(pause_s, position.retry_s))
            seen = position.event_id
            headers = {**self._common(), "accept": EVENTS, LAST_EVENT_ID: seen}
            try:
                async with self._courier.exchange("GET", self._url, headers) as response:
                    if not is_stream(response):
                        break
                    if await self._follow(response, ident, position):
                        return
            except httpx2.TransportError as error:
                LOG.debug("%s: %s", self._spec.name, error)
            tries = 0 if position.event_id != seen else tries + 1
        raise DownstreamError(
            f"server {self._spec.name!r} at {plain_url(self._url)} ended the stream before it answered",
            server=self._spec.name,
            kind=Kind.CRASHED,
        )

    async def _follow(self, response: httpx2.Response, ident: frames.RequestId | None, position: Position) -> bool:
        """Feed the events of a stream to the sink; True once the answer to `ident` was among them."""
        assert self._sink is not None
        try:
            async for event in httpx2.EventSource(response, max_event_size=self._limit):
                position.note(event)
                if event.event != "message" or not event.data:
                    continue
                found = frames.read_body(event.data)
                if not found:
                    self._sink.warn(f"sent an event that is no JSON-RPC: {frames.shorten(MASK.mask(event.data))}")
                for frame in found:
                    self._sink.receive(frame, ident)
                    if "method" not in frame and frames.known_id(frame.get("id")) == ident:
                        return True
        except httpx2.SSEError as error:
            raise too_large(self._spec.name, self._limit) from error
        except httpx2.TransportError as error:
            if position.event_id is None and ident is not None:
                raise
            LOG.debug("%s: a stream broke off: %s", self._spec.name, error)
        return False

    async def _take_body(self, response: httpx2.Response, ident: frames.RequestId, kind: str) -> None:
        assert self._sink is not None
        body = await self._read(response)
        found = frames.read_body(body)
        if not found:
            shown = MASK.mask(body[:KEPT_BODY].decode("utf-8", "replace"))
            if response.status_code == 202:
                shown, kind = "202 Accepted, which promises no answer", "nothing"
            raise not_mcp(self._spec.name, self._url, kind, shown)
        for frame in found:
            self._sink.receive(frame, ident)
        if not any("method" not in frame and frames.known_id(frame.get("id")) == ident for frame in found):
            raise DownstreamError(
                f"server {self._spec.name!r} at {plain_url(self._url)} answered another request than the one sent",
                server=self._spec.name,
                kind=Kind.PROTOCOL,
            )

    async def _accepted(self, response: httpx2.Response, ident: frames.RequestId | None, session: str | None) -> bool:
        """Whether to read on: a refusal is raised as what it means, unless its body holds the JSON-RPC answer."""
        if 200 <= response.status_code < 300:
            return True
        body = await self._read(response)
        refused = status_error(
            self._spec.name,
            self._url,
            response.status_code,
            response.headers,
            MASK.mask(body[:KEPT_BODY].decode("utf-8", "replace")),
            in_session=session is not None,
            now=time.time(),
        )
        found = [frame for frame in frames.read_body(body) if "error" in frame]
        code = found[0]["error"].get("code") if found and isinstance(found[0]["error"], dict) else None
        lost = isinstance(refused, SessionLost) and code != METHOD_NOT_FOUND
        if ident is not None and found and not lost and (refused is None or refused.kind not in OUTRANKING):
            assert self._sink is not None
            self._sink.receive({**found[0], "id": ident}, ident)
            return False
        assert refused is not None
        raise refused

    async def _read(self, response: httpx2.Response) -> bytes:
        parts: list[bytes] = []
        size = 0
        async for part in response.aiter_bytes():
            parts.append(part)
            size += len(part)
            if size > self._limit:
                raise too_large(self._spec.name, self._limit)
        return b"".join(parts)

    async def _tell(self, frame: JsonObject, headers: dict[str, str]) -> None:
        """Send a notification or an answer; the server only accepts it."""
        try:
            async with self._request(frames.write(frame), headers, self._session) as response:
                await self._accepted(response, None, self._session)
        except Failure as error:
            raise connection_error(self._spec.name, self._url, error) from error

    @asynccontextmanager
    async def _request(
        self, content: bytes, headers: dict[str, str], session: str | None
    ) -> AsyncIterator[httpx2.Response]:
        assert self._courier is not None
        common = self._common() if session is not None or self._version else {}
        async with self._courier.exchange(
            "POST", self._url, {**common, **POST_HEADERS, **headers}, content
        ) as response:
            yield response

    def _common(self) -> dict[str, str]:
        found = {} if self._session is None else {SESSION_ID: self._session}
        if self._version is not None:
            found[PROTOCOL_VERSION] = self._version
        return found

    async def _stand(self) -> None:
        """Keep the standing stream of a session open, on which servers send what belongs to no request."""
        assert self._courier is not None
        pauses = Pauses(first_s=1.0, longest_s=60.0)
        position = Position()
        while True:
            opened = anyio.current_time()
            headers = {**self._common(), "accept": EVENTS}
            if position.event_id is not None:
                headers[LAST_EVENT_ID] = position.event_id
            try:
                async with self._courier.exchange("GET", self._url, headers) as response:
                    if not is_stream(response):
                        LOG.debug("%s: no standing stream (HTTP %s)", self._spec.name, response.status_code)
                        return
                    await self._follow(response, None, position)
            except (*Failure, DownstreamError) as error:
                LOG.debug("%s: the standing stream broke off: %s", self._spec.name, error)
            if anyio.current_time() - opened > LASTING_S:
                pauses.reset()
            await anyio.sleep(max(pauses.next(), position.retry_s))

    async def _leave(self) -> None:
        """Tell the server that its session is over."""
        if self._session is None or self._courier is None:
            return
        with anyio.move_on_after(GOODBYE_S, shield=True):
            try:
                async with self._courier.exchange("DELETE", self._url, self._common()):
                    pass
            except Failure as error:
                LOG.debug("%s: the session could not be ended: %s", self._spec.name, error)


def is_stream(response: httpx2.Response) -> bool:
    """Whether an answer is an event stream."""
    return response.is_success and response.headers.get("content-type", "").lower().startswith(EVENTS)


class Position:
    """How far a stream was read: the last event's id, and the pause that the server asked for."""

    def __init__(self) -> None:
        self.event_id: str | None = None
        self.retry_s = 0.0

    def note(self, event: httpx2.ServerSentEvent) -> None:
        """Take an event into account."""
        if event.id:
            self.event_id = event.id
        if event.retry is not None:
            self.retry_s = min(event.retry / 1000, 60.0)
