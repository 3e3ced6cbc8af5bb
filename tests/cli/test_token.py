"""`token create|list|revoke`."""

from __future__ import annotations

from anyact_server.access import Tokens

from .kit import Shell


def test_a_token_is_shown_once_and_then_never(shell: Shell) -> None:
    """The secret alone on stdout."""
    made = shell("token", "create", "laptop", "--scope", "read-only")
    secret = made.out.strip()
    assert made.code == 0
    assert len(secret) > 20
    assert "Authorization: Bearer" in made.err
    principal = Tokens(shell.home).identify(secret)
    assert principal is not None
    assert principal.name == "laptop"
    listed = shell("token", "list")
    assert "laptop" in listed.out
    assert "read-only" in listed.out
    assert secret not in listed.out + shell("token", "list", "--json").out


def test_tokens_as_json(shell: Shell) -> None:
    """Created, listed, revoked."""
    made = shell("token", "create", "ci", "--json").json
    assert set(made) == {"name", "token", "scopes"}
    (one,) = shell("token", "list", "--json").json["tokens"]
    assert (one["name"], one["scopes"]) == ("ci", [])
    assert shell("token", "revoke", "ci", "--json").json == {"revoked": "ci"}
    assert shell("token", "list", "--json").json == {"tokens": []}


def test_a_revoked_token_is_refused(shell: Shell) -> None:
    """And a name that no token has is an error."""
    secret = shell("token", "create", "old").out.strip()
    assert "revoked old" in shell("token", "revoke", "old").err
    assert Tokens(shell.home).identify(secret) is None
    assert shell("token", "revoke", "old").code != 0
    assert "anyact token create" in shell("token", "list").err


def test_a_name_is_taken_once(shell: Shell) -> None:
    """And a scope that does not exist is refused with those that do."""
    assert shell("token", "create", "a").code == 0
    assert shell("token", "create", "a").code == 2
    wrong = shell("token", "create", "b", "--scope", "root")
    assert wrong.code == 2
    assert "root" in wrong.err
