"""An embeddings endpoint on loopback that can misbehave."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from zlib import crc32


class Embeddings(ThreadingHTTPServer):
    """Answers `/v1/embeddings`; `answer` and `status` decide how, `requests` keeps what was asked."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.answer = "good"
        self.status = 200
        self.dimension = 16
        self.requests: list[tuple[dict[str, Any], str | None]] = []
        self.released = threading.Event()

    @property
    def url(self) -> str:
        """Where it listens, up to `/v1`."""
        return f"http://127.0.0.1:{self.server_port}/v1"


class _Handler(BaseHTTPRequestHandler):
    server: Embeddings

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        self.server.requests.append((body, self.headers.get("authorization")))
        if self.server.answer == "hang":
            self.server.released.wait(10)
        content = self._content(body["input"]).encode()
        self.send_response(self.server.status)
        self.send_header("content-length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def _content(self, texts: list[str]) -> str:
        kind, size = self.server.answer, self.server.dimension
        if kind == "garbage":
            return "<html>not found</html>"
        if kind == "zeros":
            rows = [[0.0] * size for _ in texts]
        elif kind == "nan":
            rows = [[float("nan")] * size for _ in texts]
        else:
            rows = [[1.0 + (crc32(text.encode()) >> at) % 7 for at in range(size)] for text in texts]
        data = [{"index": at, "embedding": row} for at, row in enumerate(rows)]
        return json.dumps({"data": data[::-1]})

    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing."""


@contextmanager
def embeddings() -> Iterator[Embeddings]:
    """A running endpoint."""
    with Embeddings() as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
        thread.start()
        try:
            yield server
        finally:
            server.released.set()
            server.shutdown()
            thread.join(5)
