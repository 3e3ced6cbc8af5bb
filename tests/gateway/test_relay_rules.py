"""Which tools a client of a transparent endpoint sees and may call."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

from anyact_server.gateway.relay_rules import Rules
from anyact_server.types import Action, Hints, Principal, Snapshot

from .twins import READ_ONLY, TwinCatalog, action

ANN, EVE = Principal("ann", "token"), Principal("eve", "token")


class Tags:
    """A policy under which Eve sees only read-only actions, and may not call what is tagged."""

    def visible(self, principal: Principal, actions: Sequence[Action], version: int) -> frozenset[str] | None:
        if principal != EVE:
            return None
        return frozenset(item.id for item in actions if item.hints.read_only)

    def refusal(self, principal: Principal, action: Action) -> str | None:
        return "tagged" if principal == EVE and action.tags else None


def catalog() -> TwinCatalog:
    return TwinCatalog(
        [
            action("s", "read", hints=READ_ONLY),
            action("s", "again", hints=Hints(idempotent=True)),
            action("s", "write"),
            action("s", "guarded", hints=READ_ONLY, tags=("x",)),
            action("t", "other"),
        ]
    )


def test_without_a_policy_everything_is_shown_and_nothing_is_refused() -> None:
    """Tools that the catalog does not know yet included."""
    rules = Rules("s", catalog(), None)
    assert rules.shown(EVE, "write")
    assert rules.shown(EVE, "brand new")
    assert not rules.restrict(EVE)
    assert not rules.closed(EVE)
    assert rules.refusal(EVE, "guarded") is None


@pytest.mark.case("Z2")
def test_the_policy_holds_for_the_tools_of_an_endpoint() -> None:
    """Hidden tools and tools that nobody has judged yet are not shown; what may not be called is refused."""
    rules = Rules("s", catalog(), Tags())
    assert rules.shown(EVE, "read")
    assert not rules.shown(EVE, "write")
    assert not rules.shown(EVE, "brand new")
    assert rules.shown(ANN, "brand new")
    assert rules.restrict(EVE)
    assert rules.refusal(EVE, "guarded") == "tagged"
    assert rules.refusal(EVE, "brand new") is None


@pytest.mark.case("Z2")
def test_a_server_of_which_nothing_is_visible_is_closed() -> None:
    """For this principal it does not exist."""
    assert Rules("t", catalog(), Tags()).closed(EVE)
    assert not Rules("t", catalog(), Tags()).closed(ANN)
    assert not Rules("s", catalog(), Tags()).closed(EVE)


def test_what_the_user_switched_off_is_not_shown() -> None:
    """What the server was seen to have but the catalog does not offer, and what a pattern names before it is seen."""
    known = catalog()
    known.record_snapshot(Snapshot("s", tools=({"name": "read"}, {"name": "off"}, {"name": None})))
    known.all_specs = [replace(spec, disabled_actions=("off", "new_*", "!new_other")) for spec in known.all_specs]
    rules = Rules("s", known, None)
    assert [name for name in ("read", "off", "new_one", "new_other") if rules.shown(ANN, name)] == ["read", "new_other"]


def test_hints_say_what_may_be_sent_twice() -> None:
    """Only what the server declares read-only or idempotent."""
    rules = Rules("s", catalog(), None)
    assert [name for name in ("read", "again", "write", "new", 7) if rules.repeatable(name)] == ["read", "again"]


def test_schemas_are_read_anew_when_the_catalog_changes() -> None:
    """The original schema of a tool, by the server's own name."""
    known = catalog()
    rules = Rules("s", known, None)
    assert rules.schema("later") is None
    known.add(action("s", "later", schema={"type": "object"}))
    assert rules.schema("later") == {"type": "object"}
