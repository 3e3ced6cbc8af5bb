"""The frozen requests of `benchmarks/retrieval/requests`."""

from __future__ import annotations

from hashlib import sha256
from pathlib import Path

import pytest

from anyact_server.evaluation.retrieval import read_requests

FOLDER = Path(__file__).resolve().parents[2] / "benchmarks" / "retrieval" / "requests"
DIGESTS = {
    "one_need": "9d8f440e8cfd9418b37628579426b4ff08792402801a9d4e3ab1319b47969286",
    "several_needs": "9775ac9c37513b634d7f9f8c69dfb82b959d70922fda6fa5751d49efa0f0aab3",
}


@pytest.mark.parametrize("name", DIGESTS)
def test_the_requests_are_as_they_were_frozen(name: str) -> None:
    """Figures of different days are about the same requests."""
    assert sha256((FOLDER / f"{name}.jsonl").read_bytes()).hexdigest() == DIGESTS[name]


def test_there_are_requests_with_one_need_and_with_several() -> None:
    """Each with its own id and text; a group per need, none of them empty."""
    one, several = read_requests(FOLDER / "one_need.jsonl"), read_requests(FOLDER / "several_needs.jsonl")
    assert (len(one), len(several)) == (347, 134)
    assert {len(request.groups) for request in one} == {1}
    assert {len(request.groups) for request in several} == {2, 3, 4}
    assert len({request.id for request in (*one, *several)}) == 481
    assert len({request.intents[0].casefold() for request in (*one, *several)}) == 481
