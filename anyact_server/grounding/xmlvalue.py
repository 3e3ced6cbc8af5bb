"""XML as a JSON value: attributes as `@name`, text as `#`, repeated elements as lists. Entities are never expanded."""

from __future__ import annotations

from typing import Any
from xml.parsers import expat

from anyact_server.types import Json

_MOST = 8_000_000
"""Characters that are read; a longer document stays text."""
_DEEPEST = 100


def xml_value(text: str) -> Json | None:
    """The value of a document; None where it is none, is too long or too deep, or declares entities."""
    if len(text) > _MOST or "<" not in text:
        return None
    builder = _Builder()
    parser = expat.ParserCreate()
    parser.buffer_text = True
    parser.StartElementHandler = builder.start
    parser.EndElementHandler = builder.end
    parser.CharacterDataHandler = builder.data
    parser.EntityDeclHandler = _refuse
    try:
        parser.Parse(text.lstrip("\ufeff \t\r\n").encode("utf-8", "replace"), True)
    except (expat.ExpatError, ValueError, LookupError):
        return None
    return builder.root


def _refuse(*_declared: object) -> None:
    raise ValueError("the document declares entities")


class _Builder:
    """Builds the value while the parser reads."""

    def __init__(self) -> None:
        self.root: dict[str, Any] = {}
        self._open: list[dict[str, Any]] = [self.root]
        self._texts: list[list[str]] = [[]]

    def start(self, name: str, attributes: dict[str, str]) -> None:
        if len(self._open) > _DEEPEST:
            raise ValueError("nested too deeply")
        self._open.append({f"@{key}": value for key, value in attributes.items()})
        self._texts.append([])

    def data(self, text: str) -> None:
        self._texts[-1].append(text)

    def end(self, name: str) -> None:
        node = self._open.pop()
        text = "".join(self._texts.pop()).strip()
        value: Json = node
        if not node:
            value = text
        elif text:
            node["#"] = text
        parent = self._open[-1]
        if name not in parent:
            parent[name] = value
        elif isinstance(parent[name], list):
            parent[name].append(value)
        else:
            parent[name] = [parent[name], value]
