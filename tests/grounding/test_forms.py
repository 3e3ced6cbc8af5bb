"""What form a text has."""

from __future__ import annotations

import pytest

from anyact_server.grounding.forms import delimiter_of, form_of

LOG = "2026-01-01 10:00:00 INFO a\n2026-01-01 10:00:01 INFO b\n2026-01-01 10:00:02 ERROR c\n"


@pytest.mark.parametrize(
    ("text", "form"),
    [
        ("<!DOCTYPE html><html><body>x</body></html>", "html"),
        ("<!-- made by hand -->\n<div class='a'>x</div>", "html"),
        ('<?xml version="1.0"?><a><b/></a>', "xml"),
        ("<feed><entry/></feed>", "xml"),
        ("<thinking> about it, and no markup at all", "text"),
        ("diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n", "diff"),
        ("--- old\n+++ new\n@@ -1 +1 @@\n-a\n+b\n", "diff"),
        (LOG, "log"),
        ("[ERROR] a\n[INFO] b\n[INFO] c\n", "log"),
        ("Traceback (most recent call last):\n  File x\nValueError: y", "trace"),
        ("java.lang.IllegalStateException: no\n    at com.x.Y.z(Y.java:1)\n", "trace"),
        ("a,b\n1,2\n3,4\n5,6\n", "table"),
        ("# Title\n\ntext\n\n## Part\n", "markdown"),
        ("Plain words in a row.", "text"),
        ("", "text"),
    ],
)
def test_a_form_is_told_by_the_first_lines(text: str, form: str) -> None:
    """By what stands there, not by a name."""
    assert form_of(text) == form


@pytest.mark.parametrize(
    ("text", "delimiter"),
    [
        ("a\tb\n1\t2\n3\t4\n5\t6\n", "\t"),
        ("a;b;c\n1;2;3\n4;5;6\n7;8;9\n", ";"),
        ('name,note\na,"x, y"\nb,"line\nbreak"\nc,z\n', ","),
        ("Well, this is prose, you know\nand so, as ever, is this\nor, say, that one, too\nbut, then, again\n", None),
        ("one, two\nthree, four\nfive, six\nseven, eight\n", None),
        ("a,a\n1,2\n3,4\n5,6\n", None),
        ("a,b\n1\n2,3,4\n5\n6\n", None),
        ("no delimiter\nat all\n", None),
    ],
)
def test_a_table_has_a_head_and_rows_of_one_width(text: str, delimiter: str | None) -> None:
    """Commas in prose make no table."""
    assert delimiter_of(text) == delimiter


def test_a_declared_table_may_be_short() -> None:
    """One row below the head is enough where the media type says so."""
    assert delimiter_of("a,b\n1,2\n", "text/csv") == ","
    assert delimiter_of("a,b\n1,2\n") is None


def test_a_cell_longer_than_the_reader_takes_is_no_table() -> None:
    """And no exception."""
    assert delimiter_of("a,b\n" + '"' + "x" * 200_000) is None
