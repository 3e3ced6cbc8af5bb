"""Recipes and the entries made of them."""

from __future__ import annotations

import os

import pytest

from anyact_server.catalog.recipes import Manifest, Recipe, Variable, entry, fill, literal

TOKEN = Variable("TOKEN", "a token", required=True, secret=True)


def test_a_given_value_goes_into_the_environment_of_the_server() -> None:
    """A variable that stands nowhere in the recipe is handed over as an environment variable."""
    filled = fill(Recipe(command="x"), [TOKEN], {"TOKEN": "abc"}, data="/d")
    assert filled.recipe.env == {"TOKEN": "abc"}
    assert filled.unset == ()
    assert filled.given == {"abc"}


def test_a_required_variable_that_was_not_given_stays_a_reference() -> None:
    """The environment supplies it at start; nothing is written down in its place."""
    filled = fill(Recipe(command="x"), [TOKEN], {}, data="/d")
    assert filled.recipe.env == {"TOKEN": "${TOKEN}"}
    assert filled.unset == (TOKEN,)


def test_none_as_a_value_refers_to_the_environment_also_for_optional_variables() -> None:
    """`--env NAME` without a value asks for a reference."""
    filled = fill(Recipe(command="x"), [Variable("A")], {"A": None, "B": None}, data="/d")
    assert filled.recipe.env == {"A": "${A}", "B": "${B}"}
    assert filled.unset == ()


@pytest.mark.case("C2")
def test_a_literal_value_is_escaped_so_that_it_is_never_expanded() -> None:
    """A password that holds `${X}` reaches the server as it is."""
    filled = fill(Recipe(command="x", args=("--key", "${TOKEN}")), [TOKEN], {"TOKEN": "a${X}$Y"}, data="/d")
    assert filled.recipe.args == ("--key", "a$${X}$Y")
    assert literal("$A ${B}") == "$A $${B}"


def test_defaults_and_the_data_folder_are_put_in() -> None:
    """`${serverData}` is the server's own folder, in defaults as in the recipe."""
    variables = [Variable("DB", default="${serverData}/x.db")]
    recipe = Recipe(command="x", args=("--db", "${DB}", "--log=${serverData}/log"), env={"HERE": "${serverData}"})
    filled = fill(recipe, variables, {}, data="/d")
    assert filled.recipe.args == ("--db", "/d/x.db", "--log=/d/log")
    assert filled.recipe.env == {"HERE": "/d"}


def test_whatever_needs_an_optional_variable_without_value_is_left_out() -> None:
    """No argument, header or variable with a blank where a value was meant."""
    recipe = Recipe(command="x", args=("a", "--k=${K}", "b"), env={"E": "${K}", "F": "1"})
    filled = fill(recipe, [Variable("K")], {}, data="/d")
    assert filled.recipe.args == ("a", "b")
    assert filled.recipe.env == {"F": "1"}
    remote = fill(Recipe("http", url="https://h/", headers={"A": "Bearer ${K}"}), [Variable("K")], {}, data="/d")
    assert remote.recipe.headers == {}


@pytest.mark.case("C3")
def test_a_list_becomes_one_argument_per_value_and_keeps_blanks() -> None:
    """Folders are separated like a search path; blanks inside them do not split them."""
    variables = [Variable("DIRS", required=True, several=True)]
    recipe = Recipe(command="x", args=("${DIRS}",))
    value = os.pathsep.join(["/a b", "", "/c"])
    assert fill(recipe, variables, {"DIRS": value}, data="/d").recipe.args == ("/a b", "/c")
    assert fill(recipe, variables, {"DIRS": None}, data="/d").recipe.args == ("${DIRS}",)
    assert fill(recipe, variables, {"DIRS": value}, data="/d").recipe.env == {}


def test_a_remote_server_gets_no_environment() -> None:
    """Variables reach it by headers alone."""
    recipe = Recipe("http", url="https://h/${T}", headers={"Authorization": "Bearer ${TOKEN}"})
    filled = fill(recipe, [TOKEN], {"TOKEN": "abc", "OTHER": "x"}, data="/d")
    assert filled.recipe.env == {}
    assert filled.recipe.headers == {"Authorization": "Bearer abc"}
    assert filled.recipe.url == "https://h/${T}"


def test_an_entry_says_what_a_client_needs_and_what_the_server_is_for() -> None:
    """Plain `mcpServers` fields, with title, description and tags for searching."""
    manifest = Manifest("x", "X", "does x", ("t",))
    assert entry(Recipe(command="x", args=("1",), env={"A": "b"}), manifest) == {
        "command": "x",
        "args": ["1"],
        "env": {"A": "b"},
        "title": "X",
        "description": "does x",
        "tags": ["t"],
    }
    assert entry(Recipe("sse", url="http://h/sse", headers={"A": "b"})) == {
        "type": "sse",
        "url": "http://h/sse",
        "headers": {"A": "b"},
    }


@pytest.mark.parametrize(("registry", "written"), [("npm", "pkg@1.2"), ("pypi", "pkg==1.2"), ("oci", "pkg:1.2")])
def test_a_version_is_pinned_as_its_registry_writes_it(registry: str, written: str) -> None:
    """`@`, `==` and `:`."""
    assert Recipe(registry=registry, package="pkg", version="1.2").requirement() == written  # type: ignore[arg-type]  # parametrised text
    assert Recipe(registry="npm", package="pkg").requirement() == "pkg"
