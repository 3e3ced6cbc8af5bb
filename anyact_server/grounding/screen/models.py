"""The models of the extra `anyact-server[screen]`, read in place out of the package that carries them.

The package `faster-paddle` (MIT) holds the PP-OCRv6 models of PaddleOCR (Apache-2.0) inside its library as plain ONNX.
Only the bytes of the models are taken; its code is never loaded. They run with onnxruntime, which AnyAct has anyway.
Only this file loads onnxruntime for screens, on first use.
"""

from __future__ import annotations

import importlib.util
import mmap
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import orjson
from numpy.typing import NDArray

from anyact_server.errors import ScreenError

CARRIER = "faster_paddle"
_MARK = b"PaddlePaddle Graph in PIR mode"
"""The name of the graph in every model that PaddlePaddle exports."""
_FIELDS = {1: 0, 2: 2, 3: 2, 4: 2, 5: 0, 6: 2, 7: 2, 8: 2, 14: 2}
"""Fields of an ONNX ModelProto and their wire type (onnx.proto3, message ModelProto)."""
_REPEATED = frozenset({8, 14})
_LIST = re.compile(rb'\["[^\n]*?"\](?!")')
_GRAPH, _OPERATORS = 7, 8
_FRONT = 1 << 19
"""Bytes before a graph's name among which the model starts: its nodes stand in front of the name."""


@dataclass(frozen=True, slots=True)
class Files:
    """The models as bytes: a detector of text, a recogniser of lines, and the letters it knows."""

    detector: bytes
    recogniser: bytes
    letters: tuple[str, ...]


def installed() -> bool:
    """Whether the extra is there."""
    return _library() is not None


def _library() -> Path | None:
    found = importlib.util.find_spec(CARRIER)
    folders = found.submodule_search_locations if found else None
    for folder in folders or ():
        for file in sorted(Path(folder).iterdir()):
            if file.suffix in (".so", ".pyd"):
                return file
    return None


def load_files(library: Path | None = None) -> Files:
    """Take the models out of the library that carries them.

    Raises:
        ScreenError: the extra is not there, or the library does not hold the models.
    """
    library = library or _library()
    if library is None:
        raise ScreenError("no models for reading screens are installed", hint="pip install 'anyact-server[screen]'")
    with library.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
        models = sorted(_models(data), key=lambda place: place[1] - place[0])
        if len(models) < 2:
            raise ScreenError(
                f"{library.name} holds no models for reading screens", hint="pip install -U 'anyact-server[screen]'"
            )
        (first, second), (start, end) = models[0], models[1]
        letters = _letters(data, end)
        return Files(bytes(data[first:second]), bytes(data[start:end]), letters)


def _models(data: mmap.mmap) -> list[tuple[int, int]]:
    """Start and end of every ONNX model."""
    found = []
    at = data.find(_MARK)
    while at >= 0:
        start = data.rfind(b"\x08", max(0, at - _FRONT), at)
        while start >= 0:
            end = _end(data, start) if data[start + 2] in (0x12, 0x3A) else None
            if end is not None and end > at:
                found.append((start, end))
                break
            start = data.rfind(b"\x08", max(0, at - _FRONT), start)
        at = data.find(_MARK, at + 1)
    return found


def _end(data: mmap.mmap, at: int) -> int | None:
    """Where the model that starts here ends; None when none starts here."""
    seen: set[int] = set()
    size = len(data)
    while at < size - 10:
        tag, after = _varint(data, at)
        number, wire = tag >> 3, tag & 7
        if _FIELDS.get(number) != wire or (number in seen and number not in _REPEATED):
            break
        value, after = _varint(data, after)
        if wire == 2:
            after += value
        if after > size:
            return None
        seen.add(number)
        at = after
    return at if {_GRAPH, _OPERATORS} <= seen else None


def _varint(data: mmap.mmap, at: int) -> tuple[int, int]:
    value = shift = 0
    while shift < 63:
        byte = data[at]
        at += 1
        value |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            break
    return value, at


def _letters(data: mmap.mmap, at: int) -> tuple[str, ...]:
    """The letters a recogniser knows: the JSON list that follows it."""
    found = _LIST.search(data, at)
    listed = orjson.loads(found.group()) if found else ()
    return ("", *map(str, listed), " ")


class Network:
    """One model, run on one thread.

    Args:
        data: ONNX bytes with one input.
    """

    def __init__(self, data: bytes) -> None:
        import onnxruntime

        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1
        options.log_severity_level = 3
        options.enable_cpu_mem_arena = False
        self._session: Any = onnxruntime.InferenceSession(data, options, providers=["CPUExecutionProvider"])
        self._input = self._session.get_inputs()[0].name

    def __call__(self, values: NDArray[np.float32]) -> NDArray[np.float32]:
        """The first output for an input of batch x 3 x height x width."""
        result: NDArray[np.float32] = self._session.run(None, {self._input: values})[0]
        return result
