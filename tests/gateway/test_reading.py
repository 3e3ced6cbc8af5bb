"""Arguments as models really send them."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anyact_server.errors import UsageError
from anyact_server.gateway.reading import objects, read


@pytest.mark.case("S4")
@pytest.mark.parametrize("nothing", [None, {}, "", "  ", "{}"])
def test_absent_arguments_are_an_empty_object(nothing: Any) -> None:
    """Omitted, null, empty and an empty object as a string are one and the same."""
    assert read("t", nothing).given == {}


@pytest.mark.case("S4")
def test_an_object_as_a_string_is_unwrapped() -> None:
    """Models double-encode."""
    assert read("t", '{"a": [1]}').given == {"a": [1]}


@pytest.mark.case("S4")
@pytest.mark.parametrize("wrong", [[1], 3, True, "[1]", "words", '{"broken'])
def test_other_arguments_are_refused(wrong: Any) -> None:
    """With the tool's name and what was given."""
    with pytest.raises(UsageError, match="t: the arguments must be an object, not"):
        read("t", wrong)


@pytest.mark.parametrize(
    ("value", "found"),
    [
        ("one need", ("one need",)),
        (["a", " b  c "], ("a", "b c")),
        ('["a", "b"]', ("a", "b")),
        ("[not json", ("[not json",)),
        (None, ()),
        ([None, "", 7], ("7",)),
    ],
)
def test_a_list_of_strings_may_come_as_one_string(value: Any, found: tuple[str, ...]) -> None:
    """A bare string is a list of one."""
    assert read("t", {"x": value}).texts("x") == found


def test_a_list_that_is_an_object_or_a_number_is_refused() -> None:
    """There is no guess to make."""
    for wrong in ({"a": 1}, 5):
        with pytest.raises(UsageError, match="`x` must be a list of strings, not"):
            read("t", {"x": wrong}).texts("x")


def test_required_lists_and_strings_are_asked_for_by_name() -> None:
    """The message says what to give."""
    with pytest.raises(UsageError, match="`x` is missing") as missing:
        read("t", {}).texts("x", required=True)
    assert missing.value.hint == "Give `x` as a list of strings."
    with pytest.raises(UsageError, match="`x` is missing"):
        read("t", {"x": None}).text("x", required=True)


def test_a_string_may_come_in_a_list() -> None:
    """A list of one string is that string; other types are refused."""
    assert read("t", {"x": ["a"]}).text("x") == "a"
    assert read("t", {}).text("x") is None
    with pytest.raises(UsageError, match="must be a string, not a list"):
        read("t", {"x": ["a", "b"]}).text("x")
    with pytest.raises(UsageError, match="must be a string, not a truth value"):
        read("t", {"x": True}).text("x")


def test_other_names_are_taken_in_order_and_only_the_first() -> None:
    """What is not taken stays there for whoever asks next."""
    reading = read("t", {"tool": "x", "name": "y"})
    assert reading.text("action", "tool", "name") == "x"
    assert reading.rest() == {"name": "y"}


def test_null_falls_through_to_another_name() -> None:
    """A null is no value."""
    assert read("t", {"action": None, "tool": "x"}).text("action", "tool") == "x"


def test_choices_are_words_in_any_case() -> None:
    """An unknown word lists the known ones."""
    assert read("t", {"v": " Grep "}).choice("v", ("page", "grep")) == "grep"
    assert read("t", {}).choice("v", ("page", "grep")) == "page"
    with pytest.raises(UsageError, match="`v` is 'x'") as wrong:
        read("t", {"v": "x"}).choice("v", ("page", "grep"))
    assert wrong.value.hint == "Allowed: page, grep."


@pytest.mark.parametrize(("value", "found"), [(2, 2.0), ("2.5", 2.5), (None, None), ("", None), (0, 0.0)])
def test_numbers_may_come_as_strings(value: Any, found: float | None) -> None:
    """Zero is a number."""
    assert read("t", {"n": value}).number("n") == found


@pytest.mark.parametrize("wrong", ["x", True, [], -1, float("inf"), float("nan"), "nan"])
def test_what_is_no_number_is_refused(wrong: Any) -> None:
    """Nor is a negative one taken."""
    with pytest.raises(UsageError, match="`n` must be a number"):
        read("t", {"n": wrong}).number("n")


def test_whole_numbers_are_brought_within_bounds_with_a_note() -> None:
    """Nothing is changed in silence."""
    reading = read("t", {"n": 900, "m": 2.5, "k": 3})
    assert reading.whole("n", low=1, high=50) == 50
    assert reading.whole("m", low=1) == 2
    assert reading.whole("k", low=1) == 3
    assert reading.whole("absent", low=1) is None
    assert reading.close() == ("`n` 900 was taken as 50.", "`m` 2.5 was taken as 2.")


@pytest.mark.parametrize(
    ("value", "found"), [(True, True), ("TRUE", True), ("false", False), ("", False), (None, False)]
)
def test_truth_values_may_be_words(value: Any, found: bool) -> None:
    """Models write them as strings."""
    assert read("t", {"f": value}).flag("f") is found


def test_other_truth_values_are_refused() -> None:
    """One is not true."""
    with pytest.raises(UsageError, match="must be true or false, not a number"):
        read("t", {"f": 1}).flag("f")


def test_unknown_keys_are_reported_and_not_fatal() -> None:
    """Each by its name, cut short."""
    reading = read("t", {"a": "x", "zzz": 1, "y" * 100: 2})
    assert reading.text("a") == "x"
    assert reading.close() == (f"Ignored, t knows no such argument: zzz, {'y' * 40}.",)


@pytest.mark.parametrize(
    ("value", "found"),
    [
        ([{"a": 1}], ({"a": 1},)),
        ({"a": 1}, ({"a": 1},)),
        ('[{"a": 1}]', ({"a": 1},)),
        (['{"a": 1}'], ({"a": 1},)),
        (None, ()),
    ],
)
def test_objects_may_come_alone_or_as_strings(value: Any, found: tuple[Any, ...]) -> None:
    """A single task is a list of one."""
    assert objects(read("t", {"tasks": value}), "tasks") == found


def test_what_holds_no_objects_is_refused_by_place() -> None:
    """The message names the entry."""
    with pytest.raises(UsageError, match="must be a list of objects, not a number"):
        objects(read("t", {"tasks": 5}), "tasks")
    with pytest.raises(UsageError, match=r"`tasks\[1\]` must be an object, not a string"):
        objects(read("t", {"tasks": [{}, "x"]}), "tasks")
    with pytest.raises(UsageError, match=r"`tasks\[0\]` must be an object, not null"):
        objects(read("t", {"tasks": [None]}), "tasks")


@given(
    st.recursive(
        st.none() | st.booleans() | st.floats() | st.text(),
        lambda part: st.lists(part) | st.dictionaries(st.text(), part),
    )
)
def test_any_json_ends_in_a_reading_or_in_a_usage_error(value: Any) -> None:
    """Nothing that a model sends raises anything else."""
    for take in ("texts", "text", "number", "flag"):
        try:
            reading = read("t", {"x": value})
            getattr(reading, take)("x")
            reading.close()
        except UsageError:
            pass
