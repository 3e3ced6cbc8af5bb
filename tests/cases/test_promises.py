"""The list of promises and the tests are tied in both directions."""

from __future__ import annotations

from pathlib import Path

from .promises import PROMISES
from .tie import by_case, marked_in

TESTS = Path(__file__).resolve().parents[1]


def test_every_promise_has_a_test_and_every_test_names_a_known_case() -> None:
    """Neither can be added, renamed or removed without the other."""
    found = by_case(TESTS)
    assert sorted(found) == sorted(PROMISES)


def test_marks_are_read_wherever_pytest_takes_them() -> None:
    """On functions, in parameters and for a whole module."""
    source = """
pytestmark = [pytest.mark.anyio, pytest.mark.case("M1")]

@pytest.mark.case("A1")
@pytest.mark.parametrize("x", [pytest.param(1, marks=pytest.mark.case("B2"))])
async def test_one(x): ...

def test_two(): ...

@pytest.mark.case("C3")
def no_test(): ...
"""
    assert list(marked_in(source)) == [("A1", "test_one"), ("B2", "test_one"), ("M1", "test_one"), ("M1", "test_two")]


def test_promises_are_short_and_say_where_they_could_differ() -> None:
    """One sentence each, with at least one route."""
    for promise in PROMISES.values():
        assert promise.text.endswith(".") and len(promise.text) <= 100 and promise.routes, promise
