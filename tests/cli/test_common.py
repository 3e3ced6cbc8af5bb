"""How a command gets its site and its app."""

from __future__ import annotations

import pytest

from anyact_server.app import App
from anyact_server.cli.common import with_app
from anyact_server.cli.options import Options
from anyact_server.cli.start import find_site
from anyact_server.errors import UnknownServer

from .kit import Shell, script_entry


def test_servers_are_read_once_and_remembered(shell: Shell, address: str) -> None:
    """The second command starts nothing."""
    shell.configure(plain={"url": address})
    site = find_site(Options())

    async def unseen(app: App) -> list[str]:
        return app.unseen()

    assert with_app(site, unseen) == ["plain"]
    assert with_app(site, unseen, read=True) == []
    assert with_app(site, unseen) == []


def test_an_error_in_the_work_comes_out_bare(shell: Shell) -> None:
    """And not as a group of errors."""

    async def work(app: App) -> None:
        app.catalog.spec("nobody")

    with pytest.raises(UnknownServer, match="nobody"):
        with_app(find_site(Options()), work)


def test_a_server_that_cannot_be_read_is_named(shell: Shell, capsys: pytest.CaptureFixture[str]) -> None:
    """With the command that tells more; a disabled one is left alone."""
    shell.configure(bad=script_entry("print('hello')"), off={"command": "x", "disabled": True})

    async def work(app: App) -> int:
        return len(app.catalog.actions())

    assert with_app(find_site(Options()), work, read=True) == 0
    errors = capsys.readouterr().err
    assert "bad could not be read" in errors
    assert "anyact doctor bad" in errors
    assert "off" not in errors.replace("off a", "")


@pytest.mark.case("D1")
def test_a_server_that_hangs_costs_the_others_a_bounded_wait(
    shell: Shell, address: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """What was read is there; the one that hangs is named and left out."""
    shell.configure(hangs=script_entry("import time; time.sleep(60)"), plain={"url": address})

    async def work(app: App) -> set[str]:
        return {action.server for action in app.catalog.actions()}

    assert with_app(find_site(Options()), work, read=True, patience_s=4.0) == {"plain"}
    assert "hangs" in capsys.readouterr().err
