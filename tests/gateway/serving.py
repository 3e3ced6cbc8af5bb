"""Serves a world of twins over stdio, for tests that need a real process: `python -m tests.gateway.serving`."""

from __future__ import annotations

import sys

import anyio

from anyact_server.gateway import FrontServer, Parts, serve_stdio
from anyact_server.interfaces import Caller
from anyact_server.types import JsonObject, Observation

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


async def main(late: bool) -> None:
    """Serve until the client leaves."""
    ready = parts()

    async def give() -> Parts:
        return await _late() if late else ready

    await serve_stdio(FrontServer(give), line_bytes=1_000_000)


if __name__ == "__main__":
    anyio.run(main, "--late" in sys.argv)
