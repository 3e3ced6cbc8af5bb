"""The documentation: every example is read by the real parser, and nothing that a user can set is left out."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path

import click
import jsonschema_rs
import pytest

from anyact_server.catalog import CLIENTS
from anyact_server.catalog.manifests import parse_manifest
from anyact_server.catalog.schema import config_schema
from anyact_server.cli.main import COMMANDS, root
from anyact_server.settings import Settings

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
FENCE = re.compile(r"^```(\w+)\n(.*?)^```", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\((?!https?://|#)([^)#]+)")


def read(name: str) -> str:
    """The text of a page."""
    return (ROOT / name).read_text(encoding="utf-8")


def blocks(kind: str) -> list[tuple[str, str]]:
    """Every example of a kind: its page and its text."""
    return [
        (page.name, body)
        for page in PAGES
        for language, body in FENCE.findall(page.read_text(encoding="utf-8"))
        if language == kind
    ]


def command_lines() -> list[str]:
    """Every line of an example that runs AnyAct."""
    lines = (line.strip() for _, body in blocks("bash") for line in body.splitlines())
    return sorted({line for line in lines if line.startswith("anyact ")})


@pytest.mark.parametrize("line", command_lines())
def test_an_example_command_is_understood(line: str) -> None:
    """By the parser of the command itself, its values included."""
    words = shlex.split(line, comments=True)[1:]
    for stop in ("|", ">", "&", "&&"):
        words = words[: words.index(stop)] if stop in words else words
    command: click.Command = root
    context = click.Context(root, info_name="anyact")
    while isinstance(command, click.Group) and words and not words[0].startswith("-"):
        found = command.get_command(context, words[0])
        assert found is not None, words[0]
        command, words = found, words[1:]
    if not words and isinstance(command, click.Group):
        return
    if "--help" in words:
        return
    command.make_context(command.name, list(words), parent=context, resilient_parsing=False)


@pytest.mark.parametrize(("page", "body"), blocks("json"))
def test_an_example_in_json_is_sound(page: str, body: str) -> None:
    """A configuration fits the published schema, a manifest is one."""
    value = json.loads(body)
    if isinstance(value, dict) and {"mcpServers", "servers", "anyact"} & set(value):
        jsonschema_rs.validator_for(config_schema()).validate(value)
    if isinstance(value, dict) and "start" in value:
        parse_manifest(value, page)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_between_pages_lead_somewhere(page: Path) -> None:
    """Relative ones."""
    for target in LINK.findall(page.read_text(encoding="utf-8")):
        assert (page.parent / target).exists(), target


def test_every_setting_is_documented_with_its_default() -> None:
    """As the code has it."""
    rows = {row[0]: row[1] for row in re.findall(r"^\| `(\w+)` \| (\S+) \| .+\|$", read("docs/configuration.md"), re.M)}
    for name, field in Settings.model_fields.items():
        default = field.get_default()
        if isinstance(default, bool):
            shown = str(default).lower()
        elif isinstance(default, float):
            shown = f"{default:g}"
        else:
            shown = "none" if default in (None, ()) else str(default)
        assert rows.get(name) == shown, name


def test_every_field_of_a_server_is_documented() -> None:
    """Of the published schema."""
    text = read("docs/configuration.md")
    for name in config_schema()["$defs"]["server"]["properties"]:
        assert f"| `{name}` |" in text, name


def test_every_command_and_flag_is_documented() -> None:
    """On the page of the command line; flags that every command shares, once."""
    text = read("docs/cli.md") + read("docs/clients.md")
    for name in COMMANDS:
        assert f"anyact {name}" in text, name
        command = root.get_command(click.Context(root), name)
        assert command is not None
        inner = command.commands.values() if isinstance(command, click.Group) else [command]
        for one in inner:
            if isinstance(command, click.Group):
                assert f"anyact {name} {one.name}" in text, one.name
            for option in one.params:
                if isinstance(option, click.Option):
                    assert any(flag in text for flag in option.opts), (name, one.name, option.opts)


def test_every_tool_is_documented() -> None:
    """In the front page's table."""
    text = read("README.md")
    tools = "search_actions describe_actions query_action call_action run_actions read_run read_observation servers"
    for name in tools.split():
        assert f"`{name}`" in text, name


def test_every_client_is_documented() -> None:
    """By its name for the command line."""
    text = read("docs/clients.md")
    for one in CLIENTS:
        assert f"| `{one.name}` | {one.title} |" in text
