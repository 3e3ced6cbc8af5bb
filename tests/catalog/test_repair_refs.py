"""References within a schema."""

from __future__ import annotations

from typing import Any

import pytest

from anyact_server.catalog.repair_refs import Places, has_references, without_references

SCHEMA: dict[str, Any] = {
    "$id": "https://here/root.json",
    "$defs": {
        "a b": {"type": "string"},
        "s/l~h": {"type": "integer"},
        "anchored": {"$anchor": "mark", "type": "null"},
        "embedded": {"$id": "https://here/part.json", "$defs": {"x": {"type": "boolean"}}},
    },
    "properties": {"p": {"type": "number"}},
    "anyOf": [{"type": "object"}],
}


@pytest.mark.parametrize(
    ("reference", "target"),
    [
        ("#/$defs/a%20b", {"type": "string"}),
        ("#/$defs/s~1l~0h", {"type": "integer"}),
        ("#mark", {"$anchor": "mark", "type": "null"}),
        ("#/properties/p", {"type": "number"}),
        ("#/anyOf/0", {"type": "object"}),
        ("https://here/root.json#/properties/p", {"type": "number"}),
        ("https://here/root.json", SCHEMA),
        ("#", SCHEMA),
        ("https://here/part.json#/$defs/x", {"type": "boolean"}),
        ("#/anyOf/7", None),
        ("#/nowhere", None),
        ("#/properties/p/type/x", None),
    ],
)
def test_a_reference_within_the_document_is_found(reference: str, target: Any) -> None:
    """By pointer, by anchor, by id, and as far as it leads."""
    places = Places(SCHEMA)
    pointer = places.pointer(reference)
    assert pointer is not None
    assert places.at(pointer) == target


@pytest.mark.parametrize("reference", ["https://elsewhere/x.json", "other.json#/a", "#unknown", "name"])
def test_a_reference_out_of_the_document_is_none(reference: str) -> None:
    """Nothing is ever fetched."""
    assert Places(SCHEMA).pointer(reference) is None


@pytest.mark.case("S2")
@pytest.mark.parametrize(
    ("part", "shown"),
    [
        ({"$ref": "https://elsewhere/x.json", "title": "T"}, {"title": "T"}),
        ({"$ref": "#/$defs/gone"}, {}),
        ({"$ref": "#/$defs/text"}, {}),
        ({"$ref": "#/$defs/yes", "minLength": 1}, {"minLength": 1}),
        ({"$ref": "#/$defs/no"}, {"not": {}}),
        ({"$dynamicRef": "#/$defs/s"}, {"type": "string"}),
        ({"$ref": "#/$defs/s", "maxLength": 3}, {"type": "string", "maxLength": 3}),
        ({"$ref": 3}, {}),
    ],
)
def test_what_leads_nowhere_means_anything(part: Any, shown: Any) -> None:
    """As it does for the check of arguments."""
    defs = {"s": {"type": "string"}, "yes": True, "no": False, "text": "x"}
    assert without_references({"properties": {"p": part}, "$defs": defs})["properties"]["p"] == shown


def test_before_2019_what_stands_beside_a_reference_decides_nothing() -> None:
    """Remarks are kept, demands are not."""
    schema = {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "properties": {"p": {"$ref": "#/definitions/s", "maxLength": 3, "description": "d"}},
        "definitions": {"s": {"type": "string"}},
    }
    assert without_references(schema)["properties"]["p"] == {"type": "string", "description": "d"}


def test_definitions_are_kept_where_putting_them_in_would_swell() -> None:
    """Each is kept once, and refers to the others."""
    defs = {f"d{n}": {"properties": {k: {"$ref": f"#/$defs/d{n + 1}"} for k in "abcd"}} for n in range(9)}
    shown = without_references({"properties": {"x": {"$ref": "#/$defs/d0"}}, "$defs": defs | {"d9": {"type": "null"}}})
    assert set(shown["$defs"]) == {f"d{n}" for n in range(10)}
    assert shown["$defs"]["d8"]["properties"]["a"] == {"$ref": "#/$defs/d9"}


def test_kept_definitions_have_clean_names_of_their_own() -> None:
    """Two that would be called the same are numbered."""
    loop = {"type": "object", "properties": {"again": {"$ref": "#/$defs/x:y"}, "other": {"$ref": "#/definitions/x:y"}}}
    schema = {"properties": {"p": {"$ref": "#/$defs/x:y"}}, "$defs": {"x:y": loop}, "definitions": {"x:y": loop}}
    assert set(without_references(schema)["$defs"]) == {"x_y", "x_y_2"}
    odd = {"properties": {"p": {"$ref": "#/$defs/::"}}, "$defs": {"::": {"items": {"$ref": "#/$defs/::"}}}}
    assert set(without_references(odd)["$defs"]) == {"definition"}


def test_a_root_that_is_a_reference_is_put_in() -> None:
    """Its definitions come along."""
    schema = {"$ref": "#/$defs/Args", "title": "T", "$defs": {"Args": {"type": "object", "required": ["a"]}}}
    assert without_references(schema) == {"type": "object", "required": ["a"], "title": "T"}


def test_a_root_is_followed_as_far_as_it_leads() -> None:
    """Also over several steps, and where definitions are kept; a root that leads back to itself wants nothing."""
    defs = {f"d{n}": {"properties": {k: {"$ref": f"#/$defs/d{n + 1}"} for k in "abcd"}} for n in range(9)}
    chain = {"a": {"$ref": "#/$defs/b"}, "b": {"$ref": "#/$defs/d0"}, "d9": {}}
    shown = without_references({"$ref": "#/$defs/a", "$defs": {**defs, **chain}})
    assert list(shown) == ["properties", "$defs"]
    assert without_references({"$ref": "#", "title": "T"}) == {"title": "T"}
    assert without_references({"$ref": "#/$defs/a", "$defs": {"a": {"$ref": "#/$defs/a"}}}) == {}


def test_a_chain_of_references_without_end_is_cut() -> None:
    """At the root and below it, with definitions put in or kept."""
    defs: dict[str, Any] = {f"d{n}": {"$ref": f"#/$defs/d{n + 1}"} for n in range(3000)}
    assert without_references({"$ref": "#/$defs/d0", "$defs": defs}) == {}
    assert without_references({"properties": {"p": {"$ref": "#/$defs/d0"}}, "$defs": defs}) == {"properties": {"p": {}}}
    nested: dict[str, Any] = {f"d{n}": {"items": {"$ref": f"#/$defs/d{n + 1}"}} for n in range(3000)}
    many = {f"p{n}": {"$ref": "#/$defs/d0"} for n in range(400)}
    assert without_references({"properties": many, "$defs": nested})["properties"]["p0"]


def test_references_are_looked_for_everywhere() -> None:
    """A quick look that most schemas end at."""
    assert has_references({"a": [{"b": {"$ref": "#"}}]})
    assert has_references({"$defs": {}})
    assert not has_references({"a": [{"b": 1}], "c": "$ref"})


def test_a_reference_to_a_root_that_takes_more_than_objects_takes_as_much() -> None:
    """The shown root takes objects alone, so what it was before stands among the definitions."""
    whole = {"additionalProperties": {"$ref": "#"}}
    assert without_references(whole) == {
        "additionalProperties": {"$ref": "#/$defs/definition"},
        "$defs": {"definition": {"additionalProperties": {"$ref": "#/$defs/definition"}}},
    }
    assert without_references({"type": "object", **whole}) == {"type": "object", **whole}


def test_references_in_members_that_are_no_words_of_the_language_go_with_them() -> None:
    """What they hold was put in where it is used; examples and constants are data and stay."""
    schema = {
        "properties": {"a": {"$ref": "#/components/A"}, "b": {"const": {"$ref": "x"}, "x-source": {"$ref": "y"}}},
        "components": {"A": {"type": "string"}, "B": {"$ref": "#/$defs/gone"}},
        "x-note": {"kept": True},
    }
    assert without_references(schema) == {
        "properties": {"a": {"type": "string"}, "b": {"const": {"$ref": "x"}}},
        "x-note": {"kept": True},
    }
