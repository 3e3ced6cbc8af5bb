"""What tools/list gives."""

from __future__ import annotations

from typing import Any

import pytest

from anyact_server.errors import UsageError
from anyact_server.gateway.listing import KEPT, Lists, is_direct, listed_tools, page, pages
from anyact_server.gateway.tools import NAMES, READ, tool_names
from anyact_server.settings import Settings
from anyact_server.types import Principal

from .twins import action, world

ACTIONS = [action("s", "a"), action("s", "b", pinned=True), action("s", "c", pinned=True, fault="its schema is null")]


def _settings(**given: Any) -> Settings:
    return Settings(**given)


def test_search_shows_the_eight_tools_and_what_is_pinned() -> None:
    """A pinned action that cannot be called is left out."""
    assert tool_names(listed_tools(_settings(), ACTIONS, "")) == [*NAMES, "s__b"]


def test_direct_shows_every_action_and_the_reader_of_handles() -> None:
    """Answers may hold handles there too."""
    assert tool_names(listed_tools(_settings(exposure="direct"), ACTIONS, "")) == ["s__a", "s__b", READ]


def test_auto_is_direct_only_while_definitions_are_small() -> None:
    """The limit is in tokens."""
    assert is_direct(_settings(exposure="auto"), ACTIONS)
    assert not is_direct(_settings(exposure="auto", auto_tokens=20), ACTIONS)
    assert not is_direct(_settings(exposure="auto"), [action("s", f"a{n}", description="x" * 400) for n in range(60)])
    assert not is_direct(_settings(), ACTIONS)


def test_pages_hold_as_much_as_fits_and_everything_once() -> None:
    """An item that is larger than a page has one of its own."""
    items = [{"name": "x" * length} for length in (10, 10, 500, 10, 60, 10)]
    found = pages(items, most=100)
    assert [item for part in found for item in part] == items
    assert [len(part) for part in found] == [2, 1, 2, 1]
    assert pages([]) == [[]]


def test_cursors_lead_from_page_to_page() -> None:
    """Until there is no more."""
    found: list[list[dict[str, Any]]] = [[{"n": 1}], [{"n": 2}]]
    assert page(found, None) == ([{"n": 1}], "1")
    assert page(found, "1") == ([{"n": 2}], None)
    assert page([], None) == ([], None)


@pytest.mark.parametrize("cursor", ["x", "-1", 3, "99999999999", "2"])
def test_a_cursor_that_was_not_given_out_is_refused(cursor: Any) -> None:
    """Also one that is past the end since the list became shorter."""
    with pytest.raises(UsageError, match="cursor"):
        page([[{"n": 1}], [{"n": 2}]], cursor)


def test_lists_are_kept_until_the_catalog_changes() -> None:
    """The same list object is served again; a change makes a new one."""
    here = world(ACTIONS)
    lists, principal = Lists(), Principal("local")
    first = lists.tools(here.parts, principal)
    assert lists.tools(here.parts, principal) is first
    here.catalog.add(action("s", "new"))
    second = lists.tools(here.parts, principal)
    assert second is not first
    assert "4 actions of 1 server" in second[0][0]["description"]


@pytest.mark.case("Z2")
def test_every_principal_sees_only_its_own() -> None:
    """Hidden actions are neither listed nor counted."""
    here = world(ACTIONS, exposure="direct")
    here.space.hidden["guest"] = frozenset({"s__a"})
    lists = Lists()
    assert tool_names(lists.tools(here.parts, Principal("guest"))[0]) == ["s__b", READ]
    assert tool_names(lists.tools(here.parts, Principal("local"))[0]) == ["s__a", "s__b", READ]


def test_lists_of_many_principals_are_bounded() -> None:
    """The oldest is made anew when it is wanted again."""
    here = world([action("s", f"a{n}") for n in range(KEPT + 5)])
    lists = Lists()
    first = lists.tools(here.parts, Principal("p"))
    for number in range(KEPT + 5):
        here.space.hidden[f"p{number}"] = frozenset({f"s__a{number}"})
        lists.tools(here.parts, Principal(f"p{number}"))
    assert lists.tools(here.parts, Principal("p")) is not first
