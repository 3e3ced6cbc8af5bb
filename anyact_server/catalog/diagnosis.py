"""What is wrong with a server, and the cure: a pure reading of its entry and of how reading it ended."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from anyact_server.errors import AnyActError, DownstreamError, NeedsLogin, RemoteError
from anyact_server.types import Action, Kind, ServerSpec, Snapshot

Health = Literal["ok", "warning", "broken", "off"]
SLOW_S = 20.0

MISSING_SETTING = re.compile(
    r"\b([A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+)\b[^\n]{0,60}\b(?:required|missing|not set|undefined|must be set|is not defined)"
    r"|\b(?:missing|requires?|set|provide)\b[^\n]{0,40}\b([A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+)\b"
)
"""A program's last words that name an environment variable that it wants."""

CURES: tuple[tuple[re.Pattern[str], str], ...] = (
    (
        re.compile(r"cannot import name|ModuleNotFoundError|ImportError|No module named", re.IGNORECASE),
        "The program does not fit its libraries: pin what it needs, for example `uvx --with 'mcp<2' ...`.",
    ),
    (
        re.compile(r"EADDRINUSE|address already in use", re.IGNORECASE),
        "Something else uses its port: stop the other process, or give it another port.",
    ),
    (
        re.compile(r"EACCES|Permission denied", re.IGNORECASE),
        "It may not read or run a file: check the rights of its folder and program.",
    ),
    (
        re.compile(r"certificate|CERTIFICATE_VERIFY_FAILED|self.signed", re.IGNORECASE),
        "Its certificate is not trusted here: name the authority's file as `ca_file` in its entry.",
    ),
    (
        re.compile(r"ETARGET|E404|No matching version|No matching distribution|404 Not Found - GET", re.IGNORECASE),
        "The package or its version does not exist: check the name in its entry.",
    ),
    (
        re.compile(r"Unsupported engine|requires Node|SyntaxError: Unexpected|requires-python|Requires-Python"),
        "It needs a newer Node or Python than the one that is found first on PATH.",
    ),
    (
        re.compile(r"Name or service not known|name resolution|getaddrinfo|ENOTFOUND|does not resolve", re.IGNORECASE),
        "Its host name does not resolve: check the address, and the network.",
    ),
)
"""Causes that stand in a program's last words, with their cures; the first that fits is told."""


@dataclass(frozen=True, slots=True)
class Finding:
    """What `anyact doctor` says of one server: its health, what was seen, and what to do."""

    server: str
    health: Health
    message: str
    cure: str | None = None
    details: tuple[str, ...] = ()


def of_entry(spec: ServerSpec) -> Finding | None:
    """What the entry alone tells; None when the server has to be tried."""
    if spec.fault is not None:
        return Finding(spec.name, "broken", spec.fault, f"Mend its entry ({spec.origin})." if spec.origin else None)
    if spec.disabled:
        return Finding(spec.name, "off", "disabled in its entry", "Remove `disabled` to use it.")
    return None


def of_error(spec: ServerSpec, error: AnyActError) -> Finding:
    """Why a server could not be read."""
    message = error.message.removeprefix(f"server {spec.name!r}: ")
    return Finding(spec.name, "broken", message, _cure(spec, error))


def of_snapshot(spec: ServerSpec, snapshot: Snapshot, actions: Sequence[Action], seconds: float) -> Finding:
    """What a server that answers leaves to wish for."""
    details = [f"{kind} could not be read whole: {why}" for kind, why in snapshot.partial.items()]
    details += [f"{action.name}: {action.fault}" for action in actions if action.fault]
    details += [f"{action.id} changed since it was accepted" for action in actions if action.state == "changed"]
    if not spec.verify_tls:
        details.append("its certificate is not checked (verify_tls is off)")
    if seconds > SLOW_S:
        details.append(f"it took {seconds:.0f} s to start; its start limit is {spec.limits.start_s:.0f} s")
    known = {action.name for action in actions}
    details += [f"pinned action {name!r} does not exist" for name in spec.pin if name not in known]
    offered = {str(tool.get("name")) for tool in snapshot.tools}
    details += [f"disabled action {name!r} does not exist" for name in spec.disabled_actions if name not in offered]
    count = f"{len(actions)} actions, protocol {snapshot.protocol_version or 'unknown'}"
    if not snapshot.tools and not snapshot.prompts and not snapshot.resources:
        return Finding(
            spec.name, "warning", "it offers nothing", "Check its configuration or its login.", tuple(details)
        )
    return Finding(spec.name, "warning" if details else "ok", count, None, tuple(details))


def _cure(spec: ServerSpec, error: AnyActError) -> str | None:
    if error.hint:
        return error.hint
    if isinstance(error, NeedsLogin) or error.kind in (Kind.AUTH, Kind.PERMISSION):
        return f"Log in to it, or put a token into `{'headers' if spec.url else 'env'}` of its entry."
    wanted = MISSING_SETTING.search(error.message)
    if wanted and spec.command:
        return f"Set {wanted.group(1) or wanted.group(2)} in `env` of its entry."
    for pattern, cure in CURES:
        if pattern.search(error.message):
            return cure
    if isinstance(error, RemoteError):
        return "The server itself refuses: see its own documentation and log."
    return _by_kind(spec, error) if isinstance(error, DownstreamError) else None


def _by_kind(spec: ServerSpec, error: DownstreamError) -> str:
    if error.kind is Kind.TIMEOUT:
        return f"Raise its start limit (now {spec.limits.start_s:.0f} s) if it installs something at first start."
    if error.kind is Kind.PROTOCOL:
        return "What answers is no MCP server: check the address or the command, and its arguments."
    if error.kind is Kind.RATE_LIMITED:
        return "It asks to be left alone for a while; it is tried again by itself."
    if spec.url:
        return f"Check that it runs and that {spec.transport} is its transport."
    return "Run its command in a terminal: what it prints there is the cause."
