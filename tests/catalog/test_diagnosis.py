"""What is wrong with a server, and the cure: from its entry, its error, or what it offers."""

from __future__ import annotations

from dataclasses import replace

import pytest

from anyact_server.catalog import of_entry, of_error, of_snapshot
from anyact_server.errors import AnyActError, DownstreamError, NeedsLogin, RemoteError, UnknownServer
from anyact_server.types import Action, Kind, Origin, ServerSpec, Snapshot

STDIO = ServerSpec("s", "stdio", command="x")
HTTP = ServerSpec("s", "http", url="https://example.com/mcp")
SEEN = Snapshot("s", tools=({"name": "a"},), protocol_version="2025-06-18")
A = Action("s__a", "s", "a")


def down(message: str, kind: Kind = Kind.CRASHED) -> DownstreamError:
    """A server that gave no answer."""
    return DownstreamError(message, server="s", kind=kind)


def test_an_entry_may_tell_enough() -> None:
    """A fault, or that it is off; else the server has to be tried."""
    assert of_entry(STDIO) is None
    broken = of_entry(replace(STDIO, fault="no command", origin=Origin("f.json", 3)))
    assert broken is not None
    assert (broken.health, broken.message) == ("broken", "no command")
    assert "f.json:3" in str(broken.cure)
    nowhere = of_entry(replace(STDIO, fault="no command"))
    assert nowhere is not None
    assert nowhere.cure is None
    off = of_entry(replace(STDIO, disabled=True))
    assert off is not None
    assert off.health == "off"


@pytest.mark.case("P3")
@pytest.mark.parametrize(
    ("spec", "error", "cure"),
    [
        (STDIO, DownstreamError("m", server="s", kind=Kind.CRASHED, hint="do this"), "do this"),
        (HTTP, NeedsLogin("m", server="s"), "headers"),
        (STDIO, down("m", Kind.PERMISSION), "env"),
        (STDIO, down("GITHUB_TOKEN is not set"), "GITHUB_TOKEN"),
        (STDIO, down("please provide API_KEY"), "API_KEY"),
        (STDIO, down("ModuleNotFoundError: No module named 'x'"), "mcp<2"),
        (STDIO, down("listen EADDRINUSE"), "port"),
        (STDIO, down("EACCES: open"), "rights"),
        (HTTP, down("CERTIFICATE_VERIFY_FAILED"), "ca_file"),
        (STDIO, down("npm error code ETARGET"), "package"),
        (STDIO, down("Unsupported engine"), "newer"),
        (HTTP, down("getaddrinfo ENOTFOUND x"), "address"),
        (STDIO, RemoteError(-32603, "boom", server="s"), "own documentation"),
        (STDIO, down("m", Kind.TIMEOUT), "start limit (now 60 s)"),
        (HTTP, down("m", Kind.PROTOCOL), "no MCP server"),
        (HTTP, down("m", Kind.RATE_LIMITED), "by itself"),
        (HTTP, down("m", Kind.UNAVAILABLE), "http"),
        (STDIO, down("m"), "terminal"),
    ],
)
def test_an_error_has_a_cure(spec: ServerSpec, error: AnyActError, cure: str) -> None:
    """Its own hint first, then what its words tell, then its kind."""
    finding = of_error(spec, error)
    assert (finding.health, finding.message) == ("broken", error.message)
    assert cure in str(finding.cure)


def test_an_error_of_another_sort_has_none() -> None:
    """Rather none than a wrong one."""
    assert of_error(STDIO, UnknownServer("m")).cure is None


def test_a_sound_server_is_told_in_numbers() -> None:
    """Actions and protocol."""
    finding = of_snapshot(STDIO, SEEN, [A], 1.0)
    assert (finding.health, finding.details, finding.cure) == ("ok", (), None)
    assert "2025-06-18" in finding.message


def test_everything_odd_is_a_detail() -> None:
    """Partial lists, faulty and changed actions, settings that fit nothing, a slow start."""
    spec = replace(HTTP, verify_tls=False, pin=("gone",), disabled_actions=("never",))
    snapshot = replace(SEEN, partial={"prompts": "it timed out"}, protocol_version=None)
    actions = [replace(A, fault="its schema is no object"), replace(A, id="s__b", name="b", state="changed")]
    finding = of_snapshot(spec, snapshot, actions, 30.0)
    assert finding.health == "warning"
    text = "\n".join(finding.details)
    for word in ("it timed out", "no object", "s__b changed", "verify_tls", "30 s", "'gone'", "'never'"):
        assert word in text


@pytest.mark.case("G3")
def test_a_server_that_offers_nothing_is_a_warning() -> None:
    """It may want a login."""
    finding = of_snapshot(STDIO, Snapshot("s"), [], 1.0)
    assert (finding.health, finding.message) == ("warning", "it offers nothing")
    assert of_snapshot(STDIO, Snapshot("s", prompts=({"name": "p"},)), [], 1.0).health == "ok"
