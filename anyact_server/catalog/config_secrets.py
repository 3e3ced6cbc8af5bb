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


_SECRET_FLAG = re.compile(r"key|token|secret|passw|pwd|auth|credential|bearer|cookie", re.IGNORECASE)
_HEADER_FLAG = re.compile(r"(?:-H|--?headers?)\Z", re.IGNORECASE)
_KEY = re.compile(
    r"(?<![A-Za-z0-9_-])(?=[A-Za-z_-]*[0-9])(?=[0-9_-]*[A-Za-z])[A-Za-z0-9_-]*[A-Za-z0-9]{16,}(?![A-Za-z0-9_-])"
)
_URL = re.compile(r"[a-z][a-z0-9+.-]*://[^\s\[\]'\"]+", re.IGNORECASE)


def is_secret(value: str) -> bool:
    """Whether a value from the environment, an env file, a header or a URL has to be masked."""
    return _ORDINARY_VALUE.match(value) is None


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
        if _SECRET_FLAG.search(name):
            found.add(value)
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
