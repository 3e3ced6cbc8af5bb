"""Callers that dispatch itself provides."""

from __future__ import annotations

import pytest

from anyact_server.dispatch import Attached, Silent
from anyact_server.dispatch.callers import without_rounds
from anyact_server.errors import RemoteError
from anyact_server.interfaces import Caller
from anyact_server.types import LOCAL, Principal

from .world import Listener

pytestmark = pytest.mark.anyio


async def test_a_silent_caller_hears_nothing_and_answers_nothing() -> None:
    """A question is refused at once, so that no call waits for nobody."""
    silent: Caller = Silent(Principal("bob"), session="s1")
    assert isinstance(silent, Caller)
    assert (silent.principal.name, silent.session) == ("bob", "s1")
    assert Silent().principal == LOCAL
    await silent.progress(1, 2, "x")
    await silent.log({"level": "info"})
    with pytest.raises(RemoteError, match="elicitation/create"):
        await silent.ask("elicitation/create", {})


async def test_an_attached_caller_passes_on_until_it_is_detached() -> None:
    """Log lines, questions and the run's own progress; never the progress of single calls."""
    ann = Listener(abilities={"elicitation": {}})
    attached = Attached(ann)
    await attached.progress(0.5, 1.0, "a single call")
    await attached.finished(1, 3)
    await attached.log({"data": "x"})
    assert await attached.ask("roots/list", {}) == {"action": "accept", "asked": "roots/list"}
    assert ann.heard == [(1, 3, "1 of 3 tasks")]
    assert ann.logged == [{"data": "x"}]
    assert attached.abilities == {"elicitation": {}}

    attached.detach()
    await attached.finished(2, 3)
    await attached.log({"data": "y"})
    assert len(ann.heard) == len(ann.logged) == 1
    assert attached.abilities == {}
    with pytest.raises(RemoteError, match="no longer waits"):
        await attached.ask("roots/list", {})


async def test_a_caller_that_takes_protocol_rounds_is_asked_instead() -> None:
    """An observation has no place for them; other callers stay as they are."""
    ann = Listener(passes_input_required=True, session="s")
    plain = without_rounds(ann)
    assert not plain.passes_input_required
    assert (plain.principal, plain.session, plain.abilities, plain.headers) == (ann.principal, "s", {}, {})
    await plain.progress(1, None, None)
    await plain.log({})
    assert await plain.ask("roots/list", {})
    assert ann.heard == [(1, None, None)]
    bob = Listener()
    assert without_rounds(bob) is bob
