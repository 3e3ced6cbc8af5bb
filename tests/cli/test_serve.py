"""`serve`: who serves a home, and how a later process becomes a bridge."""

from __future__ import annotations

import json
import os
import signal
import sys
import urllib.request
from pathlib import Path

import pytest

from anyact_server.cli.options import Options
from anyact_server.cli.serve import address, held, holder_command, named_files
from anyact_server.errors import UsageError

from .kit import PATIENCE_S, Pipe, Shell, alive, pipe, plain_entry, until


@pytest.mark.parametrize(
    ("text", "host", "port", "found"),
    [
        ("", None, None, ("127.0.0.1", 8484)),
        (None, "0.0.0.0", "80", ("0.0.0.0", 80)),
        ("", "127.0.0.2", None, ("127.0.0.2", 8484)),
        ("9000", "0.0.0.0", "80", ("127.0.0.1", 9000)),
        ("localhost", None, None, ("localhost", 8484)),
        ("localhost:0", None, None, ("localhost", 0)),
        (":81", None, None, ("127.0.0.1", 81)),
        ("[::1]:82", None, None, ("::1", 82)),
    ],
)
def test_an_address_has_many_forms(
    text: str | None, host: str | None, port: str | None, found: tuple[str, int]
) -> None:
    """The option wins over HOST and PORT."""
    assert address(text, host, port) == found


@pytest.mark.parametrize("text", ["localhost:x", "localhost:70000", "localhost:-1"])
def test_a_port_must_be_one(text: str) -> None:
    """With an example."""
    with pytest.raises(UsageError, match="no port"):
        address(text, None, None)


@pytest.mark.parametrize(
    "words", [(), ("--stdio", "--http"), ("--server", "x", "--http"), ("--socket-only", "--stdio")]
)
def test_one_way_of_serving_must_be_chosen(shell: Shell, words: tuple[str, ...]) -> None:
    """Exit code 2, with the line for a client's configuration."""
    refused = shell("serve", *words)
    assert refused.code == 2
    assert "--stdio" in refused.err


def test_a_wide_address_wants_a_token(shell: Shell) -> None:
    """Refused before anything listens."""
    refused = shell("serve", "--http", "0.0.0.0:0")
    assert refused.code == 2
    assert "token" in refused.err


def test_a_new_holder_gets_the_same_options(shell: Shell, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Files absolute, home and settings."""
    monkeypatch.chdir(tmp_path)
    options = Options(config=("a.json",), home="h", values=("call_s=3",))
    words = holder_command(options)
    assert words[1:] == [
        "-m",
        "anyact_server",
        "serve",
        "--socket-only",
        "--config",
        str(tmp_path / "a.json"),
        "--home",
        "h",
        "--set",
        "call_s=3",
    ]
    monkeypatch.setenv("ANYACT_CONFIG", os.pathsep.join(["b.json", "c.json"]))
    assert named_files(Options()) == [str(tmp_path / "b.json"), str(tmp_path / "c.json")]
    assert not held(tmp_path, [])


@pytest.mark.timeout(180)
def test_clients_of_one_home_share_every_server(shell: Shell, tmp_path: Path) -> None:
    """One process behind two pipes, a transparent endpoint too; what cannot share is refused in words."""
    shell.configure(plain=plain_entry())
    assert shell("manifest", "pull").code == 0
    with pipe(shell) as first:
        assert first.greet()["serverInfo"]["name"] == "anyact"
        server = first.server()
        with pipe(shell, "--server", "plain") as second:
            assert second.greet()["serverInfo"]["name"] == "plain"
            assert second.call("echo", {"text": "hi"})["content"][0]["text"] == "hi"
            assert second.call("about", {})["structuredContent"]["pid"] == server
        other = tmp_path / "other.json"
        other.write_text('{"mcpServers": {}}', encoding="utf-8")
        assert "Give this one a home of its own" in refused(shell, "--config", str(other))
        assert "no server named 'nobody'" in refused(shell, "--server", "nobody")
    until(lambda: not alive(server), "the server ends", 5)


@pytest.mark.case("L2")
@pytest.mark.timeout(180)
def test_the_second_client_goes_on_when_the_holder_is_killed(shell: Shell) -> None:
    """What was under way gets an error; the next call works; the old server is gone, and in the end the new one too."""
    shell.configure(plain=plain_entry())
    assert shell("manifest", "pull").code == 0
    with pipe(shell) as first:
        first.greet()
        server = first.server()
        with pipe(shell) as second:
            second.greet()
            waiting = second.send(
                "tools/call",
                {"name": "call_action", "arguments": {"action": "plain__slow", "arguments": {"seconds": 60}}},
            )
            assert second.server() == server
            first.process.kill()
            assert "not known" in second.answer(waiting)["error"]["message"]
            again = second.server()
            assert again != server
            until(lambda: not alive(server), "the first server ends", 10)
            holder = json.loads((shell.home / "instance.json").read_text(encoding="utf-8"))["pid"]
            assert second.leave() == 0
        os.kill(holder, signal.SIGTERM)
        until(lambda: not alive(holder) and not alive(again), "holder and server end", 10)


def refused(shell: Shell, *words: str) -> str:
    """What a `serve --stdio` that cannot serve says; exit code 2."""
    with shell.start("serve", "--stdio", *words) as process:
        assert process.wait(PATIENCE_S) == 2
        assert process.stderr is not None
        return process.stderr.read()


@pytest.mark.case("L2")
@pytest.mark.timeout(120)
def test_sigterm_ends_everything(shell: Shell) -> None:
    """The process, its server, the socket; within seconds, in the middle of a call."""
    shell.configure(plain=plain_entry())
    assert shell("manifest", "pull").code == 0
    with shell.start("serve", "--stdio") as process:
        client = Pipe(process)
        client.greet()
        server = client.server()
        client.send("tools/call", {"name": "call_action", "arguments": {"action": "plain__slow"}})
        process.terminate()
        assert process.wait(10) == 0
    until(lambda: not alive(server), "the server ends", 5)
    assert not (shell.home / "anyact.sock").exists()
    assert not (shell.home / "instance.json").exists()


STUBBORN = """
import pathlib, signal, sys, time
def asked(*_):
    pathlib.Path(sys.argv[1] + ".asked").touch()
signal.signal(signal.SIGTERM, asked)
pathlib.Path(sys.argv[1]).touch()
sys.stdin.read()
asked()
while True:
    time.sleep(60)
"""
"""A server that answers nothing and ends for nothing but SIGKILL; it tells that it runs and is asked to end."""


@pytest.mark.case("L2")
@pytest.mark.timeout(120)
@pytest.mark.parametrize(
    ("words", "number", "code"),
    [
        (("call", "stubborn__any"), signal.SIGTERM, 143),
        (("call", "stubborn__any"), signal.SIGINT, 130),
        (("serve", "--stdio"), signal.SIGTERM, 0),
        (("serve", "--stdio"), signal.SIGINT, 130),
        (("serve", "--socket-only"), signal.SIGTERM, 0),
    ],
)
def test_a_second_signal_leaves_no_stubborn_server_behind(
    shell: Shell, tmp_path: Path, words: tuple[str, ...], number: signal.Signals, code: int
) -> None:
    """It comes while the server is being stopped, and the stop goes on to its end."""
    mark, asked = tmp_path / "mark", tmp_path / "mark.asked"
    shell.configure(
        plain=plain_entry(), stubborn={"command": sys.executable, "args": ["-c", STUBBORN, str(mark)], "lazy": False}
    )
    with shell.start(*words) as process:
        until(mark.exists, "the server runs")
        children = children_of(process.pid)
        assert children
        process.send_signal(number)
        until(asked.exists, "the server is asked to end")
        assert any(alive(pid) for pid in children)
        process.send_signal(number)
        process.send_signal(number)
        process.communicate(timeout=PATIENCE_S)
    assert process.returncode == code
    assert [pid for pid in children if alive(pid)] == []


def children_of(pid: int) -> list[int]:
    """The processes that a process has started and that run."""
    texts = (task.read_text(encoding="utf-8") for task in Path(f"/proc/{pid}/task").glob("*/children"))
    return [int(child) for text in texts for child in text.split()]


def test_http_serves_until_it_is_asked_to_stop(shell: Shell, address: str) -> None:
    """The address is told on stderr; a second instance on the home is refused by name."""
    shell.configure(plain={"url": address})
    with shell.start("serve", "--http", "127.0.0.1:0") as process:
        assert process.stderr is not None
        told = process.stderr.readline()
        port = told.split("127.0.0.1:")[1].split("/")[0]
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/healthz", timeout=PATIENCE_S) as answer:
            assert answer.status == 200
        second = shell("serve", "--http", "127.0.0.1:0", "--json")
        assert second.code == 2
        assert str(process.pid) in second.json["error"]["message"]
        process.terminate()
        assert process.wait(10) == 0
