"""What is indexed of an action."""

from __future__ import annotations

from anyact_server.retrieval.documents import FIELDS, action_key, document, encoded_text, parameter_text
from anyact_server.types import Json

from .doubles import action


def test_the_encoded_line_names_server_name_and_description() -> None:
    """The form that retrieves best: server, split name, description."""
    found = encoded_text(action("createIssue", "Opens an\n  issue", "gh", server_title="GitHub"))
    assert found == "git hub: create issue: Opens an issue"


def test_a_title_that_says_more_than_the_name_is_told() -> None:
    """A title that repeats the name is not said twice."""
    assert encoded_text(action("q1", "", "s", title="Run a query")) == "s: q 1 (Run a query)"
    assert encoded_text(action("run_query", "", "s", title="Run query")) == "s: run query"


def test_a_server_that_is_named_as_its_action_is_said_once() -> None:
    """Servers of one action do not waste the encoder's tokens."""
    assert encoded_text(action("search", "Finds", "search")) == "search: Finds"


def test_a_huge_description_is_cut() -> None:
    """One 20 KB description costs no more than an ordinary one."""
    found = document(action("a", "word " * 5000))
    assert len(found.text) < 700
    assert len(found.fields[FIELDS.index("description")]) <= 4000


def test_parameters_are_told_with_enums_and_descriptions_two_levels_deep() -> None:
    """The words of a schema are searched."""
    schema = {
        "properties": {
            "sortOrder": {"enum": ["asc", "desc"], "description": "direction"},
            "place": {"properties": {"city": {"properties": {"deep": {}}}}},
            "odd": True,
        }
    }
    found = parameter_text(schema)
    assert "sort order asc desc direction" in found
    assert "city" in found
    assert "odd" in found
    assert "deep" not in found


def test_parameters_of_a_schema_that_is_none_are_empty() -> None:
    """A server may send anything as a schema."""
    schemas: tuple[Json, ...] = (None, [], "x", {"properties": []}, {})
    for schema in schemas:
        assert parameter_text(schema) == ""


def test_a_huge_schema_is_cut() -> None:
    """A schema of 50 KB does not fill the index."""
    assert len(parameter_text({"properties": {f"p{at}": {"description": "x" * 90} for at in range(900)}})) <= 4000


def test_the_key_changes_with_whatever_is_indexed_and_with_nothing_else() -> None:
    """A row is taken over exactly while its texts are the same."""
    base = action("a", "Does it", input_schema={"properties": {"x": {}, "y": {}}})
    assert action_key(base) == action_key(action("a", "Does it", input_schema={"properties": {"y": {}, "x": {}}}))
    others = [
        action("a", "Does it!", input_schema=base.input_schema),
        action("a", "Does it", input_schema={"properties": {"x": {}}}),
        action("a", "Does it", input_schema=base.input_schema, title="A"),
        action("a", "Does it", input_schema=base.input_schema, server_title="Box"),
        action("a", "Does it", input_schema=base.input_schema, server_description="A box"),
        action("a", "Does it", input_schema=base.input_schema, digest="d"),
    ]
    assert len({action_key(base), *map(action_key, others)}) == 7


def test_names_hold_the_bare_name_the_id_and_the_title() -> None:
    """Each of them is a way to name the action."""
    found = document(action("ask_codex", "", "codex", title="Ask Codex!", server_title="The Codex")).names
    assert found == ("askcodex", "codexaskcodex", "thecodexaskcodex")
