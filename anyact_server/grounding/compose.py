"""From content to the body of an observation: a pure function of the content, the budget and the handle."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from anyact_server.types import EMPTY, Artifact, Elision, Json, JsonObject

from .binaries import Code, may_hold_code, replace_codes
from .blocks import Block, Content
from .condense import condense
from .dialects import Dialect, json_list
from .documents import text_of, why_unread
from .encoding import compact, dumps, whole_surrogates
from .legible import page_text, xml_data
from .media import MOST_SOUND_BYTES, Picture, decode, describe_sound, fit_picture, sniff
from .parts import ALL_TEXTS, mirrored, parse_json, unwrapped, without_codes
from .structured import fit
from .text import clean, shorten
from .tokens import estimate, rough

MOST_PIECES = 40
"""More text blocks than this are shown as one text."""
_LINKS = 20


@dataclass(slots=True)
class Body:
    """What a result looks like to a model.

    Attributes:
        text: the rendered body.
        blocks: pictures and sounds as MCP content blocks.
        data: the structured value as the server sent it; the value of its text where that is JSON; else None.
        parts: what each part of the handle means, by name.
        altered: something is not shown or not shown as it was sent, so the original must be kept.
        raw: tokens that the result would have cost as it was sent.
    """

    text: str = ""
    blocks: list[JsonObject] = field(default_factory=list)
    data: Json = None
    artifacts: list[Artifact] = field(default_factory=list)
    elided: list[Elision] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    parts: dict[str, JsonObject] = field(default_factory=dict)
    altered: bool = False
    empty: bool = False
    raw: int = 0
    media_tokens: int = 0


@dataclass(slots=True)
class _Piece:
    """A text or a value waiting for its share of the budget."""

    form: Literal["text", "json"]
    value: Json
    size: int
    cost: int
    part: str
    pointer: str
    label: str = ""
    priority: float = 0.5
    mime: str = ""
    derived: bool = False
    """The text was made from the original, so that places in it are no places in the original."""


def compose(content: Content, budget: int, handle: str, dialect: Dialect = "lines") -> Body:
    """Turn content into the body of an observation.

    Args:
        content: the result, read.
        budget: tokens for the whole body, pictures included.
        handle: under which the original will be kept if anything is not shown as it was sent.
        dialect: how values are written; in `json` the text of the body is JSON, or empty.
    """
    body = Body(data=content.structured if content.has_structured else None)
    composer = _Composer(body, budget, handle, dialect)
    pieces = composer.pieces(content)
    body.notes.extend(content.faults)
    body.empty = not body.blocks and all(_nothing(piece.value) for piece in pieces) and not composer.lines
    if not body.empty:
        composer.write(pieces)
        composer.name_codes_in_data()
    body.text = whole_surrogates(body.text)
    return body


def _nothing(value: Json) -> bool:
    """Whether a value holds nothing: blank text, an empty list or object, null."""
    return not value.strip() if isinstance(value, str) else value is None or value in ([], {})


class _Composer:
    """Collects the parts of one body."""

    def __init__(self, body: Body, budget: int, handle: str, dialect: Dialect) -> None:
        self._body = body
        self._dialect = dialect
        self._budget = budget
        self._handle = handle
        self._codes: dict[tuple[str, int], str] = {}
        self._coded = False
        self._data_from: str | None = None
        self.lines: list[str] = []

    # --- reading the content

    def pieces(self, content: Content) -> list[_Piece]:
        """The texts and values to be shown; pictures, sounds, links and binaries are dealt with on the way."""
        body = self._body
        single = len(content.texts) == 1
        skip_texts = mirrored(content)
        found: list[_Piece] = []
        if content.has_structured:
            inner = unwrapped(content.structured)
            part = "data" if content.texts and not skip_texts else ""
            root = "" if inner is content.structured else "/result"
            found.append(self._value_piece(inner, part, "/structuredContent" + root))
        texts = [block for block in content.blocks if block.kind == "text" and not block.audience_user]
        joined = len(texts) > MOST_PIECES
        for index, block in enumerate(content.blocks):
            if block.kind == "text":
                if block.audience_user:
                    self._hide_from_model(block, index)
                elif not skip_texts and not joined:
                    found.append(self._text_piece(block, "" if single and not content.has_structured else f"c{index}"))
            elif block.audience_user:
                self._hide_from_model(block, index)
            elif block.kind == "unknown":
                found.append(self._unknown(block, index))
            else:
                found.extend(self._other(block, index))
        if joined and not skip_texts:
            text = "\n".join(block.text for block in texts)
            body.notes.append(f"{len(texts):,} text blocks, shown as one text")
            part = "all" if content.has_structured else ""
            found.append(_Piece("text", text, len(text), self._cost(text), part, ALL_TEXTS))
        elif skip_texts:
            body.raw += sum(estimate(text) for text in content.texts)
        if content.has_structured and len(found) > 1:
            found.append(found.pop(0))
        return found

    def _value_piece(self, value: Json, part: str, pointer: str) -> _Piece:
        if isinstance(value, str):
            self._coded = self._coded or may_hold_code(value.encode("utf-8", "surrogatepass"))
            return self._text_piece(Block("text", pointer, value), part)
        packed = dumps(value)
        size = len(packed)
        self._coded = self._coded or may_hold_code(packed)
        self._body.raw += size // 3
        return _Piece("json", value, size, size // 3, part, pointer)

    def _unknown(self, block: Block, index: int) -> _Piece:
        """A block of a form that nobody knows, shown as the JSON that it is."""
        piece = self._value_piece(block.raw, f"c{index}", block.pointer)
        return replace(piece, priority=0.3)

    def _cost(self, text: str) -> int:
        tokens = estimate(text)
        self._body.raw += tokens
        return tokens

    def _text_piece(self, block: Block, part: str) -> _Piece:
        label = ""
        if block.uri is not None:
            label = f"[resource {block.uri}{f' ({block.mime})' if block.mime else ''}]"
        priority = 0.5 if block.priority is None else block.priority
        cost = self._cost(block.text)
        value = parse_json(block.text)
        if value is not None:
            if self._body.data is None and part == "":
                self._body.data = value
                self._data_from = block.pointer
            self._coded = self._coded or may_hold_code(block.text.encode("utf-8", "surrogatepass"))
            return _Piece("json", value, len(block.text), cost, part, block.pointer, label, priority)
        page = page_text(block.text, block.mime, cost)
        if page is not None:
            return self._page_piece(block, page, part, label, priority)
        return _Piece("text", block.text, len(block.text), cost, part, block.pointer, label, priority, block.mime)

    def _page_piece(self, block: Block, page: str, part: str, label: str, priority: float) -> _Piece:
        """A page of HTML as the markdown that stands for it; the page itself is kept."""
        if part:
            self._keep(part, block.pointer, "text/html", len(block.text), block.title)
        self._body.altered = True
        told = (
            f"[HTML of {len(block.text):,} characters, shown as markdown; as it was sent: {self._name(part)}, view raw]"
        )
        label = f"{label}\n{told}" if label else told
        cost = estimate(page)
        return _Piece(
            "text", page, len(page), cost, part, block.pointer, label, priority, "text/markdown", derived=True
        )

    def _hide_from_model(self, block: Block, index: int) -> None:
        """A block that is for the person alone: kept, named, not shown."""
        name = f"c{index}"
        binary = block.kind in ("image", "audio", "blob")
        self._keep(name, block.pointer, block.mime or "text/plain", len(block.text), block.title, binary=binary)
        self._body.elided.append(Elision(block.pointer, "block for the person alone", 1, self._name(name)))

    def _other(self, block: Block, index: int) -> list[_Piece]:
        if block.kind == "image":
            self._picture(block, index)
        elif block.kind in ("audio", "blob"):
            return self._binary(block, index)
        elif block.kind == "link":
            self._link(block)
        return []

    def _picture(self, block: Block, index: int) -> None:
        data = decode(block.text)
        if data is None or not data:
            self._unreadable(block, index, "the data of the picture is no base64" if block.text else "it is empty")
            return
        made = fit_picture(data)
        if isinstance(made, str):
            mime = sniff(data[:300]) or block.mime or "application/octet-stream"
            if mime.startswith("image/svg"):
                made = "a drawing in SVG, which is text"
            self._keep(f"c{index}", block.pointer, mime, len(data), block.title, binary=True)
            self.lines.append(f"[picture, {len(data):,} bytes, not shown: {made}. {self._name(f'c{index}')}]")
            self._gap(block.pointer, "bytes", len(data), f"c{index}")
            return
        self._show_picture(block, index, data, made)

    def _show_picture(self, block: Block, index: int, data: bytes, made: Picture) -> None:
        body = self._body
        name = f"c{index}"
        full = f"{made.full_width}x{made.full_height}"
        body.raw += estimate(block.text)
        title = f" {block.title}" if block.title else ""
        if body.media_tokens and body.media_tokens + made.tokens > self._budget:
            self._keep(name, block.pointer, sniff(data[:300]) or block.mime, len(data), block.title, binary=True)
            self.lines.append(f"[picture{title}, {full}, over the budget: {self._name(name)}]")
            self._gap(block.pointer, "pictures", 1, name)
            return
        body.media_tokens += made.tokens
        body.blocks.append({"type": "image", "data": made.data, "mimeType": made.mime})
        if made.note:
            self._keep(name, block.pointer, sniff(data[:300]) or block.mime, len(data), block.title, binary=True)
            self.lines.append(f"[picture{title} {len(body.blocks)}: {made.note}; original: {self._name(name)}]")
        elif block.mime and block.mime != made.mime:
            body.notes.append(f"a picture declared as {block.mime[:40]} is {made.mime}")

    def _binary(self, block: Block, index: int) -> list[_Piece]:
        """A sound or another binary; gives the text that it holds, where it holds one that can be read."""
        data = decode(block.text)
        if data is None:
            self._unreadable(block, index, f"the data of the {block.kind} is no base64")
            return []
        mime = sniff(data[:300]) or block.mime or "application/octet-stream"
        if mime.startswith("image/"):
            self._picture(block, index)
            return []
        name = f"c{index}"
        self._body.raw += len(block.text) * 2 // 3
        sound = block.kind == "audio"
        about = ", ".join(
            part for part in (mime, f"{len(data):,} bytes", describe_sound(data) if sound else "") if part
        )
        where = f" {block.uri}" if block.uri else ""
        if sound and 0 < len(data) <= MOST_SOUND_BYTES:
            self._body.blocks.append({"type": "audio", "data": block.text, "mimeType": block.mime or mime})
            self.lines.append(f"[sound{where}: {about}]")
            return []
        self._keep(name, block.pointer, mime, len(data), block.title, binary=True, uri=block.uri)
        text = None if sound else text_of(data, mime)
        if text is not None:
            label = f"[{'file' if where else 'binary'}{where}: {about}; as it was sent: {self._name(name)}, view raw]"
            priority = 0.5 if block.priority is None else block.priority
            return [_Piece("text", text, len(text), estimate(text), name, block.pointer, label, priority, mime, True)]
        self._gap(block.pointer, "bytes", len(data), name)
        cure = why_unread(mime)
        self.lines.append(
            f"[{'sound' if sound else 'binary'}{where}: {about}{f'; {cure}' if cure else ''}; {self._name(name)}]"
        )
        return []

    def _unreadable(self, block: Block, index: int, why: str) -> None:
        name = f"c{index}"
        self._keep(name, block.pointer, "text/plain", len(block.text), block.title)
        self._gap(block.pointer, "characters", len(block.text), name)
        self.lines.append(f"[{block.kind} not shown: {why}; {self._name(name)}]")

    def _link(self, block: Block) -> None:
        body = self._body
        body.artifacts.append(
            Artifact("", block.mime, block.size or 0, title=block.title, uri=block.uri, views=(), note="link")
        )
        links = sum(artifact.note == "link" for artifact in body.artifacts)
        if links > _LINKS:
            body.altered = True
            return
        facts = [part for part in (block.mime, f"{block.size:,} bytes" if block.size else "", block.text[:200]) if part]
        name = f"{block.title[:120]}: " if block.title else ""
        self.lines.append(f"[link {name}{block.uri}{f' ({chr(44).join(facts)})' if facts else ''}]")

    # --- keeping

    def _name(self, part: str) -> str:
        return f"{self._handle}.{part}" if part else self._handle

    def _keep(
        self,
        name: str,
        pointer: str,
        mime: str,
        size: int,
        title: str = "",
        *,
        binary: bool = False,
        uri: str | None = None,
        span: JsonObject = EMPTY,
    ) -> None:
        """Name a part of the original, and say that the original is needed."""
        self._body.altered = True
        self._body.parts[name] = {"pointer": pointer, "mime": mime, "binary": binary, **span}
        views: tuple[str, ...] = ("page", "head", "tail", "grep", "raw")
        if binary:
            views = ("page", "region", "raw") if mime.startswith("image/") else ("page", "raw")
        self._body.artifacts.append(Artifact(self._name(name), mime, size, title=title[:200], uri=uri, views=views))

    def _gap(self, pointer: str, what: str, count: int, part: str) -> None:
        self._body.altered = True
        self._body.elided.append(Elision(pointer, what, count, self._name(part)))

    def _code(self, pointer: str, inner: str, code: Code) -> str:
        """What stands in the text in place of a long code; `inner` is its place in the JSON that the text is."""
        key = (f"{pointer}#{inner}", code.start)
        if key not in self._codes:
            name = f"x{len(self._codes) + 1}"
            self._codes[key] = name
            span: dict[str, Json] = {"start": code.start, "end": code.end}
            if inner:
                span["inner"] = inner
            mime = code.mime or "application/octet-stream"
            self._keep(name, pointer, mime, code.size * 3 // 4, binary=True, span=span)
        what = code.mime or "encoded data"
        return f"[{what}, {code.size:,} characters: {self._name(self._codes[key])}]"

    def name_codes_in_data(self) -> None:
        """Replace the long codes in the structured value too: they are in no field of an observation."""
        if self._body.data is None or not self._coded:
            return

        def name(pointer: str, code: Code) -> str:
            if self._data_from is not None:
                return self._code(self._data_from, pointer, code)
            return self._code(f"/structuredContent{pointer}", "", code)

        self._body.data = without_codes(self._body.data, name)

    # --- writing

    def write(self, pieces: Sequence[_Piece]) -> None:
        """Give every piece its share of the budget and put the body together."""
        body = self._body
        if sum(artifact.note == "link" for artifact in body.artifacts) > _LINKS:
            count = sum(artifact.note == "link" for artifact in body.artifacts) - _LINKS
            self.lines.append(f"[… {count:,} more links]")
            self._gap("/content", "links", count, "")
        lines = shorten("\n".join(self.lines), max(200, self._budget // 3), "the rest: view raw").text
        left = max(self._budget - body.media_tokens - estimate(lines), self._budget // 4)
        shares = _shares(pieces, left)
        shown = [self._piece(piece, share) for piece, share in zip(pieces, shares, strict=True)]
        body.text = self._joined([*shown, lines], (left + estimate(lines)) * 3 // 2 + 60)
        body.artifacts = [
            artifact
            for artifact in body.artifacts
            if artifact.note == "link" or artifact.handle.rpartition(".")[2][:1] != "x" or artifact.handle in body.text
        ]

    def _joined(self, parts: Sequence[str], most: int) -> str:
        """The parts as one text, in `json` as one JSON text; what is still too long (it never should be) is cut."""
        as_json = self._dialect == "json"
        told = [part for part in parts if part]
        if as_json:
            told[:] = [part for part in parts[:-1] if part] + [compact(part) for part in parts[-1:] if part]
        text = json_list(told) if as_json else "\n".join(told)
        if rough(text) <= most:
            return text
        fitting = shorten(text, most, f"rest: {self._handle}, view raw")
        return compact(fitting.text) if as_json and fitting.characters else fitting.text

    def _piece(self, piece: _Piece, share: int) -> str:
        shown = self._json(piece, share) if piece.form == "json" else self._text(piece, share)
        if self._dialect != "json":
            return f"{piece.label}\n{shown}" if piece.label else shown
        shown = shown if piece.form == "json" else compact(shown)
        return f'{{"from":{compact(piece.label)},"value":{shown}}}' if piece.label else shown

    def _json(self, piece: _Piece, share: int) -> str:
        structured = not piece.pointer.endswith("/text")

        def name(pointer: str, code: Code) -> str:
            return (
                self._code(piece.pointer + pointer, "", code)
                if structured
                else self._code(piece.pointer, pointer, code)
            )

        preview = fit(piece.value, share, piece.size, name, self._dialect)
        if preview.gaps and piece.part:
            self._keep(piece.part, piece.pointer, "application/json", piece.size)
        for gap in preview.gaps[:200]:
            self._gap(gap.pointer, gap.what, gap.count, piece.part)
        return preview.text

    def _text(self, piece: _Piece, share: int) -> str:
        raw: str = piece.value
        if piece.cost > share and not piece.derived:
            value = xml_data(raw, piece.mime)
            if value is not None:
                return self._xml(piece, value, share)
        rest = f"rest: {self._name(piece.part)}"
        shown = condense(raw, share, rest, piece.mime, lambda part: self._polished(part, piece, raw))
        if shown.characters:
            if piece.part and piece.part not in self._body.parts:
                self._keep(piece.part, piece.pointer, "text/plain", len(raw))
            self._gap(piece.pointer, "characters", shown.characters, piece.part)
        return shown.text

    def _xml(self, piece: _Piece, value: Json, share: int) -> str:
        """A document of XML over its share, as the data that it is; places are those of that data."""
        if piece.part:
            self._keep(piece.part, piece.pointer, "application/xml", piece.size)
        where = self._name(piece.part)
        told = f"[XML of {piece.size:,} characters, shown as data; as it was sent: {where}, view page or raw]\n"
        preview = fit(value, share - 40, piece.size, lambda pointer, code: _coded(code, pointer))
        for gap in preview.gaps[:200]:
            self._gap(gap.pointer, gap.what, gap.count, piece.part)
        self._body.altered = True
        return told + preview.text

    def _polished(self, part: str, piece: _Piece, raw: str) -> str:
        """A part of a text, its start or its end, with codes named and cleaned."""
        body = self._body
        if piece.derived:
            return clean(replace_codes(part, lambda code: _coded(code, self._name(piece.part)))).text
        offset = 0 if len(part) == len(raw) or raw.startswith(part[:200]) else len(raw) - len(part)

        def name(code: Code) -> str:
            return self._code(piece.pointer, "", replace(code, start=code.start + offset, end=code.end + offset))

        cleaned = clean(replace_codes(part, name))
        body.notes.extend(note for note in cleaned.removed if note not in body.notes)
        body.altered = body.altered or bool(cleaned.removed)
        return cleaned.text


def _coded(code: Code, where: str) -> str:
    return f"[{code.mime or 'encoded data'}, {code.size:,} characters: {where or '/'}]"


def _shares(pieces: Sequence[_Piece], budget: int) -> list[int]:
    """Tokens for each piece: small ones whole, the rest share what is left by their priority."""
    costs = [max(1, piece.cost) for piece in pieces]
    if sum(costs) <= budget:
        return [cost + budget - sum(costs) for cost in costs]
    shares = [0] * len(pieces)
    open_ = set(range(len(pieces)))
    left = budget
    while open_:
        weight = sum(0.2 + pieces[index].priority for index in open_)
        fair = {index: int(left * (0.2 + pieces[index].priority) / weight) for index in open_}
        small = [index for index in open_ if costs[index] <= fair[index]]
        for index in small or list(open_):
            shares[index] = max(30, costs[index] if small else fair[index])
            left = max(0, left - shares[index])
            open_.discard(index)
    return shares
