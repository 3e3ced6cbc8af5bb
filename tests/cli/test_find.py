"""`search`, `list` and `describe`."""

from __future__ import annotations

import pytest

from anyact_server.cli.find import argument_lines, effects, first_line
from anyact_server.types import Action, Hints

from .kit import Shell, script_entry


@pytest.fixture
def plain(shell: Shell, address: str) -> Shell:
    """A home with the fixture server configured."""
    shell.configure(plain={"url": address, "tags": ["demo"], "description": "For tests"})
    return shell


def test_a_need_in_plain_words_finds_the_action(plain: Shell) -> None:
    """On a table for people, with servers read on the way."""
    found = plain("search", "add two numbers")
    assert found.code == 0
    assert found.out.splitlines()[0].split() == ["ACTION", "SCORE", "WHAT", "IT", "DOES"]
    assert found.out.splitlines()[1].startswith("plain__add ")
    assert "reading servers: 1/1 plain" in found.err


def test_hits_as_json_say_why(plain: Shell) -> None:
    """One document, nothing else on stdout."""
    hits = plain("search", "add two numbers", "echo a text", "--limit", "3", "--json").json["hits"]
    assert len(hits) == 3
    assert {"plain__add", "plain__echo"} <= {hit["id"] for hit in hits}
    assert {"server", "name", "score", "why", "intents", "reliability"} <= set(hits[0])


def test_filters_narrow_a_search(plain: Shell) -> None:
    """By server, by tag, by what is declared read-only."""
    assert plain("search", "add", "--server", "plain", "--tag", "demo", "--read-only").code == 0
    hits = plain("search", "append a line", "--read-only", "--json").json["hits"]
    assert "plain__append" not in {hit["id"] for hit in hits}
    nothing = plain("search", "add", "--tag", "other")
    assert (nothing.code, nothing.out) == (1, "")
    assert "nothing fits" in nothing.err


def test_the_catalog_is_listed(plain: Shell) -> None:
    """All actions, or those of one server."""
    listed = plain("list")
    assert listed.code == 0
    assert "plain__echo" in listed.out
    assert "actions of 1 server" in listed.err
    again = plain("list", "--server", "plain", "--json")
    assert {"id", "server", "name", "description", "state"} <= set(again.json["actions"][0])
    assert again.err == ""


def test_an_unknown_server_is_named_with_those_there_are(plain: Shell) -> None:
    """Exit code 3."""
    found = plain("list", "--server", "plan")
    assert found.code == 3
    assert "no server is called 'plan'" in found.err
    assert "plain" in found.err.splitlines()[-1]


def test_an_action_is_described_in_full(plain: Shell) -> None:
    """What it does, its effects, how far to trust it, its arguments."""
    text = plain("describe", "plain__add").out
    for line in ("plain__add", "only reads", "a  number, required", "reliability"):
        assert line in text
    described = plain("describe", "plain__add", "--json").json["actions"][0]
    assert described["input_schema"]["required"] == ["a", "b"]
    assert "words" in described["reliability"]


def test_an_unknown_action_is_an_error_with_suggestions(plain: Shell) -> None:
    """In words and as JSON, with exit code 3."""
    found = plain("describe", "plain__ad")
    assert found.code == 3
    assert "plain__add" in found.err
    error = plain("describe", "plain__ad", "--json").json["error"]
    assert error["kind"] == "unknown_action"
    assert "plain__add" in error["hint"]


@pytest.mark.case("D1")
def test_a_server_that_cannot_be_read_costs_nobody_else(plain: Shell, address: str) -> None:
    """It is named on stderr with where to look; the others are listed."""
    plain.configure(plain={"url": address}, bad=script_entry("import sys; sys.exit('no key given')"))
    listed = plain("list")
    assert listed.code == 0
    assert "plain__echo" in listed.out
    assert "bad could not be read" in listed.err
    assert "anyact doctor bad" in listed.err


def test_first_lines_and_effects_are_short() -> None:
    """One line of at most 90 characters; hints in words."""
    assert first_line(Action("a", "s", "a", description=f"{'x' * 100}\nmore")) == "x" * 89 + "…"
    assert first_line(Action("a", "s", "a", title="Title")) == "Title"
    assert effects(Action("a", "s", "a")) == "destructive"
    assert effects(Action("a", "s", "a", hints=Hints(destructive=False, idempotent=True))) == (
        "changes things, destroys nothing, safe to repeat"
    )


def test_arguments_of_odd_schemas_are_listed_too() -> None:
    """Boolean schemas, and none at all."""
    assert argument_lines(Action("a", "s", "a")) == ["(none)"]
    odd = Action("a", "s", "a", shown_schema={"properties": {"x": True}})
    assert argument_lines(odd) == ["x  any, optional"]


def test_an_action_that_cannot_be_called_says_why(shell: Shell) -> None:
    """A faulty schema: listed, described with its reason."""
    shell.configure(raw={"command": "python3", "args": ["-m", "tests.servers.raw"], "disabled": True})
    assert shell("list").code == 0
