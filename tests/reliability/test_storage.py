"""The database of the ledger: bounded, crash-safe, never in the way."""

from __future__ import annotations

import shutil
import sqlite3
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from anyact_server.errors import StorageError
from anyact_server.reliability import Belief, Breaker, storage
from anyact_server.reliability.estimates import updated
from anyact_server.reliability.storage import Change, Storage, belief_from, belief_text, connect, prepare, store
from anyact_server.telemetry import MASK
from anyact_server.types import Kind

from .outcomes import outcome


def change(kind: Kind = Kind.OK, action: str = "git__log", **fields: object) -> Change:
    """An outcome with the belief that follows from it alone."""
    one = replace(outcome(kind, action=action), **fields)  # type: ignore[arg-type]
    return Change(one, updated(Belief(), one), Breaker("open", 1, 5.0, 6.0, "down"))


def test_what_is_put_can_be_loaded_again(tmp_path: Path) -> None:
    """Beliefs and breakers, by another instance."""
    first = Storage(tmp_path / "new" / "ledger.db")
    assert first.load().beliefs == {}
    one = change(Kind.TIMEOUT)
    first.put(one)
    first.close()
    kept = Storage(tmp_path / "new" / "ledger.db").load()
    assert kept.beliefs == {("git__log", "git"): one.belief}
    assert kept.breakers == {"git": one.breaker}


def test_without_a_path_nothing_is_kept() -> None:
    """For embedding and for tests."""
    nowhere = Storage(None)
    nowhere.put(change())
    nowhere.flush()
    nowhere.close()
    assert nowhere.load().beliefs == {}
    assert nowhere.history("git__log", 5) == ()
    assert nowhere.forget(None, None) == 0


def test_before_the_first_outcome_there_is_no_history(tmp_path: Path) -> None:
    """And no file is made by asking."""
    kept = Storage(tmp_path / "none" / "ledger.db")
    assert kept.history("git__log", 5) == ()
    assert kept.forget(None, None) == 0
    assert not (tmp_path / "none").exists()


def test_a_database_that_cannot_be_set_aside_is_reported(tmp_path: Path) -> None:
    """When something else already stands where it would go."""
    path = tmp_path / "ledger.db"
    path.write_bytes(b"this is not a database, it is far too friendly for one" * 50)
    (tmp_path / "ledger.unreadable").mkdir()
    with pytest.raises(StorageError, match="cannot set"):
        Storage(path).load()


def test_history_gives_the_newest_first(tmp_path: Path) -> None:
    """As outcomes, whole but for the length of the message."""
    kept = Storage(tmp_path / "ledger.db")
    kept.load()
    for kind in (Kind.OK, Kind.TIMEOUT, Kind.PARTIAL):
        kept.put(change(kind))
    kept.put(change(action="git__diff"))
    found = kept.history("git__log", 2)
    assert [one.kind for one in found] == [Kind.PARTIAL, Kind.TIMEOUT]
    assert found[1] == outcome(Kind.TIMEOUT)
    kept.close()


def test_closing_twice_and_putting_after_it_work(tmp_path: Path) -> None:
    """The writer is started whenever there is something to write."""
    kept = Storage(tmp_path / "ledger.db")
    kept.load()
    kept.close()
    kept.put(change())
    kept.close()
    kept.close()
    kept.put(change())
    assert len(kept.history("git__log", 5)) == 2
    kept.close()


def test_forgetting_takes_an_action_a_server_or_all(tmp_path: Path) -> None:
    """And says how many outcomes went."""
    kept = Storage(tmp_path / "ledger.db")
    kept.load()
    for action in ("git__log", "git__log", "git__diff"):
        kept.put(change(action=action))
    assert kept.forget("git__log", None) == 2
    assert list(kept.load().beliefs) == [("git__diff", "git")]
    assert kept.load().breakers != {}
    assert kept.forget(None, "other") == 0
    assert kept.forget(None, "git") == 1
    assert kept.load().breakers == {}
    kept.close()


def test_outcomes_are_bounded(tmp_path: Path) -> None:
    """Beyond the bound the oldest go."""
    connection = connect(tmp_path / "ledger.db")
    prepare(connection)
    with connection:
        connection.execute(
            "insert into outcomes (id, at, action, server, kind, confidence, detected_by, message, seconds, tokens,"
            " principal, digest) values (?, 0, 'old', 'git', 'ok', 1, 'local', '', 0, 0, '', '')",
            (5,),
        )
        connection.execute("update outcomes set id = ?", (1,))
        store(connection, [change()])
        connection.execute("update outcomes set id = ? where action = 'git__log'", (storage.KEPT + 1,))
        store(connection, [change()])
    actions = [action for (action,) in connection.execute("select action from outcomes")]
    connection.close()
    assert actions == ["git__log", "git__log"]


def test_a_file_that_is_no_database_is_set_aside(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """Reliability can be learnt again: the service goes on, and the log says what happened."""
    path = tmp_path / "ledger.db"
    path.write_bytes(b"this is not a database, it is far too friendly for one" * 50)
    assert Storage(path).load().beliefs == {}
    assert (tmp_path / "ledger.unreadable").exists()
    assert "set aside" in caplog.text


def test_tables_of_another_version_are_set_aside(tmp_path: Path) -> None:
    """Nothing is guessed from them."""
    path = tmp_path / "ledger.db"
    connection = sqlite3.connect(path)
    connection.execute("pragma user_version = 99")
    connection.close()
    assert Storage(path).load().beliefs == {}
    assert (tmp_path / "ledger.unreadable").exists()


def test_a_file_that_can_be_neither_opened_nor_made_is_reported(tmp_path: Path) -> None:
    """With the path in the message."""
    (tmp_path / "taken").write_text("a file", encoding="utf-8")
    with pytest.raises(StorageError, match="taken"):
        Storage(tmp_path / "taken" / "ledger.db").load()
    with pytest.raises(StorageError, match="cannot open"):
        Storage(tmp_path).load()


def test_a_database_that_cannot_be_written_is_said_once(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """Calls go on without storing, and it heals by itself."""
    path = tmp_path / "ledger.db"
    kept = Storage(path)
    kept.load()
    connection = connect(path)
    connection.execute("drop table breakers")
    connection.commit()
    for _ in range(2):
        kept.put(change())
        kept.flush()
    assert caplog.text.count("not stored") == 1
    connection.execute("create table breakers (server text primary key, state text not null)")
    connection.commit()
    connection.close()
    kept.put(change())
    assert len(kept.history("git__log", 5)) == 1
    kept.close()


def test_a_home_that_vanishes_is_made_again(tmp_path: Path) -> None:
    """The writer outlives it: what came before is lost, what comes after is kept."""
    home = tmp_path / "home"
    home.mkdir()
    kept = Storage(home / "ledger.sqlite")
    kept.load()
    kept.put(change(action="a"))
    kept.flush()
    shutil.rmtree(home)
    kept.put(change(action="b"))
    kept.close()
    assert [one.action for one in Storage(home / "ledger.sqlite").history("b", 10)] == ["b"]


def test_a_killed_process_loses_nothing_that_was_committed(tmp_path: Path) -> None:
    """SIGKILL in mid-writing leaves a file that loads."""
    program = (
        "import os, signal, sys\n"
        "from pathlib import Path\n"
        "from tests.reliability.test_storage import change\n"
        "from anyact_server.reliability.storage import Storage\n"
        "kept = Storage(Path(sys.argv[1])); kept.load()\n"
        "kept.put(change()); kept.flush()\n"
        "for _ in range(1000): kept.put(change(action='git__diff'))\n"
        "os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    path = tmp_path / "ledger.db"
    ended = subprocess.run([sys.executable, "-c", program, str(path)], check=False, timeout=30)
    assert ended.returncode == -9
    kept = Storage(path)
    assert ("git__log", "git") in kept.load().beliefs
    assert len(kept.history("git__log", 5)) == 1


def test_two_instances_may_write_one_file(tmp_path: Path) -> None:
    """Outcomes of both are there."""
    path = tmp_path / "ledger.db"
    pair = [Storage(path), Storage(path)]
    for kept in pair:
        kept.load()
    for _ in range(20):
        for kept in pair:
            kept.put(change())
    for kept in pair:
        kept.close()
    assert len(Storage(path).history("git__log", 100)) == 40


def test_secrets_and_broken_text_do_not_reach_the_file(tmp_path: Path) -> None:
    """Messages are masked, and lone surrogates replaced."""
    MASK.protect(["sesame-1234"])
    verdict = outcome(Kind.TIMEOUT, message="token sesame-1234 \ud800 refused")
    kept = Storage(tmp_path / "ledger.db")
    kept.load()
    kept.put(Change(verdict, updated(Belief(), verdict), None))
    (found,) = kept.history("git__log", 5)
    kept.close()
    assert found.verdict.message == "token *** ? refused"
    assert b"sesame" not in (tmp_path / "ledger.db").read_bytes()


def test_beliefs_survive_as_text() -> None:
    """Round trip of every field."""
    belief = updated(Belief(), outcome(Kind.TIMEOUT, suspected=Kind.NOT_FOUND, confidence=0.5))
    belief = updated(belief, outcome())
    assert belief_from(belief_text(belief)) == belief
    assert belief_from(belief_text(Belief())) == Belief()
