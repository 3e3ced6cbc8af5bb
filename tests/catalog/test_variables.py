"""Variables in texts, and env files."""

from __future__ import annotations

import os

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anyact_server.catalog.variables import Scope, expand, input_variable, parse_env_file

SCOPE = Scope({"A": "aye", "E": "", "N": "${A}", "HOME": "/h"}, {"key": "answer"}, "/home/me", "/work/space")


@pytest.mark.case("C2")
@pytest.mark.parametrize(
    ("text", "result"),
    [
        ("${A}", "aye"),
        ("x${A}y${A}", "xayeyaye"),
        ("${env:A}", "aye"),
        ("${A:-x}", "aye"),
        ("${B:-x}", "x"),
        ("${env:B:-x}", "x"),
        ("${B:-}", ""),
        ("${E:-x}", "x"),
        ("${E}", ""),
        ("${B:-${A}/z}", "aye/z"),
        ("${B:-a:-b}", "a:-b"),
        ("$A", "$A"),
        ("$", "$"),
        ("100$", "100$"),
        ("$$", "$$"),
        ("$${A}", "${A}"),
        ("x$${A}${A}", "x${A}aye"),
        ("${N}", "${A}"),
        ("${input:key}", "answer"),
        ("${input:other:-x}", "x"),
        ("${userHome}/x", "/home/me/x"),
        ("${workspaceFolder}", "/work/space"),
        ("${workspaceFolderBasename}", "space"),
        ("a${pathSeparator}b${/}", f"a{os.sep}b{os.sep}"),
        ("%A% {A} #{A}", "%A% {A} #{A}"),
    ],
)
def test_known_forms_expand_and_everything_else_stays(text: str, result: str) -> None:
    """Every documented form gives its value; values from the environment are not expanded again."""
    found = expand(text, SCOPE)
    assert found.text == result
    assert not found.missing and not found.odd


@pytest.mark.case("C2")
@pytest.mark.parametrize(
    ("text", "named"),
    [("${B}", "B"), ("${env:B}", "B"), ("${input:nope}", "ANYACT_INPUT_NOPE"), ("${command:pick}", "${command:pick}")],
)
def test_what_has_no_value_is_named(text: str, named: str) -> None:
    """A variable without value and default is missing, and the sentence says which one."""
    found = expand(text, SCOPE)
    assert len(found.missing) == 1
    assert named in found.missing[0]


@pytest.mark.parametrize("text", ["${a.b}", "${}", "${1}", "${A", "x ${ y", "${A-x}"])
def test_unknown_forms_stay_as_they_are_and_are_told(text: str) -> None:
    """Whatever is no variable is left alone, and noticed."""
    found = expand(text, SCOPE)
    assert found.text == text
    assert found.odd
    assert not found.missing


def test_values_from_outside_are_secrets_but_folders_and_defaults_are_not() -> None:
    """What comes from the environment must be masked; HOME and defaults stand in every message."""
    assert expand("${A} ${input:key} ${HOME} ${userHome} ${B:-x}", SCOPE).secrets == ("aye", "answer")
    assert expand("${A} ${input:key} ${HOME} ${userHome} ${B:-x}", SCOPE).sources == ("A", "key")


def test_an_input_is_answered_by_the_environment_too() -> None:
    """`ANYACT_INPUT_` and the id in capitals answers an input that has no other answer."""
    assert input_variable("github-token.1") == "ANYACT_INPUT_GITHUB_TOKEN_1"
    assert expand("${input:api-key}", Scope({"ANYACT_INPUT_API_KEY": "k"})).text == "k"


@given(st.text(max_size=40))
def test_a_text_without_placeholders_is_never_touched(text: str) -> None:
    """Only `${` means anything."""
    plain = text.replace("${", "")
    assert expand(plain, SCOPE).text == plain


@given(st.text(alphabet="${}:-AaBinpute/. ", max_size=30))
def test_any_mixture_of_signs_is_read_without_an_error(text: str) -> None:
    """The reader never fails, whatever stands in a text."""
    found = expand(text, SCOPE)
    assert isinstance(found.text, str)


@given(st.text(max_size=30))
def test_an_escaped_text_comes_out_as_it_was(text: str) -> None:
    """Doubling the dollar before a brace gives back any text, so there is an escape for everything."""
    clean = text.replace("$", "")
    assert expand("$${" + clean, SCOPE).text == "${" + clean


def test_env_files_are_read_as_dotenv_has_them() -> None:
    """Quotes, comments, `export` and line breaks are understood; nothing is expanded; odd lines are told."""
    text = """# head
A=1
export B = two words # note
C="x # y\\nz \\"q\\""
D='${A} \\n'
E=
F=a#b
P="line one
line two" # note
G="open
just words
"""
    values, bad = parse_env_file(text)
    assert values == {
        "A": "1",
        "B": "two words",
        "C": 'x # y\nz "q"',
        "D": "${A} \\n",
        "E": "",
        "F": "a#b",
        "P": "line one\nline two",
        "G": '"open',
    }
    assert bad == (11,)
