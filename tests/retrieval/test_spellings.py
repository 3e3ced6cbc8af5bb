"""A name in any spelling comes first, always."""

from __future__ import annotations

import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anyact_server.retrieval import Index
from anyact_server.retrieval.documents import document
from anyact_server.retrieval.names import one_slip
from anyact_server.retrieval.short_words import SHORT_WORDS
from anyact_server.retrieval.words import compact, split_name
from anyact_server.types import Action, Query

VERBS = ("get", "list", "create", "delete", "search", "update", "send", "set", "API-patch", "kubectl", "ls", "do")
THINGS = ("issue", "pull_request", "messages", "emailDraft", "v1.users", "page-children", "cells", "log", "HTTPHeaders")
PLAIN = ("echo", "grep", "tail", "fetch", "hget", "nix", "sequentialthinking", "browser_navigate_back", "API-get-self")
SERVERS = ("github", "zereight-gitlab", "my.server", "x")


def name_of(style: int, verb: str, thing: str) -> str:
    """A name as servers write them: snake case, kebab case, camel case, with dots, with a slash."""
    words = split_name(f"{verb} {thing}").split()
    camel = words[0] + "".join(word.capitalize() for word in words[1:])
    return (f"{verb}_{thing}", "-".join(words), camel, ".".join(words), f"{verb}/{thing}")[style]


ACTIONS = [
    Action(f"{server}__{name}", server, name, description=f"{thing} and more about {verb}")
    for place, server in enumerate(SERVERS)
    for number, verb in enumerate(VERBS)
    for thing in THINGS
    for name in [name_of((place + number) % 5, verb, thing)]
] + [Action(f"plain__{name}", "plain", name) for name in PLAIN]


@pytest.fixture(scope="module")
def index() -> Index:
    """Some hundred actions with names as servers write them, by keywords and names alone."""
    found = Index(None)
    found.rebuild(ACTIONS)
    return found


def first(index: Index, text: str) -> Action:
    """The first hit."""
    return index.search(Query((text,), limit=1)).hits[0].action


def spelled(action: Action, style: str) -> str:
    """The action's name in a spelling."""
    words = split_name(action.name).split()
    return {
        "as it is": action.name,
        "spaced": " ".join(words),
        "snake": "_".join(words),
        "kebab": "-".join(words),
        "camel": words[0] + "".join(word.capitalize() for word in words[1:]),
        "upper": "_".join(words).upper(),
        "title": " ".join(words).title(),
        "quoted": f"`{action.name}`",
        "called": f"{action.name}()",
        "id": action.id,
        "server first": f"{action.server}.{action.name}",
        "server spaced": f"{split_name(action.server)} {' '.join(words)}",
    }[style]


STYLES = ("as it is", "spaced", "snake", "kebab", "camel", "upper", "title", "quoted", "called")
WITH_SERVER = ("id", "server first", "server spaced")


@given(st.sampled_from(ACTIONS), st.sampled_from(STYLES))
def test_any_spelling_of_a_name_finds_an_action_of_that_name_first(index: Index, action: Action, style: str) -> None:
    """Several servers may offer the name; which of them is first, other things decide."""
    assert compact(first(index, spelled(action, style)).name) == compact(action.name)


@given(st.sampled_from(ACTIONS), st.sampled_from(WITH_SERVER))
def test_any_spelling_with_the_server_finds_exactly_that_action_first(index: Index, action: Action, style: str) -> None:
    """However many servers offer the name."""
    assert first(index, spelled(action, style)).id == action.id


@given(st.sampled_from(ACTIONS), st.sampled_from(("as it is", "spaced", "camel", *WITH_SERVER)), st.data())
def test_a_spelling_with_one_slip_finds_its_action_first(
    index: Index, action: Action, style: str, data: st.DataObject
) -> None:
    """Unless the slip makes a word or another name; where several names are one slip away, one of them is first."""
    text = spelled(action, style)
    at = data.draw(st.integers(0, len(text) - 1))
    letter = data.draw(st.sampled_from(string.ascii_lowercase))
    typed = {
        "drop": text[:at] + text[at + 1 :],
        "add": text[:at] + letter + text[at:],
        "change": text[:at] + letter + text[at + 1 :],
        "swap": text[:at] + text[at : at + 2][::-1] + text[at + 2 :],
    }[data.draw(st.sampled_from(("drop", "add", "change", "swap")))]
    letters = compact(typed)
    if len(letters) < 2 or letters in SHORT_WORDS or is_used(letters):
        return
    assert any(one_slip(known, letters) for known in document(first(index, typed)).names)


def is_used(letters: str) -> bool:
    """Whether some action of the catalog uses the word."""
    texts = (f"{action.name} {action.description} {action.server}" for action in ACTIONS)
    return any(letters in split_name(text).split() for text in texts)


@pytest.mark.parametrize("typed", ["mail", "last", "red", "fresh"])
def test_a_word_that_people_use_is_no_slip(typed: str) -> None:
    """`mail` does not ask for `tail`, nor `last` for `list`."""
    found = Index(None)
    found.rebuild([Action(f"s__{name}", "s", name) for name in ("tail", "list", "read", "fetch")])
    assert not any("named" in reason for hit in found.search(Query((typed,))).hits for reason in hit.why)


def test_a_slip_in_a_short_name_is_understood() -> None:
    """Where the text is no word at all."""
    found = Index(None)
    found.rebuild([Action(f"s__{name}", "s", name) for name in ("tail", "list", "ls", "fetch_page")])
    assert first(found, "lsit").name == "list"
    assert first(found, "tial").name == "tail"
    assert first(found, "lz").name == "ls"
    assert found.search(Query(("q",))).hits == ()


def test_a_slip_is_found_among_thousands_of_names_that_share_a_half() -> None:
    """Numbered operations of one large server."""
    found = Index(None)
    found.rebuild([Action(f"s__operation{n:05d}get", "s", f"operation{n:05d}get") for n in range(2000)])
    assert first(found, "opreation01999get").name == "operation01999get"
    assert first(found, "operation00777xget").name == "operation00777get"
    assert one_slip(first(found, "operation0123get").name, "operation0123get")
