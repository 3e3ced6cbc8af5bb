"""Named tokens: made once, kept as a digest, revoked at once, also from another process."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest

from anyact_server.access import Tokens
from anyact_server.errors import ConfigError, StorageError, UsageError
from anyact_server.types import LOCAL, Principal


def test_a_token_names_its_principal_and_its_scopes(tmp_path: Path) -> None:
    """The secret is recognised, anything else is nobody."""
    tokens = Tokens(tmp_path, required=True)
    secret = tokens.create("ci", ["read-only"])
    assert tokens.identify(secret) == Principal("ci", "token", frozenset({"read-only"}))
    assert tokens.identify(secret + "x") is None
    assert tokens.identify(None) is None


def test_without_the_requirement_no_token_means_the_local_user(tmp_path: Path) -> None:
    """Loopback servers work without any token, but a wrong token is still refused."""
    tokens = Tokens(tmp_path)
    assert tokens.identify(None) == LOCAL
    assert tokens.identify("wrong") is None


def test_the_first_token_closes_the_door_to_everybody_else(tmp_path: Path) -> None:
    """Who makes a token wants it asked for; `required=False` keeps the door open on purpose."""
    secret = Tokens(tmp_path).create("ci")
    assert Tokens(tmp_path).identify(None) is None
    assert Tokens(tmp_path).identify(secret) is not None
    assert Tokens(tmp_path, required=False).identify(None) == LOCAL


def test_a_token_from_the_environment_is_valid_without_a_file(tmp_path: Path) -> None:
    """A container is given its token and writes nothing."""
    tokens = Tokens(tmp_path, given={"environment": "s3cret-of-the-container"})
    assert tokens.exist()
    assert tokens.identify("s3cret-of-the-container") == Principal("environment", "token")
    assert tokens.identify(None) is None
    assert not list(tmp_path.iterdir())


def test_the_secret_is_not_kept_and_the_file_is_private(tmp_path: Path) -> None:
    """Whoever reads the file cannot call with it, and others cannot read it."""
    secret = Tokens(tmp_path).create("ci")
    path = tmp_path / "tokens.json"
    assert secret not in path.read_text(encoding="utf-8")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_another_process_sees_new_and_revoked_tokens(tmp_path: Path) -> None:
    """Two instances over one home agree without a restart."""
    server, command = Tokens(tmp_path, required=True), Tokens(tmp_path)
    secret = command.create("laptop")
    assert server.identify(secret) is not None
    command.revoke("laptop")
    assert server.identify(secret) is None
    assert list(server.names()) == []


def test_mistakes_are_named(tmp_path: Path) -> None:
    """A taken name, an unusable name, an unknown scope and an unknown token each get their own error."""
    tokens = Tokens(tmp_path)
    tokens.create("a")
    with pytest.raises(UsageError, match="exists"):
        tokens.create("a")
    with pytest.raises(UsageError, match="no name"):
        tokens.create("a b")
    with pytest.raises(ConfigError, match="unknown scope"):
        tokens.create("b", ["everything"])
    with pytest.raises(UsageError, match="no token"):
        tokens.revoke("b")
    assert [info.name for info in tokens.names()] == ["a"]


def test_a_broken_file_refuses_everybody_and_says_so(tmp_path: Path) -> None:
    """A corrupt store never means trust."""
    (tmp_path / "tokens.json").write_text("{", encoding="utf-8")
    with pytest.raises(StorageError, match=r"tokens\.json"):
        Tokens(tmp_path).identify("anything")
