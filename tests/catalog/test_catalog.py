"""The catalog: what there is, what it is called, what changes."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import pytest

from anyact_server.catalog import Catalog, Store, action_id
from anyact_server.errors import StorageError, UnknownAction, UnknownServer
from anyact_server.types import CatalogChange, Override, ServerSpec, Snapshot


def spec(name: str, **more: Any) -> ServerSpec:
    """A server that is started by a command of its own."""
    return ServerSpec(name, "stdio", command=more.pop("command", f"run-{name}"), **more)


def tool(name: str, **more: Any) -> dict[str, Any]:
    """An item of a tool list."""
    return {"name": name, "inputSchema": {"type": "object", "properties": {}}, **more}


def offer(catalog: Catalog, server: str, *tools: Any, **more: Any) -> CatalogChange:
    """Let a server be seen to offer these tools, given by name or as they are."""
    items = tuple(tool(each) if isinstance(each, str) else each for each in tools)
    return catalog.record_snapshot(Snapshot(server, tools=items, taken_at=more.pop("taken_at", 1.0), **more))


def names(catalog: Catalog) -> list[str]:
    """The ids of all actions."""
    return [action.id for action in catalog.actions()]


def refusal(catalog: Catalog, name: str, visible: frozenset[str] | None = None) -> UnknownAction:
    """The error that a name ends in."""
    with pytest.raises(UnknownAction) as caught:
        catalog.resolve(name, visible=visible)
    return caught.value


@pytest.mark.case("N2")
@pytest.mark.parametrize("order", [("a", "b"), ("b", "a")])
def test_two_servers_with_the_same_names_stand_side_by_side(order: tuple[str, str]) -> None:
    """Whichever comes first: both are reached by id, the bare name lists both, and nothing is guessed."""
    catalog = Catalog(Store(), [spec(name) for name in order])
    for name in order:
        offer(catalog, name, "search", "send_email", f"only_{name}")
    for name in order:
        action = catalog.resolve(f"{name}__search")
        assert (action.server, action.name) == (name, "search")
    error = refusal(catalog, "search")
    assert error.suggestions == ("a__search", "b__search")
    assert "2 servers offer an action called 'search': a__search, b__search" in error.message
    assert catalog.resolve("only_a").id == "a__only_a"
    assert catalog.resolve("search", visible=frozenset({"b__search"})).server == "b"
    wrong = refusal(catalog, "a__serch")
    assert "a__search" in wrong.suggestions
    assert "a__search" in str(wrong.hint)
    catalog.close()


@pytest.mark.case("N3")
def test_every_listed_id_resolves_whatever_stands_in_the_names() -> None:
    """By table, not by splitting."""
    parts = ["x", "x__y", "__x", "x__", "_", "x-y", "resolve-library-id"]
    catalog = Catalog(Store(), [spec(name) for name in parts])
    for server in parts:
        offer(catalog, server, *parts)
    assert len(names(catalog)) == len(parts) ** 2
    for action in catalog.actions():
        found = catalog.resolve(action.id)
        assert (found.server, found.name) == (action.server, action.name)


@pytest.mark.case("N1")
def test_ids_are_the_same_after_a_restart_and_in_another_home(tmp_path: Path) -> None:
    """The server's own names come back exactly."""
    odd = ["n" * 128, "a.b", "a/b", "a b", "日本語"]
    found = []
    for home in (tmp_path / "one", tmp_path / "two"):
        home.mkdir()
        catalog = Catalog(Store(home), [spec("awslabs.aws-iac-mcp-server")])
        offer(catalog, "awslabs.aws-iac-mcp-server", *odd)
        catalog.close()
        catalog = Catalog(Store(home), [spec("awslabs.aws-iac-mcp-server")])
        found.append([(action.id, action.name) for action in catalog.actions()])
        catalog.close()
    assert found[0] == found[1]
    assert [name for _, name in found[0]] == odd


@pytest.mark.case("N2")
def test_hidden_actions_are_never_suggested_and_look_like_none() -> None:
    """Under rules of visibility an unknown, a hidden and a vanished name are told the same."""
    catalog = Catalog(Store(), [spec("a"), spec("b")])
    offer(catalog, "a", "search_docs", "gone")
    offer(catalog, "a", "search_docs")
    offer(catalog, "b", "search_docz")
    seen = frozenset({"b__search_docz"})
    errors = [refusal(catalog, name, seen) for name in ("a__search_docs", "a__gone", "a__never_was")]
    assert [
        error.message.replace(name, "X")
        for error, name in zip(errors, ("a__search_docs", "a__gone", "a__never_was"), strict=True)
    ] == ["no action is called 'X'"] * 3
    assert all("a__" not in str(error.suggestions) + str(error.hint) for error in errors)


@pytest.mark.case("G2")
def test_changes_are_told_with_their_fields_and_a_vanished_action_says_so() -> None:
    """Added, removed, changed: one notice; the removed one is refused as no longer offered, never re-pointed."""
    catalog = Catalog(Store(), [spec("s")])
    told: list[CatalogChange] = []
    stop = catalog.listen(told.append)
    offer(catalog, "s", "y", "z")
    before = catalog.version
    change = offer(
        catalog, "s", "x", tool("z", inputSchema={"type": "object", "properties": {"q": {"type": "string"}}})
    )
    assert change == CatalogChange("s", ("s__x",), ("s__y",), {"s__z": ("input_schema",)})
    assert told == [CatalogChange("s", ("s__y", "s__z")), change]
    assert catalog.version > before
    assert catalog.get("s__y") is None
    assert "s__y is no longer offered by the server 's'" in refusal(catalog, "s__y").message
    assert "q" in catalog.resolve("s__z").input_schema["properties"]
    assert not offer(
        catalog, "s", "x", tool("z", inputSchema={"properties": {"q": {"type": "string"}}, "type": "object"})
    )
    stop()
    stop()
    offer(catalog, "s")
    assert len(told) == 2
    assert names(catalog) == []


@pytest.mark.case("G3")
def test_what_is_known_stays_searchable_when_it_cannot_be_checked(tmp_path: Path) -> None:
    """Stale is said, not hidden; a sound reading clears it."""
    catalog = Catalog(Store(tmp_path), [spec("s"), spec("never")])
    offer(catalog, "s", "x")
    catalog.mark_stale("s", True)
    catalog.mark_stale("never", True)
    catalog.mark_stale("unknown", True)
    assert [action.state for action in catalog.actions()] == ["stale"]
    assert catalog.is_stale("s") and not catalog.is_stale("never")
    version = catalog.version
    catalog.mark_stale("s", True)
    assert catalog.version == version
    offer(catalog, "s", "x")
    assert [action.state for action in catalog.actions()] == ["current"]
    catalog.close()


@pytest.mark.case("G1")
def test_a_list_that_broke_off_keeps_what_was_known_and_is_stale() -> None:
    """The items that were read are new, the others stay; the reason is told."""
    catalog = Catalog(Store(), [spec("s")])
    offer(catalog, "s", "a", "b")
    change = offer(catalog, "s", tool("a", description="new"), "c", partial={"tools": "page 2 failed"})
    assert (change.added, change.removed) == (("s__c",), ())
    assert {action.name: action.state for action in catalog.actions()} == {"a": "stale", "c": "stale", "b": "stale"}
    assert catalog.warnings("s") == ("tools could not be read whole: page 2 failed",)


@pytest.mark.case("Z1")
def test_a_change_after_approval_shows_until_it_is_approved(tmp_path: Path) -> None:
    """Description, a default in the schema, swapped names: each shows; key order does not; restarts forget nothing."""
    schema = {"type": "object", "properties": {"q": {"type": "string", "default": "x"}}}
    first, second = tool("one", description="1", inputSchema=schema), tool("two", description="2")
    catalog = Catalog(Store(tmp_path), [spec("s")])
    offer(catalog, "s", first, second, "three")
    catalog.approve(["s__one", "two"])
    assert [catalog.approved(f"s__{name}") for name in ("one", "two", "three", "none")] == [True, True, None, None]

    def states(*tools: Any) -> list[str]:
        offer(catalog, "s", *tools)
        return [action.state for action in catalog.actions()]

    assert states({**dict(reversed(first.items()))}, second, "three") == ["current", "current", "current"]
    assert states({**first, "description": "evil"}, second, "three") == ["changed", "current", "current"]
    other = {"type": "object", "properties": {"q": {"type": "string", "default": "rm -rf"}}}
    assert states({**first, "inputSchema": other}, second, "new") == ["changed", "current", "current"]
    assert states({**first, "name": "two"}, {**second, "name": "one"}) == ["changed", "changed"]
    catalog.close()
    catalog = Catalog(Store(tmp_path), [spec("s")])
    assert [action.state for action in catalog.actions()] == ["changed", "changed"]
    assert catalog.approved("s__one") is False
    catalog.mark_stale("s", True)
    assert [action.state for action in catalog.actions()] == ["changed", "changed"]
    catalog.approve(["s__one"])
    catalog.disapprove(["s__two", "s__never"])
    assert {action.name: action.state for action in catalog.actions()} == {"one": "stale", "two": "stale"}
    with pytest.raises(UnknownAction):
        catalog.approve(["s__one", "nothing"])
    catalog.close()


@pytest.mark.case("Z1")
def test_a_damaged_store_is_refused(tmp_path: Path) -> None:
    """It does not mean that there are no approvals."""
    Catalog(Store(tmp_path), [spec("s")]).close()
    (tmp_path / "catalog.sqlite").write_bytes(b"x" * 5000)
    with pytest.raises(StorageError, match="damaged"):
        Store(tmp_path)


@pytest.mark.case("S1")
def test_faulty_actions_are_listed_with_their_reason() -> None:
    """They are found by name and say why they cannot be called; the others are whole."""
    catalog = Catalog(Store(), [spec("s")])
    offer(catalog, "s", tool("bad", inputSchema=None), 42, "good")
    assert [(action.name, action.fault) for action in catalog.actions()] == [
        ("bad", "its input schema is missing"),
        ("good", None),
    ]
    assert catalog.warnings("s") == (
        "tool 'bad' cannot be called: its input schema is missing",
        "tool number 2 is left out: it is no object",
    )
    assert catalog.warnings("nobody") == ()


def test_the_users_changes_are_laid_over_what_servers_say() -> None:
    """Titles, descriptions, tags, pins, limits; ids and the server's own names stay."""
    over = {"x": Override("Shown", "Better", 5.0)}
    catalog = Catalog(
        Store(), [spec("s", title="T", description="D", tags=("t",), pin=("x",), overrides=over), spec("u")]
    )
    offer(catalog, "s", tool("x", description="worse"), "y", info={"name": "n"}, instructions="i")
    offer(catalog, "u", "y", info={"name": "n"}, instructions="i")
    x, y, z = catalog.actions()
    assert (x.id, x.name, x.title, x.description, x.call_s, x.pinned) == ("s__x", "x", "Shown", "Better", 5.0, True)
    assert (x.server_title, x.server_description, x.tags, y.pinned) == ("T", "D", ("t",), False)
    assert (z.server_title, z.server_description) == ("n", "i")


@pytest.mark.case("C4")
def test_reconfiguring_touches_only_what_differs() -> None:
    """One added, one edited, one removed, one left alone; each change is told once."""
    catalog = Catalog(Store(), [spec("a"), spec("b"), spec("c")])
    for server in "abc":
        offer(catalog, server, "x")
    untouched = catalog.resolve("a__x")
    told: list[CatalogChange] = []
    catalog.listen(told.append)
    changes = catalog.reconfigure([spec("d"), spec("a"), spec("b", tags=("new",))])
    assert changes == told == [CatalogChange("c", removed=("c__x",)), CatalogChange("b", changed={"b__x": ("tags",)})]
    assert catalog.resolve("a__x") is untouched
    assert [each.name for each in catalog.specs()] == ["d", "a", "b"]
    assert names(catalog) == ["a__x", "b__x"]
    assert "c__x: the server 'c' was removed from the configuration" in refusal(catalog, "c__x").message
    assert catalog.of_server("c") == ()
    back = catalog.reconfigure([spec("c"), spec("a"), spec("b", tags=("new",))])
    assert back == [CatalogChange("c", added=("c__x",))]
    assert catalog.reconfigure(catalog.specs()) == []


def test_disabled_servers_and_actions_are_not_there_and_say_why() -> None:
    """Both ways of switching off; the snapshot is kept."""
    catalog = Catalog(Store(), [spec("a", disabled=True), spec("b", disabled_actions=("x*", "!xy"))])
    offer(catalog, "a", "x")
    offer(catalog, "b", "x", "xy", "z")
    assert names(catalog) == ["b__xy", "b__z"]
    assert "the server 'a' is disabled" in refusal(catalog, "a__x").message
    assert "the server 'b' has this action switched off" in refusal(catalog, "b__x").message
    assert catalog.snapshot("a") is not None
    catalog.reconfigure([spec("a"), spec("b")])
    assert names(catalog) == ["a__x", "b__x", "b__xy", "b__z"]


def test_an_entry_that_leads_elsewhere_makes_what_is_known_stale() -> None:
    """Another command under the same name has to be read before it is believed."""
    catalog = Catalog(Store(), [spec("s")])
    assert catalog.snapshot("s") is None and catalog.snapshot("nobody") is None
    offer(catalog, "s", "x")
    known = catalog.snapshot("s")
    assert known is not None and known.tools == (tool("x"),)
    catalog.reconfigure([spec("s", command="another")])
    assert catalog.snapshot("s") is None
    assert [action.state for action in catalog.actions()] == ["stale"]
    offer(catalog, "s", "x")
    assert catalog.snapshot("s") is not None
    assert [action.state for action in catalog.actions()] == ["current"]
    catalog.reconfigure([spec("s", command="another", fault="no key")])
    assert [action.state for action in catalog.actions()] == ["stale"]


def test_unknown_servers_are_refused_with_near_names() -> None:
    """For reading, for recording, for forgetting."""
    catalog = Catalog(Store(), [spec("github"), spec("gitlab")])
    with pytest.raises(UnknownServer) as caught:
        catalog.spec("githab")
    assert "github" in str(caught.value.hint)
    with pytest.raises(UnknownServer, match="no server is called 'weather'") as caught:
        offer(catalog, "weather", "x")
    assert "Configured are: github, gitlab." in str(caught.value.hint)
    with pytest.raises(UnknownServer) as caught:
        Catalog(Store()).spec("x")
    assert caught.value.hint is None
    assert not catalog.forget("weather")


def test_forgetting_a_server_takes_its_actions_away() -> None:
    """Until it is read again."""
    catalog = Catalog(Store(), [spec("s")])
    offer(catalog, "s", "x")
    assert catalog.forget("s")
    assert names(catalog) == [] and catalog.snapshot("s") is None
    assert offer(catalog, "s", "x").added == ("s__x",)


def test_an_id_once_given_is_never_pointed_at_another_server() -> None:
    """Two names whose hashes collide: the later action is left out and told, not swapped in."""
    first, second = "x!!; ; . y", "x!!;.@;! y"
    assert action_id("a b", first) == action_id("a.b", second)
    catalog = Catalog(Store(), [spec("a b"), spec("a.b")])
    offer(catalog, "a b", first)
    offer(catalog, "a.b", second, "y")
    assert [(action.server, action.name) for action in catalog.actions()] == [("a b", first), ("a.b", "y")]
    assert catalog.warnings("a.b") == (f"tool {second!r} is left out: its id belongs to the server 'a b'",)


def test_many_names_are_listed_in_part() -> None:
    """A message stays readable."""
    catalog = Catalog(Store(), [spec(f"s{n}") for n in range(15)])
    for number in range(15):
        offer(catalog, f"s{number}", "search")
    error = refusal(catalog, "search")
    assert "15 servers offer" in error.message and error.message.endswith(", …")
    assert len(error.suggestions) == 10
    assert len(refusal(catalog, "serch").suggestions) == 5
    assert refusal(catalog, "zzzzzzzzzz").suggestions == ()


def test_threads_may_read_while_another_one_records() -> None:
    """Search threads and the loop share one catalog."""
    catalog = Catalog(Store(), [spec("s")])
    offer(catalog, "s", *(f"t{n}" for n in range(50)))
    stop = threading.Event()
    wrong: list[BaseException] = []

    def look() -> None:
        while not stop.is_set():
            try:
                assert all(action.input_schema["type"] == "object" for action in catalog.actions())
            except (AssertionError, KeyError, StorageError) as error:
                wrong.append(error)

    readers = [threading.Thread(target=look) for _ in range(2)]
    for reader in readers:
        reader.start()
    for round_ in range(10):
        offer(catalog, "s", *(tool(f"t{n}", description=str(round_)) for n in range(50)))
    stop.set()
    for reader in readers:
        reader.join(5)
    assert wrong == []
