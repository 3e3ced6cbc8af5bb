"""Long texts within a budget, each form in its own way."""

from __future__ import annotations

import base64

import pytest

from anyact_server.grounding.condense import condense
from anyact_server.grounding.tokens import estimate

TABLE = "id,city,amount,status\n" + "\n".join(
    f"{at},{'Oslo' if at % 3 else 'Rome'},{at * 37 % 1000}.50,{'failed' if at == 777 else 'open'}" for at in range(1500)
)
LOG = "\n".join(
    f"2026-01-01 10:{at // 60 % 60:02}:{at % 60:02} "
    + ("ERROR payment 991 declined" if at in (500, 900) else f"INFO request {at} took {at % 90} ms")
    for at in range(3000)
)
TRACE = (
    "Traceback (most recent call last):\n"
    + "\n".join(f'  File "/lib/x{at}.py", line {at}, in f{at}\n    call_{at}()' for at in range(200))
    + "\nValueError: the bad thing\n"
)
DIFF = "".join(
    f"diff --git a/f{at}.py b/f{at}.py\n--- a/f{at}.py\n+++ b/f{at}.py\n@@ -1,2 +1,3 @@\n same\n-old {at}\n"
    f"+new {at}\n+more\n"
    for at in range(60)
)
MARKDOWN = "".join(f"# Part {at}\n\n{'Words of this part. ' * 30}\n\n" for at in range(40))


def shortened(text: str, budget: int, mime: str = "") -> str:
    found = condense(text, budget, "rest: HANDLE", mime, lambda part: part)
    assert estimate(found.text) <= budget
    assert found.characters > 0
    return found.text


@pytest.mark.parametrize(
    ("text", "facts"),
    [
        (TABLE, ("1,500 rows", "Rome 500", "failed 1", "777: 777,Rome", "id,city,amount,status", "1499,")),
        (
            LOG,
            ("3,000 lines", "ERROR 2", "501: ", "payment 991 declined", "such lines, the last 901", "request 2999"),
        ),
        (TRACE, ("Traceback (most recent call last):", "ValueError: the bad thing", "f199")),
        (DIFF, ("60 files, +120 -60", "f0.py +2 -1", "--- f0.py", "-old 0")),
        (MARKDOWN, ("headings, by line number", "1: Part 0", "Part 9", "HANDLE")),
    ],
    ids=["table", "log", "trace", "diff", "markdown"],
)
def test_what_a_reader_would_ask_comes_first(text: str, facts: tuple[str, ...]) -> None:
    """Counts, troubles, heads: within 600 tokens, and the handle for the rest."""
    shown = shortened(text, 600)
    assert [fact for fact in facts if fact not in shown] == []
    assert "HANDLE" in shown


@pytest.mark.parametrize("text", [TABLE, LOG, TRACE, DIFF, MARKDOWN, "x" * 9000])
@pytest.mark.parametrize("budget", [30, 60, 200, 900])
def test_a_budget_is_kept_however_small(text: str, budget: int) -> None:
    """From a few lines to most of it."""
    found = condense(text, budget, "rest: HANDLE", "", lambda part: part)
    assert estimate(found.text) <= max(budget, 60)


def test_a_text_that_fits_is_left_alone() -> None:
    """Whatever its form."""
    text = "a,b\n1,2\n3,4\n5,6\n"
    assert condense(text, 500, "rest", "", lambda part: part).text == text


def test_codes_in_an_outline_are_named() -> None:
    """A log of pictures shows none."""
    code = base64.b64encode(bytes(range(256)) * 2).decode()
    text = "\n".join(f"10:00:0{at % 10} ERROR picture {at} {code} lost" for at in range(50))
    shown = shortened(text, 400)
    assert code[:80] not in shown
    assert "encoded data" in shown
