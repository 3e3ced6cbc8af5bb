"""`call` and `run`."""

from __future__ import annotations

import json
import signal
from pathlib import Path

import pytest

from anyact_server.cli.call import parse_arguments, parse_tasks, texts_where_wanted
from anyact_server.errors import UsageError

from .kit import PATIENCE_S, Shell, alive, plain_entry, script_entry, until


@pytest.fixture
def plain(shell: Shell, address: str) -> Shell:
    """A home with the fixture server configured."""
    shell.configure(plain={"url": address})
    return shell


def test_a_call_prints_the_body_alone_on_stdout(plain: Shell) -> None:
    """What is said about it goes to stderr."""
    done = plain("call", "plain__echo", "text=hello")
    assert (done.code, done.out.strip()) == (0, "hello")
    assert "[ok] plain__echo" in done.err


def test_arguments_come_as_json_from_a_file_or_from_stdin(plain: Shell, tmp_path: Path) -> None:
    """Pairs win over the JSON; what is no JSON is a text."""
    file = tmp_path / "arguments.json"
    file.write_text('{"a": 1, "b": 2}', encoding="utf-8")
    assert "3" in plain("call", "plain__add", "-a", f"@{file}").out
    assert "42" in plain("call", "plain__add", "-a", "@-", "b=40", stdin='{"a": 2}').out


def test_an_observation_as_json_is_one_document(plain: Shell) -> None:
    """With its status and its text."""
    done = plain("call", "plain__echo", "text=hi", "--json")
    assert (done.json["status"], done.json["text"], done.code) == ("ok", "hi", 0)


@pytest.mark.case("O1")
def test_a_failure_that_the_server_reports_is_an_exit_code(plain: Shell) -> None:
    """The text on stdout, 1 for the failure."""
    done = plain("call", "plain__fail", "text=the disk is full")
    assert done.code == 1
    assert "the disk is full" in done.out


def test_wrong_arguments_never_reach_the_server(plain: Shell) -> None:
    """Exit code 2, and the names that are wanted."""
    done = plain("call", "plain__add", "a=1")
    assert done.code == 2
    assert "b" in done.out


def test_an_unknown_action_is_exit_code_3(plain: Shell) -> None:
    """With what it may have meant."""
    done = plain("call", "plain__ecko", "--json")
    assert done.code == 3
    assert "plain__echo" in done.out


def test_only_what_is_declared_read_only_passes_the_gate(plain: Shell) -> None:
    """Exit code 5 for what is refused."""
    assert plain("call", "plain__echo", "text=x", "--read-only").code == 0
    assert plain("call", "plain__append", "path=/nowhere", "--read-only").code == 5


def test_a_call_that_takes_too_long_ends_at_its_limit(plain: Shell) -> None:
    """Exit code 4, and the limit in the message."""
    done = plain("call", "plain__slow", "seconds=30", "--timeout", "0.2")
    assert done.code == 4
    assert "0.2" in done.out


@pytest.mark.case("P3")
def test_a_server_that_dies_at_start_says_why(shell: Shell) -> None:
    """Its last words reach the person who called."""
    shell.configure(bad=script_entry("import sys; print('no key given', file=sys.stderr); sys.exit(1)"))
    done = shell("call", "bad__anything")
    assert done.code == 4
    assert "no key given" in done.err


@pytest.mark.parametrize(
    ("text", "words"),
    [("{", "no JSON"), ("[1]", "must be a JSON object"), ("@/no/such/file", "cannot read")],
)
def test_arguments_that_are_no_object_are_refused(text: str, words: str) -> None:
    """With what is wrong."""
    with pytest.raises(UsageError, match=words):
        parse_arguments(text, ())


def test_pairs_need_a_name() -> None:
    """`=x` and `x` are none."""
    assert parse_arguments(None, ("a=1", "b=x=y", 'c={"d": []}')) == {"a": 1, "b": "x=y", "c": {"d": []}}
    for pair in ("=x", "x"):
        with pytest.raises(UsageError, match="NAME=VALUE"):
            parse_arguments(None, (pair,))


def test_a_run_prints_every_task(plain: Shell) -> None:
    """In order, dependent ones with the data of others; exit code 1 when one failed."""
    tasks = [
        {"id": "a", "action": "plain__add", "arguments": {"a": 1, "b": 2}},
        {"tool": "plain__fail", "depends_on": "a"},
        {"id": "c", "action": "plain__echo", "arguments": {"text": "x"}, "depends_on": ["2"]},
    ]
    done = plain("run", "-", stdin=json.dumps({"tasks": tasks}))
    assert done.code == 1
    assert "done a (plain__add)" in done.out
    assert "failed 2 (plain__fail)" in done.out
    assert "1 of 3 done" in done.err
    report = plain("run", "-", "--json", "--max-parallel", "2", stdin=json.dumps(tasks[:1]))
    assert report.code == 0
    assert [task["state"] for task in report.json["tasks"]] == ["done"]


def test_tasks_read_from_a_file_must_be_tasks(plain: Shell, tmp_path: Path) -> None:
    """A missing file is a wrong use."""
    assert plain("run", str(tmp_path / "none.json")).code == 2
    for text, words in (("{", "no JSON"), ("{}", "must be a list"), ('[{"id": "a"}]', "task 1 names no action")):
        with pytest.raises(UsageError, match=words):
            parse_tasks(text)


@pytest.mark.case("L2")
@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_call_that_is_stopped_leaves_no_server_behind(
    shell: Shell, tmp_path: Path, number: signal.Signals, code: int
) -> None:
    """Ctrl-C and SIGTERM in the middle of a call end the command and its server within seconds."""
    shell.configure(plain=plain_entry())
    where = tmp_path / "pid"
    tasks = [
        {"id": "pid", "action": "plain__about"},
        {"id": "mark", "action": "plain__append", "arguments": {"path": str(where), "line": "here"}},
        {"id": "slow", "action": "plain__slow", "arguments": {"seconds": 60}, "depends_on": ["mark"]},
    ]
    with shell.start("run", "-") as process:
        assert process.stdin is not None
        process.stdin.write(json.dumps(tasks))
        process.stdin.close()
        process.stdin = None
        until(where.exists, "the call begins")
        children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text(encoding="utf-8").split()
        assert children
        process.send_signal(number)
        process.communicate(timeout=PATIENCE_S)
    assert process.returncode == code
    until(lambda: not any(alive(int(pid)) for pid in children), "the server ends", 5)


def test_a_pair_stays_a_text_where_the_action_wants_one() -> None:
    """`text=5` is the text 5 for a string, the number for a number; what came as JSON stays as it was."""
    schema = {"properties": {"text": {"type": "string"}, "count": {"type": "integer"}, "odd": True}}
    values = {"text": 5, "count": 5, "odd": 5, "more": True}
    pairs = ("text=5", "count=5", "odd=5")
    assert texts_where_wanted(values, pairs, schema) == {"text": "5", "count": 5, "odd": 5, "more": True}
    assert texts_where_wanted({"text": 5}, (), schema) == {"text": 5}
    assert texts_where_wanted({"text": 5}, ("text=5",), {}) == {"text": 5}


def test_a_number_given_for_a_text_reaches_the_server_as_text(plain: Shell) -> None:
    """Once the action is known, its schema decides what `5` is."""
    assert "plain__echo" in plain("list").out
    assert plain("call", "plain__echo", "text=5").out.strip() == "5"
