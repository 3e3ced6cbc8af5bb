"""Reading the registry's server.json."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from anyact_server.catalog.recipes import fill
from anyact_server.catalog.registry import is_server_json, read_server_json
from anyact_server.errors import ConfigError


def server(**parts: Any) -> dict[str, Any]:
    """A server.json with these parts."""
    return {"name": "io.github.user/thing", "description": "does things", "version": "1.0", **parts}


def package(**parts: Any) -> dict[str, Any]:
    """An npm package with these parts."""
    return {"registryType": "npm", "identifier": "@u/thing", "version": "1.2.3", "transport": {"type": "stdio"}} | parts


def test_a_package_becomes_a_pinned_recipe_with_its_variables() -> None:
    """Environment variables keep what is said of them."""
    about = {"name": "KEY", "description": "the key", "isRequired": True, "isSecret": True}
    mode = {"name": "MODE", "default": "fast", "choices": ["fast", "slow"]}
    fixed = {"name": "FIXED", "value": "1"}
    body = server(title="Thing", packages=[package(environmentVariables=[about, mode, fixed, {}])])
    manifest = read_server_json(body, "server.json")
    assert (manifest.name, manifest.title, manifest.description) == ("io.github.user/thing", "Thing", "does things")
    assert manifest.start[0].requirement() == "@u/thing@1.2.3"
    assert [(one.name, one.required, one.secret, one.default) for one in manifest.variables] == [
        ("KEY", True, True, None),
        ("MODE", False, False, "fast"),
    ]
    assert manifest.variables[1].description == "One of: fast, slow."
    filled = fill(manifest.start[0], manifest.variables, {"KEY": "k"}, data="/d").recipe
    assert filled.env == {"FIXED": "1", "KEY": "k", "MODE": "fast"}


def test_arguments_are_given_in_order_and_optional_ones_without_value_left_out() -> None:
    """Positional and named, fixed, with a default, asked for, and bare flags."""
    arguments = [
        {"type": "positional", "value": "serve"},
        {"type": "named", "name": "--port", "default": 8080},
        {"type": "named", "name": "--quiet"},
        {"type": "named", "name": "--optional", "isRequired": False},
        {"type": "positional", "valueHint": "folder", "isRequired": True},
        {"type": "positional", "value": "{a}/{b}", "variables": {"a": {"default": "x"}}},
        {"type": "positional"},
        {"type": "named", "name": "--on", "value": True},
    ]
    body = server(packages=[package(packageArguments=arguments, runtimeArguments=[{"type": "named", "name": "-y"}])])
    manifest = read_server_json(body, "s")
    recipe = manifest.start[0]
    assert recipe.args == ("serve", "--port", "8080", "--quiet", "${folder}", "${a}/{b}", "--on", "true")
    assert recipe.runner_args == ()
    filled = fill(recipe, manifest.variables, {"folder": "/my files"}, data="/d").recipe
    assert filled.args == ("serve", "--port", "8080", "--quiet", "/my files", "x/{b}", "--on", "true")


def test_a_remote_has_its_headers_and_a_template_in_its_address() -> None:
    """Secrets become variables, fixed text stays."""
    remote = {
        "type": "streamable-http",
        "url": "https://{tenant}.h/mcp",
        "variables": {"tenant": {"isRequired": True}},
        "headers": [
            {"name": "Authorization", "value": "Bearer {token}", "variables": {"token": {"isSecret": True}}},
            {"name": "X-Key", "isRequired": True, "isSecret": True},
            {},
        ],
    }
    manifest = read_server_json(server(remotes=[remote, {"type": "sse", "url": "https://h/sse"}]), "s")
    first, second = manifest.start
    assert (first.transport, first.url) == ("http", "https://${tenant}.h/mcp")
    assert first.headers == {"Authorization": "Bearer ${token}", "X-Key": "${X_Key}"}
    assert (second.transport, second.url) == ("sse", "https://h/sse")
    filled = fill(first, manifest.variables, {"tenant": "me", "X_Key": "k"}, data="/d").recipe
    assert filled.url == "https://me.h/mcp"
    assert filled.headers == {"X-Key": "k"}


def test_images_keep_their_tag() -> None:
    """An identifier with a tag is not tagged again."""
    images = [
        package(registryType="oci", identifier="u/thing:1.0"),
        package(registryType="oci", identifier="u/thing"),
        package(registryType="pypi", identifier="thing"),
    ]
    start = read_server_json(server(packages=images), "s").start
    assert [recipe.requirement() for recipe in start] == ["u/thing:1.0", "u/thing:1.2.3", "thing==1.2.3"]


def test_older_spellings_and_the_registrys_own_wrapping_are_read() -> None:
    """Files written for earlier schemas, and answers of the registry's API."""
    old = {
        "registry_name": "npm",
        "name": "thing",
        "package_arguments": [{"type": "positional", "value": "a"}],
        "environment_variables": [{"name": "A-B"}],
    }
    body = {"server": {"name": "u/thing", "packages": [old], "remotes": [{"transport_type": "sse", "url": "http://h"}]}}
    manifest = read_server_json(body, "s")
    assert manifest.start[0].package == "thing" and manifest.start[0].args == ("a",)
    assert manifest.start[0].env == {"A-B": "${A_B}"}
    assert manifest.start[1].transport == "sse"


@pytest.mark.parametrize(
    ("packages", "reason"),
    [
        ([package(registryType="nuget")], "nuget package @u/thing: no program here runs these"),
        ([package(registryType="mcpb")], "download the bundle and add the file"),
        ([package(identifier="")], "a npm package without identifier"),
        ([package(transport={"type": "streamable-http"})], "start it yourself and add its URL"),
        ([], "it lists no packages and no remotes"),
        ("x", "it lists no packages and no remotes"),
    ],
)
def test_what_cannot_be_run_here_is_said(packages: Any, reason: str) -> None:
    """When nothing is left, every reason is in the message."""
    with pytest.raises(ConfigError, match="nothing in it can be run here") as caught:
        read_server_json(server(packages=packages), "s")
    assert reason in caught.value.message


def test_an_unknown_remote_is_skipped_and_another_file_refused() -> None:
    """One odd remote costs only itself; a file of another kind is told apart."""
    body = server(remotes=[{"type": "websocket", "url": "ws://h"}, {"type": "sse"}, {"type": "sse", "url": "http://h"}])
    assert len(read_server_json(body, "s").start) == 1
    assert not is_server_json({"name": "x"}) and not is_server_json([])
    with pytest.raises(ConfigError, match=r"is no server\.json"):
        read_server_json({"name": "x"}, "s")


LEAVES = (
    st.none() | st.booleans() | st.integers(-9, 9) | st.text(max_size=5) | st.sampled_from(["npm", "stdio", "named"])
)
FIELDS = st.sampled_from(
    [
        "name",
        "value",
        "default",
        "type",
        "identifier",
        "registryType",
        "transport",
        "variables",
        "headers",
        "url",
        "isRequired",
        "choices",
        "packages",
        "remotes",
        "packageArguments",
        "environmentVariables",
    ]
)
ODD = st.recursive(
    LEAVES, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(FIELDS, inner, max_size=5), max_leaves=25
)


@settings(max_examples=150, deadline=None)
@given(st.lists(ODD, max_size=3), st.lists(ODD, max_size=3))
def test_no_file_however_odd_ends_in_anything_but_a_recipe_or_an_error_of_ours(packages: Any, remotes: Any) -> None:
    """Every field with every type of value in it."""
    body = server(packages=packages, remotes=remotes)
    try:
        manifest = read_server_json(body, "s")
    except ConfigError:
        return
    assert manifest.start
