"""The lines that a model reads."""

from __future__ import annotations

from dataclasses import replace

from anyact_server.grounding import render
from anyact_server.grounding.render import HINTS, failure, footer, suspicion
from anyact_server.types import KINDS, SUCCESSES, Elision, ErrorInfo, Fault, Kind, Observation

ERROR = ErrorInfo(Kind.RATE_LIMITED, "too many", Fault.OVERLOAD, True, "after_pause", retry_after_s=30.0)
HANDLE = "obs_0123456789abcdef_fedcba9876543210"


def test_a_failure_says_what_happened_and_what_to_do() -> None:
    """Kind and message, pause, hint, equivalent actions."""
    assert failure(ERROR) == ["error (rate_limited): too many", "Try again in 30 s."]
    told = replace(ERROR, hint="Ask for less.", retry_after_s=None, alternatives=("b__x", "c__y"))
    assert failure(told, told=True) == [
        "error (rate_limited):",
        "Ask for less. Try again later.",
        "instead: b__x, c__y",
    ]
    assert failure(replace(ERROR, retry="no", retry_after_s=None)) == ["error (rate_limited): too many"]


def test_a_suspicion_names_its_ground() -> None:
    """And says that the server declared a success."""
    line = suspicion(replace(ERROR, detected_by="text_rule", confidence=0.9, evidence="/content/0/text"))
    assert line == (
        "[looks like a failure (rate_limited, 90% sure, by its first line at /content/0/text), "
        "though the server reports success]"
    )
    assert "schema)" in suspicion(replace(ERROR, detected_by="schema"))


def test_the_footer_names_gaps_and_counts_the_others() -> None:
    """By pointer; parts by their own handle."""
    gaps = [Elision("/rows", "items", 1180, HANDLE), Elision("/x/y", "characters", 5, f"{HANDLE}.c1")]
    assert footer(HANDLE, gaps) == (
        f"[left out: 1,180 items at /rows; 5 characters at /x/y in part .c1; read_observation {HANDLE}(.part)]"
    )
    assert footer(HANDLE, gaps * 5).count("at /") == 6 and "4 more places" in footer(HANDLE, gaps * 5)
    assert footer(HANDLE, []) == f"[read_observation {HANDLE}]"


def test_what_was_noted_later_is_added_once() -> None:
    """Notes and equivalent actions that the text does not hold yet."""
    plain = Observation("obs_1", "ok", "ok", text="body")
    assert render(plain) == "body"
    assert render(replace(plain, text="")) == "ok"
    noted = replace(plain, notes=("body", "called before"), error=replace(ERROR, alternatives=("b__x",)))
    assert render(noted) == "body\nnote: called before\ninstead: b__x"
    assert render(replace(noted, text=render(noted))) == render(noted)


def test_every_failure_has_a_way_out() -> None:
    """A hint for each kind, but for those that explain themselves."""
    silent = {Kind.RATE_LIMITED, Kind.CANCELLED, Kind.REFUSED_BY_POLICY, Kind.SKIPPED}
    assert set(KINDS) - SUCCESSES - silent == set(HINTS)
