"""Vectors that were computed once: checked, and stored by what they were made of."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Mapping, Sequence
from hashlib import blake2b
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from anyact_server.errors import EncoderError, StorageError
from anyact_server.telemetry import logger

Floats = NDArray[np.float32]
_CHUNK = 500

log = logger("retrieval")


def unit(vectors: Floats, count: int, dimension: int) -> Floats:
    """The vectors scaled to unit length, after checking that they can be used at all.

    Raises:
        EncoderError: another shape than (count, dimension), a number that is not finite, or a vector of zeros. Such
            vectors ruin an index silently when they are stored.
    """
    if vectors.shape != (count, dimension):
        raise EncoderError(
            f"the encoder gave vectors of shape {vectors.shape}, expected {(count, dimension)}",
            hint="The model behind the encoder changed: rebuild the index with `anyact index build`.",
        )
    if not np.isfinite(vectors).all():
        raise EncoderError("the encoder gave a vector with numbers that are not finite")
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    if (lengths < 1e-6).any():
        raise EncoderError("the encoder gave a vector of zeros")
    return np.asarray(vectors / lengths, np.float32)


def text_key(digest: str, text: str) -> bytes:
    """The address of a text's vector under one encoder: 16 bytes."""
    return blake2b(f"{digest}\0{text}".encode("utf-8", "replace"), digest_size=16).digest()


class VectorStore:
    """Vectors by `text_key` in one SQLite file, in half precision; in memory when no path is given.

    Safe to use from several threads.
    """

    def __init__(self, path: Path | None = None) -> None:
        self._lock = threading.Lock()
        try:
            if path is not None:
                path.parent.mkdir(parents=True, exist_ok=True)
            self._base = _opened(path)
        except (OSError, sqlite3.Error) as error:
            raise StorageError(
                f"the vector store {path} cannot be opened: {error}", hint="Make its folder writable."
            ) from error

    def get(self, keys: Sequence[bytes]) -> dict[bytes, Floats]:
        """The stored vectors of these keys; keys without one are absent."""
        found: dict[bytes, Floats] = {}
        with self._lock:
            for first in range(0, len(keys), _CHUNK):
                part = keys[first : first + _CHUNK]
                marks = ",".join("?" * len(part))
                for key, blob in self._base.execute(f"SELECT key, vector FROM vectors WHERE key IN ({marks})", part):
                    found[key] = np.frombuffer(blob, np.float16).astype(np.float32)
        return found

    def put(self, vectors: Mapping[bytes, Floats]) -> None:
        """Store vectors, each of shape (dimension,); those already stored are replaced."""
        rows = [(key, vector.astype(np.float16).tobytes()) for key, vector in vectors.items()]
        with self._lock:
            self._base.execute("BEGIN")
            self._base.executemany("INSERT OR REPLACE INTO vectors VALUES (?, ?)", rows)
            self._base.execute("COMMIT")

    def count(self) -> int:
        """How many vectors are stored."""
        with self._lock:
            return int(self._base.execute("SELECT count(*) FROM vectors").fetchone()[0])

    def close(self) -> None:
        """Close the file."""
        with self._lock:
            self._base.close()


def _opened(path: Path | None) -> sqlite3.Connection:
    """The connection; a file that is no database is put away, for its vectors can be computed again."""
    try:
        return _prepared(sqlite3.connect(path or ":memory:", check_same_thread=False, isolation_level=None))
    except sqlite3.DatabaseError as error:
        if path is None or isinstance(error, sqlite3.OperationalError):
            raise
        log.warning("the vector store %s is damaged (%s): it is begun anew", path, error)
        path.replace(path.with_suffix(".damaged"))
        return _prepared(sqlite3.connect(path, check_same_thread=False, isolation_level=None))


def _prepared(base: sqlite3.Connection) -> sqlite3.Connection:
    try:
        base.execute("PRAGMA journal_mode=WAL")
        base.execute("PRAGMA synchronous=NORMAL")
        base.execute("CREATE TABLE IF NOT EXISTS vectors (key BLOB PRIMARY KEY, vector BLOB) WITHOUT ROWID")
    except sqlite3.Error:
        base.close()
        raise
    return base
