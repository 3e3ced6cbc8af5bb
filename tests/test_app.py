"""The whole app over real servers: reading, health, reloading, diagnosing."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import anyio
import pytest

from anyact_server.app import App
from anyact_server.catalog import Site
from anyact_server.errors import ConfigError, StorageError, UnknownServer
from anyact_server.interfaces import Clock
from anyact_server.reliability import Ledger
from anyact_server.telemetry import SystemClock
from anyact_server.types import LOCAL, Query, ServerState
from tests.servers import plain

pytestmark = pytest.mark.anyio


class Home:
    """A home folder whose configuration a test writes."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir()

    def configure(self, **servers: Mapping[str, Any]) -> None:
        """Write the configuration."""
        text = json.dumps({"anyact": {"encoder": "off"}, "mcpServers": servers})
        (self.folder / "config.json").write_text(text, encoding="utf-8")

    def app(self, *, watching: bool = False) -> App:
        """An instance on this home."""
        return App(Site.find((), str(self.folder), {}, {}), watching=watching)


@pytest.fixture
def home(tmp_path: Path) -> Home:
    """A home without servers."""
    made = Home(tmp_path / "home")
    made.configure()
    return made


DIES = {"command": sys.executable, "args": ["-c", "import sys; sys.exit('no key given')"]}


@pytest.mark.case("D1")
async def test_servers_are_read_and_searched_each_for_itself(home: Home) -> None:
    """A broken one keeps its error, the sound one is found at once; the faulty and the disabled are left alone."""
    async with plain.listening(plain.web(plain.build(), "auto")) as port:
        home.configure(
            plain={"url": f"http://127.0.0.1:{port}/mcp"},
            dies=DIES,
            off={"command": "x", "disabled": True},
            unset={"command": "${NOT_SET_HERE}"},
        )
        app = home.app()
        with anyio.fail_after(30):
            async with app.running():
                await app.ready()
                assert app.unseen() == ["plain", "dies"]
                done: list[str] = []
                ended = await app.read_servers(["plain", "dies", "off", "unset"], done.append)
                assert sorted(done) == ["dies", "off", "plain", "unset"]
                assert set(ended) == {"plain", "dies"}
                assert ended["plain"].error is None
                assert "no key given" in str(ended["dies"].error)
                answer = await app.space.search(Query(("add two numbers",)), LOCAL)
                assert answer.hits[0].action.id == "plain__add"
                assert app.status("plain").state is ServerState.READY
                assert app.status("plain").actions == len(plain.TOOLS)
                assert app.status("off").state is ServerState.DISABLED
                with pytest.raises(UnknownServer):
                    app.status("nobody")
                findings = {one.server: one.health for one in await app.diagnose(["plain", "dies", "off", "unset"])}
                assert findings == {"plain": "ok", "dies": "broken", "off": "off", "unset": "broken"}


@pytest.mark.case("C4")
async def test_a_changed_configuration_is_taken_over_and_a_broken_one_is_not(home: Home) -> None:
    """What a server offers is searchable after reloading, and gone after it is removed."""
    async with plain.listening(plain.web(plain.build(), "auto")) as port:
        app = home.app()
        with anyio.fail_after(30):
            async with app.running():
                await app.ready()
                home.configure(plain={"url": f"http://127.0.0.1:{port}/mcp"})
                await app.reload()
                await app.read_servers(app.unseen())
                assert app.catalog.get("plain__echo") is not None
                (home.folder / "config.json").write_text("{", encoding="utf-8")
                with pytest.raises(ConfigError):
                    await app.reload()
                assert app.catalog.get("plain__echo") is not None
                home.configure()
                await app.reload()
                await app.settled()
                assert app.catalog.get("plain__echo") is None
                assert not (await app.space.search(Query(("echo",)), LOCAL)).hits


async def test_a_serving_app_reads_by_itself(home: Home) -> None:
    """Everything that was never seen, and a file that changes."""
    async with plain.listening(plain.web(plain.build(), "auto")) as port:
        home.configure(plain={"url": f"http://127.0.0.1:{port}/mcp"})
        app = home.app(watching=True)
        with anyio.fail_after(30):
            async with app.running():
                await app.ready()
                known = anyio.Event()
                app.catalog.listen(lambda _: known.set())
                if app.catalog.get("plain__echo") is None:
                    await known.wait()
                assert app.catalog.get("plain__echo") is not None
    again = home.app()
    async with again.running():
        await again.ready()
        assert again.unseen() == []


async def test_settings_that_change_wait_for_the_next_start(home: Home, caplog: pytest.LogCaptureFixture) -> None:
    """Said in the log; the servers are taken over."""
    app = home.app()
    async with app.running():
        await app.ready()
        text = json.dumps({"anyact": {"encoder": "off", "call_s": 3}, "mcpServers": {"a": {"command": "x"}}})
        (home.folder / "config.json").write_text(text, encoding="utf-8")
        await app.reload()
        assert app.site.settings.call_s == 60.0
        assert [spec.name for spec in app.catalog.specs()] == ["a"]


async def test_a_home_that_cannot_be_used_is_an_error(tmp_path: Path) -> None:
    """And nobody waits for the rooms for ever."""
    (tmp_path / "file").write_text("x", encoding="utf-8")
    app = App(Site.find((), str(tmp_path / "file" / "home"), {}, {}))
    with pytest.raises(BaseExceptionGroup) as caught, anyio.fail_after(10):
        async with app.running():
            await app.ready()
    assert caught.value.split(StorageError)[0] is not None


async def test_the_caller_of_the_machine_answers_no_questions(home: Home) -> None:
    """Whoever asks is told so."""
    assert home.app().caller().principal == LOCAL
    clock = SystemClock()
    assert clock.now() > 1e9
    assert clock.monotonic() <= clock.monotonic()


async def test_another_ledger_may_stand_in_for_the_own(home: Home) -> None:
    """What is made in its place, with its file and the clock, is what calls are recorded in."""
    made: list[Ledger] = []

    def ledger(path: Path | None, clock: Clock) -> Ledger:
        made.append(Ledger(None, clock))
        return made[-1]

    async with plain.listening(plain.web(plain.build(), "auto")) as port:
        home.configure(plain={"url": f"http://127.0.0.1:{port}/mcp"})
        app = App(Site.find((), str(home.folder), {}, {}), ledger=ledger)
        with anyio.fail_after(30):
            async with app.running():
                await app.ready()
                await app.read_servers(["plain"])
                assert not (await app.space.call("plain__add", {"a": 1, "b": 2}, app.caller())).is_error
                assert made[0].estimate("plain__add", "plain").calls == 1
    assert not (home.folder / "ledger.sqlite").exists()
