"""What `serve` runs once it holds the home."""

from __future__ import annotations

import json
import logging

import anyio
import pytest

from anyact_server.catalog import Site
from anyact_server.cli.options import Options
from anyact_server.cli.serving import Instance, holding, over_http, over_socket, over_stdio, tell_problems
from anyact_server.cli.start import find_site
from anyact_server.errors import HomeLocked, UnknownServer

from .kit import Shell


@pytest.fixture
def site(shell: Shell) -> Site:
    """A home with one disabled server and a field that is none."""
    shell.configure(a={"command": "x", "disabled": True, "surprise": 1})
    return find_site(Options())


def test_who_holds_the_home_is_told_to_later_ones(site: Site) -> None:
    """With its files, when they were named; nothing is left of it."""
    with holding(site, "here"):
        told = json.loads((site.home / "instance.json").read_text(encoding="utf-8"))
        assert told["files"] == []
        with pytest.raises(HomeLocked):
            over_stdio(Options(), None, lambda: True)
        with pytest.raises(HomeLocked):
            over_socket(Options(), lambda: True)
        with pytest.raises(HomeLocked):
            over_http(Options(), "127.0.0.1", 0, (), ())
    assert not (site.home / "instance.json").exists()


def test_problems_are_logged_at_the_start(site: Site, caplog: pytest.LogCaptureFixture) -> None:
    """One line each."""
    root = logging.getLogger("anyact")
    root.addHandler(caplog.handler)
    try:
        tell_problems(site)
    finally:
        root.removeHandler(caplog.handler)
    assert any("surprise" in message for message in caplog.messages)


@pytest.mark.anyio
async def test_an_instance_opens_beside_its_clients(site: Site) -> None:
    """The front is there at once; an endpoint of a server when the rooms stand; an unknown one is an error."""
    instance = Instance(site)
    front = await instance.endpoint(None)
    assert front.name == "anyact"
    with anyio.fail_after(30):
        async with instance.running():
            assert (await instance.ready()).catalog.spec("a").disabled
            await instance.endpoint("a")
            with pytest.raises(UnknownServer):
                await instance.endpoint("nobody")
