"""How well screens are read: words, characters, elements, tokens and CPU time against the truth.

A folder holds pairs `NAME.png` and `NAME.json`. The truth has `words` (`text`, `bbox`, and where known `ink`, the box
of the pixels drawn, and `line`), `elements` (`role`, `bbox`, `kind`), `ignore` (boxes whose content does not count,
half covered words for instance), and `page`, the family. Boxes are left, top, right, bottom in pixels. The keys of a
report:

    word_recall        Latin words found: same text (NFKC, punctuation at the edges stripped), IoU at least 0.5 with the
                       layout or the ink box
    word_precision     of the words read on pages in Latin letters, the share that are right
    char_accuracy      by script: 1 - edit distance / characters, over pieces of lines, without spaces
    element_recall     elements with a candidate of IoU at least 0.5, one candidate for each
    element_click      elements whose click would land: the point of some candidate that is at most 2.2 times as large
    element_precision  of the candidates, the share that an element was recalled by
    role_accuracy      of the elements recalled, the share with the right role
    tokens_ratio       tokens of the observation / tokens of the text in view
    repeat_tokens      tokens of the observation when nothing changed
    cpu_s, repeat_cpu_s  CPU seconds a screen, children included; the second of seeing the same screen again
    peak_mb            largest resident memory of the process
"""

from __future__ import annotations

import os
import resource
import string
import unicodedata
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import orjson

from anyact_server.errors import UsageError
from anyact_server.grounding.screen import (
    Box,
    Element,
    Line,
    Screen,
    Word,
    area,
    around,
    centre,
    holds,
    overlap,
    script_of,
)
from anyact_server.types import Json, JsonObject

MATCH = 0.5
"""Least IoU of a match; the usual one for boxes."""
LARGEST = 2.2
"""A candidate more than this many times the area of an element does not point at it."""
_EDGES = "".join(chr(code) for code in range(0x3000) if unicodedata.category(chr(code))[0] in "PS")

MEASURES = (
    "word_recall",
    "word_precision",
    "char_accuracy",
    "element_recall",
    "element_click",
    "element_precision",
    "role_accuracy",
    "tokens_ratio",
    "repeat_tokens",
    "cpu_s",
    "repeat_cpu_s",
)
"""The keys of a report that hold a measure."""

Read = Callable[[bytes, str], Screen]
"""Reads the bytes of a picture; the second argument names the sequence of screens that it belongs to."""


@dataclass(frozen=True, slots=True)
class Truth:
    """What is on one screen."""

    family: str
    size: str
    words: tuple[Word, ...]
    inks: tuple[Box, ...]
    elements: tuple[Element, ...]
    kinds: tuple[str, ...]
    ignore: tuple[Box, ...]
    text: str
    pieces: tuple[Line, ...]


@dataclass(slots=True)
class Counts:
    """Sums over screens, and the measures made of them."""

    screens: int = 0
    words: int = 0
    words_read: int = 0
    words_right: int = 0
    elements: int = 0
    recalled: int = 0
    clicked: int = 0
    roles_right: int = 0
    candidates: int = 0
    tokens: int = 0
    text_tokens: int = 0
    repeat_tokens: int = 0
    cpu: float = 0.0
    repeat_cpu: float = 0.0
    wrong: dict[str, int] = field(default_factory=lambda: defaultdict(int))
    characters: dict[str, int] = field(default_factory=lambda: defaultdict(int))

    def add(self, other: Counts) -> None:
        """Take another's sums in."""
        for name in self.__dataclass_fields__:
            mine, others = getattr(self, name), getattr(other, name)
            if isinstance(mine, dict):
                for key, value in others.items():
                    mine[key] += value
            else:
                setattr(self, name, mine + others)

    def measures(self) -> JsonObject:
        """The keys of the module's docstring; null where there is nothing to measure."""
        accuracy: JsonObject = {
            script: round(1 - self.wrong[script] / count, 4) for script, count in sorted(self.characters.items())
        }
        return {
            "word_recall": _share(self.words_right, self.words),
            "word_precision": _share(self.words_right, self.words_read),
            "char_accuracy": accuracy,
            "element_recall": _share(self.recalled, self.elements),
            "element_click": _share(self.clicked, self.elements),
            "element_precision": _share(self.recalled, self.candidates),
            "role_accuracy": _share(self.roles_right, self.recalled),
            "tokens_ratio": _share(self.tokens, self.text_tokens),
            "repeat_tokens": _share(self.repeat_tokens, self.screens),
            "cpu_s": _share(self.cpu, self.screens),
            "repeat_cpu_s": _share(self.repeat_cpu, self.screens),
            "screens": self.screens,
        }


@dataclass(slots=True)
class Report:
    """Counts over everything, by family, by size, and of elements by kind."""

    engine: str = ""
    whole: Counts = field(default_factory=Counts)
    families: dict[str, Counts] = field(default_factory=lambda: defaultdict(Counts))
    sizes: dict[str, Counts] = field(default_factory=lambda: defaultdict(Counts))
    kinds: dict[str, Counts] = field(default_factory=lambda: defaultdict(Counts))

    def as_json(self) -> JsonObject:
        """One JSON object: the measures of the whole, then `families`, `sizes` and `kinds`."""
        only = ("element_recall", "element_click", "role_accuracy")
        kinds: dict[str, Json] = {}
        for name, counts in sorted(self.kinds.items()):
            measures = counts.measures()
            chosen: JsonObject = {key: measures[key] for key in only}
            kinds[name] = {**chosen, "elements": counts.elements}
        return {
            **self.whole.measures(),
            "peak_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024,
            "engine": self.engine,
            "families": {name: counts.measures() for name, counts in sorted(self.families.items())},
            "sizes": {name: counts.measures() for name, counts in sorted(self.sizes.items())},
            "kinds": kinds,
        }


def evaluate(
    folder: Path,
    read: Read,
    render: Callable[[Screen], str],
    tokens: Callable[[str], int],
    progress: Callable[[int, int, str], None] = lambda done, total, name: None,
) -> Report:
    """Measure a reader on every pair of a folder.

    Args:
        folder: where the pairs are.
        read: gives the screen of a picture; called twice for each, so that a repeat is measured too.
        render: an observation's text of a screen.
        tokens: counts the tokens of a text.
        progress: told how many of how many are done, and the name of the next.

    Raises:
        UsageError: the folder holds no pairs, or a truth cannot be read.
    """
    pairs = _pairs(folder)
    report = Report()
    for number, (picture, truth_file) in enumerate(pairs):
        progress(number, len(pairs), picture.stem)
        truth = _truth(truth_file)
        data = picture.read_bytes()
        before = _cpu()
        screen = read(data, picture.stem)
        spent = _cpu() - before
        counts = score(screen, truth)
        counts.cpu = spent
        counts.tokens, counts.text_tokens = tokens(render(screen)), tokens(truth.text)
        before = _cpu()
        again = read(data, picture.stem)
        counts.repeat_cpu = _cpu() - before
        counts.repeat_tokens = tokens(render(again))
        report.engine = screen.engine
        for part in (report.whole, report.families[truth.family], report.sizes[truth.size]):
            part.add(counts)
        for kind in sorted(set(truth.kinds)):
            report.kinds[kind].add(_elements(screen.elements, _of_kind(truth, kind)))
    progress(len(pairs), len(pairs), "")
    return report


def score(screen: Screen, truth: Truth) -> Counts:
    """Compare one screen with its truth."""
    counts = _elements(_outside(screen.elements, truth.ignore), truth)
    counts.screens = 1
    latin = sum(script_of(word.text) == "latin" for word in truth.words)
    lettered = sum(script_of(word.text) != "none" for word in truth.words)
    if latin * 2 > lettered:
        wanted = [
            (bare(word.text), word.box, ink)
            for word, ink in zip(truth.words, truth.inks, strict=True)
            if bare(word.text) and script_of(word.text) in ("latin", "none")
        ]
        got = [(bare(word.text), word.box) for word in screen.words if bare(word.text)]
        got = [(text, box) for text, box in got if not _ignored(box, truth.ignore)]
        counts.words, counts.words_read = len(wanted), len(got)
        counts.words_right = _matches(wanted, got)
    for piece in truth.pieces:
        script = script_of(piece.text)
        if script != "none" and not _ignored(piece.box, truth.ignore):
            text = _letters(piece.text)
            counts.characters[script] += len(text)
            counts.wrong[script] += min(len(text), distance(text, _letters(_read_in(screen, piece.box, script))))
    return counts


def bare(text: str) -> str:
    """A word in NFKC without punctuation and symbols at its edges."""
    return unicodedata.normalize("NFKC", text).strip(_EDGES + string.whitespace)


def distance(one: str, other: str) -> int:
    """Levenshtein distance."""
    row = list(range(len(other) + 1))
    for number, letter in enumerate(one, 1):
        above, row[0] = row[0], number
        for at, second in enumerate(other, 1):
            above, row[at] = row[at], min(row[at] + 1, row[at - 1] + 1, above + (letter != second))
    return row[-1]


def _matches(wanted: Sequence[tuple[str, Box, Box]], got: Sequence[tuple[str, Box]]) -> int:
    """How many wanted words were read, each by one word of its own."""
    by_text: dict[str, list[Box]] = defaultdict(list)
    for text, box in got:
        by_text[text].append(box)
    right = 0
    for text, layout, ink in wanted:
        boxes = by_text[text]
        best = max(boxes, key=lambda box: max(overlap(box, layout), overlap(box, ink)), default=None)
        if best is not None and max(overlap(best, layout), overlap(best, ink)) >= MATCH:
            boxes.remove(best)
            right += 1
    return right


def _elements(candidates: Sequence[Element], truth: Truth) -> Counts:
    placed = [(one, one.box) for one in candidates if one.box is not None]
    wanted = [(one, one.box) for one in truth.elements if one.box is not None]
    counts = Counts(elements=len(wanted), candidates=len(placed))
    pairs = sorted(
        (
            (-iou, first, second)
            for first, (_, box) in enumerate(wanted)
            for second, (_, other) in enumerate(placed)
            if (iou := overlap(box, other)) >= MATCH
        )
    )
    taken: set[int] = set()
    found: set[int] = set()
    for _, first, second in pairs:
        if first not in found and second not in taken:
            found.add(first)
            taken.add(second)
            counts.roles_right += wanted[first][0].role == placed[second][0].role
    counts.recalled = len(found)
    counts.clicked = sum(
        any(holds(box, one.point or centre(other)) and area(other) <= LARGEST * area(box) for one, other in placed)
        for _, box in wanted
    )
    return counts


def _read_in(screen: Screen, box: Box, script: str) -> str:
    """The text that was read where a piece of a line is."""
    left, top, right, bottom = box
    wide = (left - 2, top - 2, right + 2, bottom + 2)
    words = [word for word in screen.words if holds(wide, ((word.box[0] + word.box[2]) / 2, centre(word.box)[1]))]
    backwards = script in ("arabic", "hebrew")
    return "".join(word.text for word in sorted(words, key=lambda word: -word.box[2] if backwards else word.box[0]))


def _letters(text: str) -> str:
    return "".join(unicodedata.normalize("NFKC", text).split())


def _ignored(box: Box, ignore: Iterable[Box]) -> bool:
    """Whether most of a box lies where nothing counts."""
    return any(holds(zone, centre(box)) or overlap(zone, box) >= MATCH for zone in ignore)


def _outside(elements: Iterable[Element], ignore: Sequence[Box]) -> list[Element]:
    return [
        one for one in elements if one.box is not None and not any(overlap(one.box, zone) >= MATCH for zone in ignore)
    ]


def _of_kind(truth: Truth, kind: str) -> Truth:
    chosen = tuple(one for one, name in zip(truth.elements, truth.kinds, strict=True) if name == kind)
    return Truth(truth.family, truth.size, (), (), chosen, (kind,) * len(chosen), truth.ignore, "", ())


def _pairs(folder: Path) -> list[tuple[Path, Path]]:
    try:
        pictures = sorted(path for path in folder.iterdir() if path.suffix.lower() == ".png")
    except OSError as error:
        raise UsageError(f"{folder} cannot be read: {error}") from error
    pairs = [(path, path.with_suffix(".json")) for path in pictures if path.with_suffix(".json").is_file()]
    if not pairs:
        raise UsageError(
            f"{folder} holds no screens", hint="A screen is NAME.png beside NAME.json with its words and elements."
        )
    return pairs


def _truth(file: Path) -> Truth:
    try:
        value: Any = orjson.loads(file.read_bytes())
        words = tuple(Word(str(one["text"]), _box(one["bbox"])) for one in value["words"])
        inks = tuple(_box(one.get("ink") or one["bbox"]) for one in value["words"])
        elements = tuple(
            Element(str(one["role"]), str(one.get("name", "")), _box(one["bbox"])) for one in value["elements"]
        )
        width, height = value.get("viewport", (0, 0))
        ignore = tuple(_box(zone) for zone in value.get("ignore", ()))
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise UsageError(
            f"{file} is no truth of a screen: {type(error).__name__} {error}",
            hint="It needs `words` (text, bbox) and `elements` (role, bbox), boxes as left, top, right, bottom.",
        ) from error
    rows: dict[Any, list[Word]] = defaultdict(list)
    for word, one in zip(words, value["words"], strict=True):
        rows[one.get("line", word.box[1])].append(word)
    pieces = tuple(piece for row in rows.values() for piece in _split(row))
    return Truth(
        family=str(value.get("page", file.stem)),
        size=f"{width}x{height}",
        words=words,
        inks=inks,
        elements=elements,
        kinds=tuple(_kind(one) for one in value["elements"]),
        ignore=ignore,
        text="\n".join(" ".join(word.text for word in row) for row in rows.values()),
        pieces=pieces,
    )


def _kind(element: Mapping[str, Json]) -> str:
    kind = element.get("kind")
    return f"{element['role']}/{kind}" if isinstance(kind, str) else str(element["role"])


def _split(row: list[Word]) -> Iterator[Line]:
    """The words of one height as pieces without wide gaps, in reading order."""
    piece: list[Word] = []
    for word in sorted(row, key=lambda one: one.box[0]):
        if piece and word.box[0] - piece[-1].box[2] > word.box[3] - word.box[1]:
            yield _directed(piece)
            piece = []
        piece.append(word)
    if piece:
        yield _directed(piece)


def _directed(piece: list[Word]) -> Line:
    backwards = script_of("".join(word.text for word in piece)) in ("arabic", "hebrew")
    return Line(tuple(reversed(piece) if backwards else piece))


def _box(value: Any) -> Box:
    left, top, right, bottom = (float(side) for side in value)
    return around([(left, top, right, bottom)])


def _share(part: float, whole: float) -> float | None:
    return round(part / whole, 4) if whole else None


def _cpu() -> float:
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system
