"""The whole way: judge, observe, read back."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from anyact_server.errors import DownstreamError, RemoteError
from anyact_server.grounding import Grounder, estimate, open_store, render
from anyact_server.interfaces import Grounder as GrounderProtocol
from anyact_server.settings import Settings
from anyact_server.telemetry import MASK
from anyact_server.types import LOCAL, Action, Json, Kind, Principal, ReadRequest, Verdict

from .conftest import Ground, HandClock, text_result

ACTION = Action("s__a", "s", "a")
ROWS: list[Json] = [{"id": i, "name": f"item {i}"} for i in range(20_000)]


def test_a_grounder_is_what_the_other_rooms_ask_for(ground: Ground) -> None:
    """It fits the Protocol."""
    grounder: GrounderProtocol = ground.grounder
    assert grounder.judge(text_result("x"), None).kind is Kind.OK


def test_a_small_result_costs_no_more_than_itself(ground: Ground) -> None:
    """No header, no handle; facts about the call beside it."""
    observation = ground.observe(text_result("hello world"), ACTION)
    assert render(observation) == "hello world"
    assert (observation.status, observation.summary, observation.handle) == ("ok", "ok", None)
    assert (observation.action, observation.server, observation.is_error) == ("s__a", "s", False)
    assert observation.tokens.shown == observation.tokens.raw == estimate("hello world")


@pytest.mark.case("O4")
@pytest.mark.parametrize(
    ("result", "summary"),
    [
        ({"content": []}, "ok: done, and the result is empty"),
        (text_result(""), "ok: done, and the result is empty"),
        ({"content": None}, "ok: done, and the result is empty"),
        ({}, "ok: done, and the result is empty"),
        (text_result("No results found"), "ok: done, nothing was found"),
        ({"content": [], "structuredContent": {"rows": [1, 2]}}, "ok: an object with rows [2]"),
        ({"content": [], "structuredContent": [1, 2]}, "ok: a list of 2"),
        ({"content": [], "structuredContent": 7}, "ok: a value"),
        ({"toolResult": {"a": 1}}, "ok: an object of 1 keys"),
    ],
)
def test_empty_and_structured_only_results_are_stated(ground: Ground, result: Json, summary: str) -> None:
    """An empty success stays a success and says so."""
    observation = ground.observe(result, ACTION)
    assert observation.status == "ok" and not observation.is_error
    assert observation.summary == summary
    assert render(observation)


@pytest.mark.case("O4")
def test_malformed_shapes_name_the_server(ground: Ground) -> None:
    """In a note that the model reads."""
    text = render(ground.observe({"content": "words"}, ACTION))
    assert text == "words\nnote: server 's': content is a string, not a list"


@pytest.mark.case("O1")
@pytest.mark.parametrize(
    "content",
    [
        [{"type": "text", "text": "404 Not Found"}],
        [{"type": "text", "text": "details " * 3000}],
        [],
        [{"type": "image", "data": "AAAA", "mimeType": "image/png"}],
    ],
)
def test_a_flagged_failure_stays_flagged(ground: Ground, content: list[Json]) -> None:
    """Whatever it carries; its content is shown once."""
    observation = ground.observe({"content": content, "isError": True, "structuredContent": {"why": "x"}}, ACTION)
    assert observation.is_error and observation.status == "error"
    assert observation.error is not None and observation.error.detected_by == "isError"
    assert render(observation).startswith("error (")
    assert render(observation).count("404 Not Found") <= 1
    assert observation.error.hint


@pytest.mark.case("O2")
def test_a_hidden_failure_is_marked_and_passes_unchanged(ground: Ground) -> None:
    """A hint with its ground above the unchanged content; flag and status stay."""
    observation = ground.observe(text_result("Error: not found"), ACTION)
    assert observation.status == "ok" and not observation.is_error and observation.error is None
    assert observation.suspected is not None and observation.suspected.kind is Kind.NOT_FOUND
    first, second = render(observation).split("\n")
    assert first.startswith("[looks like a failure (not_found, ") and second == "Error: not found"


def test_a_partial_failure_says_how_much(ground: Ground) -> None:
    """The status is partial."""
    value = {"completed": ["1"], "failures": [{"item": "2", "error": "HTTP 404: Not Found"}]}
    observation = ground.observe({"content": [], "structuredContent": value}, ACTION)
    assert observation.status == "partial"
    assert render(observation).startswith("[partly failed, 50% (not_found): HTTP 404")


@pytest.mark.case("O3")
def test_a_result_that_does_not_fit_its_schema_passes_with_a_warning(ground: Ground) -> None:
    """Unchanged data, a note, and the kind for the ledger."""
    action = Action("s__a", "s", "a", output_schema={"type": "object", "required": ["n"]})
    value = {"content": [], "structuredContent": {"m": 1}}
    assert ground.grounder.judge(value, action).kind is Kind.SCHEMA_MISMATCH
    observation = ground.observe(value, action)
    assert observation.status == "ok" and observation.data == {"m": 1}
    assert "note: the structured content does not fit the output schema" in render(observation)
    broken = Action("s__a", "s", "a", output_schema={"type": "nonsense"})
    assert ground.grounder.judge(value, broken).kind is Kind.OK
    assert "output schema cannot be used" in render(ground.observe(value, broken))


@pytest.mark.case("B1")
@pytest.mark.parametrize(
    "result",
    [
        text_result("log line of some words\n" * 450_000),
        {"content": [{"type": "text", "text": f"{i} " + "y" * 1000} for i in range(10_000)]},
        text_result("x" * 10_000_000, isError=True),
        {"content": [], "structuredContent": {"rows": ROWS * 15}},
        text_result("\U0001f600" * 300_000),
    ],
    ids=["text", "blocks", "error", "structured", "emoji"],
)
def test_huge_results_stay_under_the_ceiling(ground: Ground, result: Json) -> None:
    """Head, tail and size; the same for errors and structured data; the whole by its handle, later deleted."""
    observation = ground.observe(result, ACTION)
    text = render(observation)
    assert observation.tokens.shown <= 4000 and len(text.encode()) <= 50_000
    assert observation.tokens.raw > 100_000
    assert observation.handle is not None and observation.handle in text
    assert observation.elided and observation.elided[0].count > 10_000
    whole = ground.grounder.value(observation.handle, LOCAL)
    assert len(json.dumps(whole)) > 1_000_000
    ground.clock.time += 25 * 3600
    assert ground.store.sweep() == 1 and list((ground.home / "results").iterdir()) == []


def test_the_budget_of_the_call_is_held(ground: Ground) -> None:
    """Smaller or larger than the setting, at least 100."""
    value = {"content": [], "structuredContent": {"rows": ROWS}}
    for budget in (1, 300, 1000, 20_000):
        observation = ground.observe(value, ACTION, budget)
        assert observation.tokens.shown <= max(budget, 100) * 1.2 + 60
        assert observation.tokens.budget == max(budget, 100)


@pytest.mark.case("B2")
def test_pictures_on_failures_and_in_resources_stay_pictures(ground: Ground, picture: Callable[..., str]) -> None:
    """And nothing of them is in text or structured fields."""
    data = picture(1300, 1000, noise=True)
    resource = {"uri": "f:///a", "mimeType": "image/png", "blob": data}
    for content in (
        [{"type": "image", "data": data, "mimeType": "image/png"}],
        [{"type": "resource", "resource": resource}],
    ):
        observation = ground.observe({"content": content, "isError": True}, ACTION)
        assert [block["type"] for block in observation.blocks] == ["image"]
        assert len(observation.blocks[0]["data"]) < 1_400_000
        assert "scaled from 1300x1000" in render(observation) and data[:80] not in render(observation)
        original = ground.grounder.read(ReadRequest(f"{observation.handle}.c0", "raw"), LOCAL)
        assert original.blocks[0]["data"] == data
        assert ground.grounder.value(f"{observation.handle}.c0", LOCAL) == data


@pytest.mark.case("E1")
def test_odd_characters_give_valid_text(ground: Ground) -> None:
    """Lone surrogates in texts, values and keys; U+2028 stays."""
    value = {
        "content": [{"type": "text", "text": "a\ud83d\u2028b"}],
        "structuredContent": {"\udc00": ["\ud83d", 10**30]},
    }
    observation = ground.observe(value, ACTION)
    render(observation).encode("utf-8")
    assert "\u2028" in render(observation)


@pytest.mark.case("A1")
def test_no_secret_is_shown(ground: Ground) -> None:
    """A server that echoes its token: neither in text nor in the data of a failure, nor when that is read later."""
    MASK.protect(["sk-grounding-secret"])
    value = {"error": "bad token sk-grounding-secret", "n": [1]}
    failed = ground.observe({"content": [], "structuredContent": value, "isError": True}, ACTION)
    assert "sk-grounding" not in render(failed) + str(failed) and failed.data["n"] == [1]
    verdict = Verdict(Kind.AUTH, "refused sk-grounding-secret", hint="set sk-grounding-secret")
    alone = ground.grounder.observe_error(verdict, action_id="s__a", server="s", principal=LOCAL)
    assert "sk-grounding" not in render(alone) + str(alone)
    many = [{"error": f"bad token sk-grounding-secret {at}"} for at in range(2000)]
    long = ground.observe({"content": [], "structuredContent": many, "isError": True}, ACTION, budget=200)
    assert long.handle is not None and "sk-grounding" not in render(long) + str(long)
    for view in ("page", "head"):
        again = ground.grounder.read(ReadRequest(long.handle, view=view, budget=500), LOCAL)
        assert "bad token ***" in again.text and "sk-grounding" not in render(again) + str(again)


def test_what_a_server_sent_as_a_success_is_never_altered_by_the_mask(ground: Ground) -> None:
    """Text, data, what is read later, and a success that only looks like a failure."""
    MASK.protect(["/masked/projects"])
    shown = ground.observe(text_result("/masked/projects/x.txt"), ACTION)
    assert render(shown) == "/masked/projects/x.txt"
    value = {"path": "/masked/projects/x.txt"}
    shown = ground.observe({"content": [], "structuredContent": value}, ACTION)
    assert shown.data == value and "/masked/projects/x.txt" in render(shown)
    odd = ground.observe(text_result("Error: cannot read /masked/projects/x.txt"), ACTION)
    assert odd.suspected is not None and "read /masked/projects/x.txt" in render(odd)
    rows: list[Json] = [{"path": f"/masked/projects/{at}.txt"} for at in range(2000)]
    large = ground.observe({"content": [], "structuredContent": rows}, ACTION, budget=200)
    assert large.handle is not None and "/masked/projects/0.txt" in render(large)
    again = ground.grounder.read(ReadRequest(large.handle, view="page", budget=500), LOCAL)
    assert "/masked/projects/0.txt" in again.text and "***" not in again.text


def test_a_failure_without_a_result_is_an_observation(ground: Ground) -> None:
    """Protocol errors and dead servers are told apart from tool errors, with the way out."""
    verdict = ground.grounder.judge_error(RemoteError(-32602, "Unknown tool: x", server="s"))
    observation = ground.grounder.observe_error(
        verdict, action_id="s__x", server="s", principal=LOCAL, alternatives=("t__x",), seconds=0.5
    )
    assert (observation.status, observation.is_error, observation.seconds) == ("error", True, 0.5)
    assert observation.error is not None and observation.error.detected_by == "jsonrpc"
    assert render(observation) == (
        "error (not_found): Unknown tool: x\nCheck the name or id; list or search first.\ninstead: t__x"
    )
    dead = ground.grounder.judge_error(DownstreamError("server 's' died", server="s", kind=Kind.CRASHED))
    assert dead.kind is Kind.CRASHED


def test_a_result_that_is_not_finished_is_pending(ground: Ground) -> None:
    """A task of the 2026 protocol."""
    observation = ground.observe({"resultType": "task", "task": {"taskId": "t"}}, ACTION)
    assert observation.status == "pending" and render(observation)


def test_media_are_counted_in_the_summary(ground: Ground, picture: Callable[..., str]) -> None:
    """Pictures and sounds."""
    sound = {"type": "audio", "data": "T2dnUwAA", "mimeType": "audio/ogg"}
    shots = [{"type": "image", "data": picture(10, 10), "mimeType": "image/png"}] * 2
    assert ground.observe({"content": [*shots, sound]}, ACTION).summary == "ok: 2 pictures, 1 sound"


@pytest.mark.parametrize("limit", [1024, None], ids=["too large", "no folder"])
def test_a_store_that_fails_costs_the_rest_but_not_the_answer(
    tmp_path: Path, clock: HandClock, limit: int | None
) -> None:
    """The observation says that the rest is lost."""
    settings = Settings(artifact_bytes=limit) if limit else Settings()
    if limit is None:
        (tmp_path / "results").write_text("in the way", encoding="utf-8")
    grounder = Grounder(open_store(tmp_path, settings, clock), settings, clock)
    link = {"type": "resource_link", "uri": "f:///a", "name": "a"}
    result = {"content": [{"type": "text", "text": "words of a line\n" * 9000}, link]}
    observation = grounder.observe(result, Verdict(Kind.OK), action=None, principal=LOCAL)
    assert observation.handle is None and observation.text.startswith("words of a line")
    assert "cannot be read later" in observation.text
    assert all(gap.handle is None for gap in observation.elided)
    assert [artifact.uri for artifact in observation.artifacts] == ["f:///a"]


def test_artifacts_tell_when_they_expire(ground: Ground) -> None:
    """And whose they are stays with the store."""
    blob = {"type": "resource", "resource": {"uri": "f:///a", "blob": "UEsDBA=="}}
    observation = ground.observe({"content": [blob]}, ACTION)
    (artifact,) = observation.artifacts
    assert artifact.expires_at == ground.clock.now() + 24 * 3600
    assert artifact.handle == f"{observation.handle}.c0"
    assert ground.grounder.value(artifact.handle, LOCAL) == "UEsDBA=="
    assert (observation.handle or "").startswith(observation.id)


def test_the_value_behind_a_handle_is_whole(ground: Ground) -> None:
    """For references: structured content, JSON of a text, a text."""
    for result, value in (
        ({"content": [], "structuredContent": {"result": ROWS}}, ROWS),
        (text_result(json.dumps(ROWS)), ROWS),
        (text_result("words of a line\n" * 9000), "words of a line\n" * 9000),
    ):
        observation = ground.observe(result, ACTION)
        assert ground.grounder.value(observation.handle or "", LOCAL) == value
        assert observation.data in (value, {"result": value}, None)


def test_the_same_result_gives_the_same_text_but_for_its_handle(ground: Ground) -> None:
    """Byte-stable."""
    value = {"content": [{"type": "text", "text": "x\n" * 9000}], "structuredContent": {"rows": ROWS}}
    texts = []
    for _ in range(2):
        observation = ground.observe(value, ACTION)
        texts.append(render(observation).replace(observation.handle or "-", "H"))
    assert texts[0] == texts[1]


def test_principals_do_not_share(ground: Ground) -> None:
    """What one caller got, another cannot read."""
    verdict = Verdict(Kind.OK)
    result = text_result("words of a line\n" * 9000)
    mine = ground.grounder.observe(result, verdict, action=None, principal=Principal("ann", "token"))
    assert ground.grounder.value(mine.handle or "", Principal("ann", "token"))
