"""What is fuzzed: for each reader of strange input, how bytes become its input, and what must hold of its answer."""

from __future__ import annotations

import json
import math
import re
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx2
import orjson

from anyact_server.access.rules import parse_rule, permitted
from anyact_server.catalog.config import read_configs
from anyact_server.catalog.config_text import parse
from anyact_server.catalog.edits import drop, put
from anyact_server.catalog.edits_toml import put_table
from anyact_server.catalog.naming import action_id, closest, prepared
from anyact_server.catalog.repair import repair
from anyact_server.catalog.snapshots import digest_of, is_unicode, read_tools
from anyact_server.dispatch.arguments import accept, whole_text
from anyact_server.dispatch.libraries import schemas_library
from anyact_server.dispatch.references import named, resolve
from anyact_server.dispatch.schemas import compiled
from anyact_server.downstream import frames, http_rules
from anyact_server.downstream.stdio import Lines as ServerLines
from anyact_server.errors import ConfigError, DownstreamError, InvalidArguments, UsageError
from anyact_server.gateway import wire
from anyact_server.gateway.guard import Gate, is_loopback
from anyact_server.gateway.guard import host_name as host_of
from anyact_server.gateway.http import bearer
from anyact_server.gateway.reading import objects, read
from anyact_server.gateway.rest_paths import segments_of
from anyact_server.types import Action, Json

from .values import NAMES, Draw

ID = re.compile(r"[a-zA-Z0-9_-]{1,48}")
SECRET = "s3cr3t-0f-the-environment"
ENVIRONMENT = {"TOKEN": SECRET, "HOME": "/nowhere", "EMPTY": ""}
HERE = Gate("127.0.0.1", ["gateway.example"], ["https://app.example"])
SENT = httpx2.URL("https://user:pass@server.example:8443/mcp?key=1#f")
NOW = 1_800_000_000.0


@dataclass(frozen=True, slots=True)
class Target:
    """One reader: its name, a check that raises whatever is wrong, inputs to begin with, and words of its language."""

    name: str
    check: Callable[[bytes], None]
    seeds: tuple[bytes, ...] = (b"", bytes(range(64)), b"\x08\x03\x0b\x04\x01\x0c\x02\x0a\x05\x06\x07" * 8)
    words: tuple[bytes, ...] = ()


def check_frames(data: bytes) -> None:
    """Lines of servers and of clients: what comes out can be sent on, cutting the stream elsewhere changes nothing."""
    reading = frames.read_line(data)
    for frame in reading.frames:
        assert frames.is_frame(frame)
        sent = frames.write(frame)
        assert b"\n" not in sent
        assert len(frames.read_line(sent).frames) == 1
    if reading.noise is not None:
        shown = frames.shorten(reading.noise)
        assert len(shown) <= frames.SHOWN_CHARACTERS and "\n" not in shown
    frames.read_body(data.decode("latin-1"))
    received = wire.parse(data)
    for message in (*received.messages, *received.errors):
        assert orjson.loads(wire.dumps(message))
    cut = data[0] % (len(data) + 1) if data else 0
    whole, parts = wire.Lines(24), wire.Lines(24)
    assert [*whole.feed(data), *whole.end()] == [*parts.feed(data[:cut]), *parts.feed(data[cut:]), *parts.end()]
    once, twice = ServerLines(24), ServerLines(24)
    assert once.feed(data) == [*twice.feed(data[:cut]), *twice.feed(data[cut:])]
    assert once.rest() == twice.rest() and (once.overlong is None) == (twice.overlong is None)


def check_config(data: bytes) -> None:
    """A file: an error with a place in the file, or entries and problems with places; no secret in any of them."""
    text = data.decode("utf-8", "replace")
    lines = text.count("\n") + 1
    with tempfile.TemporaryDirectory(dir=_memory()) as name:
        path = Path(name) / "config.json"
        path.write_bytes(data)
        try:
            found = read_configs([path], ENVIRONMENT)
        except ConfigError as error:
            assert error.origin is not None and 1 <= (error.origin.line or 1) <= max(lines, data.count(b"\n") + 1)
            return
    for problem in found.problems:
        assert SECRET not in str(problem) and 1 <= (problem.origin.line or 1) <= lines, problem
    for spec in found.specs:
        assert spec.fault is None or any(problem.entry == spec.name for problem in found.problems)
    _check_edits(text)


def _check_edits(text: str) -> None:
    """An edit changes what it was to change, and can be taken back."""
    if text.startswith("\ufeff"):
        return
    try:
        before = parse(text, "f").value
        added = put(text, ["mcpServers", "an added one"], {"command": "x", "args": ["\u2028"]})
    except ConfigError:
        return
    assert parse(added, "f").value["mcpServers"]["an added one"]["command"] == "x"
    after = parse(drop(added, ["mcpServers", "an added one"]), "f").value
    before.setdefault("mcpServers", {}).pop("an added one", None)
    assert after == before, (before, after)


def check_toml(data: bytes) -> None:
    """A TOML file that an entry is put into: it holds the entry, or the edit is refused."""
    text = data.decode("utf-8", "replace")
    try:
        changed = put_table(text, ["mcp_servers", "any act"], {"command": "x", "args": ["a"], "env": {"K": "v"}}, "f")
    except ConfigError:
        return
    assert "any act" in changed


def check_schema(data: bytes) -> None:
    """A schema as shown: flat, without loose references, and taking whatever the original takes."""
    draw = Draw(data)
    schema = draw.schema()
    instances = [draw.json() for _ in range(3)] + [{name: draw.json() for name in NAMES[:3]}, {}]
    repaired = repair(schema)
    shown = repaired.shown
    assert shown.get("type") == "object" and not {"anyOf", "oneOf", "allOf", "$ref"} & shown.keys(), shown
    read_tools("s", [{"name": "t", "inputSchema": schema}])
    if repaired.fault is not None:
        return
    for reference in _references(shown):
        assert _leads_somewhere(shown, reference), reference
    assert repair(shown).fault is None
    try:
        original = schemas_library().validator_for(schema)
    except ValueError:  # Not a schema as it stands; arguments are then checked as well as can be.
        return
    wider = compiled(shown)
    assert wider.fault is None, wider.fault
    for instance in instances:
        if isinstance(instance, dict) and _takes(original, instance):
            assert not wider.errors(instance), (instance, shown)


def _takes(validator: Any, instance: Json) -> bool:
    try:
        return bool(validator.is_valid(instance))
    except ValueError:  # Not JSON, which no caller can send.
        return False


def _references(value: Any, inside_map: bool = False) -> list[str]:
    """References of a schema, but not members that are called `$ref` in a map of schemas or in data."""
    if isinstance(value, list):
        return [found for part in value for found in _references(part)]
    if not isinstance(value, dict):
        return []
    own = [value["$ref"]] if not inside_map and isinstance(value.get("$ref"), str) else []
    maps = ("properties", "$defs", "definitions", "patternProperties", "dependentSchemas")
    for word, part in value.items():
        if inside_map or word not in ("enum", "const", "default", "examples", "required", "type"):
            own += _references(part, not inside_map and word in maps)
    return own


def _leads_somewhere(schema: Any, reference: str) -> bool:
    place = schema
    for part in reference.removeprefix("#").split("/")[1:]:
        step = part.replace("~1", "/").replace("~0", "~")
        if isinstance(place, dict) and step in place:
            place = place[step]
        else:
            return False
    return reference.startswith("#")


def check_ids(data: bytes) -> None:
    """Ids are short and clean, the same every time, and another pair's id is another one; near names are found."""
    draw = Draw(data)
    server, name, other = draw.text(), draw.text(), draw.text()
    ident = action_id(server, name)
    assert ID.fullmatch(ident), ident
    assert ident == action_id(server, name)
    assert other == name or action_id(server, other) != ident
    assert (server, name) == (name, server) or action_id(name, server) != ident
    assert set(closest(other, prepared([ident, server, name]))) <= {ident, server, name}
    value = draw.json()
    mixed = dict(reversed(value.items())) if isinstance(value, dict) else value
    assert digest_of(value) == digest_of(mixed)
    try:
        rule = parse_rule(draw.text())
    except ConfigError:
        return
    permitted(Action(ident, server, name), [rule], [])


def check_arguments(data: bytes) -> None:
    """Arguments of actions and of the eight tools: taken as an object that can be sent, or refused as invalid."""
    draw = Draw(data)
    schema, value = draw.schema(), draw.json()
    if draw.below(3) == 0:
        value = json.dumps(value)
    action = Action("s__t", "s", "t", input_schema=schema if isinstance(schema, dict) else {})
    list(named(value))
    try:
        taken = whole_text(accept(action, value, compiled(action.input_schema), lambda given: resolve(given, _lookup)))
    except InvalidArguments as error:
        assert error.message
    else:
        sent = frames.write({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": taken.value})
        assert isinstance(orjson.loads(sent)["params"], dict)
    _check_tools(value)


def _lookup(name: str) -> Json:
    if name == "missing":
        raise InvalidArguments("no such task")
    return {"rows": [{"id": 1}, {"id": 2}], name: None}


def _check_tools(value: Json) -> None:
    asks: tuple[Callable[[Any], object], ...] = (
        lambda one: one.texts("a", "b"),
        lambda one: one.text("name"),
        lambda one: one.choice("type", ("a", "b")),
        lambda one: one.number("id"),
        lambda one: one.whole("x-y", low=1, high=9),
        lambda one: one.flag("ä"),
        lambda one: objects(one, "arguments"),
        lambda one: one.close(),
    )
    for ask in asks:
        try:
            ask(read("tool", value))
        except UsageError as error:
            assert error.message


def check_headers(data: bytes) -> None:
    """Headers of requests and of answers: nothing foreign passes, and every answer has a meaning."""
    fields = data.decode("latin-1").split("\x00")
    first, second, third = [*fields, "", "", ""][:3]
    if HERE.refusal(first, second or None, third or None) is None:
        assert is_loopback(host_of(first)) or host_of(first) == "gateway.example", first
        origin = second.lower().rstrip("/")
        assert not origin or "://" in origin
    bearer(first)
    assert all(isinstance(part, str) for part in segments_of({"raw_path": data, "path": "/"}))
    pause = http_rules.retry_after(first, NOW)
    assert pause is None or (math.isfinite(pause) and pause >= 0)
    headers = {"location": first, "retry-after": second, "www-authenticate": third}
    for status in (200, 302, 307, 400, 401, 403, 404, 429, 500, 503, int.from_bytes(data[:2], "big") % 700 + 100):
        error = http_rules.status_error("s", SENT, status, headers, third, in_session=bool(data), now=NOW)
        assert (error is None) == (200 <= status < 300)
        assert error is None or ("pass" not in error.message.replace(third, "") or "pass" in first)
        target = http_rules.next_url(SENT, "POST", status, first)
        assert target is None or (target.host, target.port) == (SENT.host, SENT.port)
    assert isinstance(http_rules.not_mcp("s", SENT, first, second), DownstreamError)
    assert "authorization" not in http_rules.forwarded({"authorization": first, "x-a": second}, ("x-a", "Host"))
    assert is_unicode(frames.shorten(first))


def _memory() -> str | None:
    return "/dev/shm" if Path("/dev/shm").is_dir() else None


CONFIG = b"""{ // as people write it
  "mcpServers": {
    "a": {"command": "x", "args": ["${TOKEN}", "$${A}", "${env:A}", "${A:-x}"], "env": {"K": "${TOKEN}"}, "cwd": "~"},
    "b": {"type": "streamableHttp", "url": "https://x//y?z=${TOKEN}", "headers": {"authorization": "${NONE}"}},
    "c": "text", /* and */ "d": {"type": "bogus"}, "e": {"timeouts": {"call": "9"}, "command": "a b"},
  },
  "anyact": {"call_s": 9}, "inputs": [{"id": "k", "default": "v"}]
}
"""
ANSWER = b'{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"\\ud83d\xbd"}]}}'
HEADERS: tuple[bytes, ...] = (
    b"127.0.0.1:80\x00http://localhost\x00same-origin",
    b"https://server.example:8443/mcp/\x00120\x00Bearer a",
)
HEADERS += (b"Wed, 21 Oct 2015 07:28:00 GMT", b"//evil/\x00null\x00session not found", b"[::1]:1\x00https://[::1]")

JSON_WORDS: tuple[bytes, ...] = (
    b"{",
    b"}",
    b"[",
    b"]",
    b",",
    b":",
    b'"a"',
    b"null",
    b"1e999",
    b"-0",
    b"\\ud83d",
    b"\n",
    b'"',
    b"\\",
    b"NaN",
)
FRAME_WORDS: tuple[bytes, ...] = (
    b'"jsonrpc":"2.0"',
    b'"id":',
    b'"id":1',
    b'"result":{}',
    b'"error":{}',
    b'"method":"x"',
    b'"params":{}',
)
CONFIG_WORDS: tuple[bytes, ...] = (
    b"//",
    b"/*",
    b"*/",
    b'"mcpServers":',
    b'"servers":',
    b'"command":',
    b'"args":',
    b'"url":',
    b'"env":',
)
CONFIG_WORDS += (
    b'"headers":',
    b'"type":',
    b"${TOKEN}",
    b"${env:A}",
    b"${A:-${B}}",
    b"$${A}",
    b'"anyact":',
    b'"inputs":',
)
CONFIG_WORDS += (b'"timeouts":', b'"cwd":', b'"disabled":', b'"pin":', b'"trust":"network"', b'"envFile":', b"\xff\xfe")
TOML_WORDS: tuple[bytes, ...] = (
    b"[mcp_servers]",
    b'[mcp_servers."any act"]',
    b"[[",
    b"]]",
    b"=",
    b'"""',
    b"'''",
    b"{a = 1}",
    b"#",
    b".",
    b"\n",
)
HEADER_WORDS: tuple[bytes, ...] = (
    b"\x00",
    b"http://",
    b"https://",
    b"localhost",
    b"127.0.0.1",
    b"[::1]",
    b":80",
    b"@",
    b"server.example",
)
HEADER_WORDS += (
    b"gateway.example",
    b"//",
    b"/",
    b"..",
    b"Bearer ",
    b"null",
    b"cross-site",
    b"session",
    b"not found",
    b"%2f",
)
HEADER_WORDS += (b"Thu, 01 Jan 1970 00:00:00 GMT", b"0", b'resource_metadata="', b"\r\n", b" ", b"?", b"#")

TARGETS: Mapping[str, Target] = {
    target.name: target
    for target in (
        Target(
            "frames",
            check_frames,
            (ANSWER, b"DEBUG " + ANSWER[:30] + ANSWER, b"[" + ANSWER + b",7]", b"\xef\xbb\xbf"),
            JSON_WORDS + FRAME_WORDS,
        ),
        Target(
            "config",
            check_config,
            (CONFIG, b'{"servers": {"a": {"url": "http://x"}}}', b"{}", CONFIG[:90]),
            JSON_WORDS + CONFIG_WORDS,
        ),
        Target(
            "toml",
            check_toml,
            (b'model = "x"\n[mcp_servers.a]\ncommand = "y"\n', b'[mcp_servers."any act"]\na = 1\n'),
            TOML_WORDS,
        ),
        Target("schema", check_schema),
        Target("ids", check_ids),
        Target("arguments", check_arguments),
        Target("headers", check_headers, HEADERS, HEADER_WORDS),
    )
}
