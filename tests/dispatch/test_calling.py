"""One call, from the name to the observation."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import anyio
import pytest

from anyact_server.dispatch.calling import PATIENCE_S, local_verdict
from anyact_server.errors import (
    DownstreamError,
    NeedsLogin,
    RemoteError,
    StorageError,
    UnknownAction,
)
from anyact_server.interfaces import Caller
from anyact_server.settings import load
from anyact_server.types import (
    Admission,
    Call,
    Estimate,
    Hints,
    Json,
    JsonObject,
    Kind,
    Limits,
    Observation,
    Principal,
    ServerSpec,
    ServerState,
    Verdict,
)

from .test_resolve import Hiding
from .world import READ_ONLY, Clock, Listener, World, action, said

pytestmark = pytest.mark.anyio
ANN = Listener()
READ = action("read", description="Read a text file.")
TWIN = action("read_text", "disk", description="Read a text file.")


async def call(world: World, name: str = "files__read", arguments: Json = None, **more: Any) -> Observation:
    """One call by Ann; `{"text": "a"}` unless other arguments are given."""
    given = {"text": "a"} if arguments is None else arguments
    return await world.space.call(name, given, more.pop("caller", ANN), **more)


def kinds(world: World) -> list[Kind]:
    """The kinds that reached the ledger."""
    return [outcome.kind for outcome in world.reliability.outcomes]


def down(kind: Kind = Kind.CRASHED, **more: Any) -> DownstreamError:
    """No answer came."""
    return DownstreamError("the process exited with code 1", server="files", kind=kind, **more)


async def test_a_call_reaches_the_server_under_its_own_name_and_is_recorded() -> None:
    """Arguments as given, result as observation, outcome in the ledger with tokens and digest."""
    world = World(READ)
    found = await call(world, arguments='{"text": "a"}')
    assert (found.status, found.text, found.action) == ("ok", "read done", "files__read")
    (sent,) = world.downstreams.sent
    assert (sent.server, sent.name, sent.arguments, sent.repeatable) == ("files", "read", {"text": "a"}, False)
    (outcome,) = world.reliability.outcomes
    assert (outcome.action, outcome.server, outcome.kind, outcome.principal, outcome.digest) == (
        "files__read",
        "files",
        Kind.OK,
        "ann",
        READ.digest,
    )


@pytest.mark.case("S4")
@pytest.mark.parametrize("arguments", [[1], 3, "[1]", "words"])
async def test_arguments_of_the_wrong_form_never_reach_the_server(arguments: Any) -> None:
    """They are invalid, and that is the caller's fault in the ledger."""
    world = World(READ)
    found = await call(world, arguments=arguments)
    assert found.is_error
    assert found.error is not None
    assert found.error.kind is Kind.INVALID_ARGS
    assert found.error.hint == 'Wanted: {text: string}. Example: {"text": "..."}'
    assert world.downstreams.sent == []
    assert kinds(world) == [Kind.INVALID_ARGS]


@pytest.mark.case("X2")
async def test_arguments_of_any_depth_end_as_an_observation() -> None:
    """Lists or objects, whole or inside a string."""
    world = World(READ)
    deep_list: Any = []
    deep: Any = {}
    for _ in range(20_000):
        deep_list, deep = [deep_list], {"text": deep}
    for arguments in (deep_list, deep, "[" * 50_000, '{"a":' * 900 + "1" + "}" * 900):
        found = await call(world, arguments=arguments)
        assert found.error is not None
        assert found.error.kind is Kind.INVALID_ARGS
        assert len(found.text) < 1000


@pytest.mark.case("N2")
async def test_an_unknown_name_gets_suggestions_and_runs_nothing() -> None:
    """The nearest match is named, never called."""
    world = World(READ, action("read", "other"))
    found = await call(world, "read")
    assert found.error is not None
    assert found.error.kind is Kind.UNKNOWN_ACTION
    assert found.error.alternatives == ("files__read", "other__read")
    assert "`files__read`, `other__read`" in (found.error.hint or "")
    assert world.downstreams.sent == []
    assert kinds(world) == []


@pytest.mark.case("Z2")
async def test_rules_hold_for_the_target_whatever_the_route() -> None:
    """Refused, hidden, or not declared read-only: nothing is sent and nothing recorded."""
    policy = Hiding(hidden=["files__hide"], refused=["files__write"])
    world = World(READ, action("write"), action("hide"), policy=policy)
    refused = await call(world, "files__write")
    hidden, unknown = await call(world, "files__hide"), await call(world, "files__zzzz")
    reading = await call(world, read_only=True)
    assert refused.error is not None
    assert reading.error is not None
    assert refused.error.kind is reading.error.kind is Kind.REFUSED_BY_POLICY
    assert "call_action" in (reading.error.hint or "")
    assert hidden.text.replace("hide", "") == unknown.text.replace("zzzz", "")
    assert world.downstreams.sent == []
    assert kinds(world) == []


@pytest.mark.case("Z2")
async def test_suggestions_after_a_failure_never_name_what_is_hidden() -> None:
    """The search for alternatives looks only at what the caller may see."""
    world = World(READ, TWIN, policy=Hiding(hidden=["disk__read_text"]))
    world.downstreams.answer("read", down(Kind.TIMEOUT))
    found = await call(world)
    assert found.error is not None
    assert found.error.alternatives == ()
    assert world.searcher.queries[0].visible == frozenset({"files__read"})


async def test_a_declared_reader_may_be_called_as_one_and_may_be_sent_again() -> None:
    """The hint decides both."""
    world = World(action("read", hints=READ_ONLY))
    assert (await call(world, read_only=True)).status == "ok"
    assert world.downstreams.sent[0].repeatable


@pytest.mark.case("Y1")
@pytest.mark.parametrize(
    "hints, repeatable",
    [
        (Hints(), False),
        (Hints(destructive=True), False),
        (Hints(read_only=False, destructive=True), False),
        (READ_ONLY, True),
        (Hints(idempotent=True), True),
        (Hints(idempotent=True, destructive=True), True),
    ],
)
async def test_only_the_servers_hints_allow_a_second_sending(hints: Hints, repeatable: bool) -> None:
    """And where it may not be sent again, the failure says that the outcome is unknown."""
    world = World(action("append", hints=hints))
    world.downstreams.answer("append", down())
    found = await call(world, "files__append")
    assert world.downstreams.sent[0].repeatable is repeatable
    assert len(world.downstreams.sent) == 1
    assert found.error is not None
    unknown = "Outcome unknown" in (found.error.hint or "")
    assert unknown is not repeatable


@pytest.mark.case("Y1")
async def test_what_surely_did_not_run_is_not_called_unknown() -> None:
    """A link that was dead before sending, a login that is missing, a call that was cancelled by the server."""
    world = World(READ)
    for error in (
        down(Kind.UNAVAILABLE, may_have_run=False),
        NeedsLogin("log in first", server="files", hint="Run `login`."),
        down(Kind.CANCELLED),
        RemoteError(-32000, "no", server="files"),
    ):
        world.downstreams.answer("read", error)
        found = await call(world)
        assert found.error is not None
        assert "unknown" not in (found.error.hint or "").lower()


@pytest.mark.case("Y1")
async def test_a_hint_of_the_connection_is_kept_beside_the_warning() -> None:
    """And not doubled where it already says so."""
    world = World(READ)
    world.downstreams.answer("read", down())
    for hint in (None, "Look at the log.", "Outcome unknown, check first."):
        world.grounder.error_verdict = Verdict(Kind.CRASHED, "died", detected_by="transport", hint=hint)
        found = await call(world)
        assert found.error is not None
        assert (found.error.hint or "").lower().count("outcome unknown") == 1
        assert hint is None or hint in (found.error.hint or "")


@pytest.mark.case("L1")
async def test_a_death_in_mid_call_names_the_server_and_the_way_out() -> None:
    """Kind, server, an action that does the same elsewhere; one outcome that blames the server."""
    world = World(READ, TWIN)
    world.downstreams.answer("read", down())
    found = await call(world)
    assert found.error is not None
    assert (found.server, found.error.kind, found.error.alternatives) == (
        "files",
        Kind.CRASHED,
        ("disk__read_text",),
    )
    assert kinds(world) == [Kind.CRASHED]


async def test_alternatives_are_actions_that_work_now() -> None:
    """Not those of a server that is down, gone, in need of a login, or of an action that is pruned."""
    world = World(READ, TWIN)
    world.downstreams.answer("read", down())

    async def offered() -> Sequence[str]:
        found = await call(world)
        assert found.error is not None
        return found.error.alternatives

    assert await offered() == ("disk__read_text",)
    world.downstreams.states["disk"] = ServerState.DOWN
    assert await offered() == ()
    world.downstreams.states["disk"] = ServerState.READY
    world.reliability.beliefs["disk__read_text"] = Estimate("disk__read_text", 0.1, 0.0, 0.2, pruned=True)
    assert await offered() == ()


async def test_a_failing_search_for_alternatives_hides_nothing(caplog: pytest.LogCaptureFixture) -> None:
    """The failure itself is told; the other goes to the log."""
    world = World(READ, TWIN)
    world.downstreams.answer("read", down())
    world.searcher.fault = StorageError("the index is damaged")
    found = await call(world)
    assert found.error is not None
    assert (found.error.kind, found.error.alternatives) == (Kind.CRASHED, ())
    assert "the index is damaged" in caplog.text


@pytest.mark.case("O1")
async def test_a_tool_failure_keeps_its_flag_and_a_protocol_failure_stays_distinct() -> None:
    """isError with text or data against a JSON-RPC error."""
    world = World(READ, TWIN)
    world.downstreams.answer("read", said("boom", is_error=True, data={"code": 7}))
    tool = await call(world)
    world.downstreams.answer("read", RemoteError(-32603, "broken inside", server="files"))
    protocol = await call(world)
    assert tool.is_error
    assert tool.data == {"code": 7}
    assert tool.error is not None
    assert protocol.error is not None
    assert (tool.error.kind, protocol.error.kind) == (Kind.UPSTREAM_5XX, Kind.INTERNAL)
    assert tool.error.alternatives == ("disk__read_text",)
    assert tool.text.endswith("instead: disk__read_text")
    assert kinds(world) == [Kind.UPSTREAM_5XX, Kind.INTERNAL]


@pytest.mark.case("O2")
async def test_a_suspected_failure_leaves_status_and_flag_alone() -> None:
    """The ledger hears both; from the second identical one on the caller is told."""
    world = World(READ)
    world.grounder.verdict = Verdict(Kind.OK, suspected=Kind.NOT_FOUND, confidence=0.8)
    observations = [await call(world) for _ in range(30)]
    assert all(one.status == "ok" and not one.is_error for one in observations)
    assert observations[0].notes == ()
    assert "30 times in a row (not_found)" in observations[-1].notes[0]
    assert observations[-1].text.startswith("read done\nnote: This very call")
    assert {outcome.verdict.suspected for outcome in world.reliability.outcomes} == {Kind.NOT_FOUND}


@pytest.mark.case("O3")
@pytest.mark.parametrize("strict", [False, True])
async def test_a_result_that_breaks_its_schema_fails_only_where_that_is_wanted(strict: bool) -> None:
    """By default it passes with what the grounder noted; error results are exempt in both modes."""
    world = World(READ, settings=load([({"strict_output": strict}, "test")]))
    world.grounder.verdict = Verdict(Kind.SCHEMA_MISMATCH, "`date` is no date", detected_by="schema")
    world.downstreams.answer("read", said("content", data={"date": 5}))
    found = await call(world)
    assert found.is_error is strict
    assert found.data == {"date": 5}
    assert "content" in found.text
    assert (found.error is not None) is strict
    if found.error is not None:
        assert (found.status, found.error.kind) == ("error", Kind.SCHEMA_MISMATCH)
        assert "strict_output" in (found.error.hint or "")
    world.downstreams.answer("read", said("boom", is_error=True))
    flagged = await call(world)
    assert flagged.text.startswith("boom")
    assert kinds(world) == [Kind.SCHEMA_MISMATCH, Kind.SCHEMA_MISMATCH]


@pytest.mark.case("A3")
async def test_a_missing_login_is_told_with_its_step_and_recorded_as_such() -> None:
    """Kind auth, fault environment; what to do stands in the observation."""
    world = World(READ)
    error = NeedsLogin("the token has ended", server="files", hint="Run `anyact login files`.")
    world.downstreams.answer("read", error)
    world.grounder.error_verdict = Verdict(Kind.AUTH, "the token has ended", hint=error.hint)
    found = await call(world)
    assert found.error is not None
    assert (found.error.kind, found.error.retry, found.error.hint) == (
        Kind.AUTH,
        "after_login",
        "Run `anyact login files`.",
    )
    assert kinds(world) == [Kind.AUTH]


@pytest.mark.case("S1")
async def test_a_faulty_action_is_refused_with_its_reason_and_others_go_on() -> None:
    """It is not counted against anybody."""
    world = World(READ, action("odd", fault="its input schema is null"))
    odd = await call(world, "files__odd", {})
    assert odd.error is not None
    assert odd.error.kind is Kind.NOT_SUPPORTED
    assert "its input schema is null" in odd.text
    assert (await call(world)).status == "ok"
    assert kinds(world) == [Kind.OK]


@pytest.mark.case("T1")
async def test_limits_reach_the_connection_and_a_cut_is_noted() -> None:
    """The server's own settings are the base."""
    world = World(READ, specs=[ServerSpec("files", "memory", limits=Limits(call_s=90.0, ceiling_s=120.0))])
    await call(world)
    cut = await call(world, timeout_s=500.0)
    sent = [one.limits.call_s for one in world.downstreams.sent if one.limits]
    assert sent == [90.0, 120.0]
    assert cut.notes == ("the limit of 500 s was cut to the ceiling of 120 s",)


async def test_a_callers_too_short_limit_is_not_held_against_the_action() -> None:
    """The caller is told of the time-out, the ledger of a cancelled call."""
    world = World(READ)
    world.downstreams.answer("read", down(Kind.TIMEOUT))
    found = await call(world, timeout_s=2.0)
    assert found.error is not None
    assert found.error.kind is Kind.TIMEOUT
    await call(world)
    assert kinds(world) == [Kind.CANCELLED, Kind.TIMEOUT]


async def test_a_barred_call_is_refused_with_reason_time_and_way_out() -> None:
    """It is not sent, and a refusal of our own is nobody's failure."""
    world = World(READ, TWIN)
    world.reliability.admissions = [Admission(False, retry_after_s=30.0, reason="server 'files' failed: it is dead")]
    found = await call(world)
    assert found.error is not None
    assert (found.error.kind, found.error.retry_after_s) == (Kind.UNAVAILABLE, 30.0)
    assert "it is dead" in found.text
    assert found.error.alternatives == ("disk__read_text",)
    assert world.downstreams.sent == []
    assert kinds(world) == []


async def test_a_call_waits_longer_while_the_trial_starts_its_server() -> None:
    """Siblings of the trial do not fail because the server takes its time to come up."""
    world = World(READ)
    world.reliability.admissions = [Admission(False, retry_after_s=PATIENCE_S + 0.1)]
    world.downstreams.states["files"] = ServerState.STARTING
    assert (await call(world)).status == "ok"
    assert len(world.downstreams.sent) == 1


async def test_the_start_of_a_server_is_no_slowness_of_the_action() -> None:
    """The caller sees how long it took, the ledger does not count it."""
    world = World(READ)

    async def start(_: JsonObject, __: Caller) -> JsonObject:
        world.clock.seconds += 20.0  # type: ignore[union-attr]  # the clock of this world is moved by hand
        return said("at last")

    world.downstreams.answers["read"] = start
    world.downstreams.cold.add("files")
    assert (await call(world)).seconds == 20.0
    world.downstreams.cold.clear()
    await call(world)
    assert [outcome.seconds for outcome in world.reliability.outcomes] == [0.0, 20.0]


async def test_a_cancelled_call_is_recorded_and_cancels() -> None:
    """The server's trial, if it was one, is passed on by that record."""
    world = World(READ)
    begun = anyio.Event()

    async def hang(_: JsonObject, __: Caller) -> JsonObject:
        begun.set()
        await anyio.sleep_forever()
        raise AssertionError

    world.downstreams.answers["read"] = hang
    with anyio.fail_after(5):
        async with anyio.create_task_group() as group:
            group.start_soon(call, world)
            await begun.wait()
            group.cancel_scope.cancel()
    assert kinds(world) == [Kind.CANCELLED]


async def test_a_server_that_was_taken_away_is_an_observation() -> None:
    """Between resolving and calling, by a reload."""
    world = World(READ)
    world.catalog.drop("files")
    found = await call(world)
    assert found.error is not None
    assert found.error.kind is Kind.NOT_FOUND
    world.downstreams.states.clear()


async def test_references_to_handles_are_replaced_and_belong_to_their_principal() -> None:
    """Another principal's handle is no handle."""
    world = World(READ)
    world.grounder.values["obs_1", "ann"] = {"rows": [{"text": "deep"}]}
    arguments = {"text": {"$anyact": "obs_1", "path": "$.rows[0].text"}}
    assert (await call(world, arguments=arguments)).status == "ok"
    assert world.downstreams.sent[0].arguments == {"text": "deep"}
    other = await call(world, arguments=arguments, caller=Listener(Principal("bob")))
    assert "names neither a task of this run nor a handle of yours" in other.text


async def test_values_of_tasks_come_before_handles() -> None:
    """Given by the run."""
    world = World(READ)
    acted = await world.space.act(Call("files__read", {"text": {"$anyact": "first"}}), ANN, {"first": "words"})
    assert not acted.failed
    assert acted.result is not None
    assert world.downstreams.sent[0].arguments == {"text": "words"}


async def test_a_caller_that_takes_protocol_rounds_is_asked_instead() -> None:
    """An observation cannot carry them."""
    world = World(READ)
    seen: list[bool] = []

    async def look(_: JsonObject, caller: Caller) -> JsonObject:
        seen.append(caller.passes_input_required)
        return said("fine")

    world.downstreams.answers["read"] = look
    await call(world, caller=Listener(passes_input_required=True))
    assert seen == [False]


async def test_unchecked_arguments_are_noted_with_the_observation_only() -> None:
    """The text stays what the server said."""
    world = World(action("read", schema={"type": "nonsense"}))
    found = await call(world)
    assert found.text == "read done"
    assert "not checked" in found.notes[0]


async def test_a_failing_call_that_repeats_is_pointed_out() -> None:
    """Refused here or failed there."""
    world = World(READ, clock=Clock())
    for _ in range(2):
        found = await call(world, arguments=[1])
    assert "2 times in a row (invalid_args)" in found.text
    for _ in range(2):
        found = await call(world, "files__nothing")
    assert "2 times in a row (unknown_action)" in found.text


def test_local_refusals_name_their_suggestions_in_the_hint() -> None:
    """Unless there is a better hint."""
    plain = local_verdict(UnknownAction("no", suggestions=["a", "b"]))
    assert plain.hint == "Did you mean `a`, `b`? Or search again."
    assert local_verdict(UnknownAction("no", suggestions=["a"], hint="Look there.")).hint == "Look there."
    assert local_verdict(UnknownAction("no")).hint is None
