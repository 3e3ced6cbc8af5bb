"""Failures that a text tells of by its first line."""

from __future__ import annotations

import pytest

from anyact_server.grounding.wording import opening_of, page_status


@pytest.mark.case("O2")
@pytest.mark.parametrize(
    "text",
    [
        "Error: not found",
        "❌ Node error: Unknown tool: x",
        "Database error: no such table: nope",
        "Failed to copy document: no such file",
        "Error executing SearchIndexTool: NotFoundError(404)",
        "Traceback (most recent call last):\n  File x\nValueError: y",
        "[NOT_FOUND] absent — path does not exist",
        "ERROR_REQUEST_BODY_VALIDATION: bad",
        "Document /x/none.docx does not exist",
        "Image file not found: /x.png",
        "Invalid paragraph index. Document has 4 paragraphs (0-3).",
        "missing required parameter: repo",
        "MCP server rate limit exceeded, wait a few minutes",
        "# Note Not Found in main\n\nNo note matches it.\n\n" + "more words\n" * 20,
        "There was an error: the credentials have expired",
        "[MCP 工具错误] 在 3 次尝试后仍超时",
        "エラー: 鍵が見つかりません",
        "Sorry, I couldn't find that page.",
        "ls: cannot access 'x': No such file or directory",
        "bash: line 1: foo: command not found",
        "Query failed: syntax error at or near x",
        "Request aborted: ECONNRESET",
        "Process exited with code 1",
        "Access token expired. Please re-authenticate.",
        "Branch 'x' already exists",
        "You have exceeded your quota for today",
        "404 Not Found",
    ],
)
def test_an_opening_tells_of_a_failure(text: str) -> None:
    """Announced, terse, or at the end of one line."""
    assert opening_of(text, reads=False) is not None


@pytest.mark.case("O2")
@pytest.mark.parametrize(
    "text",
    [
        "",
        "All good",
        "Found 3 errors in 2 files",
        "No results found",
        "0 errors, 0 warnings",
        "The error rate fell by half this week, and failed jobs are rare now.",
        "Success: no errors",
        "error: 0, warning: 2",
        "404 items in stock",
        "500 results found",
        "Timeout set to 30 s",
        "Invalid tickets were closed: 4",
        "3 tests failed: a, b, c",
        "Failed jobs: 0",
        "# Error handling guide\n\nHow to handle errors.",
        "# Search Results: failed\n\n### Outage\n",
        "2026-12-01 INFO started\n2026-12-01 ERROR failed: x\n",
        "Deleted the file that was not found by anyone else for years and kept the other ones in place for later use.",
    ],
)
def test_texts_about_errors_are_left_alone(text: str) -> None:
    """Words inside a text are never searched for."""
    assert opening_of(text, reads=False) is None


def test_what_was_read_may_open_with_an_error() -> None:
    """For an action that gives back texts of others, only a short opening counts."""
    log = "Error: disk full\nError: again\nrestarted\nrunning\n"
    assert opening_of(log, reads=False) is not None
    assert opening_of(log, reads=True) is None
    assert opening_of("Error: ENOENT: no such file", reads=True) is not None
    assert opening_of("Invalid thing\nsecond line", reads=True) is None


@pytest.mark.parametrize(
    ("page", "line"),
    [
        ("<html><head><title>Sign in</title></head></html>", "a sign-in page came instead of a result"),
        ("<html><title>502 Bad Gateway</title></html>", "502 Bad Gateway"),
        ("<Envelope><Result><ErrorCode>0x80070005</ErrorCode></Result></Envelope>", "0x80070005"),
    ],
)
def test_pages_instead_of_results_are_recognised(page: str, line: str) -> None:
    """Sign-in pages, error pages, faults in XML."""
    opening = opening_of(page, reads=True)
    assert opening is not None and line in opening.line


def test_other_markup_is_left_alone() -> None:
    """A page about anything, a fault code that says no error."""
    assert opening_of("<html><title>Guide to errors</title></html>", reads=False) is None
    assert opening_of("<E><ErrorCode>NoError</ErrorCode></E>", reads=False) is None


def test_a_list_of_items_tells_how_many_failed() -> None:
    """`name: Error - why` among `name: …`."""
    opening = opening_of("a: PASS\nb: Error - HTTP 429 quota\nc: PASS\nd: PASS", reads=False)
    assert opening is not None and opening.share == 0.25 and opening.line.startswith("b: Error")
    assert opening_of("a: one\nb: two", reads=False) is None
    assert opening_of("prose\nthat goes on\nb: Error - x", reads=False) is None
    late = "\n".join(f"line {i}: fine" for i in range(2000)) + "\nx: Error - y"
    assert opening_of(late, reads=False) is None


def test_a_browser_report_states_the_status_of_its_page() -> None:
    """Only bad ones."""
    assert page_status("### Page\n- Page URL: x\n- HTTP status: 502 Bad Gateway\n") is not None
    assert page_status("- HTTP status: 200 OK") is None
