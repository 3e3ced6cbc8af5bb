"""From a name to the action, as far as the caller may know of it."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from anyact_server.dispatch import Permissive
from anyact_server.dispatch.resolve import check_allowed, resolve
from anyact_server.errors import PolicyRefused, UnknownAction, UsageError
from anyact_server.interfaces import Policy
from anyact_server.types import LOCAL, Action, Hints, Kind, Principal

from .world import READ_ONLY, Catalog, action


class Hiding:
    """Hides and refuses by id."""

    def __init__(self, hidden: Sequence[str] = (), refused: Sequence[str] = ()) -> None:
        self._hidden, self._refused = hidden, refused

    def visible(self, principal: Principal, actions: Sequence[Action], version: int) -> frozenset[str] | None:
        return frozenset(one.id for one in actions if one.id not in self._hidden)

    def refusal(self, principal: Principal, target: Action) -> str | None:
        return f"{target.id} is not allowed for {principal.name}" if target.id in self._refused else None


class Leaky(Catalog):
    """A catalog that forgets to look at what is visible."""

    def resolve(self, name: str, *, visible: frozenset[str] | None = None) -> Action:
        return self._actions[name]


CATALOG = Catalog([action("read"), action("write"), action("read", "other"), action("delete")])


@pytest.mark.case("N2")
def test_an_id_or_a_name_that_one_server_offers_is_found() -> None:
    """A name of two servers lists both ids."""
    for name in ("files__read", "write"):
        assert resolve(name, CATALOG, Permissive(), LOCAL).server == "files"
    with pytest.raises(UnknownAction) as caught:
        resolve("read", CATALOG, Permissive(), LOCAL)
    assert caught.value.suggestions == ("files__read", "other__read")


@pytest.mark.case("N2")
def test_a_stale_or_misspelt_name_is_never_taken_for_the_nearest() -> None:
    """It gets suggestions."""
    with pytest.raises(UnknownAction) as caught:
        resolve("files__reed", CATALOG, Permissive(), LOCAL)
    assert caught.value.suggestions == ()


@pytest.mark.case("Z2")
def test_hidden_looks_exactly_like_unknown() -> None:
    """By id and by bare name; the message differs by the name only, and suggestions never name it."""
    hiding: Policy = Hiding(hidden=["files__delete"])

    def said(name: str) -> tuple[str, tuple[str, ...], str | None]:
        with pytest.raises(UnknownAction) as caught:
            resolve(name, CATALOG, hiding, LOCAL)
        return caught.value.message.replace(name, "NAME"), caught.value.suggestions, caught.value.hint

    assert said("files__delete") == said("files__nothing")
    assert said("delete") == said("delfoo")
    assert "files__delete" not in said("delfoo")[1]
    assert resolve("read", CATALOG, Hiding(hidden=["other__read"]), LOCAL).id == "files__read"


@pytest.mark.case("Z2")
def test_a_hidden_action_stays_hidden_whatever_the_catalog_says() -> None:
    """The gate stands here as well."""
    with pytest.raises(UnknownAction):
        resolve("files__delete", Leaky([action("delete")]), Hiding(hidden=["files__delete"]), LOCAL)


@pytest.mark.case("Z2")
def test_a_rule_refuses_the_target() -> None:
    """What may be seen need not be callable."""
    with pytest.raises(PolicyRefused, match="not allowed for local"):
        check_allowed(action("write"), Hiding(refused=["files__write"]), LOCAL, read_only=False)
    check_allowed(action("read"), Hiding(refused=["files__write"]), LOCAL, read_only=False)


@pytest.mark.case("Z2")
@pytest.mark.parametrize("hints", [Hints(), Hints(read_only=False), Hints(destructive=False), Hints(idempotent=True)])
def test_only_declared_readers_pass_where_only_readers_may(hints: Hints) -> None:
    """Saying nothing counts as not read-only."""
    with pytest.raises(PolicyRefused, match="not declared read-only"):
        check_allowed(action("write", hints=hints), Permissive(), LOCAL, read_only=True)
    check_allowed(action("read", hints=READ_ONLY), Permissive(), LOCAL, read_only=True)


@pytest.mark.case("S1")
def test_a_faulty_action_is_refused_with_its_reason() -> None:
    """As not supported, which is nobody's argument."""
    with pytest.raises(UsageError, match="its input schema is null") as caught:
        check_allowed(action("odd", fault="its input schema is null"), Permissive(), LOCAL, read_only=False)
    assert caught.value.kind is Kind.NOT_SUPPORTED
    assert UsageError.kind is Kind.INVALID_ARGS
