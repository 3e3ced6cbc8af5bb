"""Names and texts taken apart into words."""

from __future__ import annotations

import pytest

from anyact_server.retrieval.words import clauses, compact, pieces, query_terms, split_name, stem, terms


@pytest.mark.parametrize(
    "name",
    ["getUserById", "get_user_by_id", "get-user.by/id", "get user by id", "GetUserByID", "GET_USER_BY_ID"],
)
def test_every_spelling_of_a_name_splits_into_the_same_words(name: str) -> None:
    """Humps, underscores, dashes and case do not matter."""
    assert split_name(name) == "get user by id"
    assert compact(name) == "getuserbyid"


def test_digits_part_from_letters() -> None:
    """A version or a number is a word of its own."""
    assert pieces("resizeTo512px") == ["resize", "to", "512", "px"]


def test_a_word_with_letters_beyond_ascii_stays_whole() -> None:
    """An accent does not cut a word."""
    assert split_name("café_öffnen") == "café öffnen"


@pytest.mark.parametrize(
    ("word", "base"),
    [
        ("queries", "query"),
        ("matches", "match"),
        ("files", "file"),
        ("creating", "create"),
        ("stopped", "stop"),
        ("updated", "update"),
    ],
)
def test_inflections_share_a_stem(word: str, base: str) -> None:
    """Plural, -ing and -ed do not keep words apart."""
    assert stem(word) == stem(base)


@pytest.mark.parametrize("word", ["status", "class", "string", "bring", "red", "аудио", "h264"])
def test_words_that_only_look_inflected_keep_what_they_mean(word: str) -> None:
    """No stem is cut down to nothing."""
    assert len(stem(word)) >= len(word) - 1


def test_stop_words_and_punctuation_are_no_terms() -> None:
    """Only words that say something are indexed."""
    assert terms("Could you please send the email, to me?") == ["send", "email"]


def test_a_word_of_mixed_case_is_also_a_term_as_a_whole() -> None:
    """`YouTube` is found as `youtube`."""
    assert "youtube" in terms("YouTube")
    assert set(terms("You Tube")) < set(query_terms("You Tube"))
    assert "youtube" in query_terms("You Tube")


def test_scripts_without_blanks_become_pairs_of_letters() -> None:
    """Chinese and Japanese texts can be searched by parts."""
    assert terms("天气预报") == ["天气", "气预", "预报"]
    assert terms("天") == ["天"]


def test_a_short_request_is_one_clause() -> None:
    """Nothing is cut that holds one need."""
    assert clauses("send an email to Ann") == ["send an email to Ann"]
    assert clauses("   ") == ["   "]


def test_a_long_request_becomes_at_most_three_clauses_that_hold_all_its_words() -> None:
    """Sentences are joined, never dropped."""
    request = " ".join(f"Please do the thing number {at} for the team." for at in range(9))
    found = clauses(request)
    assert len(found) == 3
    assert " ".join(found) == request


def test_a_short_sentence_joins_its_neighbour() -> None:
    """A greeting is no need of its own."""
    assert clauses("Hello there. I would like to know the weather in Paris tomorrow.") == [
        "Hello there. I would like to know the weather in Paris tomorrow."
    ]
