"""Vectors from an OpenAI-compatible embeddings endpoint."""

from __future__ import annotations

import json
import threading
from collections.abc import Sequence
from typing import Any
from urllib.parse import urldefrag

import httpx2
import numpy as np
from numpy.typing import NDArray

from anyact_server.errors import EncoderError

from .vectors import unit

Floats = NDArray[np.float32]

TIMEOUT_S = 10.0
"""Limit for one request with a batch of documents; queries are bounded more tightly by the guard around the encoder."""
BATCH = 64
"""Texts per request."""
CHARACTERS = 2000
"""Characters of a text that are sent."""


class EndpointEncoder:
    """An embeddings endpoint as an encoder.

    Args:
        url: the endpoint, or its base up to `/v1`, with the model's name as fragment: `http://host/v1#model`.
        key: bearer token, if the endpoint wants one.
        timeout_s: limit for one request.

    The dimension is that of the first vector; any other is refused from then on.
    """

    def __init__(self, url: str, *, key: str | None = None, timeout_s: float = TIMEOUT_S) -> None:
        address, self._model = urldefrag(url)
        address = address.rstrip("/")
        self._url = address if address.endswith("/embeddings") else f"{address}/embeddings"
        headers = {"authorization": f"Bearer {key}"} if key else {}
        self._client = httpx2.Client(timeout=timeout_s, headers=headers)
        self._lock = threading.Lock()
        self._dimension = 0
        self.digest = f"url:{self._url}#{self._model}"

    @property
    def dimension(self) -> int:
        """Length of a vector; asks the endpoint if no vector was seen yet."""
        if not self._dimension:
            self.encode(["dimension"])
        return self._dimension

    def encode(self, texts: Sequence[str], *, query: bool = False) -> Floats:
        """Unit vectors of shape (len(texts), dimension)."""
        parts = [self._request(texts[first : first + BATCH]) for first in range(0, len(texts), BATCH)]
        return np.concatenate(parts) if parts else np.zeros((0, self._dimension), np.float32)

    def close(self) -> None:
        """Close the connections."""
        self._client.close()

    def _request(self, texts: Sequence[str]) -> Floats:
        body: dict[str, Any] = {"input": [text[:CHARACTERS] or " " for text in texts], "encoding_format": "float"}
        if self._model:
            body["model"] = self._model
        try:
            answer = self._client.post(self._url, json=body)
        except httpx2.HTTPError as error:
            raise EncoderError(
                f"the embeddings endpoint {self._url} cannot be reached: {type(error).__name__}",
                hint="Check that it runs, or set the encoder to builtin.",
            ) from error
        if answer.status_code != 200:
            raise EncoderError(f"the embeddings endpoint {self._url} answered with status {answer.status_code}")
        return self._checked(_vectors(answer.content, self._url), len(texts))

    def _checked(self, vectors: Floats, count: int) -> Floats:
        with self._lock:
            dimension = self._dimension or (vectors.shape[1] if vectors.ndim == 2 else 0)
            good = unit(vectors, count, dimension)
            self._dimension = dimension
        return good


def _vectors(body: bytes, url: str) -> Floats:
    try:
        rows = sorted(json.loads(body)["data"], key=lambda row: int(row.get("index", 0)))
        return np.array([row["embedding"] for row in rows], np.float32)
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise EncoderError(
            f"the embeddings endpoint {url} did not answer with a list of vectors",
            hint="Name an OpenAI-compatible /v1/embeddings endpoint.",
        ) from error
