"""`servers`: what is known of each."""

from __future__ import annotations

import pytest

from anyact_server.cli.servers import row
from anyact_server.types import ServerState, ServerStatus

from .kit import Shell, script_entry


def test_the_states_of_servers_are_listed(shell: Shell, address: str) -> None:
    """Without starting any; a disabled one and a faulty one say so."""
    shell.configure(plain={"url": address}, off={"command": "x", "disabled": True}, bad={"command": "${NOT_SET_HERE}"})
    listed = shell("servers")
    assert listed.code == 0
    lines = {line.split()[0]: line for line in listed.out.splitlines()}
    assert "disabled" in lines["off"]
    assert "NOT_SET_HERE" in lines["bad"]
    assert " 0 " in lines["plain"]


@pytest.mark.case("D2")
def test_checking_reads_every_server_and_fails_when_one_is_broken(shell: Shell, address: str) -> None:
    """Number of actions, the last error, transport and state, for each."""
    shell.configure(plain={"url": address}, bad=script_entry("import sys; sys.exit('no key')"))
    checked = shell("servers", "--check", "--json")
    assert checked.code == 1
    plain, bad = checked.json["servers"]
    assert (plain["server"], plain["state"], plain["transport"]) == ("plain", "ready", "http")
    assert plain["actions"] > 10
    assert bad["state"] in ("failed", "down")
    assert "no key" in bad["error"]
    assert shell("servers", "plain", "--check").code == 0


def test_without_servers_it_says_how_to_add_one(shell: Shell) -> None:
    """And an unknown name is exit code 3."""
    assert "anyact add" in shell("servers").err
    assert shell("servers", "nobody").code == 3


def test_ages_are_told_in_the_largest_unit() -> None:
    """And the time until the next try."""
    status = ServerStatus("s", "stdio", ServerState.DOWN, 3, True, 1000.0, 1190.0, "it died")
    assert row(status, 1100.0) == ("s", "stdio", "down (stale)", "3", "2 min ago", "it died; next try in 2 min")
    assert row(status, 2000.0)[-1] == "it died; next try with the next call"
    assert row(ServerStatus("s", "stdio", ServerState.READY, since=1.0), 4.0)[4] == "3 s ago"
    assert row(ServerStatus("s", "stdio", ServerState.READY, since=1.0), 7300.0)[4] == "2 h ago"
    assert row(ServerStatus("s", "stdio", ServerState.IDLE, since=1.0), 200000.0)[4] == "2 d ago"
