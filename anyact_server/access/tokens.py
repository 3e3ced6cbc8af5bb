"""Named bearer tokens: only their SHA-256 is kept, in `tokens.json` under the home, readable by its owner alone."""

from __future__ import annotations

import hashlib
import hmac
import json
import os
import secrets
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from anyact_server.errors import StorageError, UsageError
from anyact_server.types import EMPTY, LOCAL, Principal

from .rules import split_scopes

PREFIX = "anyact_"
FILE = "tokens.json"


@dataclass(frozen=True, slots=True)
class TokenInfo:
    """What is kept of a token; `created` is seconds since the epoch, `digest` the SHA-256 of the secret in hex."""

    name: str
    digest: str
    created: float
    scopes: tuple[str, ...] = ()


class Tokens:
    """The tokens of one home.

    A change of the file (another process ran `anyact token`) is seen at the next request. Where a token is required,
    requests without one are nobody's; else they belong to the local principal.
    """

    def __init__(self, home: Path, *, required: bool | None = None, given: Mapping[str, str] = EMPTY) -> None:
        """Name the tokens of a home.

        Args:
            home: the home folder.
            required: whether a request needs a token; by default it does as soon as there is one.
            given: secrets that are valid besides those of the file (from the environment, say), by name.
        """
        self._path = home / FILE
        self._given = {name: TokenInfo(name, _digest(secret), 0.0) for name, secret in given.items()}
        self._required = required
        self._stamp: tuple[int, int] | None = None
        self._known: dict[str, TokenInfo] = {}

    def identify(self, bearer: str | None) -> Principal | None:
        """Who sends this token; None for a token that is unknown, or for no token where one is required."""
        if bearer is None:
            required = self.exist() if self._required is None else self._required
            return None if required else LOCAL
        digest = _digest(bearer)
        for info in (*self._given.values(), *self._load().values()):
            if hmac.compare_digest(info.digest, digest):
                return Principal(info.name, "token", frozenset(info.scopes))
        return None

    def exist(self) -> bool:
        """Whether there is any token."""
        return bool(self._given or self._load())

    def create(self, name: str, scopes: Sequence[str] = ()) -> str:
        """Make a token and give its secret, which is shown this once.

        Raises:
            UsageError: the name is taken or unusable.
            ConfigError: a scope that does not exist.
        """
        if not name or not all(letter.isalnum() or letter in "._-" for letter in name) or len(name) > 64:
            raise UsageError(f"{name!r} is no name for a token", hint="Use up to 64 letters, digits, dots, dashes.")
        split_scopes(scopes)
        known = dict(self._load())
        if name in known:
            raise UsageError(f"a token named {name!r} exists", hint=f"Revoke it first: anyact token revoke {name}")
        secret = PREFIX + secrets.token_urlsafe(32)
        known[name] = TokenInfo(name, _digest(secret), time.time(), tuple(scopes))
        self._save(known)
        return secret

    def names(self) -> Sequence[TokenInfo]:
        """Every token, by name."""
        return sorted(self._load().values(), key=lambda info: info.name)

    def revoke(self, name: str) -> None:
        """Remove a token. Raises UsageError when there is none of this name."""
        known = dict(self._load())
        if known.pop(name, None) is None:
            raise UsageError(f"no token is named {name!r}", hint="See them with: anyact token list")
        self._save(known)

    def _load(self) -> dict[str, TokenInfo]:
        try:
            status = self._path.stat()
        except FileNotFoundError:
            self._stamp, self._known = None, {}
            return self._known
        stamp = (status.st_mtime_ns, status.st_size)
        if stamp != self._stamp:
            self._known = self._parse()
            self._stamp = stamp
        return self._known

    def _parse(self) -> dict[str, TokenInfo]:
        try:
            entries = json.loads(self._path.read_text(encoding="utf-8"))
            infos = [TokenInfo(e["name"], e["digest"], float(e["created"]), tuple(e["scopes"])) for e in entries]
        except (ValueError, KeyError, TypeError) as error:
            raise StorageError(
                f"{self._path} cannot be read as a list of tokens: {error}",
                hint="Remove the file and create the tokens anew; until then every token is refused.",
            ) from error
        return {info.name: info for info in infos}

    def _save(self, known: dict[str, TokenInfo]) -> None:
        self._path.parent.mkdir(parents=True, exist_ok=True)
        fresh = self._path.with_suffix(f".{os.getpid()}.new")
        descriptor = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            json.dump([asdict(info) for info in known.values()], file, indent=2)
        os.replace(fresh, self._path)


def _digest(secret: str) -> str:
    return hashlib.sha256(secret.encode()).hexdigest()
