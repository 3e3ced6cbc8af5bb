"""What stands for a text that is hard to read: markdown for a page of HTML, data for XML and for tables of texts."""

from __future__ import annotations

from functools import cache
from typing import Any

from anyact_server.types import Json

from .forms import form_of
from .grids import rows_of

_SMALL = 300
"""Tokens: a shorter piece of HTML is shown as it is."""


def page_text(text: str, mime: str, cost: int) -> str | None:
    """The markdown of a page of HTML that costs more than a few tokens; None for anything else.

    Args:
        text: any text.
        mime: its media type as far as declared.
        cost: its tokens.
    """
    if cost <= _SMALL or "<" not in text[:4000] or form_of(text, mime) != "html":
        return None
    return _readers()[0](text) or None


def xml_data(text: str, mime: str) -> Json | None:
    """The value of a document of XML; None for anything else."""
    if "<" not in text[:4000] or form_of(text, mime) != "xml":
        return None
    return _readers()[1](text)


def data_of(text: str) -> Json | None:
    """The value of a text that is data but no JSON: XML, or a table whose rows become objects; None for other texts."""
    value = xml_data(text, "")
    return rows_of(text) if value is None else value


@cache
def _readers() -> Any:
    """The readers of HTML and XML, loaded with the first document."""
    from .markup import to_markdown
    from .xmlvalue import xml_value

    return to_markdown, xml_value
