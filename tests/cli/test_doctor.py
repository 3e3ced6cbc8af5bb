"""`doctor`: what is wrong, and the cure."""

from __future__ import annotations

import pytest

from .kit import Shell, script_entry


def test_a_sound_server_is_ok(shell: Shell, address: str) -> None:
    """With its number of actions and its protocol."""
    shell.configure(plain={"url": address})
    told = shell("doctor")
    assert told.code == 0
    assert told.out.startswith("ok ")
    assert "actions, protocol 20" in told.out


@pytest.mark.case("P3")
def test_every_broken_server_has_its_own_reason_and_cure(shell: Shell, address: str) -> None:
    """A missing program, a missing key, a faulty entry, one that is off; the sound one stays sound."""
    shell.configure(
        plain={"url": address},
        gone={"command": "no-such-program-anywhere"},
        key=script_entry("import sys; sys.exit('API_TOKEN is required')"),
        unset={"command": "x", "env": {"A": "${NOT_SET_HERE}"}},
        off={"command": "x", "disabled": True},
    )
    told = shell("doctor", "--json")
    assert told.code == 1
    findings = {one["server"]: one for one in told.json["findings"]}
    assert {name: one["health"] for name, one in findings.items()} == {
        "plain": "ok",
        "gone": "broken",
        "key": "broken",
        "unset": "broken",
        "off": "off",
    }
    assert "no-such-program-anywhere" in findings["gone"]["message"]
    assert "API_TOKEN" in findings["key"]["message"]
    assert "NOT_SET_HERE" in findings["unset"]["message"]
    assert all(one["cure"] for one in findings.values() if one["health"] != "ok")
    assert told.json["configuration"]


def test_findings_and_problems_are_words_for_a_person(shell: Shell, address: str) -> None:
    """One line each, details and cures below."""
    shell.configure(plain={"url": address, "pin": ["nope"], "surprise": 1}, gone={"command": "no-such-program"})
    told = shell("doctor")
    assert told.code == 1
    assert "warning  plain" in told.out
    assert "- pinned action 'nope' does not exist" in told.out
    assert "broken   gone" in told.out
    assert "cure: " in told.out
    assert "config " in told.out
    assert "surprise" in told.out


def test_one_server_can_be_asked_for(shell: Shell, address: str) -> None:
    """An unknown one is exit code 3; none at all says how to add one."""
    assert "anyact add" in shell("doctor").err
    shell.configure(plain={"url": address}, gone={"command": "no-such-program"})
    told = shell("doctor", "plain")
    assert (told.code, "gone" in told.out) == (0, False)
    assert shell("doctor", "nobody").code == 3
