"""Visibility rules: what a pattern matches, that deny wins, and that scopes only narrow."""

from __future__ import annotations

import pytest

from anyact_server.access import Rules, parse_rule
from anyact_server.errors import ConfigError
from anyact_server.types import LOCAL, Action, Hints, Principal


def action(
    server: str, name: str, *, read_only: bool | None = None, destructive: bool | None = None, tag: str = ""
) -> Action:
    hints = Hints(read_only=read_only, destructive=destructive)
    return Action(id=f"{server}__{name}", server=server, name=name, hints=hints, tags=(tag,) if tag else ())


READ = action("a", "read_file", read_only=True)
DELETE = action("a", "delete_file", destructive=True)
SILENT = action("a", "touch")
OTHER = action("b", "read_file", read_only=True, tag="prod")
EVERY = [READ, DELETE, SILENT, OTHER]


def seen(rules: Rules, principal: Principal = LOCAL) -> list[str] | None:
    visible = rules.visible(principal, EVERY, 1)
    return None if visible is None else sorted(visible)


def test_without_rules_everything_is_visible() -> None:
    """None stands for all, so that nothing is computed for the common case."""
    assert seen(Rules()) is None


@pytest.mark.case("Z2")
def test_allow_read_only_of_one_server_and_deny_by_name_and_hide_another() -> None:
    """The policy of the reported case, term by term; an action that says nothing is not read-only."""
    assert seen(Rules(allow=["server:a & read-only"])) == ["a__read_file"]
    assert seen(Rules(deny=["delete_*", "server:b"])) == ["a__read_file", "a__touch"]


def test_deny_wins_over_allow() -> None:
    """An action named by both is not visible."""
    assert seen(Rules(allow=["a__*"], deny=["*delete*"])) == ["a__read_file", "a__touch"]


def test_destructive_holds_for_everything_not_declared_harmless() -> None:
    """Saying nothing about effects counts as destructive, as in the protocol."""
    assert seen(Rules(deny=["destructive"])) == ["a__read_file", "b__read_file"]


def test_tags_and_original_names_are_matched() -> None:
    """`tag:` looks at the server's tags; a bare glob also matches the original name."""
    assert seen(Rules(allow=["tag:prod"])) == ["b__read_file"]
    assert seen(Rules(allow=["read_*"])) == ["a__read_file", "b__read_file"]


def test_scopes_of_a_token_narrow_what_the_instance_allows() -> None:
    """A token can lose rights through its scopes and never gain any."""
    rules = Rules(deny=["server:b"])
    assert seen(rules, Principal("ci", "token", frozenset({"read-only"}))) == ["a__read_file"]
    assert seen(rules, Principal("all", "token", frozenset({"allow:*", "deny:touch"}))) == [
        "a__delete_file",
        "a__read_file",
    ]
    assert rules.refusal(Principal("ci", "token", frozenset({"read-only"})), SILENT) == "a__touch is not allowed for ci"
    assert rules.refusal(LOCAL, READ) is None


def test_the_visible_set_follows_the_version_of_the_catalog() -> None:
    """A new version is computed anew, the same version is not."""
    rules = Rules(allow=["a__*"])
    assert rules.visible(LOCAL, [READ], 1) == frozenset({"a__read_file"})
    assert rules.visible(LOCAL, EVERY, 1) == frozenset({"a__read_file"})
    assert rules.visible(LOCAL, EVERY, 2) == frozenset({"a__read_file", "a__delete_file", "a__touch"})


@pytest.mark.parametrize("text", ["", "a &", "colour:red", "server:"])
def test_a_rule_that_cannot_be_read_names_the_known_terms(text: str) -> None:
    """The error quotes the rule and says what would do."""
    with pytest.raises(ConfigError) as caught:
        parse_rule(text)
    assert caught.value.hint is not None


def test_an_unknown_scope_is_refused() -> None:
    """A typo in a scope must not silently widen a token."""
    with pytest.raises(ConfigError, match="readonly"):
        Rules().refusal(Principal("x", "token", frozenset({"readonly"})), READ)
