"""What stands for a text that is hard to read."""

from __future__ import annotations

from anyact_server.grounding.legible import data_of, page_text, xml_data

PAGE = f"<html><body><h1>Title</h1><p>{'words ' * 20}</p></body></html>"


def test_a_page_becomes_markdown_where_it_costs_something() -> None:
    """A small one, and what is no page, stays as it is."""
    page = page_text(PAGE, "", 400)
    assert page is not None
    assert page.startswith("# Title")
    assert page_text(PAGE, "", 100) is None
    assert page_text("no page", "text/html", 400) is None
    assert page_text("<html><script>x</script></html>", "", 400) is None


def test_data_is_read_from_xml_and_tables() -> None:
    """And from nothing else."""
    assert data_of("<r><a>1</a></r>") == {"r": {"a": "1"}}
    assert data_of("a,b\n1,2\n3,4\n5,6\n") == [{"a": "1", "b": "2"}, {"a": "3", "b": "4"}, {"a": "5", "b": "6"}]
    assert data_of("words") is None
    assert xml_data(PAGE, "") is None
