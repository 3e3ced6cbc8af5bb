"""What may stand in for an action that failed."""

from __future__ import annotations

from dataclasses import replace

import pytest

from anyact_server.dispatch.alternatives import LIKENESS, choose, likeness, query
from anyact_server.types import Action, Estimate, Hints, Hit, Kind

from .world import action

READ_TEXT = action("read_text_file", description="Read the complete contents of a text file.")
TWIN = action("readFile", "disk", description="Reads the contents of a file from disk.")
OTHER = action("send_email", "mail", description="Send an email to somebody.")


def offered(failed: Action, *others: Action, kind: Kind = Kind.TIMEOUT, works: bool = True) -> tuple[str, ...]:
    """The ids that would be offered."""
    return choose(failed, [Hit(one, 1.0) for one in others], kind, lambda _: works)


def test_an_action_of_the_same_meaning_is_offered() -> None:
    """Whatever its spelling and its server; a stranger is not, nor the failed one itself."""
    assert likeness(READ_TEXT, TWIN) > LIKENESS > likeness(READ_TEXT, OTHER)
    assert offered(READ_TEXT, READ_TEXT, OTHER, TWIN) == ("disk__readFile",)


def test_what_cannot_work_now_is_not_offered() -> None:
    """A pruned or faulty one, one that needs a login, one whose server is down."""
    assert offered(READ_TEXT, TWIN, works=False) == ()
    assert offered(READ_TEXT, replace(TWIN, fault="its schema is no object")) == ()
    for estimate in (
        Estimate("disk__readFile", 0.1, 0, 0.2, pruned=True),
        Estimate("disk__readFile", 0.9, 0, 1, needs_login=True),
    ):
        assert choose(READ_TEXT, [Hit(TWIN, 1.0, estimate=estimate)], Kind.TIMEOUT, lambda _: True) == ()


def test_a_dead_server_offers_nothing_of_its_own() -> None:
    """After a time-out of one action it may."""
    sibling = action("read_file", description="Read the contents of a file.")
    assert offered(READ_TEXT, sibling, kind=Kind.CRASHED) == ()
    assert offered(READ_TEXT, sibling, kind=Kind.TIMEOUT) == ("files__read_file",)


def test_a_reader_is_never_replaced_by_something_that_may_write() -> None:
    """Where the failed action is declared read-only, the alternative must be, too."""
    reader = replace(READ_TEXT, hints=Hints(read_only=True))
    assert offered(reader, TWIN) == ()
    assert offered(reader, replace(TWIN, hints=Hints(read_only=True))) == ("disk__readFile",)
    assert query(reader, None).read_only is True
    assert query(READ_TEXT, None).read_only is None


def test_at_most_three_are_offered_the_likest_first() -> None:
    """Equal ones in the order of their ids."""
    copies = [replace(TWIN, id=f"disk{number}__readFile") for number in (4, 2, 3, 1)]
    exact = replace(READ_TEXT, id="z__read_text_file", server="z")
    assert offered(READ_TEXT, *copies, exact) == ("z__read_text_file", "disk1__readFile", "disk2__readFile")


def test_the_search_is_for_the_words_of_name_and_description() -> None:
    """Split, the first line only, within what may be seen."""
    asked = query(replace(TWIN, description="Reads a file.\nLong story."), frozenset({"x"}))
    assert asked.intents == ("read File: Reads a file.",)
    assert asked.visible == frozenset({"x"})
    assert query(action("readFile"), None).intents == ("read File",)


@pytest.mark.parametrize(
    "one, other, alike",
    [
        ("create_branch", "git_create_branch", True),
        ("get_file_contents", "readFile", True),
        ("search-repositories", "searchRepository", True),
        ("create_merge_request_note", "create_merge_request", False),
        ("list_downtimes", "list_schemes", False),
        ("delete_branch", "create_branch", False),
        ("get_file_info", "get_file", False),
        ("query", "read_query", True),
    ],
)
def test_names_must_say_the_same_verb_and_the_same_things(one: str, other: str, alike: bool) -> None:
    """In any spelling, with words of the server's name and idle words aside; a wrong offer does harm."""
    text = "Does one thing with another."
    first, second = action(one, "hub", description=text), action(other, "git", description=text)
    assert (likeness(first, second) >= LIKENESS) is alike


def test_a_bare_verb_needs_more_agreement() -> None:
    """To search the web is not to search a memory."""
    web = action("web_search", "web", description="Search the web and get results with titles and links.")
    duck = action("search", "duck", description="Search the web for results; gives titles and links.")
    memory = action("search", "memory", description="Looks through stored notes of conversations.", schema={})
    assert likeness(web, duck) > LIKENESS > likeness(web, memory)


def test_arguments_that_the_caller_never_had_count_against_it() -> None:
    """An action that needs three more things is further away."""
    wanting = {"type": "object", "properties": {"a": {}, "b": {}, "c": {}}, "required": ["a", "b", "c"]}
    needy = replace(TWIN, input_schema=wanting)
    assert likeness(READ_TEXT, needy) < likeness(READ_TEXT, TWIN)
    assert likeness(action("x", schema={}), action("y", schema={})) == 0.0
