"""How a process takes a home over, and whom it serves beside its own clients."""

from __future__ import annotations

from pathlib import Path

import pytest

from anyact_server.catalog import HomeLock
from anyact_server.cli.serving import acquired
from anyact_server.errors import HomeLocked

from .kit import PATIENCE_S, Shell, pipe, plain_entry


@pytest.mark.case("L2")
def test_a_pipe_on_a_home_that_http_serves_shares_its_servers(shell: Shell) -> None:
    """A desktop client and the clients of one gateway use the same server process."""
    shell.configure(plain=plain_entry())
    assert shell("servers", "--check").code == 0
    with shell.start("serve", "--http", "127.0.0.1:0") as process:
        assert process.stderr is not None
        assert "serving MCP at" in process.stderr.readline()
        with pipe(shell) as first, pipe(shell) as second:
            first.greet()
            second.greet()
            assert first.server() == second.server()
            assert first.leave() == second.leave() == 0
        assert process.poll() is None
        process.terminate()
        assert process.wait(PATIENCE_S) == 0
    assert not (shell.home / "anyact.sock").exists()


def test_a_client_that_returns_while_its_last_instance_is_ending_takes_the_home_over(shell: Shell) -> None:
    """Clients that open a session for every call do so; the home is waited for while nobody takes clients there."""
    shell.configure(plain=plain_entry())
    ending = HomeLock(shell.home)
    ending.acquire()
    with pipe(shell) as client:
        waiting = client.send("ping")
        assert client.process.poll() is None
        ending.release()
        assert client.answer(waiting) == {"jsonrpc": "2.0", "id": waiting, "result": {}}
        client.greet()


def test_a_home_is_not_waited_for_where_somebody_takes_clients(tmp_path: Path) -> None:
    """The lock is refused at once; without such a holder it is asked for again until it is free."""
    first, second = HomeLock(tmp_path), HomeLock(tmp_path)
    asked: list[bool] = []

    def listens() -> bool:
        asked.append(True)
        if len(asked) == 3:
            first.release()
        return False

    with first:
        with pytest.raises(HomeLocked):
            acquired(second, lambda: True)
        with acquired(second, listens) as lock:
            assert lock.held
    assert len(asked) == 3
