"""An encoder that cannot hold up a search: bounded in time, given up for a while after a few failures.

Queries and documents are counted together: an endpoint that is down is down for both.
"""

from __future__ import annotations

import queue
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from anyact_server.errors import EncoderError
from anyact_server.interfaces import Encoder
from anyact_server.telemetry import logger

from .encoder import OnnxEncoder

Floats = NDArray[np.float32]

QUERY_S = 0.7
"""How long a search waits for the vectors of its query, so that keyword results come within a second."""
TRIES = 3
"""Failures in a row before the encoder is left alone."""
PAUSE_S = 30.0
"""The first pause; each further failure doubles it."""
LONGEST_PAUSE_S = 600.0
CACHED = 2048
"""Query vectors that are remembered."""

log = logger("retrieval")


@dataclass(frozen=True, slots=True)
class Encoded:
    """Vectors of shape (texts, dimension), or why there are none."""

    vectors: Floats | None
    reason: str | None = None


class _Worker:
    """Runs one job after the other on a thread of its own, which a job that hangs keeps without holding up exit."""

    def __init__(self) -> None:
        self._jobs: queue.SimpleQueue[Callable[[], None]] = queue.SimpleQueue()
        self._busy = threading.Lock()
        self._started = False

    def run(self, job: Callable[[], Floats], limit_s: float) -> Floats:
        """The result of the job.

        Raises:
            EncoderError: it took longer than `limit_s`, or an earlier one still runs.
        """
        if not self._busy.acquire(blocking=False):
            raise EncoderError("the encoder is still busy with an earlier text")
        done: queue.SimpleQueue[Floats | EncoderError] = queue.SimpleQueue()

        def work() -> None:
            try:
                done.put(job())
            except EncoderError as error:
                done.put(error)
            finally:
                self._busy.release()

        if not self._started:
            threading.Thread(target=self._serve, name="anyact-encoder", daemon=True).start()
            self._started = True
        self._jobs.put(work)
        try:
            result = done.get(timeout=limit_s)
        except queue.Empty:
            raise EncoderError(f"the encoder did not answer within {limit_s:g} s") from None
        if isinstance(result, EncoderError):
            raise result
        return result

    def _serve(self) -> None:
        while True:
            self._jobs.get()()


class Guard:
    """Keeps an encoder's failures away from searches.

    Args:
        encoder: what is guarded; None gives no vectors, without a complaint.
        monotonic: the clock, in seconds.
        query_s: limit for the vectors of a query.
        cached: how many query vectors are remembered.
    """

    def __init__(
        self,
        encoder: Encoder | None,
        *,
        monotonic: Callable[[], float] = time.monotonic,
        query_s: float = QUERY_S,
        cached: int = CACHED,
    ) -> None:
        self.encoder = encoder
        self._monotonic = monotonic
        self._query_s = query_s
        self._cached = cached
        self._worker = None if encoder is None or isinstance(encoder, OnnxEncoder) else _Worker()
        self._lock = threading.Lock()
        self._failures = 0
        self._resume = 0.0
        self._reason: str | None = None
        self._cache: OrderedDict[str, Floats] = OrderedDict()

    @property
    def reason(self) -> str | None:
        """Why there are no vectors at the moment; None when the last try succeeded."""
        return self._reason

    def queries(self, texts: Sequence[str]) -> Encoded:
        """Vectors of the intents of one search, from memory where they were seen before."""
        if self.encoder is None:
            return Encoded(None)
        known = {text: self._remembered(text) for text in texts}
        missing = [text for text, vector in known.items() if vector is None]
        if missing:
            fresh = self._guarded(missing, query=True)
            if fresh.vectors is None:
                return fresh
            known.update(zip(missing, fresh.vectors, strict=True))
            self._remember(missing, fresh.vectors)
        return Encoded(np.stack([vector for text in texts if (vector := known[text]) is not None]))

    def documents(self, texts: Sequence[str]) -> Encoded:
        """Vectors of documents; not bounded in time beyond what the encoder itself does."""
        return Encoded(None) if self.encoder is None else self._guarded(texts, query=False)

    def _guarded(self, texts: Sequence[str], *, query: bool) -> Encoded:
        waiting = self._paused()
        if waiting:
            return Encoded(None, waiting)
        encoder = self.encoder
        assert encoder is not None
        try:
            if self._worker is not None and query:
                vectors = self._worker.run(lambda: encoder.encode(texts, query=True), self._query_s)
            else:
                vectors = encoder.encode(texts, query=query)
        except EncoderError as error:
            return Encoded(None, self._failed(error))
        with self._lock:
            self._failures, self._resume, self._reason = 0, 0.0, None
        return Encoded(vectors)

    def _paused(self) -> str | None:
        with self._lock:
            left = self._resume - self._monotonic()
            return f"{self._reason} (next try in {left:.0f} s)" if left > 0 else None

    def _failed(self, error: EncoderError) -> str:
        with self._lock:
            self._failures += 1
            self._reason = f"keyword search only: {error.message}"
            over = self._failures - TRIES
            if over >= 0:
                pause = min(PAUSE_S * 2**over, LONGEST_PAUSE_S)
                self._resume = self._monotonic() + pause
                log.warning("%s; next try in %.0f s", self._reason, pause)
            return self._reason

    def _remembered(self, text: str) -> Floats | None:
        with self._lock:
            vector = self._cache.get(text)
            if vector is not None:
                self._cache.move_to_end(text)
            return vector

    def _remember(self, texts: Sequence[str], vectors: Floats) -> None:
        with self._lock:
            for text, vector in zip(texts, vectors, strict=True):
                self._cache[text] = vector
            while len(self._cache) > self._cached:
                self._cache.popitem(last=False)
