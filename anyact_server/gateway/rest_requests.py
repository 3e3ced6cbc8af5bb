"""What a request says: its body, its query parameters, and whether its client is still there."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

import anyio
import pydantic_core
from pydantic import BaseModel, ValidationError
from starlette.requests import ClientDisconnect, Request

from anyact_server.errors import AnyActError

from .rest_answers import ECHO_CHARS, Refused

B = TypeVar("B", bound=BaseModel)
T = TypeVar("T")
LONGEST_WAIT_S = 86_400.0
"""Longest time that a request may ask to wait."""


async def read_body(request: Request, model: type[B], most: int, *, optional: bool = False) -> B:
    """The body as a model.

    Args:
        request: the request.
        model: its form.
        most: bytes that are read.
        optional: take no body at all as an empty object.

    Raises:
        Refused: too large (413), not JSON (415, 400 with the place), a text in it too long (400), or not of this
            form (422).
    """
    kind = request.headers.get("content-type", "application/json").partition(";")[0].strip().lower()
    if kind != "application/json" and not kind.endswith("+json"):
        raise Refused(415, f"the body is {kind[:ECHO_CHARS]!r}", "Send application/json.")
    raw = await _bytes(request, most)
    if optional and not raw.strip():
        return model()
    try:
        # The parser that reads MCP's messages too: integers of any size stay as they are, nesting has a limit.
        value = pydantic_core.from_json(raw, allow_inf_nan=False)
    except ValueError as error:
        raise Refused(400, f"the body is no JSON: {error}", "Send one JSON object in UTF-8.") from error
    try:
        return model.model_validate(value)
    except ValidationError as error:
        raise _misshapen(error) from error


def _misshapen(error: ValidationError) -> Refused:
    first = error.errors(include_input=False, include_url=False)[0]
    place = ".".join(str(part)[:ECHO_CHARS] for part in first["loc"])[: 2 * ECHO_CHARS] or "the body"
    status = 400 if first["type"] == "string_too_long" else 422
    return Refused(status, f"{place}: {first['msg']}", "See /openapi.json for the form of this body.")


async def _bytes(request: Request, most: int) -> bytes:
    declared = request.headers.get("content-length", "")
    too_large = Refused(
        413, f"the body is larger than {most} bytes", "The setting is body_bytes.", headers={"Connection": "close"}
    )
    if declared.isdigit() and (len(declared) > 15 or int(declared) > most):
        raise too_large
    parts, size = [], 0
    async for part in request.stream():
        size += len(part)
        if size > most:
            raise too_large
        parts.append(part)
    return b"".join(parts)


class Asked:
    """The query parameters of a request. Names that are not known are refused, so that no typing mistake is ignored."""

    def __init__(self, request: Request, *known: str) -> None:
        """Check the names.

        Raises:
            Refused: a parameter is not known here.
        """
        self._given = request.query_params
        for name in self._given:
            if name not in known:
                words = f"Known here: {', '.join(known)}." if known else "None is known here."
                raise Refused(422, f"no parameter is called {name[:ECHO_CHARS]!r}", words)

    def text(self, name: str) -> str | None:
        """A text, None when it is not there."""
        return self._given.get(name)

    def texts(self, name: str) -> list[str]:
        """A text once per time that it is given."""
        return list(self._given.getlist(name))

    def whole(self, name: str, default: int, low: int, high: int) -> int:
        """A whole number. Raises Refused."""
        text = self._given.get(name)
        if text is None:
            return default
        if not re.fullmatch(r"-?[0-9]{1,12}", text) or not low <= int(text) <= high:
            raise Refused(422, f"{name} must be a whole number from {low} to {high}")
        return int(text)

    def seconds(self, name: str) -> float:
        """Seconds, 0 when they are not there. Raises Refused."""
        text = self._given.get(name, "0")
        fits = re.fullmatch(r"[0-9]{1,12}(\.[0-9]{1,20})?(e[+-]?[0-9]{1,3})?", text, re.ASCII | re.IGNORECASE)
        if not fits or float(text) > LONGEST_WAIT_S:
            raise Refused(422, f"{name} must be seconds from 0 to {LONGEST_WAIT_S:.0f}")
        return float(text)

    def flag(self, name: str) -> bool | None:
        """True, false, or None when it is not there. Raises Refused."""
        text = self._given.get(name)
        if text not in (None, "true", "false"):
            raise Refused(422, f"{name} must be true or false")
        return None if text is None else text == "true"

    def choice(self, name: str, choices: tuple[str, ...]) -> Any:
        """One of several words, the first when it is not there. Raises Refused."""
        text = self._given.get(name, choices[0])
        if text not in choices:
            raise Refused(422, f"{name} must be one of {', '.join(choices)}")
        return text


async def while_connected(request: Request, work: Callable[[], Awaitable[T]]) -> T:
    """The result of the work, which is cancelled when the client leaves. The body must have been read.

    Raises:
        ClientDisconnect: the client left first.
        AnyActError: the work's own.
    """
    ended: list[T | AnyActError] = []

    async def watch(scope: anyio.CancelScope) -> None:
        while (await request.receive())["type"] != "http.disconnect":
            pass
        scope.cancel()

    async with anyio.create_task_group() as group:
        group.start_soon(watch, group.cancel_scope)
        try:
            ended.append(await work())
        except AnyActError as error:
            # Raised again outside: a task group would wrap it.
            ended.append(error)
        group.cancel_scope.cancel()
    if not ended:
        raise ClientDisconnect
    if isinstance(ended[0], AnyActError):
        raise ended[0]
    return ended[0]
