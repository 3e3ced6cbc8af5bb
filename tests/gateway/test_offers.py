"""Prompts, resources and templates of all servers."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anyact_server.errors import UsageError
from anyact_server.gateway.listing import KEPT
from anyact_server.gateway.offers import Offers, gathered, unwrapped, wrapped
from anyact_server.types import Principal, Snapshot

from .twins import action, action_id, world

GIT = Snapshot(
    "git",
    prompts=({"name": "review", "description": "Review"}, {"name": "log"}, {"no": "name"}, "odd"),  # type: ignore[arg-type]
    resources=({"uri": "repo://x/y?z#f", "name": "readme"}, {"uri": "shared://a"}, {"uri": 3}),
    templates=({"uriTemplate": "repo://{path}", "name": "file"},),
)
NOTES = Snapshot("my notes", prompts=({"name": "log"},), resources=({"uri": "shared://a", "name": "a"},))
ME = Principal("local")


@given(st.text(min_size=1), st.text(min_size=1))
def test_addresses_lead_back_to_server_and_original(server: str, uri: str) -> None:
    """Byte for byte, whatever stands in them."""
    assert unwrapped(wrapped(server, uri)) == (server, uri)


@pytest.mark.parametrize("uri", ["file:///x", "anyact://", "anyact://server", "anyact://server/", "anyact:///x"])
def test_other_addresses_are_not_taken_apart(uri: str) -> None:
    """They are somebody else's."""
    assert unwrapped(uri) is None


def test_the_lists_of_servers_become_one_under_names_that_tell_the_server() -> None:
    """Entries without a name or address cost only themselves; other fields stay."""
    found = gathered([GIT, NOTES], action_id)
    assert [item["name"] for item in found.prompts[0]] == ["git__review", "git__log", "my notes__log"]
    assert found.prompts[0][0]["description"] == "Review"
    assert [item["uri"] for item in found.resources[0]] == [
        "anyact://git/repo://x/y?z#f",
        "anyact://git/shared://a",
        "anyact://my%20notes/shared://a",
    ]
    assert [item["name"] for item in found.resources[0]] == ["git__readme", "git__shared://a", "my notes__a"]
    assert found.templates[0][0]["uriTemplate"] == "anyact://git/repo://{path}"


def test_prompts_are_found_by_their_name_or_by_a_bare_name_that_is_unique() -> None:
    """A bare name of two servers lists both and runs neither."""
    here, offers = world(snapshots=[GIT, NOTES]), Offers()
    assert offers.prompt(here.parts, ME, "git__log") == ("git", "log")
    assert offers.prompt(here.parts, ME, "review") == ("git", "review")
    with pytest.raises(UsageError) as several:
        offers.prompt(here.parts, ME, "log")
    assert several.value.hint == "It is offered as: git__log, my notes__log."
    with pytest.raises(UsageError, match="Unknown prompt: nope"):
        offers.prompt(here.parts, ME, "nope")


def test_resources_are_found_by_their_address_or_by_an_original_one_that_is_unique() -> None:
    """Templates' expansions too, for any address of a known server leads there."""
    here, offers = world(snapshots=[GIT, NOTES]), Offers()
    assert offers.resource(here.parts, ME, "anyact://git/repo://a/b") == ("git", "repo://a/b")
    assert offers.resource(here.parts, ME, "repo://x/y?z#f") == ("git", "repo://x/y?z#f")
    for wrong in ("shared://a", "anyact://nobody/x", "file:///x"):
        with pytest.raises(UsageError, match="Unknown resource"):
            offers.resource(here.parts, ME, wrong)


@pytest.mark.case("Z2")
def test_a_hidden_server_offers_nothing() -> None:
    """Neither in lists nor by name; a server without actions stays visible."""
    here, offers = world([action("git", "log")], snapshots=[GIT, NOTES]), Offers()
    here.space.hidden["guest"] = frozenset({"git__log"})
    guest = Principal("guest")
    assert [item["name"] for item in offers.of(here.parts, guest).prompts[0]] == ["my notes__log"]
    with pytest.raises(UsageError):
        offers.resource(here.parts, guest, "anyact://git/repo://x/y?z#f")
    assert len(offers.of(here.parts, ME).prompts[0]) == 3


def test_disabled_servers_and_stale_lists_are_left_out() -> None:
    """A change of the catalog makes the lists anew; many principals are bounded."""
    here, offers = world(snapshots=[GIT]), Offers()
    first = offers.of(here.parts, ME)
    assert offers.of(here.parts, ME) is first
    here.catalog.all_specs = [replace(spec, disabled=True) for spec in here.catalog.all_specs]
    here.catalog.announce("git")
    assert offers.of(here.parts, ME).prompts == [[]]
    crowd = world([action(f"s{n}", "a") for n in range(KEPT + 3)])
    for number in range(KEPT + 3):
        crowd.space.hidden[f"p{number}"] = frozenset({f"s{number}__a"})
        offers.of(crowd.parts, Principal(f"p{number}"))
    assert offers.of(crowd.parts, ME).prompts == [[]]
