"""The index as a whole."""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from anyact_server.retrieval import Index, OnnxEncoder, SentenceTransformersEncoder, VectorStore, folders, index
from anyact_server.types import Action, CatalogChange, Estimate, Query

from .doubles import TOOLS, BrokenEncoder, HandClock, HangingEncoder, WordEncoder, action, many


def ids(found: Index, *intents: str, **rest: object) -> list[str]:
    """Ids of the hits."""
    return [hit.action.id for hit in found.search(Query(intents, **rest)).hits]  # type: ignore[arg-type]


def built(encoder: WordEncoder | None = None, tools: Sequence[Action] = TOOLS) -> Index:
    """An index of these actions."""
    found = Index(encoder or WordEncoder())
    found.rebuild(tools)
    return found


def joined() -> None:
    """Wait for the threads that compute vectors."""
    for thread in threading.enumerate():
        if thread.name == "anyact-vectors":
            thread.join(5)
            assert not thread.is_alive()


def test_the_shipped_encoder_finds_by_meaning() -> None:
    """No word of the request is in the action's texts."""
    found = Index(OnnxEncoder())
    found.rebuild(TOOLS)
    answer = found.search(Query(("will it rain tomorrow?",)))
    assert answer.hits[0].action.id == "weather__get_forecast"
    assert answer.degraded is None
    assert answer.cpu_ms > 0
    assert 0 < answer.hits[0].score <= 1


def test_an_answer_has_a_page_a_total_and_neighbours() -> None:
    """Pages follow one another without gaps; ids behind the page are named."""
    found = built(tools=many(40))
    first = found.search(Query(("make the item",), limit=4))
    second = found.search(Query(("make the item",), limit=4, offset=4))
    assert len(first.hits) == len(second.hits) == 4
    assert [hit.action.id for hit in second.hits] == list(first.neighbours[:4])
    assert first.total == second.total == 40
    assert len(first.neighbours) == 5


def test_without_intents_the_actions_are_listed() -> None:
    """A list filtered by server, in the order of ids; blank intents are none."""
    found = built()
    assert ids(found, servers=("mail",)) == ["mail__list_folders", "mail__send_email"]
    assert ids(found, "  ", servers=("codex",)) == ["codex__ask_codex"]
    assert ids(Index(None), "anything") == []


def test_filters_and_visibility_hold_for_every_way_of_searching() -> None:
    """Words, meaning and names alike."""
    found = built()
    only = frozenset({"mail__list_folders"})
    assert ids(found, "send_email", "weather", visible=only) == ["mail__list_folders"]
    assert ids(found, "picture", servers=("mail",), read_only=True) == ["mail__list_folders"]


def test_estimates_shape_the_order_and_come_with_the_hits() -> None:
    """A pruned action is not shown; the others carry what is believed of them."""
    found = built()
    beliefs = {
        "mail__send_email": Estimate("mail__send_email", 0.1, 0, 0.2, pruned=True),
        "mail__list_folders": Estimate("mail__list_folders", 0.9, 0.8, 1),
    }
    answer = found.search(Query(("mailbox message",)), estimates=beliefs)
    assert answer.hits[0].action.id == "mail__list_folders"
    assert answer.hits[0].estimate == beliefs["mail__list_folders"]
    assert "mail__send_email" not in {hit.action.id for hit in answer.hits}


def test_a_huge_query_costs_no_more_than_a_long_one() -> None:
    """A megabyte of text, or thousands of intents, are cut."""
    found = built()
    started = time.thread_time()
    found.search(Query(("word " * 200_000, *[f"intent {at}" for at in range(5000)])))
    assert time.thread_time() - started < 5
    encoder = found.guard.encoder
    assert isinstance(encoder, WordEncoder)
    assert max(map(len, encoder.queries)) <= 2000
    assert len(encoder.queries) < 100


def test_a_change_of_one_server_is_searched_at_once_and_encodes_only_what_is_new() -> None:
    """Added, changed and removed actions; texts that were seen are not encoded again."""
    encoder = WordEncoder()
    found = built(encoder)
    encoder.texts.clear()
    now = {
        "mail__send_email": action("send_email", "Sends electronic post", "mail"),
        "mail__archive": action("archive", "Put letters away", "mail"),
        "mail__list_folders": None,
    }
    change = CatalogChange("mail", ("mail__archive",), ("mail__list_folders",), {"mail__send_email": ("description",)})
    found.update([change], now.get)
    assert len(encoder.texts) == 2
    assert len(found) == 5
    assert ids(found, "put letters away")[0] == "mail__archive"
    assert ids(found, "electronic post")[0] == "mail__send_email"
    assert "mail__list_folders" not in ids(found, "list folders")
    found.update([CatalogChange("mail", removed=("unknown",))], now.get)
    assert len(found) == 5


def test_many_small_changes_leave_few_segments_and_the_right_actions() -> None:
    """A home that lives for months stays quick."""
    encoder = WordEncoder()
    found = built(encoder, many(100))
    for at in range(25):
        new = action(f"extra{at}", f"Something number{at}", "extra")
        found.update([CatalogChange("extra", added=(new.id,))], {new.id: new}.get)
    assert len(found) == 125
    assert len(found._state.segments) <= index.SEGMENTS
    assert ids(found, "something number7")[0] == "extra__extra7"
    assert len(encoder.texts) == len(set(encoder.texts))
    for at in range(80):
        found.update([CatalogChange("bulk", removed=(f"bulk__make_item{at}",))], lambda name: None)
    assert len(found) == 45
    assert found._state.dead <= index.DEAD_SHARE * 45 + index.SEGMENTS


def test_rebuild_takes_over_what_it_knows() -> None:
    """The same actions again cost nothing; a few changes cost those; many cost a new index, but no vector twice."""
    encoder = WordEncoder()
    found = built(encoder, many(50))
    before = len(encoder.texts)
    state = found._state
    found.rebuild(many(50))
    assert found._state.segments == state.segments
    found.rebuild([*many(49), action("other", "Another thing")])
    assert len(encoder.texts) == before + 1
    assert ids(found, "another thing")[0] == "box__other"
    found.rebuild(many(20))
    assert len(encoder.texts) == before + 1
    assert len(found) == 20
    assert ids(found, "thing7")[0] == "bulk__make_item7"


def test_a_restart_reads_the_index_and_encodes_nothing(tmp_path: Path) -> None:
    """The index folder and the vector store survive; changed actions are noticed."""
    first = Index(WordEncoder(), store=VectorStore(tmp_path / "v.sqlite"), folder=tmp_path / "index")
    first.rebuild(many(60))
    first.close()
    encoder = WordEncoder()
    second = Index(encoder, store=VectorStore(tmp_path / "v.sqlite"), folder=tmp_path / "index")
    second.rebuild([*many(59), action("make_item59", "Makes something else", "bulk")])
    assert len(encoder.texts) == 1
    assert ids(second, "something else")[0] == "bulk__make_item59"
    assert ids(second, "thing8")[0] == "bulk__make_item8"
    second.close()


def test_a_prebuilt_folder_lends_its_vectors(tmp_path: Path) -> None:
    """An index built elsewhere and mounted read only spares the encoding, also of a few of its actions."""
    elsewhere = built(WordEncoder(), many(60))
    folders.write(tmp_path / "built", elsewhere._state, "words:1", with_actions=True)
    for tools in (many(60), many(10)):
        encoder = WordEncoder()
        found = Index(encoder, prebuilt=[tmp_path / "built"])
        found.rebuild(tools)
        assert encoder.texts == []
        assert ids(found, "thing8")[0] == "bulk__make_item8"
        assert found.search(Query(("thing8",))).degraded is None
    other = Index(WordEncoder(digest="words:2"), prebuilt=[tmp_path / "built"])
    other.rebuild(many(60))
    assert ids(other, "thing8")[0] == "bulk__make_item8"


def test_vectors_of_another_encoder_are_computed_anew(tmp_path: Path) -> None:
    """Changing the encoder never mixes vectors."""
    for digest in ("one", "two"):
        encoder = WordEncoder(digest=digest)
        found = Index(encoder, store=VectorStore(tmp_path / "v.sqlite"), folder=tmp_path / "index")
        found.rebuild(many(5))
        assert len(encoder.texts) == 5
        found.close()


def test_progress_is_told_while_vectors_are_computed() -> None:
    """Done and total, ending equal."""
    told: list[tuple[int, int]] = []
    found = Index(WordEncoder(), progress=lambda done, total: told.append((done, total)))
    found.rebuild(many(300))
    assert told[-1] == (300, 300)
    assert len(told) > 2
    assert found._state.waiting == 0


@pytest.mark.case("F3")
def test_a_broken_encoder_leaves_keyword_search_with_the_reason_and_heals() -> None:
    """Start-up is unharmed, results say why they are degraded, and meaning comes back by itself."""
    clock, encoder = HandClock(), BrokenEncoder("it refuses")
    found = Index(encoder, monotonic=clock)
    found.rebuild(TOOLS)
    started = time.monotonic()
    answer = found.search(Query(("mailbox message",)))
    assert time.monotonic() - started < 1
    assert answer.hits[0].action.id == "mail__send_email"
    assert answer.degraded is not None
    assert "it refuses" in answer.degraded
    encoder.broken = None
    clock.seconds += 1000
    found.search(Query(("mailbox message",)))
    joined()
    assert found.search(Query(("mailbox message",))).degraded is None


@pytest.mark.case("F3")
def test_an_encoder_that_hangs_costs_a_search_less_than_a_second() -> None:
    """Keyword results come, marked."""
    encoder = HangingEncoder()
    found = Index(encoder, query_s=0.1)
    found.rebuild(TOOLS)
    started = time.monotonic()
    answer = found.search(Query(("mailbox message",)))
    assert time.monotonic() - started < 1
    encoder.released.set()
    assert answer.hits[0].action.id == "mail__send_email"
    assert "did not answer" in (answer.degraded or "")


@pytest.mark.case("F3")
def test_without_an_encoder_nothing_is_degraded() -> None:
    """Switched off is a choice, not a fault."""
    found = Index(None)
    found.rebuild(TOOLS)
    answer = found.search(Query(("mailbox message",)))
    assert answer.hits[0].action.id == "mail__send_email"
    assert answer.degraded is None


@pytest.mark.usefixtures("library")
def test_a_model_that_is_slow_to_load_is_loaded_while_keyword_search_works(tmp_path: Path) -> None:
    """Its digest is learned when vectors are computed; a model that is nowhere leaves keyword search."""
    for name in ("local", "local", "missing"):
        found = Index(SentenceTransformersEncoder(name), folder=tmp_path / "index")
        found.rebuild(TOOLS)
        answer = found.search(Query(("mailbox message",)))
        assert answer.hits[0].action.id == "mail__send_email"
        assert (answer.degraded is None) == (name == "local")
        found.close()


class Stepping(WordEncoder):
    """Encodes documents one batch for each step that the test lets it take."""

    def __init__(self) -> None:
        super().__init__()
        self.steps = threading.Semaphore(0)
        self.begun = threading.Semaphore(0)

    def encode(self, texts: Sequence[str], *, query: bool = False) -> NDArray[np.float32]:
        """Vectors, after a step."""
        if not query:
            self.begun.release()
            assert self.steps.acquire(timeout=5)
        return super().encode(texts, query=query)


def test_search_and_changes_go_on_while_vectors_are_computed() -> None:
    """Keyword search works from the start, meaning from the first part on, and a change waits for nothing."""
    encoder = Stepping()
    found = Index(encoder)
    tools = many(index.FIRST_PART + index.STEP)
    thread = threading.Thread(target=found.rebuild, args=(tools,))
    thread.start()
    assert encoder.begun.acquire(timeout=5)
    answer = found.search(Query(("thing5",)))
    assert answer.hits[0].action.id == "bulk__make_item5"
    assert answer.degraded == f"search by meaning is being prepared (0 of {len(tools)} actions)"
    found.update([CatalogChange("box", added=("box__new",))], {"box__new": action("new", "Brand new")}.get)
    assert ids(found, "brand new")[0] == "box__new"
    encoder.steps.release(index.FIRST_PART // index.STEP)
    for _ in range(index.FIRST_PART // index.STEP):
        assert encoder.begun.acquire(timeout=5)
    assert f"({index.FIRST_PART} of {len(tools) + 1} actions)" in (found.search(Query(("thing5",))).degraded or "")
    encoder.steps.release(10)
    thread.join(5)
    assert found.search(Query(("thing5",))).degraded is None


def test_in_the_background_a_start_waits_for_no_vector_and_a_small_change_for_its_own() -> None:
    """A first start over thousands of actions answers at once; one server's few actions are searched by meaning."""
    encoder = Stepping()
    found = Index(encoder, background=True)
    found.rebuild(many(index.STEP))
    assert encoder.begun.acquire(timeout=5)
    assert ids(found, "thing5")[0] == "bulk__make_item5"
    assert found.search(Query(("thing5",))).degraded is not None
    encoder.steps.release(20)
    joined()
    assert found.search(Query(("thing5",))).degraded is None
    found.update([CatalogChange("box", added=("box__new",))], {"box__new": action("new", "Brand new")}.get)
    assert found.search(Query(("thing5",))).degraded is None


def test_closing_stops_the_encoding(tmp_path: Path) -> None:
    """The process ends soon; what was computed is kept."""
    encoder = Stepping()
    found = Index(encoder, store=VectorStore(tmp_path / "v.sqlite"), folder=tmp_path / "index")
    thread = threading.Thread(target=found.rebuild, args=(many(4 * index.STEP),))
    thread.start()
    assert encoder.begun.acquire(timeout=5)
    closing = threading.Thread(target=found.close)
    closing.start()
    while not found._stopped.wait(5):
        pass
    encoder.steps.release(1)
    thread.join(5)
    closing.join(5)
    store = VectorStore(tmp_path / "v.sqlite")
    assert store.count() == index.STEP
    store.close()


def test_searches_and_updates_from_many_threads_agree() -> None:
    """No search fails or sees half a change."""
    found = built(tools=many(50))
    failures: list[str] = []

    def search() -> None:
        for at in range(60):
            first = ids(found, f"make thing{at % 50}")[0]
            failures.extend({first} - {f"bulk__make_item{at % 50}"})

    threads = [threading.Thread(target=search) for _ in range(3)]
    for thread in threads:
        thread.start()
    for at in range(30):
        new = action(f"extra{at}", "Something quite unlike", "extra")
        found.update([CatalogChange("extra", added=(new.id,))], {new.id: new}.get)
    for thread in threads:
        thread.join(20)
    assert failures == []
