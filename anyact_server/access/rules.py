"""Rules of visibility: patterns over actions, as pure decisions.

A rule is a list of terms joined by `&`; it holds for an action when every term does:

    git__*            a glob on the action's id or on its original name
    server:files      a glob on the server's name
    tag:prod          a glob on one of the server's tags
    read-only         the server declares the action read-only (saying nothing counts as not read-only)
    destructive       the action is not declared read-only, nor declared not destructive

An action is visible when some `allow` rule holds (or there is none) and no `deny` rule does: deny wins.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase

from anyact_server.errors import ConfigError
from anyact_server.types import Action, Principal

READ_ONLY = "read-only"
DESTRUCTIVE = "destructive"


@dataclass(frozen=True, slots=True)
class Rule:
    """One parsed rule; `text` is as the user wrote it."""

    text: str
    terms: tuple[tuple[str, str], ...]

    def holds(self, action: Action) -> bool:
        """Whether every term is true of the action."""
        return all(_true(field, pattern, action) for field, pattern in self.terms)


def parse_rule(text: str) -> Rule:
    """Read one rule.

    Raises:
        ConfigError: an empty rule, an empty term, or an unknown field before a colon.
    """
    terms = []
    for part in text.split("&"):
        term = part.strip()
        if not term:
            raise ConfigError(
                f"rule {text!r} has an empty term", hint="Write terms such as `server:files & read-only`."
            )
        field, colon, pattern = term.partition(":")
        if term in (READ_ONLY, DESTRUCTIVE):
            terms.append((term, ""))
        elif not colon:
            terms.append(("action", term))
        elif field in ("server", "tag", "action") and pattern:
            terms.append((field, pattern.strip()))
        else:
            raise ConfigError(
                f"rule {text!r}: unknown term {term!r}",
                hint="Known terms: a glob, server:GLOB, tag:GLOB, action:GLOB, read-only, destructive.",
            )
    return Rule(text, tuple(terms))


def _true(field: str, pattern: str, action: Action) -> bool:
    if field == "action":
        return fnmatchcase(action.id, pattern) or fnmatchcase(action.name, pattern)
    if field == "server":
        return fnmatchcase(action.server, pattern)
    if field == "tag":
        return any(fnmatchcase(tag, pattern) for tag in action.tags)
    read_only = action.hints.read_only is True
    if field == READ_ONLY:
        return read_only
    return not read_only and action.hints.destructive is not False


def permitted(action: Action, allow: Sequence[Rule], deny: Sequence[Rule]) -> bool:
    """Whether the rules leave the action visible."""
    return (not allow or any(rule.holds(action) for rule in allow)) and not any(rule.holds(action) for rule in deny)


class Rules:
    """The rules of an instance, narrowed by the scopes of a principal.

    A token's scopes are rules too: `allow:RULE`, `deny:RULE`, or the bare word `read-only`. They only ever narrow
    what the instance allows.
    """

    def __init__(self, allow: Iterable[str] = (), deny: Iterable[str] = ()) -> None:
        self._allow = tuple(parse_rule(text) for text in allow)
        self._deny = tuple(parse_rule(text) for text in deny)
        self._scopes: dict[frozenset[str], tuple[tuple[Rule, ...], tuple[Rule, ...]]] = {}
        self._visible: dict[frozenset[str], tuple[int, frozenset[str] | None]] = {}

    def visible(self, principal: Principal, actions: Sequence[Action], version: int) -> frozenset[str] | None:
        """Ids that the principal may see, None for all; computed once per version of the catalog."""
        known = self._visible.get(principal.scopes)
        if known is None or known[0] != version:
            known = (version, self._compute(principal, actions))
            self._visible[principal.scopes] = known
        return known[1]

    def refusal(self, principal: Principal, action: Action) -> str | None:
        """Why an action may not be called although it may be seen; hidden actions are no matter of this."""
        if permitted(action, self._allow, self._deny) and self._within_scopes(principal, action):
            return None
        return f"{action.id} is not allowed for {principal.name}"

    def _compute(self, principal: Principal, actions: Sequence[Action]) -> frozenset[str] | None:
        if not self._allow and not self._deny and not principal.scopes:
            return None
        return frozenset(action.id for action in actions if self.refusal(principal, action) is None)

    def _within_scopes(self, principal: Principal, action: Action) -> bool:
        if not principal.scopes:
            return True
        if principal.scopes not in self._scopes:
            self._scopes[principal.scopes] = split_scopes(principal.scopes)
        allow, deny = self._scopes[principal.scopes]
        return permitted(action, allow, deny)


def split_scopes(scopes: Iterable[str]) -> tuple[tuple[Rule, ...], tuple[Rule, ...]]:
    """The allow and deny rules among a token's scopes.

    Raises:
        ConfigError: a scope that is neither `read-only`, `allow:RULE` nor `deny:RULE`.
    """
    allow, deny = [], []
    for scope in sorted(scopes):
        word, colon, rest = scope.partition(":")
        if scope == READ_ONLY:
            allow.append(parse_rule(READ_ONLY))
        elif colon and word == "allow":
            allow.append(parse_rule(rest))
        elif colon and word == "deny":
            deny.append(parse_rule(rest))
        else:
            raise ConfigError(f"unknown scope {scope!r}", hint="Known scopes: read-only, allow:RULE, deny:RULE.")
    return tuple(allow), tuple(deny)
