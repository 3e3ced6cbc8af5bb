"""What of a tool's result the client's model gets to see. Pure.

A result has text and structured content, and clients differ in what they show their model: the text alone, both, or the
structured content alone. Nothing in the protocol says which. So the structured content of the eight tools repeats the
text, and a client that is known to show its model no text beside structured content gets the facts as `_meta`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from . import tools

STRUCTURED_ONLY = ("claude-code", "visual studio code")
"""How the names of clients begin that drop text and pictures where a result has structured content
(github.com/anthropics/claude-code/issues/79944, github.com/microsoft/vscode/issues/290063)."""
FACTS_META = "anyact/facts"
"""The `_meta` key of what is structured content elsewhere."""


def legible(name: str, result: Mapping[str, Any], client: str | None) -> dict[str, Any]:
    """A result that the client's model can read in full.

    Args:
        name: the tool that was called.
        result: text as the first block, facts as structured content.
        client: the client's name as it introduced itself; None when it did not.

    Returns:
        The result; the structured content has a `text`, or stands under `_meta` for clients that would drop the text.
    """
    structured = result.get("structuredContent")
    if structured is None:
        return dict(result)
    if client is not None and client.lower().startswith(STRUCTURED_ONLY):
        kept = {key: value for key, value in result.items() if key != "structuredContent"}
        return {**kept, "_meta": {**result.get("_meta", {}), FACTS_META: structured}}
    if name not in tools.NAMES:
        return dict(result)
    return {**result, "structuredContent": {**structured, "text": result["content"][0]["text"]}}
