"""Index folders: one folder that holds an index, can be built elsewhere, and is mounted read only.

    meta.json             schema, encoder, counts, the digest of each file, and the generation that is current
    GENERATION/
        actions.jsonl.gz  the actions themselves, so that the folder serves searches without a catalog (built ones)
        alive.npy         which rows count
        N.ids, N.terms    texts of segment N, one a line: ids with servers, terms
        N.NAME.npy        its keys, postings and names
        N.faiss           its vectors, when they are known

A new generation is written beside the old one and becomes current when `meta.json` is replaced, so that a reader sees
the one or the other, whole.
"""

from __future__ import annotations

import gzip
import os
import shutil
import uuid
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, fields
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
import orjson
from numpy.typing import NDArray

from anyact_server.errors import IndexMismatch, StorageError
from anyact_server.telemetry import logger
from anyact_server.types import Action, Hints, plain

from . import dense
from .names import SHORTEST_SLIP, Names
from .segments import Segment
from .sparse import LENGTH, SATURATION, WEIGHTS, Postings
from .state import State, assemble

SCHEMA = 1
"""Version of the layout; a folder of another one is indexed anew."""
META = "meta.json"
_POSTINGS = ("starts", "rows", "impacts")
_NAMES = tuple(item.name for item in fields(Names))
_KEY = 16

log = logger("retrieval")


@dataclass(frozen=True, slots=True)
class Info:
    """What an index folder says of itself.

    `form` is a digest of how texts are indexed; `encoder` that of the encoder, None without vectors; `index` how the
    vectors are searched; `averages` and `scales` belong to the postings and the vectors of
    each segment; `files` gives the SHA-256 of each file.
    """

    schema: int
    form: str
    encoder: str | None
    dimension: int
    actions: int
    servers: int
    vectors: int
    index: str | None
    segments: int
    averages: tuple[tuple[float, ...], ...]
    scales: tuple[float | None, ...]
    generation: str
    files: dict[str, str]

    @property
    def current(self) -> bool:
        """Whether this version of the program can use the folder."""
        return self.schema == SCHEMA and self.form == form()


def form() -> str:
    """A digest of everything that decides how a text becomes postings, besides the code itself."""
    return sha256(repr((SCHEMA, SATURATION, WEIGHTS, LENGTH, SHORTEST_SLIP)).encode()).hexdigest()[:16]


def info(folder: Path) -> Info:
    """What a folder says of itself.

    Raises:
        StorageError: there is no index in this folder.
        IndexMismatch: its meta file cannot be understood.
    """
    try:
        found = orjson.loads((folder / META).read_bytes())
    except FileNotFoundError as error:
        raise StorageError(f"{folder} is no index folder", hint="Make one with `anyact index build`.") from error
    except (OSError, orjson.JSONDecodeError) as error:
        raise IndexMismatch(f"{folder / META} cannot be read: {error}", hint="Build the index again.") from error
    try:
        found["averages"], found["scales"] = tuple(map(tuple, found["averages"])), tuple(found["scales"])
        return Info(**found)
    except (TypeError, KeyError) as error:
        raise IndexMismatch(
            f"{folder / META} is not of this version", hint="Build the index again with `anyact index build`."
        ) from error


def verify(folder: Path, encoder: str | None = None) -> list[str]:
    """Every reason why a folder cannot be used, one sentence each; none when it is sound.

    Args:
        folder: the index folder.
        encoder: digest of the encoder that would be used; not compared when None.

    Raises:
        StorageError: there is no index in this folder, or its meta file cannot be understood.
    """
    told = info(folder)
    problems: list[str] = []
    if not told.current:
        problems.append("it was made by another version of the program")
    if encoder is not None and told.encoder != encoder:
        problems.append(f"its vectors are of another encoder ({told.encoder or 'none'})")
    if told.vectors < told.actions:
        problems.append(f"{told.actions - told.vectors} of {told.actions} actions have no vector")
    for name, digest in told.files.items():
        path = folder / told.generation / name
        if not path.is_file():
            problems.append(f"the file {name} is missing")
        elif _digest(path) != digest:
            problems.append(f"the file {name} was changed")
    return problems


def write(folder: Path, state: State, encoder: str | None, *, with_actions: bool = False) -> Info:
    """Write an index to a folder, replacing the one that is there in a single step.

    Args:
        folder: where; made if needed.
        state: what to write.
        encoder: digest of the encoder of its vectors.
        with_actions: also write the actions, for a folder that is to be used without the catalog.

    Raises:
        StorageError: the folder cannot be written.
    """
    generation = uuid.uuid4().hex[:12]
    place = folder / generation
    try:
        place.mkdir(parents=True)
        np.save(place / "alive.npy", state.alive)
        for number, segment in enumerate(state.segments):
            _write_segment(place, number, segment)
        if with_actions:
            _write_actions(place / "actions.jsonl.gz", state.actions)
        told = _told(state, encoder, generation, {path.name: _digest(path) for path in sorted(place.iterdir())})
        draft = folder / f".{generation}.json"
        draft.write_bytes(orjson.dumps(asdict(told), option=orjson.OPT_INDENT_2))
        with draft.open("rb") as written:
            os.fsync(written.fileno())
        draft.replace(folder / META)
        for old in folder.iterdir():
            if old.is_dir() and old.name != generation and len(old.name) == len(generation):
                shutil.rmtree(old, ignore_errors=True)
    except OSError as error:
        shutil.rmtree(place, ignore_errors=True)
        raise StorageError(
            f"the index folder {folder} cannot be written: {error}", hint="Give a folder that is writable."
        ) from error
    return told


def read(folder: Path, encoder: str | None) -> State | None:
    """The index of a folder, its actions left open; None, with a line in the log, when there is none that fits.

    Vectors of another encoder than `encoder` are left out; the postings still serve.
    """
    if not (folder / META).is_file():
        return None
    try:
        told = info(folder)
        if not told.current:
            raise IndexMismatch("it was made by another version of the program")
        place = folder / told.generation
        scales = told.scales if told.encoder is not None and told.encoder == encoder else (None,) * told.segments
        segments = [
            _read_segment(place, number, told.averages[number], scales[number]) for number in range(told.segments)
        ]
        alive = np.load(place / "alive.npy")
        if len(alive) != sum(len(segment.ids) for segment in segments):
            raise IndexMismatch("its files do not belong together")
    except (OSError, ValueError, RuntimeError, KeyError, IndexMismatch) as error:
        log.warning("the index folder %s is not used: %s", folder, error)
        return None
    ids = [name for segment in segments for name in segment.ids]
    rows = {name: row for row, name in enumerate(ids) if alive[row]}
    return assemble(segments, alive, [None] * len(ids), rows)


def actions(folder: Path) -> list[Action]:
    """The actions that a built folder carries.

    Raises:
        StorageError: there is no index, or it was written without its actions.
    """
    path = folder / info(folder).generation / "actions.jsonl.gz"
    try:
        with gzip.open(path, "rb") as lines:
            return [_action(orjson.loads(line)) for line in lines]
    except (OSError, EOFError, orjson.JSONDecodeError, TypeError) as error:
        raise StorageError(
            f"{folder} carries no actions that can be read", hint="Build it with `anyact index build`."
        ) from error


def _told(state: State, encoder: str | None, generation: str, files: dict[str, str]) -> Info:
    held = [part.dense for part in state.segments if part.dense is not None]
    servers = {
        part.servers[at]
        for offset, part in zip(state.offsets, state.segments, strict=True)
        for at in range(len(part.ids))
        if state.alive[offset + at]
    }
    return Info(
        schema=SCHEMA,
        form=form(),
        encoder=encoder if held else None,
        dimension=held[0].dimension if held else 0,
        actions=len(state.rows),
        servers=len(servers),
        vectors=len(state.rows) - state.waiting,
        index=held[0].kind if held else None,
        segments=len(state.segments),
        averages=tuple(part.postings.averages for part in state.segments),
        scales=tuple(part.dense.scale if part.dense else None for part in state.segments),
        generation=generation,
        files=files,
    )


def _write_segment(place: Path, number: int, segment: Segment) -> None:
    lines = [f"{name}\t{server}" for name, server in zip(segment.ids, segment.servers, strict=True)]
    _write_lines(place / f"{number}.ids", lines)
    _write_lines(place / f"{number}.terms", segment.postings.terms)
    np.save(place / f"{number}.keys.npy", np.frombuffer(b"".join(segment.keys), np.uint8))
    for name in _POSTINGS:
        np.save(place / f"{number}.postings_{name}.npy", getattr(segment.postings, name))
    for name in _NAMES:
        np.save(place / f"{number}.names_{name}.npy", getattr(segment.names, name))
    if segment.dense is not None:
        segment.dense.save(place / f"{number}.faiss")


def _read_segment(place: Path, number: int, averages: tuple[float, ...], scale: float | None) -> Segment:
    pairs = [line.partition("\t") for line in _read_lines(place / f"{number}.ids")]
    keys = np.load(place / f"{number}.keys.npy").tobytes()
    terms = {term: at for at, term in enumerate(_read_lines(place / f"{number}.terms"))}

    def array(name: str) -> NDArray[Any]:
        return np.asarray(np.load(place / f"{number}.{name}.npy", mmap_mode="r"))

    return Segment(
        ids=tuple(name for name, _, _ in pairs),
        keys=tuple(keys[at : at + _KEY] for at in range(0, len(keys), _KEY)),
        servers=tuple(server for _, _, server in pairs),
        postings=Postings(
            len(pairs),
            terms,
            array("postings_starts"),
            array("postings_rows"),
            array("postings_impacts"),
            averages,
        ),
        names=Names(**{name: array(f"names_{name}") for name in _NAMES}),
        dense=None if scale is None else dense.read(place / f"{number}.faiss", scale),
    )


def _write_lines(path: Path, lines: Iterable[str]) -> None:
    path.write_bytes("\n".join(lines).encode("utf-8", "surrogatepass"))


def _read_lines(path: Path) -> Sequence[str]:
    text = path.read_bytes().decode("utf-8", "surrogatepass")
    return text.split("\n") if text else []


def _write_actions(path: Path, held: Iterable[Action | None]) -> None:
    with gzip.open(path, "wb", compresslevel=5) as lines:
        for action in held:
            if action is not None:
                lines.write(orjson.dumps(plain(action)) + b"\n")


def _action(found: dict[str, Any]) -> Action:
    found["hints"] = Hints(**found.get("hints", {}))
    found["tags"] = tuple(found.get("tags", ()))
    return Action(**found)


def _digest(path: Path) -> str:
    found = sha256()
    with path.open("rb") as source:
        while block := source.read(1 << 20):
            found.update(block)
    return found.hexdigest()
