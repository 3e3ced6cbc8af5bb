"""One entry: spellings, shapes, faults and warnings."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from anyact_server.catalog.config_entry import Place, Problem, as_text, read_entry, switched_off
from anyact_server.catalog.variables import Scope
from anyact_server.types import Json, Limits, Override, ServerSpec

SCOPE = Scope({"TOKEN": "s3cret-token", "LINE": "tok\n"}, {}, "/home/me", "/work/space")


def read(body: Json, **env_files: Mapping[str, str] | str) -> tuple[ServerSpec, list[Problem]]:
    """Read one entry; its env files are given by path."""

    def env_file(path: str) -> Mapping[str, str] | str:
        return env_files.get(path.rpartition("/")[2], f"no {path}")

    return read_entry(body, Place("s", "f.json", lambda *route: 1 + len(route), SCOPE, env_file), Limits())


def fault(body: Json) -> str:
    """The fault that an entry has."""
    spec, _ = read(body)
    return spec.fault or ""


def warnings(body: Json) -> str:
    """The warnings of an entry that has no fault."""
    spec, problems = read(body)
    assert spec.fault is None
    return "\n".join(str(problem) for problem in problems if problem.severity == "warning")


@pytest.mark.parametrize(
    ("body", "transport"),
    [
        ({"command": "x"}, "stdio"),
        ({"url": "https://h/mcp"}, "http"),
        ({"url": "https://h/sse"}, "sse"),
        ({"url": "https://h/v1/sse/?k=1"}, "sse"),
        ({"url": "https://sse/mcp"}, "http"),
        ({"url": "https://h/mcp?x=/sse"}, "http"),
        ({"serverUrl": "https://h/mcp"}, "http"),
        ({"httpUrl": "https://h/sse"}, "http"),
        ({"type": "sse", "url": "https://h/mcp"}, "sse"),
        ({"transport": "streamable_http", "url": "https://h/sse"}, "http"),
        ({"type": "STDIO", "command": "x"}, "stdio"),
        ({"type": "remote", "url": "https://h/x"}, "http"),
        ({"type": None, "command": "x"}, "stdio"),
    ],
)
def test_the_transport_is_read_or_inferred(body: Json, transport: str) -> None:
    """Every spelling that hosts use, and none."""
    spec, problems = read(body)
    assert (spec.transport, spec.fault, problems) == (transport, None, [])


@pytest.mark.case("C3")
def test_arguments_are_kept_exactly() -> None:
    """Blanks, quotes, signs of a shell, backslashes and empty texts are left alone."""
    args = ["a b", '"q"', "'", ";", "$(x)", "a\\b", "", "*", "%PATH%", "é"]
    spec, problems = read({"command": "/opt/my programs/x", "args": args})
    assert spec.args == tuple(args)
    assert spec.command == "/opt/my programs/x"
    assert problems == []


@pytest.mark.case("C3")
def test_a_control_character_draws_a_warning_with_the_likely_cause() -> None:
    """A single backslash in JSON turned into a tab: the cure is to write two."""
    told = warnings({"command": "x", "args": ["fine", "c:\temp"]})
    assert "args[1] holds a tab" in told
    assert "\\\\t" in told
    assert "command holds a line break" in warnings({"command": "x\ny"})
    assert "cwd holds a backspace" in warnings({"command": "x", "cwd": "c:\bin"})
    assert "control character 27" in warnings({"command": "x", "args": ["\x1b"]})
    assert "NUL" in fault({"command": "x", "args": ["a\0b"]})


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ({}, "neither command nor url is given"),
        ({"type": "stdio", "url": "https://h"}, "the transport is stdio, but no command"),
        ({"type": "http", "command": "x"}, "the transport is http, but no url"),
        ({"type": "bogus", "command": "x"}, "unknown transport 'bogus' (Allowed: stdio"),
        ({"command": ""}, "command must be a text that is not empty"),
        ({"command": ["npx", 3, {}]}, "args[1] must be a text"),
        ({"command": "x", "args": "-y thing"}, "args must be a list"),
        ({"command": "x", "args": [["a"]]}, "args[0] must be a text"),
        ({"command": "x", "env": ["A=1"]}, "env must be an object"),
        ({"command": "x", "env": {"A": {}}}, "env.A must be a text"),
        ({"command": "x", "env": {"A=B": "c"}}, "cannot be handed to a program"),
        ({"command": "x", "disabled": "maybe"}, "disabled must be true or false"),
        ({"command": "x", "trust": "everyone"}, "trust must be one of local, network"),
        ({"command": "x", "era": "stone"}, "era must be one of auto, legacy, modern"),
        ({"command": "x", "cwd": []}, "cwd must be a text"),
        ({"url": "example.com/mcp"}, "url is no http or https URL"),
        ({"url": "unix:///tmp/s"}, "url is no http or https URL (unix:)"),
        ({"url": "https://"}, "url names no host"),
        ({"url": "https://h:99999/"}, "url is no URL"),
        ({"url": "https://h:0/"}, "url names no host or a bad port"),
        ({"url": "https://h/a b"}, "url holds a blank"),
        ({"url": "https://h", "headers": {"A B": "x"}}, "'A B' is no name of a header"),
        ({"url": "https://h", "headers": {"A": "x\ny"}}, "headers.A holds a line break"),
        ({"command": "x", "envFile": "none"}, "no /work/space/none"),
    ],
)
def test_a_mistake_in_a_vital_field_is_a_fault_with_its_cure(body: Json, words: str) -> None:
    """The server is listed with this reason and never started."""
    assert words in fault(body)


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ({"description": []}, "description must be a text; it is left out"),
        ({"tags": {}}, "tags must be a list; it is left out"),
        ({"timeout": "soon"}, "timeout must be a positive number of seconds; it is left out"),
        ({"timeout": -1}, "timeout must be a positive number"),
        ({"timeout": True}, "timeout must be a positive number"),
        ({"timeout": 10**400}, "timeout must be a positive number"),
        ({"timeouts": 5}, "timeouts must be an object"),
        ({"timeouts": {"call": 0}}, "timeouts.call must be a positive number"),
        ({"timeouts": {"warp": 1}}, "timeouts.warp is not known"),
        ({"overrides": []}, "overrides must be an object"),
        ({"overrides": {"t": 1}}, "overrides.t must be an object"),
        ({"overrides": {"t": {"name": []}}}, "overrides.t.name must be a text"),
        ({"overrides": {"t": {"colour": 1}}}, "overrides.t.colour is not known"),
        ({"pin": {}}, "pin must be a list"),
        ({"env": {"A": None}}, "env.A is null; it is left out"),
        ({"url": "https://h"}, "both a command and a URL are given"),
        ({"anyact": 3}, "`anyact` must be an object"),
        ({"descripton": "x"}, "the field 'descripton' is not known (Is 'description' meant?)"),
        ({"frobnicate": 1}, "the field 'frobnicate' is not known"),
        ({"args": ["${a.b}"]}, "'${a.b}' in args is no known variable"),
    ],
)
def test_a_mistake_in_any_other_field_costs_that_field_alone(body: dict[str, Json], words: str) -> None:
    """The server runs; the mistake is told."""
    assert words in warnings({"command": "x"} | body)


def test_a_command_with_arguments_in_it_is_warned_of() -> None:
    """Nothing is split; the likely mistake is told."""
    assert "taken as the name of one program" in warnings({"command": "npx -y thing"})
    assert warnings({"command": "/my programs/x"}) == ""
    assert warnings({"command": "my program", "args": ["x"]}) == ""


def test_fields_of_other_programs_and_remarks_are_passed_over() -> None:
    """Approvals, icons and comments mean nothing here."""
    body = {"command": "x", "autoApprove": ["a"], "alwaysAllow": [], "oauth": {}, "gallery": True, "_note": 1, "//": ""}
    assert warnings(body | {"$schema": "x", "x-mine": 1, "icon": "i"}) == ""


def test_longer_spellings_of_a_command_are_understood() -> None:
    """A list holds the arguments too; Zed writes an object."""
    spec, _ = read({"command": ["npx", "-y"], "args": ["thing"]})
    assert (spec.command, spec.args) == ("npx", ("-y", "thing"))
    spec, _ = read({"command": {"path": "npx", "args": ["-y"], "env": {"A": "b"}}})
    assert (spec.command, spec.args, spec.env) == ("npx", ("-y",), {"A": "b"})
    assert "args must be a list" in fault({"command": ["npx", "-y"], "args": "x"})


def test_numbers_and_truth_values_become_texts() -> None:
    """As JSON writes them."""
    spec, problems = read({"command": "x", "args": [8080, 1.5, True], "env": {"P": 1, "D": False}})
    assert spec.args == ("8080", "1.5", "true")
    assert spec.env == {"P": "1", "D": "false"}
    assert problems == []
    assert as_text(None) is None


def test_folders_are_found_from_the_workspace_and_the_home() -> None:
    """Relative paths are the workspace's; `~` is the home folder."""
    spec, _ = read({"command": "~/bin/x", "cwd": "../there", "ca_file": "~/ca.pem"})
    assert (spec.command, spec.cwd, spec.ca_file) == ("/home/me/bin/x", "/work/there", "/home/me/ca.pem")
    assert read({"command": "x", "cwd": ""})[0].cwd is None


def test_disabled_and_its_opposite() -> None:
    """Hosts have both words; a text is as good as a truth value."""
    assert read({"command": "x", "disabled": True})[0].disabled
    assert read({"command": "x", "enabled": False})[0].disabled
    assert read({"command": "x", "disabled": "true"})[0].disabled
    assert not read({"command": "x", "enabled": True})[0].disabled


@pytest.mark.case("T1")
def test_limits_are_seconds_and_large_ones_of_other_hosts_milliseconds() -> None:
    """`timeout` is the call's limit; `timeouts` names each; a long call raises the ceiling."""
    assert read({"command": "x", "timeout": 120})[0].limits == Limits(call_s=120)
    assert read({"command": "x", "timeout": 30_000})[0].limits == Limits(call_s=30)
    assert read({"command": "x", "timeout": "90"})[0].limits == Limits(call_s=90)
    given = {"start": 1, "list": 2, "call": 3, "idle": 4, "ceiling": 5, "question_s": 6}
    assert read({"command": "x", "timeouts": given})[0].limits == Limits(1, 2, 3, 5, 4, 6)
    assert read({"command": "x", "timeouts": {"call": 2000}})[0].limits == Limits(call_s=2000, ceiling_s=2000)


def test_our_own_fields_stand_in_the_entry_or_in_its_anyact_object() -> None:
    """Where other programs read the file too, our fields may stand apart."""
    own = {
        "title": "T",
        "description": "D",
        "tags": ["a", "b"],
        "serial": True,
        "per_client": True,
        "pin": "get_*",
        "disabled_actions": ["x"],
        "overrides": {"t": {"name": "N", "description": "D2", "timeout": 5}},
        "trust": "network",
        "era": "legacy",
        "forward_headers": ["X-Test"],
        "ca_file": "/ca.pem",
        "verify_tls": False,
    }
    flat, _ = read({"url": "https://h/mcp"} | own)
    nested, problems = read({"url": "https://h/mcp", "anyact": own})
    assert flat == nested
    assert problems == []
    assert (flat.title, flat.description, flat.tags, flat.pin) == ("T", "D", ("a", "b"), ("get_*",))
    assert (flat.serial, flat.per_client, flat.verify_tls) == (True, True, False)
    assert (flat.trust, flat.era, flat.forward_headers) == ("network", "legacy", ("x-test",))
    assert flat.overrides == {"t": Override("N", "D2", 5.0)}
    assert flat.disabled_actions == ("x",)


def test_pins_may_be_all_some_or_none() -> None:
    """True means every action."""
    assert read({"command": "x", "pin": True})[0].pin == ("*",)
    assert read({"command": "x", "pin": False})[0].pin == ()
    assert read({"command": "x", "pin": ["a", "b*"]})[0].pin == ("a", "b*")


def test_lists_of_tools_to_keep_and_to_drop_become_patterns() -> None:
    """A list of what to keep switches everything else off; what to drop comes after it."""
    assert read({"command": "x", "disabledTools": ["a"]})[0].disabled_actions == ("a",)
    assert read({"command": "x", "includeTools": ["a", "b"], "excludeTools": ["b"]})[0].disabled_actions == (
        "*",
        "!a",
        "!b",
        "b",
    )
    assert switched_off(None, ()) == ()


def test_geminis_word_for_trust_is_no_matter_of_reaching_a_server() -> None:
    """There `trust` says whether a client asks before calls."""
    assert read({"command": "x", "trust": True})[0].trust == "local"
    assert read({"command": "x", "trust": "everyone"})[0].trust == "network"


@pytest.mark.case("A1")
def test_every_secret_of_an_entry_is_named_for_masking() -> None:
    """Env values, header values, tokens within them, user, password and query of a URL, and what variables gave."""
    local, _ = read({"command": "x", "args": ["${TOKEN}"], "env": {"K": "env-secret", "LEVEL": "debug", "ON": "1"}})
    assert local.secrets == {"s3cret-token", "env-secret"}
    web, _ = read(
        {
            "url": "https://user:pa%20ss@h/mcp?key=query-secret&mode=on",
            "headers": {"Authorization": "Bearer head-secret", "Accept": "*/*"},
        }
    )
    assert {"user", "pa%20ss", "pa ss", "user:pa ss", "query-secret"} <= web.secrets
    assert {"Bearer head-secret", "head-secret"} <= web.secrets
    assert not {"on", "*/*", "debug", "1"} & (web.secrets | local.secrets)


def test_tokens_lose_the_line_break_that_was_pasted_with_them() -> None:
    """A header cannot hold it, and it is never meant."""
    spec, _ = read({"url": "https://h", "headers": {"Authorization": "Bearer ${LINE}"}})
    assert spec.headers == {"Authorization": "Bearer tok"}


def test_auth_is_a_bearer_token_unless_a_header_says_otherwise() -> None:
    """`oauth` leaves it to the login."""
    assert read({"url": "https://h", "auth": "${TOKEN}"})[0].headers == {"Authorization": "Bearer s3cret-token"}
    assert read({"url": "https://h", "auth": "Basic abcd"})[0].headers == {"Authorization": "Basic abcd"}
    assert read({"url": "https://h", "auth": "oauth"})[0].headers == {}
    own = {"url": "https://h", "auth": "other", "headers": {"authorization": "mine"}}
    assert read(own)[0].headers == {"authorization": "mine"}
    assert "auth of this form" in warnings({"url": "https://h", "auth": {"type": "x"}})


def test_env_files_come_before_env() -> None:
    """The entry's own values win."""
    spec, _ = read({"command": "x", "envFile": "e", "env": {"A": "own"}}, e={"A": "filed", "B": "b"})
    assert spec.env == {"A": "own", "B": "b"}


def test_problems_say_where_what_and_how_to_mend_it() -> None:
    """One line with file, line, entry, message and cure."""
    _, problems = read("npx")
    assert str(problems[0]) == (
        'f.json:1: server \'s\': the entry is a text, not an object (Write {"command": ...} or {"url": ...}.)'
    )
    values: list[Any] = [None, [], 3, True]
    assert ["null" in fault(values[0]), "a list" in fault(values[1]), "a number" in fault(values[2])] == [True] * 3
    assert "a truth value" in fault(values[3])


@pytest.mark.case("A1")
def test_secrets_written_into_the_arguments_are_masked_too() -> None:
    """They were not given by a variable, and are secrets all the same."""
    assert "hunter2!" in read({"command": "x", "args": ["--api-key", "hunter2!"]})[0].secrets


def test_nothing_given_is_nothing() -> None:
    """A null for a list or an object means an empty one."""
    spec, problems = read({"command": "x", "env": None, "args": None})
    assert (spec.args, spec.env, problems) == ((), {}, [])


def test_ordinary_values_of_the_environment_are_no_secrets() -> None:
    """A folder or a mode stands in results and messages; what a variable gives is judged by both names."""
    scoped = {"DIR": "/data/projects", "MODE": "hang", "PASSWORD": "${TOKEN}", "API_KEY": "hunter"}
    spec, _ = read({"command": "x", "args": ["/data/projects"], "env": scoped})
    assert spec.secrets == {"s3cret-token", "hunter"}
    assert read({"url": "https://h/mcp", "headers": {"X-Mode": "hang"}})[0].secrets == {"hang"}
