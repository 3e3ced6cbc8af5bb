"""The encoders and how one is chosen."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import numpy as np
import pytest

from anyact_server.errors import EncoderError
from anyact_server.retrieval import EndpointEncoder, Index, OnnxEncoder, SentenceTransformersEncoder, load
from anyact_server.retrieval.encoder import MODEL, builtin
from anyact_server.settings import Settings
from anyact_server.types import Action, Query


def test_the_shipped_model_knows_what_texts_mean() -> None:
    """It works with no network, and puts a paraphrase nearer than another subject."""
    encoder = OnnxEncoder()
    encoder.load()
    texts = ["mail: send email: Send a message", "weather: get forecast: Weather of the coming days"]
    documents = encoder.encode(texts)
    query = encoder.encode(["write to a colleague electronically"], query=True)[0]
    assert documents.shape == (2, encoder.dimension)
    assert np.linalg.norm(documents, axis=1) == pytest.approx([1, 1], abs=1e-3)
    assert documents[0] @ query > documents[1] @ query + 0.1


def test_texts_of_a_batch_do_not_change_each_other() -> None:
    """Padding is masked, and rows come back in the order of the texts."""
    encoder = OnnxEncoder()
    texts = [f"{'long text about mail ' * (at % 5)}number {at}" for at in range(40)]
    together = encoder.encode(texts)
    for at in (0, 4, 39):
        assert together[at] @ encoder.encode([texts[at]])[0] > 0.98
    assert encoder.encode([]).shape == (0, encoder.dimension)


def test_a_very_long_text_is_cut_not_refused() -> None:
    """A 20 KB description costs no more than 128 tokens."""
    assert OnnxEncoder().encode(["word " * 5000]).shape[0] == 1


def test_a_model_folder_without_its_files_is_an_error_that_names_it(tmp_path: Path) -> None:
    """Missing card, missing or damaged model: one clear message each."""
    with pytest.raises(EncoderError, match="cannot be used"):
        OnnxEncoder(tmp_path)
    shutil.copyfile(MODEL / "card.json", tmp_path / "card.json")
    shutil.copyfile(MODEL / "tokenizer.json", tmp_path / "tokenizer.json")
    (tmp_path / "encoder.onnx").write_bytes(b"no model")
    encoder = OnnxEncoder(tmp_path)
    with pytest.raises(EncoderError, match="cannot be loaded"):
        encoder.encode(["text"])


@pytest.mark.case("F3")
def test_a_missing_model_costs_the_meaning_of_words_not_the_search(tmp_path: Path) -> None:
    """Without its model AnyAct searches by words and says so; nothing else is lost."""
    index = Index(builtin(tmp_path))
    index.rebuild([Action("time__now", "time", "now", "What time it is.")])
    answer = index.search(Query(("what time is it",)))
    assert [hit.action.id for hit in answer.hits] == ["time__now"]
    assert "keyword search only" in (answer.degraded or "") and "cannot be used" in (answer.degraded or "")


def test_the_setting_chooses_the_encoder() -> None:
    """Off, built in, an address, or a model's name."""
    assert load(Settings(encoder="off")) is None
    assert load(Settings(encoder=" ")) is None
    assert isinstance(load(Settings()), OnnxEncoder)
    assert isinstance(load(Settings(encoder="some/model")), SentenceTransformersEncoder)
    for key in (None, "abc"):
        endpoint = load(Settings(encoder="http://127.0.0.1:9/v1#m", encoder_key=key))
        assert isinstance(endpoint, EndpointEncoder)
        endpoint.close()


def test_without_the_extra_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody has to guess the name of the extra."""
    monkeypatch.setitem(sys.modules, "sentence_transformers", None)
    with pytest.raises(EncoderError, match="not installed") as caught:
        SentenceTransformersEncoder("some/model").encode(["text"])
    assert "anyact-server[st]" in (caught.value.hint or "")


@pytest.mark.usefixtures("library")
@pytest.mark.parametrize("name", ["local", "remote"])
def test_a_sentence_transformers_model_uses_its_own_prompts(name: str) -> None:
    """Questions and documents are encoded differently; a model that is not here is fetched."""
    encoder = SentenceTransformersEncoder(name)
    assert encoder.encode(["text"], query=True).tolist() == [[1, 0, 0]]
    assert encoder.encode(["text"]).tolist() == [[0, 1, 0]]
    assert encoder.dimension == 3


@pytest.mark.usefixtures("library")
def test_the_digest_of_a_model_follows_its_weights() -> None:
    """Two models never share vectors."""
    assert SentenceTransformersEncoder("local").digest == SentenceTransformersEncoder("local").digest
    assert SentenceTransformersEncoder("local").digest != SentenceTransformersEncoder("remote").digest


@pytest.mark.usefixtures("library")
def test_a_model_that_is_nowhere_is_an_error_with_its_name() -> None:
    """A misspelt name ends in one message."""
    with pytest.raises(EncoderError, match="'missing' cannot be loaded"):
        SentenceTransformersEncoder("missing").encode(["text"])
