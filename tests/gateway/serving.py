"""Serves a world of twins, for tests that need a real process: `python -m tests.gateway.serving [--late|--http]`."""

from __future__ import annotations

import sys

import anyio

from anyact_server.gateway import FrontServer, Parts, http_app, listening, serve_http, serve_stdio
from anyact_server.interfaces import Caller
from anyact_server.types import JsonObject, Observation

from .clients import Tokens
from .twins import READ_ONLY, action, observation, world


async def _slow(arguments: JsonObject, caller: Caller) -> Observation:
    for step in range(3):
        await caller.progress(step, 3, f"step {step}")
    return observation("done slowly")


async def _ask(arguments: JsonObject, caller: Caller) -> Observation:
    answer = await caller.ask(
        "elicitation/create", {"message": "Your name?", "requestedSchema": {"type": "object", "properties": {}}}
    )
    return observation(f"answered {answer['action']}")


async def _chatter(arguments: JsonObject, caller: Caller) -> Observation:
    print("this must not reach the client")
    return observation("chattered")


def parts() -> Parts:
    """A few actions with behaviour."""
    return world(
        [
            action("demo", "echo", hints=READ_ONLY),
            action("demo", "slow"),
            action("demo", "ask"),
            action("demo", "chatter"),
            action("other", "echo"),
        ],
        behaviours={"demo__slow": _slow, "demo__ask": _ask, "demo__chatter": _chatter},
    ).parts


async def _late() -> Parts:
    """Parts that take for ever, for what must not wait for them."""
    await anyio.sleep_forever()
    return parts()


async def over_http() -> None:
    """Serve over HTTP until a signal comes; the port is printed once requests are taken, the end at the end."""
    world_parts = parts()

    async def give() -> Parts:
        return world_parts

    server = FrontServer(give)
    sock = listening("127.0.0.1", 0)
    port = sock.getsockname()[1]
    app = http_app(server, Tokens(), world_parts.settings, health=server.health)
    async with anyio.create_task_group() as group:
        await group.start(lambda *, task_status: serve_http(app, sock, task_status=task_status))
        print(port, flush=True)
    print("ended in order", flush=True)


async def over_stdio(late: bool) -> None:
    """Serve until the client leaves."""
    ready = parts()

    async def give() -> Parts:
        return await _late() if late else ready

    await serve_stdio(FrontServer(give), line_bytes=1_000_000)


if __name__ == "__main__":
    if "--http" in sys.argv:
        anyio.run(over_http)
    else:
        anyio.run(over_stdio, "--late" in sys.argv)
