"""Unified differences."""

from __future__ import annotations

from anyact_server.grounding.diffs import diff_outline, read_diff

DIFF = """commit abc
diff --git a/one.py b/one.py
index 1..2 100644
--- a/one.py
+++ b/one.py
@@ -1,3 +1,3 @@
 same
-gone
--- a line that looks like a head
+come
+++ another
 same
diff --git a/new.txt b/new.txt
new file mode 100644
--- /dev/null
+++ b/new.txt
@@ -0,0 +1 @@
+hello
diff --git a/was.py b/is.py
similarity index 100%
diff --git a/dead.py b/dead.py
deleted file mode 100644
--- a/dead.py
+++ /dev/null
@@ -1 +0,0 @@
-bye
"""


def test_every_file_is_counted() -> None:
    """New, deleted and renamed ones are called so; lines that look like heads inside a hunk are lines."""
    files = {one.name: (one.what, one.added, one.removed) for one in read_diff(DIFF.split("\n"))}
    assert files == {
        "one.py": ("", 2, 2),
        "new.txt": ("new: ", 1, 0),
        "is.py": ("was.py => ", 0, 0),
        "dead.py": ("deleted: ", 0, 1),
    }


def test_a_plain_difference_has_its_files_from_its_heads() -> None:
    """Without the lines of git."""
    plain = (
        "--- old/x.c\t2026-01-01\n+++ new/x.c\t2026-01-02\n@@ -1 +1 @@\n-a\n+b\n--- a/y\n+++ b/y\n@@ -1 +1 @@\n-c\n+d\n"
    )
    assert [(one.name, one.added) for one in read_diff(plain.split("\n"))] == [("new/x.c", 1), ("y", 1)]


def test_files_come_first_and_share_the_room() -> None:
    """What does not fit is counted."""
    text = DIFF + "".join(
        f"--- a/f{at}\n+++ b/f{at}\n@@ -1,40 +1,40 @@\n" + "-old line\n+new line\n" * 40 for at in range(30)
    )
    make = diff_outline(text, "rest: H")
    assert make is not None
    shown, kept = make(1500)
    assert shown.startswith("[difference, 34 files, +1,203 -1,203; rest: H]\none.py +2 -2\nnew: new.txt +1 -0")
    assert "more lines of it]" in shown
    assert kept > 0
    assert "more files]" in make(300)[0]
    assert diff_outline("no difference", "rest") is None
