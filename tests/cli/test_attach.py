"""What the thin bridge remembers of a conversation; that it outlives the holder is proved in `test_serve`."""

from __future__ import annotations

import json
from typing import Any

from anyact_server.cli.attach import Ledger, parse


def line(**message: Any) -> bytes:
    """A frame."""
    return json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n"


INITIALIZE = line(id=1, method="initialize", params={})
READY = line(method="notifications/initialized")


def test_unanswered_requests_are_told_when_the_holder_ends() -> None:
    """Each once; answers, notifications and noise are none."""
    ledger = Ledger()
    for sent in (INITIALIZE, READY, line(id="a", method="tools/call"), line(id=7, method="ping"), b"noise\n", b"[1]\n"):
        ledger.sent(sent)
    assert ledger.answered(line(id=1, result={}))
    assert ledger.answered(line(method="notifications/progress"))
    assert ledger.answered(line(id=7, method="roots/list"))
    lost = [json.loads(one) for one in ledger.lost()]
    assert [one["id"] for one in lost] == ["a", 7]
    assert "not known" in lost[0]["error"]["message"]
    assert ledger.lost() == []
    assert ledger.silent == 2
    assert parse(b"[1]") == parse(b"x") == {}


def test_the_handshake_is_replayed_without_its_answer() -> None:
    """The client saw that answer before."""
    ledger = Ledger()
    for sent in (INITIALIZE, READY, line(id=2, method="logging/setLevel"), line(id=3, method="ping")):
        ledger.sent(sent)
    assert [parse(one)["method"] for one in ledger.replay()] == [
        "initialize",
        "notifications/initialized",
        "logging/setLevel",
    ]
    assert not ledger.answered(line(id=1, result={}))
    assert ledger.answered(line(id=1, result={}))
    assert Ledger().replay() == []
