"""Index folders."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from anyact_server.errors import IndexMismatch, StorageError
from anyact_server.retrieval import Index, actions, folders, info, verify
from anyact_server.types import Action, CatalogChange, Hints, Query

from .doubles import TOOLS, WordEncoder, action


def written(folder: Path, tools: tuple[Action, ...] = TOOLS, *, encoder: WordEncoder | None = None) -> folders.Info:
    """Index actions and write the folder."""
    found = Index(encoder)
    found.rebuild(tools)
    return found.export(folder)


def test_a_folder_says_what_it_holds(tmp_path: Path) -> None:
    """Counts, encoder, kind of search; sound as it was written."""
    told = written(tmp_path / "x", encoder=WordEncoder())
    assert info(tmp_path / "x") == told
    assert (told.actions, told.servers, told.vectors, told.dimension, told.index) == (5, 4, 5, 256, "flat")
    assert told.encoder == "words:1"
    assert verify(tmp_path / "x", "words:1") == []


def test_a_folder_brings_the_same_index_back(tmp_path: Path) -> None:
    """Segments, dead rows, names and vectors."""
    before = Index(WordEncoder())
    before.rebuild(TOOLS)
    new = action("brew", "Makes coffee\n in a pot", "kitchen")
    before.update([CatalogChange("x", added=(new.id,), removed=("mail__send_email",))], {new.id: new}.get)
    folders.write(tmp_path, before._state, "words:1")
    after = folders.read(tmp_path, "words:1")
    assert after is not None
    assert after.rows == before._state.rows
    assert after.waiting == 0
    assert after.key(5) == before._state.key(5)
    assert after.named("kitchenbrew", after.alive) == [5]
    terms = ["coffee", "folder"]
    assert (after.keyword_scores(terms) == before._state.keyword_scores(terms)).all()


def test_vectors_of_another_encoder_are_left_out_and_words_still_serve(tmp_path: Path) -> None:
    """A mismatch costs the vectors only."""
    written(tmp_path, encoder=WordEncoder())
    found = folders.read(tmp_path, "words:2")
    assert found is not None
    assert found.waiting == 5
    assert verify(tmp_path, "words:2") == ["its vectors are of another encoder (words:1)"]


def test_a_folder_without_vectors_says_so(tmp_path: Path) -> None:
    """Built with the encoder switched off."""
    written(tmp_path)
    assert verify(tmp_path) == ["5 of 5 actions have no vector"]
    assert verify(tmp_path, "words:1")[0] == "its vectors are of another encoder (none)"


def test_a_built_folder_carries_its_actions(tmp_path: Path) -> None:
    """It serves searches without the catalog; a home's own folder does not need them."""
    rich = action(
        "rich",
        "Has everything",
        hints=Hints(read_only=True),
        tags=("a", "b"),
        input_schema={"properties": {"x": {"type": "string"}}},
        output_schema={"type": "object"},
        extra={"icons": []},
    )
    written(tmp_path / "built", (*TOOLS, rich))
    assert actions(tmp_path / "built") == [*TOOLS, rich]
    found = Index(None)
    found.rebuild(TOOLS)
    folders.write(tmp_path / "own", found._state, None)
    with pytest.raises(StorageError, match="no actions"):
        actions(tmp_path / "own")


def test_writing_again_replaces_the_folder_in_one_step_and_leaves_nothing_behind(tmp_path: Path) -> None:
    """A reader sees the old index or the new one."""
    first = written(tmp_path)
    second = written(tmp_path, TOOLS[:2])
    assert first.generation != second.generation
    assert info(tmp_path).actions == 2
    assert sorted(entry.name for entry in tmp_path.iterdir()) == sorted(["meta.json", second.generation])


def test_an_empty_index_can_be_written_and_read(tmp_path: Path) -> None:
    """A home before its first server."""
    written(tmp_path, ())
    found = folders.read(tmp_path, None)
    assert found is not None
    assert len(found.rows) == 0


def test_damage_is_found_and_the_folder_is_not_used(tmp_path: Path) -> None:
    """A missing or changed file is named; reading falls back to indexing anew."""
    told = written(tmp_path, encoder=WordEncoder())
    place = tmp_path / told.generation
    (place / "0.terms").write_bytes(b"other")
    (place / "alive.npy").unlink()
    assert verify(tmp_path) == ["the file 0.terms was changed", "the file alive.npy is missing"]
    assert folders.read(tmp_path, "words:1") is None
    found = Index(WordEncoder(), folder=tmp_path)
    found.rebuild(TOOLS)
    assert found.search(Query(("mailbox",))).hits[0].action.server == "mail"
    assert verify(tmp_path, "words:1") == []


def test_files_that_do_not_belong_together_are_not_used(tmp_path: Path) -> None:
    """Half a copy of a folder is no index."""
    told = written(tmp_path / "a")
    other = written(tmp_path / "b", TOOLS[:2])
    content = (tmp_path / "b" / other.generation / "alive.npy").read_bytes()
    (tmp_path / "a" / told.generation / "alive.npy").write_bytes(content)
    assert folders.read(tmp_path / "a", None) is None


def test_a_folder_of_another_version_is_told_apart(tmp_path: Path) -> None:
    """It is indexed anew rather than misread."""
    told = written(tmp_path)
    meta = json.loads((tmp_path / "meta.json").read_text(encoding="utf-8"))
    (tmp_path / "meta.json").write_text(json.dumps({**meta, "form": "other"}), encoding="utf-8")
    assert "it was made by another version of the program" in verify(tmp_path)
    assert folders.read(tmp_path, None) is None
    (tmp_path / "meta.json").write_text(json.dumps({**meta, "surprise": 1}), encoding="utf-8")
    with pytest.raises(IndexMismatch, match="not of this version"):
        info(tmp_path)
    (tmp_path / "meta.json").write_text("{", encoding="utf-8")
    with pytest.raises(IndexMismatch, match="cannot be read"):
        info(tmp_path)
    assert folders.read(tmp_path, None) is None
    assert told.current


def test_a_folder_that_is_no_index_or_cannot_be_written_is_a_clear_error(tmp_path: Path) -> None:
    """The message names the folder and the cure."""
    with pytest.raises(StorageError, match="no index folder") as caught:
        info(tmp_path)
    assert "anyact index build" in (caught.value.hint or "")
    assert folders.read(tmp_path, None) is None
    (tmp_path / "file").write_text("", encoding="utf-8")
    with pytest.raises(StorageError, match="cannot be written"):
        written(tmp_path / "file" / "x")
