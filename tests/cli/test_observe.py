"""`anyact observe`: any file as an observation."""

from __future__ import annotations

import json
from pathlib import Path

from .kit import Shell

RPC_ERROR = {"jsonrpc": "2.0", "id": 1, "error": {"code": -32602, "message": "bad argument x"}}


def test_a_file_is_shown_and_what_is_left_out_is_read_by_its_handle(shell: Shell, tmp_path: Path) -> None:
    """The handle takes the place of the file, in a later process too."""
    file = tmp_path / "app.log"
    lines = [f"10:00:00 INFO step {at}" for at in range(2000)]
    lines[1234] = "10:00:00 ERROR disk full on node-7"
    file.write_text("\n".join(lines), encoding="utf-8")
    ended = shell("observe", str(file), "--tokens", "400")
    assert ended.code == 0
    assert "1235: 10:00:00 ERROR disk full on node-7" in ended.out
    assert "tokens of" in ended.err
    handle = shell("observe", str(file), "--tokens", "400", "--json").json["handle"]
    found = shell("observe", handle, "--view", "grep", "--query", "step 1999")
    assert found.code == 0
    assert "2000: 10:00:00 INFO step 1999" in found.out
    assert "node-7" in shell("observe", handle, "--view", "page", "--offset", "1234", "--limit", "1").out


def test_formats_are_chosen(shell: Shell, tmp_path: Path) -> None:
    """Lines, JSON and markdown."""
    file = tmp_path / "x.json"
    file.write_text(json.dumps([{"a": at, "b": "x" * 30} for at in range(3)]), encoding="utf-8")
    assert "[3] a" in shell("observe", str(file)).out
    assert shell("observe", str(file), "--format", "json").json["content"][2] == {"a": 2, "b": "x" * 30}
    assert "| a | b |" in shell("observe", str(file), "--format", "markdown").out


def test_a_saved_failure_ends_with_its_code(shell: Shell, tmp_path: Path) -> None:
    """A result with its flag, and a JSON-RPC error."""
    file = tmp_path / "x.json"
    result = {"content": [{"type": "text", "text": "no such file"}], "isError": True}
    file.write_text(json.dumps(result), encoding="utf-8")
    ended = shell("observe", str(file))
    assert ended.code == 3
    assert "error (not_found)" in ended.out
    file.write_text(json.dumps(RPC_ERROR), encoding="utf-8")
    ended = shell("observe", str(file), "--json")
    assert ended.code == 2
    assert ended.json["error"]["message"] == "bad argument x"


def test_stdin_is_read(shell: Shell) -> None:
    """For a dash, as bytes."""
    assert shell("observe", "-", stdin="gr\u00fcn").out == "gr\u00fcn\n"


def test_a_file_that_cannot_be_read_is_named(shell: Shell) -> None:
    """With exit code 2; an unknown handle with 3."""
    ended = shell("observe", "no-such-file")
    assert ended.code == 2
    assert "cannot read no-such-file" in ended.err
    assert shell("observe", "obs_0000000000000000_0000000000000000").code == 3
