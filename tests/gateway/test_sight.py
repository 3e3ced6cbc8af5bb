"""What a principal may see."""

from __future__ import annotations

from dataclasses import replace

import pytest

from anyact_server.access import Rules
from anyact_server.gateway.sight import OFFERS, Sight, may_know, offered, seen, visible_servers
from anyact_server.types import Principal, Snapshot

from .twins import World, action, world

ME = Principal("local")


def _world() -> World:
    return world([action("git", "log"), action("web", "fetch")], snapshots=[Snapshot("empty")])


@pytest.mark.case("Z2")
def test_a_server_whose_actions_are_all_hidden_is_hidden() -> None:
    """One that has none stays, while no rule says otherwise."""
    here = _world()
    here.space.hidden["guest"] = frozenset({"web__fetch"})
    assert visible_servers(here.parts, ME) == {"git", "web", "empty"}
    assert visible_servers(here.parts, Principal("guest")) == {"git", "empty"}
    assert not seen(here.parts, action("web", "fetch"), Principal("guest"))
    assert seen(here.parts, action("web", "fetch"), ME)


@pytest.mark.case("Z2")
def test_rules_decide_about_a_server_of_which_nothing_is_known() -> None:
    """As they would about a harmless action of it."""
    here = _world()
    here.space.hidden["guest"] = frozenset()
    told = {
        rule: may_know(replace(here.parts, policy=Rules(deny=[rule])), "empty", ME)
        for rule in ("server:empty", "server:git", "destructive", "read-only", "*__delete")
    }
    assert told == {
        "server:empty": False,
        "server:git": True,
        "destructive": True,
        "read-only": False,
        "*__delete": True,
    }
    hidden = replace(here.parts, policy=Rules(deny=["server:empty"]))
    assert visible_servers(hidden, Principal("guest")) == {"git", "web"}


@pytest.mark.case("H1")
def test_only_what_a_server_has_or_declares_is_offered() -> None:
    """A server of tools only adds nothing."""
    assert offered([Snapshot("a", tools=({"name": "t"},), capabilities={"tools": {}})]) == frozenset()
    assert offered([Snapshot("a", prompts=({"name": "p"},))]) == {"prompts"}
    assert offered([Snapshot("a", capabilities={"prompts": {}, "resources": {}, "completions": {}})]) == OFFERS
    assert offered([Snapshot("a", templates=({"uriTemplate": "x://{y}"},))]) == {"resources"}


def test_what_is_unread_is_known_until_the_catalog_changes() -> None:
    """Everything may be offered by a server that was never read; disabled and faulty ones are never read."""
    here, sight = _world(), Sight()
    assert (sight.unread(here.parts), sight.offered(here.parts)) == ((), frozenset())
    here.catalog.forget("git")
    assert sight.unread(here.parts) == ()
    here.catalog.announce("git")
    assert (sight.unread(here.parts), sight.offered(here.parts)) == (("git",), OFFERS)
    here.catalog.all_specs[0] = replace(here.catalog.all_specs[0], fault="no command")
    here.catalog.announce("git")
    assert sight.unread(here.parts) == ()
