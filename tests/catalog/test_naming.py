"""Ids, and names that come near."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anyact_server.catalog.naming import LONGEST, action_id, closest, distance, folded, prepared

NAMES = st.text(min_size=1, max_size=70) | st.from_regex(r"[a-z_\-]{1,30}", fullmatch=True)
ODD = st.text(alphabet="ab_-.8f", min_size=1, max_size=14)


@pytest.mark.case("N1")
@pytest.mark.parametrize(
    ("server", "name", "identity"),
    [
        ("git", "git_status", "git__git_status"),
        ("context7", "resolve-library-id", "context7__resolve-library-id"),
        ("a-b", "x-y-z", "a-b__x-y-z"),
        ("s", "_private", "s___private"),
        ("s", "a__b", "s__a__b"),
        ("Node.js", "a.b", "Node_js__a_b_3fe5d6e5"),
        ("s", "a/b", "s__a_b_8c8f7f4a"),
        ("s", "a b", "s__a_b_a1a1a1a1"),
    ],
)
def test_ids_are_what_they_always_were(server: str, name: str, identity: str) -> None:
    """Clean pairs give `server__name`; others a stem and a hash. The stems are pinned, the hashes by their form."""
    found = action_id(server, name)
    if re.search(r"_[0-9a-f]{8}\Z", identity):
        assert found[:-8] == identity[:-8]
    else:
        assert found == identity


def test_hashes_of_ids_never_change() -> None:
    """An id stands in other people's rules, indexes and ledgers: these must stay as they are for ever."""
    assert action_id("Node.js", "a.b") == "Node_js__a_b_e3073df0"
    assert action_id("文件", "读取") == "server__action_380ee617"
    assert action_id("awslabs.aws-iac-mcp-server", "n" * 128) == "awslabs_aws-iac__nnnnnnnnnnnnnnnnnnnnnn_2078a89b"


@pytest.mark.case("N1")
@given(NAMES, NAMES)
def test_every_id_is_short_and_clean_and_the_same_every_time(server: str, name: str) -> None:
    """Any pair of names gives an id that every client takes, with room for a prefix of its own."""
    identity = action_id(server, name)
    assert re.fullmatch(r"[a-zA-Z0-9_-]{1,48}", identity)
    assert identity == action_id(server, name)


@pytest.mark.case("N3")
@given(ODD, ODD, ODD, ODD)
def test_two_pairs_never_share_an_id(server: str, name: str, other_server: str, other_name: str) -> None:
    """Separators, dots and hash-like endings in either name lead to different ids for different pairs."""
    same = (server, name) == (other_server, other_name)
    assert (action_id(server, name) == action_id(other_server, other_name)) == same


@pytest.mark.case("N3")
def test_the_separator_within_names_never_confuses_two_pairs() -> None:
    """Once, twice, at the start and at the end, on either side."""
    parts = ["a", "a_", "_a", "a__b", "__a", "a__", "b", "_", "__", "a___b"]
    ids = [action_id(server, name) for server in parts for name in parts]
    assert len(set(ids)) == len(parts) ** 2


def test_a_name_that_looks_like_anothers_hash_gets_a_hash_itself() -> None:
    """A server cannot take the id of another one's action by choosing its words."""
    victim = action_id("a b", "run")
    server, _, name = victim.partition("__")
    assert action_id(server, name) != victim


def test_names_at_the_limit() -> None:
    """Forty-eight characters are the most that stay as they are."""
    assert action_id("s", "n" * (LONGEST - 3)) == "s__" + "n" * (LONGEST - 3)
    longer = action_id("s", "n" * (LONGEST - 2))
    assert len(longer) <= LONGEST and re.search(r"_[0-9a-f]{8}\Z", longer)


def test_an_empty_name_has_an_id_all_the_same() -> None:
    """The rule has no holes."""
    assert re.fullmatch(r"[a-zA-Z0-9_-]+", action_id("", ""))


@pytest.mark.parametrize(
    ("left", "right", "edits"),
    [("", "", 0), ("abc", "abc", 0), ("abc", "abd", 1), ("abc", "acb", 1), ("abc", "ab", 1), ("ca", "abc", 3)],
)
def test_distances_count_edits_and_swaps(left: str, right: str, edits: int) -> None:
    """Insert, delete, replace, swap of neighbours."""
    assert distance(left, right, 5) == edits
    assert distance(right, left, 5) == edits
    assert distance(left, right, 0) == min(edits, 1)


@pytest.mark.case("N2")
def test_near_names_are_found_whatever_their_spelling() -> None:
    """Case, separators and a few wrong letters; far names are not near."""
    known = prepared(["git__git_status", "github__create_issue", "time__convert_time", "é"])
    assert closest("Git Git-Status", known) == ["git__git_status"]
    assert closest("github__craete_isue", known) == ["github__create_issue"]
    assert closest("time.convertTime", known) == ["time__convert_time"]
    assert closest("weather__forecast", known) == []
    assert closest("", known) == closest("é", known) == closest("x" * 300, known) == []
    assert closest("aa", prepared(["ab", "ac", "aa", "ad"]), limit=2) == ["aa", "ab"]


@given(st.text(max_size=20))
def test_folding_keeps_letters_and_digits_only(name: str) -> None:
    """However a name is written, the folded form is lower-case ASCII."""
    assert re.fullmatch(r"[a-z0-9]*", folded(name))
