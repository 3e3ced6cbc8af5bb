"""One entry of a configuration file as a server's spec. Pure: the environment and env files come in as values."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, cast
from urllib.parse import urlsplit

from anyact_server.types import Era, Json, JsonObject, Limits, Origin, Override, ServerSpec, Transport, Trust

from . import dialects
from .config_secrets import argument_secrets, header_secrets, is_secret, setting_secrets, url_fault, url_secrets
from .naming import closest, prepared
from .variables import Scope, expand

Severity = Literal["error", "warning"]

_KNOWN_FIELDS = prepared(dialects.FIELDS)
_HEADER_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+\Z")
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")
_CONTROL_NAMES = {"\t": ("a tab", "\\t"), "\n": ("a line break", "\\n"), "\r": ("a carriage return", "\\r")}
_CONTROL_NAMES |= {"\b": ("a backspace", "\\b"), "\f": ("a form feed", "\\f")}


@dataclass(frozen=True, slots=True)
class Problem:
    """Something wrong with a configuration: what, where, in which entry, and how to mend it.

    An `error` keeps the entry (or the part that is named) from being used; a `warning` does not.
    """

    message: str
    origin: Origin
    entry: str | None = None
    hint: str | None = None
    severity: Severity = "error"

    def __str__(self) -> str:
        where = f"{self.origin}: " + (f"server {self.entry!r}: " if self.entry is not None else "")
        return f"{where}{self.message}" + (f" ({self.hint})" if self.hint else "")


@dataclass(frozen=True, slots=True)
class Place:
    """Where an entry stands: its name, its file, and the line of the entry and of its parts."""

    name: str
    file: str
    line: Callable[..., int]
    scope: Scope
    read_env_file: Callable[[str], Mapping[str, str] | str]
    """Gives the values of an env file, or the reason why there are none."""


def read_entry(body: Json, place: Place, defaults: Limits) -> tuple[ServerSpec, list[Problem]]:
    """Read one entry.

    A faulty entry becomes a spec with a `fault`, so that it can be listed with its reason.
    """
    reading = _Reading(place)
    if not isinstance(body, dict):
        kind = {str: "a text", list: "a list", type(None): "null", bool: "a truth value"}.get(type(body), "a number")
        reading.fault(f"the entry is {kind}, not an object", 'Write {"command": ...} or {"url": ...}.')
        spec = ServerSpec(place.name, "stdio", limits=defaults)
    else:
        spec = reading.spec(body, defaults)
    spec = replace(spec, origin=Origin(place.file, place.line()), fault=reading.summary())
    return spec, reading.problems


class _Reading:
    """Reads the fields of one entry and collects what is wrong with them."""

    def __init__(self, place: Place) -> None:
        self.problems: list[Problem] = []
        self._place = place
        self._faults: list[str] = []
        self._secrets: set[str] = set()
        self._written: dict[str, tuple[str, ...]] = {}

    # --- what is wrong

    def _say(self, severity: Severity, message: str, hint: str | None, route: Sequence[str | int]) -> None:
        origin = Origin(self._place.file, self._place.line(*route))
        self.problems.append(Problem(message, origin, self._place.name, hint, severity))

    def fault(self, message: str, hint: str | None = None, *, field: str = "") -> None:
        """Note something that keeps the server from being used."""
        self._faults.append(f"{message} ({hint.rstrip('.')})" if hint else message)
        self._say("error", message, hint, self._written.get(field, ()))

    def warn(self, message: str, hint: str | None = None, *, field: str = "") -> None:
        """Note something that is odd, or that costs a field that is not vital."""
        self._say("warning", message, hint, self._written.get(field, ()))

    def _reject(self, field: str, message: str, hint: str | None = None) -> None:
        if field in dialects.VITAL:
            self.fault(message, hint, field=field)
        else:
            self.warn(f"{message}; it is left out", hint, field=field)

    def summary(self) -> str | None:
        """Everything that keeps the server from being used, in one line."""
        return "; ".join(dict.fromkeys(self._faults)) or None

    # --- fields

    def spec(self, body: JsonObject, defaults: Limits) -> ServerSpec:
        fields = self._shaped(self._collected(body, ()))
        transport = self._transport(fields)
        command, args = self._command(fields) if transport == "stdio" else (None, ())
        if transport == "stdio" and ("url" in fields or "http_url" in fields):
            self.warn("both a command and a URL are given; the command is used", "Remove one of them.", field="url")
        env = self._env(fields) if transport == "stdio" else {}
        url = self._url(fields) if transport != "stdio" else None
        headers = self._headers(fields) if transport != "stdio" else {}
        return ServerSpec(
            name=self._place.name,
            transport=transport,
            command=command,
            args=args,
            env=env,
            cwd=self._folder("cwd", fields),
            url=url,
            headers=headers,
            title=fields.get("title"),
            description=fields.get("description"),
            tags=fields.get("tags", ()),
            serial=fields.get("serial", False),
            per_client=fields.get("per_client", False),
            disabled=fields.get("disabled", False) or not fields.get("enabled", True),
            pin=self._pin(fields),
            disabled_actions=switched_off(fields.get("only"), fields.get("disabled_actions", ())),
            overrides=self._overrides(fields),
            limits=self._limits(fields, defaults),
            trust=cast(Trust, self._choice("trust", fields, ("local", "network"))),
            era=cast(Era, self._choice("era", fields, ("auto", "legacy", "modern"))),
            forward_headers=tuple(name.lower() for name in fields.get("forward_headers", ())),
            ca_file=self._folder("ca_file", fields),
            verify_tls=fields.get("verify_tls", True),
            secrets=frozenset(self._secrets),
        )

    def _collected(self, body: JsonObject, route: tuple[str, ...]) -> dict[str, Json]:
        """The entry's fields under their names here; those under its own `anyact` object win."""
        found: dict[str, Json] = {}
        inner: dict[str, Json] = {}
        for key, value in body.items():
            word = dialects.comparable(key)
            field = dialects.FIELDS.get(word)
            if field is None:
                self._unknown(key, word, route)
            elif field == "anyact" and isinstance(value, dict) and not route:
                inner = self._collected(value, (key,))
            elif field == "anyact":
                self.warn("`anyact` must be an object; it is left out")
            elif value is not None or field in ("args", "env", "headers"):
                found[field] = value
                self._written[field] = (*route, key)
        return found | inner

    def _unknown(self, key: str, word: str, route: tuple[str, ...]) -> None:
        if dialects.is_remark(key) or word in dialects.FOREIGN:
            return
        near = closest(word, _KNOWN_FIELDS, limit=1)
        self._written[""] = (*route, key)
        self.warn(f"the field {key[:60]!r} is not known", f"Is {near[0]!r} meant?" if near else None)
        del self._written[""]

    def _shaped(self, raw: dict[str, Json]) -> dict[str, Any]:
        """The fields that have the shape they must have; the others are noted."""
        if "command" in raw:
            command, first, env = dialects.unwrapped_command(raw["command"])
            raw["command"] = command
            if first:
                rest = raw.get("args") or []
                raw["args"] = [*first, *rest] if isinstance(rest, list) else rest
            if isinstance(env, dict) and "env" not in raw:
                raw["env"] = env
        found: dict[str, Any] = {}
        for field, value in raw.items():
            shape = dialects.SHAPES[field]
            value = self._as(shape, field, value)
            if value is not None:
                found[field] = value
        return found

    def _as(self, shape: dialects.Shape, field: str, value: Json) -> Any:
        key = self._key(field)
        if shape == "any":
            return value
        if shape == "truth":
            return self._truth(field, value)
        if shape == "seconds":
            return self._seconds(field, key, value)
        if shape == "text":
            text = as_text(value)
            if text is None:
                self._reject(field, f"{key} must be a text", f'Write "{key}": "...".')
            return text
        if shape == "texts":
            return self._texts(field, value)
        return self._map(field, value)

    def _key(self, field: str) -> str:
        written = self._written.get(field)
        return str(written[-1]) if written else field

    def _truth(self, field: str, value: Json) -> bool | None:
        words = {"true": True, "false": False}
        known = value if isinstance(value, bool) else words.get(value.lower()) if isinstance(value, str) else None
        if known is None:
            self._reject(field, f"{self._key(field)} must be true or false")
        return known

    def _seconds(self, field: str, key: str, value: Json) -> float | None:
        try:
            seconds = float(value) if isinstance(value, int | float | str) and not isinstance(value, bool) else -1.0
        except (ValueError, OverflowError):
            seconds = -1.0
        if not 0 < seconds < 1e9:
            self._reject(field, f"{key} must be a positive number of seconds")
            return None
        return seconds

    def _texts(self, field: str, value: Json) -> tuple[str, ...] | None:
        key = self._key(field)
        if value is None:
            return ()
        if isinstance(value, str) and field != "args":
            return (value,)
        if not isinstance(value, list):
            self._reject(field, f"{key} must be a list", f'Write "{key}": ["first", "second"]; nothing is split.')
            return None
        texts = [as_text(item) for item in value]
        if None in texts:
            self._reject(field, f"{key}[{texts.index(None)}] must be a text")
            return None
        return tuple(text for text in texts if text is not None)

    def _map(self, field: str, value: Json) -> dict[str, str] | None:
        key = self._key(field)
        if value is None:
            return {}
        if not isinstance(value, dict):
            self._reject(field, f"{key} must be an object", f'Write "{key}": {{"NAME": "value"}}.')
            return None
        found: dict[str, str] = {}
        for name, item in value.items():
            text = as_text(item)
            if item is None:
                self.warn(f"{key}.{name} is null; it is left out", field=field)
            elif text is None:
                self._reject(field, f"{key}.{name} must be a text")
            else:
                found[name] = text
        return found

    # --- texts with variables

    def _expand(self, field: str, text: str, *, secret: bool = True, setting: bool = False) -> str:
        """The text with its variables replaced: their values are secrets, those of a `setting` if they look so."""
        result = expand(text, self._place.scope)
        for missing in dict.fromkeys(result.missing):
            hint = "Set it, or write ${NAME:-default}." if "environment variable" in missing else None
            self.fault(f"{missing}, which {self._key(field)} needs", hint, field=field)
        for odd in result.odd:
            self.warn(
                f"{odd!r} in {self._key(field)} is no known variable and stays as it is",
                "Known: ${NAME}, ${env:NAME}, ${NAME:-default}, ${input:id}; $${ is a literal ${.",
                field=field,
            )
        if setting:
            for name, value in zip(result.sources, result.secrets, strict=True):
                self._secrets.update(setting_secrets(name, value))
        elif secret:
            self._secrets.update(value for value in result.secrets if is_secret(value))
        return result.text

    def _check_control(self, field: str, text: str, what: str) -> None:
        found = _CONTROL.search(text)
        if found is None:
            return
        if found[0] == "\0":
            self.fault(f"{what} holds a NUL character, which no program can be given", field=field)
            return
        name, escape = _CONTROL_NAMES.get(found[0], (f"the control character {ord(found[0])}", ""))
        hint = f"In JSON {escape} means {name}; for a backslash write two: \\{escape}." if escape else None
        self.warn(f"{what} holds {name}", hint, field=field)

    def _transport(self, fields: JsonObject) -> Transport:
        inferred = dialects.inferred_transport(fields)
        word = fields.get("transport")
        known = dialects.transport_of(word) if word is not None else inferred
        if word is not None and known is None:
            self.fault(f"unknown transport {word[:40]!r}", f"Allowed: {dialects.SPELLINGS}.", field="transport")
        elif known is None:
            self.fault("neither command nor url is given", 'Write "command": "..." or "url": "https://...".')
        elif known == "stdio" and "command" not in fields:
            self.fault("the transport is stdio, but no command is given", 'Write "command": "...".')
        elif known != "stdio" and "url" not in fields and "http_url" not in fields:
            self.fault(f"the transport is {known}, but no url is given", 'Write "url": "https://...".')
        return known or inferred or "stdio"

    def _command(self, fields: JsonObject) -> tuple[str | None, tuple[str, ...]]:
        args = tuple(self._expand("args", item, setting=True) for item in fields.get("args", ()))
        for position, item in enumerate(args):
            self._check_control("args", item, f"{self._key('args')}[{position}]")
        self._secrets.update(argument_secrets(args))
        raw = fields.get("command")
        if raw is None:
            return None, args
        if not isinstance(raw, str) or not raw.strip():
            self.fault("command must be a text that is not empty", 'Write "command": "npx".', field="command")
            return None, args
        command = self._home(self._expand("command", raw, secret=False))
        self._check_control("command", command, "command")
        if " " in command.strip() and "/" not in command and "\\" not in command and not args:
            self.warn(
                "command holds blanks and is taken as the name of one program",
                'Put the arguments into a list: "args": ["first", "second"].',
                field="command",
            )
        return command, args

    def _home(self, path: str) -> str:
        if path == "~" or path.startswith(("~/", "~\\")):
            return self._place.scope.home + path[1:]
        return path

    def _folder(self, field: str, fields: JsonObject) -> str | None:
        if field not in fields:
            return None
        path = self._home(self._expand(field, fields[field], secret=False))
        self._check_control(field, path, self._key(field))
        return os.path.normpath(os.path.join(self._place.scope.workspace, path)) if path else None

    def _env(self, fields: JsonObject) -> dict[str, str]:
        found: dict[str, str] = {}
        path = self._folder("env_file", fields)
        if path is not None:
            values = self._place.read_env_file(path)
            if isinstance(values, str):
                self.fault(values, field="env_file")
            else:
                found.update(values)
        for name, text in fields.get("env", {}).items():
            found[name] = self._expand("env", text, setting=True)
        for name, value in found.items():
            if not name or "=" in name or "\0" in name or "\0" in value:
                self.fault(f"env.{name[:60]} cannot be handed to a program", field="env")
            self._secrets.update(setting_secrets(name, value))
        return found

    def _headers(self, fields: JsonObject) -> dict[str, str]:
        found = {
            name: self._expand("headers", text).strip(" \t\r\n") for name, text in fields.get("headers", {}).items()
        }
        auth = fields.get("auth")
        if isinstance(auth, str) and auth.lower() != "oauth":
            token = self._expand("auth", auth)
            if "authorization" not in (name.lower() for name in found):
                found["Authorization"] = token if " " in token else f"Bearer {token}"
        elif auth is not None and not isinstance(auth, str):
            self.warn("auth of this form is not understood; it is left out", "Give the token in headers.", field="auth")
        for name, value in found.items():
            if not _HEADER_NAME.match(name):
                self.fault(f"{name[:60]!r} is no name of a header", field="headers")
            if _CONTROL.search(value.replace("\t", "")):
                self.fault(f"headers.{name[:60]} holds a line break or control character", field="headers")
            self._secrets.update(header_secrets(value))
        return found

    def _url(self, fields: JsonObject) -> str | None:
        field = "http_url" if "http_url" in fields else "url"
        if field not in fields:
            return None
        before = len(self._faults)
        url = self._expand(field, fields[field], setting=True).strip()
        if len(self._faults) > before:
            return None
        wrong = url_fault(url)
        if wrong is not None:
            self.fault(f"{self._key(field)} {wrong[0]}", wrong[1], field=field)
            return None
        self._secrets.update(url_secrets(urlsplit(url)))
        return url

    # --- our own fields

    def _pin(self, fields: JsonObject) -> tuple[str, ...]:
        value = fields.get("pin")
        if isinstance(value, bool):
            return ("*",) if value else ()
        return self._texts("pin", value) or ()

    def _choice(self, field: str, fields: JsonObject, allowed: tuple[str, ...]) -> str:
        value = fields.get(field, allowed[0])
        if isinstance(value, bool):
            return allowed[0]  # Gemini's `trust` says whether its client asks before calls: no matter of reaching it.
        if value not in allowed:
            self.fault(f"{self._key(field)} must be one of {', '.join(allowed)}", field=field)
            return allowed[-1] if field == "trust" else allowed[0]
        return str(value)

    def _limits(self, fields: JsonObject, defaults: Limits) -> Limits:
        found: dict[str, float] = {}
        timeout = fields.get("timeout")
        if timeout is not None:
            found["call_s"] = timeout / 1000.0 if timeout > dialects.LONGEST_SECONDS else timeout
        given = fields.get("timeouts", {})
        if not isinstance(given, dict):
            self._reject("timeouts", "timeouts must be an object", 'Write "timeouts": {"call": 120}.')
            given = {}
        for key, value in given.items():
            name = dialects.TIMEOUTS.get(key.removesuffix("_s"))
            if name is None:
                self.warn(f"timeouts.{key} is not known", f"Known: {', '.join(dialects.TIMEOUTS)}.", field="timeouts")
            elif (seconds := self._seconds("timeouts", f"timeouts.{key}", value)) is not None:
                found[name] = seconds
        if found.get("call_s", 0.0) > defaults.ceiling_s and "ceiling_s" not in found:
            found["ceiling_s"] = found["call_s"]
        return replace(defaults, **found)

    def _overrides(self, fields: JsonObject) -> dict[str, Override]:
        given = fields.get("overrides", {})
        if not isinstance(given, dict):
            self._reject("overrides", "overrides must be an object", 'Write "overrides": {"tool": {"name": "..."}}.')
            return {}
        found: dict[str, Override] = {}
        for name, body in given.items():
            if not isinstance(body, dict):
                self._reject("overrides", f"overrides.{name} must be an object")
                continue
            found[name] = self._override(name, body)
        return found

    def _override(self, name: str, body: JsonObject) -> Override:
        values: dict[str, Any] = {}
        for key, value in body.items():
            where = f"overrides.{name}.{key}"
            if key in ("name", "title", "description"):
                text = as_text(value)
                if text is None:
                    self._reject("overrides", f"{where} must be a text")
                else:
                    values["description" if key == "description" else "name"] = text
            elif key in ("timeout", "call_s", "call"):
                values["call_s"] = self._seconds("overrides", where, value)
            else:
                self.warn(f"{where} is not known", "Known: name, description, timeout.", field="overrides")
        return Override(**values)


def as_text(value: Json) -> str | None:
    """A text, or a number or truth value as JSON writes it; None for anything else."""
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return str(value)
    return None


def switched_off(only: Sequence[str] | None, off: Sequence[str]) -> tuple[str, ...]:
    """Patterns of actions that are switched off; one that begins with `!` switches on again, the last match decides."""
    return (*(("*", *(f"!{name}" for name in only)) if only is not None else ()), *off)
