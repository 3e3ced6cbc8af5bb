"""Vectors from an embeddings endpoint."""

from __future__ import annotations

import pytest

from anyact_server.errors import EncoderError
from anyact_server.retrieval.endpoint import BATCH, EndpointEncoder
from tests.servers.embeddings import embeddings


def test_texts_are_sent_in_batches_and_come_back_in_order() -> None:
    """Model, key and texts reach the endpoint; the answer's order is that of its indexes."""
    texts = [f"text {at}" for at in range(BATCH + 3)]
    with embeddings() as server:
        encoder = EndpointEncoder(f"{server.url}/embeddings#small", key="abc")
        together = encoder.encode(texts)
        alone = encoder.encode(texts[5:6])
        encoder.close()
        bodies = server.requests
    assert together.shape == (BATCH + 3, 16)
    assert together[5] == pytest.approx(alone[0])
    assert [len(body["input"]) for body, _ in bodies] == [BATCH, 3, 1]
    assert {(body["model"], key) for body, key in bodies} == {("small", "Bearer abc")}


def test_a_base_address_is_completed_and_named_in_the_digest() -> None:
    """Two models behind one address are two encoders."""
    with embeddings() as server:
        encoder = EndpointEncoder(server.url)
        assert encoder.dimension == 16
        assert encoder.dimension == 16
        assert encoder.encode([]).shape == (0, 16)
        encoder.close()
        assert len(server.requests) == 1
        assert "model" not in server.requests[0][0]
        assert encoder.digest == f"url:{server.url}/embeddings#"


@pytest.mark.case("F3")
@pytest.mark.parametrize(
    ("answer", "status", "told"),
    [
        ("zeros", 200, "zeros"),
        ("nan", 200, "not finite"),
        ("garbage", 200, "list of vectors"),
        ("good", 500, "status 500"),
    ],
)
def test_an_answer_that_cannot_be_used_is_refused(answer: str, status: int, told: str) -> None:
    """The error says what was wrong, and no vector gets through."""
    with embeddings() as server:
        server.answer, server.status = answer, status
        encoder = EndpointEncoder(server.url)
        with pytest.raises(EncoderError, match=told):
            encoder.encode(["text"])
        encoder.close()


@pytest.mark.case("F3")
def test_another_dimension_than_before_is_refused() -> None:
    """A model that was swapped behind the address does not ruin the index."""
    with embeddings() as server:
        encoder = EndpointEncoder(server.url)
        encoder.encode(["text"])
        server.dimension = 8
        with pytest.raises(EncoderError, match="shape"):
            encoder.encode(["other"])
        assert encoder.dimension == 16
        encoder.close()


@pytest.mark.case("F3")
def test_an_endpoint_that_refuses_or_hangs_is_an_error_within_its_limit() -> None:
    """Nobody waits for a dead endpoint."""
    with embeddings() as server:
        url = server.url
        server.answer = "hang"
        slow = EndpointEncoder(url, timeout_s=0.1)
        with pytest.raises(EncoderError, match="cannot be reached"):
            slow.encode(["text"])
        slow.close()
    gone = EndpointEncoder(url)
    with pytest.raises(EncoderError, match="cannot be reached"):
        gone.encode(["text"])
    gone.close()
