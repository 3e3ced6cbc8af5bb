"""Whatever a server sends, an observation comes out: within its budget, without codes, as valid UTF-8 and JSON."""

from __future__ import annotations

import base64
import json
import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from anyact_server.grounding import Grounder, estimate, open_store, render
from anyact_server.grounding.binaries import find_codes
from anyact_server.settings import Settings
from anyact_server.types import LOCAL, Action, ReadRequest, plain

from .conftest import HandClock

EXAMPLES = int(os.environ.get("ANYACT_FUZZ_EXAMPLES", "50"))

words = st.text(st.characters(codec=None), max_size=40) | st.sampled_from(
    [
        "",
        " ",
        "Error: not found",
        "\x1b[31mred\x1b[0m",
        "\ud83d",
        "e\u0301",
        "\u200b",
        "data:image/png;base64,",
        "[]",
        "{}",
    ]
)
codes = st.binary(min_size=160, max_size=600).map(lambda data: base64.b64encode(data).decode())
scalars = st.none() | st.booleans() | st.integers() | st.floats() | words
values = st.recursive(
    scalars | codes,
    lambda inner: st.lists(inner, max_size=6) | st.dictionaries(st.text(max_size=12), inner, max_size=6),
    max_leaves=30,
)
rows = st.lists(
    st.fixed_dictionaries(
        {"id": st.integers(), "name": words, "n": st.floats(), "in": st.dictionaries(words, scalars, max_size=2)}
    ),
    min_size=3,
    max_size=30,
)
texts = (
    words
    | codes.map(lambda code: f"before {code} after")
    | values.map(lambda value: json.dumps(value))
    | rows.map(lambda value: json.dumps(value, indent=1))
    | st.integers(1, 3000).map(lambda count: "some words of a line\n" * count)
)
well_formed = st.one_of(
    st.fixed_dictionaries({"type": st.just("text"), "text": texts}),
    st.fixed_dictionaries({"type": st.just("image"), "data": codes | words, "mimeType": st.just("image/png")}),
    st.fixed_dictionaries({"type": st.just("audio"), "data": codes | words, "mimeType": st.just("audio/wav")}),
    st.fixed_dictionaries({"type": st.just("resource_link"), "uri": words, "name": words, "size": scalars}),
    st.fixed_dictionaries(
        {
            "type": st.just("resource"),
            "resource": st.fixed_dictionaries(
                {"uri": words}, optional={"text": texts, "blob": codes, "mimeType": words}
            ),
        }
    ),
)
annotated = st.tuples(well_formed, values).map(lambda pair: {**pair[0], "annotations": pair[1]})
malformed = st.dictionaries(
    st.sampled_from(["type", "text", "data", "mimeType", "resource", "uri", "annotations"]), values, max_size=4
)
blocks = st.one_of(well_formed, annotated, malformed, values)
results = st.one_of(
    st.fixed_dictionaries(
        {"content": st.lists(blocks, max_size=6)},
        optional={"structuredContent": values | rows, "isError": st.booleans() | values, "_meta": values},
    ),
    st.fixed_dictionaries({}, optional={"content": values, "structuredContent": values, "toolResult": values}),
    values,
)


@pytest.mark.timeout(600)
@pytest.mark.case("O4")
@pytest.mark.case("E1")
@settings(
    max_examples=EXAMPLES,
    derandomize=EXAMPLES == 50,
    database=None,
    deadline=None,
    phases=[Phase.explicit, Phase.generate],
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow, HealthCheck.data_too_large],
)
@given(result=results, budget=st.sampled_from([None, 100, 300, 1000]))
def test_any_result_becomes_a_sound_observation(tmp_path: Path, result: Any, budget: int | None) -> None:
    """No exception, no code in any text or structured field, the budget held, the rest readable by its handle."""
    clock = HandClock()
    grounder = Grounder(open_store(tmp_path, Settings(), clock), Settings(), clock)
    action = Action("s__a", "s", "a", output_schema={"type": "object"})
    verdict = grounder.judge(result, action)
    observation = grounder.observe(result, verdict, action=action, principal=LOCAL, budget=budget)
    text = render(observation)
    text.encode("utf-8")
    assert text.strip()
    assert len(observation.summary) <= 200
    assert not find_codes(text)
    pictures = sum(1 for block in observation.blocks if block["type"] == "image")
    assert pictures or estimate(text) <= (budget or 4000) * 1.2 + 400
    rest = plain(observation)
    rest.pop("blocks")
    assert not find_codes(json.dumps(rest, ensure_ascii=False)), "a code in a structured field"
    if observation.handle is not None:
        page = grounder.read(ReadRequest(observation.handle, "page"), LOCAL)
        page.text.encode("utf-8")
        assert not find_codes(page.text)
        raw = grounder.read(ReadRequest(observation.handle, "raw"), LOCAL)
        assert raw.text or raw.blocks
