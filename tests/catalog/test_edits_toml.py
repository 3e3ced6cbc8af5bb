"""Adding and removing tables of TOML files."""

from __future__ import annotations

import tomllib
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from anyact_server.catalog.edits_toml import drop_table, put_table
from anyact_server.errors import ConfigError

TEXT = """\
# my settings
model = "x"

[mcp_servers.a] # the first
command = "npx"
args = ["-y", "a"]

[mcp_servers.a.env]
KEY = "1"

[mcp_servers."b c"]
url = "https://h/mcp"

[other]
list = [
  [1, 2],
]
"""


def test_a_new_table_stands_at_the_end_and_everything_else_stays() -> None:
    """Adding and removing again gives the same text."""
    changed = put_table(
        TEXT, ["mcp_servers", "anyact"], {"command": "anyact", "args": ["serve"], "env": {"A": "b"}}, "f"
    )
    assert changed.startswith(TEXT)
    assert tomllib.loads(changed)["mcp_servers"]["anyact"] == {
        "command": "anyact",
        "args": ["serve"],
        "env": {"A": "b"},
    }
    assert drop_table(changed, ["mcp_servers", "anyact"], "f") == TEXT


def test_a_table_goes_with_the_tables_inside_it() -> None:
    """Comments and other tables stay."""
    changed = drop_table(TEXT, ["mcp_servers", "a"], "f")
    assert "# my settings" in changed and "[mcp_servers.a" not in changed
    assert tomllib.loads(changed)["mcp_servers"] == {"b c": {"url": "https://h/mcp"}}
    changed = drop_table(changed, ["mcp_servers", "b c"], "f")
    assert "mcp_servers" not in changed and "[1, 2]" in changed


def test_a_table_is_replaced() -> None:
    """The old one goes, the new one is written once."""
    changed = put_table(TEXT, ["mcp_servers", "a"], {"url": "http://h"}, "f")
    assert tomllib.loads(changed)["mcp_servers"]["a"] == {"url": "http://h"}


def test_dropping_what_is_not_there_changes_nothing() -> None:
    """At any depth."""
    assert drop_table(TEXT, ["mcp_servers", "z"], "f") == TEXT
    assert drop_table(TEXT, ["model", "z"], "f") == TEXT
    assert drop_table("", ["x"], "f") == ""


def test_an_empty_or_unended_file_can_be_added_to() -> None:
    """A file without a last line end too."""
    assert put_table("", ["m", "a"], {"x": 1}, "f") == "[m.a]\nx = 1\n"
    assert put_table('k = "v"', ["m", "a"], {"x": 1.5}, "f") == 'k = "v"\n\n[m.a]\nx = 1.5\n'


@pytest.mark.parametrize(
    "text",
    [
        'mcp_servers = { a = { command = "x" } }\n',
        'mcp_servers.a.command = "x"\n',
        'note = """\n[mcp_servers.a]\n"""\n[mcp_servers.a]\ncommand = "x"\n',
    ],
)
def test_a_form_that_cannot_be_changed_safely_is_refused(text: str) -> None:
    """Inline tables, dotted keys, and headers inside long texts."""
    with pytest.raises(ConfigError, match="cannot be changed safely"):
        drop_table(text, ["mcp_servers", "a"], "f")


def test_what_is_no_toml_is_refused() -> None:
    """With the parser's own words."""
    with pytest.raises(ConfigError, match="f is not TOML"):
        drop_table("= 1", ["a"], "f")
    with pytest.raises(ConfigError, match="f is not TOML"):
        put_table("= 1", ["a"], {}, "f")


SCALARS = st.booleans() | st.integers(-(10**6), 10**6) | st.text(st.characters(codec="utf-8"), max_size=10)
TABLES = st.dictionaries(
    st.text(st.characters(codec="utf-8"), max_size=5),
    SCALARS
    | st.lists(
        SCALARS | st.dictionaries(st.text(st.characters(codec="utf-8"), max_size=3), SCALARS, max_size=2), max_size=3
    ),
    min_size=1,
    max_size=4,
)


@settings(max_examples=60, deadline=None)
@given(st.text(st.characters(codec="utf-8"), min_size=1, max_size=8), TABLES)
def test_any_value_is_written_so_that_it_reads_the_same(name: str, table: dict[str, Any]) -> None:
    """Strange names and texts, control characters included."""
    changed = put_table(TEXT, ["mcp_servers", name], table, "f")
    assert tomllib.loads(changed)["mcp_servers"][name] == table
    assert name not in tomllib.loads(drop_table(changed, ["mcp_servers", name], "f"))["mcp_servers"]
