"""From candidates to an order, and to hits."""

from __future__ import annotations

import pytest

from anyact_server.retrieval import ranking, segments
from anyact_server.retrieval.documents import document
from anyact_server.retrieval.ranking import Candidate
from anyact_server.retrieval.state import State
from anyact_server.types import Action, Estimate

from .doubles import TOOLS, WordEncoder, action


def state(*tools: Action) -> State:
    """A state of these actions."""
    documents = [document(tool) for tool in tools]
    vectors = WordEncoder().encode([one.text for one in documents])
    return State().with_segment(segments.build(documents).with_vectors(vectors), tools)


def found(now: State, intent: str, *, meaning: bool = True) -> list[str]:
    """Ids of the candidates, best first."""
    vectors = WordEncoder().encode([intent]) if meaning else None
    return [now.id(one.row) for one in ranking.candidates(now, intent, vectors, now.alive)]


def belief(success: float, **rest: object) -> Estimate:
    """An estimate."""
    return Estimate("x", success, success, success, **rest)  # type: ignore[arg-type]


def test_words_and_meaning_bring_the_right_action_first() -> None:
    """With vectors and without."""
    now = state(*TOOLS)
    assert found(now, "weather for the coming days")[0] == "weather__get_forecast"
    assert found(now, "weather for the coming days", meaning=False) == ["weather__get_forecast"]
    assert found(now, "quantum", meaning=False) == []
    assert len(found(now, "quantum")) == len(TOOLS)


@pytest.mark.case("F2")
@pytest.mark.parametrize(
    "query",
    ["ask_codex", "ask codex", "askCodex", "AskCodex", "ASK_CODEX", "codex__ask_codex", "codex ask codex", "ask-codex"],
)
def test_a_name_in_any_spelling_comes_first(query: str) -> None:
    """Bare, spaced, humped, as the full id, in any case, among a hundred tools whose texts say the same."""
    others = [action(f"codex_{at}", "ask codex ask codex ask codex", "codex") for at in range(95)]
    now = state(*others, *TOOLS)
    assert found(now, query)[0] == "codex__ask_codex"
    assert found(now, query, meaning=False)[0] == "codex__ask_codex"


@pytest.mark.case("F2")
@pytest.mark.parametrize("query", ["ask_codx", "aks codex", "askCodexx", "codex__ask_cdoex"])
def test_a_name_with_one_slip_comes_first(query: str) -> None:
    """One typo does not hide an action."""
    assert found(state(*TOOLS, action("ask_model", "ask codex codex codex")), query)[0] == "codex__ask_codex"


def test_a_name_inside_a_sentence_comes_first() -> None:
    """Whoever writes `resize_image` means it."""
    assert (
        found(state(*TOOLS), "send an email after resize_image made the picture small")[0] == "pictures__resize_image"
    )


def test_a_masked_action_is_not_found_by_its_name_either() -> None:
    """What may not be seen is not named."""
    now = state(*TOOLS)
    mask = now.alive.copy()
    mask[now.rows["codex__ask_codex"]] = False
    vectors = WordEncoder().encode(["ask codex"])
    ids = [now.id(one.row) for one in ranking.candidates(now, "ask_codex", vectors, mask)]
    assert "codex__ask_codex" not in ids
    assert len(ids) == 4


def test_reliability_is_a_factor_and_pruned_actions_go_unless_named() -> None:
    """A poor action sinks below an equal one; a pruned one is gone, but its name still finds it."""
    now = state(action("a", "same"), action("b", "same"), action("c", "same"))
    one, two, three = Candidate(0, 0.9), Candidate(1, 0.9), Candidate(2, 0.9)
    beliefs = {"box__a": belief(0.2), "box__b": belief(1.0), "box__c": belief(0.9, pruned=True)}
    placed = ranking.arrange(now, [[one, two, three]], beliefs, 10)
    assert [now.id(item.candidate.row) for item in placed] == ["box__b", "box__a"]
    assert placed[0].score == pytest.approx(0.9)
    named = ranking.arrange(now, [[Candidate(2, 0.9, named=2), two]], beliefs, 10)
    assert now.id(named[0].candidate.row) == "box__c"


def test_several_intents_are_served_in_turn() -> None:
    """Every intent's best comes before any intent's second; a hit knows which intents it serves."""
    now = state(*TOOLS)
    first, second = [Candidate(0, 0.9), Candidate(1, 0.8)], [Candidate(2, 0.3), Candidate(0, 0.2)]
    placed = ranking.arrange(now, [first, second], {}, 2)
    assert [item.candidate.row for item in placed] == [0, 2, 1]
    assert [item.intents for item in placed] == [(0, 1), (1,), (0,)]
    assert placed[0].score == pytest.approx(0.9)


def copies(count: int) -> list[Action]:
    """One action on several servers."""
    return [action("get_weather", "Weather of a city", f"s{at}") for at in range(count)]


def test_copies_of_one_action_are_folded_and_named() -> None:
    """Two are shown, the others told in the reasons of the first; another action keeps its place."""
    now = state(*copies(5), action("get_time", "Time of a city"))
    placed = ranking.arrange(now, [[Candidate(row, 0.9 - row / 100) for row in range(6)]], {}, 10)
    assert [now.id(item.candidate.row) for item in placed] == ["s0__get_weather", "s1__get_weather", "box__get_time"]
    assert placed[0].twins == ("s2__get_weather", "s3__get_weather", "s4__get_weather")
    assert (
        "also as s2__get_weather, s3__get_weather, s4__get_weather"
        in ranking.hit(now, placed[0], ["x"], None, now.alive).why
    )


@pytest.mark.case("N2")
def test_copies_that_are_named_are_all_shown() -> None:
    """Whoever asks for a name sees every server that has it."""
    now = state(*copies(5))
    placed = ranking.arrange(now, [[Candidate(row, 0.9, named=2) for row in range(5)]], {}, 10)
    assert len(placed) == 5


def test_copies_behind_the_page_are_left_as_they_are() -> None:
    """Nothing is computed for what is not shown."""
    now = state(*copies(12))
    placed = ranking.arrange(now, [[Candidate(row, 0.9) for row in range(12)]], {}, -4)
    assert len(placed) == 12


def test_a_hit_says_why_it_is_there() -> None:
    """Name, shared words, likeness, copies, and what the ledger says."""
    now = state(*TOOLS)
    estimate = belief(0.5, calls=4, words="2 of 4 calls failed")
    placed = ranking.Placed(Candidate(0, 0.71239, meaning=0.51, named=2), (0,), 0.71239, ("a", "b", "c", "d"))
    found_hit = ranking.hit(now, placed, ["send a message by email"], estimate, now.alive)
    assert found_hit.score == 0.7124
    assert found_hit.why == (
        "named exactly",
        "name has send, email",
        "text has send, messag",
        "meaning 0.51",
        "also as a, b, c and more",
        "2 of 4 calls failed",
    )
    plain = ranking.hit(
        now, ranking.Placed(Candidate(0, 0.1, named=1), (), 0.1), ["x"], belief(1, needs_login=True), now.alive
    )
    assert plain.why == ("named", "needs login")
    assert ranking.hit(now, ranking.Placed(Candidate(0, 0.1), (), 0.1), ["x"], belief(1), now.alive).why == ()


@pytest.mark.case("S1")
def test_an_action_that_cannot_be_called_is_only_found_by_its_name() -> None:
    """It takes no place from one that can, and says why when it is asked for."""
    now = state(action("a", "same"), action("broken", "same", fault="its schema is no object"))
    placed = ranking.arrange(now, [[Candidate(1, 0.9), Candidate(0, 0.8)]], {}, 10)
    assert [now.id(item.candidate.row) for item in placed] == ["box__a"]
    placed = ranking.arrange(now, [[Candidate(1, 0.9, named=2), Candidate(0, 0.8)]], {}, 10)
    assert "cannot be called: its schema is no object" in ranking.hit(now, placed[0], ["broken"], None, now.alive).why


@pytest.mark.case("Z1")
def test_a_hit_says_when_its_action_changed_or_could_not_be_checked() -> None:
    """Search shows what status shows."""
    now = state(action("a", state="changed"), action("b", state="stale"))
    whys = [
        ranking.hit(now, ranking.Placed(Candidate(row, 0.5), (), 0.5), ["x"], None, now.alive).why for row in (0, 1)
    ]
    assert whys == [("changed since it was accepted",), ("its server could not be asked lately",)]
