"""Tokens of texts and of tool definitions, by the encoding cl100k_base."""

from __future__ import annotations

import json
import statistics
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from typing import Any

import bpe_openai

SHOWN = ("name", "description", "inputSchema")
"""What hosts pass on of a tool's definition to a model."""


@cache
def _encoding() -> Any:
    return bpe_openai.get_encoding("cl100k_base")


PIECE = 500_000
"""Characters that are counted at once: the library takes no more than a million. A cut adds a token at most."""


def tokens(text: str) -> int:
    """How many tokens a text has."""
    pieces = (text[start : start + PIECE] for start in range(0, len(text), PIECE))
    return sum(len(_encoding().encode_ordinary(piece)) for piece in pieces)


def compact(value: object) -> str:
    """JSON as it goes over the wire."""
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)


def listed(tools: Iterable[Mapping[str, Any]]) -> dict[str, int]:
    """Tokens of a tools/list: as a model is shown it, and whole."""
    every = list(tools)
    shown = [{key: tool[key] for key in SHOWN if key in tool} for tool in every]
    return {"tools": len(every), "shown": tokens(compact(shown)), "whole": tokens(compact(every))}


def spread(texts: Sequence[str]) -> dict[str, int]:
    """Median and most tokens of some texts."""
    counts = [tokens(text) for text in texts]
    return {"median": round(statistics.median(counts)), "most": max(counts)}
