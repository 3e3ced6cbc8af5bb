"""Shown schemas: fit for strict clients, and the same in meaning."""

from __future__ import annotations

import copy
import json
from typing import Any

import jsonschema_rs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from anyact_server.catalog.repair import DIALECT, is_plain, repair
from anyact_server.catalog.repair_places import MANY, MAPS, ONE, SHUTTERS, TYPES, inside
from anyact_server.types import Json

JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 12) | st.text(alphabet="ab$#/", max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["a", "b", "c"]), inner, max_size=3),
    max_leaves=6,
)
JSON_SAMPLES: list[Any] = [1, "x", None, [], {}]
KEYWORDS = st.sampled_from(
    sorted(
        {*ONE, *SHUTTERS, *MANY, *MAPS, "type", "required", "enum", "const", "$ref", "dependencies", "$id", "$anchor"}
        | {"exclusiveMinimum", "minimum", "maxItems", "description", "default"}
    )
)
POINTERS = st.sampled_from(["#", "#/$defs/a", "#/definitions/b", "#/properties/a", "#x", "https://elsewhere/", "#/a/0"])


def wild(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    """Objects that look like schemas, with anything under any keyword."""
    named = st.dictionaries(st.sampled_from(["a", "b", "c:d"]), inner, max_size=3)
    return st.dictionaries(KEYWORDS, inner | st.lists(inner, max_size=3) | named | POINTERS, max_size=5)


ANY_SCHEMA = st.recursive(
    st.none() | st.booleans() | st.integers(-2, 9) | st.sampled_from([*sorted(TYPES), "str", "a"]) | JSON_VALUES,
    wild,
    max_leaves=25,
)


def strict_problems(schema: Json, path: str = "") -> list[str]:
    """What a strict reader refuses in a schema: booleans for schemas, arrays without items, lists of items."""
    if not isinstance(schema, dict):
        return [f"{path}: {schema!r} is no schema object"]
    found = []
    kind = schema.get("type")
    if (kind == "array" or (isinstance(kind, list) and "array" in kind)) and "items" not in schema:
        found.append(f"{path}: an array without items")
    if isinstance(schema.get("items"), list):
        found.append(f"{path}: a list of items")
    if kind is not None and not set(kind if isinstance(kind, list) else [kind]) <= TYPES:
        found.append(f"{path}: unknown type {kind!r}")
    parts = [part for part in inside(schema) if not isinstance(part, bool)]
    shut = {key: value for key, value in schema.items() if key in ("additionalProperties", "unevaluatedProperties")}
    booleans = [part for part in inside({k: v for k, v in schema.items() if k not in shut}) if isinstance(part, bool)]
    found += [f"{path}: a boolean schema" for _ in booleans]
    return found + [
        problem for number, part in enumerate(parts) for problem in strict_problems(part, f"{path}/{number}")
    ]


def references(schema: Json) -> list[str]:
    """Every reference in a schema, its kept definitions included."""
    if not isinstance(schema, dict):
        return []
    own = [schema["$ref"]] if isinstance(schema.get("$ref"), str) else []
    return own + [found for part in inside(schema) for found in references(part)]


def shown(schema: Json) -> dict[str, Any]:
    """The shown form of a schema that has no fault; checked to be strict and without dangling references."""
    result = repair(schema)
    assert result.fault is None
    form = dict(result.shown)
    assert form["type"] == "object" and isinstance(form["properties"], dict)
    assert not {"anyOf", "oneOf", "allOf", "$ref"} & form.keys()
    assert strict_problems(form) == []
    for reference in references(form):
        assert reference == "#" or reference.removeprefix("#/$defs/") in form["$defs"]
    return form


def accepts(schema: Json, value: Json) -> bool:
    """Whether a schema allows a value, by the checker that arguments are checked with."""
    return jsonschema_rs.validator_for(schema).is_valid(value)


@pytest.mark.case("S1")
@pytest.mark.parametrize(
    ("schema", "words"),
    [
        ({"type": "string"}, "for a value of type string"),
        ({"type": ["string", "null"]}, "allows no object"),
        (None, "missing"),
        ([], "a list, not an object"),
        ("object", "a text, not an object"),
        (True, "a truth value, not an object"),
        (3, "a number, not an object"),
    ],
)
def test_a_schema_that_no_arguments_can_fit_is_a_fault_with_its_reason(schema: Json, words: str) -> None:
    """The action is listed with the reason and shows no arguments."""
    result = repair(schema)
    assert words in (result.fault or "")
    assert result.shown == {"type": "object", "properties": {}}


@pytest.mark.case("S1")
def test_a_property_without_type_means_any_value() -> None:
    """It stays as it is."""
    schema = {"type": "object", "properties": {"a": {"description": "anything"}, "b": {"type": "string"}}}
    form = shown(schema)
    assert form == schema
    assert all(accepts(form, {"a": value}) for value in JSON_SAMPLES)


@pytest.mark.parametrize("schema", [{}, {"properties": {}}, {"type": ["object", "null"]}, {"type": "Object"}])
def test_a_root_without_a_proper_type_is_an_object(schema: Json) -> None:
    """Arguments always are one, so this changes nothing."""
    assert shown(schema) == {"type": "object", "properties": {}}


def test_a_sound_schema_is_shown_as_it_is() -> None:
    """The very same value, in the server's own order."""
    schema = {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "type": "object",
        "properties": {
            "z": {"type": "string", "enum": ["b", "a"]},
            "a": {"type": "array", "items": {"type": "integer", "minimum": 1}},
            "o": {"type": "object", "properties": {"x": {"type": "null"}}, "required": ["x"]},
        },
        "required": ["z"],
        "additionalProperties": False,
    }
    assert is_plain(schema)
    assert repair(schema).shown is schema


@pytest.mark.parametrize(
    "part",
    [
        {"type": "object", "properties": []},
        {"type": "object", "properties": {}, "required": "a"},
        {"type": "object", "properties": {}, "required": []},
        {"type": "object", "properties": {}, "required": ["a"]},
        {"type": "object", "properties": {"a": {"type": "null"}}, "required": ["a", "a"]},
        {"type": "object", "additionalProperties": {}},
        {"type": "string", "items": {"type": "null"}},
        {"type": "array", "items": []},
        {"type": "array"},
        {"type": ["string"]},
        {"type": "string", "minimum": 1, "exclusiveMinimum": True},
        {"anyOf": []},
        True,
    ],
)
def test_whatever_may_need_repair_is_not_taken_for_plain(part: Json) -> None:
    """The quick look lets through only what surely is fine."""
    assert not is_plain({"type": "object", "properties": {"p": part}})
    shown({"type": "object", "properties": {"p": part}})


S2 = {
    "$schema": "http://json-schema.org/draft-07/schema#",
    "title": "Args",
    "description": "About them",
    "x-mine": {"kept": True},
    "minProperties": 1,
    "type": "object",
    "properties": {
        "place": {"$ref": "#/$defs/Place"},
        "tag": {"$ref": "#/definitions/My:Tag", "description": "with more words"},
        "tags": {"type": "array", "items": {"$ref": "#/definitions/My%3ATag"}},
    },
    "required": ["place"],
    "additionalProperties": False,
    "$defs": {
        "Place": {"type": "object", "properties": {"x": {"$ref": "#/$defs/Number"}}, "required": ["x"]},
        "Number": {"type": "number"},
        "Unused": {"type": "string", "pattern": "^never$"},
    },
    "definitions": {"My:Tag": {"type": "string", "minLength": 2, "description": "a tag"}},
}


@pytest.mark.case("S2")
def test_references_are_put_in_and_all_words_of_the_root_survive() -> None:
    """By `$defs`, by `definitions` with a colon in the key, with words beside the reference; unused ones go."""
    form = shown(S2)
    assert references(form) == []
    assert form["properties"]["place"]["properties"]["x"] == {"type": "number"}
    assert form["properties"]["tag"] == {"type": "string", "minLength": 2, "description": "with more words"}
    assert form["properties"]["tags"]["items"]["minLength"] == 2
    for key in ("$schema", "title", "description", "x-mine", "minProperties", "required", "additionalProperties"):
        assert form[key] == S2[key]
    assert "Unused" not in json.dumps(form)
    values: list[Any] = [
        {"place": {"x": 1}},
        {"place": {"x": 1}, "tag": "ab"},
        {},
        {"place": {}},
        {"place": {"x": 1}, "y": 1},
    ]
    for value in values:
        assert accepts(form, value) == accepts(S2, value)


@pytest.mark.case("S2")
def test_a_recursive_schema_keeps_its_definitions() -> None:
    """Trees and mutual recursion cannot be put in; their definitions stay, with clean names."""
    schema = {
        "type": "object",
        "properties": {"root": {"$ref": "#/definitions/my:node"}, "self": {"$ref": "#"}},
        "definitions": {
            "my:node": {
                "type": "object",
                "properties": {"v": {"type": "integer"}, "kids": {"$ref": "#/definitions/list"}},
                "required": ["v"],
            },
            "list": {"type": "array", "items": {"$ref": "#/definitions/my:node"}},
        },
    }
    form = shown(schema)
    assert set(form["$defs"]) == {"my_node", "list"} or set(form["$defs"]) == {"my_node"}
    good = {"root": {"v": 1, "kids": [{"v": 2, "kids": []}]}, "self": {"root": {"v": 1}}}
    bad: list[Any] = [{"root": {"v": 1, "kids": [{}]}}, {"self": {"root": {}}}]
    for value in [good, *bad]:
        assert accepts(form, value) == accepts(schema, value)


@pytest.mark.case("S3")
def test_arrays_tuples_and_booleans_take_the_form_that_strict_clients_accept() -> None:
    """Each legal oddity in its strict form, with the same meaning."""
    schema = {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "type": "object",
        "properties": {
            "array": {"type": "array"},
            "pair": {"type": "array", "items": [{"type": "string"}, {"type": "integer"}], "additionalItems": False},
            "open": {"type": "array", "items": [{"type": "string"}]},
            "rest": {"type": "array", "items": [{"type": "string"}], "additionalItems": {"type": "integer"}},
            "any": True,
            "none": False,
            "empty": {},
            "map": {"type": "object", "additionalProperties": {"type": "array"}},
            "shut": {"type": "object", "additionalProperties": False},
            "maybe": {"type": ["array", "null"]},
        },
    }
    form = shown(schema)
    assert form["$schema"] == DIALECT
    properties = form["properties"]
    assert properties["array"] == {"type": "array", "items": {}}
    assert properties["any"] == {} and properties["empty"] == {} and properties["none"] == {"not": {}}
    assert properties["map"]["additionalProperties"] == {"type": "array", "items": {}}
    assert properties["shut"]["additionalProperties"] is False
    assert properties["pair"]["maxItems"] == 2
    samples: dict[str, list[Any]] = {
        "array": [[], [1, "a"], {}],
        "pair": [["a", 1], ["a"], [], ["a", 1, 2], [1, "a"], ["a", "b"]],
        "open": [["a", 1, None], [1], []],
        "rest": [["a", 1, 2], ["a", "b"], [1]],
        "any": [1, None],
        "none": [1],
        "map": [{"x": []}, {"x": 1}],
        "shut": [{}, {"x": 1}],
        "maybe": [[], None, 1],
    }
    for name, values in samples.items():
        for value in values:
            assert accepts(form, {name: value}) == accepts(schema, {name: value}), (name, value)


@pytest.mark.case("S3")
def test_prefix_items_of_the_new_dialect() -> None:
    """With nothing, anything or something after them."""
    for rest in (False, True, {"type": "integer"}, None):
        part = {"type": "array", "prefixItems": [{"type": "string"}, True]} | ({} if rest is None else {"items": rest})
        schema = {"type": "object", "properties": {"p": part}}
        form = shown(schema)
        for value in (["a", 1], ["a", 1, 2], ["a", 1, "b"], [1], []):
            assert accepts(form, {"p": value}) == accepts(schema, {"p": value}), (rest, value)


def test_older_drafts_become_the_newest() -> None:
    """`dependencies`, boolean bounds, `required: true` within a property."""
    schema = {
        "$schema": "http://json-schema.org/draft-04/schema#",
        "type": "object",
        "properties": {
            "n": {"type": "number", "minimum": 1, "exclusiveMinimum": True},
            "m": {"type": "number", "maximum": 9, "exclusiveMaximum": False},
            "must": {"type": "string", "required": True},
        },
        "dependencies": {"n": ["m"], "m": {"properties": {"must": {"minLength": 2}}}},
    }
    form = shown(schema)
    assert form["properties"]["n"] == {"type": "number", "exclusiveMinimum": 1}
    assert form["properties"]["m"] == {"type": "number", "maximum": 9}
    assert form["required"] == ["must"]
    assert form["dependentRequired"] == {"n": ["m"]}
    assert form["$schema"] == DIALECT
    assert not accepts(form, {"must": "ab", "n": 2})
    assert not accepts(form, {"must": "a", "m": 2})


def test_a_union_at_the_root_becomes_one_object_that_says_what_goes_together() -> None:
    """Wider than the original, never narrower."""
    schema = {
        "type": "object",
        "description": "Find something.",
        "properties": {"q": {"type": "string"}},
        "oneOf": [
            {"required": ["id"], "properties": {"id": {"type": "integer"}}},
            {"required": ["name", "kind"], "properties": {"name": {"type": "string"}, "kind": True}},
        ],
    }
    form = shown(schema)
    assert list(form["properties"]) == ["q", "id", "name", "kind"]
    assert form["description"] == "Find something. Give id, or name and kind."
    for value in ({"id": 1}, {"name": "x", "kind": 2}, {"q": "x", "id": 3}):
        assert accepts(schema, value) and accepts(form, value)


def test_schemas_of_a_hostile_size_stay_small_and_quick() -> None:
    """References that double at every step, and nesting without end."""
    bomb: dict[str, Any] = {
        f"d{n}": {"type": "object", "properties": {k: {"$ref": f"#/$defs/d{n + 1}"} for k in "ab"}} for n in range(40)
    }
    bomb["d40"] = {"type": "string"}
    form = shown({"type": "object", "properties": {"x": {"$ref": "#/$defs/d0"}}, "$defs": bomb})
    assert len(json.dumps(form)) < 20_000
    deep: Any = {"type": "string"}
    for _ in range(300):
        deep = {"type": "object", "properties": {"x": deep}}
    assert len(json.dumps(shown(deep))) < 10_000
    wide = {"type": "object", "properties": {f"p{n}": {"type": "array"} for n in range(5000)}}
    assert len(shown(wide)["properties"]) == 5000


@given(ANY_SCHEMA)
def test_any_json_gives_a_strict_schema_or_a_fault(schema: Any) -> None:
    """Whatever a server sends: nothing raises, the original is left alone, the shown form is strict and can be used."""
    before = copy.deepcopy(schema)
    result = repair(schema)
    assert schema == before
    if result.fault is None:
        shown(schema)
    json.dumps(result.shown)


SOUND = st.recursive(
    st.sampled_from([{"type": "string"}, {"type": "integer"}, {}, True, {"enum": ["a", 1]}, {"const": "a"}]),
    lambda inner: (
        st.fixed_dictionaries({"type": st.just("array")}, optional={"items": inner, "maxItems": st.integers(0, 2)})
        | st.builds(lambda parts: {"type": "array", "prefixItems": parts}, st.lists(inner, min_size=1, max_size=2))
        | st.builds(lambda parts: {"anyOf": parts}, st.lists(inner, min_size=1, max_size=2))
        | st.builds(lambda part: {"not": part}, inner)
        | st.fixed_dictionaries(
            {"type": st.just("object")},
            optional={
                "properties": st.dictionaries(st.sampled_from("ab"), inner, max_size=2),
                "required": st.lists(st.sampled_from("ab"), unique=True, min_size=1),
                "additionalProperties": inner,
            },
        )
        | st.sampled_from([{"$ref": "#/$defs/one"}, {"$ref": "#/$defs/tree", "description": "x"}, {"$ref": "#"}])
    ),
    max_leaves=8,
)


@given(st.dictionaries(st.sampled_from("abc"), SOUND, max_size=3), SOUND, JSON_VALUES)
def test_the_shown_form_means_the_same(properties: dict[str, Any], one: Any, value: Any) -> None:
    """For sound schemas without unions at the root, original and shown form agree about every value."""
    tree = {"type": "object", "properties": {"a": {"$ref": "#/$defs/tree"}, "b": one}}
    schema = {"type": "object", "properties": properties, "$defs": {"one": {"type": ["string", "array"]}, "tree": tree}}
    form = shown(schema)
    for arguments in ({"a": value}, {"a": value, "b": value}, {"b": [value]}, {"c": {"a": value, "b": value}}):
        assert accepts(form, arguments) == accepts(schema, arguments)
