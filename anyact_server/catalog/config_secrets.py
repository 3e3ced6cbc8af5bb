"""Which strings of an entry must never be printed, and what is wrong with a URL without repeating it. Pure."""

from __future__ import annotations

import base64
import re
from collections.abc import Iterable, Sequence
from contextlib import suppress
from urllib.parse import SplitResult, parse_qsl, unquote, urlsplit

_ORDINARY_VALUE = re.compile(
    r"(?:true|false|yes|no|on|off|none|null|auto|debug|info|warn|warning|error|production|development|test|utf-?8"
    r"|[0-9.:]{1,5}|.{0,3})\Z",
    re.IGNORECASE,
)
"""Values that stand everywhere: masking them would blot out half of every message and hide nothing."""


_SECRET_NAME = re.compile(
    r"key(?:s|id)?(?![a-z])|tokens?(?![a-z])|secret|passw|passphrase|pass(?<!compass)(?<!bypass)(?![a-z])|pwd"
    r"|auth(?!or(?!i))|credential|bearer|cookie|session|private|jwt|dsn(?![a-z])|conn(?:ection)?[_-]?str"
    r"|headers?(?![a-z])|(?<![a-z])pat(?![a-z])",
    re.IGNORECASE,
)
_ABOUT_A_SECRET = re.compile(
    r"(?:^|[_-])(?:max|min)[_-]|[_-](?:file|path|dir|directory|folder|name|host|port|mode|type|method|provider|domain"
    r"|ttl|timeout|size|length|limit|count|enabled)\Z",
    re.IGNORECASE,
)
"""Names of settings that speak of a secret and do not hold it: `TOKEN_FILE`, `MAX_TOKENS`, `AUTH_MODE`."""
_PATH = re.compile(r"(?:~|\.{1,2})?/|(?:~|\.{1,2})\\|[A-Za-z]:[\\/]|file:", re.IGNORECASE)
_HOST = re.compile(r"(?:[\w.+-]+@)?[a-z0-9_-]+(?:\.[a-z0-9_-]+)*(?:\.[a-z]{2,24}\.?|:[0-9]{1,5})(?::[0-9]{1,5})?\Z")
_NUMBER = re.compile(r"[-+0-9.,:eE_xTZ%]+\Z")
_WORDS = re.compile(r"secret|token(?!i[sz]|s?\Z)|passw|passphrase|credential|api[_-]?key", re.IGNORECASE)
_ASSIGNED = re.compile(
    r"(?:secret|token|passw(?:or)?d|pwd|(?:api|access|account|private)[_-]?key|authorization)"
    r"(?:\s*=\s*|[\"']\s*:\s*|:\s*(?=bearer|basic))[\"']?(?:(?:bearer|basic)\s+)?([^\s\"';&]+)",
    re.IGNORECASE,
)
"""`Password=...;` of a connection string, `"Authorization": "Bearer ..."` of headers written as JSON."""
_LEAST_KEY_CHARS = 12
_HEADER_FLAG = re.compile(r"(?:-H|--?headers?)\Z", re.IGNORECASE)
_KEY = re.compile(
    r"(?<![A-Za-z0-9_-])(?=[A-Za-z_-]*[0-9])(?=[0-9_-]*[A-Za-z])[A-Za-z0-9_-]*[A-Za-z0-9]{16,}(?![A-Za-z0-9_-])"
)
_URL = re.compile(r"[a-z][a-z0-9+.-]*://[^\s\[\]'\"]+", re.IGNORECASE)


def is_secret(value: str) -> bool:
    """Whether a value that stands where secrets stand (a header, a URL's user or query) has to be masked."""
    return _ORDINARY_VALUE.match(value) is None


def names_secret(name: str) -> bool:
    """Whether a variable, flag or parameter of this name holds a secret."""
    return _SECRET_NAME.search(name) is not None and _ABOUT_A_SECRET.search(name) is None


def looks_secret(value: str) -> bool:
    """Whether a value is a secret by its look, whatever its name.

    That is a word of at least 12 characters that mixes letters and digits, or one that has a word like `token` in it.
    Paths, hosts, addresses, numbers and plain words are none.
    """
    if re.search(r"[\s/\\]", value) or _HOST.match(value) or _NUMBER.match(value):
        return False
    words = _WORDS.search(value)
    if words is not None and not value.isalpha():
        return True
    if words is not None and len(value) >= len(words[0]) + 4:
        return True
    mixed = re.search(r"[A-Za-z]", value) and re.search(r"[0-9]", value)
    return bool(mixed) and len(value) >= _LEAST_KEY_CHARS


def setting_secrets(name: str, value: str) -> Iterable[str]:
    """The strings of one environment variable that must never be printed.

    The whole value, if its name or its look says that it is a secret, and the secrets within it: what a URL hides, and
    values that are assigned to a password or token. A path is never a secret.
    """
    if not is_secret(value):
        return set()
    found: set[str] = set(_ASSIGNED.findall(value))
    for url in _URL.findall(value):
        found |= _hidden_in_url(url)
    if found or looks_secret(value) or (names_secret(name) and not _is_path(value)):
        found |= {value, value.strip()}
    return {part for part in found if is_secret(part)}


def _is_path(value: str) -> bool:
    return _PATH.match(value) is not None and _KEY.search(value) is None


def _hidden_in_url(url: str) -> set[str]:
    """What a URL among the settings hides; a bare user and ordinary parameters are no secrets."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return set()
    found = {
        text
        for name, text in (pair.partition("=")[::2] for pair in parts.query.split("&"))
        if names_secret(name) or looks_secret(text)
    }
    found |= {unquote(text) for text in found}
    if parts.password or looks_secret(parts.username or ""):
        plain = {parts.username, unquote(parts.username or "")} if not looks_secret(parts.username or "") else set()
        found |= set(url_secrets(parts._replace(query=""))) - plain
    return {text for text in found if text}


def header_secrets(value: str) -> Iterable[str]:
    """The strings of a header's value that must never be printed: all of it, and its last word (the token)."""
    return {part for part in (value, value.rpartition(" ")[2]) if is_secret(part)}


def argument_secrets(args: Sequence[str]) -> Iterable[str]:
    """The strings among a program's arguments that must never be printed.

    Those are values of flags and settings that are named like a secret, values of headers, what URLs hide, and long
    words of mixed letters and digits, as keys are.
    """
    found: set[str] = set()
    flag = ""
    for arg in args:
        name, equals, value = arg.partition("=")
        if not equals:
            name, value = flag, "" if arg.startswith("-") else arg
        if names_secret(name) and not _HEADER_FLAG.match(name):
            found |= set() if _is_path(value) else {value}
        elif _HEADER_FLAG.match(name):
            found |= {part.strip() for part in (value.partition(":")[2], value.rpartition(" ")[2])}
        found |= set(_KEY.findall(arg))
        for url in _URL.findall(arg):
            with suppress(ValueError):  # what no reader can take apart, no client logs in with
                found |= set(url_secrets(urlsplit(url)))
        flag = arg if arg.startswith("-") and not equals else ""
    return {value for value in found if is_secret(value)}


def url_fault(url: str) -> tuple[str, str | None] | None:
    """What is wrong with a server's URL, as (what, cure); nothing of the URL but its scheme is repeated."""
    try:
        parts = urlsplit(url)
        port_is_sound = parts.port is None or parts.port > 0
    except ValueError:
        return "is no URL", 'Write "https://host/path".'
    if parts.scheme not in ("http", "https"):
        scheme = f" ({parts.scheme[:20]}:)" if parts.scheme else ""
        return f"is no http or https URL{scheme}", 'Write "https://host/path".'
    if not parts.hostname or not port_is_sound:
        return "names no host or a bad port", 'Write "https://host:port/path".'
    if re.search(r"[\x00-\x20\x7f]", url):
        return "holds a blank or a control character", "Write %20 for a blank."
    return None


def url_secrets(parts: SplitResult) -> Iterable[str]:
    """The strings of a URL that must never be printed: user, password, and the values of its query, in every form."""
    found = {part for part in (parts.username, parts.password) if part}
    if parts.username is not None:
        pair = f"{unquote(parts.username)}:{unquote(parts.password or '')}"
        found |= {pair, base64.b64encode(pair.encode()).decode()}
    found |= {pair.partition("=")[2] for pair in parts.query.split("&")}
    found |= {value for _, value in parse_qsl(parts.query, keep_blank_values=False)}
    found |= {unquote(value) for value in list(found)}
    return {value for value in found if is_secret(value)}
