"""Which strings of an entry must never be printed, and what is wrong with a URL without repeating it. Pure."""

from __future__ import annotations

import base64
import re
from collections.abc import Iterable
from urllib.parse import SplitResult, parse_qsl, unquote, urlsplit

_ORDINARY_VALUE = re.compile(
    r"(?:true|false|yes|no|on|off|none|null|auto|debug|info|warn|warning|error|production|development|test|utf-?8"
    r"|[0-9.:]{1,5}|.{0,3})\Z",
    re.IGNORECASE,
)
"""Values that stand everywhere: masking them would blot out half of every message and hide nothing."""


def is_secret(value: str) -> bool:
    """Whether a value from the environment, an env file, a header or a URL has to be masked."""
    return _ORDINARY_VALUE.match(value) is None


def header_secrets(value: str) -> Iterable[str]:
    """The strings of a header's value that must never be printed: all of it, and its last word (the token)."""
    return {part for part in (value, value.rpartition(" ")[2]) if is_secret(part)}


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
