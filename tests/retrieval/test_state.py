"""What an index holds at one moment."""

from __future__ import annotations

import numpy as np
import pytest

from anyact_server.retrieval import segments
from anyact_server.retrieval.documents import document
from anyact_server.retrieval.state import State
from anyact_server.retrieval.words import query_terms
from anyact_server.types import Action, Query

from .doubles import TOOLS, WordEncoder, action


def part(*tools: Action, vectors: bool = True) -> segments.Segment:
    """A segment of these actions."""
    documents = [document(tool) for tool in tools]
    built = segments.build(documents)
    return built.with_vectors(WordEncoder().encode([one.text for one in documents])) if vectors else built


def state() -> State:
    """Two segments: the tools, then a changed one and a new one."""
    new = (action("send_email", "Sends electronic post", "mail"), action("brew_coffee", "", "kitchen"))
    return State().with_segment(part(*TOOLS), TOOLS).with_segment(part(*new), new, ["codex__ask_codex", "unknown"])


def ids(found: State, mask: np.typing.NDArray[np.bool_]) -> set[str]:
    """The ids of masked rows."""
    return {found.id(int(row)) for row in np.flatnonzero(mask)}


def test_a_changed_action_replaces_its_old_row_and_a_removed_one_goes() -> None:
    """One row per id counts."""
    now = state()
    assert len(now.rows) == 5
    assert now.dead == 2
    assert now.action(now.rows["mail__send_email"]).description == "Sends electronic post"
    assert "codex__ask_codex" not in now.rows
    assert now.key(now.rows["kitchen__brew_coffee"]) == document(action("brew_coffee", "", "kitchen")).key
    assert now.named("askcodex", now.alive) == []
    assert now.slipped("sendemial", now.alive) == [now.rows["mail__send_email"]]


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        (Query((), servers=("mail",)), {"mail__send_email", "mail__list_folders"}),
        (Query((), tags=("office", "other")), {"mail__list_folders"}),
        (Query((), read_only=True), {"mail__list_folders", "weather__get_forecast"}),
        (Query((), read_only=False), {"mail__send_email", "pictures__resize_image", "kitchen__brew_coffee"}),
        (Query((), visible=frozenset({"kitchen__brew_coffee", "unknown"})), {"kitchen__brew_coffee"}),
        (Query((), servers=("mail",), read_only=True), {"mail__list_folders"}),
        (Query((), servers=("nobody",)), set()),
    ],
)
def test_filters_let_through_what_they_say(query: Query, expected: set[str]) -> None:
    """Server, tag, read-only and visibility; an action without hints counts as not read-only."""
    now = state()
    assert ids(now, now.mask(query)) == expected
    assert now.mask(query) is now.mask(query)


def test_masks_of_many_callers_do_not_pile_up() -> None:
    """Memory stays bounded whoever asks."""
    now = state()
    for at in range(200):
        now.mask(Query((), servers=(f"s{at}",)))
    assert len(now._masks) <= 64


def test_scores_and_vectors_reach_over_all_segments() -> None:
    """A row is numbered through all segments."""
    now = state()
    scores = now.keyword_scores(query_terms("electronic coffee"))
    assert {now.id(int(row)) for row in np.flatnonzero(scores)} == {"mail__send_email", "kitchen__brew_coffee"}
    coffee = now.rows["kitchen__brew_coffee"]
    vector = WordEncoder().encode(["kitchen: brew coffee"])
    assert coffee in now.nearest(vector[0], 3, now.mask(Query(())))
    assert now.cosines(vector, np.array([coffee]))[0, 0] > 0.9
    assert now.spread > 0


def test_every_row_knows_the_best_score_of_its_server() -> None:
    """The server level lifts the siblings of a match."""
    now = state()
    scores = now.keyword_scores(query_terms("folders"))
    servers = now.server_scores(scores)
    assert servers[now.rows["mail__send_email"]] == scores[now.rows["mail__list_folders"]] > 0
    assert servers[now.rows["kitchen__brew_coffee"]] == 0


def test_an_empty_state_answers() -> None:
    """Before anything is indexed."""
    empty = State()
    assert empty.waiting == empty.dead == 0
    assert empty.first_waiting() is None
    assert empty.spread == 1.0
    assert len(empty.server_scores(empty.keyword_scores(["x"]))) == 0
    assert len(empty.nearest(np.ones(3, np.float32), 5, empty.alive)) == 0
    assert empty.cosines(np.ones((1, 3), np.float32), np.zeros(0, np.int64)).shape == (1, 0)


def test_rows_without_vectors_are_counted_while_they_matter() -> None:
    """A dead row needs no vector."""
    before = State().with_segment(part(*TOOLS[:2], vectors=False), TOOLS[:2])
    assert before.waiting == 2
    found = before.first_waiting()
    assert found is not None
    assert (found[0], found[1].ids) == (0, ("mail__send_email", "mail__list_folders"))
    after = before.with_segment(part(), (), ["mail__send_email"])
    assert after.waiting == 1
    assert len(after.segments) == 1


def test_one_segment_can_stand_alone_and_take_other_actions() -> None:
    """For joining small segments, and for taking over a stored index."""
    now = state()
    alone = now.only(1)
    assert set(alone.rows) == {"mail__send_email", "kitchen__brew_coffee"}
    held = now.holding({"kitchen__brew_coffee": action("brew_coffee", "", "kitchen")})
    assert set(held.rows) == {"kitchen__brew_coffee"}
    assert held.dead == 6


def test_vectors_can_be_read_out_by_row() -> None:
    """Rows without one are absent."""
    now = state().with_segment(part(TOOLS[4], vectors=False), TOOLS[4:])
    found = now.vectors(np.array([now.rows["kitchen__brew_coffee"], now.rows["codex__ask_codex"]]))
    assert set(found) == {0}
    assert found[0].shape == (256,)
