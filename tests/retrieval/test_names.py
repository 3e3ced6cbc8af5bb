"""Actions found by their names."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anyact_server.retrieval.names import build, one_slip, spellings_of

NAMES = build([("askcodex", "codexaskcodex"), ("sendemail",), ("list",), ("sendemail", "othersendemail"), ()])


def test_an_exact_spelling_gives_every_action_that_has_it() -> None:
    """Two servers may offer one name."""
    assert NAMES.exact("askcodex") == [0]
    assert NAMES.exact("sendemail") == [1, 3]
    assert NAMES.exact("sendmail") == []


@pytest.mark.parametrize("typed", ["askcodx", "askcodexx", "askcodec", "akscodex", "askcoedx", "sskcodex"])
def test_one_slip_still_finds_the_action(typed: str) -> None:
    """A letter left out, added, mistaken, or two swapped."""
    assert NAMES.slipped(typed) == [0]


@pytest.mark.parametrize("typed", ["askcod", "askmodels", "lsit", "last", ""])
def test_two_slips_or_a_short_name_find_nothing(typed: str) -> None:
    """A guess is not made where it could be wrong."""
    assert NAMES.slipped(typed) == []


def test_names_of_no_actions_find_nothing() -> None:
    """An empty segment answers."""
    empty = build([])
    assert empty.exact("askcodex") == []
    assert empty.slipped("askcodex") == []


@given(st.text("abcde", min_size=5, max_size=14), st.data())
def test_any_single_slip_is_found(name: str, data: st.DataObject) -> None:
    """Whatever the place of the slip, one half of the name is whole."""
    at = data.draw(st.integers(0, len(name) - 1))
    kind = data.draw(st.sampled_from(["drop", "add", "change", "swap"]))
    if kind == "drop":
        typed = name[:at] + name[at + 1 :]
    elif kind == "add":
        typed = name[:at] + "x" + name[at:]
    elif kind == "change":
        typed = name[:at] + "x" + name[at + 1 :]
    else:
        typed = name[:at] + name[at : at + 2][::-1] + name[at + 2 :]
    assert one_slip(name, typed)
    if len(typed) >= 4:
        assert build([(name,)]).slipped(typed) == [0]


def test_one_slip_knows_its_limits() -> None:
    """Two changes are too many; equal is within one."""
    assert one_slip("abc", "abc")
    assert not one_slip("abcd", "acbe")
    assert not one_slip("abcd", "badc")
    assert not one_slip("abc", "abcde")
    assert not one_slip("abcd", "xbx")


def test_a_query_may_be_a_name_and_may_hold_names() -> None:
    """Words written as names stand out of a sentence; plain words do not."""
    assert spellings_of("Ask Codex") == ("askcodex", ())
    whole, inside = spellings_of("use ask_codex or mail.sendEmail, then tell me")
    assert whole == "useaskcodexormailsendemailthentellme"
    assert inside == ("askcodex", "mailsendemail")


def test_a_long_text_is_no_name() -> None:
    """A request of a page is not compared with names."""
    assert spellings_of("word " * 500)[0] is None
    assert spellings_of("?!")[0] is None
