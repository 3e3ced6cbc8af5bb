"""Variables in configuration texts.

    ${NAME} ${env:NAME}        the environment variable; not set: the server cannot be used
    ${NAME:-text}              the same, or `text` when it is not set or empty; `text` may hold variables
    ${input:ID}                an answer that the user gave (VS Code's `inputs`)
    ${userHome} ${workspaceFolder} ${workspaceFolderBasename} ${pathSeparator} ${/}
    $${                        a literal `${`

A lone `$`, `$NAME` and anything else stay as they are. Values that come from outside are never expanded again.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from anyact_server.types import EMPTY

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")
_SCHEMED = re.compile(r"([A-Za-z][A-Za-z0-9]*):(?!-)(.*)\Z", re.DOTALL)
_INPUT_KEY = re.compile(r"[^A-Za-z0-9]+")
_ENV_NAME = re.compile(r"[ \t]*(?:export[ \t]+)?([A-Za-z_][\w.-]*)[ \t]*=[ \t]*")
_ENV_QUOTED = re.compile(r"""(?:"(?:[^"\\]|\\.)*"|'[^']*'|`[^`]*`)(?=[ \t]*(?:\#.*)?$)""", re.DOTALL | re.MULTILINE)
_ENV_BARE = re.compile(r"[^\n]+")
_ENV_NOTHING = re.compile(r"[ \t\r\ufeff]*(?:#[^\n]*)?(?:\n|\Z)")
_ENV_ESCAPE = re.compile(r"\\([nrt\"\\])")
ORDINARY = frozenset(
    (
        "HOME",
        "USER",
        "USERNAME",
        "LOGNAME",
        "PATH",
        "PWD",
        "OLDPWD",
        "SHELL",
        "LANG",
        "LANGUAGE",
        "TERM",
        "TMPDIR",
        "TEMP",
        "TMP",
        "HOSTNAME",
        "USERPROFILE",
        "APPDATA",
        "LOCALAPPDATA",
        "PROGRAMFILES",
        "SYSTEMROOT",
        "XDG_DATA_HOME",
        "XDG_CONFIG_HOME",
        "XDG_CACHE_HOME",
        "DISPLAY",
    )
)
"""Environment variables whose values are no secrets: masking them would blot out half of every message."""


@dataclass(frozen=True, slots=True)
class Scope:
    """Where values come from: the environment, answers to inputs, and the folders that have names."""

    environment: Mapping[str, str] = field(default_factory=lambda: EMPTY)
    inputs: Mapping[str, str] = field(default_factory=lambda: EMPTY)
    home: str = ""
    workspace: str = ""


@dataclass(frozen=True, slots=True)
class Expansion:
    """A text with its variables replaced.

    Attributes:
        text: the result; without meaning when something is missing.
        secrets: the values that came from the environment and from inputs.
        sources: the names of those variables and inputs, in the same order.
        missing: one sentence per variable that has no value.
        odd: placeholders of a form that is not known; they stayed as they were.
    """

    text: str
    secrets: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    odd: tuple[str, ...] = ()
    sources: tuple[str, ...] = ()


def expand(text: str, scope: Scope) -> Expansion:
    """Replace the variables of one text."""
    if "${" not in text:
        return Expansion(text)
    reading = _Reading(scope)
    result = reading.expand(text)
    return Expansion(result, tuple(reading.secrets), tuple(reading.missing), tuple(reading.odd), tuple(reading.sources))


def input_variable(identity: str) -> str:
    """The environment variable that answers an input: `ANYACT_INPUT_` and its id in capitals."""
    return "ANYACT_INPUT_" + _INPUT_KEY.sub("_", identity).strip("_").upper()


class _Reading:
    """One text being expanded, and what was found on the way."""

    def __init__(self, scope: Scope) -> None:
        self._scope = scope
        self.secrets: list[str] = []
        self.sources: list[str] = []
        self.missing: list[str] = []
        self.odd: list[str] = []

    def expand(self, text: str) -> str:
        parts: list[str] = []
        at = 0
        while (start := text.find("${", at)) >= 0:
            if start > at and text[start - 1] == "$":
                parts.append(text[at : start - 1] + "${")
                at = start + 2
                continue
            end = _closing(text, start)
            if end < 0:
                self.odd.append(text[start : start + 40])
                break
            parts.append(text[at:start])
            parts.append(self._value(text[start + 2 : end], text[start : end + 1]))
            at = end + 1
        parts.append(text[at:])
        return "".join(parts)

    def _value(self, inside: str, whole: str) -> str:
        folder = self._folder(inside)
        if folder is not None:
            return folder
        name, dash, default = inside.partition(":-")
        schemed = _SCHEMED.match(name)
        scheme, key = (schemed[1], schemed[2]) if schemed else ("env", name)
        if scheme == "input" and key:
            return self._input(key, default if dash else None)
        if scheme == "env" and _NAME.match(key):
            return self._variable(key, default if dash else None)
        if schemed and scheme in ("command", "config", "env", "input"):
            self.missing.append(f"{whole[:80]} is a form of variable that only its editor can fill")
            return ""
        self.odd.append(whole[:80])
        return whole

    def _folder(self, inside: str) -> str | None:
        known: dict[str, Callable[[], str]] = {
            "userHome": lambda: self._scope.home,
            "workspaceFolder": lambda: self._scope.workspace,
            "workspaceRoot": lambda: self._scope.workspace,
            "workspaceFolderBasename": lambda: os.path.basename(self._scope.workspace),
            "pathSeparator": lambda: os.sep,
            "/": lambda: os.sep,
        }
        return known[inside]() if inside in known else None

    def _variable(self, name: str, default: str | None) -> str:
        value = self._scope.environment.get(name)
        if default is not None and not value:
            return self.expand(default)
        if value is None:
            self.missing.append(f"the environment variable {name} is not set")
            return ""
        if name.upper() not in ORDINARY:
            self.secrets.append(value)
            self.sources.append(name)
        return value

    def _input(self, identity: str, default: str | None) -> str:
        variable = input_variable(identity)
        value = self._scope.inputs.get(identity, self._scope.environment.get(variable))
        if default is not None and not value:
            return self.expand(default)
        if value is None:
            self.missing.append(f"the input {identity!r} has no answer (set the environment variable {variable})")
            return ""
        self.secrets.append(value)
        self.sources.append(identity)
        return value


def _closing(text: str, start: int) -> int:
    """Where the placeholder that opens at `start` ends, minding those inside its default; -1 where it does not."""
    depth = 0
    at = start
    while at < len(text):
        if text.startswith("${", at):
            depth += 1
            at += 2
            continue
        if text[at] == "}":
            depth -= 1
            if depth == 0:
                return at
        at += 1
    return -1


def parse_env_file(text: str) -> tuple[dict[str, str], tuple[int, ...]]:
    """Read `NAME=VALUE` lines as dotenv files have them.

    Quotes around a value go, and may hold several lines; `\\n` in double quotes is a line break, `#` begins a comment.
    Nothing is expanded.

    Returns:
        the values, and the numbers of the lines that are neither empty, a comment nor an assignment.
    """
    found: dict[str, str] = {}
    bad: list[int] = []
    text = text.replace("\r\n", "\n")
    at = 0
    while at < len(text):
        match = _ENV_NAME.match(text, at)
        end = text.find("\n", at) if match is None else match.end()
        if match is not None:
            value = _ENV_QUOTED.match(text, end) or _ENV_BARE.match(text, end)
            found[match[1]] = _env_value(value[0]) if value else ""
            end = text.find("\n", value.end() if value else end)
        elif not _ENV_NOTHING.match(text, at):
            bad.append(text.count("\n", 0, at) + 1)
        at = len(text) if end < 0 else end + 1
    return found, tuple(bad)


def _env_value(raw: str) -> str:
    quote = raw[:1]
    if quote not in ('"', "'", "`") or len(raw) < 2 or not raw.endswith(quote):
        return re.split(r"\s+#", raw, maxsplit=1)[0].strip()
    if quote != '"':
        return raw[1:-1]
    return _ENV_ESCAPE.sub(lambda match: {"n": "\n", "r": "\r", "t": "\t"}.get(match[1], match[1]), raw[1:-1])
